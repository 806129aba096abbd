// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/box_ranges.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <new>
#include <stdexcept>

namespace forkpoint {

std::string shapeText(const Shape& shape)
{
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<void> checkBox(const Shape& shape, const Box& box)
{
    bool inside = box.start.size() == shape.size() && box.extent.size() == shape.size();
    for (std::size_t d = 0; inside && d < shape.size(); ++d) {
        // No sum of start and extent: either may be as large as the type allows.
        inside = box.start[d] >= 0 && box.extent[d] >= 0 && box.start[d] <= shape[d] && box.extent[d] <= shape[d] - box.start[d];
    }
    if (!inside) {
        return fail(ErrorCode::Usage,
                    fmt::format("the block at {} of size {} is not within a tensor of shape {}", shapeText(box.start),
                                shapeText(box.extent), shapeText(shape)));
    }
    return {};
}

RangeWalk::RangeWalk(const Shape& shape, const Box& box)
    : m_box(box)
{
    const std::size_t rank = shape.size();
    m_stride.assign(rank, 1);
    std::int64_t stride = 1;
    for (std::size_t d = rank; d-- > 0;) {
        m_stride[d] = stride;
        m_base += box.start[d] * stride;
        stride *= std::max<std::int64_t>(shape[d], 1);
    }
    // Trailing dims that are taken in full belong to one range, and so does the first one that is not.
    m_rangeLength = 1;
    m_outerDims = rank;
    while (m_outerDims > 0) {
        const std::size_t d = --m_outerDims;
        m_rangeLength *= box.extent[d];
        if (box.extent[d] != shape[d])
            break;
    }
    m_count = m_rangeLength == 0 ? 0 : 1;
    for (std::size_t d = 0; d < m_outerDims; ++d)
        m_count *= box.extent[d];
    m_index.assign(m_outerDims, 0);
}

bool RangeWalk::next(FlatRange& range)
{
    if (m_done == m_count)
        return false;
    ++m_done;
    std::int64_t offset = m_base;
    for (std::size_t d = 0; d < m_outerDims; ++d)
        offset += m_index[d] * m_stride[d];
    range = {offset, m_rangeLength};
    for (std::size_t d = m_outerDims; d-- > 0;) {
        if (++m_index[d] < m_box.extent[d])
            break;
        m_index[d] = 0;
    }
    return true;
}

std::vector<Box> boxesOfRange(const Shape& shape, FlatRange range)
{
    std::vector<Box> boxes;
    const std::size_t rank = shape.size();
    if (range.count <= 0)
        return boxes;
    if (rank == 0)
        return {Box{}};
    std::vector<std::int64_t> stride(rank, 1);
    for (std::size_t d = rank - 1; d-- > 0;)
        stride[d] = stride[d + 1] * shape[d + 1];
    // Greedy: from where we stand, take the largest block that starts here, is contiguous, and does not pass the end. Climbs from single
    // elements to whole slices and down again, hence the bound of 2 * rank + 1.
    std::int64_t at = range.offset;
    std::int64_t left = range.count;
    while (left > 0) {
        std::vector<std::int64_t> start(rank);
        std::int64_t rest = at;
        for (std::size_t d = 0; d < rank; ++d) {
            start[d] = rest / stride[d];
            rest %= stride[d];
        }
        std::size_t dim = rank - 1;
        while (dim > 0 && start[dim] == 0 && left >= stride[dim - 1])
            --dim;
        const std::int64_t steps = std::min(shape[dim] - start[dim], left / stride[dim]);
        Box box{start, std::vector<std::int64_t>(rank, 1)};
        box.extent[dim] = steps;
        for (std::size_t d = dim + 1; d < rank; ++d)
            box.extent[d] = shape[d];
        at += steps * stride[dim];
        left -= steps * stride[dim];
        boxes.push_back(std::move(box));
    }
    return boxes;
}

Result<std::span<std::byte>> takeBytes(ReadBuffer& buffer, std::size_t bytes)
{
    try {
        return buffer.take(bytes);
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
    return fail(ErrorCode::Unreadable, fmt::format("not enough memory for a block of {} bytes: read it in smaller pieces", bytes));
}

void copyBlock(std::span<const std::byte> from, const Shape& extent, std::span<std::byte> to, const Shape& shape,
               const std::vector<std::int64_t>& at, std::size_t itemSize)
{
    const Box box{at, extent};
    RangeWalk walk(shape, box);
    FlatRange range;
    const std::byte* source = from.data();
    while (walk.next(range)) {
        const std::size_t bytes = static_cast<std::size_t>(range.count) * itemSize;
        std::memcpy(to.data() + static_cast<std::size_t>(range.offset) * itemSize, source, bytes);
        source += bytes;
    }
}

} // namespace forkpoint
