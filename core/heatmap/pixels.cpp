// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/pixels.h"

#include "core/heatmap/kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace forkpoint::heatmap {
namespace {

constexpr std::int64_t kAtOnce = 32; ///< a constant number of turns lets the compiler vectorise a loop

/// log2 for choosing colours: within 2e-5, monotone, exact at powers of two. The mantissa's part is t + t (1 - t) q(t), t = mantissa - 1, with q
/// fitted to log2. Subnormal numbers give about the lowest exponent, infinity the highest. Positive numbers only.
template <class Real>
FORKPOINT_INLINE Real quickLog2(Real x)
{
    using Bits = std::conditional_t<std::is_same_v<Real, float>, std::uint32_t, std::uint64_t>;
    constexpr int kDigits = std::numeric_limits<Real>::digits - 1;
    constexpr int kBias = std::numeric_limits<Real>::max_exponent - 1;
    Bits bits;
    std::memcpy(&bits, &x, sizeof bits);
    const auto exponent = static_cast<std::int32_t>(bits >> kDigits) - kBias;
    bits = (bits & ((Bits{1} << kDigits) - 1)) | Bits{kBias} << kDigits;
    Real mantissa;
    std::memcpy(&mantissa, &bits, sizeof mantissa);
    const Real t = mantissa - 1;
    const Real q = Real(0.4419621527194977) + t * (Real(-0.2672150731086731) + t * (Real(0.14798900485038757) + t * Real(-0.04459543898701668)));
    return static_cast<Real>(exponent) + (t + t * (1 - t) * q);
}

/// Place on a symmetric logarithmic scale.
template <class Real>
FORKPOINT_INLINE Real symLog(Real value, Real unit)
{
    return std::copysign(quickLog2(1 + std::fabs(value) * unit), value);
}

/// Place among the indexes, half added for rounding, limited to those there are.
template <RangeScale kScale, class Real>
FORKPOINT_INLINE float positionOf(const PreparedScale& scale, Real value)
{
    constexpr float kMost = static_cast<float>(kColours - 1);
    float position = 0;
    if constexpr (kScale == RangeScale::Linear) { // in double: a narrow range far from 0 leaves float no digits
        position = static_cast<float>((static_cast<double>(value) * 0.5 - scale.offset) * scale.factor + 0.5);
    } else {
        const auto offset = static_cast<Real>(scale.offset), factor = static_cast<Real>(scale.factor);
        Real at = 0;
        if constexpr (kScale == RangeScale::Log)
            at = quickLog2(value);
        else
            at = symLog(value, static_cast<Real>(scale.unit));
        position = static_cast<float>((at - offset) * factor + Real(0.5));
    }
    const float above = position > 0 ? position : 0;
    return above < kMost ? above : kMost;
}

/// What has a logarithm; not above the low end of any scale.
template <RangeScale kScale, class Real>
FORKPOINT_INLINE Real withLogarithm(Real value)
{
    constexpr Real kLowest = std::numeric_limits<Real>::min();
    return kScale != RangeScale::Log || value > kLowest ? value : kLowest;
}

template <RangeScale kScale, class Real>
FORKPOINT_INLINE void indexesBody(const PreparedScale& prepared, const Real* __restrict values, std::int64_t n, std::int32_t* __restrict to)
{
    const PreparedScale scale = prepared;
    // In steps through memory: in one loop, limiting becomes branches around the rest, and nothing is vectorised.
    Real limited[kAtOnce];
    float positions[kAtOnce];
    std::int64_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce) {
        for (std::int64_t j = 0; j < kAtOnce; ++j)
            limited[j] = withLogarithm<kScale>(values[i + j]);
        for (std::int64_t j = 0; j < kAtOnce; ++j)
            positions[j] = positionOf<kScale>(scale, limited[j]);
        for (std::int64_t j = 0; j < kAtOnce; ++j)
            to[i + j] = static_cast<std::int32_t>(positions[j]);
    }
    for (; i < n; ++i)
        to[i] = static_cast<std::int32_t>(positionOf<kScale>(scale, withLogarithm<kScale>(values[i])));
}

template <class Real>
FORKPOINT_INLINE void colourIndexesBody(const PreparedScale& scale, const Real* values, std::int64_t n, std::int32_t* to)
{
    switch (scale.scale) {
    case RangeScale::Linear:
        return indexesBody<RangeScale::Linear>(scale, values, n, to);
    case RangeScale::Log:
        return indexesBody<RangeScale::Log>(scale, values, n, to);
    case RangeScale::SymLog:
        return indexesBody<RangeScale::SymLog>(scale, values, n, to);
    }
}

template <class Real>
FORKPOINT_INLINE void magnitudesBody(Real* values, std::int64_t n)
{
    std::int64_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce) {
        for (std::int64_t j = 0; j < kAtOnce; ++j)
            values[i + j] = std::fabs(values[i + j]);
    }
    for (; i < n; ++i)
        values[i] = std::fabs(values[i]);
}

template <Combining kHow, class Real>
FORKPOINT_INLINE Real combined(Real x, Real y)
{
    const Real high = y > x ? y : x;
    if constexpr (kHow == Combining::Highest)
        return high;
    return largerMagnitude(y < x ? y : x, high);
}

template <Combining kHow, class Real>
FORKPOINT_INLINE void combineRowBody(Real* __restrict to, const Real* __restrict from, std::int64_t n)
{
    std::int64_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce) {
        for (std::int64_t j = 0; j < kAtOnce; ++j)
            to[i + j] = combined<kHow>(to[i + j], from[i + j]);
    }
    for (; i < n; ++i)
        to[i] = combined<kHow>(to[i], from[i]);
}

template <Combining kHow, class Real>
FORKPOINT_INLINE void gatherRowBody(const Real* __restrict from, const std::int32_t* __restrict first, const std::int32_t* __restrict last,
                                    std::int64_t n, Real* __restrict to)
{
    for (std::int64_t i = 0; i < n; ++i)
        to[i] = combined<kHow>(from[first[i]], from[last[i]]);
}

FORKPOINT_INLINE FlagSummary summariseBody(const std::uint16_t* __restrict flags, std::int64_t n)
{
    std::uint16_t any[kAtOnce] = {}, none[kAtOnce] = {};
    std::int64_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce) {
        for (std::int64_t j = 0; j < kAtOnce; ++j) {
            any[j] = static_cast<std::uint16_t>(any[j] | flags[i + j]);
            none[j] = static_cast<std::uint16_t>(none[j] | static_cast<std::uint16_t>(~flags[i + j]));
        }
    }
    FlagSummary sum;
    for (std::int64_t j = 0; j < kAtOnce; ++j) {
        sum.any = static_cast<std::uint16_t>(sum.any | any[j]);
        sum.all = static_cast<std::uint16_t>(sum.all & ~none[j]);
    }
    for (; i < n; ++i) {
        sum.any = static_cast<std::uint16_t>(sum.any | flags[i]);
        sum.all = static_cast<std::uint16_t>(sum.all & flags[i]);
    }
    return sum;
}

FORKPOINT_INLINE void combineFlagsBody(std::uint16_t* __restrict to, const std::uint16_t* __restrict from, std::int64_t n)
{
    std::int64_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce) {
        for (std::int64_t j = 0; j < kAtOnce; ++j)
            to[i + j] = static_cast<std::uint16_t>(to[i + j] | from[i + j]);
    }
    for (; i < n; ++i)
        to[i] = static_cast<std::uint16_t>(to[i] | from[i]);
}

// The same functions twice; a macro, since an attribute cannot be a template's argument.
#define FORKPOINT_PIXEL_LOOPS(ISA, TARGET)                                                                                                     \
    template <class Real>                                                                                                                      \
    struct ISA {                                                                                                                               \
        TARGET static void colourIndexes(const PreparedScale& scale, const Real* values, std::int64_t n, std::int32_t* to)                     \
        {                                                                                                                                      \
            colourIndexesBody(scale, values, n, to);                                                                                           \
        }                                                                                                                                      \
        TARGET static void magnitudes(Real* values, std::int64_t n) { magnitudesBody(values, n); }                                             \
        TARGET static void combine(Combining how, Real* to, const Real* from, std::int64_t n)                                                  \
        {                                                                                                                                      \
            how == Combining::Signed ? combineRowBody<Combining::Signed>(to, from, n) : combineRowBody<Combining::Highest>(to, from, n);       \
        }                                                                                                                                      \
        TARGET static void gather(Combining how, const Real* from, const std::int32_t* first, const std::int32_t* last, std::int64_t n,        \
                                  Real* to)                                                                                                    \
        {                                                                                                                                      \
            how == Combining::Signed ? gatherRowBody<Combining::Signed>(from, first, last, n, to)                                              \
                                     : gatherRowBody<Combining::Highest>(from, first, last, n, to);                                            \
        }                                                                                                                                      \
        TARGET static FlagSummary summarise(const std::uint16_t* flags, std::int64_t n) { return summariseBody(flags, n); }                    \
        TARGET static void combineFlags(std::uint16_t* to, const std::uint16_t* from, std::int64_t n) { combineFlagsBody(to, from, n); }       \
        static PixelLoops<Real> loops() { return {colourIndexes, magnitudes, combine, gather, summarise, combineFlags}; }                      \
    }

FORKPOINT_PIXEL_LOOPS(Portable, );
FORKPOINT_PIXEL_LOOPS(Avx2, FORKPOINT_AVX2);

} // namespace

PreparedScale::PreparedScale(const Normalisation& normalisation)
    : scale(normalisation.scale)
{
    constexpr double kMost = static_cast<double>(kColours - 1);
    const auto made = [](double x, double otherwise) {
        constexpr double kLargest = std::numeric_limits<double>::max();
        return std::isnan(x) ? otherwise : std::clamp(x, -kLargest, kLargest);
    };
    double low = made(normalisation.range.low, 0);
    double high = made(normalisation.range.high, 1);
    switch (scale) {
    case RangeScale::Log:
        high = high > 0 ? std::max(high, std::numeric_limits<double>::min()) : 1;
        low = std::max(low > 0 ? low : high * 1e-6, std::numeric_limits<double>::min());
        offset = quickLog2(low);
        factor = kMost / std::max(quickLog2(high) - offset, 1e-6);
        return;
    case RangeScale::SymLog:
        unit = 1 / std::clamp(made(std::fabs(normalisation.linear), 1), 1e-30, 1e30); // fits in float either way
        offset = symLog(low, unit);
        factor = kMost / std::max(symLog(high, unit) - offset, 1e-6);
        return;
    case RangeScale::Linear: // halved: two finite numbers may be further apart than fits
        offset = low / 2;
        factor = kMost / std::max(high / 2 - offset, std::max(std::fabs(offset) * 1e-12, 1e-300));
        return;
    }
}

template <class Real>
PixelLoops<Real> pixelLoops(Instructions instructions)
{
    return instructions == Instructions::Avx2 ? Avx2<Real>::loops() : Portable<Real>::loops();
}

template PixelLoops<float> pixelLoops(Instructions);
template PixelLoops<double> pixelLoops(Instructions);

} // namespace forkpoint::heatmap
