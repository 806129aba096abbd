// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/pair.h"

#include "core/metrics/element.h"
#include "core/tensor/box_ranges.h"
#include "core/tensor/composed_sources.h"

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace forkpoint::heatmap {

using namespace metrics; // the elements' types and arithmetic

namespace {

using Bytes = Result<std::span<const std::byte>>;

/// Complex elements as their parts along a further dim of 2.
class PartsSource final : public TensorSource {
public:
    explicit PartsSource(TensorSourcePtr source)
        : m_source(std::move(source))
        , m_dtype(m_source->dtype() == DType::Complex64 ? DType::Float32 : DType::Float64)
        , m_shape(pictureShape(*m_source))
    {
    }
    DType dtype() const override { return m_dtype; }
    const Shape& shape() const override { return m_shape; }

    Bytes read(const Box& box, ReadBuffer& buffer) const override
    {
        if (Result<void> ok = checkBox(m_shape, box); !ok)
            return tl::unexpected(std::move(ok.error()));
        Box elements = box;
        elements.start.pop_back();
        elements.extent.pop_back();
        if (box.extent.back() == 2)
            return m_source->read(elements, buffer.child(0));
        if (box.extent.back() == 0)
            return std::span<const std::byte>{};
        Bytes whole = m_source->read(elements, buffer.child(0));
        if (!whole)
            return whole;
        const std::size_t part = itemSize(m_dtype);
        const std::size_t count = whole->size() / (2 * part);
        auto to = takeBytes(buffer, count * part);
        if (!to)
            return tl::unexpected(std::move(to.error()));
        const std::byte* from = whole->data() + static_cast<std::size_t>(box.start.back()) * part;
        for (std::size_t i = 0; i < count; ++i)
            std::memcpy(to->data() + i * part, from + 2 * i * part, part);
        return *to;
    }

private:
    TensorSourcePtr m_source;
    DType m_dtype;
    Shape m_shape;
};

/// Hands out buffers by block and not by thread: a thread that waits inside a source's read may be given another block meanwhile.
class BufferPool {
public:
    std::unique_ptr<SliceBuffers> take()
    {
        const std::lock_guard lock(m_mutex);
        if (m_free.empty())
            return std::make_unique<SliceBuffers>();
        std::unique_ptr<SliceBuffers> buffers = std::move(m_free.back());
        m_free.pop_back();
        return buffers;
    }

    void giveBack(std::unique_ptr<SliceBuffers> buffers)
    {
        const std::lock_guard lock(m_mutex);
        m_free.push_back(std::move(buffers));
    }

private:
    std::mutex m_mutex;
    std::vector<std::unique_ptr<SliceBuffers>> m_free;
};

Result<TensorSourcePtr> mergedSource(TensorSourcePtr source, const Shape& shape)
{
    if (isComplex(source->dtype()))
        source = std::make_shared<PartsSource>(std::move(source));
    if (source->shape() == shape)
        return source;
    return reshapedSource(std::move(source), shape);
}

Bytes readChecked(const TensorSource& source, const Box& box, ReadBuffer& buffer)
{
    Bytes bytes = source.read(box, buffer);
    const std::size_t expected = static_cast<std::size_t>(box.elements()) * itemSize(source.dtype());
    if (bytes && bytes->size() != expected)
        return fail(ErrorCode::Corrupt, fmt::format("a read of {} bytes gave {}", expected, bytes->size()));
    return bytes;
}

Result<SliceSide> readSide(const TensorSource& source, const Slice& slice, const CellRect& rect, ReadBuffer& buffer)
{
    SliceSide side{source.dtype(), nullptr, rect.columns, 1};
    if (slice.transposed()) {
        side.rowStride = 1;
        side.columnStride = rect.rows;
    }
    if (!slice.folded() || rect.rows == 1 || rect.columns == slice.columns()) {
        const Bytes bytes = readChecked(source, slice.boxOf(rect), buffer);
        if (!bytes)
            return tl::unexpected<Error>(bytes.error());
        side.bytes = bytes->data();
        return side;
    }
    // Part of some rows of a fold is no box: row by row.
    const std::size_t rowBytes = static_cast<std::size_t>(rect.columns) * itemSize(source.dtype());
    const auto to = takeBytes(buffer, static_cast<std::size_t>(rect.rows) * rowBytes);
    if (!to)
        return tl::unexpected<Error>(to.error());
    for (std::int64_t row = 0; row < rect.rows; ++row) {
        const Bytes bytes = readChecked(source, slice.boxOf({rect.row + row, rect.column, 1, rect.columns}), buffer.child(0));
        if (!bytes)
            return tl::unexpected<Error>(bytes.error());
        if (!bytes->empty())
            std::memcpy(to->data() + static_cast<std::size_t>(row) * rowBytes, bytes->data(), bytes->size());
    }
    side.bytes = to->data();
    return side;
}

/// A multiple of `step`: enough for `size`, or what `target` has room for; at least one step.
std::int64_t extentFor(std::int64_t size, std::int64_t step, std::int64_t target)
{
    return std::max(size <= target ? (size + step - 1) / step * step : target / step * step, step);
}

} // namespace

Shape pictureShape(const TensorSource& source)
{
    Shape shape = source.shape();
    if (isComplex(source.dtype()))
        shape.push_back(2);
    return shape;
}

SlicedPair::SlicedPair(Slice slice, TensorSourcePtr a, TensorSourcePtr b)
    : m_slice(std::move(slice))
    , m_a(std::move(a))
    , m_b(std::move(b))
{
}

Result<SlicedPair> SlicedPair::make(TensorSourcePtr a, TensorSourcePtr b, SliceAxes axes)
{
    const auto countA = elementCount(a->shape());
    const auto countB = elementCount(b->shape());
    if (!countA || !countB || *countA != *countB)
        return fail(ErrorCode::Usage, fmt::format("cannot show shape {} with shape {}: they differ in the number of elements",
                                                  shapeText(a->shape()), shapeText(b->shape())));
    if (isComplex(a->dtype()) != isComplex(b->dtype()))
        return fail(ErrorCode::Usage,
                    fmt::format("cannot compare {} with {}: only one of them is complex", name(a->dtype()), name(b->dtype())));
    auto slice = Slice::make(pictureShape(*a), std::move(axes));
    if (!slice)
        return tl::unexpected(std::move(slice.error()));
    auto mergedA = mergedSource(std::move(a), slice->mergedShape());
    if (!mergedA)
        return tl::unexpected(std::move(mergedA.error()));
    auto mergedB = mergedSource(std::move(b), slice->mergedShape());
    if (!mergedB)
        return tl::unexpected(std::move(mergedB.error()));
    return SlicedPair(std::move(*slice), std::move(*mergedA), std::move(*mergedB));
}

Result<SliceBlock> SlicedPair::read(const CellRect& rect, Sides sides, SliceBuffers& buffers) const
{
    SliceBlock block{rect, {dtypeA(), nullptr, 0, 0}, {dtypeB(), nullptr, 0, 0}};
    if (sides != Sides::B) {
        auto side = readSide(*m_a, m_slice, rect, buffers.a);
        if (!side)
            return tl::unexpected(std::move(side.error()));
        block.a = *side;
    }
    if (sides != Sides::A) {
        auto side = readSide(*m_b, m_slice, rect, buffers.b);
        if (!side)
            return tl::unexpected(std::move(side.error()));
        block.b = *side;
    }
    return block;
}

std::vector<CellRect> SlicedPair::blocks(const CellRect& area, std::int64_t rowStep, std::int64_t columnStep, std::size_t targetBytes) const
{
    constexpr std::int64_t kNarrowest = 128; // columns that are worth a pass of the kernels
    const auto item = static_cast<std::int64_t>(std::max(itemSize(dtypeA()), itemSize(dtypeB())));
    const std::int64_t target = std::max<std::int64_t>(static_cast<std::int64_t>(targetBytes) / item, 1);
    std::int64_t rows = 0, columns = 0;
    if (m_slice.transposed()) {
        const std::int64_t narrow = std::min(std::max(columnStep, kNarrowest / columnStep * columnStep), std::max(area.columns, columnStep));
        rows = extentFor(area.rows, rowStep, target / narrow);
        columns = extentFor(area.columns, columnStep, target / rows);
    } else {
        columns = extentFor(area.columns, columnStep, target / rowStep);
        rows = extentFor(area.rows, rowStep, target / columns);
    }
    const auto endFrom = [](std::int64_t begin, std::int64_t extent, std::int64_t step, std::int64_t end) {
        return std::min(end, begin / step * step + extent);
    };
    std::vector<CellRect> result;
    const std::int64_t lastRow = area.row + area.rows, lastColumn = area.column + area.columns;
    const auto add = [&](std::int64_t row, std::int64_t column) {
        result.push_back({row, column, endFrom(row, rows, rowStep, lastRow) - row, endFrom(column, columns, columnStep, lastColumn) - column});
        return result.back();
    };
    if (m_slice.transposed()) {
        for (std::int64_t column = area.column, next = 0; column < lastColumn; column = next) {
            for (std::int64_t row = area.row; row < lastRow;) {
                const CellRect rect = add(row, column);
                row += rect.rows;
                next = column + rect.columns;
            }
            if (area.rows <= 0)
                break;
        }
    } else {
        for (std::int64_t row = area.row, next = 0; row < lastRow; row = next) {
            for (std::int64_t column = area.column; column < lastColumn;) {
                const CellRect rect = add(row, column);
                column += rect.columns;
                next = row + rect.rows;
            }
            if (area.columns <= 0)
                break;
        }
    }
    return result;
}

Result<void> forEachBlock(std::size_t count, int threads, const std::stop_token& stop,
                          const std::function<Result<void>(std::size_t, SliceBuffers&)>& work)
{
    std::vector<Error> errors;
    std::mutex errorMutex;
    std::atomic<std::size_t> firstFailure = count;
    BufferPool pool;
    const auto one = [&](std::size_t index) {
        if (stop.stop_requested() || index > firstFailure.load())
            return;
        std::unique_ptr<SliceBuffers> buffers = pool.take();
        const Result<void> done = work(index, *buffers);
        pool.giveBack(std::move(buffers));
        if (!done) {
            const std::lock_guard lock(errorMutex);
            if (index < firstFailure.load()) {
                firstFailure = index;
                errors.assign(1, done.error());
            }
        }
    };
    const auto all = [&] {
        using Range = oneapi::tbb::blocked_range<std::size_t>;
        oneapi::tbb::parallel_for(
            Range(0, count, 1),
            [&](const Range& range) {
                for (std::size_t index = range.begin(); index != range.end(); ++index)
                    one(index);
            },
            oneapi::tbb::simple_partitioner());
    };
    // Asking oneTBB for more threads than it may have makes it print a warning.
    using oneapi::tbb::global_control;
    const auto available = static_cast<int>(global_control::active_value(global_control::max_allowed_parallelism));
    const int limit = std::min(threads, available);
    if (count <= 1 || limit == 1) {
        for (std::size_t index = 0; index < count; ++index)
            one(index);
    } else if (limit > 1) {
        oneapi::tbb::task_arena arena(limit);
        arena.execute(all);
    } else {
        all();
    }
    if (!errors.empty())
        return tl::unexpected<Error>(errors.front());
    if (stop.stop_requested())
        return fail(ErrorCode::Cancelled, "the heatmap was cancelled");
    return {};
}

} // namespace forkpoint::heatmap
