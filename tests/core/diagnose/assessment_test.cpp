// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnose/assessment.h"

#include "tests/support/compared.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

// Severity of pairs of recorded runs: which floor, measured on what, against which scale.
namespace forkpoint::diagnose {
namespace {

using test::bf16;
using test::Compared;
using test::f32;
using test::gaussian;
using test::i64;
using test::perturbed;
using test::RecordedRun;
using test::scaled;

using Elements = std::vector<float>;

constexpr double kSingleFloor = 32 * 0x1p-24;

/// Two runs that write what they are told; `noise` is the reference again.
struct Runs {
    RecordedRun a { "a" }, b { "b" };
    Compared compare() { return { a.side(), b.side() }; }
};

Elements roundedToBFloat16(Elements values)
{
    for (auto& x : values) {
        x = test::roundedToBFloat16(x);
    }
    return values;
}

/// As pair ids have it.
std::string encoded(std::string text)
{
    for (auto at = text.find('@'); at != std::string::npos; at = text.find('@')) {
        text.replace(at, 1, "%40");
    }
    return text;
}

/// Each element one bfloat16 up or down: a relative error of about 2^-8.
Elements nextBFloat16(const Elements& values)
{
    Elements out;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto bits = test::bfloat16Bits(values[i]);
        out.push_back(fromBFloat16(static_cast<std::uint16_t>(i % 2 == 0 ? bits + 1 : bits - 1)));
    }
    return out;
}

// ------------------------------------------------------------------------------------------------ which floor

TEST(Floor, OfTheTypeThatWasRecorded)
{
    const auto x = gaussian(256, 1);
    Runs runs;
    runs.a.rank().batch(f32({ 256 }, x), { .slot = "single" }).batch(bf16({ 256 }, x), { .slot = "half" });
    runs.b.rank()
        .batch(f32({ 256 }, perturbed(x, 1e-6, 2)), { .slot = "single" })
        .batch(bf16({ 256 }, nextBFloat16(roundedToBFloat16(x))), { .slot = "half" });
    const auto compared = runs.compare();
    EXPECT_DOUBLE_EQ(compared.result("s0/data/batch/batch:single").floor, kSingleFloor);
    EXPECT_EQ(compared.severity("s0/data/batch/batch:single"), Severity::Noise);
    EXPECT_DOUBLE_EQ(compared.result("s0/data/batch/batch:half").floor, 4 * 0x1p-8);
    EXPECT_EQ(compared.severity("s0/data/batch/batch:half"), Severity::Noise);
}

TEST(Floor, OfTheNarrowerSideWhereTheTypesDiffer)
{
    const auto x = gaussian(256, 1);
    Runs runs;
    runs.a.rank().output("fc", f32({ 256 }, x));
    runs.b.rank().output("fc", bf16({ 256 }, x));
    const auto compared = runs.compare();
    EXPECT_EQ(compared.severity("s0/forward/output/fc"), Severity::Noise) << "another float width is compared, not invalid";
    EXPECT_DOUBLE_EQ(compared.result("s0/forward/output/fc").floor, 4 * 0x1p-8);
}

TEST(Floor, OfANarrowTypeHiddenOnBothSides)
{
    const auto x = roundedToBFloat16(gaussian(256, 1)); // autocast output cast back to float32
    Runs runs;
    runs.a.rank().output("fc", f32({ 256 }, x));
    runs.b.rank().output("fc", f32({ 256 }, nextBFloat16(x)));
    EXPECT_EQ(runs.compare().severity("s0/forward/output/fc"), Severity::Noise);
}

TEST(Floor, ANarrowTypeOnOneSideIsADifference)
{
    const auto x = gaussian(256, 1);
    Runs runs;
    runs.a.rank().output("fc", f32({ 256 }, x));
    runs.b.rank().output("fc", f32({ 256 }, roundedToBFloat16(x)));
    EXPECT_EQ(runs.compare().severity("s0/forward/output/fc"), Severity::Divergent);
}

TEST(Floor, AFewElementsMayBeNarrowByChance)
{
    const auto x = roundedToBFloat16(gaussian(63, 1));
    Runs runs;
    runs.a.rank().output("fc", f32({ 63 }, x));
    runs.b.rank().output("fc", f32({ 63 }, nextBFloat16(x)));
    EXPECT_EQ(runs.compare().severity("s0/forward/output/fc"), Severity::Divergent);
}

TEST(Floor, OneRoundValueInAllElementsTellsNothingOfTheType)
{
    Runs runs;
    runs.a.rank().output("fc", f32({ 256 }, Elements(256, 3.0f)));
    runs.b.rank().output("fc", f32({ 256 }, Elements(256, 4.5f)));
    const auto compared = runs.compare();
    EXPECT_DOUBLE_EQ(compared.result("s0/forward/output/fc").floor, kSingleFloor);
    EXPECT_EQ(compared.severity("s0/forward/output/fc"), Severity::Divergent);
}

TEST(Floor, IsInheritedFromInputsThatDiffer)
{
    const auto x = gaussian(256, 1), y = gaussian(256, 2);
    Runs runs;
    runs.a.rank().input("fc", bf16({ 256 }, x)).output("fc", f32({ 256 }, y));
    runs.b.rank().input("fc", bf16({ 256 }, nextBFloat16(roundedToBFloat16(x)))).output("fc", f32({ 256 }, perturbed(y, 5e-3, 3)));
    const auto compared = runs.compare();
    EXPECT_EQ(compared.severity("s0/forward/input/fc"), Severity::Noise);
    EXPECT_EQ(compared.severity("s0/forward/output/fc"), Severity::Noise) << "what goes in with an error of 2^-8 comes out with one";
}

TEST(Floor, IsNotInheritedFromInputsThatAreEqual)
{
    const auto x = gaussian(256, 1), y = gaussian(256, 2);
    Runs runs;
    runs.a.rank().input("fc", bf16({ 256 }, x)).output("fc", f32({ 256 }, y));
    runs.b.rank().input("fc", bf16({ 256 }, x)).output("fc", f32({ 256 }, perturbed(y, 5e-3, 3)));
    const auto compared = runs.compare();
    EXPECT_EQ(compared.severity("s0/forward/output/fc"), Severity::Divergent);
    EXPECT_EQ(compared.fork(), "s0/forward/output/fc");
}

TEST(Floor, OfAGradientThatAutocastComputedInANarrowType)
{
    const auto x = gaussian(256, 1), y = gaussian(256, 2);
    for (const bool narrow : { true, false }) {
        Runs runs; // equal on both sides, and summed over other parts of the batch
        runs.a.rank().gradOutput("fc", narrow ? bf16({ 256 }, x) : f32({ 256 }, x)).grad("fc.weight", f32({ 256 }, y));
        runs.b.rank().gradOutput("fc", narrow ? bf16({ 256 }, x) : f32({ 256 }, x)).grad("fc.weight", f32({ 256 }, perturbed(y, 5e-3, 3)));
        const auto compared = runs.compare();
        EXPECT_EQ(compared.severity("s0/backward/grad_output/fc"), Severity::Identical);
        EXPECT_EQ(compared.severity("s0/backward/grad/fc.weight"), narrow ? Severity::Noise : Severity::Divergent);
    }
}

TEST(Floor, OfSquaredGradientsIsTwiceThatOfTheGradients)
{
    const auto x = gaussian(256, 1);
    auto squares = x;
    std::transform(x.begin(), x.end(), squares.begin(), [](float v) { return v * v; });
    for (const char* slot : { "exp_avg_sq", "max_exp_avg_sq", "square_avg", "sum", "sum@before", "exp_avg_sq@before", "exp_avg", "momentum_buffer" }) {
        const bool ofSquares = std::string_view(slot) != "exp_avg" && std::string_view(slot) != "momentum_buffer";
        Runs runs;
        runs.a.rank().optimizerState("fc.weight", slot, f32({ 256 }, squares));
        runs.b.rank().optimizerState("fc.weight", slot, f32({ 256 }, perturbed(squares, 1e-6, 3)));
        const auto compared = runs.compare();
        EXPECT_DOUBLE_EQ(compared.result("s0/optimizer/optimizer_state/fc.weight:" + encoded(slot)).floor,
                         ofSquares ? 2 * kSingleFloor : kSingleFloor)
            << slot;
    }
}

TEST(Floor, IntegersHaveNoneWhateverWentIn)
{
    const auto x = gaussian(256, 1);
    Runs runs;
    runs.a.rank().input("route", bf16({ 256 }, x)).output("route", i64({ 2 }, { 3, 4 }));
    runs.b.rank().input("route", bf16({ 256 }, nextBFloat16(roundedToBFloat16(x)))).output("route", i64({ 2 }, { 3, 5 }));
    EXPECT_EQ(runs.compare().severity("s0/forward/output/route"), Severity::Divergent);
}

// ------------------------------------------------------------------------------------------------ measured floor

TEST(MeasuredFloor, ARepeatThatDiffersRaisesIt)
{
    const auto x = gaussian(1000, 1);
    RecordedRun a("a"), b("b"), again("again");
    a.rank().output("fc", f32({ 1000 }, x));
    again.rank().output("fc", f32({ 1000 }, perturbed(x, 2e-4, 2)));
    b.rank().output("fc", f32({ 1000 }, perturbed(x, 6e-4, 3)));
    EXPECT_EQ(Compared(a.side(), b.side()).severity("s0/forward/output/fc"), Severity::Divergent);
    const Compared compared(a.side(), b.side(), { .align = {}, .noise = again.side() });
    EXPECT_EQ(compared.severity("s0/forward/output/fc"), Severity::Noise)
        << "one repeat shows one sample of the noise: four times as much is allowed";
    EXPECT_TRUE(compared.verdict().measuredFloor);
    EXPECT_EQ(*compared.snapshot().structure().noiseLabel, "again");
}

TEST(MeasuredFloor, FarBeyondTheRepeatIsStillADifference)
{
    const auto x = gaussian(1000, 1);
    RecordedRun a("a"), b("b"), again("again");
    a.rank().output("fc", f32({ 1000 }, x));
    again.rank().output("fc", f32({ 1000 }, perturbed(x, 1e-4, 2)));
    b.rank().output("fc", f32({ 1000 }, perturbed(x, 1e-3, 3)));
    EXPECT_EQ(Compared(a.side(), b.side(), { .align = {}, .noise = again.side() }).severity("s0/forward/output/fc"), Severity::Drift);
}

TEST(MeasuredFloor, ABitEqualRepeatLowersNothing)
{
    const auto x = gaussian(1000, 1);
    RecordedRun a("a"), b("b"), again("again");
    a.rank().output("fc", f32({ 1000 }, x));
    again.rank().output("fc", f32({ 1000 }, x));
    b.rank().output("fc", f32({ 1000 }, perturbed(x, 1e-6, 3)));
    const Compared compared(a.side(), b.side(), { .align = {}, .noise = again.side() });
    EXPECT_EQ(compared.severity("s0/forward/output/fc"), Severity::Noise);
    EXPECT_DOUBLE_EQ(compared.result("s0/forward/output/fc").floor, kSingleFloor);
}

TEST(MeasuredFloor, IntegersThatDoNotRepeatGetNone)
{
    RecordedRun a("a"), b("b"), again("again");
    a.rank().output("route", i64({ 2 }, { 3, 4 }));
    again.rank().output("route", i64({ 2 }, { 3, 5 }));
    b.rank().output("route", i64({ 2 }, { 3, 5 }));
    EXPECT_EQ(
        Compared(a.side(), b.side(), { .align = {}, .noise = again.side() }).severity("s0/forward/output/route"), Severity::Divergent);
}

// ------------------------------------------------------------------------------------------------ scale of the module

TEST(ModuleScale, AGradientThatIsZeroInTheoryIsNoise)
{
    const auto g = gaussian(1000, 1), zero = scaled(gaussian(10, 2), 1e-8), otherZero = scaled(gaussian(10, 3), 1e-8);
    Runs runs;
    runs.a.rank()
        .grad("key.weight", f32({ 1000 }, g))
        .grad("key.bias", f32({ 10 }, zero))
        .reduced("key.weight", f32({ 1000 }, g))
        .reduced("key.bias", f32({ 10 }, zero));
    runs.b.rank().grad("key.weight", f32({ 1000 }, g)).grad("key.bias", f32({ 10 }, otherZero));
    runs.b.rank().reduced("key.weight", f32({ 1000 }, g)).reduced("key.bias", f32({ 10 }, otherZero));
    const auto compared = runs.compare();
    EXPECT_EQ(compared.severity("s0/backward/grad/key.bias"), Severity::Noise);
    EXPECT_EQ(compared.severity("s0/reduce/grad/key.bias"), Severity::Noise);
    EXPECT_LT(compared.result("s0/reduce/grad/key.bias").error, 1e-7);
    EXPECT_GT(compared.result("s0/reduce/grad/key.bias").worstLane()->statistics.relL2, 0.5) << "the plain number stays";
}

TEST(ModuleScale, ADifferenceOfTheModulesSizeIsNot)
{
    const auto g = gaussian(1000, 1);
    Runs runs;
    runs.a.rank().reduced("key.weight", f32({ 1000 }, g)).reduced("key.bias", f32({ 10 }, scaled(gaussian(10, 2), 1e-8)));
    runs.b.rank().reduced("key.weight", f32({ 1000 }, g)).reduced("key.bias", f32({ 10 }, scaled(gaussian(10, 3), 1e-3)));
    EXPECT_EQ(runs.compare().severity("s0/reduce/grad/key.bias"), Severity::Divergent);
}

TEST(ModuleScale, AnotherModulesGradientsDoNotCount)
{
    Runs runs;
    runs.a.rank().reduced("head.weight", f32({ 1000 }, gaussian(1000, 1))).reduced("key.bias", f32({ 10 }, scaled(gaussian(10, 2), 1e-8)));
    runs.b.rank().reduced("head.weight", f32({ 1000 }, gaussian(1000, 1))).reduced("key.bias", f32({ 10 }, scaled(gaussian(10, 3), 1e-8)));
    EXPECT_EQ(runs.compare().severity("s0/reduce/grad/key.bias"), Severity::Divergent);
}

TEST(ModuleScale, IsTakenPerElement)
{
    // A large tensor of small elements beside a small one of large elements: S is the largest rms times sqrt(n), not a norm.
    const auto weight = scaled(gaussian(10000, 1), 1e-6);
    Runs runs;
    runs.a.rank().reduced("fc.weight", f32({ 10000 }, weight)).reduced("fc.bias", f32({ 4 }, { 1, -1, 1, -1 }));
    runs.b.rank().reduced("fc.weight", f32({ 10000 }, perturbed(weight, 1, 2))).reduced("fc.bias", f32({ 4 }, { 1, -1, 1, -1 }));
    const auto compared = runs.compare();
    EXPECT_EQ(compared.severity("s0/reduce/grad/fc.weight"), Severity::Noise);
    EXPECT_NEAR(compared.result("s0/reduce/grad/fc.weight").error, 6e-7, 1e-7);
}

TEST(ModuleScale, OutputsAndTheirGradientsHaveNone)
{
    const auto zero = scaled(gaussian(100, 2), 1e-8), otherZero = scaled(gaussian(100, 3), 1e-8);
    Runs runs;
    runs.a.rank().output("fc", f32({ 1000 }, gaussian(1000, 1)), { .slot = "0" }).output("fc", f32({ 100 }, zero), { .slot = "1" });
    runs.b.rank().output("fc", f32({ 1000 }, gaussian(1000, 1)), { .slot = "0" }).output("fc", f32({ 100 }, otherZero), { .slot = "1" });
    EXPECT_EQ(runs.compare().severity("s0/forward/output/fc:1"), Severity::Divergent);
}

TEST(ModuleScale, StatesOfTheSameNameOnly)
{
    const auto zero = scaled(gaussian(10, 2), 1e-8), otherZero = scaled(gaussian(10, 3), 1e-8);
    Runs runs;
    for (auto* run : { &runs.a, &runs.b }) {
        const auto& small = run == &runs.a ? zero : otherZero;
        run->rank()
            .optimizerState("key.weight", "exp_avg", f32({ 1000 }, gaussian(1000, 1)))
            .optimizerState("key.bias", "exp_avg", f32({ 10 }, small));
        run->rank().optimizerState("key.bias", "other", f32({ 10 }, small));
    }
    const auto compared = runs.compare();
    EXPECT_EQ(compared.severity("s0/optimizer/optimizer_state/key.bias:exp_avg"), Severity::Noise);
    EXPECT_EQ(compared.severity("s0/optimizer/optimizer_state/key.bias:other"), Severity::Divergent);
}

// ------------------------------------------------------------------------------------------------ updates of parameters

TEST(Update, IsWhatParametersAreJudgedBy)
{
    const auto p = scaled(gaussian(1000, 1), 1000), step = gaussian(1000, 2);
    Elements after, doubled;
    for (std::size_t i = 0; i < p.size(); ++i) {
        after.push_back(p[i] - step[i]);
        doubled.push_back(p[i] - 2 * step[i]);
    }
    Runs runs;
    runs.a.rank().start("fc.weight", f32({ 1000 }, p)).after("fc.weight", f32({ 1000 }, after));
    runs.b.rank().start("fc.weight", f32({ 1000 }, p)).after("fc.weight", f32({ 1000 }, doubled));
    const auto compared = runs.compare();
    const auto& lane = *compared.result("s0/optimizer/param/fc.weight").worstLane();
    EXPECT_TRUE(lane.ofUpdate);
    EXPECT_NEAR(lane.statistics.bestScale, 2, 1e-3) << "a doubled step is a factor 2 of the update, and 0.1 % of the parameter";
    EXPECT_NEAR(lane.plainError, 1e-3, 1e-4);
    EXPECT_EQ(compared.severity("s0/optimizer/param/fc.weight"), Severity::Divergent);
}

TEST(Update, AParametersOwnRoundingIsAllowed)
{
    // |p| = 1000 is stored to 6e-5: an update of 1e-3 seen through it is exact to a few percent only.
    const auto p = scaled(gaussian(1000, 1), 1000);
    Elements after, other;
    for (std::size_t i = 0; i < p.size(); ++i) {
        after.push_back(p[i] - 1e-3f * static_cast<float>(i % 7));
        other.push_back(std::nextafter(after.back(), i % 2 == 0 ? 1e9f : -1e9f));
    }
    Runs runs;
    runs.a.rank().start("fc.weight", f32({ 1000 }, p)).after("fc.weight", f32({ 1000 }, after));
    runs.b.rank().start("fc.weight", f32({ 1000 }, p)).after("fc.weight", f32({ 1000 }, other));
    const auto compared = runs.compare();
    const auto& result = compared.result("s0/optimizer/param/fc.weight");
    EXPECT_EQ(result.severity, Severity::Noise);
    EXPECT_GT(result.error, 1e-3);
    const auto& lane = *result.worstLane();
    const double update = std::max(lane.statistics.normA, lane.statistics.normB);
    EXPECT_NEAR(result.floor, kSingleFloor * (1 + lane.parameterNorm / update), 1e-9) << "F (1 + |p| / |update|)";
}

TEST(Update, TheSameErrorOfALargeUpdateIsADifference)
{
    const auto p = gaussian(1000, 1), step = gaussian(1000, 2);
    Elements after, other;
    for (std::size_t i = 0; i < p.size(); ++i) {
        after.push_back(p[i] - step[i]);
        other.push_back(p[i] - step[i] * (i % 2 == 0 ? 1.01f : 0.99f));
    }
    Runs runs;
    runs.a.rank().start("fc.weight", f32({ 1000 }, p)).after("fc.weight", f32({ 1000 }, after));
    runs.b.rank().start("fc.weight", f32({ 1000 }, p)).after("fc.weight", f32({ 1000 }, other));
    EXPECT_EQ(runs.compare().severity("s0/optimizer/param/fc.weight"), Severity::Divergent);
}

TEST(Update, StartsThatDifferByRoundingDoNotHideEqualUpdates)
{
    const auto p = gaussian(1000, 1);
    const auto q = perturbed(p, 1e-7, 5);
    Elements afterA, afterB;
    for (std::size_t i = 0; i < p.size(); ++i) {
        afterA.push_back(p[i] + 0.5f);
        afterB.push_back(q[i] + 0.5f);
    }
    Runs runs;
    runs.a.rank().start("fc.weight", f32({ 1000 }, p)).after("fc.weight", f32({ 1000 }, afterA));
    runs.b.rank().start("fc.weight", f32({ 1000 }, q)).after("fc.weight", f32({ 1000 }, afterB));
    EXPECT_EQ(runs.compare().severity("s0/optimizer/param/fc.weight"), Severity::Noise);
}

TEST(Update, EqualParametersFromDifferentStartsAreNotIdentical)
{
    Runs runs; // both end at 3, one came from 1 and the other from 2
    runs.a.rank().start("fc.weight", f32({ 1 }, { 1 })).after("fc.weight", f32({ 1 }, { 3 }));
    runs.b.rank().start("fc.weight", f32({ 1 }, { 2 })).after("fc.weight", f32({ 1 }, { 3 }));
    EXPECT_EQ(runs.compare().severity("s0/optimizer/param/fc.weight"), Severity::Divergent);
}

TEST(Update, WithoutAStartTheParameterItselfIsCompared)
{
    Runs runs;
    runs.a.rank().after("fc.weight", f32({ 1 }, { 1000 }));
    runs.b.rank().after("fc.weight", f32({ 1 }, { 1001 }));
    const auto compared = runs.compare();
    EXPECT_FALSE(compared.result("s0/optimizer/param/fc.weight").worstLane()->ofUpdate);
    EXPECT_NEAR(compared.result("s0/optimizer/param/fc.weight").error, 1e-3, 1e-5);
}

TEST(Update, NoUpdateOnEitherSideIsIdentical)
{
    Runs runs;
    for (auto* run : { &runs.a, &runs.b }) {
        run->rank().start("fc.weight", f32({ 2 }, { 1, 2 })).after("fc.weight", f32({ 2 }, { 1, 2 }));
    }
    EXPECT_EQ(runs.compare().severity("s0/optimizer/param/fc.weight"), Severity::Identical);
}

TEST(Update, NoUpdateOnOneSideIsADifference)
{
    Runs runs;
    runs.a.rank().start("fc.weight", f32({ 2 }, { 1, 2 })).after("fc.weight", f32({ 2 }, { 1.5f, 2.5f }));
    runs.b.rank().start("fc.weight", f32({ 2 }, { 1, 2 })).after("fc.weight", f32({ 2 }, { 1, 2 }));
    EXPECT_EQ(runs.compare().severity("s0/optimizer/param/fc.weight"), Severity::Divergent);
}

// ------------------------------------------------------------------------------------------------ sign-like optimizers

/// One step of a sign-like optimizer: every element moves by lr against the sign of its gradient.
void writeSignStep(test::RankScribe& rank, const Elements& gradient)
{
    const auto n = static_cast<std::int64_t>(gradient.size());
    const auto p = scaled(gaussian(gradient.size(), 7), 0.1);
    Elements after;
    for (std::size_t i = 0; i < p.size(); ++i) {
        after.push_back(p[i] - (gradient[i] > 0 ? 0.01f : -0.01f));
    }
    rank.start("fc.weight", f32({ n }, p)).reduced("fc.weight", f32({ n }, gradient)).after("fc.weight", f32({ n }, after));
}

TEST(IllConditioned, AnElementWhoseGradientIsNoiseIsCountedApart)
{
    auto g = gaussian(1000, 1);
    g[17] = 1e-9f;
    auto h = perturbed(g, 1e-7, 2);
    h[17] = -1e-9f;
    Runs runs;
    writeSignStep(runs.a.rank(), g);
    writeSignStep(runs.b.rank(), h);
    const auto compared = runs.compare();
    const auto& result = compared.result("s0/optimizer/param/fc.weight");
    EXPECT_EQ(result.severity, Severity::Noise);
    EXPECT_EQ(result.illConditioned, 1);
    EXPECT_TRUE(test::contains(result.note, "1 elements counted apart"));
    EXPECT_EQ(compared.fork(), "none");
}

TEST(IllConditioned, AnElementWithAClearGradientIsNot)
{
    const auto g = gaussian(1000, 1);
    Runs runs;
    writeSignStep(runs.a.rank(), g);
    writeSignStep(runs.b.rank(), g);
    auto wrong = scaled(gaussian(1000, 7), 0.1);
    for (std::size_t i = 0; i < wrong.size(); ++i) {
        wrong[i] -= g[i] > 0 && i != 17 ? 0.01f : -0.01f; // as if the sign of one large gradient had been lost
    }
    RecordedRun b("b");
    ASSERT_GT(g[17] * g[17], 1e-3f);
    b.rank().start("fc.weight", f32({ 1000 }, scaled(gaussian(1000, 7), 0.1))).reduced("fc.weight", f32({ 1000 }, perturbed(g, 1e-7, 2)));
    if (g[17] < 0) {
        wrong[17] -= 0.02f;
    }
    b.rank().after("fc.weight", f32({ 1000 }, wrong));
    const Compared compared(runs.a.side(), b.side());
    EXPECT_EQ(compared.severity("s0/optimizer/param/fc.weight"), Severity::Divergent);
    EXPECT_EQ(compared.result("s0/optimizer/param/fc.weight").illConditioned, 0);
    EXPECT_EQ(compared.fork(), "s0/optimizer/param/fc.weight");
}

TEST(IllConditioned, EqualGradientsAreNoExcuse)
{
    auto g = gaussian(1000, 1);
    g[17] = 1e-9f;
    Runs runs;
    writeSignStep(runs.a.rank(), g);
    auto after = scaled(gaussian(1000, 7), 0.1);
    for (std::size_t i = 0; i < after.size(); ++i) {
        after[i] -= g[i] > 0 && i != 17 ? 0.01f : -0.01f;
    }
    runs.b.rank()
        .start("fc.weight", f32({ 1000 }, scaled(gaussian(1000, 7), 0.1)))
        .reduced("fc.weight", f32({ 1000 }, g))
        .after("fc.weight", f32({ 1000 }, after));
    EXPECT_EQ(runs.compare().severity("s0/optimizer/param/fc.weight"), Severity::Divergent);
}

/// Gradients are equal, and the update of element 17 has another sign; so had its moment before the step, which is `moment` and -`moment`.
Compared momentThatDiffers(float moment)
{
    auto g = gaussian(1000, 1);
    g[17] = 1e-9f;
    const auto p = scaled(gaussian(1000, 7), 0.1);
    Runs runs;
    for (auto* run : { &runs.a, &runs.b }) {
        auto before = g, after = p;
        before[17] = run == &runs.a ? moment : -moment;
        for (std::size_t i = 0; i < after.size(); ++i) {
            after[i] -= before[i] > 0 ? 0.01f : -0.01f;
        }
        run->rank().start("fc.weight", f32({ 1000 }, p)).reduced("fc.weight", f32({ 1000 }, g));
        run->rank().optimizerState("fc.weight", "step@before", f32({}, { 1 })).optimizerState("fc.weight", "exp_avg@before", f32({ 1000 }, before));
        run->rank().after("fc.weight", f32({ 1000 }, after));
    }
    return runs.compare();
}

TEST(IllConditioned, EqualGradientsDoNotHelpWhereTheMomentIsNoise)
{
    const auto compared = momentThatDiffers(1e-9f);
    EXPECT_EQ(compared.result("s0/optimizer/param/fc.weight").illConditioned, 1);
    EXPECT_EQ(compared.severity("s0/optimizer/param/fc.weight"), Severity::Noise);
    EXPECT_EQ(compared.fork(), "none");
}

TEST(IllConditioned, AMomentThatIsNoNoiseDecidesItsUpdate)
{
    const auto compared = momentThatDiffers(0.1f);
    EXPECT_EQ(compared.result("s0/optimizer/param/fc.weight").illConditioned, 0);
    EXPECT_EQ(compared.severity("s0/optimizer/param/fc.weight"), Severity::Divergent);
}

TEST(IllConditioned, GradientsThatDifferAreNoNoise)
{
    const auto g = gaussian(1000, 1);
    auto h = g;
    h[17] = -h[17];
    Runs runs;
    writeSignStep(runs.a.rank(), g);
    writeSignStep(runs.b.rank(), h);
    const auto compared = runs.compare();
    EXPECT_EQ(compared.severity("s0/optimizer/param/fc.weight"), Severity::Divergent);
    EXPECT_EQ(compared.fork(), "s0/reduce/grad/fc.weight");
}

// ------------------------------------------------------------------------------------------------ from step to step

TEST(UnchangedStart, IsJudgedWhereItWasMade)
{
    const auto p = gaussian(1000, 1);
    Elements a1, b1;
    for (std::size_t i = 0; i < p.size(); ++i) {
        a1.push_back(p[i] + 0.5f);
        b1.push_back(p[i] + 1.0f);
    }
    Runs runs;
    runs.a.rank()
        .step(0)
        .start("fc.weight", f32({ 1000 }, p))
        .after("fc.weight", f32({ 1000 }, a1))
        .step(1)
        .start("fc.weight", f32({ 1000 }, a1));
    runs.b.rank()
        .step(0)
        .start("fc.weight", f32({ 1000 }, p))
        .after("fc.weight", f32({ 1000 }, b1))
        .step(1)
        .start("fc.weight", f32({ 1000 }, b1));
    const auto compared = runs.compare();
    const auto &update = compared.result("s0/optimizer/param/fc.weight"), &start = compared.result("s1/start/param/fc.weight");
    EXPECT_TRUE(start.unchanged);
    EXPECT_FALSE(update.unchanged);
    EXPECT_EQ(start.severity, update.severity);
    EXPECT_EQ(start.error, update.error);
    EXPECT_EQ(start.added, 0);
    EXPECT_EQ(compared.fork(), "s0/optimizer/param/fc.weight");
}

TEST(UnchangedStart, OneThatWasTouchedInBetweenIsTheFork)
{
    const auto p = gaussian(1000, 1);
    Runs runs;
    for (auto* run : { &runs.a, &runs.b }) {
        run->rank().step(0).start("fc.weight", f32({ 1000 }, p)).after("fc.weight", f32({ 1000 }, scaled(p, 1.5))).step(1);
    }
    runs.a.rank().start("fc.weight", f32({ 1000 }, scaled(p, 1.5)));
    runs.b.rank().start("fc.weight", f32({ 1000 }, scaled(p, 1.6))); // loaded again, clipped, ...
    const auto compared = runs.compare();
    EXPECT_FALSE(compared.result("s1/start/param/fc.weight").unchanged);
    EXPECT_EQ(compared.severity("s1/start/param/fc.weight"), Severity::Divergent);
    EXPECT_EQ(compared.fork(), "s1/start/param/fc.weight");
}

TEST(UnchangedStart, OfAStateOnEntry)
{
    const auto s = gaussian(1000, 1);
    Runs runs;
    for (auto* run : { &runs.a, &runs.b }) {
        const auto state = f32({ 1000 }, run == &runs.a ? s : scaled(s, 3));
        run->rank().step(0).optimizerState("fc.weight", "exp_avg", state).step(1).optimizerState("fc.weight", "exp_avg@before", state);
    }
    EXPECT_TRUE(runs.compare().result("s1/optimizer/optimizer_state/fc.weight:exp_avg%40before").unchanged);
}

/// Step 0 leaves the parameters apart by `noise`; step 1 shows an output error of `error` on equal batches.
Compared lateError(double noise, const Elements& candidateOutput, const Elements& referenceOutput)
{
    const auto p = gaussian(1000, 1);
    const auto q = perturbed(p, noise, 2);
    Runs runs;
    for (auto* run : { &runs.a, &runs.b }) {
        const auto after = f32({ 1000 }, run == &runs.a ? p : q);
        run->rank().step(0).start("fc.weight", f32({ 1000 }, scaled(p, 0.5))).after("fc.weight", after).step(1).start("fc.weight", after);
        run->rank().batch(f32({ 1, 1 }, { 1 })).output("fc", f32({ 1000 }, run == &runs.a ? referenceOutput : candidateOutput));
    }
    return runs.compare();
}

TEST(LateDrift, ThatMayHaveGrownFromAnEarlierUpdateIsNotDecided)
{
    const auto y = gaussian(1000, 3);
    const auto compared = lateError(1e-6, perturbed(y, 2e-5, 4), y);
    const auto& result = compared.result("s1/forward/output/fc");
    EXPECT_TRUE(result.undecidable);
    EXPECT_EQ(result.severity, Severity::Noise);
    EXPECT_GT(result.ratio, 1);
    EXPECT_TRUE(test::contains(result.note, "not decidable without a noise run from step 1"));
    EXPECT_EQ(compared.verdict().undecidable, 1u);
    EXPECT_EQ(compared.fork(), "none");
}

TEST(LateDrift, BeyondWhatCanHaveGrownIsTheFork)
{
    const auto y = gaussian(1000, 3);
    const auto compared = lateError(1e-6, perturbed(y, 1e-3, 4), y);
    EXPECT_FALSE(compared.result("s1/forward/output/fc").undecidable);
    EXPECT_EQ(compared.fork(), "s1/forward/output/fc");
}

TEST(LateDrift, WithoutAnEarlierErrorIsTheFork)
{
    const auto y = gaussian(1000, 3);
    const auto compared = lateError(0, perturbed(y, 2e-5, 4), y);
    EXPECT_EQ(compared.severity("s1/forward/output/fc"), Severity::Drift);
    EXPECT_EQ(compared.fork(), "s1/forward/output/fc");
}

TEST(LateDrift, WithStructureIsNotDecidedEither)
{
    // Parameters that were rounded apart act on all rows alike: of 40 healthy GPT pairs one had such a gradient in step 3.
    const auto y = gaussian(1000, 3);
    const auto compared = lateError(1e-6, scaled(y, 1 + 1e-6), y);
    EXPECT_TRUE(compared.result("s1/forward/output/fc").structured);
    EXPECT_TRUE(compared.result("s1/forward/output/fc").undecidable);
    EXPECT_EQ(compared.fork(), "none");
}

TEST(LateDrift, WithStructureFromEqualParametersIsTheFork)
{
    const auto y = gaussian(1000, 3);
    const auto compared = lateError(0, scaled(y, 1 + 1e-6), y);
    EXPECT_TRUE(compared.result("s1/forward/output/fc").structured);
    EXPECT_EQ(compared.fork(), "s1/forward/output/fc");
}

TEST(LateDrift, InTheFirstRecordedStepIsTheFork)
{
    const auto p = gaussian(1000, 1), y = gaussian(1000, 3);
    Runs runs;
    runs.a.rank().start("fc.weight", f32({ 1000 }, p)).output("fc", f32({ 1000 }, y));
    runs.b.rank().start("fc.weight", f32({ 1000 }, perturbed(p, 1e-6, 2))).output("fc", f32({ 1000 }, perturbed(y, 2e-5, 4)));
    const auto compared = runs.compare();
    EXPECT_EQ(compared.severity("s0/forward/output/fc"), Severity::Drift);
    EXPECT_EQ(compared.fork(), "s0/forward/output/fc");
}

TEST(LateDrift, WithParametersThatOneSideDidNotRecordIsNotDecided)
{
    const auto y = gaussian(1000, 3);
    for (const bool recorded : { true, false }) {
        Runs runs;
        for (auto* run : { &runs.a, &runs.b }) {
            for (const int step : { 0, 1 }) {
                auto& scribe = run->rank().step(step).batch(f32({ 1, 1 }, { 1 }));
                if (recorded || run == &runs.a) {
                    scribe.start("fc.weight", f32({ 1000 }, y));
                }
                scribe.output("fc", f32({ 1000 }, run == &runs.b && step == 1 ? perturbed(y, 2e-5, 4) : y));
            }
        }
        const auto compared = runs.compare();
        EXPECT_EQ(compared.result("s1/forward/output/fc").undecidable, !recorded);
        EXPECT_EQ(compared.fork(), recorded ? "s1/forward/output/fc" : "none");
    }
}

TEST(LateDrift, ABatchIsAlwaysDecided)
{
    const auto x = gaussian(1000, 3);
    Runs runs;
    for (auto* run : { &runs.a, &runs.b }) {
        run->rank().step(0).batch(f32({ 1000 }, x)).step(1).batch(f32({ 1000 }, run == &runs.a ? x : perturbed(x, 2e-5, 4)));
    }
    EXPECT_EQ(runs.compare().fork(), "s1/data/batch/batch");
}

// ------------------------------------------------------------------------------------------------ errors along the graph, lanes, notes

TEST(Error, InheritedAndAdded)
{
    const auto x = gaussian(1000, 1), y = gaussian(1000, 2);
    Runs runs;
    runs.a.rank().input("fc", f32({ 1000 }, x)).output("fc", f32({ 1000 }, y));
    runs.b.rank().input("fc", f32({ 1000 }, perturbed(x, 1e-3, 3))).output("fc", f32({ 1000 }, perturbed(y, 1e-2, 4)));
    const auto compared = runs.compare();
    const auto &input = compared.result("s0/forward/input/fc"), &output = compared.result("s0/forward/output/fc");
    EXPECT_EQ(input.inherited, 0);
    EXPECT_EQ(input.added, input.error);
    EXPECT_EQ(output.inherited, input.error);
    EXPECT_DOUBLE_EQ(output.added, output.error - input.error);
}

TEST(Error, NothingIsAddedWhereItShrinks)
{
    const auto x = gaussian(1000, 1);
    Runs runs;
    runs.a.rank().input("fc", f32({ 1000 }, x)).output("fc", f32({ 1000 }, x));
    runs.b.rank().input("fc", f32({ 1000 }, perturbed(x, 1e-3, 3))).output("fc", f32({ 1000 }, x));
    EXPECT_EQ(runs.compare().result("s0/forward/output/fc").added, 0);
}

TEST(Lanes, TheWorstRankIsKept)
{
    const auto p = gaussian(1000, 1);
    RecordedRun a("a", 3), b("b", 3);
    for (int r = 0; r < 3; ++r) {
        a.rank(r).start("fc.weight", f32({ 1000 }, p));
        b.rank(r).start("fc.weight", f32({ 1000 }, r == 1 ? perturbed(p, 1e-2, 2) : r == 2 ? perturbed(p, 1e-6, 3) : p));
    }
    const Compared compared(a.side(), b.side());
    const auto& result = compared.result("s0/start/param/fc.weight");
    ASSERT_EQ(result.lanes.size(), 3u);
    EXPECT_EQ(result.worstLane()->rank, 1);
    EXPECT_EQ(result.severity, Severity::Divergent);
    EXPECT_EQ(result.judgements[0].severity, Severity::Identical);
    EXPECT_EQ(result.judgements[2].severity, Severity::Noise);
    EXPECT_TRUE(result.lanes[0].sameBytes);
}

TEST(Lanes, InvalidIsWorseThanAnyNumber)
{
    RecordedRun a("a", 2), b("b", 2);
    for (int r = 0; r < 2; ++r) {
        a.rank(r).start("fc.weight", f32({ 1 }, { 1 }));
    }
    b.rank(0).start("fc.weight", f32({ 1 }, { std::numeric_limits<float>::infinity() }));
    b.rank(1).start("fc.weight", f32({ 1 }, { 1e30f }));
    const Compared compared(a.side(), b.side());
    EXPECT_EQ(compared.result("s0/start/param/fc.weight").worstLane()->rank, 0);
    EXPECT_EQ(compared.severity(), Severity::Invalid);
}

TEST(Notes, ShapesThatCannotBeRelatedAreInvalid)
{
    Runs runs;
    runs.a.rank().start("fc.weight", f32({ 2 }, { 1, 2 }));
    runs.b.rank().start("fc.weight", f32({ 3 }, { 1, 2, 3 }));
    const auto compared = runs.compare();
    const auto& result = compared.result("s0/start/param/fc.weight");
    EXPECT_EQ(result.severity, Severity::Invalid);
    EXPECT_EQ(result.note, "shapes cannot be related: [2] against [3]");
    EXPECT_TRUE(std::isinf(result.error));
    EXPECT_EQ(compared.fork(), "s0/start/param/fc.weight");
}

TEST(Notes, WhatWasNotObservedIsLeftOut)
{
    Runs runs;
    runs.a.rank().output("fc", f32({ 1 }, { 1 })).output("head", f32({ 1 }, { 1 }));
    runs.b.rank().output("fc", f32({ 1 }, { 2 }), { .notObserved = "freed" }).output("head", f32({ 1 }, { 1 }));
    const auto compared = runs.compare();
    EXPECT_EQ(compared.severity(), Severity::Identical);
    EXPECT_EQ(compared.severity("s0/forward/output/fc"), Severity::Unmatched);
    EXPECT_EQ(compared.result("s0/forward/output/fc").note, "freed");
}

TEST(StatisticsOfEqualTensors, ComeFromTheRecord)
{
    Runs runs;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (auto* run : { &runs.a, &runs.b }) {
        run->rank().output("fc", f32({ 4 }, { 3, -4, nan, 0 }));
    }
    const auto compared = runs.compare();
    const auto& lane = *compared.result("s0/forward/output/fc").worstLane();
    EXPECT_TRUE(lane.sameBytes);
    EXPECT_EQ(lane.statistics.count, 4);
    EXPECT_EQ(lane.statistics.bitEqual, 4);
    EXPECT_EQ(lane.statistics.finite, 3);
    EXPECT_EQ(lane.statistics.nanBoth, 1);
    EXPECT_EQ(lane.statistics.a.min, -4);
    EXPECT_EQ(lane.statistics.b.max, 3);
    EXPECT_EQ(lane.statistics.normA, 5);
    EXPECT_EQ(compared.severity("s0/forward/output/fc"), Severity::Identical);
}

} // namespace
} // namespace forkpoint::diagnose
