// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/pair.h"
#include "core/heatmap/pyramid.h"
#include "core/heatmap/vector_loops.h"

#include <cstddef>
#include <cstdint>

// The element pass of the pyramid: a block of both tensors becomes cells. Every element is reached here and nowhere else, so this is what decides
// how long a heatmap takes.
//
// A block is walked in panels of 512 columns, each over all rows of a row of cells, with the extremes of every column kept beside each other; then
// neighbouring columns are halved until a cell is left. Within a panel, four rows of 128 numbers are taken at a time: decoded to one type if they
// are not stored in it, then
//   - all pairs finite, as nearly always: one loop of plain minima and maxima, which vectorises;
//   - otherwise (found out by that loop, whose results are then dropped) one pair after the other, with flags for what is not finite.
// Both give the same values, so it does not matter which one a neighbour's NaN chose. Loops have a constant number of turns, since that is what
// compilers vectorise without being asked; the same code is compiled for the instructions that every machine has and for AVX2. What does not
// fill 128 columns is padded with its last pair, which no extreme minds, and taken out of the counts again.
namespace forkpoint::heatmap {

/// What is computed; a mode needs one of them.
enum Plane : unsigned {
    kPlaneA = 1u << 0,
    kPlaneB = 1u << 1,
    kPlaneDifference = 1u << 2,
    kPlaneRelative = 1u << 3,
    kPlaneUlp = 1u << 4,
    kPlaneClass = 1u << 5, ///< kDiffers and kOver
    kPlaneAll = (1u << 6) - 1,
};
Plane planeOf(Mode mode);
Sides sidesOf(unsigned planes); ///< what must be read

/// Whether values of such a pair are kept in double.
bool isWidePair(DType a, DType b);

/// The number at an address, of any alignment; an integer beyond 2^53 is rounded.
double numberOf(DType dtype, const std::byte* bytes);

/// Cells in memory, one array per quantity; those that are not computed are null. As stored: minima without a finite value are +infinity and
/// maxima -infinity, so that combining needs no condition. Nothing else in them is not finite.
template <class Real>
struct CellPlanes {
    Real *minA = nullptr, *maxA = nullptr, *minB = nullptr, *maxB = nullptr;
    Real *difference = nullptr, *relative = nullptr, *ulp = nullptr;
    std::uint16_t* flags = nullptr;
    std::int64_t stride = 0; ///< cells from one row to the next

    CellPlanes at(std::int64_t row, std::int64_t column) const
    {
        const std::int64_t offset = row * stride + column;
        const auto moved = [offset](auto* plane) { return plane == nullptr ? nullptr : plane + offset; };
        return {moved(minA), moved(maxA), moved(minB), moved(maxB), moved(difference), moved(relative), moved(ulp), moved(flags), stride};
    }
};

/// Of two values the one of larger magnitude, of equals the positive one.
template <class Real>
constexpr Real largerMagnitude(Real low, Real high) { return high >= -low ? high : low; }

struct Tolerance {
    double rtol = 0, atol = 0;
};

/// Computes the cells of a block of 2^rowShift x 2^columnShift elements each. The block begins at a multiple of both and ends at one or at the
/// edge of the picture; `cells` points to its first cell. Real is float unless isWidePair. Adds to `counts` what the planes show.
template <class Real>
void poolBlock(const SliceBlock& block, const Slice& slice, unsigned planes, int rowShift, int columnShift, const Tolerance& tolerance,
               const CellPlanes<Real>& cells, Counts& counts, Instructions instructions);

/// Combines two rows of cells (`second` may be the same as `first`: a last row alone), and neighbours in them if `halveColumns`, into one row.
/// `columns`: of the rows read.
template <class Real>
void combineRows(const CellPlanes<Real>& first, const CellPlanes<Real>& second, std::int64_t columns, bool halveColumns,
                 const CellPlanes<Real>& to, Instructions instructions);

} // namespace forkpoint::heatmap
