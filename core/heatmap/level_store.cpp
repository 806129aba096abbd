// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/level_store.h"

namespace forkpoint::heatmap {

namespace {

constexpr std::int64_t kStrip = 8;                      ///< longer than this many times the other direction: halved alone

} // namespace

std::vector<LevelShape> levelShapes(const Slice& slice)
{
    std::vector<LevelShape> levels;
    if (slice.elements() == 0)
        return levels;
    LevelShape level{0, 0, slice.rows(), slice.columns()};
    levels.push_back(level);
    while (level.rows > 1 || level.columns > 1) {
        const bool halveRows = level.rows > 1 && level.columns / kStrip <= level.rows;
        const bool halveColumns = level.columns > 1 && level.rows / kStrip <= level.columns;
        if (halveRows) {
            ++level.rowShift;
            level.rows = (level.rows + 1) / 2;
        }
        if (halveColumns) {
            ++level.columnShift;
            level.columns = (level.columns + 1) / 2;
        }
        levels.push_back(level);
    }
    return levels;
}

std::size_t cellsFrom(const std::vector<LevelShape>& levels, int first)
{
    std::size_t cells = 0;
    for (std::size_t level = static_cast<std::size_t>(first); level < levels.size(); ++level)
        cells += static_cast<std::size_t>(levels[level].whole().cells());
    return cells;
}

} // namespace forkpoint::heatmap
