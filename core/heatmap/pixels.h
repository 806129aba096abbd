// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/render.h"
#include "core/heatmap/vector_loops.h"

#include <cstdint>
#include <vector>

// The loops over cells and pixels of one row: they decide how long a frame takes.
namespace forkpoint::heatmap {

/// A scale with its numbers worked out.
struct PreparedScale {
    RangeScale scale = RangeScale::Linear;
    double offset = 0; ///< on the scale, of index 0
    double factor = 0; ///< indexes per unit of the scale
    double unit = 1;   ///< SymLog: 1 / linear

    explicit PreparedScale(const Normalisation& normalisation);
};

enum class Combining : std::uint8_t {
    Signed,  ///< of larger magnitude, of equals the positive one
    Highest,
};

/// Flags that any of the cells has, and that all of them have.
struct FlagSummary {
    std::uint16_t any = 0, all = 0xffff;
};

/// These loops for one instruction set.
template <class Real>
struct PixelLoops {
    void (*colourIndexes)(const PreparedScale&, const Real* values, std::int64_t n, std::int32_t* to);
    void (*magnitudes)(Real* values, std::int64_t n);
    void (*combine)(Combining, Real* to, const Real* from, std::int64_t n);
    /// to[i]: of from[first[i]] and from[last[i]]
    void (*gather)(Combining, const Real* from, const std::int32_t* first, const std::int32_t* last, std::int64_t n, Real* to);
    FlagSummary (*summarise)(const std::uint16_t* flags, std::int64_t n);
    void (*combineFlags)(std::uint16_t* to, const std::uint16_t* from, std::int64_t n);
};

template <class Real>
PixelLoops<Real> pixelLoops(Instructions instructions);

} // namespace forkpoint::heatmap
