// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/data.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

// Shapes of a pyramid's levels, and the memory in which those that are stored lie.
namespace forkpoint::heatmap {

std::vector<LevelShape> levelShapes(const Slice& slice); ///< none of an empty picture

/// Cells of all levels from `first` on.
std::size_t cellsFrom(const std::vector<LevelShape>& levels, int first);

inline constexpr std::size_t kPlanes = 7; ///< of Real, beside the flags
template <class Real>
constexpr std::size_t kCellBytes = kPlanes * sizeof(Real) + sizeof(std::uint16_t);

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Memory for large arrays, not yet touched: it comes in large pages where the system has them, since faulting in small ones takes as long as
/// filling them.
template <class T>
std::shared_ptr<T> largeArray(std::size_t count)
{
    const std::size_t bytes = std::max<std::size_t>(count * sizeof(T), 1);
    const std::align_val_t alignment{bytes >= kHugePage ? kHugePage : 64};
    void* memory = ::operator new(bytes, alignment);
#if defined(__linux__)
    if (bytes >= kHugePage)
        madvise(memory, bytes, MADV_HUGEPAGE); // advice: it does not matter if it fails
#endif
    return {static_cast<T*>(memory), [alignment](T* data) { ::operator delete(data, alignment); }};
}

/// The cells of levels from `first` on, not filled in: seven planes level by level, and their flags.
template <class Real>
CellStore<Real> allocated(const std::vector<LevelShape>& levels, int first, std::size_t cacheBudget)
{
    CellStore<Real> store;
    const std::size_t cells = cellsFrom(levels, first);
    store.values = largeArray<Real>(kPlanes * cells);
    store.flags = largeArray<std::uint16_t>(cells);
    store.tiles = std::make_unique<TileCache<Real>>(cacheBudget);
    store.levels.resize(levels.size());
    std::size_t done = 0;
    for (std::size_t level = static_cast<std::size_t>(first); level < levels.size(); ++level) {
        const auto size = static_cast<std::size_t>(levels[level].whole().cells());
        Real* const values = store.values.get() + kPlanes * done;
        store.levels[level] = {values, values + size, values + 2 * size, values + 3 * size, values + 4 * size, values + 5 * size,
                               values + 6 * size, store.flags.get() + done, levels[level].columns};
        done += size;
    }
    return store;
}

} // namespace forkpoint::heatmap
