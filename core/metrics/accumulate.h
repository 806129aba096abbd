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

/// Whether products of four numbers, the largest of which is `largest`, may overflow or lose the largest. Of types up to float32 and integers
/// they cannot.
FORKPOINT_HD inline bool isFar(double largest, double lowest) { return largest != 0 && !(largest >= lowest && largest <= kHighest); }

/// A finite number whose partner is not.
FORKPOINT_HD_RARE inline void addAlone(double value, SideAccumulator& side)
{
    const Wide x = wide(value);
    side.zeros += value == 0;
    side.min = value < side.min ? value : side.min;
    side.max = value > side.max ? value : side.max;
    side.moments.combine({1, x, {}});
    side.aloneSquares = side.aloneSquares + x * x;
}

/// The sums of one finite pair of any size. `d`: difference(a, b), which may have overflowed.
FORKPOINT_HD_RARE inline void addFarPair(double a, double b, double d, ChunkAccumulator& into)
{
    const Wide x = wide(a), y = wide(b), difference = isFiniteValue(d) ? wide(d) : y - x;
    const Wide product = x * difference;
    into.aa = into.aa + x * x;
    into.bb = into.bb + y * y;
    into.ab = into.ab + x * y;
    into.ad = into.ad + product;
    into.dd = into.dd + difference * difference;
    into.d = into.d + difference;
    into.absD = into.absD + (difference.m < 0 ? -difference : difference);
    into.aadd = into.aadd + product * product;
    if (isZero(x))
        into.fit.combine({{}, {}, difference * difference});
    else
        into.fit.combine({x * x, difference / x, {}});
    into.a.moments.combine({1, x, {}});
    into.b.moments.combine({1, y, {}});
}

} // namespace forkpoint::metrics
