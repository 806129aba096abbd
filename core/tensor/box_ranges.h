// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor_source.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

// A box of a row-major tensor, seen as ranges of the flattened tensor: what every source does before it touches bytes.
namespace forkpoint {

/// A contiguous piece of the flattened tensor, in elements.
struct FlatRange {
    std::int64_t offset = 0;
    std::int64_t count = 0;
    bool operator==(const FlatRange&) const = default;
};

/// Usage if the ranks differ or the box leaves the shape; the message shows both.
Result<void> checkBox(const Shape& shape, const Box& box);

/// "[2, 3]"
std::string shapeText(const Shape& shape);

/// Walks a box's ranges in row-major order, each as long as it can be. Ranges ascend and never touch. The box must have passed checkBox; it
/// and the shape must outlive the walk.
class RangeWalk {
public:
    RangeWalk(const Shape& shape, const Box& box);
    std::int64_t count() const { return m_count; } ///< number of ranges, 0 for an empty box
    std::int64_t rangeLength() const { return m_rangeLength; } ///< elements of each range
    bool next(FlatRange& range); ///< false at the end

private:
    const Box& m_box;
    std::size_t m_outerDims = 0; ///< dims that are stepped through one index at a time
    std::vector<std::int64_t> m_index;
    std::vector<std::int64_t> m_stride;
    std::int64_t m_base = 0;
    std::int64_t m_rangeLength = 0;
    std::int64_t m_count = 0;
    std::int64_t m_done = 0;
};

/// Gathers a walk's ranges, densely, into `to`. Ranges that lie close together are fetched as one window of the flattened tensor, because
/// asking for a kilobyte costs about as much as copying ten. `fetch(FlatRange) -> Result<std::span<const std::byte>>`; the span is used
/// before the next call.
template <class Fetch> Result<void> gatherRanges(RangeWalk& walk, std::size_t itemSize, std::span<std::byte> to, Fetch&& fetch)
{
    constexpr std::int64_t kGapBytes = 16 << 10;
    constexpr std::int64_t kWindowBytes = 1 << 20;
    const auto item = static_cast<std::int64_t>(itemSize);
    std::byte* target = to.data();
    std::vector<FlatRange> pending;
    FlatRange range;
    bool more = walk.next(range);
    while (more) {
        pending.assign(1, range);
        FlatRange window = range;
        while ((more = walk.next(range))) {
            const std::int64_t gap = range.offset - (window.offset + window.count);
            const std::int64_t grown = range.offset + range.count - window.offset;
            if (gap > kGapBytes / item || grown > kWindowBytes / item)
                break;
            window.count = grown;
            pending.push_back(range);
        }
        Result<std::span<const std::byte>> bytes = fetch(window);
        if (!bytes)
            return tl::unexpected(std::move(bytes.error()));
        for (const FlatRange& piece : pending) {
            const std::size_t size = static_cast<std::size_t>(piece.count) * itemSize;
            std::memcpy(target, bytes->data() + static_cast<std::size_t>(piece.offset - window.offset) * itemSize, size);
            target += size;
        }
    }
    return {};
}

/// The boxes that make up elements [offset, offset + count) of the flattened tensor, in order; at most 2 * rank + 1. The range must lie in
/// the tensor.
std::vector<Box> boxesOfRange(const Shape& shape, FlatRange range);

/// buffer.take(bytes), or Unreadable when there is not that much memory.
Result<std::span<std::byte>> takeBytes(ReadBuffer& buffer, std::size_t bytes);

/// Copies a dense block into a larger dense one: `from` (row-major, of `extent`) lands at `at` in `to` (row-major, of `shape`).
void copyBlock(std::span<const std::byte> from, const Shape& extent, std::span<std::byte> to, const Shape& shape,
               const std::vector<std::int64_t>& at, std::size_t itemSize);

} // namespace forkpoint
