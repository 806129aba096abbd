// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/assembled_bytes.h"
#include "tests/support/run_builder.h"

#include <gtest/gtest.h>

// How the parts of a side become the tensor that is compared: by placement, row map and weight (DESIGN section 5).
namespace forkpoint::align {
namespace {

using test::aligned;
using test::bytesOf;
using test::elementsOf;
using test::f32;
using test::i64;
using test::pairOf;
using test::RankScribe;
using test::RecordedRun;

using Elements = std::vector<float>;

Elements ofA(const Alignment& alignment, const std::string& id, std::size_t lane = 0)
{
    return elementsOf(alignment.a, pairOf(alignment, id).lanes.at(lane).a);
}

Elements ofB(const Alignment& alignment, const std::string& id, std::size_t lane = 0)
{
    return elementsOf(alignment.b, pairOf(alignment, id).lanes.at(lane).b);
}

/// A batch of four rows on one side; on the other a sampler dealt rows 0, 2 to rank 0 and rows 1, 3 to rank 1. The loss is a mean.
struct DealtPair {
    RecordedRun a { "single" };
    RecordedRun b { "ddp2", 2 };
    DealtPair()
    {
        a.rank().batch(f32({ 4, 1 }, { 10, 11, 12, 13 })).loss(3);
        b.rank(0).batch(f32({ 2, 1 }, { 10, 12 })).loss(2);
        b.rank(1).batch(f32({ 2, 1 }, { 11, 13 })).loss(4);
    }
};

/// Two ranks of tensor parallelism see the whole batch; their losses are equal.
struct TensorParallelPair {
    RecordedRun a { "single" };
    RecordedRun b { "tp2", 2 };
    TensorParallelPair()
    {
        const auto batch = f32({ 2, 1 }, { 10, 11 });
        a.rank().batch(batch).loss(3);
        b.rank(0).batch(batch).loss(3);
        b.rank(1).batch(batch).loss(3);
    }
};

TEST(Placement, EqualReplicasAreComparedOnce)
{
    DealtPair runs;
    const auto w = f32({ 2 }, { 1, 2 });
    runs.a.rank().start("fc.weight", w);
    runs.b.rank(0).start("fc.weight", w);
    runs.b.rank(1).start("fc.weight", w);
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    const auto& pair = pairOf(alignment, "s0/start/param/fc.weight");
    EXPECT_EQ(pair.status, PairStatus::Matched);
    EXPECT_EQ(pair.lanes.size(), 1u);
    EXPECT_EQ(pair.assembly, "replicate, ranks 0-1 equal");
    EXPECT_TRUE(pair.guess);
}

TEST(Placement, ReplicasThatDifferAreAllCompared)
{
    DealtPair runs;
    runs.a.rank().start("fc.weight", f32({ 2 }, { 1, 2 }));
    runs.b.rank(0).start("fc.weight", f32({ 2 }, { 1, 2 }));
    runs.b.rank(1).start("fc.weight", f32({ 2 }, { 1, 3 }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    const auto& pair = pairOf(alignment, "s0/start/param/fc.weight");
    ASSERT_EQ(pair.lanes.size(), 2u);
    EXPECT_EQ(pair.lanes[0].rank, 0);
    EXPECT_EQ(pair.lanes[1].rank, 1);
    EXPECT_EQ(ofB(alignment, pair.id, 1), (Elements { 1, 3 }));
    EXPECT_EQ(pair.assembly, "replicate, ranks 0-1 differ");
}

TEST(Placement, ADeclaredPlacementIsNoGuess)
{
    DealtPair runs;
    const auto w = f32({ 2 }, { 1, 2 });
    const test::At replicated { .placement = { { "dp", bundle::Placement::Type::Replicate, 0, "" } } };
    runs.a.rank().start("fc.weight", w);
    runs.b.rank(0).start("fc.weight", w, replicated);
    runs.b.rank(1).start("fc.weight", w, replicated);
    EXPECT_FALSE(pairOf(aligned(runs.a.side(), runs.b.side()), "s0/start/param/fc.weight").guess);
}

TEST(Placement, RowsOfAnActivationAreJoinedInTheReferencesOrder)
{
    DealtPair runs;
    runs.a.rank().output("fc", f32({ 4, 2 }, { 0, 1, 10, 11, 20, 21, 30, 31 }));
    runs.b.rank(0).output("fc", f32({ 2, 2 }, { 0, 1, 20, 21 }));
    runs.b.rank(1).output("fc", f32({ 2, 2 }, { 10, 11, 30, 31 }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    const auto& pair = pairOf(alignment, "s0/forward/output/fc");
    EXPECT_EQ(ofB(alignment, pair.id), ofA(alignment, pair.id));
    EXPECT_EQ(pair.assembly, "ranks 0-1 concatenated along dim 0, rows reordered");
    EXPECT_EQ(pair.lanes.front().rank, -1);
    EXPECT_EQ(pair.shapeB, (Shape { 4, 2 }));
}

TEST(Placement, TheBatchItselfIsJoinedLikeAnActivation)
{
    DealtPair runs;
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    EXPECT_EQ(ofB(alignment, "s0/data/batch/batch"), (Elements { 10, 11, 12, 13 }));
}

TEST(Placement, BlocksOfRowsMoveTogether)
{
    DealtPair runs; // [batch x 2 tokens, 1]
    runs.a.rank().output("fc", f32({ 8, 1 }, { 0, 1, 10, 11, 20, 21, 30, 31 }));
    runs.b.rank(0).output("fc", f32({ 4, 1 }, { 0, 1, 20, 21 }));
    runs.b.rank(1).output("fc", f32({ 4, 1 }, { 10, 11, 30, 31 }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/fc"), ofA(alignment, "s0/forward/output/fc"));
}

TEST(Placement, UnevenLocalBatches)
{
    RecordedRun a("single"), b("ddp2", 2);
    a.rank().batch(f32({ 3, 1 }, { 10, 11, 12 })).output("fc", f32({ 3, 1 }, { 0, 1, 2 }));
    b.rank(0).batch(f32({ 2, 1 }, { 10, 12 })).output("fc", f32({ 2, 1 }, { 0, 2 }));
    b.rank(1).batch(f32({ 1, 1 }, { 11 })).output("fc", f32({ 1, 1 }, { 1 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/fc"), (Elements { 0, 1, 2 }));
}

TEST(Placement, TheReferenceMayBeTheOneInParts)
{
    DealtPair runs;
    runs.a.rank().output("fc", f32({ 4, 1 }, { 0, 1, 2, 3 }));
    runs.b.rank(0).output("fc", f32({ 2, 1 }, { 0, 2 }));
    runs.b.rank(1).output("fc", f32({ 2, 1 }, { 1, 3 }));
    const auto alignment = aligned(runs.b.side(), runs.a.side());
    const auto& pair = pairOf(alignment, "s0/forward/output/fc");
    EXPECT_EQ(ofA(alignment, pair.id), (Elements { 0, 2, 1, 3 }));
    EXPECT_EQ(ofB(alignment, pair.id), (Elements { 0, 2, 1, 3 })) << "the candidate follows the reference's order";
    EXPECT_EQ(pair.assembly, "reference: ranks 0-1 concatenated along dim 0; candidate: rows reordered");
}

TEST(Placement, OneRankEachInAnotherOrder)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 3, 1 }, { 1, 2, 3 })).output("fc", f32({ 3, 2 }, { 1, 1, 2, 2, 3, 3 }));
    b.rank().batch(f32({ 3, 1 }, { 3, 1, 2 })).output("fc", f32({ 3, 2 }, { 3, 3, 1, 1, 2, 2 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/data/batch/batch"), (Elements { 1, 2, 3 }));
    EXPECT_EQ(ofB(alignment, "s0/forward/output/fc"), (Elements { 1, 1, 2, 2, 3, 3 }));
}

TEST(Placement, WhatHasNoRowsIsNotReordered)
{
    RecordedRun a("a"), b("b");
    const auto w = f32({ 3 }, { 7, 8, 9 }); // as long as the batch
    a.rank().batch(f32({ 3, 1 }, { 1, 2, 3 })).start("fc.weight", w).grad("fc.weight", w).reduced("fc.weight", w);
    b.rank().batch(f32({ 3, 1 }, { 3, 1, 2 })).start("fc.weight", w).grad("fc.weight", w).reduced("fc.weight", w);
    const auto alignment = aligned(a.side(), b.side());
    for (const char* id : { "s0/start/param/fc.weight", "s0/backward/grad/fc.weight", "s0/reduce/grad/fc.weight" }) {
        EXPECT_TRUE(pairOf(alignment, id).lanes.front().b.order.empty()) << id;
    }
}

// Two launches of equal size that hold their tensors otherwise: no rank has a counterpart.

/// Rows of a batch of four, as each of two ranks has them: its own two, or all.
void recordRows(RecordedRun& run, bool shared)
{
    for (int rank = 0; rank < 2; ++rank) {
        const float first = rank == 0 ? 1.0f : 3.0f;
        run.rank(rank).batch(shared ? f32({ 4, 1 }, { 1, 2, 3, 4 }) : f32({ 2, 1 }, { first, first + 1 })).loss(1);
    }
}

TEST(EqualWorlds, AParameterOfDdpAgainstItsShardsOfFsdp)
{
    RecordedRun a("a", 2), b("b", 2);
    recordRows(a, false);
    recordRows(b, false);
    bundle::Placement shard;
    shard.type = bundle::Placement::Type::Shard;
    for (int rank = 0; rank < 2; ++rank) {
        a.rank(rank).start("fc.weight", f32({ 4, 1 }, { 1, 2, 3, 4 }));
        b.rank(rank).start("fc.weight", f32({ 2, 1 }, rank == 0 ? Elements { 1, 2 } : Elements { 3, 4 }), { .placement = { shard } });
    }
    const auto alignment = aligned(a.side(), b.side());
    ASSERT_EQ(pairOf(alignment, "s0/start/param/fc.weight").status, PairStatus::Matched) << *pairOf(alignment, "s0/start/param/fc.weight").note;
    EXPECT_EQ(ofB(alignment, "s0/start/param/fc.weight"), (Elements { 1, 2, 3, 4 }));
    EXPECT_EQ(ofA(alignment, "s0/start/param/fc.weight"), (Elements { 1, 2, 3, 4 }));
}

TEST(EqualWorlds, AnOutputOfTensorParallelAgainstItsPartsOfSequenceParallel)
{
    RecordedRun a("a", 2), b("b", 2);
    recordRows(a, true);
    recordRows(b, true);
    for (int rank = 0; rank < 2; ++rank) {
        a.rank(rank).output("norm", f32({ 4, 2 }, { 1, 2, 3, 4, 5, 6, 7, 8 }));
        b.rank(rank).output("norm", f32({ 4, 1 }, rank == 0 ? Elements { 1, 3, 5, 7 } : Elements { 2, 4, 6, 8 }));
    }
    const auto alignment = aligned(a.side(), b.side());
    ASSERT_EQ(pairOf(alignment, "s0/forward/output/norm").status, PairStatus::Matched) << *pairOf(alignment, "s0/forward/output/norm").note;
    EXPECT_EQ(ofB(alignment, "s0/forward/output/norm"), (Elements { 1, 2, 3, 4, 5, 6, 7, 8 }));
}

TEST(EqualWorlds, LaidOutAlikeAreComparedRankByRank)
{
    RecordedRun a("a", 2), b("b", 2);
    recordRows(a, false);
    recordRows(b, false);
    for (int rank = 0; rank < 2; ++rank) {
        a.rank(rank).start("fc.weight", f32({ 2, 1 }, { 1, 2 })).output("fc", f32({ 2, 1 }, { 1, 2 }));
        b.rank(rank).start("fc.weight", f32({ 2, 1 }, { 1, 2 })).output("fc", f32({ 2, 1 }, { 1, 2 }));
    }
    EXPECT_TRUE(aligned(a.side(), b.side()).steps.front().rankByRank);
}

TEST(EqualWorlds, ATensorOfAnotherSizeIsNoOtherLayout)
{
    RecordedRun a("a", 2), b("b", 2); // an expert that got one token more, by rounding
    recordRows(a, false);
    recordRows(b, false);
    for (int rank = 0; rank < 2; ++rank) {
        const std::int64_t more = rank == 0 ? 1 : 0;
        a.rank(rank).output("expert", f32({ 5, 1 }, Elements(5, 1.0f)));
        b.rank(rank).output("expert", f32({ 5 + more, 1 }, Elements(static_cast<std::size_t>(5 + more), 1.0f)));
    }
    EXPECT_TRUE(aligned(a.side(), b.side()).steps.front().rankByRank);
}

/// Ranks that hold the same samples and other values of a parameter hold parts of it, also where the parts of both sides have one shape.
TEST(Shards, OfTwoRanksAgainstFourInTwoGroups)
{
    RecordedRun a("a", 2), b("b", 4);
    recordRows(a, true);
    const Elements halves[] = { { 1, 2 }, { 3, 4 } };
    for (int rank = 0; rank < 2; ++rank) {
        a.rank(rank).start("fc.weight", f32({ 2, 1 }, halves[rank])).start("norm.weight", f32({ 2 }, { 5, 6 }));
    }
    for (int rank = 0; rank < 4; ++rank) {
        b.rank(rank).batch(f32({ 2, 1 }, rank < 2 ? Elements { 1, 2 } : Elements { 3, 4 })).loss(1);
        b.rank(rank).start("fc.weight", f32({ 2, 1 }, halves[rank % 2])).start("norm.weight", f32({ 2 }, { 5, 6 }));
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofA(alignment, "s0/start/param/fc.weight"), (Elements { 1, 2, 3, 4 })) << *pairOf(alignment, "s0/start/param/fc.weight").assembly;
    for (const auto& lane : pairOf(alignment, "s0/start/param/fc.weight").lanes) {
        EXPECT_EQ(bytesOf(alignment.a, lane.a), bytesOf(alignment.b, lane.b));
    }
    EXPECT_EQ(ofB(alignment, "s0/start/param/norm.weight"), (Elements { 5, 6 }));
}

// A position embedding's output depends on no sample, and its leading dim may be a multiple of the batch by chance.

TEST(PositionEmbedding, AReplicatedOutputKeepsItsRows)
{
    DealtPair runs;
    const auto table = f32({ 8, 1 }, { 0, 1, 2, 3, 4, 5, 6, 7 });
    runs.a.rank().output("positions", table);
    runs.b.rank(0).output("positions", table);
    runs.b.rank(1).output("positions", table);
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    const auto& pair = pairOf(alignment, "s0/forward/output/positions");
    EXPECT_EQ(ofB(alignment, pair.id), (Elements { 0, 1, 2, 3, 4, 5, 6, 7 }));
    EXPECT_EQ(pair.lanes.size(), 1u);
}

TEST(PositionEmbedding, ASummedGradientKeepsItsRows)
{
    DealtPair runs;
    runs.a.rank().gradOutput("positions", f32({ 4, 1 }, { 1, 2, 3, 4 }));
    runs.b.rank(0).gradOutput("positions", f32({ 4, 1 }, { 2, 0, 6, 0 }));
    runs.b.rank(1).gradOutput("positions", f32({ 4, 1 }, { 0, 4, 0, 8 }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    const auto& pair = pairOf(alignment, "s0/backward/grad_output/positions");
    EXPECT_EQ(ofB(alignment, pair.id), (Elements { 1, 2, 3, 4 }));
    EXPECT_EQ(pair.assembly, "weighted sum of ranks 0-1, each times 0.5, found by comparing elements"); // it may be gathered from all ranks
}

TEST(PositionEmbedding, AGradientOfAsManyPositionsAsEveryPartHasSamplesIsSummed)
{
    RecordedRun a("a", 2), b("b", 2); // both sides in two parts, dealt otherwise
    const Elements deals[2][2] = { { { 1, 2 }, { 3, 4 } }, { { 1, 3 }, { 2, 4 } } };
    const Elements shares[2][2] = { { { 10, 20 }, { 30, 50 } }, { { 5, 60 }, { 35, 10 } } };
    for (int rank = 0; rank < 2; ++rank) {
        a.rank(rank).batch(f32({ 2, 1 }, deals[0][rank])).gradOutput("positions", f32({ 2, 1 }, shares[0][rank])).loss(rank == 0 ? 1.0f : 3.0f);
        b.rank(rank).batch(f32({ 2, 1 }, deals[1][rank])).gradOutput("positions", f32({ 2, 1 }, shares[1][rank])).loss(rank == 0 ? 1.5f : 2.5f);
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofA(alignment, "s0/backward/grad_output/positions"), ofB(alignment, "s0/backward/grad_output/positions"));
}

TEST(PositionEmbedding, NumbersOfPositionsAreNoSamples)
{
    RecordedRun a("a"), b("b", 2); // micro-steps against ranks, dealt otherwise
    const Elements deals[2][2] = { { { 1, 2 }, { 3, 4 } }, { { 1, 3 }, { 2, 4 } } };
    const auto positions = i64({ 2 }, { 0, 1 });
    for (int part = 0; part < 2; ++part) {
        a.rank().micro(part).batch(f32({ 2, 1 }, deals[0][part])).input("positions", positions).output("positions", f32({ 2, 1 }, { 7, 8 })).loss(1);
        b.rank(part).batch(f32({ 2, 1 }, deals[1][part])).input("positions", positions).output("positions", f32({ 2, 1 }, { 7, 8 })).loss(1);
    }
    const auto alignment = aligned(a.side(), b.side());
    for (const char* id : { "s0/forward/input/positions", "s0/forward/output/positions" }) {
        const auto& pair = pairOf(alignment, id);
        ASSERT_FALSE(pair.lanes.empty()) << *pair.note;
        for (const auto& lane : pair.lanes) {
            EXPECT_EQ(bytesOf(alignment.a, lane.a), bytesOf(alignment.b, lane.b)) << id << ": " << *pair.assembly;
        }
    }
}

TEST(PositionEmbedding, TheSameWithTheReferenceInParts)
{
    DealtPair runs;
    const auto table = f32({ 8, 1 }, { 0, 1, 2, 3, 4, 5, 6, 7 });
    runs.a.rank().output("positions", table).gradOutput("positions", f32({ 4, 1 }, { 1, 2, 3, 4 }));
    runs.b.rank(0).output("positions", table).gradOutput("positions", f32({ 4, 1 }, { 2, 0, 6, 0 }));
    runs.b.rank(1).output("positions", table).gradOutput("positions", f32({ 4, 1 }, { 0, 4, 0, 8 }));
    const auto alignment = aligned(runs.b.side(), runs.a.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/positions"), (Elements { 0, 1, 2, 3, 4, 5, 6, 7 }));
    EXPECT_EQ(ofA(alignment, "s0/backward/grad_output/positions"), (Elements { 1, 2, 3, 4 }));
    EXPECT_EQ(ofB(alignment, "s0/backward/grad_output/positions"), (Elements { 1, 2, 3, 4 }));
}

TEST(PositionEmbedding, EqualAsItStandsOnOneRankEach)
{
    RecordedRun a("a"), b("b");
    const auto table = f32({ 4, 1 }, { 0, 1, 2, 3 });
    a.rank().batch(f32({ 2, 1 }, { 10, 11 })).output("positions", table);
    b.rank().batch(f32({ 2, 1 }, { 11, 10 })).output("positions", table);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/positions"), (Elements { 0, 1, 2, 3 }));
}

TEST(PositionEmbedding, AcrossMicroSteps)
{
    RecordedRun a("a"), b("b");
    const auto table = f32({ 2, 1 }, { 0, 1 });
    a.rank().batch(f32({ 2, 1 }, { 10, 11 })).output("positions", table).gradOutput("positions", f32({ 2, 1 }, { 4, 8 })).loss(3);
    b.rank().micro(0).batch(f32({ 1, 1 }, { 11 })).output("positions", table).gradOutput("positions", f32({ 2, 1 }, { 1, 2 })).loss(1);
    b.rank().micro(1).batch(f32({ 1, 1 }, { 10 })).output("positions", table).gradOutput("positions", f32({ 2, 1 }, { 3, 6 })).loss(2);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/positions"), (Elements { 0, 1 }));
    EXPECT_EQ(ofB(alignment, "s0/backward/grad_output/positions"), (Elements { 4, 8 }));
}

TEST(Placement, PiecesOfAWeightAlongAnyDim)
{
    TensorParallelPair runs;
    runs.a.rank().start("rows.weight", f32({ 2, 3 }, { 1, 2, 3, 4, 5, 6 })).start("columns.weight", f32({ 2, 3 }, { 1, 2, 3, 4, 5, 6 }));
    runs.b.rank(0).start("rows.weight", f32({ 1, 3 }, { 1, 2, 3 })).start("columns.weight", f32({ 2, 2 }, { 1, 2, 4, 5 }));
    runs.b.rank(1).start("rows.weight", f32({ 1, 3 }, { 4, 5, 6 })).start("columns.weight", f32({ 2, 1 }, { 3, 6 })); // uneven pieces
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    EXPECT_EQ(ofB(alignment, "s0/start/param/rows.weight"), (Elements { 1, 2, 3, 4, 5, 6 }));
    EXPECT_EQ(pairOf(alignment, "s0/start/param/rows.weight").assembly, "ranks 0-1 concatenated along dim 0");
    EXPECT_EQ(ofB(alignment, "s0/start/param/columns.weight"), (Elements { 1, 2, 3, 4, 5, 6 }));
    EXPECT_EQ(pairOf(alignment, "s0/start/param/columns.weight").assembly, "ranks 0-1 concatenated along dim 1");
}

TEST(Placement, PiecesOfAnActivationAlongItsFeatures)
{
    TensorParallelPair runs;
    runs.a.rank().output("up", f32({ 2, 2 }, { 1, 2, 3, 4 }));
    runs.b.rank(0).output("up", f32({ 2, 1 }, { 1, 3 }));
    runs.b.rank(1).output("up", f32({ 2, 1 }, { 2, 4 }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/up"), (Elements { 1, 2, 3, 4 }));
}

TEST(Placement, RowsAreReorderedInAReplicaAndInPiecesOfFeatures)
{
    RecordedRun a("single"), b("tp2", 2);
    a.rank().batch(f32({ 2, 1 }, { 10, 11 })).output("up", f32({ 2, 2 }, { 1, 2, 3, 4 })).output("down", f32({ 2, 1 }, { 5, 6 }));
    b.rank(0).batch(f32({ 2, 1 }, { 11, 10 })).output("up", f32({ 2, 1 }, { 3, 1 })).output("down", f32({ 2, 1 }, { 6, 5 }));
    b.rank(1).batch(f32({ 2, 1 }, { 11, 10 })).output("up", f32({ 2, 1 }, { 4, 2 })).output("down", f32({ 2, 1 }, { 6, 5 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/up"), (Elements { 1, 2, 3, 4 }));
    EXPECT_EQ(ofB(alignment, "s0/forward/output/down"), (Elements { 5, 6 }));
}

TEST(Placement, PiecesOfTheSequenceAreNoRows)
{
    RecordedRun a("single"), b("sp2", 2); // [sequence, batch, 1], the sequence dealt to the ranks
    a.rank().batch(f32({ 2, 1 }, { 10, 11 })).output("norm", f32({ 4, 2, 1 }, { 0, 1, 10, 11, 20, 21, 30, 31 }));
    b.rank(0).batch(f32({ 2, 1 }, { 11, 10 })).output("norm", f32({ 2, 2, 1 }, { 0, 1, 10, 11 }));
    b.rank(1).batch(f32({ 2, 1 }, { 11, 10 })).output("norm", f32({ 2, 2, 1 }, { 20, 21, 30, 31 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/norm"), ofA(alignment, "s0/forward/output/norm"));
}

TEST(Placement, PartialSumsOfSequenceParallelNorms)
{
    TensorParallelPair runs;
    runs.a.rank().grad("norm.weight", f32({ 2 }, { 10, 20 })).reduced("norm.weight", f32({ 2 }, { 10, 20 }));
    runs.b.rank(0).grad("norm.weight", f32({ 2 }, { 4, 15 })).reduced("norm.weight", f32({ 2 }, { 4, 15 })); // and nobody added them up
    runs.b.rank(1).grad("norm.weight", f32({ 2 }, { 6, 5 })).reduced("norm.weight", f32({ 2 }, { 6, 5 }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    EXPECT_EQ(ofB(alignment, "s0/backward/grad/norm.weight"), (Elements { 10, 20 }));
    const auto& reduced = pairOf(alignment, "s0/reduce/grad/norm.weight");
    ASSERT_EQ(reduced.lanes.size(), 2u) << "what the optimizer sees must be the whole";
    EXPECT_EQ(ofB(alignment, reduced.id, 0), (Elements { 4, 15 }));
    EXPECT_EQ(ofB(alignment, reduced.id, 1), (Elements { 6, 5 }));
}

TEST(Placement, EqualGradientsOfReplicatedRanksAreNotAddedUp)
{
    TensorParallelPair runs;
    const auto g = f32({ 2 }, { 10, 20 });
    runs.a.rank().grad("norm.weight", g);
    runs.b.rank(0).grad("norm.weight", g);
    runs.b.rank(1).grad("norm.weight", g);
    EXPECT_EQ(ofB(aligned(runs.a.side(), runs.b.side()), "s0/backward/grad/norm.weight"), (Elements { 10, 20 }));
}

TEST(Placement, ReplicatedRanksWhoseLossesDifferInTheLastBit)
{
    const auto batch = f32({ 2, 1 }, { 10, 11 });
    RecordedRun a("single"), b("tp2", 2);
    a.rank()
        .batch(batch)
        .loss(3)
        .gradOutput("up", f32({ 2, 2 }, { 1, 2, 3, 4 }))
        .grad("norm.weight", f32({ 2 }, { 10, 20 }))
        .grad("fc.weight", f32({ 1 }, { 9 }));
    b.rank(0)
        .batch(batch)
        .loss(3)
        .gradOutput("up", f32({ 2, 1 }, { 1, 3 }))
        .grad("norm.weight", f32({ 2 }, { 4, 15 }))
        .grad("fc.weight", f32({ 1 }, { 9 }));
    b.rank(1)
        .batch(batch)
        .loss(3.0000002f)
        .gradOutput("up", f32({ 2, 1 }, { 2, 4 }))
        .grad("norm.weight", f32({ 2 }, { 6, 5 }))
        .grad("fc.weight", f32({ 1 }, { 9 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/backward/grad/fc.weight"), (Elements { 9 }));
    EXPECT_EQ(ofB(alignment, "s0/backward/grad/norm.weight"), (Elements { 10, 20 }))
        << "each rank's loss is the whole loss: partial sums weigh 1";
    EXPECT_EQ(ofB(alignment, "s0/backward/grad_output/up"), (Elements { 1, 2, 3, 4 }));
}

TEST(Weights, OutputGradientsAreScaled)
{
    DealtPair runs;
    runs.a.rank().gradOutput("fc", f32({ 4, 1 }, { 1, 2, 3, 4 }));
    runs.b.rank(0).gradOutput("fc", f32({ 2, 1 }, { 2, 6 }));
    runs.b.rank(1).gradOutput("fc", f32({ 2, 1 }, { 4, 8 }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    const auto& pair = pairOf(alignment, "s0/backward/grad_output/fc");
    EXPECT_EQ(ofB(alignment, pair.id), (Elements { 1, 2, 3, 4 }));
    EXPECT_EQ(pair.assembly, "ranks 0-1 concatenated along dim 0, each times 0.5, rows reordered");
}

TEST(Weights, LocalGradientsAreAWeightedSumAndReducedOnesAreNotScaled)
{
    DealtPair runs;
    runs.a.rank().grad("fc.weight", f32({ 2 }, { 3, 4 })).reduced("fc.weight", f32({ 2 }, { 3, 4 }));
    runs.b.rank(0).grad("fc.weight", f32({ 2 }, { 2, 2 })).reduced("fc.weight", f32({ 2 }, { 3, 4 }));
    runs.b.rank(1).grad("fc.weight", f32({ 2 }, { 4, 6 })).reduced("fc.weight", f32({ 2 }, { 3, 4 }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    EXPECT_EQ(ofB(alignment, "s0/backward/grad/fc.weight"), (Elements { 3, 4 }));
    EXPECT_EQ(pairOf(alignment, "s0/backward/grad/fc.weight").assembly, "weighted sum of ranks 0-1, each times 0.5");
    EXPECT_EQ(pairOf(alignment, "s0/reduce/grad/fc.weight").lanes.front().b.weight, 1);
}

TEST(Weights, ASummedLossNeedsNoScaling)
{
    RecordedRun a("single"), b("ddp2", 2);
    a.rank().batch(f32({ 2, 1 }, { 10, 11 })).loss(6).grad("fc.weight", f32({ 1 }, { 6 }));
    b.rank(0).batch(f32({ 1, 1 }, { 10 })).loss(2).grad("fc.weight", f32({ 1 }, { 2 }));
    b.rank(1).batch(f32({ 1, 1 }, { 11 })).loss(4).grad("fc.weight", f32({ 1 }, { 4 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/backward/grad/fc.weight"), (Elements { 6 }));
    EXPECT_EQ(ofB(alignment, "s0/forward/output/loss"), (Elements { 6 }));
}

TEST(Weights, TheLossIsWeightedLikeItsGradients)
{
    DealtPair runs;
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/loss"), (Elements { 3 }));
}

TEST(Weights, EqualLossesOfRowsOfTheirOwnAreNoReplicas)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(f32({ 4, 1 }, { 10, 10, 11, 11 })).loss(3).gradOutput("fc", f32({ 4, 1 }, { 1, 1, 2, 2 })).grad("fc.weight", f32({ 1 }, { 5 }));
    for (int rank = 0; rank < 2; ++rank) { // each sample is there twice
        b.rank(rank).batch(f32({ 2, 1 }, { 10, 11 })).loss(3).gradOutput("fc", f32({ 2, 1 }, { 2, 4 })).grad("fc.weight", f32({ 1 }, { 5 }));
    }
    const auto alignment = aligned(a.side(), b.side());
    for (const char* id : { "s0/backward/grad_output/fc", "s0/backward/grad/fc.weight", "s0/forward/output/loss" }) {
        EXPECT_EQ(ofA(alignment, id), ofB(alignment, id)) << id;
    }
}

TEST(Weights, BothSidesInParts)
{
    RecordedRun a("ddp2", 2), b("ddp4", 4);
    for (int r = 0; r < 2; ++r) {
        const auto x = static_cast<float>(r);
        a.rank(r).batch(f32({ 2, 1 }, { x, x + 2 })).loss(x + 1).grad("fc.weight", f32({ 1 }, { x + 1 }));
    }
    for (int r = 0; r < 4; ++r) {
        const auto x = static_cast<float>(r);
        b.rank(r).batch(f32({ 1, 1 }, { x })).loss(x).grad("fc.weight", f32({ 1 }, { x }));
    }
    const auto alignment = aligned(a.side(), b.side()); // (1 + 2) / 2 and (0 + 1 + 2 + 3) / 4
    EXPECT_EQ(ofA(alignment, "s0/backward/grad/fc.weight"), (Elements { 1.5f }));
    EXPECT_EQ(ofB(alignment, "s0/backward/grad/fc.weight"), (Elements { 1.5f }));
}

// A single number per part: a criterion's output, a regulariser, a temperature. Whether the parts add up or average is seen from the
// values.

TEST(OneNumber, EqualOnAllRanksIsAReplica)
{
    DealtPair runs;
    runs.a.rank().output("temperature", f32({}, { 0.5f }));
    runs.b.rank(0).output("temperature", f32({}, { 0.5f }));
    runs.b.rank(1).output("temperature", f32({}, { 0.5f }));
    EXPECT_EQ(ofB(aligned(runs.a.side(), runs.b.side()), "s0/forward/output/temperature"), (Elements { 0.5f }));
}

TEST(OneNumber, AMeanOverTheRanks)
{
    DealtPair runs;
    runs.a.rank().output("criterion", f32({}, { 30 })).gradOutput("criterion", f32({}, { 0.1f }));
    runs.b.rank(0).output("criterion", f32({}, { 20 })).gradOutput("criterion", f32({}, { 0.1f }));
    runs.b.rank(1).output("criterion", f32({}, { 40 })).gradOutput("criterion", f32({}, { 0.1f }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/criterion"), (Elements { 30 }));
    EXPECT_EQ(ofB(alignment, "s0/backward/grad_output/criterion"), (Elements { 0.1f }));
}

TEST(OneNumber, ASumOverTheRanksWhileTheLossIsAMean)
{
    DealtPair runs;
    runs.a.rank().output("count", f32({}, { 60 }));
    runs.b.rank(0).output("count", f32({}, { 20 }));
    runs.b.rank(1).output("count", f32({}, { 40 }));
    EXPECT_EQ(ofB(aligned(runs.a.side(), runs.b.side()), "s0/forward/output/count"), (Elements { 60 }));
}

TEST(OneNumber, ASummedLossAsAModulesOutput)
{
    RecordedRun a("single"), b("ddp2", 2);
    a.rank().batch(f32({ 2, 1 }, { 10, 11 })).output("criterion", f32({}, { 60 })).loss(6).gradOutput("criterion", f32({}, { 0.1f }));
    b.rank(0).batch(f32({ 1, 1 }, { 10 })).output("criterion", f32({}, { 20 })).loss(2).gradOutput("criterion", f32({}, { 0.1f }));
    b.rank(1).batch(f32({ 1, 1 }, { 11 })).output("criterion", f32({}, { 40 })).loss(4).gradOutput("criterion", f32({}, { 0.1f }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/criterion"), (Elements { 60 }));
    EXPECT_EQ(ofB(alignment, "s0/backward/grad_output/criterion"), (Elements { 0.1f })) << "the gradient of a sum is that of each part";
}

TEST(OneNumber, ACriterionDividedByTheAccumulationAfterwards)
{
    // criterion(model(x), y) / 2 in each of two micro-steps: the losses add up, the criterion's outputs average.
    RecordedRun a("whole"), b("accumulated");
    a.rank().batch(f32({ 2, 1 }, { 10, 11 })).output("criterion", f32({}, { 3 })).loss(3).gradOutput("criterion", f32({}, { 1 }));
    b.rank().micro(0).batch(f32({ 1, 1 }, { 10 })).output("criterion", f32({}, { 2 })).loss(1).gradOutput("criterion", f32({}, { 0.5f }));
    b.rank().micro(1).batch(f32({ 1, 1 }, { 11 })).output("criterion", f32({}, { 4 })).loss(2).gradOutput("criterion", f32({}, { 0.5f }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/forward/output/loss"), (Elements { 3 }));
    EXPECT_EQ(ofB(alignment, "s0/forward/output/criterion"), (Elements { 3 }));
    EXPECT_EQ(ofB(alignment, "s0/backward/grad_output/criterion"), (Elements { 1 }));
}

TEST(OneNumber, OfReplicatedRanksIsComparedOnEach)
{
    const auto batch = f32({ 2, 1 }, { 10, 11 });
    RecordedRun a("single"), b("tp2", 2);
    a.rank().batch(batch).output("criterion", f32({}, { 3 })).gradOutput("criterion", f32({}, { 1 }));
    b.rank(0).batch(batch).output("criterion", f32({}, { 3 })).gradOutput("criterion", f32({}, { 1 }));
    b.rank(1).batch(batch).output("criterion", f32({}, { 3.0000002f })).gradOutput("criterion", f32({}, { 1 }));
    const auto alignment = aligned(a.side(), b.side());
    ASSERT_EQ(pairOf(alignment, "s0/forward/output/criterion").lanes.size(), 2u);
    EXPECT_EQ(ofB(alignment, "s0/forward/output/criterion", 1), (Elements { 3.0000002f }));
}

TEST(OneNumber, WhereNoReductionAgreesTheLossesWeightsHold)
{
    DealtPair runs;
    runs.a.rank().output("criterion", f32({}, { 1000 }));
    runs.b.rank(0).output("criterion", f32({}, { 20 }));
    runs.b.rank(1).output("criterion", f32({}, { 40 }));
    EXPECT_EQ(ofB(aligned(runs.a.side(), runs.b.side()), "s0/forward/output/criterion"), (Elements { 30 }));
}

TEST(OneNumber, OnePerSampleIsARowAndNotASum)
{
    RecordedRun a("single"), b("ddp2", 2);
    a.rank().batch(f32({ 2, 1 }, { 10, 11 })).output("head", f32({ 2, 1 }, { 1, 2 }));
    b.rank(0).batch(f32({ 1, 1 }, { 11 })).output("head", f32({ 1, 1 }, { 2 }));
    b.rank(1).batch(f32({ 1, 1 }, { 10 })).output("head", f32({ 1, 1 }, { 1 }));
    EXPECT_EQ(ofB(aligned(a.side(), b.side()), "s0/forward/output/head"), (Elements { 1, 2 }));
}

TEST(MicroSteps, AreJoinedAgainstOneBatch)
{
    RecordedRun a("whole"), b("accumulated");
    a.rank()
        .batch(f32({ 4, 1 }, { 10, 11, 12, 13 }))
        .output("fc", f32({ 4, 1 }, { 0, 1, 2, 3 }))
        .loss(4)
        .gradOutput("fc", f32({ 4, 1 }, { 1, 2, 3, 4 }));
    a.rank().grad("fc.weight", f32({ 1 }, { 30 })).reduced("fc.weight", f32({ 1 }, { 30 }));
    b.rank()
        .micro(0)
        .batch(f32({ 2, 1 }, { 10, 12 }))
        .output("fc", f32({ 2, 1 }, { 0, 2 }))
        .loss(1.5f)
        .gradOutput("fc", f32({ 2, 1 }, { 1, 3 }));
    b.rank().grad("fc.weight", f32({ 1 }, { 10 }));
    b.rank()
        .micro(1)
        .batch(f32({ 2, 1 }, { 11, 13 }))
        .output("fc", f32({ 2, 1 }, { 1, 3 }))
        .loss(2.5f)
        .gradOutput("fc", f32({ 2, 1 }, { 2, 4 }));
    b.rank().grad("fc.weight", f32({ 1 }, { 20 })).reduced("fc.weight", f32({ 1 }, { 30 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(alignment.steps.front().text, "micro-steps joined; rows matched by content, in another order");
    EXPECT_EQ(ofB(alignment, "s0/forward/output/fc"), (Elements { 0, 1, 2, 3 }));
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/fc").assembly, "2 micro-steps concatenated along dim 0, rows reordered");
    EXPECT_EQ(ofB(alignment, "s0/backward/grad_output/fc"), (Elements { 1, 2, 3, 4 })) << "each loss was already divided: weight 1";
    EXPECT_EQ(ofB(alignment, "s0/backward/grad/fc.weight"), (Elements { 30 }));
    EXPECT_EQ(ofB(alignment, "s0/reduce/grad/fc.weight"), (Elements { 30 }));
    EXPECT_EQ(ofB(alignment, "s0/forward/output/loss"), (Elements { 4 }));
}

TEST(MicroSteps, OfRanksAreJoinedToo)
{
    RecordedRun a("whole"), b("ddp2", 2);
    a.rank()
        .batch(f32({ 4, 1 }, { 10, 11, 12, 13 }))
        .output("fc", f32({ 4, 1 }, { 0, 1, 2, 3 }))
        .loss(8)
        .grad("fc.weight", f32({ 1 }, { 5 }));
    b.rank(0).micro(0).batch(f32({ 1, 1 }, { 10 })).output("fc", f32({ 1, 1 }, { 0 })).loss(1).grad("fc.weight", f32({ 1 }, { 1 }));
    b.rank(0).micro(1).batch(f32({ 1, 1 }, { 12 })).output("fc", f32({ 1, 1 }, { 2 })).loss(3).grad("fc.weight", f32({ 1 }, { 2 }));
    b.rank(1).micro(0).batch(f32({ 1, 1 }, { 11 })).output("fc", f32({ 1, 1 }, { 1 })).loss(5).grad("fc.weight", f32({ 1 }, { 3 }));
    b.rank(1).micro(1).batch(f32({ 1, 1 }, { 13 })).output("fc", f32({ 1, 1 }, { 3 })).loss(7).grad("fc.weight", f32({ 1 }, { 4 }));
    const auto alignment = aligned(a.side(), b.side()); // ranks by mean, micro-steps by sum: (1 + 3 + 5 + 7) / 2
    EXPECT_EQ(ofB(alignment, "s0/forward/output/fc"), (Elements { 0, 1, 2, 3 }));
    EXPECT_EQ(ofB(alignment, "s0/forward/output/loss"), (Elements { 8 }));
    EXPECT_EQ(ofB(alignment, "s0/backward/grad/fc.weight"), (Elements { 5 }));
    EXPECT_EQ(pairOf(alignment, "s0/backward/grad/fc.weight").assembly,
        "weighted sum of ranks 0-1, weighted sum of 2 micro-steps, each times 0.5");
}

TEST(MicroSteps, OfEqualNumberAreComparedOneByOne)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank()
            .micro(0)
            .batch(f32({ 1, 1 }, { 10 }))
            .output("fc", f32({ 1, 1 }, { 1 }))
            .micro(1)
            .batch(f32({ 1, 1 }, { 11 }))
            .output("fc", f32({ 1, 1 }, { 2 }));
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_TRUE(alignment.steps.front().microByMicro);
    EXPECT_EQ(ofB(alignment, "s0/forward/output/fc"), (Elements { 1 }));
    EXPECT_EQ(ofB(alignment, "s0.m1/forward/output/fc"), (Elements { 2 }));
}

TEST(MicroSteps, WithTheSameRowsDealtOtherwiseAreJoined)
{
    RecordedRun a("a"), b("b");
    a.rank()
        .micro(0)
        .batch(f32({ 1, 1 }, { 10 }))
        .output("fc", f32({ 1, 1 }, { 1 }))
        .micro(1)
        .batch(f32({ 1, 1 }, { 11 }))
        .output("fc", f32({ 1, 1 }, { 2 }));
    b.rank()
        .micro(0)
        .batch(f32({ 1, 1 }, { 11 }))
        .output("fc", f32({ 1, 1 }, { 2 }))
        .micro(1)
        .batch(f32({ 1, 1 }, { 10 }))
        .output("fc", f32({ 1, 1 }, { 1 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_FALSE(alignment.steps.front().microByMicro);
    EXPECT_EQ(ofA(alignment, "s0/forward/output/fc"), (Elements { 1, 2 }));
    EXPECT_EQ(ofB(alignment, "s0/forward/output/fc"), (Elements { 1, 2 }));
}

// A script that deals the positions of every sample to the ranks, as context parallelism does: the losses of the ranks are of their positions.

TEST(SplitPositions, OfABatchThatEveryRankHolds)
{
    const auto whole = f32({ 1, 4 }, { 1, 2, 3, 4 });
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(whole).output("fc", whole).loss(3).gradOutput("fc", f32({ 1, 4 }, { 1, 1, 1, 1 })).grad("fc.weight", f32({ 1 }, { 5 }));
    b.rank(0).batch(whole).output("fc", f32({ 1, 2 }, { 1, 2 })).loss(2).gradOutput("fc", f32({ 1, 2 }, { 2, 2 })).grad("fc.weight", f32({ 1 }, { 4 }));
    b.rank(1).batch(whole).output("fc", f32({ 1, 2 }, { 3, 4 })).loss(4).gradOutput("fc", f32({ 1, 2 }, { 2, 2 })).grad("fc.weight", f32({ 1 }, { 6 }));
    const auto alignment = aligned(a.side(), b.side());
    for (const char* id : { "s0/forward/output/fc", "s0/backward/grad_output/fc", "s0/backward/grad/fc.weight", "s0/forward/output/loss" }) {
        EXPECT_EQ(ofA(alignment, id), ofB(alignment, id)) << id;
    }
}

TEST(SplitPositions, ACriterionOfTheirOwnPositions)
{
    const auto whole = f32({ 1, 4 }, { 1, 2, 3, 4 });
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(whole).output("criterion", f32({}, { 3 })).loss(3);
    b.rank(0).batch(whole).output("criterion", f32({}, { 2 })).loss(2);
    b.rank(1).batch(whole).output("criterion", f32({}, { 4 })).loss(4);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofA(alignment, "s0/forward/output/criterion"), ofB(alignment, "s0/forward/output/criterion"));
}

TEST(SplitPositions, OfSamplesWithTheSameIds)
{
    const test::At ids { .sampleIds = { 7 } };
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(f32({ 1, 4 }, { 1, 2, 3, 4 }), ids).output("fc", f32({ 1, 4 }, { 5, 6, 7, 8 })).loss(3).grad("fc.weight", f32({ 1 }, { 5 }));
    b.rank(0).batch(f32({ 1, 2 }, { 1, 2 }), ids).output("fc", f32({ 1, 2 }, { 5, 6 })).loss(2).grad("fc.weight", f32({ 1 }, { 4 }));
    b.rank(1).batch(f32({ 1, 2 }, { 3, 4 }), ids).output("fc", f32({ 1, 2 }, { 7, 8 })).loss(4).grad("fc.weight", f32({ 1 }, { 6 }));
    const auto alignment = aligned(a.side(), b.side());
    for (const char* id : { "s0/data/batch/batch", "s0/forward/output/fc", "s0/backward/grad/fc.weight", "s0/forward/output/loss" }) {
        EXPECT_EQ(ofA(alignment, id), ofB(alignment, id)) << id;
    }
}

TEST(SplitPositions, WithinGroupsThatShareTheirRows)
{
    for (const bool oneAxis : { false, true }) { // as DDP has it: all ranks
        RecordedRun a("a"), b("b", 4); // two replicas of two halves each
        a.rank().batch(f32({ 2, 2 }, { 1, 2, 3, 4 })).output("fc", f32({ 2, 2 }, { 1, 2, 3, 4 })).loss(4).grad("fc.weight", f32({ 1 }, { 5 }));
        for (int rank = 0; rank < 4; ++rank) {
            const float first = rank < 2 ? 1 : 3, number = static_cast<float>(rank);
            auto& scribe = b.rank(rank);
            scribe.batch(f32({ 1, 2 }, { first, first + 1 })).output("fc", f32({ 1, 1 }, { first + static_cast<float>(rank % 2) }));
            scribe.loss(1 + 2 * number).grad("fc.weight", f32({ 1 }, { 2 + 2 * number }));
            if (oneAxis) {
                scribe.info({ { "coordinates", { { "dp", rank } } } });
            }
        }
        const auto alignment = aligned(a.side(), b.side());
        for (const char* id : { "s0/forward/output/fc", "s0/backward/grad/fc.weight", "s0/forward/output/loss" }) {
            ASSERT_EQ(pairOf(alignment, id).status, PairStatus::Matched) << id << *pairOf(alignment, id).note;
            EXPECT_EQ(ofA(alignment, id), ofB(alignment, id)) << id;
        }
    }
}

TEST(EqualWorlds, RankIsComparedWithRank)
{
    RecordedRun a("a", 2), b("b", 2);
    for (auto* run : { &a, &b }) {
        run->rank(0).batch(f32({ 1, 1 }, { 10 })).output("fc", f32({ 1, 1 }, { 1 })).loss(1).grad("fc.weight", f32({ 1 }, { 5 }));
        run->rank(1)
            .batch(f32({ 1, 1 }, { 11 }))
            .output("fc", f32({ 1, 1 }, { run == &a ? 2.0f : 3.0f }))
            .loss(3)
            .grad("fc.weight", f32({ 1 }, { 7 }));
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(alignment.steps.front().text, "rank by rank; rows matched by content, in the same order");
    const auto& pair = pairOf(alignment, "s0/forward/output/fc");
    ASSERT_EQ(pair.lanes.size(), 2u);
    EXPECT_EQ(pair.assembly, "rank by rank");
    EXPECT_EQ(pair.lanes[1].rank, 1);
    EXPECT_EQ(ofA(alignment, pair.id, 1), (Elements { 2 }));
    EXPECT_EQ(ofB(alignment, pair.id, 1), (Elements { 3 }));
    EXPECT_EQ(ofB(alignment, "s0/backward/grad/fc.weight", 1), (Elements { 7 })) << "one rank against one: nothing is scaled";
    EXPECT_FALSE(pair.guess);
}

TEST(EqualWorlds, WithTheRowsDealtOtherwiseAreJoined)
{
    RecordedRun a("a", 2), b("b", 2);
    a.rank(0).batch(f32({ 2, 1 }, { 10, 11 })).output("fc", f32({ 2, 1 }, { 0, 1 })).loss(2).grad("fc.weight", f32({ 1 }, { 2 }));
    a.rank(1).batch(f32({ 2, 1 }, { 12, 13 })).output("fc", f32({ 2, 1 }, { 2, 3 })).loss(4).grad("fc.weight", f32({ 1 }, { 4 }));
    b.rank(0).batch(f32({ 2, 1 }, { 10, 12 })).output("fc", f32({ 2, 1 }, { 0, 2 })).loss(1).grad("fc.weight", f32({ 1 }, { 1 }));
    b.rank(1).batch(f32({ 2, 1 }, { 11, 13 })).output("fc", f32({ 2, 1 }, { 1, 3 })).loss(5).grad("fc.weight", f32({ 1 }, { 5 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(alignment.steps.front().text, "all ranks joined; rows matched by content, in another order");
    EXPECT_EQ(ofA(alignment, "s0/forward/output/fc"), ofB(alignment, "s0/forward/output/fc"));
    EXPECT_EQ(ofA(alignment, "s0/backward/grad/fc.weight"), ofB(alignment, "s0/backward/grad/fc.weight"));
}

TEST(EqualWorlds, WithOtherRowsStayRankByRank)
{
    RecordedRun a("a", 2), b("b", 2);
    for (auto* run : { &a, &b }) {
        const float other = run == &a ? 0.0f : 100.0f;
        run->rank(0).batch(f32({ 1, 1 }, { 10 + other }));
        run->rank(1).batch(f32({ 1, 1 }, { 11 + other }));
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_TRUE(alignment.steps.front().rankByRank);
    EXPECT_EQ(alignment.steps.front().text, "rank by rank; the two sides do not hold the same rows");
}

TEST(EqualWorlds, ARankThatDiedBeforeAStepIsLeftOutFromThere)
{
    RecordedRun a("a", 2), b("b", 2);
    for (auto* run : { &a, &b }) {
        run->rank(0).step(0).batch(f32({ 1, 1 }, { 10 })).step(1).batch(f32({ 1, 1 }, { 20 }));
        run->rank(1).step(0).batch(f32({ 1, 1 }, { 11 })).info({ { "status", "recording" } });
    }
    a.rank(1).step(1).batch(f32({ 1, 1 }, { 21 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(pairOf(alignment, "s0/data/batch/batch").lanes.size(), 2u);
    EXPECT_EQ(pairOf(alignment, "s1/data/batch/batch").lanes.size(), 1u);
    EXPECT_EQ(alignment.steps[1].text, "rank by rank, as far as both sides have them; rows matched by content, in the same order");
    EXPECT_EQ(pairOf(alignment, "s1/data/batch/batch").status, PairStatus::Matched);
}

TEST(OneRankOfARun, AgainstARankOfTheSameRun)
{
    RecordedRun run("ddp2", 2);
    run.rank(0).batch(f32({ 1, 1 }, { 10 })).start("fc.weight", f32({ 1 }, { 1 }));
    run.rank(1).batch(f32({ 1, 1 }, { 11 })).start("fc.weight", f32({ 1 }, { 2 }));
    const auto alignment = aligned(run.side(0), run.side(1));
    EXPECT_EQ(alignment.a.label, "ddp2@0");
    EXPECT_EQ(alignment.b.label, "ddp2@1");
    const auto& pair = pairOf(alignment, "s0/start/param/fc.weight");
    ASSERT_EQ(pair.lanes.size(), 1u);
    EXPECT_EQ(pair.lanes[0].rank, 1);
    EXPECT_EQ(ofA(alignment, pair.id), (Elements { 1 }));
    EXPECT_EQ(ofB(alignment, pair.id), (Elements { 2 }));
}

TEST(Shapes, ThatCannotBeRelatedSayWhatTheyAre)
{
    DealtPair runs;
    runs.a.rank().start("fc.weight", f32({ 3 }, { 1, 2, 3 }));
    runs.b.rank(0).start("fc.weight", f32({ 2 }, { 1, 2 }));
    runs.b.rank(1).start("fc.weight", f32({ 2 }, { 1, 2 }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    const auto& pair = pairOf(alignment, "s0/start/param/fc.weight");
    EXPECT_EQ(pair.status, PairStatus::Unrelated);
    EXPECT_EQ(pair.note, "shapes cannot be related: [3] against [2] + [2]");
    EXPECT_TRUE(pair.lanes.empty());
    EXPECT_EQ(pair.rule, Rule::Exact) << "the names still matched";
}

TEST(Shapes, OfOtherRankCannotBeRelated)
{
    RecordedRun a("a"), b("b");
    a.rank().start("fc.weight", f32({ 2, 2 }, { 1, 2, 3, 4 }));
    b.rank().start("fc.weight", f32({ 4 }, { 1, 2, 3, 4 }));
    EXPECT_EQ(pairOf(aligned(a.side(), b.side()), "s0/start/param/fc.weight").status, PairStatus::Unrelated);
}

TEST(Shapes, AnotherDTypeIsStillCompared)
{
    RecordedRun a("a"), b("b");
    a.rank().start("fc.weight", f32({ 2 }, { 1, 2 }));
    b.rank().start("fc.weight", test::bf16({ 2 }, { 1, 2 }));
    const auto alignment = aligned(a.side(), b.side());
    const auto& pair = pairOf(alignment, "s0/start/param/fc.weight");
    EXPECT_EQ(pair.status, PairStatus::Matched);
    EXPECT_EQ(pair.dtypeA, DType::Float32);
    EXPECT_EQ(pair.dtypeB, DType::BFloat16);
}

TEST(Integers, OfASplitBatchAreNeverAddedUp)
{
    DealtPair runs;
    runs.a.rank().output("counter", i64({}, { 5 }));
    runs.b.rank(0).output("counter", i64({}, { 5 }));
    runs.b.rank(1).output("counter", i64({}, { 6 }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    const auto& pair = pairOf(alignment, "s0/forward/output/counter");
    EXPECT_EQ(pair.lanes.size(), 2u);
    EXPECT_EQ(pair.lanes[0].b.ranks, Join::Replicate);
}

TEST(PipelineStages, ATensorMayLieOnOneRankOnly)
{
    RecordedRun a("single"), b("pp2", 2);
    const auto w = f32({ 2 }, { 1, 2 });
    a.rank().start("stage0.weight", w).start("stage1.weight", w);
    b.rank(0).start("stage0.weight", w);
    b.rank(1).start("stage1.weight", w);
    const auto alignment = aligned(a.side(), b.side());
    for (const char* id : { "s0/start/param/stage0.weight", "s0/start/param/stage1.weight" }) {
        EXPECT_EQ(pairOf(alignment, id).status, PairStatus::Matched) << id;
        EXPECT_EQ(pairOf(alignment, id).note, "") << id;
    }
}

TEST(IncompleteRecording, ASumOfSomePartsIsNotCompared)
{
    DealtPair runs;
    runs.a.rank().grad("fc.weight", f32({ 1 }, { 3 })).start("fc.weight", f32({ 1 }, { 1 }));
    runs.b.rank(0).grad("fc.weight", f32({ 1 }, { 2 })).start("fc.weight", f32({ 1 }, { 1 }));
    runs.b.rank(1).info({ { "status", "recording" } }); // died before its gradient
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    const auto& gradient = pairOf(alignment, "s0/backward/grad/fc.weight");
    EXPECT_EQ(gradient.status, PairStatus::NotObserved);
    EXPECT_EQ(gradient.note, "the recording of rank 1 of the candidate ended before it");
    EXPECT_EQ(pairOf(alignment, "s0/start/param/fc.weight").status, PairStatus::Matched) << "a replica is whole without the other";
}

TEST(IncompleteRecording, RowsOfSomeRanksAreNotCompared)
{
    DealtPair runs;
    runs.a.rank().output("fc", f32({ 4, 1 }, { 0, 1, 2, 3 }));
    runs.b.rank(0).output("fc", f32({ 2, 1 }, { 0, 2 }));
    runs.b.rank(1).info({ { "status", "failed" } });
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/fc").status, PairStatus::NotObserved);
}

TEST(UnusedParameters, WithoutAGradientInAMicroStepAddNothing)
{
    RecordedRun a("whole"), b("accumulated");
    a.rank().batch(f32({ 2, 1 }, { 10, 11 })).loss(3).grad("expert.weight", f32({ 1 }, { 3 }));
    b.rank().micro(0).batch(f32({ 1, 1 }, { 10 })).loss(1).grad("expert.weight", f32({ 1 }, { 3 }));
    b.rank().micro(1).batch(f32({ 1, 1 }, { 11 })).loss(2);
    const auto alignment = aligned(a.side(), b.side());
    const auto& pair = pairOf(alignment, "s0/backward/grad/expert.weight");
    EXPECT_EQ(pair.status, PairStatus::Matched);
    EXPECT_EQ(pair.note, "not recorded on every rank or micro-step");
    EXPECT_EQ(ofB(alignment, pair.id), (Elements { 3 }));
}

TEST(UnusedParameters, WithoutAGradientOnARankAddNothing)
{
    DealtPair runs;
    runs.a.rank().grad("expert.weight", f32({ 1 }, { 3 }));
    runs.b.rank(1).grad("expert.weight", f32({ 1 }, { 6 }));
    EXPECT_EQ(ofB(aligned(runs.a.side(), runs.b.side()), "s0/backward/grad/expert.weight"), (Elements { 3 }));
}

TEST(UnusedParameters, OnOneRankInOneMicroStepOnly)
{
    // The grid of parts has holes: rank 0 has no gradient in micro-step 0, and rank 1 none in micro-step 1.
    RecordedRun a("whole"), b("ddp2", 2);
    a.rank().batch(f32({ 4, 1 }, { 10, 11, 12, 13 })).loss(8).grad("expert.weight", f32({ 1 }, { 5 }));
    b.rank(0)
        .micro(0)
        .batch(f32({ 1, 1 }, { 10 }))
        .loss(1)
        .micro(1)
        .batch(f32({ 1, 1 }, { 12 }))
        .loss(3)
        .grad("expert.weight", f32({ 1 }, { 4 }));
    b.rank(1)
        .micro(0)
        .batch(f32({ 1, 1 }, { 11 }))
        .loss(5)
        .grad("expert.weight", f32({ 1 }, { 6 }))
        .micro(1)
        .batch(f32({ 1, 1 }, { 13 }))
        .loss(7);
    EXPECT_EQ(ofB(aligned(a.side(), b.side()), "s0/backward/grad/expert.weight"), (Elements { 5 }));
}

TEST(Declared, PiecesAreJoinedAlongTheDimThatIsSaid)
{
    TensorParallelPair runs; // [2, 2] of two pieces [2, 2]: one side is in pieces too, so that shapes cannot tell the dim
    const auto shard = [](std::int64_t dim) { return test::At { .placement = { { "tp", bundle::Placement::Type::Shard, dim, "" } } }; };
    runs.a.rank().start("fc.weight", f32({ 2, 4 }, { 1, 2, 5, 6, 3, 4, 7, 8 }));
    runs.b.rank(0).start("fc.weight", f32({ 2, 2 }, { 1, 2, 3, 4 }), shard(1));
    runs.b.rank(1).start("fc.weight", f32({ 2, 2 }, { 5, 6, 7, 8 }), shard(1));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    EXPECT_EQ(ofB(alignment, "s0/start/param/fc.weight"), (Elements { 1, 2, 5, 6, 3, 4, 7, 8 }));
    EXPECT_FALSE(pairOf(alignment, "s0/start/param/fc.weight").guess);
}

TEST(Declared, PartialSumsAreAddedUpEvenAfterTheReduction)
{
    TensorParallelPair runs;
    const test::At partial { .placement = { { "tp", bundle::Placement::Type::Partial, 0, "sum" } } };
    runs.a.rank().reduced("fc.weight", f32({ 1 }, { 10 }));
    runs.b.rank(0).reduced("fc.weight", f32({ 1 }, { 4 }), partial);
    runs.b.rank(1).reduced("fc.weight", f32({ 1 }, { 6 }), partial);
    EXPECT_EQ(ofB(aligned(runs.a.side(), runs.b.side()), "s0/reduce/grad/fc.weight"), (Elements { 10 }));
}

TEST(Declared, PartialMeansAreAveraged)
{
    TensorParallelPair runs;
    const test::At partial { .placement = { { "tp", bundle::Placement::Type::Partial, 0, "mean" } } };
    runs.a.rank().output("fc", f32({ 2, 1 }, { 10, 20 }));
    runs.b.rank(0).output("fc", f32({ 2, 1 }, { 8, 10 }), partial);
    runs.b.rank(1).output("fc", f32({ 2, 1 }, { 12, 30 }), partial);
    EXPECT_EQ(ofB(aligned(runs.a.side(), runs.b.side()), "s0/forward/output/fc"), (Elements { 10, 20 }));
}

TEST(Declared, ReplicasAreNotAddedUp)
{
    DealtPair runs;
    const test::At replicated { .placement = { { "tp", bundle::Placement::Type::Replicate, 0, "" } } };
    runs.a.rank().gradOutput("shared", f32({ 2 }, { 1, 2 }));
    runs.b.rank(0).gradOutput("shared", f32({ 2 }, { 1, 2 }), replicated);
    runs.b.rank(1).gradOutput("shared", f32({ 2 }, { 1, 2 }), replicated);
    EXPECT_EQ(ofB(aligned(runs.a.side(), runs.b.side()), "s0/backward/grad_output/shared"), (Elements { 1, 2 }));
}

TEST(Declared, WhatDoesNotFitTheShapesGivesWayToTrying)
{
    TensorParallelPair runs;
    const test::At shard { .placement = { { "tp", bundle::Placement::Type::Shard, 1, "" } } };
    runs.a.rank().start("fc.weight", f32({ 4, 1 }, { 1, 2, 3, 4 }));
    runs.b.rank(0).start("fc.weight", f32({ 2, 1 }, { 1, 2 }), shard);
    runs.b.rank(1).start("fc.weight", f32({ 2, 1 }, { 3, 4 }), shard);
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    EXPECT_EQ(ofB(alignment, "s0/start/param/fc.weight"), (Elements { 1, 2, 3, 4 }));
    EXPECT_TRUE(pairOf(alignment, "s0/start/param/fc.weight").guess);
}

TEST(RankList, JoinsRuns)
{
    EXPECT_EQ(rankList({ 3 }), "rank 3");
    EXPECT_EQ(rankList({ 1, 0 }), "ranks 0-1");
    EXPECT_EQ(rankList({ 0, 3, 2, 2 }), "ranks 0, 2-3");
}

} // namespace
} // namespace forkpoint::align
