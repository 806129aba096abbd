// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/mesh.h"
#include "core/align/placement_rule.h"
#include "tests/support/run_builder.h"

#include <gtest/gtest.h>

// Ranks in a mesh of several axes, pieces of uneven length and with padding, and what the user says of placements.
namespace forkpoint::align {
namespace {

using test::aligned;
using test::contains;
using test::elementsOf;
using test::f32;
using test::gaussian;
using test::pairOf;
using test::RecordedRun;

using Elements = std::vector<float>;
using Type = bundle::Placement::Type;

Elements ofA(const Alignment& alignment, const std::string& id, std::size_t lane = 0) { return elementsOf(alignment.a, pairOf(alignment, id).lanes.at(lane).a); }
Elements ofB(const Alignment& alignment, const std::string& id, std::size_t lane = 0) { return elementsOf(alignment.b, pairOf(alignment, id).lanes.at(lane).b); }

PlacementRule rule(std::string_view text)
{
    auto parsed = parsePlacementRule(text);
    EXPECT_TRUE(parsed) << parsed.error().text();
    return parsed.value_or(PlacementRule {});
}

/// Four ranks: two data parallel groups of two tensor parallel ranks. Rows 10, 11 lie on one process; the first group has row 10, the second row 11.
struct MeshPair {
    RecordedRun a { "single" };
    RecordedRun b { "dp2tp2", 4 };
    MeshPair(bool coordinates = true)
    {
        a.rank().batch(f32({ 2, 1 }, { 10, 11 })).loss(3);
        for (int rank = 0; rank < 4; ++rank) {
            b.rank(rank).batch(f32({ 1, 1 }, { rank < 2 ? 10.0f : 11.0f })).loss(rank < 2 ? 2.0f : 4.0f);
            if (coordinates) {
                b.rank(rank).info({ { "coordinates", { { "dp", rank / 2 }, { "tp", rank % 2 } } } });
            }
        }
    }
    Alignment alignment(const AlignOptions& options = {}) { return aligned(a.side(), b.side(), options); }
};

TEST(Mesh, RanksThatShareTheirRowsCountOnce)
{
    for (const bool coordinates : { true, false }) {
        MeshPair runs(coordinates);
        const auto alignment = runs.alignment();
        EXPECT_EQ(ofB(alignment, "s0/data/batch/batch"), (Elements { 10, 11 })) << coordinates;
        EXPECT_EQ(ofB(alignment, "s0/forward/output/loss"), (Elements { 3 }));
        EXPECT_TRUE(contains(alignment.steps[0].text, "the ranks of the candidate form 2 groups that share their rows"));
    }
}

TEST(Mesh, FeaturesOverTensorRanksAndRowsOverDataRanks)
{
    for (const bool coordinates : { true, false }) {
        MeshPair runs(coordinates);
        runs.a.rank().output("fc", f32({ 2, 4 }, { 0, 1, 2, 3, 10, 11, 12, 13 }));
        for (int rank = 0; rank < 4; ++rank) {
            const auto x = static_cast<float>(10 * (rank / 2) + 2 * (rank % 2));
            runs.b.rank(rank).output("fc", f32({ 1, 2 }, { x, x + 1 }));
        }
        const auto alignment = runs.alignment();
        EXPECT_EQ(ofB(alignment, "s0/forward/output/fc"), ofA(alignment, "s0/forward/output/fc")) << coordinates;
        EXPECT_TRUE(contains(pairOf(alignment, "s0/forward/output/fc").assembly, "ranks 0-3 concatenated along dim 1, these 2 concatenated along dim 0"));
    }
}

TEST(Mesh, AReplicatedOutputOfTensorRanksHasOneLanePerReplica)
{
    MeshPair runs;
    runs.a.rank().output("norm", f32({ 2, 1 }, { 1, 2 }));
    for (int rank = 0; rank < 4; ++rank) {
        runs.b.rank(rank).output("norm", f32({ 1, 1 }, { rank < 2 ? 1.0f : rank == 2 ? 2.0f : 5.0f }));
    }
    const auto alignment = runs.alignment();
    ASSERT_EQ(pairOf(alignment, "s0/forward/output/norm").lanes.size(), 2u);
    EXPECT_EQ(ofB(alignment, "s0/forward/output/norm", 0), (Elements { 1, 2 }));
    EXPECT_EQ(ofB(alignment, "s0/forward/output/norm", 1), (Elements { 1, 5 })) << "the second tensor rank of each group";
}

TEST(Mesh, ShardsOfAWeightAreJoinedOnceForEachDataRank)
{
    MeshPair runs;
    runs.a.rank().start("fc.weight", f32({ 4, 1 }, { 1, 2, 3, 4 }));
    for (int rank = 0; rank < 4; ++rank) {
        const float x = rank % 2 == 0 ? 1 : 3;
        runs.b.rank(rank).start("fc.weight", f32({ 2, 1 }, { x, rank == 3 ? 9 : x + 1 }));
    }
    const auto alignment = runs.alignment();
    ASSERT_EQ(pairOf(alignment, "s0/start/param/fc.weight").lanes.size(), 2u);
    EXPECT_EQ(ofB(alignment, "s0/start/param/fc.weight", 0), (Elements { 1, 2, 3, 4 }));
    EXPECT_EQ(ofB(alignment, "s0/start/param/fc.weight", 1), (Elements { 1, 2, 3, 9 }));
}

TEST(Mesh, LocalGradientsAreTheMeanOverDataRanks)
{
    MeshPair runs;
    runs.a.rank().grad("fc.weight", f32({ 2 }, { 4, 6 })).grad("norm.weight", f32({ 1 }, { 5 }));
    for (int rank = 0; rank < 4; ++rank) {
        const float x = rank < 2 ? 3 : 5;
        runs.b.rank(rank).grad("fc.weight", f32({ 1 }, { rank % 2 == 0 ? x : x + 2 })); // in pieces over tp
        runs.b.rank(rank).grad("norm.weight", f32({ 1 }, { rank < 2 ? 4.0f : 6.0f }));  // equal on tp
    }
    const auto alignment = runs.alignment();
    EXPECT_EQ(ofB(alignment, "s0/backward/grad/norm.weight"), (Elements { 5 }));
    EXPECT_EQ(ofB(alignment, "s0/backward/grad/fc.weight"), (Elements { 4, 6 }));
}

TEST(Mesh, DeclaredAxesAreFoundByName)
{
    MeshPair runs;
    const test::At shard { .placement = { { "dp", Type::Replicate, 0, "" }, { "tp", Type::Shard, 1, "" } } };
    const test::At partial { .placement = { { "dp", Type::Shard, 0, "" }, { "tp", Type::Partial, 0, "sum" } } };
    runs.a.rank().start("fc.weight", f32({ 2, 2 }, { 1, 2, 3, 4 })).output("fc", f32({ 2, 1 }, { 7, 9 }));
    for (int rank = 0; rank < 4; ++rank) {
        runs.b.rank(rank).start("fc.weight", rank % 2 == 0 ? f32({ 2, 1 }, { 1, 3 }) : f32({ 2, 1 }, { 2, 4 }), shard);
        runs.b.rank(rank).output("fc", f32({ 1, 1 }, { rank < 2 ? 3.5f : 4.5f }), partial);
    }
    const auto alignment = runs.alignment();
    EXPECT_EQ(ofB(alignment, "s0/start/param/fc.weight"), (Elements { 1, 2, 3, 4 }));
    EXPECT_FALSE(pairOf(alignment, "s0/start/param/fc.weight").guess);
    EXPECT_EQ(ofB(alignment, "s0/forward/output/fc"), (Elements { 7, 9 })) << "partial sums over tp, rows over dp";
    EXPECT_FALSE(pairOf(alignment, "s0/forward/output/fc").guess);
}

TEST(Mesh, OtherWorldSizesOnBothSides)
{
    MeshPair left, right; // dp2 x tp2 against dp1 x tp2
    RecordedRun tp("tp2", 2);
    for (int rank = 0; rank < 2; ++rank) {
        const auto x = static_cast<float>(2 * rank);
        tp.rank(rank).batch(f32({ 2, 1 }, { 10, 11 })).loss(3).output("fc", f32({ 2, 2 }, { x, x + 1, x + 10, x + 11 }));
    }
    for (int rank = 0; rank < 4; ++rank) {
        const auto x = static_cast<float>(10 * (rank / 2) + 2 * (rank % 2));
        left.b.rank(rank).output("fc", f32({ 1, 2 }, { x, x + 1 }));
    }
    const auto alignment = aligned(tp.side(), left.b.side());
    EXPECT_TRUE(contains(alignment.steps[0].text, "rows matched by content"));
    const auto& pair = pairOf(alignment, "s0/forward/output/fc");
    for (std::size_t lane = 0; lane < pair.lanes.size(); ++lane) {
        EXPECT_EQ(ofA(alignment, pair.id, lane), ofB(alignment, pair.id, lane)) << pair.assembly;
    }
}

TEST(Mesh, GivenOnTheCommandLine)
{
    MeshPair runs(false);
    runs.a.rank().start("fc.weight", f32({ 4, 1 }, { 1, 2, 3, 4 }));
    for (int rank = 0; rank < 4; ++rank) {
        runs.b.rank(rank).start("fc.weight", f32({ 2, 1 }, { rank < 2 ? 1.0f : 3.0f, rank < 2 ? 2.0f : 4.0f })); // tp is the outer axis
    }
    const auto alignment = runs.alignment({ .stepOffset = {}, .placements = { rule("fc.weight=shard(0)@tp,replicate@dp") }, .meshB = *parseMeshShape("tp=2,dp=2") });
    EXPECT_EQ(ofB(alignment, "s0/start/param/fc.weight"), (Elements { 1, 2, 3, 4 }));
    const auto wrong = align(runs.a.side(), runs.b.side(), { .stepOffset = {}, .meshB = *parseMeshShape("tp=3") });
    ASSERT_FALSE(wrong);
    EXPECT_TRUE(contains(wrong.error().text(), "has 3 ranks, the run has 4"));
}

TEST(Mesh, OfSquarePiecesTheContentDecides)
{
    MeshPair runs; // [4, 4] in tiles of [2, 2]: rows over dp and columns over tp, or the other way round
    const auto whole = gaussian(16, 7);
    runs.a.rank().start("fc.weight", f32({ 4, 4 }, whole));
    for (int rank = 0; rank < 4; ++rank) {
        const std::size_t row = static_cast<std::size_t>(rank % 2) * 2, column = static_cast<std::size_t>(rank / 2) * 2; // columns over dp
        Elements tile;
        for (const std::size_t r : { row, row + 1 }) {
            tile.insert(tile.end(), { whole[r * 4 + column], whole[r * 4 + column + 1] });
        }
        runs.b.rank(rank).start("fc.weight", f32({ 2, 2 }, tile));
    }
    const auto alignment = runs.alignment();
    EXPECT_EQ(ofB(alignment, "s0/start/param/fc.weight"), whole);
    EXPECT_TRUE(pairOf(alignment, "s0/start/param/fc.weight").guess);
    EXPECT_TRUE(contains(pairOf(alignment, "s0/start/param/fc.weight").assembly, "found by comparing elements"));
}

TEST(Mesh, APipelineStageHasItsOwnRanks)
{
    RecordedRun a("single"), b("pp2tp2", 4);
    a.rank().start("l0.weight", f32({ 4 }, { 1, 2, 3, 4 })).start("l1.weight", f32({ 4 }, { 5, 6, 7, 8 }));
    for (int rank = 0; rank < 4; ++rank) {
        const auto x = static_cast<float>(2 * rank);
        b.rank(rank).info({ { "coordinates", { { "pp", rank / 2 }, { "tp", rank % 2 } } } }).start(rank < 2 ? "l0.weight" : "l1.weight", f32({ 2 }, { x + 1, x + 2 }));
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/start/param/l0.weight"), (Elements { 1, 2, 3, 4 }));
    EXPECT_EQ(ofB(alignment, "s0/start/param/l1.weight"), (Elements { 5, 6, 7, 8 }));
}

/// A run of one parameter fc.weight in pieces that say where they lie in the whole.
class TiledRun {
public:
    explicit TiledRun(Shape whole)
        : m_whole(std::move(whole))
    {
    }
    void tile(const Shape& offset, const test::Values& values)
    {
        auto writer = bundle::RankWriter::create(path(), m_ranks++);
        ASSERT_TRUE(writer);
        bundle::TensorRecord record;
        record.phase = bundle::Phase::Start;
        record.kind = bundle::Kind::Param;
        record.module = "fc";
        record.param = "weight";
        record.dtype = values.dtype;
        record.shape = values.shape;
        record.globalShape = m_whole;
        record.globalOffset = offset;
        EXPECT_TRUE(writer->tensor(record, values.bytes));
        EXPECT_TRUE(writer->info({ { "run", "tiled" }, { "world_size", 8 }, { "status", "complete" } }));
    }
    Side side() const
    {
        EXPECT_TRUE(bundle::writeBundleInfo(path(), { { "name", "tiled" }, { "world_size", m_ranks } }));
        auto bundle = bundle::Bundle::open(path());
        EXPECT_TRUE(bundle);
        return Side::whole(bundle.value_or(nullptr));
    }

private:
    std::filesystem::path path() const { return m_folder.path() / "tiled.forkpoint"; }
    test::TempFolder m_folder;
    Shape m_whole;
    int m_ranks = 0;
};

TEST(Tiles, LieWhereTheirOffsetsSay)
{
    RecordedRun a("single");
    TiledRun b({ 3, 2 }); // uneven: 3 rows over two ranks, and the last piece is shorter
    a.rank().start("fc.weight", f32({ 3, 2 }, { 1, 2, 3, 4, 5, 6 }));
    b.tile({ 0, 1 }, f32({ 2, 1 }, { 2, 4 }));
    b.tile({ 0, 0 }, f32({ 2, 1 }, { 1, 3 }));
    b.tile({ 2, 1 }, f32({ 1, 1 }, { 6 }));
    b.tile({ 2, 0 }, f32({ 1, 1 }, { 5 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/start/param/fc.weight"), (Elements { 1, 2, 3, 4, 5, 6 }));
    EXPECT_FALSE(pairOf(alignment, "s0/start/param/fc.weight").guess);
}

TEST(Tiles, RanksOfOneTileAreReplicas)
{
    RecordedRun a("single");
    TiledRun b({ 2 });
    a.rank().start("fc.weight", f32({ 2 }, { 1, 2 }));
    b.tile({ 0 }, f32({ 1 }, { 1 }));
    b.tile({ 1 }, f32({ 1 }, { 2 }));
    b.tile({ 0 }, f32({ 1 }, { 1 }));
    b.tile({ 1 }, f32({ 1 }, { 7 }));
    const auto alignment = aligned(a.side(), b.side());
    ASSERT_EQ(pairOf(alignment, "s0/start/param/fc.weight").lanes.size(), 2u);
    EXPECT_EQ(ofB(alignment, "s0/start/param/fc.weight", 1), (Elements { 1, 7 }));
}

TEST(Tiles, ARankWithoutElementsIsLeftOut)
{
    RecordedRun a("single");
    TiledRun b({ 2 });
    a.rank().start("fc.weight", f32({ 2 }, { 1, 2 }));
    b.tile({ 0 }, f32({ 1 }, { 1 }));
    b.tile({ 1 }, f32({ 1 }, { 2 }));
    b.tile({ 2 }, f32({ 0 }, {}));
    EXPECT_EQ(ofB(aligned(a.side(), b.side()), "s0/start/param/fc.weight"), (Elements { 1, 2 }));
}

TEST(Padding, OfDeclaredPiecesIsCutOff)
{
    RecordedRun a("single"), b("tp2", 2);
    const test::At shard { .placement = { { "tp", Type::Shard, 0, "" } } };
    a.rank().start("wte.weight", f32({ 3 }, { 1, 2, 3 })).start("undeclared", f32({ 3 }, { 1, 2, 3 }));
    b.rank(0).start("wte.weight", f32({ 2 }, { 1, 2 }), shard).start("undeclared", f32({ 2 }, { 1, 2 }));
    b.rank(1).start("wte.weight", f32({ 2 }, { 3, 0 }), shard).start("undeclared", f32({ 2 }, { 3, 0 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(ofB(alignment, "s0/start/param/wte.weight"), (Elements { 1, 2, 3 }));
    EXPECT_TRUE(contains(pairOf(alignment, "s0/start/param/wte.weight").assembly, "padding cut off"));
    EXPECT_EQ(pairOf(alignment, "s0/start/param/undeclared").status, PairStatus::Unrelated) << "a guess is not cut to fit";
}

TEST(PlacementRule, OverridesWhatWouldBeGuessed)
{
    RecordedRun a("single"), b("tp2", 2);
    a.rank().start("l0.qkv.weight", f32({ 2 }, { 4, 6 }));
    b.rank(0).start("l0.qkv.weight", f32({ 2 }, { 1, 2 }));
    b.rank(1).start("l0.qkv.weight", f32({ 2 }, { 3, 4 }));
    const auto alignment = aligned(a.side(), b.side(), { .stepOffset = {}, .placements = { rule("l*.qkv=partial(sum)@tp") } });
    EXPECT_EQ(ofB(alignment, "s0/start/param/l0.qkv.weight"), (Elements { 4, 6 }));
    EXPECT_FALSE(pairOf(alignment, "s0/start/param/l0.qkv.weight").guess);
    EXPECT_TRUE(contains(pairOf(alignment, "s0/start/param/l0.qkv.weight").assembly, "placement given: l*.qkv=partial(sum)@tp"));
}

TEST(PlacementRule, ThatDoesNotFitIsSaid)
{
    RecordedRun a("single"), b("tp2", 2);
    a.rank().start("w", f32({ 2 }, { 4, 6 }));
    b.rank(0).start("w", f32({ 2 }, { 1, 2 }));
    b.rank(1).start("w", f32({ 2 }, { 3, 4 }));
    const auto alignment = aligned(a.side(), b.side(), { .stepOffset = {}, .placements = { rule("w=shard(3)"), rule("candidate:nothing=replicate") } });
    EXPECT_EQ(alignment.pairs[0].status, PairStatus::Unrelated);
    EXPECT_TRUE(contains(alignment.pairs[0].note, "the placement that was given does not fit the shapes"));
    ASSERT_EQ(alignment.notes.size(), 1u);
    EXPECT_TRUE(contains(alignment.notes[0], "'candidate:nothing=replicate' is about no tensor"));
}

TEST(PlacementRule, IsParsed)
{
    const auto parsed = rule("candidate:layers.*.qkv/output=shard(-1)@tp,replicate@dp");
    EXPECT_FALSE(parsed.forA);
    EXPECT_EQ(parsed.pattern, "layers.*.qkv");
    EXPECT_EQ(parsed.kind, bundle::Kind::Output);
    EXPECT_EQ(parsed.placement, (std::vector<bundle::Placement> { { "tp", Type::Shard, -1, "" }, { "dp", Type::Replicate, 0, "" } }));
    PairKey key;
    key.module = "layers.3.qkv";
    key.kind = bundle::Kind::Output;
    EXPECT_TRUE(parsed.matches(key, false));
    EXPECT_FALSE(parsed.matches(key, true));
    key.kind = bundle::Kind::Param;
    key.param = "weight";
    EXPECT_FALSE(parsed.matches(key, false));
    EXPECT_TRUE(rule("layers.*.qkv=replicate").matches(key, true)) << "the module's parameters too";
}

TEST(PlacementRule, IsRefusedWithAReason)
{
    for (const char* text : { "", "w", "=replicate", "w=", "w=shard", "w=shard()", "w=shard(x)", "w=shard(99)", "w=replicate@", "w/nothing=replicate", "w=replicate,", "w=partial(max)" }) {
        const auto parsed = parsePlacementRule(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_TRUE(contains(parsed.error().message, "write a placement as")) << text;
    }
}

TEST(Glob, MatchesStarsAndQuestionMarks)
{
    EXPECT_TRUE(globMatches("a*c", "abbc"));
    EXPECT_TRUE(globMatches("*", ""));
    EXPECT_TRUE(globMatches("a?c*", "abc"));
    EXPECT_TRUE(globMatches("*b*b", "abab"));
    EXPECT_FALSE(globMatches("a?c", "ac"));
    EXPECT_FALSE(globMatches("", "a"));
    EXPECT_FALSE(globMatches("a*b", "abc"));
}

TEST(MeshShape, IsParsedOrRefused)
{
    EXPECT_EQ(*parseMeshShape("dp=2,tp=4"), (MeshShape { { "dp", 2 }, { "tp", 4 } }));
    for (const char* text : { "", "dp", "dp=", "dp=0", "dp=x", "dp=2,dp=2", "=2", "dp=99999999999", "a=16777216,b=16777216" }) {
        EXPECT_FALSE(parseMeshShape(text)) << text;
    }
}

} // namespace
} // namespace forkpoint::align
