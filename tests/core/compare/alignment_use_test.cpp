// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/compared.h"

#include <gtest/gtest.h>

// Mappings, meshes and ragged batches, seen through to the verdict.
namespace forkpoint::compare {
namespace {

using diagnose::Severity;
using test::Compared;
using test::f32;
using test::gaussian;
using test::i64;
using test::RecordedRun;
using test::scaled;

/// Two texts of other lengths; on two ranks each is padded to its own length. `error`: times the second rank's output.
struct RaggedRuns {
    RecordedRun a { "single" };
    RecordedRun b { "ddp2", 2 };
    explicit RaggedRuns(double factor)
    {
        const auto first = gaussian(4 * 8, 1), second = gaussian(2 * 8, 2), padding = gaussian(2 * 8, 3);
        auto both = first;
        both.insert(both.end(), second.begin(), second.end());
        both.insert(both.end(), padding.begin(), padding.end());
        a.rank().batch(i64({ 2, 4 }, { 5, 6, 7, 8, 9, 10, 0, 0 })).output("fc", f32({ 2, 4, 8 }, both)).loss(3);
        b.rank(0).batch(i64({ 1, 4 }, { 5, 6, 7, 8 })).output("fc", f32({ 1, 4, 8 }, first)).loss(2);
        b.rank(1).batch(i64({ 1, 2 }, { 9, 10 })).output("fc", f32({ 1, 2, 8 }, scaled(second, factor))).loss(4);
    }
};

TEST(RaggedBatches, PaddingAloneIsNoDifference)
{
    RaggedRuns runs(1);
    const Compared compared(runs.a.side(), runs.b.side());
    EXPECT_EQ(compared.severity(), Severity::Identical);
    EXPECT_EQ(compared.fork(), "none");
    const auto* lane = compared.result("s0/forward/output/fc").worstLane();
    ASSERT_TRUE(lane);
    EXPECT_EQ(lane->statistics.count, 6 * 8) << "positions that both sides have";
}

TEST(RaggedBatches, ADifferenceWithinThemIsFound)
{
    RaggedRuns runs(1.01);
    EXPECT_EQ(Compared(runs.a.side(), runs.b.side()).fork(), "s0/forward/output/fc");
}

TEST(MappedPairs, AreMeasuredLikeOthers)
{
    for (const double factor : { 1.0, 1.01 }) {
        RecordedRun a("apart"), b("fused");
        const auto q = gaussian(16, 1), k = gaussian(16, 2);
        auto fused = q;
        const auto other = scaled(k, factor);
        fused.insert(fused.end(), other.begin(), other.end());
        a.rank().start("q.weight", f32({ 4, 4 }, q)).start("k.weight", f32({ 4, 4 }, k));
        b.rank().start("qk.weight", f32({ 8, 4 }, fused));
        compare::Options options;
        options.align.mapping = *align::parseMapping(R"({"format": "forkpoint-map", "version": 1, "joins": [{"candidate": "^qk\\b", "reference": ["q", "k"]}]})", "map.json");
        const Compared compared(a.side(), b.side(), std::move(options));
        EXPECT_EQ(compared.severity("s0/start/param/qk.weight"), factor == 1 ? Severity::Identical : Severity::Divergent);
    }
}

TEST(MeshedRanks, TheOneRankThatDiffersIsSeen)
{
    RecordedRun a("single"), b("dp2tp2", 4);
    const auto whole = gaussian(64, 5);
    a.rank().batch(f32({ 2, 1 }, { 10, 11 })).loss(3).start("fc.weight", f32({ 64 }, whole));
    for (int rank = 0; rank < 4; ++rank) {
        const std::vector<float> half(whole.begin() + 32 * (rank % 2), whole.begin() + 32 * (rank % 2) + 32);
        b.rank(rank).batch(f32({ 1, 1 }, { rank < 2 ? 10.0f : 11.0f })).loss(rank < 2 ? 2.0f : 4.0f).start("fc.weight", f32({ 32 }, rank == 3 ? scaled(half, 1.5) : half));
    }
    const Compared compared(a.side(), b.side());
    EXPECT_EQ(compared.fork(), "s0/start/param/fc.weight");
    EXPECT_EQ(compared.result("s0/start/param/fc.weight").lanes.size(), 2u);
}

} // namespace
} // namespace forkpoint::compare
