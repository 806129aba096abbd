// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace forkpoint::test {
namespace {

using Real = long double;

double asDouble(Real value)
{
    return static_cast<double>(std::clamp(value, static_cast<Real>(-DBL_MAX), static_cast<Real>(DBL_MAX)));
}

struct Pair {
    Real a, b;
    Real steps; ///< between them, if both are finite
    double d; ///< if both are finite
    double relative;
    std::int64_t index;
};

bool isFloatingPart(DType dtype)
{
    switch (dtype) {
    case DType::Int64:
    case DType::Int32:
    case DType::Int16:
    case DType::Int8:
    case DType::UInt8:
    case DType::Bool:
        return false;
    default:
        return true;
    }
}

/// Digits after the point and exponent of the smallest normal number.
struct Layout {
    int digits, lowest;
};

Layout layoutOf(DType dtype)
{
    switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
        return {52, -1022};
    case DType::Float16:
        return {10, -14};
    case DType::BFloat16:
        return {7, -126};
    case DType::Float8E4M3FN:
        return {3, -6};
    case DType::Float8E5M2:
        return {2, -14};
    default:
        return {23, -126};
    }
}

/// How many numbers of that layout lie between 0 and x, by arithmetic: exact, 64 bits hold it.
Real stepsFromZero(Real x, const Layout& layout)
{
    const Real size = std::fabs(x);
    const int exponent = size > 0 ? std::max(std::ilogb(size), layout.lowest) : layout.lowest;
    const Real below = std::ldexp(static_cast<Real>(exponent - layout.lowest), layout.digits);
    return std::copysign(below + std::ldexp(size, layout.digits - exponent), x);
}

/// Sizes are nearest to x among those of the layout, by trying both neighbours.
Real nearest(Real x, const Layout& layout, Real largest, bool hasInfinity)
{
    if (!std::isfinite(x))
        return hasInfinity ? x : std::copysign(std::numeric_limits<Real>::quiet_NaN(), x);
    const Real size = std::fabs(x);
    const int exponent = size > 0 ? std::max(std::ilogb(size), layout.lowest) : layout.lowest;
    const Real unit = std::ldexp(static_cast<Real>(1), exponent - layout.digits);
    const Real below = std::floor(size / unit);
    const Real rest = size / unit - below;
    const bool odd = std::fmod(below, static_cast<Real>(2)) == 1;
    const Real result = (rest > static_cast<Real>(0.5) || (rest == static_cast<Real>(0.5) && odd) ? below + 1 : below) * unit;
    if (result > largest)
        return hasInfinity ? std::copysign(std::numeric_limits<Real>::infinity(), x) : std::numeric_limits<Real>::quiet_NaN();
    return std::copysign(result, x);
}

/// floor(log2 of x) of numbers that are not 0, with zeros apart.
Histogram histogramOf(const std::vector<Real>& numbers, int lowest, int highest)
{
    Histogram histogram;
    std::map<int, std::int64_t> bins;
    for (const Real x : numbers) {
        if (x == 0)
            ++histogram.zero;
        else
            ++bins[std::clamp(std::ilogb(x), lowest, highest)];
    }
    if (bins.empty())
        return histogram;
    histogram.first = bins.begin()->first;
    for (int exponent = histogram.first; exponent <= bins.rbegin()->first; ++exponent)
        histogram.counts.push_back(bins.contains(exponent) ? bins[exponent] : 0);
    return histogram;
}

SideStatistics sideOf(const std::vector<Real>& all, DType dtype)
{
    SideStatistics side;
    std::vector<Real> finite;
    for (const Real x : all) {
        if (std::isnan(x))
            ++side.nan;
        else if (std::isinf(x))
            ++(x > 0 ? side.positiveInf : side.negativeInf);
        else
            finite.push_back(x);
    }
    if (finite.empty())
        return side;
    Real sum = 0, squares = 0;
    bool allZero = true, low = true, half = true, brain = true;
    for (const Real x : finite) {
        side.zeros += x == 0;
        allZero = allZero && x == 0;
        sum += x;
        squares += x * x;
        if (dtype == DType::Float32 && x != 0) {
            // Digits after the leading one that a type may have are counted as multiples of a power of two.
            const auto multipleOf = [x](int exponent) { return std::trunc(std::ldexp(x, -exponent)) == std::ldexp(x, -exponent); };
            const int exponent = std::max(std::ilogb(x), -126); // float32's own subnormals: bits, not digits
            low = low && multipleOf(exponent - 10);
            brain = brain && multipleOf(exponent - 7);
            half = half && std::fabs(x) <= 65504 && multipleOf(std::max(std::ilogb(x), -14) - 10);
        }
    }
    const auto n = static_cast<Real>(finite.size());
    const Real mean = sum / n;
    Real deviation = 0;
    for (const Real x : finite)
        deviation += (x - mean) * (x - mean);
    side.min = static_cast<double>(*std::min_element(finite.begin(), finite.end()));
    side.max = static_cast<double>(*std::max_element(finite.begin(), finite.end()));
    side.mean = asDouble(mean);
    side.std = asDouble(std::sqrt(deviation / n));
    side.norm = asDouble(std::sqrt(squares));
    if (dtype == DType::Float32 && !allZero) {
        side.lowBitsZero = low;
        if (brain)
            side.narrowest = DType::BFloat16;
        else if (half)
            side.narrowest = DType::Float16;
    }
    return side;
}

void expectNear(const char* what, double got, double expected, double allowed)
{
    if (!(std::fabs(got - expected) <= allowed) && got != expected)
        ADD_FAILURE() << what << ": " << got << " instead of " << expected << ", off by " << std::fabs(got - expected) << ", allowed "
                      << allowed;
}

void expectSame(const char* what, const Extremum& got, const Extremum& expected)
{
    EXPECT_EQ(got.index, expected.index) << what;
    EXPECT_EQ(got.value, expected.value) << what;
    EXPECT_EQ(got.a, expected.a) << what;
    EXPECT_EQ(got.b, expected.b) << what;
}

std::string textOf(const Histogram& histogram)
{
    std::string text = std::to_string(histogram.zero) + " zeros; from 2^" + std::to_string(histogram.first) + ":";
    for (const std::int64_t count : histogram.counts)
        text += " " + std::to_string(count);
    return text;
}

void expectSame(const char* what, const Histogram& got, const Histogram& expected)
{
    EXPECT_EQ(textOf(got), textOf(expected)) << what;
}

void expectAgrees(const char* what, const SideStatistics& got, const SideStatistics& expected, std::int64_t count, double tolerance)
{
    SCOPED_TRACE(what);
    EXPECT_EQ(got.nan, expected.nan);
    EXPECT_EQ(got.positiveInf, expected.positiveInf);
    EXPECT_EQ(got.negativeInf, expected.negativeInf);
    EXPECT_EQ(got.zeros, expected.zeros);
    EXPECT_EQ(got.min, expected.min);
    EXPECT_EQ(got.max, expected.max);
    EXPECT_EQ(got.lowBitsZero, expected.lowBitsZero);
    EXPECT_EQ(got.narrowest, expected.narrowest);
    expectNear("norm", got.norm, expected.norm, tolerance * expected.norm);
    const double rms = expected.norm / std::sqrt(static_cast<double>(std::max<std::int64_t>(count, 1)));
    expectNear("mean", got.mean, expected.mean, tolerance * std::max(rms, std::fabs(expected.mean)));
    expectNear("std", got.std, expected.std, tolerance * (expected.std + std::fabs(expected.mean)));
}

} // namespace

TestTensor referenceRounded(const TestTensor& tensor, DType to)
{
    const auto limits = [to]() -> std::pair<Real, bool> {
        switch (to) {
        case DType::Float16:
            return {65504, true};
        case DType::BFloat16:
            return {static_cast<Real>(0x1.fep127), true};
        case DType::Float8E4M3FN:
            return {448, false};
        case DType::Float8E5M2:
            return {57344, true};
        default:
            return {static_cast<Real>(FLT_MAX), true};
        }
    }();
    const std::size_t from = bytesOfPart(tensor.dtype());
    std::vector<double> parts;
    for (std::size_t at = 0; at < tensor.bytes().size(); at += from)
        parts.push_back(static_cast<double>(nearest(decodePart(tensor.dtype(), tensor.bytes().data() + at), layoutOf(to), limits.first, limits.second)));
    return tensorOf(to, parts);
}

PairStatistics referenceStatistics(const TestTensor& a, const TestTensor& b, const TestTensor* mask, const MeasureOptions& options)
{
    PairStatistics result;
    const DType dtypeA = a.dtype();
    const DType dtypeB = b.dtype();
    const std::size_t sizeA = bytesOfPart(dtypeA);
    const std::size_t sizeB = bytesOfPart(dtypeB);
    const auto perElement = static_cast<std::size_t>(partsOfElement(dtypeA));
    const bool floating = isFloatingPart(dtypeA) && isFloatingPart(dtypeB);
    const bool integers = !isFloatingPart(dtypeA) && !isFloatingPart(dtypeB);
    const bool single = floating && sizeA <= 4 && sizeB <= 4;

    std::vector<Real> allA, allB;
    std::vector<Pair> pairs;
    const std::size_t total = a.bytes().size() / sizeA;
    for (std::size_t i = 0; i < total; ++i) {
        if (mask != nullptr && mask->bytes()[i / perElement] == std::byte{0})
            continue;
        const std::byte* atA = a.bytes().data() + i * sizeA;
        const std::byte* atB = b.bytes().data() + i * sizeB;
        Pair pair{decodePart(dtypeA, atA), decodePart(dtypeB, atB), 0, 0, 0, static_cast<std::int64_t>(i / perElement)};
        if (!integers) { // compared as double
            pair.a = static_cast<double>(pair.a);
            pair.b = static_cast<double>(pair.b);
        }
        ++result.count;
        allA.push_back(pair.a);
        allB.push_back(pair.b);
        result.bitEqual += dtypeA == dtypeB ? std::memcmp(atA, atB, sizeA) == 0 : pair.a == pair.b;
        result.nanBoth += std::isnan(pair.a) && std::isnan(pair.b);
        result.infBothEqual += std::isinf(pair.a) && pair.a == pair.b;
        if (!std::isfinite(pair.a) || !std::isfinite(pair.b)) {
            result.allcloseViolations += !(pair.a == pair.b);
            continue;
        }
        bool overflow = false;
        if (integers) {
            pair.d = static_cast<double>(pair.b - pair.a);
        } else if (single) {
            const float d = static_cast<float>(pair.b) - static_cast<float>(pair.a);
            pair.d = std::isinf(d) ? static_cast<double>(pair.b - pair.a) : static_cast<double>(d);
        } else {
            pair.d = static_cast<double>(pair.b) - static_cast<double>(pair.a);
            overflow = std::isinf(pair.d);
        }
        const auto va = static_cast<double>(pair.a);
        const auto vb = static_cast<double>(pair.b);
        const double size = std::max(std::fabs(va), std::fabs(vb));
        if (size > 0)
            pair.relative = overflow ? asDouble(std::fabs(pair.b - pair.a) / static_cast<Real>(size)) : std::fabs(pair.d) / size;
        result.allcloseViolations += !(va == vb || std::fabs(pair.d) <= options.atol + options.rtol * std::fabs(va));
        result.zeroMismatch += (va == 0) != (vb == 0);
        if (integers) {
            pair.steps = std::fabs(pair.b - pair.a); // 65 bits at most, the exponent is all that counts
            if (pair.steps == std::ldexp(static_cast<Real>(1), 64)) // 2^64 - 1, rounded
                pair.steps = std::nextafter(pair.steps, static_cast<Real>(0));
        } else {
            const Layout layout = dtypeA == dtypeB ? layoutOf(dtypeA) : layoutOf(single ? DType::Float32 : DType::Float64);
            const Real stepsA = stepsFromZero(pair.a, layout), stepsB = stepsFromZero(pair.b, layout);
            pair.steps = std::fabs(stepsB - stepsA);
        }
        pairs.push_back(pair);
    }
    result.a = sideOf(allA, dtypeA);
    result.b = sideOf(allB, dtypeB);
    result.finite = static_cast<std::int64_t>(pairs.size());
    if (pairs.empty())
        return result;

    std::vector<Real> sizesOfD, relatives, steps;
    for (const Pair& pair : pairs) {
        sizesOfD.push_back(asDouble(std::fabs(static_cast<Real>(pair.d))));
        relatives.push_back(pair.relative);
        steps.push_back(pair.steps);
    }
    result.absHistogram = histogramOf(sizesOfD, -127, 128);
    result.relHistogram = histogramOf(relatives, -64, 1);
    result.ulpHistogram = histogramOf(steps, 0, 63);

    Real aa = 0, bb = 0, ab = 0, ad = 0, dd = 0, sum = 0, sizes = 0, aadd = 0, largest = 0, largestD = 0;
    result.maxAbs.value = result.maxRel.value = -1;
    for (const Pair& pair : pairs) {
        const Real d = std::isinf(pair.d) ? pair.b - pair.a : static_cast<Real>(pair.d);
        aa += pair.a * pair.a;
        bb += pair.b * pair.b;
        ab += pair.a * pair.b;
        ad += pair.a * d;
        dd += d * d;
        sum += d;
        sizes += std::fabs(d);
        aadd += pair.a * pair.a * d * d;
        largest = std::max({largest, std::fabs(pair.a), std::fabs(pair.b)});
        largestD = std::max(largestD, std::fabs(d));
        const double absolute = asDouble(std::fabs(d));
        if (absolute > result.maxAbs.value)
            result.maxAbs = {absolute, pair.index, static_cast<double>(pair.a), static_cast<double>(pair.b)};
        if (pair.relative > result.maxRel.value)
            result.maxRel = {pair.relative, pair.index, static_cast<double>(pair.a), static_cast<double>(pair.b)};
    }
    const auto n = static_cast<Real>(pairs.size());
    result.meanAbs = asDouble(sizes / n);
    result.meanDiff = asDouble(sum / n);
    result.rmse = asDouble(std::sqrt(dd / n));
    result.diffNorm = asDouble(std::sqrt(dd));
    result.normA = asDouble(std::sqrt(aa));
    result.normB = asDouble(std::sqrt(bb));
    if (largest > 0) {
        result.relL2 = asDouble(std::sqrt(dd) / std::sqrt(std::max(aa, bb)));
        result.relLinf = asDouble(std::min(largestD, static_cast<Real>(DBL_MAX)) / largest);
    }
    if (aa > 0 && bb > 0) {
        result.cosine = asDouble(ab / (std::sqrt(aa) * std::sqrt(bb)));
        result.normRatio = asDouble(std::sqrt(bb) / std::sqrt(aa));
    } else if (aa > 0 || bb > 0) {
        result.cosine = 0;
        result.normRatio = aa > 0 ? 0 : HUGE_VAL;
    }
    const Real slope = aa > 0 ? ad / aa : 0;
    if (aa > 0)
        result.bestScale = asDouble(ab / aa);
    if (bb > 0) {
        Real residual = 0;
        for (const Pair& pair : pairs) {
            const Real rest = (std::isinf(pair.d) ? pair.b - pair.a : static_cast<Real>(pair.d)) - slope * pair.a;
            residual += rest * rest;
        }
        result.scaleResidual = asDouble(std::sqrt(residual / bb));
    }
    if (dd > 0)
        result.biasZ = asDouble(sum / std::sqrt(dd));
    if (aadd > 0)
        result.factorZ = asDouble(ad / std::sqrt(aadd));
    return result;
}

void expectAgrees(const PairStatistics& got, const PairStatistics& reference, double tolerance)
{
    expectNoNan(got);
    EXPECT_EQ(got.count, reference.count);
    EXPECT_EQ(got.finite, reference.finite);
    EXPECT_EQ(got.nanBoth, reference.nanBoth);
    EXPECT_EQ(got.infBothEqual, reference.infBothEqual);
    EXPECT_EQ(got.bitEqual, reference.bitEqual);
    EXPECT_EQ(got.zeroMismatch, reference.zeroMismatch);
    EXPECT_EQ(got.allcloseViolations, reference.allcloseViolations);
    expectSame("|d|", got.absHistogram, reference.absHistogram);
    expectSame("relative", got.relHistogram, reference.relHistogram);
    expectSame("ulp", got.ulpHistogram, reference.ulpHistogram);
    expectSame("maxAbs", got.maxAbs, reference.maxAbs);
    expectSame("maxRel", got.maxRel, reference.maxRel);
    expectAgrees("a", got.a, reference.a, reference.count, tolerance);
    expectAgrees("b", got.b, reference.b, reference.count, tolerance);

    // Terms of one sign: the bound is relative to the result.
    expectNear("meanAbs", got.meanAbs, reference.meanAbs, tolerance * reference.meanAbs);
    expectNear("rmse", got.rmse, reference.rmse, tolerance * reference.rmse);
    expectNear("diffNorm", got.diffNorm, reference.diffNorm, tolerance * reference.diffNorm);
    expectNear("normA", got.normA, reference.normA, tolerance * reference.normA);
    expectNear("normB", got.normB, reference.normB, tolerance * reference.normB);
    expectNear("relL2", got.relL2, reference.relL2, tolerance * reference.relL2);
    expectNear("relLinf", got.relLinf, reference.relLinf, tolerance * reference.relLinf);
    expectNear("normRatio", got.normRatio, reference.normRatio, tolerance * reference.normRatio);
    // Terms of both signs: sum|t| is at most |A| |B| for <A,B> and so on (Cauchy-Schwarz).
    expectNear("meanDiff", got.meanDiff, reference.meanDiff, tolerance * reference.meanAbs);
    expectNear("cosine", got.cosine, reference.cosine, tolerance);
    const double drift = reference.normA > 0 ? reference.diffNorm / reference.normA : 0;
    expectNear("bestScale", got.bestScale, reference.bestScale, tolerance * (1 + drift));
    const double residual = reference.normB > 0 ? reference.diffNorm / reference.normB : 0;
    expectNear("scaleResidual", got.scaleResidual, reference.scaleResidual, tolerance * residual);
    const double root = std::sqrt(static_cast<double>(std::max<std::int64_t>(reference.finite, 1)));
    expectNear("factorZ", got.factorZ, reference.factorZ, tolerance * (root + std::fabs(reference.factorZ)));
    expectNear("biasZ", got.biasZ, reference.biasZ, tolerance * (root + std::fabs(reference.biasZ)));
}

std::vector<std::uint64_t> bitsOf(const PairStatistics& statistics)
{
    std::vector<std::uint64_t> bits;
    const auto add = [&bits](auto value) {
        if constexpr (std::is_same_v<decltype(value), double>)
            bits.push_back(std::bit_cast<std::uint64_t>(value));
        else
            bits.push_back(static_cast<std::uint64_t>(value));
    };
    for (const SideStatistics* side : {&statistics.a, &statistics.b}) {
        for (const std::int64_t count : {side->nan, side->positiveInf, side->negativeInf, side->zeros})
            add(count);
        for (const double number : {side->min, side->max, side->mean, side->std, side->norm})
            add(number);
        add(side->lowBitsZero);
        add(side->narrowest ? static_cast<int>(*side->narrowest) : -1);
    }
    for (const Extremum* extremum : {&statistics.maxAbs, &statistics.maxRel}) {
        add(extremum->index);
        for (const double number : {extremum->value, extremum->a, extremum->b})
            add(number);
    }
    for (const Histogram* histogram : {&statistics.absHistogram, &statistics.relHistogram, &statistics.ulpHistogram}) {
        add(histogram->zero);
        add(histogram->first);
        for (const std::int64_t count : histogram->counts)
            add(count);
    }
    for (const std::int64_t count : {statistics.count, statistics.finite, statistics.nanBoth, statistics.infBothEqual, statistics.bitEqual,
                                     statistics.zeroMismatch, statistics.allcloseViolations})
        add(count);
    for (const double number :
         {statistics.meanAbs, statistics.meanDiff, statistics.rmse, statistics.diffNorm, statistics.relL2, statistics.relLinf,
          statistics.cosine, statistics.normRatio, statistics.bestScale, statistics.scaleResidual, statistics.normA, statistics.normB,
          statistics.factorZ, statistics.biasZ})
        add(number);
    return bits;
}

void expectNoNan(const PairStatistics& s)
{
    for (const SideStatistics* side : {&s.a, &s.b}) {
        for (const double number : {side->min, side->max, side->mean, side->std, side->norm})
            EXPECT_TRUE(std::isfinite(number));
    }
    for (const double number :
         {s.maxAbs.value, s.maxAbs.a, s.maxAbs.b, s.maxRel.value, s.maxRel.a, s.maxRel.b, s.meanAbs, s.meanDiff, s.rmse, s.diffNorm, s.relL2,
          s.relLinf, s.cosine, s.bestScale, s.scaleResidual, s.normA, s.normB, s.factorZ, s.biasZ})
        EXPECT_TRUE(std::isfinite(number));
    EXPECT_FALSE(std::isnan(s.normRatio));
}

} // namespace forkpoint::test
