// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/curves/overlay.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace forkpoint::curves {

namespace {

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

bundle::ScalarRecord loss(int step, double value, int micro = 0)
{
    return { step, micro, "loss", value };
}

align::Alignment aligned(const Logs& a, const Logs& b, align::SideWeights weightsA = {}, align::SideWeights weightsB = {})
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

constexpr double kFloor = 1e-6;

} // namespace

TEST(Overlay, CombinesRanksAndMicroSteps)
{
    using align::Reduction;
    const Logs a({ { loss(0, 3), loss(1, 5) } });
    const Logs b(
        { { loss(0, 1, 0), loss(0, 3, 1), loss(1, 4, 0), loss(1, 6, 1) }, { loss(0, 3, 0), loss(0, 5, 1), loss(1, 4, 0), loss(1, 6, 1) } });
    const auto curves = overlay(aligned(a, b, {}, { Reduction::Mean, Reduction::Mean, 0.25 }), kFloor);
    ASSERT_EQ(curves.size(), 1u);
    EXPECT_EQ(curves[0].b[0].value, 3);
    EXPECT_EQ(curves[0].b[1].value, 5);
    EXPECT_EQ(curves[0].weightsB.ranks, Reduction::Mean);
    EXPECT_EQ(curves[0].weightsB.micros, Reduction::Mean);
    EXPECT_FALSE(curves[0].onset);
}

TEST(Overlay, RanksComparedOneByOneCountEqually)
{
    const Logs a({ { loss(0, 1) }, { loss(0, 3) } });
    const auto curves = overlay(aligned(a, a), kFloor);
    EXPECT_EQ(curves[0].a[0].value, 2);
    EXPECT_EQ(curves[0].weightsA.ranks, align::Reduction::Mean);
}

TEST(Overlay, StepsAscendWhateverTheOrderOfTheLog)
{
    const Logs a({ { loss(2, 3), loss(0, 1), { 4, bundle::kNoMicro, "lr", 4 }, { 1, bundle::kNoMicro, "lr", 1 },
        { 1, bundle::kNoMicro, "lr", 9 }, loss(1, 2), loss(1, 2.5) } });
    const auto curves = overlay(aligned(a, a), kFloor);
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
    const Logs a({ { loss(0, 1), loss(2, 1), loss(4, 1), loss(6, 1) } });
    const Logs b({ { loss(0, 1 + 50e-6), loss(1, 7), loss(2, 1), loss(4, 1 + 200e-6), loss(6, 2) } });
    EXPECT_EQ(overlay(aligned(a, b), kFloor)[0].onset, 4); // step 1 is B's alone
    const Logs nan({ { loss(0, 1), loss(2, std::numeric_limits<double>::quiet_NaN()) } });
    EXPECT_EQ(overlay(aligned(a, nan), kFloor)[0].onset, 2);
    EXPECT_FALSE(overlay(aligned(nan, nan), kFloor)[0].onset);
}

TEST(Overlay, LongLogsAreNotQuadratic)
{
    std::vector<bundle::ScalarRecord> log;
    for (int step = 0; step < 300'000; ++step) {
        log.push_back(loss(step, step));
    }
    const Logs a({ log }); // minutes where every step searched the whole log
    const auto curves = overlay(aligned(a, a), kFloor);
    ASSERT_EQ(curves[0].a.size(), 300'000u);
    EXPECT_EQ(curves[0].a.back().value, 299'999);
}

} // namespace forkpoint::curves
