// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnose/severity.h"

#include "core/tensor/composed_sources.h"
#include "tests/support/compared.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

// The thresholds of DESIGN section 7, each from both sides.
namespace forkpoint::diagnose {
namespace {

using metrics::PairStatistics;
using test::f32;
using test::i64;
using test::Values;

const double kSingle = unitRoundoff(DType::Float32);
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Statistics of n finite elements, none bit-equal, both sides of norm 1 and largest magnitude 1; no factor explains the difference.
PairStatistics statistics(double diffNorm, double maxAbs, std::int64_t n = 1000)
{
    PairStatistics s;
    s.count = s.finite = n;
    s.normA = s.normB = 1;
    s.diffNorm = s.scaleResidual = diffNorm;
    s.maxAbs.value = maxAbs;
    s.a.max = s.b.max = 1;
    return s;
}

double justAbove(double x)
{
    return std::nextafter(x, std::numeric_limits<double>::infinity());
}

PairStatistics measured(const Values& a, const Values& b)
{
    const auto source = [](const Values& v) { return *memorySource(v.dtype, v.shape, v.bytes); };
    return *metrics::measure(*source(a), *source(b));
}

Judgement judged(const Values& a, const Values& b)
{
    const double u = std::max(unitRoundoff(a.dtype), unitRoundoff(b.dtype));
    return judge(measured(a, b), u, estimatedFloor(u), {});
}

constexpr double kFloor = 0x1p-20;

Severity severityOf(double diffNorm, double maxAbs)
{
    return judge(statistics(diffNorm, maxAbs), kSingle, kFloor, {}).severity;
}

TEST(EstimatedFloor, OfEachType)
{
    EXPECT_EQ(estimatedFloor(unitRoundoff(DType::Float32)), 32 * 0x1p-24);
    EXPECT_EQ(estimatedFloor(unitRoundoff(DType::Float64)), 32 * 0x1p-53);
    EXPECT_EQ(estimatedFloor(unitRoundoff(DType::Float16)), 4 * 0x1p-11);
    EXPECT_EQ(estimatedFloor(unitRoundoff(DType::BFloat16)), 4 * 0x1p-8);
    EXPECT_EQ(estimatedFloor(unitRoundoff(DType::Float8E5M2)), 4 * unitRoundoff(DType::Float8E5M2));
    EXPECT_EQ(estimatedFloor(unitRoundoff(DType::Int64)), 0);
}

TEST(SeverityByError, UpToOneFloorIsNoise)
{
    EXPECT_EQ(severityOf(kFloor, 0), Severity::Noise);
    EXPECT_EQ(severityOf(justAbove(kFloor), 0), Severity::Drift);
}

TEST(SeverityByError, UpToAHundredFloorsIsDrift)
{
    EXPECT_EQ(severityOf(100 * kFloor, 0), Severity::Drift);
    EXPECT_EQ(severityOf(justAbove(100 * kFloor), 0), Severity::Divergent);
}

TEST(SeverityByLargestElement, SixteenFloorsOfTheLargestMagnitude)
{
    EXPECT_EQ(severityOf(kFloor / 2, 16 * kFloor), Severity::Noise);
    EXPECT_EQ(severityOf(kFloor / 2, justAbove(16 * kFloor)), Severity::Drift);
    EXPECT_EQ(severityOf(kFloor / 2, 1600 * kFloor), Severity::Drift);
    EXPECT_EQ(severityOf(kFloor / 2, justAbove(1600 * kFloor)), Severity::Divergent);
}

TEST(SeverityByLargestElement, TheWorseOfBothDecides)
{
    const auto j = judge(statistics(2 * kFloor, 64 * kFloor), kSingle, kFloor, {});
    EXPECT_EQ(j.ratio, 4);
    EXPECT_EQ(j.error, 2 * kFloor);
    EXPECT_EQ(j.floor, kFloor);
}

TEST(SeverityByError, TheLargerSideIsTheDenominator)
{
    auto s = statistics(kFloor, 0);
    s.normA = 0.5;
    EXPECT_EQ(judge(s, kSingle, kFloor, {}).error, kFloor);
    s.normB = 0.5;
    EXPECT_EQ(judge(s, kSingle, kFloor, {}).error, 2 * kFloor);
}

TEST(SeverityByScale, ALargerModuleRaisesTheDenominator)
{
    auto s = statistics(kFloor, 16 * kFloor);
    s.normA = s.normB = s.a.max = s.b.max = 0x1p-10; // zero in theory
    EXPECT_EQ(judge(s, kSingle, kFloor, {}).severity, Severity::Divergent);
    const auto j = judge(s, kSingle, kFloor, { .norm = 1, .largest = 1 });
    EXPECT_EQ(j.severity, Severity::Noise);
    EXPECT_EQ(j.error, kFloor);
    EXPECT_EQ(judge(s, kSingle, kFloor, { .norm = 0.5, .largest = 1 }).severity, Severity::Drift);
    EXPECT_EQ(judge(s, kSingle, kFloor, { .norm = 1, .largest = 0.5 }).severity, Severity::Drift);
}

TEST(SeverityByScale, ASmallerModuleChangesNothing)
{
    EXPECT_EQ(judge(statistics(kFloor, 0), kSingle, kFloor, { .norm = 0.1, .largest = 0.1 }).severity, Severity::Noise);
}

TEST(SeverityByMeasuredNoise, ALargeElementOfTheRepeatIsAllowed)
{
    const auto s = statistics(kFloor / 2, 100 * kFloor);
    EXPECT_EQ(judge(s, kSingle, kFloor, {}, 0).severity, Severity::Drift);
    EXPECT_EQ(judge(s, kSingle, kFloor, {}, 100 * kFloor).severity, Severity::Noise);
    EXPECT_EQ(judge(s, kSingle, kFloor, {}, 99 * kFloor).severity, Severity::Drift);
}

TEST(SeverityByMeasuredNoise, ASmallOneLowersNothing)
{
    EXPECT_EQ(judge(statistics(kFloor / 2, 16 * kFloor), kSingle, kFloor, {}, kFloor / 100).severity, Severity::Noise);
}

TEST(SeverityOfIntegers, AnyDifferenceIsDivergent)
{
    EXPECT_EQ(judged(i64({ 3 }, { 1000000, 2, 3 }), i64({ 3 }, { 1000001, 2, 3 })).severity, Severity::Divergent);
    EXPECT_EQ(judged(i64({ 3 }, { 1, 2, 3 }), i64({ 3 }, { 1, 2, 3 })).severity, Severity::Identical);
    const Values no = test::valuesOf<std::uint8_t>(DType::Bool, { 2 }, { 0, 1 }),
                 yes = test::valuesOf<std::uint8_t>(DType::Bool, { 2 }, { 1, 1 });
    EXPECT_EQ(judged(no, yes).severity, Severity::Divergent);
    EXPECT_TRUE(std::isinf(judged(no, yes).ratio));
}

TEST(SeverityOfBits, SignsOfZeroAndNaNPayloadsAreNoise)
{
    EXPECT_EQ(judged(f32({ 2 }, { 0.0f, 1 }), f32({ 2 }, { -0.0f, 1 })).severity, Severity::Noise);
    EXPECT_EQ(judged(f32({ 2 }, { 0.0f, 1 }), f32({ 2 }, { -0.0f, 1 })).error, 0);
    EXPECT_EQ(judged(f32({ 2 }, { kNaN, 1 }), f32({ 2 }, { -kNaN, 1 })).severity, Severity::Noise);
    EXPECT_EQ(judged(f32({ 2 }, { kNaN, 1 }), f32({ 2 }, { kNaN, 1 })).severity, Severity::Identical);
}

TEST(SeverityOfNonFinite, OnOneSideOnlyIsInvalid)
{
    for (const float bad : { kNaN, kInfinity, -kInfinity }) {
        const auto j = judged(f32({ 2 }, { 1, 2 }), f32({ 2 }, { 1, bad }));
        EXPECT_EQ(j.severity, Severity::Invalid) << bad;
        EXPECT_TRUE(std::isinf(j.error)) << bad;
        EXPECT_EQ(judged(f32({ 2 }, { 1, bad }), f32({ 2 }, { 1, 2 })).severity, Severity::Invalid) << bad;
    }
    EXPECT_EQ(judged(f32({ 2 }, { 1, kInfinity }), f32({ 2 }, { 1, -kInfinity })).severity, Severity::Invalid);
    EXPECT_EQ(judged(f32({ 2 }, { 1, kInfinity }), f32({ 2 }, { 1, kNaN })).severity, Severity::Invalid);
}

TEST(SeverityOfNonFinite, InTheSamePlacesTheRestDecides)
{
    EXPECT_EQ(judged(f32({ 3 }, { 1, kNaN, kInfinity }), f32({ 3 }, { 1, kNaN, kInfinity })).severity, Severity::Identical);
    EXPECT_EQ(judged(f32({ 3 }, { 1, kNaN, kInfinity }), f32({ 3 }, { 1 + 0x1p-23f, kNaN, kInfinity })).severity, Severity::Noise);
    EXPECT_EQ(judged(f32({ 3 }, { 1, kNaN, kInfinity }), f32({ 3 }, { 2, kNaN, kInfinity })).severity, Severity::Divergent);
    EXPECT_EQ(judged(f32({ 2 }, { kNaN, 1 }), f32({ 2 }, { 1, kNaN })).severity, Severity::Invalid) << "as many, but elsewhere";
}

TEST(SeverityOfShapes, AnEmptyTensorIsIdentical)
{
    EXPECT_EQ(judged(f32({ 0 }, {}), f32({ 0 }, {})).severity, Severity::Identical);
    EXPECT_EQ(judged(f32({ 2, 0, 3 }, {}), f32({ 2, 0, 3 }, {})).severity, Severity::Identical);
}

TEST(SeverityOfShapes, ASingleNumber)
{
    EXPECT_EQ(judged(f32({}, { 1 }), f32({}, { 1 })).severity, Severity::Identical);
    EXPECT_EQ(judged(f32({}, { 1 }), f32({}, { 1 + 4 * 0x1p-23f })).severity, Severity::Noise);
    EXPECT_EQ(judged(f32({}, { 1 }), f32({}, { 1 + 64 * 0x1p-23f })).severity, Severity::Drift);
    EXPECT_EQ(judged(f32({}, { 1 }), f32({}, { 2 })).severity, Severity::Divergent);
}

TEST(SeverityOfZeros, OnOneSideAreDivergent)
{
    const auto j = judged(f32({ 2 }, { 1, 2 }), f32({ 2 }, { 0, 0 }));
    EXPECT_EQ(j.severity, Severity::Divergent);
    EXPECT_EQ(j.error, 1);
}

// Small differences that rounding would not make: z > 6.

TEST(Structure, AFactorBelowTheFloorIsDrift)
{
    const auto a = test::gaussian(1000, 1);
    const auto j = judged(f32({ 1000 }, a), f32({ 1000 }, test::scaled(a, 1 + 1e-6)));
    EXPECT_LT(j.ratio, 1);
    EXPECT_TRUE(j.structured);
    EXPECT_EQ(j.severity, Severity::Drift);
}

TEST(Structure, ABiasBelowTheFloorIsDrift)
{
    const auto a = test::gaussian(1000, 1);
    auto b = a;
    for (auto& x : b) {
        x += 1e-6f;
    }
    const auto j = judged(f32({ 1000 }, a), f32({ 1000 }, b));
    EXPECT_LT(j.ratio, 1);
    EXPECT_TRUE(j.structured);
    EXPECT_EQ(j.severity, Severity::Drift);
}

TEST(Structure, AsLargeAnErrorWithoutStructureIsNoise)
{
    const auto a = test::gaussian(1000, 1);
    const auto j = judged(f32({ 1000 }, a), f32({ 1000 }, test::perturbed(a, 1.7e-6, 2)));
    EXPECT_GT(j.error, 0.8e-6);
    EXPECT_FALSE(j.structured);
    EXPECT_EQ(j.severity, Severity::Noise);
}

TEST(Structure, AFactorOfAFewRoundoffsIsNoise)
{
    const auto a = test::gaussian(1000, 1); // a mean formed as sum * (1/3) instead of sum / 3 is a factor too
    EXPECT_EQ(judged(f32({ 1000 }, a), f32({ 1000 }, test::scaled(a, 1 + 4 * kSingle))).severity, Severity::Noise);
}

TEST(Structure, AFactorThatExplainsAllIsDivergentWithinAHundredFloors)
{
    // A halved gradient in bfloat16 is 32 floors off.
    const double floor = estimatedFloor(unitRoundoff(DType::BFloat16)), u = unitRoundoff(DType::BFloat16);
    auto s = statistics(0.5, 0.5);
    s.normB = 0.5;
    s.bestScale = 0.5;
    s.scaleResidual = floor;
    EXPECT_EQ(judge(s, u, floor, {}).severity, Severity::Divergent);
    s.scaleResidual = 3 * floor; // more is left than rounding: no factor
    EXPECT_EQ(judge(s, u, floor, {}).severity, Severity::Drift);
    s.scaleResidual = 0;
    s.diffNorm = 7 * floor; // a few roundings may act alike on all elements
    EXPECT_EQ(judge(s, u, floor, {}).severity, Severity::Drift);
    s = statistics(0.5, 0.5, 31);
    s.scaleResidual = 0;
    EXPECT_EQ(judge(s, u, floor, {}).severity, Severity::Drift) << "of a few elements any is nearly a factor of another";
}

TEST(Structure, TooFewElementsTellNothing)
{
    const auto a = test::gaussian(64, 1); // even if a factor explains them all, z is about sqrt(n / 3)
    EXPECT_EQ(judged(f32({ 64 }, a), f32({ 64 }, test::scaled(a, 1 + 1e-6))).severity, Severity::Noise);
    const auto more = test::gaussian(200, 1);
    EXPECT_EQ(judged(f32({ 200 }, more), f32({ 200 }, test::scaled(more, 1 + 1e-6))).severity, Severity::Drift);
}

TEST(SeverityWords, AreTheOnesOfTheReport)
{
    EXPECT_EQ(name(Severity::Identical), "identical");
    EXPECT_EQ(name(Severity::Noise), "noise");
    EXPECT_EQ(name(Severity::Unmatched), "unmatched");
    EXPECT_EQ(name(Severity::Drift), "drift");
    EXPECT_EQ(name(Severity::Divergent), "divergent");
    EXPECT_EQ(name(Severity::Invalid), "invalid");
}

TEST(SeverityWords, AreOrderedByHowBadTheyAre)
{
    EXPECT_LT(Severity::Identical, Severity::Noise);
    EXPECT_LT(Severity::Noise, Severity::Unmatched);
    EXPECT_LT(Severity::Unmatched, Severity::Drift);
    EXPECT_LT(Severity::Drift, Severity::Divergent);
    EXPECT_LT(Severity::Divergent, Severity::Invalid);
    EXPECT_FALSE(isAboveFloor(Severity::Unmatched));
    EXPECT_TRUE(isAboveFloor(Severity::Drift));
}

} // namespace
} // namespace forkpoint::diagnose
