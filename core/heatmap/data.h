// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/kernel.h"
#include "core/heatmap/pair.h"
#include "core/heatmap/pyramid.h"
#include "core/heatmap/tiles.h"

#include <memory>
#include <variant>
#include <vector>

namespace forkpoint::heatmap {

/// The cells of the stored levels. What tolerance has no say in is shared between pyramids that differ in it.
template <class Real>
struct CellStore {
    std::shared_ptr<Real> values;
    std::shared_ptr<std::uint16_t> flags;
    std::vector<CellPlanes<Real>> levels; ///< by level; null below the first stored one
    std::unique_ptr<TileCache<Real>> tiles;
};

/// What a pyramid consists of, for the functions that read it.
struct Pyramid::Data {
    SlicedPair pair;
    PyramidOptions options;
    Counts counts;
    std::vector<LevelShape> levels;
    int firstStored = 0;
    std::size_t storedBytes = 0;
    bool readable = true;
    std::variant<CellStore<float>, CellStore<double>> store;

    Tolerance tolerance() const { return {options.rtol, options.atol}; }
    const LevelShape& shape(int level) const { return levels[static_cast<std::size_t>(level)]; }
};

/// The elements under a rectangle of cells.
CellRect elementsUnder(const LevelShape& level, const CellRect& rect, const Slice& slice);

} // namespace forkpoint::heatmap
