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

// A box of a row-major tensor, seen as runs of the flattened tensor: what every source does before it touches bytes.
namespace forkpoint {

/// A contiguous piece of the flattened tensor, in elements.
struct Run {
    std::int64_t offset = 0;
    std::int64_t count = 0;
    bool operator==(const Run&) const = default;
};

/// Usage if the ranks differ or the box leaves the shape; the message shows both.
Result<void> checkBox(const Shape& shape, const Box& box);

/// "[2, 3]"
std::string shapeText(const Shape& shape);

/// Walks a box's runs in row-major order, each as long as it can be. Runs ascend and never touch. The box must have passed checkBox; it and
/// the shape must outlive the walk.
class RunWalk {
public:
    RunWalk(const Shape& shape, const Box& box);
    std::int64_t count() const { return m_count; }         ///< number of runs, 0 for an empty box
    std::int64_t runLength() const { return m_runLength; } ///< elements of each run
    bool next(Run& run);                                   ///< false at the end

private:
    const Box& m_box;
    std::size_t m_outerDims = 0; ///< dims that are stepped through one index at a time
    std::vector<std::int64_t> m_index;
    std::vector<std::int64_t> m_stride;
    std::int64_t m_base = 0;
    std::int64_t m_runLength = 0;
    std::int64_t m_count = 0;
    std::int64_t m_done = 0;
};

/// Gathers a walk's runs, densely, into `to`. Runs that lie close together are fetched as one window of the flattened tensor, because asking
/// for a kilobyte costs about as much as copying ten. `fetch(Run) -> Result<std::span<const std::byte>>`; the span is used before the next call.
template <class Fetch>
Result<void> gatherRuns(RunWalk& walk, std::size_t itemSize, std::span<std::byte> to, Fetch&& fetch)
{
    constexpr std::int64_t kGapBytes = 16 << 10;
    constexpr std::int64_t kWindowBytes = 1 << 20;
    const auto item = static_cast<std::int64_t>(itemSize);
    std::byte* target = to.data();
    std::vector<Run> pending;
    Run run;
    bool more = walk.next(run);
    while (more) {
        pending.assign(1, run);
        Run window = run;
        while ((more = walk.next(run))) {
            const std::int64_t gap = run.offset - (window.offset + window.count);
            const std::int64_t grown = run.offset + run.count - window.offset;
            if (gap > kGapBytes / item || grown > kWindowBytes / item)
                break;
            window.count = grown;
            pending.push_back(run);
        }
        Result<std::span<const std::byte>> bytes = fetch(window);
        if (!bytes)
            return tl::unexpected(std::move(bytes.error()));
        for (const Run& piece : pending) {
            const std::size_t size = static_cast<std::size_t>(piece.count) * itemSize;
            std::memcpy(target, bytes->data() + static_cast<std::size_t>(piece.offset - window.offset) * itemSize, size);
            target += size;
        }
    }
    return {};
}

/// The boxes that make up elements [offset, offset + count) of the flattened tensor, in order; at most 2 * rank + 1. The range must lie in
/// the tensor.
std::vector<Box> boxesOfRun(const Shape& shape, Run run);

/// buffer.take(bytes), or Unreadable when there is not that much memory.
Result<std::span<std::byte>> takeBytes(ReadBuffer& buffer, std::size_t bytes);

/// Copies a dense block into a larger dense one: `from` (row-major, of `extent`) lands at `at` in `to` (row-major, of `shape`).
void copyBlock(std::span<const std::byte> from, const Shape& extent, std::span<std::byte> to, const Shape& shape,
               const std::vector<std::int64_t>& at, std::size_t itemSize);

} // namespace forkpoint
