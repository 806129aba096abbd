// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/weights.h"

#include "tests/support/run_builder.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace forkpoint::align {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Rows of a LossGrid are micro-steps, columns are ranks.
const LossGrid kWhole { { 2.0 } };

TEST(LossWeights, OnePartEachWeighsOne)
{
    const auto w = lossWeights(kWhole, { { 2.0 } });
    EXPECT_TRUE(w.agreed);
    EXPECT_EQ(w.a.ranks, Reduction::One);
    EXPECT_EQ(w.b.micros, Reduction::One);
    EXPECT_EQ(w.a.weight, 1);
    EXPECT_EQ(w.b.weight, 1);
}

TEST(LossWeights, OnePartEachAgreesEvenWhereTheLossesDiffer)
{
    EXPECT_TRUE(lossWeights(kWhole, { { 3.0 } }).agreed) << "there is nothing to choose from: the loss pair shows the difference";
    EXPECT_TRUE(lossWeights(kWhole, { { kNaN } }).agreed);
}

TEST(LossWeights, RanksByMean)
{
    const auto w = lossWeights(kWhole, { { 1.0, 3.0 } });
    EXPECT_TRUE(w.agreed);
    EXPECT_EQ(w.b.ranks, Reduction::Mean);
    EXPECT_EQ(w.b.weight, 0.5);
    EXPECT_EQ(totalLoss({ { 1.0, 3.0 } }, w.b), 2.0);
}

TEST(LossWeights, RanksBySum)
{
    const auto w = lossWeights(kWhole, { { 0.5, 1.5 } });
    EXPECT_TRUE(w.agreed);
    EXPECT_EQ(w.b.ranks, Reduction::Sum);
    EXPECT_EQ(w.b.weight, 1);
    EXPECT_EQ(totalLoss({ { 0.5, 1.5 } }, w.b), 2.0);
}

TEST(LossWeights, EqualOnAllRanksIsAReplica)
{
    const auto w = lossWeights(kWhole, { { 2.0, 2.0, 2.0 } });
    EXPECT_TRUE(w.agreed);
    EXPECT_EQ(w.b.ranks, Reduction::Replicated);
    EXPECT_EQ(w.b.weight, 1);
    EXPECT_EQ(totalLoss({ { 2.0, 2.0, 2.0 } }, w.b), 2.0);
}

TEST(LossWeights, AlmostEqualIsNoReplica)
{
    const auto w = lossWeights(kWhole, { { 2.0, 2.0 + 1e-9 } });
    EXPECT_EQ(w.b.ranks, Reduction::Mean);
    EXPECT_EQ(w.b.weight, 0.5);
}

TEST(LossWeights, MicroStepsBySum)
{
    const auto w = lossWeights(kWhole, { { 0.5 }, { 1.5 } });
    EXPECT_TRUE(w.agreed);
    EXPECT_EQ(w.b.micros, Reduction::Sum);
    EXPECT_EQ(w.b.weight, 1);
}

TEST(LossWeights, MicroStepsByMean)
{
    const auto w = lossWeights(kWhole, { { 1.0 }, { 3.0 } });
    EXPECT_TRUE(w.agreed);
    EXPECT_EQ(w.b.micros, Reduction::Mean);
    EXPECT_EQ(w.b.weight, 0.5);
}

TEST(LossWeights, RanksByMeanAndMicroStepsBySum)
{
    const LossGrid b { { 0.5, 1.5 }, { 0.25, 1.75 } }; // each already divided by the two micro-steps
    const auto w = lossWeights(kWhole, b);
    EXPECT_TRUE(w.agreed);
    EXPECT_EQ(w.b.weight, 0.5);
    EXPECT_EQ(totalLoss(b, w.b), 2.0);
}

TEST(LossWeights, BothByMean)
{
    const LossGrid b { { 1.0, 3.0 }, { 0.5, 3.5 } };
    const auto w = lossWeights(kWhole, b);
    EXPECT_TRUE(w.agreed);
    EXPECT_EQ(w.b.ranks, Reduction::Mean);
    EXPECT_EQ(w.b.micros, Reduction::Mean);
    EXPECT_EQ(w.b.weight, 0.25);
}

TEST(LossWeights, TheReferenceMayBeTheSplitOne)
{
    const auto w = lossWeights({ { 1.0, 3.0 } }, kWhole);
    EXPECT_EQ(w.a.ranks, Reduction::Mean);
    EXPECT_EQ(w.a.weight, 0.5);
    EXPECT_EQ(w.b.weight, 1);
}

TEST(LossWeights, AgreementIsWithinAThousandth)
{
    EXPECT_TRUE(lossWeights(kWhole, { { 1.0, 3.0019 * 1.0 } }).agreed);
    EXPECT_FALSE(lossWeights(kWhole, { { 1.0, 3.01 } }).agreed);
}

TEST(LossWeights, WhereNoneAgreesRanksByMeanMicroStepsBySum)
{
    const auto w = lossWeights(kWhole, { { 10.0, 20.0 }, { 30.0, 50.0 } });
    EXPECT_FALSE(w.agreed);
    EXPECT_EQ(w.b.ranks, Reduction::Mean);
    EXPECT_EQ(w.b.micros, Reduction::Sum);
    EXPECT_EQ(w.b.weight, 0.5);
}

TEST(LossWeights, WhereNoneAgreesTheEarlierStepDecides)
{
    const auto earlier = lossWeights(kWhole, { { 0.5, 1.5 } });
    ASSERT_EQ(earlier.b.ranks, Reduction::Sum);
    const auto w = lossWeights(kWhole, { { 10.0, 20.0 } }, earlier);
    EXPECT_FALSE(w.agreed) << "still a candidate for the fork";
    EXPECT_EQ(w.b.ranks, Reduction::Sum);
    EXPECT_EQ(w.b.weight, 1);
}

TEST(LossWeights, AnAgreementNowOutweighsTheEarlierStep)
{
    const auto earlier = lossWeights(kWhole, { { 0.5, 1.5 } });
    EXPECT_EQ(lossWeights(kWhole, { { 1.0, 3.0 } }, earlier).b.ranks, Reduction::Mean);
}

TEST(LossWeights, NonFiniteLossesNeverAgree)
{
    for (const double bad : { kNaN, kInfinity }) {
        const auto w = lossWeights(kWhole, { { 1.0, bad } });
        EXPECT_FALSE(w.agreed) << bad;
        EXPECT_EQ(w.b.ranks, Reduction::Mean) << bad;
        EXPECT_EQ(w.b.weight, 0.5) << bad;
    }
    EXPECT_FALSE(lossWeights({ { kNaN } }, { { kNaN, kNaN } }).agreed) << "NaN on both sides says nothing of the weights";
    EXPECT_FALSE(lossWeights({ { kInfinity } }, { { kInfinity, 1.0 } }).agreed);
}

TEST(LossWeights, NonFiniteLossesTakeTheEarlierWeights)
{
    const auto earlier = lossWeights(kWhole, { { 0.5, 1.5 } });
    EXPECT_EQ(lossWeights(kWhole, { { kNaN, 1.0 } }, earlier).b.ranks, Reduction::Sum);
}

TEST(LossWeights, ZeroLossesAgree)
{
    EXPECT_TRUE(lossWeights({ { 0.0 } }, { { 0.0, 0.0 } }).agreed);
    EXPECT_FALSE(lossWeights({ { 0.0 } }, { { 1.0, 2.0 } }).agreed);
}

/// One micro-step against one; a schedule of a pipeline divides the gradients later on.
TEST(LossWeights, OneOfManyMicroStepsMayBeUndivided)
{
    constexpr std::size_t kMicros = 4;
    for (const double loss : { 8.0, 8.5, 9.8, 6.6 }) { // with a fork before it, too
        const auto w = lossWeights(kWhole, { { loss } }, std::nullopt, kMicros);
        EXPECT_TRUE(w.agreed) << loss;
        EXPECT_EQ(w.b.micros, Reduction::Mean) << loss;
        EXPECT_EQ(w.b.weight, 0.25) << loss;
        EXPECT_EQ(w.a.weight, 1) << loss;
        EXPECT_EQ(lossWeights({ { loss } }, kWhole, std::nullopt, kMicros).a.weight, 0.25) << loss;
    }
    for (const double loss : { 2.0, 3.0, 4.0 }) { // as they stand, or too far from either
        EXPECT_EQ(lossWeights(kWhole, { { loss } }, std::nullopt, kMicros).b.weight, 1) << loss;
    }
    EXPECT_EQ(lossWeights(kWhole, { { 8.0 } }).b.weight, 1) << "of runs that are alike, the factor is a difference";
}

TEST(LossesOfParts, AreThoseOfRanksThatHoldTheSameRowsAndDiffer)
{
    EXPECT_TRUE(areLossesOfParts({ { 1.0, 2.0 } }, { 0, 0 }));
    EXPECT_FALSE(areLossesOfParts({ { 1.0, 2.0 } }, { 0, 1 })) << "rows of their own";
    EXPECT_FALSE(areLossesOfParts({ { 1.0, 2.0 } }, {}));
    EXPECT_FALSE(areLossesOfParts({ { 1.0, 1.000005 } }, { 0, 0 })) << "rounding";
    EXPECT_TRUE(areLossesOfParts({ { 1.0, 1.0005 } }, { 0, 0 })) << "halves of a large batch at the start of a training";
    EXPECT_TRUE(areLossesOfParts({ { 1.0, 1.0 }, { 1.0, 1.1 } }, { 0, 0 })) << "in any micro-step";
    EXPECT_FALSE(areLossesOfParts({ { 1.0, 5.0, 1.0, 5.0 } }, { 0, 1, 0, 1 }));
    EXPECT_TRUE(areLossesOfParts({ { 1.0, 5.0, 1.0, 4.0 } }, { 0, 1, 0, 1 }));
    EXPECT_FALSE(areLossesOfParts({ { 1.0, 2.0 } }, { 0, kNoGroup }));
    EXPECT_FALSE(areLossesOfParts({ { 1.0, std::nan("") } }, { 0, 0 })) << "not known";
}

TEST(LossGrid, OneRowPerMicroStepAndNaNWhereNoneWasRecorded)
{
    test::RecordedRun run("run", 2);
    run.rank(0).step(3).micro(0).lossScalar(1).micro(1).lossScalar(2).step(4).lossScalar(9);
    run.rank(1).step(3).micro(0).lossScalar(3).scalar("lr", 7);
    const auto grid = lossGrid(run.side(), 3, { 0, 1 }, { 0, 1 });
    ASSERT_EQ(grid.size(), 2u);
    EXPECT_EQ(grid[0], (std::vector<double> { 1, 3 }));
    EXPECT_EQ(grid[1][0], 2);
    EXPECT_TRUE(std::isnan(grid[1][1]));
}

TEST(LossGrid, OnlyTheRanksAndMicroStepsAskedFor)
{
    test::RecordedRun run("run", 2);
    run.rank(0).micro(0).lossScalar(1).micro(1).lossScalar(2);
    run.rank(1).micro(0).lossScalar(3).micro(1).lossScalar(4);
    EXPECT_EQ(lossGrid(run.side(), 0, { 1 }, { 1 }), (LossGrid { { 4 } }));
}

} // namespace
} // namespace forkpoint::align
