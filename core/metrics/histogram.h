// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/element.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

// Histograms over powers of two. An edge is a power of two, so a bin is the exponent of a floating point number and costs no logarithm, and
// every backend finds the same one.
namespace forkpoint::metrics {

/// Of numbers that are not negative. Empty at both ends are cut off: the first and the last count are not 0.
struct Histogram {
    std::int64_t zero = 0;            ///< how many are exactly 0
    std::int32_t first = 0;           ///< exponent of the first bin
    std::vector<std::int64_t> counts; ///< counts[i]: numbers x with 2^(first + i) <= x < 2^(first + i + 1)

    bool operator==(const Histogram&) const = default;
};

// The bins. Those of |d| are the exponents of float32, whatever the type; what lies beyond shares the outermost bins: below 2^-126 (exponent
// -127) and from 2^128 on (exponent 128). Relative errors of types up to 64 bits lie in [2^-63, 2]; ULP distances in [1, 2^64).
inline constexpr int kAbsoluteBins = 256, kAbsoluteFirst = -127;
inline constexpr int kRelativeBins = 66, kRelativeFirst = -64;
inline constexpr int kUlpBins = 64, kUlpFirst = 0;

/// floor(log2 x) of a normal double above 0; -1023 of a smaller one.
FORKPOINT_HD inline int exponentOf(double x)
{
    return static_cast<int>((bitsOf<std::uint64_t>(x) >> 52) & 0x7ffu) - 1023;
}

FORKPOINT_HD inline int binOf(double x, int first, int bins)
{
    const int bin = exponentOf(x) - first;
    return bin < 0 ? 0 : bin >= bins ? bins - 1 : bin;
}

FORKPOINT_HD inline int absoluteBin(double size) { return binOf(size, kAbsoluteFirst, kAbsoluteBins); }     ///< of |d| > 0
FORKPOINT_HD inline int relativeBin(double relative) { return binOf(relative, kRelativeFirst, kRelativeBins); } ///< of relativeError() > 0

/// relativeBin(relativeError(a, b, d)) of d != 0 without the division: of two significands in [1, 2), the quotient is below 1, also when
/// rounded, exactly if the first one is smaller.
FORKPOINT_HD inline int relativeBinOf(double a, double b, double d)
{
    const double size = std::fabs(a) > std::fabs(b) ? std::fabs(a) : std::fabs(b);
    const int ofD = exponentOf(d);
    const int ofSize = exponentOf(size);
    if (ofD == -1023 || ofD == 1024 || ofSize == -1023) // subnormal, overflowed
        return relativeBin(relativeError(a, b, d));
    constexpr std::uint64_t kSignificand = (std::uint64_t{1} << 52) - 1;
    const bool below = (bitsOf<std::uint64_t>(d) & kSignificand) < (bitsOf<std::uint64_t>(size) & kSignificand);
    const int bin = ofD - ofSize - (below ? 1 : 0) - kRelativeFirst;
    return bin < 0 ? 0 : bin; // at most 2, so no other end
}

/// Of a distance of at least 1 step.
FORKPOINT_HD inline int ulpBin(std::uint64_t distance)
{
#if defined(__CUDA_ARCH__)
    return 63 - __clzll(static_cast<long long>(distance));
#else
    return static_cast<int>(std::bit_width(distance)) - 1;
#endif
}

/// Counts of the finite pairs of some chunks. Integers, so the order in which chunks are added does not matter.
struct HistogramAccumulator {
    std::int64_t zero = 0; ///< d = 0: then all three are
    std::array<std::int64_t, kAbsoluteBins> absolute{};
    std::array<std::int64_t, kRelativeBins> relative{};
    std::array<std::int64_t, kUlpBins> ulp{};

    void combine(const HistogramAccumulator& other)
    {
        zero += other.zero;
        std::transform(absolute.begin(), absolute.end(), other.absolute.begin(), absolute.begin(), std::plus<>());
        std::transform(relative.begin(), relative.end(), other.relative.begin(), relative.begin(), std::plus<>());
        std::transform(ulp.begin(), ulp.end(), other.ulp.begin(), ulp.begin(), std::plus<>());
    }
};

/// `counts` of bins from exponent `first` on, without the empty ends.
template <std::size_t Bins>
Histogram finishedHistogram(std::int64_t zero, const std::array<std::int64_t, Bins>& counts, int first)
{
    const auto filled = [](std::int64_t count) { return count != 0; };
    const auto begin = std::find_if(counts.begin(), counts.end(), filled);
    const auto end = std::find_if(counts.rbegin(), counts.rend(), filled).base();
    if (begin >= end)
        return {zero, 0, {}};
    return {zero, first + static_cast<std::int32_t>(begin - counts.begin()), {begin, end}};
}

} // namespace forkpoint::metrics
