// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/curves/overlay.h"

#include "tests/support/run_builder.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace forkpoint::curves {
namespace {

using test::aligned;
using test::f32;
using test::RecordedRun;

constexpr double kFloor = 1e-6;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Losses of one rank from step 0 on; step 0 is recorded, so that the runs can be aligned.
void writeLosses(test::RankScribe& rank, const std::vector<double>& losses, float row = 1)
{
    rank.step(0).batch(f32({ 1, 1 }, { row }));
    for (std::size_t i = 0; i < losses.size(); ++i) {
        rank.step(static_cast<std::int32_t>(i)).lossScalar(losses[i]);
    }
}

std::vector<double> values(const std::vector<Point>& points)
{
    std::vector<double> out;
    for (const auto& point : points) {
        out.push_back(point.value);
    }
    return out;
}

std::vector<std::int32_t> steps(const std::vector<Point>& points)
{
    std::vector<std::int32_t> out;
    for (const auto& point : points) {
        out.push_back(point.step);
    }
    return out;
}

Overlay lossOf(RecordedRun& a, RecordedRun& b)
{
    const auto curves = overlay(aligned(a.side(), b.side()), kFloor);
    EXPECT_FALSE(curves.empty());
    EXPECT_EQ(curves.front().name, "loss");
    return curves.front();
}

std::optional<std::int32_t> onsetOf(const std::vector<double>& a, const std::vector<double>& b)
{
    RecordedRun runA("a"), runB("b");
    writeLosses(runA.rank(), a);
    writeLosses(runB.rank(), b);
    return lossOf(runA, runB).onset;
}

/// A run that exists only as its scalars: one list per rank.
class Logs {
public:
    explicit Logs(std::vector<std::vector<bundle::ScalarRecord>> ranks)
        : m_ranks(ranks.size())
    {
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            m_ranks[r].rank = static_cast<int>(r);
            m_ranks[r].scalars = std::move(ranks[r]);
        }
    }
    align::Side side() const
    {
        align::Side out;
        out.bundle = std::make_shared<bundle::Bundle>();
        for (const auto& rank : m_ranks) {
            out.ranks.push_back(&rank);
        }
        return out;
    }

private:
    std::vector<bundle::RankData> m_ranks;
};

bundle::ScalarRecord logged(int step, double value, int micro = 0)
{
    return { step, micro, "loss", value };
}

align::Alignment alignedLogs(const Logs& a, const Logs& b, align::SideWeights weightsA = {}, align::SideWeights weightsB = {})
{
    align::Alignment out;
    out.a = a.side();
    out.b = b.side();
    align::CellGroup group;
    group.weights.a = weightsA;
    group.weights.b = weightsB;
    out.steps.push_back({});
    out.steps.back().groups.push_back(group);
    return out;
}

TEST(Onset, TheFirstStepBeyondAHundredFloors)
{
    EXPECT_EQ(onsetOf({ 1, 1, 1, 1 }, { 1, 1 + 0.99e-4, 1 + 1.02e-4, 1 }), 2);
}

TEST(Onset, NoneWithinTheFloor)
{
    EXPECT_EQ(onsetOf({ 1, 1, 1 }, { 1, 1 + 0.9e-4, 1 - 0.9e-4 }), std::nullopt);
}

TEST(Onset, TheDifferenceIsRelative)
{
    EXPECT_EQ(onsetOf({ 1000, 1000 }, { 1000, 1000.05 }), std::nullopt);
    EXPECT_EQ(onsetOf({ 1e-3, 1e-3 }, { 1e-3, 1.001e-3 }), 1);
    EXPECT_EQ(onsetOf({ 0, 0 }, { 0, 0 }), std::nullopt);
}

TEST(Onset, ANonFiniteValueOnOneSide)
{
    EXPECT_EQ(onsetOf({ 1, 1, 1 }, { 1, kNaN, kNaN }), 1);
    EXPECT_EQ(onsetOf({ 1, std::numeric_limits<double>::infinity() }, { 1, 1 }), 1);
}

TEST(Onset, NonFiniteOnBothSidesTellsNothing)
{
    EXPECT_EQ(onsetOf({ 1, kNaN, 1 }, { 1, kNaN, 2 }), 2);
}

TEST(Onset, OnlyStepsThatBothSidesHave)
{
    EXPECT_EQ(onsetOf({ 1, 1 }, { 1, 1, 5, 9 }), std::nullopt);
}

TEST(Loss, OfRanksIsWeightedAsTheyAddUp)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().step(0).batch(f32({ 2, 1 }, { 1, 2 })).lossScalar(2).step(1).lossScalar(3);
    b.rank(0).step(0).batch(f32({ 1, 1 }, { 1 })).lossScalar(1).step(1).lossScalar(2);
    b.rank(1).step(0).batch(f32({ 1, 1 }, { 2 })).lossScalar(3).step(1).lossScalar(4);
    const auto loss = lossOf(a, b);
    EXPECT_EQ(values(loss.b), (std::vector<double> { 2, 3 }));
    EXPECT_EQ(loss.onset, std::nullopt);
    EXPECT_TRUE(loss.wholeRun);
}

TEST(Loss, OfRanksThatAddUp)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().step(0).batch(f32({ 2, 1 }, { 1, 2 })).lossScalar(4).step(1).lossScalar(6);
    b.rank(0).step(0).batch(f32({ 1, 1 }, { 1 })).lossScalar(1).step(1).lossScalar(2);
    b.rank(1).step(0).batch(f32({ 1, 1 }, { 2 })).lossScalar(3).step(1).lossScalar(4);
    EXPECT_EQ(values(lossOf(a, b).b), (std::vector<double> { 4, 6 }));
}

TEST(Loss, OfMicroStepsIsTheStepsLoss)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 2, 1 }, { 1, 2 })).lossScalar(4);
    b.rank().micro(0).batch(f32({ 1, 1 }, { 1 })).lossScalar(1).micro(1).batch(f32({ 1, 1 }, { 2 })).lossScalar(3);
    EXPECT_EQ(values(lossOf(a, b).b), (std::vector<double> { 4 }));
}

TEST(Loss, OfRanksComparedOneByOneIsTheirMean)
{
    RecordedRun a("a", 2), b("b", 2);
    for (auto* run : { &a, &b }) {
        writeLosses(run->rank(0), { 1, 2 }, 1);
        writeLosses(run->rank(1), { 3, 4 }, 2);
    }
    EXPECT_EQ(values(lossOf(a, b).a), (std::vector<double> { 2, 3 }));
}

TEST(Loss, EveryStepOfTheRunAlsoUnrecordedOnes)
{
    RecordedRun a("a"), b("b");
    writeLosses(a.rank(), { 1, 2, 3, 4, 5 });
    writeLosses(b.rank(), { 1, 2, 3 });
    const auto loss = lossOf(a, b);
    EXPECT_EQ(steps(loss.a), (std::vector<std::int32_t> { 0, 1, 2, 3, 4 }));
    EXPECT_EQ(steps(loss.b), (std::vector<std::int32_t> { 0, 1, 2 }));
}

TEST(Loss, InTheReferencesNumbering)
{
    RecordedRun a("a"), b("b");
    a.rank().step(0).batch(f32({ 1, 1 }, { 1 })).lossScalar(1).step(1).lossScalar(2);
    b.rank().step(10).batch(f32({ 1, 1 }, { 1 })).lossScalar(1).step(11).lossScalar(9);
    const auto curves = overlay(aligned(a.side(), b.side(), { .stepOffset = 10 }), kFloor);
    EXPECT_EQ(steps(curves.front().b), (std::vector<std::int32_t> { 0, 1 }));
    EXPECT_EQ(curves.front().onset, 1);
}

TEST(Loss, OfOneRankOfSeveralSetsNoOnset)
{
    RecordedRun a("a"), b("b", 2);
    writeLosses(a.rank(), { 1, 1 });
    writeLosses(b.rank(0), { 1, 9 });
    writeLosses(b.rank(1), { 1, 9 });
    const auto curves = overlay(aligned(a.side(), b.side(0)), kFloor);
    EXPECT_FALSE(curves.front().wholeRun);
    EXPECT_EQ(curves.front().onset, std::nullopt);
    EXPECT_EQ(values(curves.front().b), (std::vector<double> { 1, 9 }));
}

TEST(Loss, AStepThatARankDidNotReachHasNoValue)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().step(0).batch(f32({ 2, 1 }, { 1, 2 })).lossScalar(2).step(1).lossScalar(2).step(2).lossScalar(2);
    writeLosses(b.rank(0), { 1, 1, 1 }, 1);
    writeLosses(b.rank(1), { 3, 3 }, 2); // died before step 2
    const auto loss = lossOf(a, b);
    EXPECT_EQ(steps(loss.b), (std::vector<std::int32_t> { 0, 1 }));
    EXPECT_EQ(loss.onset, std::nullopt) << "a rank that ended is no NaN";
}

TEST(Loss, ARankThatNeverHasOneDoesNotCount)
{
    RecordedRun a("a"), b("b", 2);
    writeLosses(a.rank(), { 1, 2 });
    writeLosses(b.rank(1), { 1, 2 }); // the last stage of a pipeline
    b.rank(0).step(0).start("stage0.weight", f32({ 1 }, { 1 }));
    EXPECT_EQ(values(lossOf(a, b).b), (std::vector<double> { 1, 2 }));
}

TEST(OtherScalars, FollowByNameAndSetNoOnset)
{
    RecordedRun a("a"), b("b");
    a.rank().step(0).batch(f32({ 1, 1 }, { 1 })).lossScalar(1).scalar("lr", 0.1).scalar("grad_norm", 3).step(1).scalar("lr", 0.05);
    b.rank().step(0).batch(f32({ 1, 1 }, { 1 })).lossScalar(1).scalar("lr", 0.2).scalar("temperature", 1);
    const auto curves = overlay(aligned(a.side(), b.side()), kFloor);
    ASSERT_EQ(curves.size(), 4u);
    EXPECT_EQ(curves[1].name, "grad_norm");
    EXPECT_EQ(curves[2].name, "lr");
    EXPECT_EQ(curves[3].name, "temperature");
    EXPECT_EQ(values(curves[2].a), (std::vector<double> { 0.1, 0.05 }));
    EXPECT_EQ(values(curves[2].b), (std::vector<double> { 0.2 }));
    EXPECT_TRUE(curves[1].b.empty());
    EXPECT_EQ(curves[2].onset, std::nullopt);
    EXPECT_FALSE(curves[2].wholeRun);
}

TEST(OtherScalars, AscendWhateverTheFilesOrder)
{
    RecordedRun a("a"), b("b");
    a.rank().step(0).batch(f32({ 1, 1 }, { 1 })).step(2).scalar("accuracy", 2).step(1).scalar("accuracy", 1).step(2).scalar("accuracy", 3);
    b.rank().step(0).batch(f32({ 1, 1 }, { 1 }));
    const auto curves = overlay(aligned(a.side(), b.side()), kFloor);
    ASSERT_EQ(curves.size(), 1u);
    EXPECT_EQ(steps(curves[0].a), (std::vector<std::int32_t> { 1, 2 }));
    EXPECT_EQ(values(curves[0].a), (std::vector<double> { 1, 2 })) << "the first of a step";
}

TEST(OtherScalars, OfTheFirstRank)
{
    RecordedRun a("a", 2), b("b", 2);
    for (auto* run : { &a, &b }) {
        run->rank(0).step(0).batch(f32({ 1, 1 }, { 1 })).scalar("lr", 0.1);
        run->rank(1).step(0).batch(f32({ 1, 1 }, { 2 })).scalar("lr", 0.7).scalar("other", 1);
    }
    const auto curves = overlay(aligned(a.side(), b.side()), kFloor);
    ASSERT_EQ(curves.size(), 1u);
    EXPECT_EQ(values(curves[0].b), (std::vector<double> { 0.1 }));
}

TEST(Curves, NoneWhereNoScalarWasRecorded)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 1, 1 }, { 1 }));
    b.rank().batch(f32({ 1, 1 }, { 1 }));
    EXPECT_TRUE(overlay(aligned(a.side(), b.side()), kFloor).empty());
}

TEST(Overlay, CombinesRanksAndMicroSteps)
{
    using align::Reduction;
    const Logs a({ { logged(0, 3), logged(1, 5) } });
    const Logs b(
        { { logged(0, 1, 0), logged(0, 3, 1), logged(1, 4, 0), logged(1, 6, 1) }, { logged(0, 3, 0), logged(0, 5, 1), logged(1, 4, 0), logged(1, 6, 1) } });
    const auto curves = overlay(alignedLogs(a, b, {}, { Reduction::Mean, Reduction::Mean, 0.25 }), kFloor);
    ASSERT_EQ(curves.size(), 1u);
    EXPECT_EQ(curves[0].b[0].value, 3);
    EXPECT_EQ(curves[0].b[1].value, 5);
    EXPECT_EQ(curves[0].weightsB.ranks, Reduction::Mean);
    EXPECT_EQ(curves[0].weightsB.micros, Reduction::Mean);
    EXPECT_FALSE(curves[0].onset);
}

TEST(Overlay, RanksComparedOneByOneCountEqually)
{
    const Logs a({ { logged(0, 1) }, { logged(0, 3) } });
    const auto curves = overlay(alignedLogs(a, a), kFloor);
    EXPECT_EQ(curves[0].a[0].value, 2);
    EXPECT_EQ(curves[0].weightsA.ranks, align::Reduction::Mean);
}

TEST(Overlay, StepsAscendWhateverTheOrderOfTheLog)
{
    const Logs a({ { logged(2, 3), logged(0, 1), { 4, bundle::kNoMicro, "lr", 4 }, { 1, bundle::kNoMicro, "lr", 1 },
        { 1, bundle::kNoMicro, "lr", 9 }, logged(1, 2), logged(1, 2.5) } });
    const auto curves = overlay(alignedLogs(a, a), kFloor);
    ASSERT_EQ(curves.size(), 2u);
    ASSERT_EQ(curves[0].a.size(), 3u);
    for (int step = 0; step < 3; ++step) {
        EXPECT_EQ(curves[0].a[static_cast<std::size_t>(step)].step, step);
    }
    EXPECT_EQ(curves[0].a[1].value, 2.5); // logged again after a restart
    ASSERT_EQ(curves[1].a.size(), 2u);
    EXPECT_EQ(curves[1].a[0].step, 1);
    EXPECT_EQ(curves[1].a[0].value, 1);
    EXPECT_EQ(curves[1].a[1].step, 4);
}

TEST(Overlay, OnsetIsTheFirstCommonStepBeyondAHundredFloors)
{
    const Logs a({ { logged(0, 1), logged(2, 1), logged(4, 1), logged(6, 1) } });
    const Logs b({ { logged(0, 1 + 50e-6), logged(1, 7), logged(2, 1), logged(4, 1 + 200e-6), logged(6, 2) } });
    EXPECT_EQ(overlay(alignedLogs(a, b), kFloor)[0].onset, 4); // step 1 is B's alone
    const Logs nan({ { logged(0, 1), logged(2, std::numeric_limits<double>::quiet_NaN()) } });
    EXPECT_EQ(overlay(alignedLogs(a, nan), kFloor)[0].onset, 2);
    EXPECT_FALSE(overlay(alignedLogs(nan, nan), kFloor)[0].onset);
}

TEST(Overlay, LongLogsAreNotQuadratic)
{
    std::vector<bundle::ScalarRecord> log;
    for (int step = 0; step < 300'000; ++step) {
        log.push_back(logged(step, step));
    }
    const Logs a({ log }); // minutes where every step searched the whole log
    const auto curves = overlay(alignedLogs(a, a), kFloor);
    ASSERT_EQ(curves[0].a.size(), 300'000u);
    EXPECT_EQ(curves[0].a.back().value, 299'999);
}

} // namespace
} // namespace forkpoint::curves
