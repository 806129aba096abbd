// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/kernel.h"
#include "core/metrics/element.h"

#include <cstdint>
#include <limits>
#include <type_traits>

// What the loops of the element pass work on: a few rows of 128 numbers, and the extremes of their columns. For the files of the kernel only.
namespace forkpoint::heatmap::kernel {

using namespace metrics; // the elements' types and arithmetic

inline constexpr int kBlock = 128; ///< numbers handled at a time
inline constexpr int kPanel = 512; ///< columns whose extremes are kept
inline constexpr int kBlocks = kPanel / kBlock;
inline constexpr int kRows = 4; ///< rows handled at a time

template <class Real>
constexpr Real kLargest = std::numeric_limits<Real>::max();
template <class Real>
constexpr Real kInfinite = std::numeric_limits<Real>::infinity();

/// Place of a number in the order of its type, wide enough for every type that is worked on in Real.
template <class Real>
using Order = std::conditional_t<std::is_same_v<Real, float>, std::int32_t, std::int64_t>;
template <class Real>
using Distance = std::make_unsigned_t<Order<Real>>;
/// An integer as wide as Real, for vectors that hold both.
template <class Real>
using Mask = Order<Real>;

/// Extremes of each column, over some rows.
template <class Real, int kColumns>
struct Extremes {
    alignas(64) Real minA[kColumns];
    alignas(64) Real maxA[kColumns];
    alignas(64) Real minB[kColumns];
    alignas(64) Real maxB[kColumns];
    alignas(64) Real minD[kColumns];
    alignas(64) Real maxD[kColumns];
    alignas(64) Real relative[kColumns];
    alignas(64) Distance<Real> ulp[kColumns];
};

/// What is known of up to kPanel columns. A block is written when its first rows come, not before.
template <class Real>
struct Panel {
    Extremes<Real, kPanel> extremes;
    alignas(64) std::uint32_t flags[kPanel]; ///< of columns; valid where `flagged`
    std::uint32_t blockFlags[kBlocks];       ///< that hold for every column of a block
    bool touched[kBlocks], flagged[kBlocks];
};

/// The same 128 columns of some rows, decoded. Pointers go to `numbers`, or into the tensor if that holds them as they are needed.
template <class Real>
struct Rows {
    const Real* a[kRows];
    const Real* b[kRows];
    const Order<Real>* orderA[kRows]; ///< only if the pair's types need it
    const Order<Real>* orderB[kRows];
    alignas(64) Real numbersA[kRows][kBlock];
    alignas(64) Real numbersB[kRows][kBlock];
    alignas(64) Order<Real> ordersA[kRows][kBlock];
    alignas(64) Order<Real> ordersB[kRows][kBlock];
};

constexpr bool isPair(unsigned planes) { return (planes & ~unsigned{kPlaneA | kPlaneB}) != 0; }
constexpr bool needsA(unsigned planes) { return isPair(planes) || (planes & kPlaneA) != 0; }
constexpr bool needsB(unsigned planes) { return isPair(planes) || (planes & kPlaneB) != 0; }
constexpr bool needsD(unsigned planes) { return (planes & (kPlaneDifference | kPlaneClass)) != 0; }

/// Where a loop leaves the extremes of its columns.
template <class Real>
struct Columns {
    Real *minA, *maxA, *minB, *maxB, *minD, *maxD, *relative;
    Distance<Real>* ulp;
};

template <class Real, int kColumns>
FORKPOINT_INLINE Columns<Real> columnsAt(Extremes<Real, kColumns>& extremes, int offset)
{
    return {extremes.minA + offset, extremes.maxA + offset, extremes.minB + offset, extremes.maxB + offset,
            extremes.minD + offset, extremes.maxD + offset, extremes.relative + offset, extremes.ulp + offset};
}

} // namespace forkpoint::heatmap::kernel
