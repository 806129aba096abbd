// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/compare/compare.h"

#include "core/compare/pair_counts.h"
#include "core/metrics/backend.h"
#include "tests/support/compared.h"
#include "tests/support/toy_training.h"

#include <gtest/gtest.h>

#include <fstream>

// Whole comparisons: healthy splits agree, defects are found where they are, and what goes wrong on the way is said.
namespace forkpoint::compare {
namespace {

using diagnose::Severity;
using test::Compared;
using test::contains;
using test::f32;
using test::RecordedRun;
using test::ToyTraining;
using Defect = test::ToyTraining::Defect;

/// A recorded toy training; kept on disk as long as the test runs.
struct Recorded {
    RecordedRun run;
    explicit Recorded(const ToyTraining& toy, const std::string& name = "run")
        : run(name, toy.world)
    {
        test::writeToy(run, toy);
    }
    align::Side side() { return run.side(); }
};

// ------------------------------------------------------------------------------------------------ healthy pairs

TEST(ItselfAgainstItself, IsIdentical)
{
    for (const int world : { 1, 2, 4 }) {
        Recorded run({ .world = world, .micros = 2 });
        const Compared compared(run.side(), run.side());
        EXPECT_EQ(compared.severity(), Severity::Identical) << world;
        EXPECT_EQ(compared.fork(), "none");
        for (std::size_t i = 0; i < compared.snapshot().pairs(); ++i) {
            EXPECT_EQ(compared.snapshot().result(i).severity, Severity::Identical) << compared.alignment().pairs[i].id;
            EXPECT_TRUE(compared.snapshot().result(i).worstLane()->sameBytes)
                << "equal digests need no reading: " << compared.alignment().pairs[i].id;
        }
    }
}

TEST(TheSameTrainingTwice, IsIdentical)
{
    Recorded a({ .world = 2 }), b({ .world = 2 });
    EXPECT_EQ(Compared(a.side(), b.side()).severity(), Severity::Identical);
}

TEST(OneRankAgainstItself, IsIdentical)
{
    Recorded run({ .world = 2 });
    EXPECT_EQ(Compared(run.run.side(1), run.run.side(1)).severity(), Severity::Identical);
}

class HealthySplit : public testing::TestWithParam<std::pair<ToyTraining, ToyTraining>> { };

TEST_P(HealthySplit, IsNoise)
{
    Recorded a(GetParam().first, "a"), b(GetParam().second, "b");
    const Compared compared(a.side(), b.side());
    EXPECT_LE(compared.severity(), Severity::Noise);
    EXPECT_EQ(compared.fork(), "none");
    EXPECT_EQ(compared.verdict().undecidable, 0u);
    EXPECT_GT(compared.verdict().pairs, 20u);
    EXPECT_EQ(compared.snapshot().outcome()->curves.front().onset, std::nullopt);
    for (const auto& pair : compared.alignment().pairs) {
        EXPECT_EQ(pair.status, align::PairStatus::Matched) << pair.id;
    }
}

std::string splitName(const testing::TestParamInfo<HealthySplit::ParamType>& healthy)
{
    const auto& [a, b] = healthy.param;
    return fmt::format("World{}Micro{}ToWorld{}Micro{}", a.world, a.micros, b.world, b.micros);
}

INSTANTIATE_TEST_SUITE_P(OfOneTraining, HealthySplit,
    testing::Values(std::pair(ToyTraining { .world = 1 }, ToyTraining { .world = 2 }),
        std::pair(ToyTraining { .world = 2 }, ToyTraining { .world = 1 }),
        std::pair(ToyTraining { .world = 1 }, ToyTraining { .world = 4 }),
        std::pair(ToyTraining { .world = 2 }, ToyTraining { .world = 4 }),
        std::pair(ToyTraining { .world = 1 }, ToyTraining { .micros = 2 }),
        std::pair(ToyTraining { .micros = 4 }, ToyTraining { .world = 1 }),
        std::pair(ToyTraining { .micros = 2 }, ToyTraining { .world = 2 }),
        std::pair(ToyTraining { .micros = 2 }, ToyTraining { .micros = 4 }),
        std::pair(ToyTraining { .world = 1 }, ToyTraining { .world = 2, .micros = 2 }),
        std::pair(ToyTraining { .world = 4 }, ToyTraining { .world = 2, .micros = 2 })),
    splitName);

// ------------------------------------------------------------------------------------------------ defects

TEST(Defects, AFactorOfTheReducedGradientForksThere)
{
    Recorded a({}), b({ .world = 2, .defect = Defect::GradientTimesTwo });
    const Compared compared(a.side(), b.side());
    EXPECT_EQ(compared.severity(), Severity::Divergent);
    EXPECT_EQ(compared.fork(), "s0/reduce/grad/fc.weight");
    ASSERT_TRUE(compared.verdict().fork);
    EXPECT_TRUE(compared.verdict().fork->proven);
    ASSERT_EQ(compared.verdict().fork->after.size(), 1u);
    EXPECT_EQ(compared.alignment().pairs[compared.verdict().fork->after[0]].id, "s0/backward/grad/fc.weight");
    EXPECT_NEAR(compared.result("s0/reduce/grad/fc.weight").worstLane()->statistics.bestScale, 2, 1e-5);
}

TEST(Defects, GradientsThatWereNotReducedDifferOnTheRanks)
{
    Recorded a({}), b({ .world = 2, .defect = Defect::UnreducedGradients });
    const Compared compared(a.side(), b.side());
    EXPECT_EQ(compared.fork(), "s0/reduce/grad/fc.weight");
    EXPECT_EQ(compared.result("s0/reduce/grad/fc.weight").lanes.size(), 2u);
    EXPECT_LE(compared.severity("s0/backward/grad/fc.weight"), Severity::Noise);
}

TEST(Defects, AnotherStartForksBeforeTheFirstStep)
{
    Recorded a({}), b({ .world = 2, .defect = Defect::OtherStart });
    EXPECT_EQ(Compared(a.side(), b.side()).fork(), "s0/start/param/fc.weight");
}

TEST(Defects, AnotherSampleForksAtTheBatch)
{
    Recorded a({}), b({ .defect = Defect::OtherBatch });
    EXPECT_EQ(Compared(a.side(), b.side()).fork(), "s0/data/batch/batch:0");
}

TEST(Defects, AnotherLearningRateForksAtTheUpdate)
{
    Recorded a({}), b({ .world = 2, .defect = Defect::LearningRate });
    const Compared compared(a.side(), b.side());
    EXPECT_EQ(compared.fork(), "s0/optimizer/param/fc.weight");
    EXPECT_NEAR(compared.result("s0/optimizer/param/fc.weight").worstLane()->statistics.bestScale, 2, 1e-4);
    EXPECT_TRUE(compared.result("s1/start/param/fc.weight").unchanged);
}

TEST(Defects, ANaNForksWhereItAppears)
{
    Recorded a({}), b({ .defect = Defect::NaNOutput });
    const Compared compared(a.side(), b.side());
    EXPECT_EQ(compared.severity(), Severity::Invalid);
    EXPECT_EQ(compared.fork(), "s0/forward/output/fc");
    EXPECT_EQ(compared.pair("s0/forward/output/fc").source, "model.py:7");
}

// ------------------------------------------------------------------------------------------------ options and errors

TEST(Options, ReadAllMeasuresWhatTheDigestsCallEqual)
{
    Recorded a({}), b({});
    Options options;
    options.measurer.readAll = true;
    const Compared compared(a.side(), b.side(), options);
    EXPECT_EQ(compared.severity(), Severity::Identical);
    std::size_t read = 0;
    for (std::size_t i = 0; i < compared.snapshot().pairs(); ++i) {
        const auto* lane = compared.snapshot().result(i).worstLane();
        ASSERT_TRUE(lane);
        EXPECT_FALSE(lane->sameBytes);
        EXPECT_EQ(lane->statistics.backend, metrics::activeBackend().name());
        EXPECT_EQ(lane->statistics.absHistogram.zero, lane->statistics.finite);
        ++read;
    }
    EXPECT_GT(read, 0u);
}

TEST(Options, ReadAllFindsBytesThatAreNotWhatTheDigestSays)
{
    Recorded a({}), b({});
    auto sideA = a.side(), sideB = b.side();
    const auto file = b.run.path() / "rank00000" / "tensors-0000.bin";
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(0);
    const float wrong = 1e30f; // the first number of the first tensor
    bytes.write(reinterpret_cast<const char*>(&wrong), sizeof wrong);
    bytes.close();
    Options options;
    options.measurer.readAll = true;
    EXPECT_EQ(Compared(sideA, sideB).severity(), Severity::Identical);
    EXPECT_GE(Compared(sideA, sideB, options).severity(), Severity::Drift);
}

TEST(Options, Percentiles)
{
    Recorded a({}), b({ .world = 2 });
    Options options;
    options.measurer.percentiles = true;
    const Compared compared(a.side(), b.side(), options);
    std::size_t found = 0;
    for (std::size_t i = 0; i < compared.snapshot().pairs(); ++i) {
        const auto* lane = compared.snapshot().result(i).worstLane();
        if (!lane || lane->sameBytes)
            continue;
        ASSERT_TRUE(lane->statistics.percentiles);
        EXPECT_LE(lane->statistics.percentiles->p999, lane->statistics.maxAbs.value);
        ++found;
    }
    EXPECT_GT(found, 0u);
}

TEST(Options, AStepOffset)
{
    Recorded a({}), b({ .firstStep = 10 });
    EXPECT_EQ(Compared(a.side(), b.side(), { .align = { .stepOffset = 10 }, .noise = std::nullopt }).severity(), Severity::Identical);
}

TEST(Options, ANoiseRun)
{
    Recorded a({}), again({ .world = 2 }, "again"), b({ .world = 4 });
    const Compared compared(a.side(), b.side(), { .align = {}, .noise = again.side() });
    EXPECT_TRUE(compared.verdict().measuredFloor);
    EXPECT_EQ(compared.snapshot().structure().noiseLabel, "again");
    EXPECT_FALSE(Compared(a.side(), b.side()).verdict().measuredFloor);
}

TEST(Options, ANoiseRunOfAnotherConfigurationIsDoubted)
{
    Recorded a({}), b({}), again({}, "again"), other({}, "other");
    for (Recorded* run : { &a, &b, &again, &other }) {
        const double lr = run == &other ? 0.1 : 0.01;
        run->run.rank(0).info({ { "config", { { "lr", lr }, { "momentum", 10 * lr } } }, { "environment", { { "host", run == &a ? "x" : "y" } } } });
    }
    const auto notes = [&](Recorded& noise) {
        return Compared(a.side(), b.side(), { .align = {}, .noise = noise.side() }).snapshot().structure().alignment.notes;
    };
    EXPECT_TRUE(notes(again).empty());
    EXPECT_EQ(notes(other), (std::vector<std::string> {
        "the noise run other is no repeat of the reference: config lr is 0.1, in the reference 0.01, and 1 more. What comes of it is taken for noise all the same" }));
}

TEST(Options, ANoiseRunThatCannotBeAlignedSaysSo)
{
    Recorded a({}), again({ .firstStep = 50 }), b({});
    const auto done = compare(a.side(), b.side(), { .align = {}, .noise = again.side() });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::Usage);
    EXPECT_TRUE(contains(done.error().message, "noise run: "));
}

TEST(Errors, NoStepInCommon)
{
    Recorded a({}), b({ .firstStep = 50 });
    const auto done = compare(a.side(), b.side());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::Usage);
}

TEST(Unreadable, BytesBecomeANoteAndNotAFailure)
{
    Recorded a({}), b({ .world = 2 });
    auto sideA = a.side(), sideB = b.side();
    std::filesystem::resize_file(b.run.path() / "rank00001" / "tensors-0000.bin", 64);
    const Compared compared(std::move(sideA), std::move(sideB));
    const auto& result = compared.result("s0/forward/output/fc");
    EXPECT_EQ(result.severity, Severity::Unmatched);
    EXPECT_TRUE(contains(result.note, "rank00001"));
    EXPECT_TRUE(result.lanes.empty());
    EXPECT_GT(countPairs(compared.snapshot()).unreadable, 0u);
    EXPECT_LE(compared.severity("s0/start/param/fc.weight"), Severity::Noise) << "equal digests need no bytes";
    EXPECT_EQ(compared.severity(), Severity::Unmatched);
    EXPECT_EQ(compared.fork(), "none");
    EXPECT_EQ(compared.snapshot().ready(), compared.snapshot().pairs());
}

TEST(Unreadable, FilesThatWereCutToNothing)
{
    Recorded a({}), b({ .defect = Defect::OtherStart });
    auto sideA = a.side(), sideB = b.side();
    for (auto* run : { &a, &b }) {
        std::filesystem::resize_file(run->run.path() / "rank00000" / "tensors-0000.bin", 0);
    }
    const Compared compared(std::move(sideA), std::move(sideB));
    EXPECT_EQ(compared.severity(), Severity::Unmatched);
    EXPECT_GT(countPairs(compared.snapshot()).unreadable, 0u);
}

TEST(Structure, SaysTheBackendAndTheContext)
{
    Recorded a({}), b({});
    a.run.rank().info({ { "flags", { { "tf32_matmul", false } } } });
    b.run.rank().info({ { "flags", { { "tf32_matmul", true } } } });
    const Compared compared(a.side(), b.side());
    EXPECT_EQ(compared.snapshot().structure().backend, metrics::activeBackend().name());
    ASSERT_TRUE(compared.snapshot().structure().context);
    EXPECT_EQ(compared.snapshot().structure().context->size(), 1u);
    EXPECT_EQ(compared.verdict().gates[static_cast<std::size_t>(diagnose::Gate::Environment)].state, diagnose::GateState::Differs);
}

TEST(Structure, WithoutContextTheEnvironmentWasNotRecorded)
{
    Recorded a({}), b({});
    const Compared compared(a.side(), b.side());
    EXPECT_FALSE(compared.snapshot().structure().context);
    EXPECT_EQ(compared.verdict().gates[static_cast<std::size_t>(diagnose::Gate::Environment)].state, diagnose::GateState::NotRecorded);
}

TEST(Backend, AWishThatCannotBeMetFailsTheComparison)
{
    Recorded a({}), b({ .world = 2 });
    ::setenv("FORKPOINT_BACKEND", "abacus", 1);
    const auto done = compare(a.side(), b.side());
    ::unsetenv("FORKPOINT_BACKEND");
    ASSERT_FALSE(done) << "rather than a verdict on pairs that nobody could measure";
    EXPECT_EQ(done.error().code, ErrorCode::Usage);
    EXPECT_TRUE(contains(done.error().message, "abacus"));
}

} // namespace
} // namespace forkpoint::compare
