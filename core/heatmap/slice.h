// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor_source.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// An n-d tensor seen as a picture of rows and columns. Every dim is on the rows, on the columns, or held at one index. Several adjacent dims may
// share an axis of the picture: they are merged, as a reshape would, with the last of them running fastest. So [batch, time, channel] is
// looked at as time x channel of one sample, as (batch, time) x channel with nothing hidden, as batch x time of one channel, ...
namespace forkpoint::heatmap {

/// `count` adjacent dims from `first` on; none if count is 0.
struct DimRange {
    std::size_t first = 0;
    std::size_t count = 0;

    std::size_t end() const { return first + count; }
    bool contains(std::size_t dim) const { return dim >= first && dim < end(); }
    bool operator==(const DimRange&) const = default;
};

/// What a user chooses.
struct SliceAxes {
    DimRange rows, columns;          ///< must not overlap; the picture has one row (column) where there is no dim
    std::vector<std::int64_t> fixed; ///< an index per dim, or empty for all 0; those of dims on the picture are not looked at
    /// Only without row dims: a line of numbers continues in the next row after this many. 0: it does not.
    std::int64_t foldWidth = 0;

    bool operator==(const SliceAxes&) const = default;
};

/// The whole tensor at once: leading dims on the rows and the others on the columns, split where the picture comes closest to 8:5. A 1-d tensor
/// of more than 1024 elements is folded, see foldedWidth.
SliceAxes overviewAxes(const Shape& shape);

/// The last two dims, everything else at index 0; a tensor of fewer dims as overviewAxes.
SliceAxes lastPlaneAxes(const Shape& shape);

/// A power of two near the square root of 1.6 n, so that folding n numbers gives a picture of about 8:5 and places are easy to tell; n if that is
/// at most 1024, and at least 1.
std::int64_t foldedWidth(std::int64_t n);

/// A place on the picture.
struct Cell {
    std::int64_t row = 0, column = 0;
    bool operator==(const Cell&) const = default;
};

/// A half-open rectangle of the picture.
struct CellRect {
    std::int64_t row = 0, column = 0, rows = 0, columns = 0;

    std::int64_t cells() const { return rows * columns; }
    bool operator==(const CellRect&) const = default;
};

/// The arithmetic between places on the picture and elements of the tensor. A value: knows shapes and no data.
class Slice {
public:
    /// Fails with Usage if dims overlap or do not exist, a fixed index leaves its dim, a fold has row dims, or the shape is impossible.
    static Result<Slice> make(Shape shape, SliceAxes axes);

    const Shape& shape() const { return m_shape; }
    const SliceAxes& axes() const { return m_axes; } ///< `fixed` has one entry per dim, 0 for those on the picture
    std::int64_t rows() const { return m_rows; }
    std::int64_t columns() const { return m_columns; }
    std::int64_t elements() const { return m_elements; } ///< on the picture; less than rows * columns if the last row of a fold is short
    bool folded() const { return m_axes.foldWidth > 0; }
    bool transposed() const { return m_transposed; } ///< neighbours in a column lie closer in memory than neighbours in a row
    std::int64_t columnsInRow(std::int64_t row) const; ///< columns(), or what is left of a fold's last row

    bool contains(Cell cell) const;
    std::vector<std::int64_t> indexAt(Cell cell) const;           ///< full index; the cell must be on the picture
    std::int64_t flatAt(Cell cell) const;                         ///< row-major flat index in the shape; the same
    std::optional<Cell> cellOf(std::span<const std::int64_t> index) const; ///< nullopt: not on this slice, or no index of the shape
    std::optional<Cell> cellOfFlat(std::int64_t flat) const;
    std::vector<std::int64_t> unflattened(std::int64_t flat) const; ///< full index of a flat one, on the slice or not

    // How to read it: the tensor reshaped to mergedShape(), in which each axis of the picture is one dim.
    const Shape& mergedShape() const { return m_mergedShape; }
    /// The box of mergedShape() that holds `rect`. Its elements are in row-major order of the picture, or in column-major order if
    /// transposed(). Folded: the box runs on from the first cell to the last one through what lies left and right of the rectangle.
    Box boxOf(const CellRect& rect) const;

private:
    Slice() = default;

    Shape m_shape;
    SliceAxes m_axes;
    Shape m_mergedShape;
    Box m_mergedBox; ///< the fixed indexes in it, extents 1
    std::optional<std::size_t> m_rowDim, m_columnDim; ///< dims of mergedShape
    std::int64_t m_rows = 1, m_columns = 1, m_elements = 1;
    std::int64_t m_length = 1; ///< of the column dims, before folding
    bool m_transposed = false;
};

} // namespace forkpoint::heatmap
