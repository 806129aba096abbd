// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/rows.h"

#include "tests/support/run_builder.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

namespace forkpoint::align {
namespace {

using test::f32;
using test::i64;
using test::RecordedRun;

using Order = std::vector<std::int64_t>;

/// Cells in joining order: micro-step by micro-step, within one rank by rank.
std::vector<Cell> cells(std::size_t ranks, std::int32_t micros = 1)
{
    std::vector<Cell> out;
    for (std::int32_t m = 0; m < micros; ++m) {
        for (std::size_t r = 0; r < ranks; ++r) {
            out.push_back({ r, m });
        }
    }
    return out;
}

std::map<Cell, RowKeys> keysOf(const Side& side, std::int32_t step)
{
    const auto index = indexOf(side);
    const auto found = index->steps.find(step);
    return rowKeys(side, found == index->steps.end() ? StepRecords(side.ranks.size()) : found->second);
}

RowRelation related(RecordedRun& a, const std::vector<Cell>& cellsA, RecordedRun& b, const std::vector<Cell>& cellsB)
{
    return relateRows(keysOf(a.side(), 0), cellsA, keysOf(b.side(), 0), cellsB);
}

RowRelation relatedRanks(RecordedRun& a, std::size_t ranksA, RecordedRun& b, std::size_t ranksB)
{
    return related(a, cells(ranksA), b, cells(ranksB));
}

TEST(Rows, DealtByASampler)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(f32({ 4, 1 }, { 10, 11, 12, 13 }));
    b.rank(0).batch(f32({ 2, 1 }, { 10, 12 })); // rank r has rows r, r + world, ...
    b.rank(1).batch(f32({ 2, 1 }, { 11, 13 }));
    const auto rows = relatedRanks(a, 1, b, 2);
    EXPECT_TRUE(rows.matched);
    EXPECT_EQ(rows.by, "content");
    EXPECT_EQ(rows.order, (Order { 0, 2, 1, 3 })) << "row i of A is row order[i] of B joined";
    EXPECT_EQ(rows.rowsA, 4);
    EXPECT_EQ(rows.rowsB, 4);
    EXPECT_FALSE(rows.replicatedB);
}

TEST(Rows, AShapeThatTheBytesDoNotBearOutTakesNoMemory)
{
    for (const char* shape : { "[4611686018427387904,4]", "[2147483648,2147483648]", "[1099511627776]", "[4611686018427387904,0]" }) {
        RecordedRun run("claims");
        run.rank().batch(f32({ 2, 1 }, { 1, 2 })).output("fc", f32({ 2, 1 }, { 1, 2 }));
        run.open();
        const auto index = run.path() / "rank00000" / "tensors.jsonl";
        std::string text;
        {
            std::ifstream in(index);
            text.assign(std::istreambuf_iterator<char>(in), {});
        }
        const auto at = text.find("\"shape\":[2,1]");
        ASSERT_NE(at, std::string::npos) << text;
        text.replace(at, 13, std::string("\"shape\":") + shape);
        std::ofstream(index) << text;
        const auto bundle = bundle::Bundle::open(run.path());
        ASSERT_TRUE(bundle) << bundle.error().text();
        const auto keys = keysOf(Side::whole(*bundle), 0);
        for (const auto& [cell, key] : keys) {
            EXPECT_TRUE(key.content.empty()) << shape;
        }
    }
}

TEST(Rows, ConsecutivePiecesNeedNoOrder)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(f32({ 4, 1 }, { 10, 11, 12, 13 }));
    b.rank(0).batch(f32({ 2, 1 }, { 10, 11 }));
    b.rank(1).batch(f32({ 2, 1 }, { 12, 13 }));
    const auto rows = relatedRanks(a, 1, b, 2);
    EXPECT_TRUE(rows.matched);
    EXPECT_TRUE(rows.order.empty());
}

TEST(Rows, UnevenPieces)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(f32({ 5, 1 }, { 10, 11, 12, 13, 14 }));
    b.rank(0).batch(f32({ 3, 1 }, { 10, 12, 14 }));
    b.rank(1).batch(f32({ 2, 1 }, { 11, 13 }));
    EXPECT_EQ(relatedRanks(a, 1, b, 2).order, (Order { 0, 3, 1, 4, 2 }));
}

TEST(Rows, TheSameRowsInAnotherOrderOnOneRank)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 3, 2 }, { 1, 2, 3, 4, 5, 6 }));
    b.rank().batch(f32({ 3, 2 }, { 5, 6, 1, 2, 3, 4 }));
    const auto rows = relatedRanks(a, 1, b, 1);
    EXPECT_TRUE(rows.matched);
    EXPECT_EQ(rows.order, (Order { 1, 2, 0 }));
}

TEST(Rows, MicroStepsAreJoinedBeforeRanks)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(f32({ 4, 1 }, { 10, 11, 12, 13 }));
    b.rank(0).micro(0).batch(f32({ 1, 1 }, { 10 })).micro(1).batch(f32({ 1, 1 }, { 12 }));
    b.rank(1).micro(0).batch(f32({ 1, 1 }, { 11 })).micro(1).batch(f32({ 1, 1 }, { 13 }));
    const auto rows = related(a, cells(1), b, cells(2, 2));
    EXPECT_TRUE(rows.matched);
    EXPECT_TRUE(rows.order.empty()) << "micro 0 of ranks 0 and 1, then micro 1 of both";
}

TEST(Rows, DuplicatesAreTakenInTurn)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 4, 1 }, { 7, 8, 7, 9 }));
    b.rank().batch(f32({ 4, 1 }, { 9, 7, 8, 7 }));
    const auto rows = relatedRanks(a, 1, b, 1);
    ASSERT_TRUE(rows.matched);
    EXPECT_EQ(rows.order, (Order { 1, 2, 3, 0 }));
}

TEST(Rows, EachRowMustOccurAsOften)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 3, 1 }, { 7, 7, 8 }));
    b.rank().batch(f32({ 3, 1 }, { 7, 8, 8 }));
    EXPECT_FALSE(relatedRanks(a, 1, b, 1).matched);
}

TEST(Rows, SetsThatDifferMakeNoMap)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(f32({ 4, 1 }, { 10, 11, 12, 13 }));
    b.rank(0).batch(f32({ 2, 1 }, { 10, 12 }));
    b.rank(1).batch(f32({ 2, 1 }, { 11, 99 }));
    const auto rows = relatedRanks(a, 1, b, 2);
    EXPECT_FALSE(rows.matched);
    EXPECT_TRUE(rows.order.empty());
    EXPECT_TRUE(rows.by.empty());
    EXPECT_EQ(rows.rowsA, 4);
    EXPECT_EQ(rows.rowsB, 4);
}

TEST(Rows, EveryRankWithTheWholeBatchIsReplicated)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(f32({ 2, 1 }, { 10, 11 }));
    b.rank(0).batch(f32({ 2, 1 }, { 10, 11 }));
    b.rank(1).batch(f32({ 2, 1 }, { 10, 11 }));
    const auto rows = relatedRanks(a, 1, b, 2);
    EXPECT_TRUE(rows.matched);
    EXPECT_FALSE(rows.replicatedA);
    EXPECT_TRUE(rows.replicatedB);
    EXPECT_EQ(rows.rowsB, 2);
}

TEST(Rows, TheReferenceMayBeReplicatedToo)
{
    RecordedRun a("a", 2), b("b");
    a.rank(0).batch(f32({ 2, 1 }, { 11, 10 }));
    a.rank(1).batch(f32({ 2, 1 }, { 11, 10 }));
    b.rank().batch(f32({ 2, 1 }, { 10, 11 }));
    const auto rows = relatedRanks(a, 2, b, 1);
    EXPECT_TRUE(rows.replicatedA);
    EXPECT_EQ(rows.order, (Order { 1, 0 }));
}

TEST(Rows, RanksFedAlikeAreNoReplicasOfALargerBatch)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(f32({ 4, 1 }, { 10, 11, 12, 13 }));
    b.rank(0).batch(f32({ 2, 1 }, { 10, 11 }));
    b.rank(1).batch(f32({ 2, 1 }, { 10, 11 }));
    const auto rows = relatedRanks(a, 1, b, 2);
    EXPECT_FALSE(rows.matched);
    EXPECT_FALSE(rows.replicatedB);
}

TEST(Rows, ReplicatedRanksAreSeenEvenWhereTheRowsDiffer)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(f32({ 2, 1 }, { 10, 11 }));
    b.rank(0).batch(f32({ 2, 1 }, { 20, 21 }));
    b.rank(1).batch(f32({ 2, 1 }, { 20, 21 }));
    const auto rows = relatedRanks(a, 1, b, 2);
    EXPECT_FALSE(rows.matched);
    EXPECT_TRUE(rows.replicatedB);
    EXPECT_EQ(rows.rowsB, 2);
}

TEST(Rows, SampleIdsWhereTheContentDiffers)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 3, 1 }, { 1, 2, 3 }), { .sampleIds = { 100, 101, 102 } });
    b.rank().batch(f32({ 3, 1 }, { 3.5f, 1.5f, 2.5f }), { .sampleIds = { 102, 100, 101 } }); // the same samples, augmented differently
    const auto rows = relatedRanks(a, 1, b, 1);
    EXPECT_TRUE(rows.matched);
    EXPECT_EQ(rows.by, "sample id");
    EXPECT_EQ(rows.order, (Order { 1, 2, 0 }));
}

TEST(Rows, ContentIsBelievedBeforeSampleIds)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 2, 1 }, { 1, 2 }), { .sampleIds = { 0, 1 } });
    b.rank().batch(f32({ 2, 1 }, { 2, 1 }), { .sampleIds = { 0, 1 } });
    const auto rows = relatedRanks(a, 1, b, 1);
    EXPECT_EQ(rows.by, "content");
    EXPECT_EQ(rows.order, (Order { 1, 0 }));
}

TEST(Rows, SampleIdsThatDifferDoNotMatch)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 2, 1 }, { 1, 2 }), { .sampleIds = { 100, 101 } });
    b.rank().batch(f32({ 2, 1 }, { 3, 4 }), { .sampleIds = { 100, 105 } });
    EXPECT_FALSE(relatedRanks(a, 1, b, 1).matched);
}

TEST(Rows, AllTensorsOfTheBatchTogetherIdentifyARow)
{
    RecordedRun a("a"), b("b"); // equal inputs with different labels are told apart
    a.rank().batch(f32({ 2, 1 }, { 5, 5 }), { .slot = "0" }).batch(i64({ 2 }, { 0, 1 }), { .slot = "1" });
    b.rank().batch(f32({ 2, 1 }, { 5, 5 }), { .slot = "0" }).batch(i64({ 2 }, { 1, 0 }), { .slot = "1" });
    const auto rows = relatedRanks(a, 1, b, 1);
    EXPECT_EQ(rows.by, "content");
    EXPECT_EQ(rows.order, (Order { 1, 0 }));
}

TEST(Rows, LabelsAloneWhereTheInputsWereChanged)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 3, 1 }, { 1, 2, 3 }), { .slot = "0" }).batch(i64({ 3 }, { 7, 8, 9 }), { .slot = "1" });
    b.rank().batch(f32({ 3, 1 }, { 30, 10, 20 }), { .slot = "0" }).batch(i64({ 3 }, { 9, 7, 8 }), { .slot = "1" });
    const auto rows = relatedRanks(a, 1, b, 1);
    EXPECT_TRUE(rows.matched);
    EXPECT_EQ(rows.by, "batch tensor 1");
    EXPECT_EQ(rows.order, (Order { 1, 2, 0 }));
}

TEST(Rows, InputsAloneWhereTheLabelsWereChanged)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 2, 1 }, { 1, 2 }), { .slot = "0" }).batch(i64({ 2 }, { 7, 8 }), { .slot = "1" });
    b.rank().batch(f32({ 2, 1 }, { 2, 1 }), { .slot = "0" }).batch(i64({ 2 }, { 70, 80 }), { .slot = "1" });
    const auto rows = relatedRanks(a, 1, b, 1);
    EXPECT_EQ(rows.by, "batch tensor 0");
    EXPECT_EQ(rows.order, (Order { 1, 0 }));
}

TEST(Rows, ATensorWithoutRowsSaysNothing)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 2, 1 }, { 1, 2 }), { .slot = "x" }).batch(f32({}, { 0.5f }), { .slot = "temperature" });
    b.rank().batch(f32({ 2, 1 }, { 2, 1 }), { .slot = "x" }).batch(f32({}, { 0.7f }), { .slot = "temperature" });
    const auto rows = relatedRanks(a, 1, b, 1);
    EXPECT_EQ(rows.by, "content");
    EXPECT_EQ(rows.order, (Order { 1, 0 }));
}

TEST(Rows, WithoutABatchTheRootsInputsCount)
{
    RecordedRun a("a"), b("b");
    a.rank().input("", f32({ 2, 1 }, { 1, 2 }));
    b.rank().input("module", f32({ 2, 1 }, { 2, 1 })).input("module.fc", f32({ 2, 1 }, { 8, 9 }));
    const auto rows = relatedRanks(a, 1, b, 1);
    EXPECT_TRUE(rows.matched);
    EXPECT_EQ(rows.order, (Order { 1, 0 }));
}

TEST(Rows, WithoutAnyOfThemNothingIsKnown)
{
    RecordedRun a("a"), b("b");
    a.rank().start("fc.weight", f32({ 1 }, { 1 }));
    b.rank().start("fc.weight", f32({ 1 }, { 1 }));
    EXPECT_TRUE(keysOf(a.side(), 0).empty());
    const auto rows = relatedRanks(a, 1, b, 1);
    EXPECT_FALSE(rows.matched);
    EXPECT_EQ(rows.rowsA, 0);
}

TEST(Rows, OnlyTheStepAskedFor)
{
    RecordedRun a("a");
    a.rank().step(0).batch(f32({ 2, 1 }, { 1, 2 })).step(1).batch(f32({ 3, 1 }, { 3, 4, 5 }));
    const auto side = a.side();
    EXPECT_EQ(keysOf(side, 0).at({ 0, 0 }).rows, 2);
    EXPECT_EQ(keysOf(side, 1).at({ 0, 0 }).rows, 3);
    EXPECT_TRUE(keysOf(side, 2).empty());
}

TEST(Rows, ABatchWithoutRowsIsEmpty)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 0, 4 }, {}));
    b.rank().batch(f32({ 0, 4 }, {}));
    EXPECT_FALSE(relatedRanks(a, 1, b, 1).matched);
}

/// Without bytes only the ids can tell.
TEST(Rows, BytesThatCannotBeReadLeaveTheSampleIds)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 2, 1 }, { 1, 2 }), { .sampleIds = { 5, 6 } });
    b.rank().batch(f32({ 2, 1 }, { 2, 1 }), { .sampleIds = { 6, 5 } });
    const auto sideA = a.side(), sideB = b.side();
    std::filesystem::resize_file(b.path() / "rank00000" / "tensors-0000.bin", 0);
    const auto rows = relateRows(keysOf(sideA, 0), cells(1), keysOf(sideB, 0), cells(1));
    EXPECT_TRUE(rows.matched);
    EXPECT_EQ(rows.by, "sample id");
}

/// The second tensor of the batch stays the second, even if the first cannot be read.
TEST(Rows, ATensorThatCannotBeReadDoesNotShiftTheOthers)
{
    RecordedRun a("a"), b("b");
    const auto x = f32({ 2, 1 }, { 1, 2 });
    a.rank().batch(x, { .slot = "0" }).batch(i64({ 2 }, { 7, 8 }), { .slot = "1" });
    b.rank().batch(x, { .slot = "0", .notObserved = "on another device" }).batch(i64({ 2 }, { 8, 7 }), { .slot = "1" });
    const auto rows = relatedRanks(a, 1, b, 1);
    EXPECT_TRUE(rows.matched);
    EXPECT_EQ(rows.by, "batch tensor 1");
    EXPECT_EQ(rows.order, (Order { 1, 0 }));
}

} // namespace
} // namespace forkpoint::align
