// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/compare/rank_matrix.h"
#include "core/report/ranks_report.h"
#include "tests/support/run_builder.h"

#include <cmath>
#include <gtest/gtest.h>

// Which tensors count as replicas, and which ranks agree.
namespace forkpoint::compare {
namespace {

using test::contains;
using test::f32;
using test::RecordedRun;

using Groups = std::vector<std::vector<int>>;
using Type = bundle::Placement::Type;

const test::At kReplicated { .placement = { { "dp", Type::Replicate, 0, "" } } };

RankMatrix matrixOf(RecordedRun& run, std::string_view pattern = {})
{
    auto matrix = rankMatrix(run.side(), pattern);
    EXPECT_TRUE(matrix) << matrix.error().text();
    return matrix.value_or(RankMatrix {});
}

TEST(RankMatrix, GroupsOfRanksThatAgree)
{
    RecordedRun run("dp4", 4);
    for (int rank = 0; rank < 4; ++rank) {
        run.rank(rank).start("fc.weight", f32({ 2 }, { 3, rank == 2 ? 8.0f : 4.0f }), kReplicated).start("fc.bias", f32({ 1 }, { 1 }), kReplicated);
    }
    const auto matrix = matrixOf(run);
    EXPECT_EQ(matrix.tensors, 2u);
    EXPECT_EQ(matrix.byReason[0], 2u);
    ASSERT_EQ(matrix.differing.size(), 1u);
    EXPECT_EQ(matrix.differing[0].id, "s0/start/param/fc.weight");
    EXPECT_EQ(matrix.differing[0].groups, (Groups { { 0, 1, 3 }, { 2 } }));
    EXPECT_NEAR(matrix.differing[0].difference[0][1].value(), 4 / std::sqrt(73.0), 1e-12);
    EXPECT_EQ(matrix.differ[0][2], 1u);
    EXPECT_EQ(matrix.differ[2][3], 1u);
    EXPECT_EQ(matrix.differ[0][1], 0u);
    EXPECT_GT(matrix.worst[2][0], 0.4);
    const auto text = report::ranksText(matrix, run.side(), {});
    EXPECT_TRUE(contains(text, "2 tensors should be equal on their ranks: 1 differs"));
    EXPECT_TRUE(contains(text, "ranks 0-1, 3 | rank 2; relative difference 0.47 (declared)"));
    EXPECT_TRUE(contains(text, "Largest relative difference, rank against rank"));
    EXPECT_EQ(report::ranksJson(matrix, run.side())["differing"][0]["groups"].dump(), "[[0,1,3],[2]]");
}

TEST(RankMatrix, BitEqualAtTheFirstRecordAndApartLater)
{
    RecordedRun run("dp2", 2);
    for (int rank = 0; rank < 2; ++rank) {
        const auto r = static_cast<float>(rank);
        run.rank(rank).step(0).start("fc.weight", f32({ 1 }, { 1 })).reduced("fc.weight", f32({ 1 }, { r })).after("fc.weight", f32({ 1 }, { 2 + r }));
    }
    const auto matrix = matrixOf(run);
    EXPECT_EQ(matrix.tensors, 3u);
    EXPECT_EQ(matrix.byReason[2], 3u);
    EXPECT_EQ(matrix.differing.size(), 2u) << "its gradient and its value after the step";
}

TEST(RankMatrix, EqualNamesAndShapesAreNoReason)
{
    RecordedRun run("experts", 2);
    run.rank(0).start("expert.weight", f32({ 1 }, { 1 })).grad("fc.weight", f32({ 1 }, { 1 }));
    run.rank(1).start("expert.weight", f32({ 1 }, { 2 })).grad("fc.weight", f32({ 1 }, { 2 }));
    const auto matrix = matrixOf(run);
    EXPECT_EQ(matrix.tensors, 0u);
    EXPECT_EQ(matrix.others, 1u) << "local gradients are no replicas at all";
    EXPECT_TRUE(contains(report::ranksText(matrix, run.side(), {}), "1 more are on several ranks"));
}

TEST(RankMatrix, ConstantsBeginAlikeOnOtherLayersToo)
{
    for (const bool embedded : { false, true }) { // the same on both ranks: tensor parallel, not stages with numbers of their own
        RecordedRun run("stages", 2);
        for (int rank = 0; rank < 2; ++rank) {
            const auto r = static_cast<float>(rank);
            auto& scribe = run.rank(rank);
            scribe.start("layers.0.fc.weight", f32({ 2 }, { 1 + r, 2 * r })).start("layers.0.norm.weight", f32({ 2 }, { 1, 1 }));
            scribe.after("layers.0.norm.weight", f32({ 2 }, { 1 + r, 2 }));
            if (embedded) {
                scribe.start("embedding.weight", f32({ 2 }, { 3, 4 }));
            }
        }
        const auto matrix = matrixOf(run);
        EXPECT_EQ(matrix.tensors, embedded ? 3u : 0u);
        EXPECT_EQ(matrix.differing.size(), embedded ? 1u : 0u);
    }
}

TEST(RankMatrix, WrappedByDdp)
{
    test::TempFolder folder;
    const auto path = folder.path() / "ddp2.forkpoint";
    for (int rank = 0; rank < 2; ++rank) {
        auto writer = bundle::RankWriter::create(path, rank);
        ASSERT_TRUE(writer);
        ASSERT_TRUE(writer->module({ "", "DistributedDataParallel", "DistributedDataParallel", {}, {} }));
        bundle::TensorRecord record;
        record.module = "module.fc";
        record.param = "weight";
        record.shape = { 1 };
        ASSERT_TRUE(writer->tensor(record, f32({ 1 }, { static_cast<float>(rank) }).bytes));
        ASSERT_TRUE(writer->info({ { "run", "ddp2" }, { "world_size", 2 }, { "status", "complete" } }));
    }
    ASSERT_TRUE(bundle::writeBundleInfo(path, { { "name", "ddp2" }, { "world_size", 2 } }));
    const auto matrix = rankMatrix(align::Side::whole(*bundle::Bundle::open(path)), {});
    ASSERT_TRUE(matrix);
    EXPECT_EQ(matrix->byReason[1], 1u);
    EXPECT_EQ(matrix->differing.size(), 1u) << "it should be equal from the start";
}

TEST(RankMatrix, OfShardsThoseOfOnePieceAreReplicas)
{
    RecordedRun run("dp2tp2", 4);
    const test::At shard { .placement = { { "dp", Type::Replicate, 0, "" }, { "tp", Type::Shard, 0, "" } } };
    for (int rank = 0; rank < 4; ++rank) {
        run.rank(rank).info({ { "coordinates", { { "dp", rank / 2 }, { "tp", rank % 2 } } } });
        run.rank(rank).start("fc.weight", f32({ 1 }, { rank == 3 ? 9.0f : static_cast<float>(rank % 2) }), shard);
    }
    const auto matrix = matrixOf(run);
    EXPECT_EQ(matrix.tensors, 1u);
    ASSERT_EQ(matrix.differing.size(), 1u);
    EXPECT_EQ(matrix.differing[0].groups, (Groups { { 1 }, { 3 } }));
}

TEST(RankMatrix, Selects)
{
    RecordedRun run("dp2", 2);
    for (int rank = 0; rank < 2; ++rank) {
        run.rank(rank).start("a.weight", f32({ 1 }, { 1 }), kReplicated).start("b.weight", f32({ 1 }, { static_cast<float>(rank) }), kReplicated);
    }
    EXPECT_TRUE(matrixOf(run, "a.*").differing.empty());
    EXPECT_EQ(matrixOf(run, "s0/start/*/b.weight").differing.size(), 1u);
    const auto none = rankMatrix(run.side(), "c*");
    ASSERT_FALSE(none);
    EXPECT_TRUE(contains(none.error().message, "no tensor matches 'c*'"));
}

TEST(RankMatrix, OneRankIsNoMatrix)
{
    RecordedRun run("single");
    run.rank().start("fc.weight", f32({ 1 }, { 1 }));
    EXPECT_EQ(rankMatrix(run.side(), {}).error().code, ErrorCode::Usage);
}

} // namespace
} // namespace forkpoint::compare
