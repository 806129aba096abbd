// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/element.h"

#include <cstddef>
#include <cstdint>
#include <limits>

// How many representable numbers lie between two: the distance in units in the last place, as used for comparing floating point numbers by their
// bits. The bits of a floating type, read as sign and magnitude, are integers in the order of the numbers; their difference counts the steps.
// -0 and 0 are the same step, and infinity is one step beyond the largest number.
namespace forkpoint::metrics {

inline constexpr std::uint64_t kUlpUndefined = std::numeric_limits<std::uint64_t>::max(); ///< a NaN is at no distance from anything

/// The place of the number with these bits in the order of its type, 0 for both zeros. `width`: bits of the type, at most 64.
FORKPOINT_HD constexpr std::int64_t orderOfBits(std::uint64_t bits, int width)
{
    const std::uint64_t signBit = std::uint64_t{1} << (width - 1);
    const auto magnitude = static_cast<std::int64_t>(bits & (signBit - 1));
    return (bits & signBit) != 0 ? -magnitude : magnitude;
}

/// |x - y| of places in the order; exact, it always fits.
FORKPOINT_HD constexpr std::uint64_t orderDistance(std::int64_t x, std::int64_t y)
{
    const auto ux = static_cast<std::uint64_t>(x);
    const auto uy = static_cast<std::uint64_t>(y);
    return x > y ? ux - uy : uy - ux;
}

/// Of two numbers of one floating type from their bits; neither may be NaN.
template <class Bits>
FORKPOINT_HD constexpr std::uint64_t bitsDistance(Bits a, Bits b)
{
    constexpr int width = static_cast<int>(sizeof(Bits)) * 8;
    return orderDistance(orderOfBits(a, width), orderOfBits(b, width));
}

// The same of numbers that arithmetic is done on; integers: |b - a|.
FORKPOINT_HD inline std::uint64_t steps(float a, float b) { return bitsDistance(bitsOf<std::uint32_t>(a), bitsOf<std::uint32_t>(b)); }
FORKPOINT_HD inline std::uint64_t steps(double a, double b) { return bitsDistance(bitsOf<std::uint64_t>(a), bitsOf<std::uint64_t>(b)); }
FORKPOINT_HD inline std::uint64_t steps(std::int64_t a, std::int64_t b) { return orderDistance(a, b); }

std::uint64_t ulpDistance(float a, float b);   ///< kUlpUndefined if one is NaN
std::uint64_t ulpDistance(double a, double b); ///< the same

/// Of one number each (complex: of one part), read from memory at any alignment. In steps of the common type; of different floating types, and
/// of a floating type and an integer, in steps of the narrowest type that arithmetic on the pair is done in: float32 (float64 if one is
/// float64 or an integer). Integers: |b - a|. kUlpUndefined if one is NaN.
std::uint64_t ulpDistance(DType dtypeA, const std::byte* a, DType dtypeB, const std::byte* b);

} // namespace forkpoint::metrics
