// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/positions.h"
#include "tests/support/run_builder.h"

#include <gtest/gtest.h>

// Ranks whose batches are padded to other lengths.
namespace forkpoint::align {
namespace {

using test::aligned;
using test::contains;
using test::elementsOf;
using test::f32;
using test::i64;
using test::pairOf;
using test::RecordedRun;

using Elements = std::vector<float>;
using Mask = std::vector<std::uint8_t>;

/// Two texts, of three tokens and of one. One process pads both to three; of two ranks each pads to its own.
struct RaggedPair {
    RecordedRun a { "single" };
    RecordedRun b { "ddp2", 2 };
    RaggedPair(bool mask = true)
    {
        a.rank().batch(i64({ 2, 3 }, { 5, 6, 7, 8, 0, 0 }), { .slot = "input_ids" });
        b.rank(0).batch(i64({ 1, 3 }, { 5, 6, 7 }), { .slot = "input_ids" });
        b.rank(1).batch(i64({ 1, 1 }, { 8 }), { .slot = "input_ids" });
        if (mask) {
            a.rank().batch(i64({ 2, 3 }, { 1, 1, 1, 1, 0, 0 }), { .slot = "attention_mask" });
            b.rank(0).batch(i64({ 1, 3 }, { 1, 1, 1 }), { .slot = "attention_mask" });
            b.rank(1).batch(i64({ 1, 1 }, { 1 }), { .slot = "attention_mask" });
        }
        a.rank().loss(3).output("fc", f32({ 2, 3, 2 }, { 1, 2, 3, 4, 5, 6, 7, 8, 90, 91, 92, 93 }));
        b.rank(0).loss(2).output("fc", f32({ 1, 3, 2 }, { 1, 2, 3, 4, 5, 6 }));
        b.rank(1).loss(4).output("fc", f32({ 1, 1, 2 }, { 7, 8 }));
    }
};

TEST(Ragged, WhatBothSidesHaveAndKeepIsCompared)
{
    for (const bool mask : { true, false }) {
        RaggedPair runs(mask);
        const auto alignment = aligned(runs.a.side(), runs.b.side());
        EXPECT_TRUE(contains(alignment.steps[0].text, "rows matched by content without padding")) << mask;
        EXPECT_TRUE(contains(alignment.steps[0].text, "batches are padded to other lengths"));
        const auto& pair = pairOf(alignment, "s0/forward/output/fc");
        ASSERT_EQ(pair.status, PairStatus::Matched) << pair.note;
        const auto& lane = pair.lanes.at(0);
        EXPECT_EQ(*lane.kept, (Mask { 1, 1, 1, 1, 0, 0 }));
        EXPECT_EQ(elementsOf(alignment.b, lane.b), (Elements { 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0 }));
        EXPECT_TRUE(contains(pair.assembly, "padded to 3 positions"));
        const auto keep = keptMask(lane);
        ASSERT_TRUE(keep);
        ReadBuffer buffer;
        const auto bytes = keep->read(Box { { 0, 0, 1 }, { 2, 3, 1 } }, buffer);
        ASSERT_TRUE(bytes);
        EXPECT_EQ(std::vector<std::byte>(bytes->begin(), bytes->end()),
                  (std::vector<std::byte> { std::byte { 1 }, std::byte { 1 }, std::byte { 1 }, std::byte { 1 }, std::byte { 0 }, std::byte { 0 } }));
    }
}

TEST(Ragged, PaddingBeforeTheContent)
{
    RecordedRun a("single"), b("ddp2", 2);
    a.rank().batch(i64({ 2, 3 }, { 5, 6, 7, 0, 0, 8 })).loss(3).output("fc", f32({ 2, 3 }, { 1, 2, 3, 90, 91, 4 }));
    b.rank(0).batch(i64({ 1, 3 }, { 5, 6, 7 })).loss(2).output("fc", f32({ 1, 3 }, { 1, 2, 3 }));
    b.rank(1).batch(i64({ 1, 1 }, { 8 })).loss(4).output("fc", f32({ 1, 1 }, { 4 }));
    const auto alignment = aligned(a.side(), b.side());
    const auto& lane = pairOf(alignment, "s0/forward/output/fc").lanes.at(0);
    EXPECT_EQ(*lane.kept, (Mask { 1, 1, 1, 0, 0, 1 }));
    EXPECT_EQ(elementsOf(alignment.b, lane.b), (Elements { 1, 2, 3, 0, 0, 4 }));
}

TEST(Ragged, RowsDealtInAnotherOrder)
{
    RaggedPair runs;
    RecordedRun swapped("ddp2", 2);
    swapped.rank(0).batch(i64({ 1, 1 }, { 8 }), { .slot = "input_ids" }).batch(i64({ 1, 1 }, { 1 }), { .slot = "attention_mask" }).loss(4).output("fc", f32({ 1, 1, 2 }, { 7, 8 }));
    swapped.rank(1)
        .batch(i64({ 1, 3 }, { 5, 6, 7 }), { .slot = "input_ids" })
        .batch(i64({ 1, 3 }, { 1, 1, 1 }), { .slot = "attention_mask" })
        .loss(2)
        .output("fc", f32({ 1, 3, 2 }, { 1, 2, 3, 4, 5, 6 }));
    const auto alignment = aligned(runs.a.side(), swapped.side());
    const auto& lane = pairOf(alignment, "s0/forward/output/fc").lanes.at(0);
    EXPECT_EQ(*lane.kept, (Mask { 1, 1, 1, 1, 0, 0 }));
    EXPECT_EQ(elementsOf(alignment.b, lane.b), (Elements { 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0 }));
}

TEST(Ragged, WhatCannotBeBroughtToOneLengthIsNeverInvalid)
{
    RaggedPair runs; // attention maps: position against position
    runs.a.rank().output("scores", f32({ 2, 1, 3, 3 }, Elements(18, 1)));
    runs.b.rank(0).output("scores", f32({ 1, 1, 3, 3 }, Elements(9, 1)));
    runs.b.rank(1).output("scores", f32({ 1, 1, 1, 1 }, { 1 }));
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    const auto& pair = pairOf(alignment, "s0/forward/output/scores");
    EXPECT_EQ(pair.status, PairStatus::NotObserved);
    EXPECT_TRUE(contains(pair.note, "padded to other lengths"));
}

TEST(Ragged, OneOfTwoTextsOfASample)
{
    RecordedRun a("single"), b("ddp2", 2); // translations: the sources have one length, the targets are padded on each rank
    a.rank().batch(i64({ 2, 3 }, { 5, 6, 7, 8, 9, 5 }), { .slot = "0" }).batch(i64({ 2, 2 }, { 3, 4, 6, 0 }), { .slot = "1" }).loss(1);
    b.rank(0).batch(i64({ 1, 3 }, { 5, 6, 7 }), { .slot = "0" }).batch(i64({ 1, 2 }, { 3, 4 }), { .slot = "1" }).loss(1);
    b.rank(1).batch(i64({ 1, 3 }, { 8, 9, 5 }), { .slot = "0" }).batch(i64({ 1, 1 }, { 6 }), { .slot = "1" }).loss(1);
    a.rank().output("decoder", f32({ 2, 2, 1 }, { 1, 2, 3, 9 }));
    b.rank(0).output("decoder", f32({ 1, 2, 1 }, { 1, 2 }));
    b.rank(1).output("decoder", f32({ 1, 1, 1 }, { 3 }));
    const auto alignment = aligned(a.side(), b.side());
    for (const auto& pair : alignment.pairs) {
        EXPECT_NE(pair.status, PairStatus::Unrelated) << pair.id << ": " << *pair.note;
    }
    EXPECT_EQ(pairOf(alignment, "s0/data/batch/batch:0").status, PairStatus::Matched);
}

TEST(Ragged, OtherWidthsWithoutAnyTokensToPadAreADefect)
{
    RecordedRun a("single"), b("ddp2", 2);
    a.rank().batch(f32({ 2, 1 }, { 1, 2 })).output("fc", f32({ 2, 3 }, { 1, 2, 3, 4, 5, 6 })).loss(1);
    b.rank(0).batch(f32({ 1, 1 }, { 1 })).output("fc", f32({ 1, 3 }, { 1, 2, 3 })).loss(1);
    b.rank(1).batch(f32({ 1, 1 }, { 2 })).output("fc", f32({ 1, 2 }, { 4, 5 })).loss(1);
    EXPECT_EQ(pairOf(aligned(a.side(), b.side()), "s0/forward/output/fc").status, PairStatus::Unrelated);
}

TEST(Ragged, PositionsOfTheirOwnAreNoSamples)
{
    RecordedRun a("single"), b("ddp2", 2); // micro-steps against ranks: parts of the same lengths, dealt otherwise
    const test::Values longer = i64({ 1, 3 }, { 5, 6, 7 }), shorter = i64({ 1, 1 }, { 8 });
    for (const bool second : { false, true }) {
        const std::int64_t n = second ? 1 : 3;
        const auto gradient = f32({ n, 1 }, Elements(static_cast<std::size_t>(n), 1.0f)), other = f32({ n, 1 }, Elements(static_cast<std::size_t>(n), 2.0f));
        a.rank().micro(second ? 1 : 0).batch(second ? shorter : longer).gradOutput("positions", gradient).loss(1);
        b.rank(second ? 1 : 0).batch(second ? shorter : longer).gradOutput("positions", other).loss(1);
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(pairOf(alignment, "s0/backward/grad_output/positions").status, PairStatus::NotObserved)
        << *pairOf(alignment, "s0/backward/grad_output/positions").assembly;
}

TEST(Ragged, EqualLengthsAreLeftAlone)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().batch(i64({ 2, 2 }, { 5, 0, 0, 0 })).output("fc", f32({ 2, 2 }, { 1, 2, 3, 4 }));
    }
    EXPECT_FALSE(pairOf(aligned(a.side(), b.side()), "s0/forward/output/fc").lanes.at(0).kept);
}

TEST(Ragged, TwoValuesAtTheEndsAreNoPadding)
{
    RowKeys keys;
    keys.rows = 2;
    bundle::TensorRecord record;
    record.dtype = DType::Int64;
    record.shape = { 2, 3 };
    findPadding(keys, { { &record, test::i64({ 2, 3 }, { 1, 7, 7, 2, 9, 9 }).bytes } });
    EXPECT_EQ(keys.kept, (Mask { 1, 1, 1, 1, 1, 1 }));
}

TEST(KeptOnly, IsZeroElsewhere)
{
    RaggedPair runs;
    const auto alignment = aligned(runs.a.side(), runs.b.side());
    const auto& lane = pairOf(alignment, "s0/forward/output/fc").lanes.at(0);
    const auto kept = keptOnly(*open(*alignment.a.bundle, lane.a), keptMask(lane));
    ReadBuffer buffer;
    const auto bytes = kept->read(Box::whole(kept->shape()), buffer);
    ASSERT_TRUE(bytes);
    Elements out(12);
    std::memcpy(out.data(), bytes->data(), bytes->size());
    EXPECT_EQ(out, (Elements { 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0 }));
}

} // namespace
} // namespace forkpoint::align
