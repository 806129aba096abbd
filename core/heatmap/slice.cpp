// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/slice.h"

#include "core/tensor/box_ranges.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace forkpoint::heatmap {
namespace {

constexpr double kAspect = 1.6; ///< columns to rows of a pleasant picture
constexpr std::int64_t kLongestLine = 1024;

std::int64_t lengthOf(const Shape& shape, DimRange dims)
{
    std::int64_t length = 1;
    for (std::size_t dim = dims.first; dim < dims.end(); ++dim)
        length *= shape[dim];
    return length;
}

Result<void> checkAxes(const Shape& shape, const SliceAxes& axes)
{
    const std::size_t rank = shape.size();
    const auto exists = [rank](DimRange dims) { return dims.first <= rank && dims.count <= rank - dims.first; };
    if (!exists(axes.rows) || !exists(axes.columns))
        return fail(ErrorCode::Usage, fmt::format("a tensor of shape {} does not have the dims asked for", shapeText(shape)));
    if (axes.rows.count > 0 && axes.columns.count > 0 && axes.rows.first < axes.columns.end() && axes.columns.first < axes.rows.end())
        return fail(ErrorCode::Usage, "a dim cannot be on the rows and on the columns of a picture");
    if (axes.foldWidth < 0 || (axes.foldWidth > 0 && axes.rows.count > 0))
        return fail(ErrorCode::Usage, "only a line of numbers, with no dim on the rows, can be folded");
    if (!axes.fixed.empty() && axes.fixed.size() != rank)
        return fail(ErrorCode::Usage, fmt::format("{} indexes were given for a tensor of shape {}", axes.fixed.size(), shapeText(shape)));
    for (std::size_t dim = 0; dim < axes.fixed.size(); ++dim) {
        if (axes.rows.contains(dim) || axes.columns.contains(dim))
            continue;
        if (axes.fixed[dim] < 0 || axes.fixed[dim] >= std::max<std::int64_t>(shape[dim], 1))
            return fail(ErrorCode::Usage,
                        fmt::format("index {} of dim {} is not within a tensor of shape {}", axes.fixed[dim], dim, shapeText(shape)));
    }
    return {};
}

/// Splits `position` along merged dims into their indexes.
void unravel(std::int64_t position, const Shape& shape, DimRange dims, std::vector<std::int64_t>& index)
{
    for (std::size_t dim = dims.end(); dim-- > dims.first;) {
        index[dim] = position % shape[dim];
        position /= shape[dim];
    }
}

std::int64_t ravelled(std::span<const std::int64_t> index, const Shape& shape, DimRange dims)
{
    std::int64_t position = 0;
    for (std::size_t dim = dims.first; dim < dims.end(); ++dim)
        position = position * shape[dim] + index[dim];
    return position;
}

} // namespace

std::int64_t foldedWidth(std::int64_t n)
{
    if (n <= kLongestLine)
        return std::max<std::int64_t>(n, 1);
    return std::int64_t{1} << std::lround(std::log2(kAspect * static_cast<double>(n)) / 2);
}

SliceAxes overviewAxes(const Shape& shape)
{
    const std::size_t rank = shape.size();
    const std::int64_t elements = elementCount(shape).value_or(0);
    SliceAxes axes;
    if (std::count_if(shape.begin(), shape.end(), [](std::int64_t size) { return size != 1; }) <= 1) { // a line
        axes.columns = {0, rank};
        axes.foldWidth = elements > kLongestLine ? foldedWidth(elements) : 0;
        return axes;
    }
    double best = INFINITY;
    for (std::size_t split = 1; split < rank; ++split) {
        const DimRange rows{0, split}, columns{split, rank - split};
        const double aspect = static_cast<double>(lengthOf(shape, columns)) / static_cast<double>(lengthOf(shape, rows));
        const double distance = std::fabs(std::log(aspect / kAspect)); // NaN or infinite for empty tensors: any split will do
        if (split == 1 || distance < best) {
            best = distance;
            axes.rows = rows;
            axes.columns = columns;
        }
    }
    return axes;
}

SliceAxes lastPlaneAxes(const Shape& shape)
{
    if (shape.size() < 2)
        return overviewAxes(shape);
    SliceAxes axes;
    axes.rows = {shape.size() - 2, 1};
    axes.columns = {shape.size() - 1, 1};
    return axes;
}

Result<Slice> Slice::make(Shape shape, SliceAxes axes)
{
    const std::optional<std::int64_t> elements = elementCount(shape);
    if (!elements)
        return fail(ErrorCode::Usage, fmt::format("the shape {} is impossible", shapeText(shape)));
    if (Result<void> ok = checkAxes(shape, axes); !ok)
        return tl::unexpected(std::move(ok.error()));

    Slice slice;
    if (axes.rows.count == 0)
        axes.rows = {};
    if (axes.columns.count == 0)
        axes.columns = {};
    axes.fixed.resize(shape.size(), 0);
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        if (axes.rows.contains(dim) || axes.columns.contains(dim))
            axes.fixed[dim] = 0;
    }
    slice.m_rows = lengthOf(shape, axes.rows);
    slice.m_length = lengthOf(shape, axes.columns);
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        const bool onRows = axes.rows.contains(dim), onColumns = axes.columns.contains(dim);
        if ((onRows && dim != axes.rows.first) || (onColumns && dim != axes.columns.first))
            continue; // merged into the one before
        if (onRows)
            slice.m_rowDim = slice.m_mergedShape.size();
        if (onColumns)
            slice.m_columnDim = slice.m_mergedShape.size();
        slice.m_mergedShape.push_back(onRows ? slice.m_rows : onColumns ? slice.m_length : shape[dim]);
        slice.m_mergedBox.start.push_back(axes.fixed[dim]);
        slice.m_mergedBox.extent.push_back(1);
    }
    slice.m_transposed = slice.m_rowDim && slice.m_columnDim && *slice.m_rowDim > *slice.m_columnDim;

    if (axes.foldWidth >= slice.m_length)
        axes.foldWidth = 0;
    slice.m_columns = slice.m_length;
    if (axes.foldWidth > 0) {
        slice.m_columns = axes.foldWidth;
        slice.m_rows = (slice.m_length - 1) / axes.foldWidth + 1;
        slice.m_elements = slice.m_length;
    } else {
        slice.m_elements = slice.m_rows * slice.m_columns;
    }
    if (*elements == 0) // perhaps for a dim that is not on the picture
        slice.m_rows = slice.m_columns = slice.m_elements = 0;
    slice.m_shape = std::move(shape);
    slice.m_axes = std::move(axes);
    return slice;
}

std::int64_t Slice::columnsInRow(std::int64_t row) const
{
    return folded() ? std::min(m_columns, m_length - row * m_columns) : m_columns;
}

bool Slice::contains(Cell cell) const
{
    return cell.row >= 0 && cell.row < m_rows && cell.column >= 0 && cell.column < columnsInRow(cell.row);
}

std::vector<std::int64_t> Slice::indexAt(Cell cell) const
{
    std::vector<std::int64_t> index = m_axes.fixed;
    if (folded()) {
        unravel(cell.row * m_columns + cell.column, m_shape, m_axes.columns, index);
    } else {
        unravel(cell.row, m_shape, m_axes.rows, index);
        unravel(cell.column, m_shape, m_axes.columns, index);
    }
    return index;
}

std::int64_t Slice::flatAt(Cell cell) const
{
    return ravelled(indexAt(cell), m_shape, {0, m_shape.size()});
}

std::optional<Cell> Slice::cellOf(std::span<const std::int64_t> index) const
{
    if (index.size() != m_shape.size())
        return std::nullopt;
    for (std::size_t dim = 0; dim < index.size(); ++dim) {
        const bool shown = m_axes.rows.contains(dim) || m_axes.columns.contains(dim);
        if (index[dim] < 0 || index[dim] >= m_shape[dim] || (!shown && index[dim] != m_axes.fixed[dim]))
            return std::nullopt;
    }
    const std::int64_t column = ravelled(index, m_shape, m_axes.columns);
    if (folded())
        return Cell{column / m_columns, column % m_columns};
    return Cell{ravelled(index, m_shape, m_axes.rows), column};
}

std::vector<std::int64_t> Slice::unflattened(std::int64_t flat) const
{
    std::vector<std::int64_t> index(m_shape.size());
    unravel(flat, m_shape, {0, m_shape.size()}, index);
    return index;
}

std::optional<Cell> Slice::cellOfFlat(std::int64_t flat) const
{
    if (flat < 0 || flat >= elementCount(m_shape).value_or(0))
        return std::nullopt;
    return cellOf(unflattened(flat));
}

Box Slice::boxOf(const CellRect& rect) const
{
    Box box = m_mergedBox;
    if (folded()) {
        const std::int64_t first = std::min(rect.row * m_columns + rect.column, m_length); // perhaps beyond a short last row
        const std::int64_t end = (rect.row + rect.rows - 1) * m_columns + rect.column + rect.columns;
        box.start[*m_columnDim] = first;
        box.extent[*m_columnDim] = std::max<std::int64_t>(std::min(end, m_length) - first, 0);
        return box;
    }
    if (m_rowDim) {
        box.start[*m_rowDim] = rect.row;
        box.extent[*m_rowDim] = rect.rows;
    }
    if (m_columnDim) {
        box.start[*m_columnDim] = rect.column;
        box.extent[*m_columnDim] = rect.columns;
    }
    return box;
}

} // namespace forkpoint::heatmap
