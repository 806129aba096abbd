// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/chunk_accumulator.h"

// What is done with one number or one pair beyond arithmetic: the rules for special numbers, narrow types and the ends of double's range.
// Shared by `scalar` and `cuda`, so that tests on a processor cover what a GPU runs.
namespace forkpoint::metrics {

/// One number that is not finite.
FORKPOINT_HD inline void countSpecial(double value, SideAccumulator& side)
{
    if (value != value)
        ++side.nan;
    else if (value > 0)
        ++side.positiveInf;
    else
        ++side.negativeInf;
}

/// A pair that is not finite on both sides, but for its finite number, if it has one. `oneType`: both sides have the same type, whose equal
/// bits are counted elsewhere.
FORKPOINT_HD_RARE inline void countSpecialPair(double a, double b, bool oneType, ChunkAccumulator& into)
{
    if (!isFiniteValue(a))
        countSpecial(a, into.a);
    if (!isFiniteValue(b))
        countSpecial(b, into.b);
    const bool sameInfinity = a == b;
    into.infBothEqual += sameInfinity;
    into.nanBoth += a != a && b != b;
    into.allcloseViolations += !sameInfinity;
    into.bitEqual += sameInfinity && !oneType;
}

/// Which narrower types hold a float32, from its bits. Those of NaN and infinity say nothing. Free once none does, which is soon: what needs
/// one of the low 13 bits fits none of them.
FORKPOINT_HD inline void noteNarrowness(std::uint32_t bits, SideAccumulator& side)
{
    if (!side.low13Clear || (bits & 0x7f800000u) == 0x7f800000u)
        return;
    side.low13Clear = low13Clear(bits);
    side.bfloat16Exact = side.bfloat16Exact && bfloat16Holds(bits);
    side.float16Exact = side.float16Exact && float16Holds(bits);
}

inline constexpr double kLowestValue = 0x1p-200, kLowestDifference = 0x1p-250, kHighest = 0x1p200;

/// Exponent to scale numbers of at most `largest` by, so that products of four neither overflow nor lose the largest; 0 where they cannot.
FORKPOINT_HD_RARE inline int scaleFor(double largest, double lowest, double highest)
{
    if (largest == 0 || (largest >= lowest && largest <= highest))
        return 0;
    return largest <= DBL_MAX ? std::ilogb(largest) : DBL_MAX_EXP;
}

/// d * 2^-exponent, of a d that may have overflowed.
FORKPOINT_HD_RARE inline double scaledDifference(double a, double b, double d, int exponent)
{
    return isFiniteValue(d) ? scaled(d, -exponent) : scaled(b / 2 - a / 2, 1 - exponent);
}

} // namespace forkpoint::metrics
