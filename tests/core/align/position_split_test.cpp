// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/position_split.h"

#include "tests/support/assembled_bytes.h"
#include "tests/support/run_builder.h"

#include <gtest/gtest.h>
#include <numeric>

// Ranks that each hold some of the positions of their rows, found by the tokens and compared whole.
namespace forkpoint::align {
namespace {

using test::aligned;
using test::bytesOf;
using test::f32;
using test::i64;
using test::RecordedRun;

using Order = std::vector<std::int64_t>;

/// Rows of tokens, of which no two are equal at any place.
std::vector<std::int64_t> tokens(std::int64_t rows, std::int64_t positions)
{
    std::vector<std::int64_t> out(static_cast<std::size_t>(rows * positions));
    std::iota(out.begin(), out.end(), 100);
    return out;
}

/// The entries [row][position] of a matrix.
template <class T>
std::vector<T> cut(const std::vector<T>& matrix, std::int64_t width, const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& positions)
{
    std::vector<T> out;
    for (const auto row : rows) {
        for (const auto position : positions) {
            out.push_back(matrix[static_cast<std::size_t>(row * width + position)]);
        }
    }
    return out;
}

std::vector<float> asFloats(const std::vector<std::int64_t>& values) { return { values.begin(), values.end() }; }

std::map<Cell, RowKeys> keysOf(std::int64_t rows, const std::vector<std::vector<std::int64_t>>& ofRanks, const std::string& name = "data//ids")
{
    std::map<Cell, RowKeys> out;
    for (std::size_t r = 0; r < ofRanks.size(); ++r) {
        auto& keys = out[{ r, 0 }];
        keys.rows = rows;
        keys.tokens.push_back({ name, std::ssize(ofRanks[r]) / rows, ofRanks[r] });
    }
    return out;
}

std::vector<Cell> cells(std::size_t ranks)
{
    std::vector<Cell> out;
    for (std::size_t r = 0; r < ranks; ++r) {
        out.push_back({ r, 0 });
    }
    return out;
}

std::optional<PositionSplit> splitOf(std::int64_t rows, const std::vector<std::int64_t>& whole, std::int64_t partRows,
                                     const std::vector<std::vector<std::int64_t>>& parts)
{
    return positionSplit(keysOf(rows, { whole }), cells(1), keysOf(partRows, parts), cells(parts.size()));
}

TEST(PositionSplit, Halves)
{
    const auto whole = tokens(2, 4);
    const auto split = splitOf(2, whole, 2, { cut(whole, 4, { 0, 1 }, { 0, 1 }), cut(whole, 4, { 0, 1 }, { 2, 3 }) });
    ASSERT_TRUE(split);
    EXPECT_EQ(split->order, (Order { 0, 1, 2, 3 }));
    EXPECT_EQ(split->rows.at({ 1, 0 }).content, (std::vector<RowKey> { { 0, 0 }, { 1, 0 } }));
}

TEST(PositionSplit, RanksInAnotherOrder)
{
    const auto whole = tokens(2, 4);
    const auto split = splitOf(2, whole, 2, { cut(whole, 4, { 0, 1 }, { 2, 3 }), cut(whole, 4, { 0, 1 }, { 0, 1 }) });
    ASSERT_TRUE(split);
    EXPECT_EQ(split->order, (Order { 2, 3, 0, 1 }));
}

TEST(PositionSplit, AZigzag)
{
    const auto whole = tokens(2, 8);
    const auto split = splitOf(2, whole, 2, { cut(whole, 8, { 0, 1 }, { 0, 1, 6, 7 }), cut(whole, 8, { 0, 1 }, { 2, 3, 4, 5 }) });
    ASSERT_TRUE(split);
    EXPECT_EQ(split->order, (Order { 0, 1, 4, 5, 6, 7, 2, 3 })) << "position i of the whole is position order[i] of the parts joined";
}

TEST(PositionSplit, InGroupsThatDealRowsInTurn)
{
    const auto whole = tokens(4, 4);
    const auto split = splitOf(4, whole, 2, { cut(whole, 4, { 0, 2 }, { 0, 1 }), cut(whole, 4, { 0, 2 }, { 2, 3 }), cut(whole, 4, { 1, 3 }, { 0, 1 }),
                                              cut(whole, 4, { 1, 3 }, { 2, 3 }) });
    ASSERT_TRUE(split);
    EXPECT_EQ(split->order, (Order { 0, 1, 2, 3 }));
    EXPECT_EQ(split->rows.at({ 2, 0 }).content, (std::vector<RowKey> { { 1, 0 }, { 3, 0 } }));
}

TEST(PositionSplit, ReplicasOfAPartCountOnce)
{
    const auto whole = tokens(2, 4);
    const auto left = cut(whole, 4, { 0, 1 }, { 0, 1 }), right = cut(whole, 4, { 0, 1 }, { 2, 3 });
    const auto split = splitOf(2, whole, 2, { left, left, right, right });
    ASSERT_TRUE(split);
    EXPECT_EQ(split->order, (Order { 0, 1, 2, 3 }));
}

TEST(PositionSplit, RowsThatBeginAlike)
{
    const std::vector<std::int64_t> whole { 1, 2, 10, 11, 1, 2, 20, 21, 1, 2, 30, 31 };
    const auto split = splitOf(3, whole, 3, { cut(whole, 4, { 0, 1, 2 }, { 0, 1 }), cut(whole, 4, { 0, 1, 2 }, { 2, 3 }) });
    ASSERT_TRUE(split);
    EXPECT_EQ(split->order, (Order { 0, 1, 2, 3 }));
    EXPECT_EQ(split->rows.at({ 0, 0 }).content, split->rows.at({ 1, 0 }).content);
}

TEST(PositionSplit, PaddingThatFitsInSeveralPlacesIsNotBelieved)
{
    const std::vector<std::int64_t> whole { 1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0 };
    std::vector<std::vector<std::int64_t>> quarters;
    for (const std::int64_t first : { 0, 4, 2, 6 }) {
        quarters.push_back(cut(whole, 8, { 0, 1 }, { first, first + 1 }));
    }
    EXPECT_FALSE(splitOf(2, whole, 2, quarters)) << "which of the last two ranks has which padding is not known";
}

TEST(PositionSplit, GroupsMustSplitAlike)
{
    const auto whole = tokens(4, 4);
    EXPECT_FALSE(splitOf(4, whole, 2, { cut(whole, 4, { 0, 1 }, { 0, 1 }), cut(whole, 4, { 0, 1 }, { 2, 3 }), cut(whole, 4, { 2, 3 }, { 2, 3 }),
                                        cut(whole, 4, { 2, 3 }, { 0, 1 }) }));
}

TEST(PositionSplit, EveryPositionMustBeThereOnce)
{
    const auto whole = tokens(2, 4);
    const auto left = cut(whole, 4, { 0, 1 }, { 0, 1 });
    EXPECT_FALSE(splitOf(2, whole, 2, { left, left })) << "the right half is on no rank";
    EXPECT_FALSE(splitOf(2, whole, 2, { left, cut(whole, 4, { 0, 1 }, { 1, 2 }) }));
}

TEST(PositionSplit, OtherTokensAreNoPart)
{
    const auto whole = tokens(2, 4);
    auto right = cut(whole, 4, { 0, 1 }, { 2, 3 });
    right.back() += 1;
    EXPECT_FALSE(splitOf(2, whole, 2, { cut(whole, 4, { 0, 1 }, { 0, 1 }), right }));
}

TEST(PositionSplit, AMaskTellsNothing)
{
    EXPECT_FALSE(splitOf(2, Order(8, 1), 2, { Order(4, 1), Order(4, 1) }));
    EXPECT_FALSE(splitOf(2, { 0, 1, 2, 3, 0, 1, 2, 3 }, 2, { { 0, 1, 0, 1 }, { 2, 3, 2, 3 } })) << "which rows these are is not known";
}

TEST(PositionSplit, WholeRowsAreNoSplit)
{
    const auto whole = tokens(2, 4);
    EXPECT_FALSE(splitOf(2, whole, 1, { cut(whole, 4, { 0 }, { 0, 1, 2, 3 }), cut(whole, 4, { 1 }, { 0, 1, 2, 3 }) }));
}

TEST(PositionSplit, OfTensorsThatBothSidesHave)
{
    const auto whole = tokens(2, 4);
    const std::vector<std::vector<std::int64_t>> halves { cut(whole, 4, { 0, 1 }, { 0, 1 }), cut(whole, 4, { 0, 1 }, { 2, 3 }) };
    EXPECT_FALSE(positionSplit(keysOf(2, { whole }, "ids"), cells(1), keysOf(2, halves, "labels"), cells(2)));
}

/// A model of one embedding of positions and one layer, on one rank and on dp x cp ranks.
class SplitRuns : public ::testing::TestWithParam<std::tuple<bool, bool>> {
protected:
    static constexpr std::int64_t kRows = 4, kPositions = 8;

    SplitRuns()
    {
        const auto [zigzag, dealtWhole] = GetParam();
        const auto ids = tokens(kRows, kPositions);
        std::vector<std::int64_t> all(static_cast<std::size_t>(kPositions)), allRows(static_cast<std::size_t>(kRows));
        std::iota(all.begin(), all.end(), 0);
        std::iota(allRows.begin(), allRows.end(), 0);
        m_a.rank().batch(i64({ kRows, kPositions }, ids));
        record(m_a.rank(), ids, allRows, all, 1);
        m_a.rank().loss(3).grad("fc.weight", f32({ 1 }, { 5 }));
        for (int rank = 0; rank < 4; ++rank) {
            const std::vector<std::int64_t> rows = rank < 2 ? Order { 0, 2 } : Order { 1, 3 };
            const auto positions = zigzag ? (rank % 2 == 0 ? Order { 0, 1, 6, 7 } : Order { 2, 3, 4, 5 })
                                          : (rank % 2 == 0 ? Order { 0, 1, 2, 3 } : Order { 4, 5, 6, 7 });
            const auto& dealt = dealtWhole ? all : positions;
            m_b.rank(rank).batch(i64({ 2, std::ssize(dealt) }, cut(ids, kPositions, rows, dealt)));
            record(m_b.rank(rank), ids, rows, positions, 4);
            m_b.rank(rank).loss(1.5f + static_cast<float>(rank)).grad("fc.weight", f32({ 1 }, { 2 + 2 * static_cast<float>(rank) }));
        }
    }

    /// `ranks`: the loss of each is a mean over so many times fewer positions.
    static void record(test::RankScribe& to, const std::vector<std::int64_t>& ids, const Order& rows, const Order& positions, float ranks)
    {
        const auto n = std::ssize(rows), t = std::ssize(positions);
        const auto own = cut(ids, kPositions, rows, positions);
        to.input("", i64({ n, t }, own)).input("tokens", i64({ n, t }, own)).input("positions", i64({ t }, positions));
        to.output("positions", f32({ t, 1 }, asFloats(positions)));
        to.output("fc", f32({ n, t, 1 }, asFloats(own))).output("heads", f32({ n, 1, t, 1 }, asFloats(own))).output("flat", f32({ n * t, 1 }, asFloats(own)));
        auto gradient = asFloats(own);
        for (auto& g : gradient) {
            g *= ranks;
        }
        to.gradOutput("fc", f32({ n, t, 1 }, gradient));
        // The gradient of an embedding of positions is summed over the rows.
        std::vector<float> summed(positions.size(), 0.0f);
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            summed[i % positions.size()] += gradient[i];
        }
        to.gradOutput("positions", f32({ t, 1 }, summed));
    }

    RecordedRun m_a { "a" }, m_b { "b", 4 };
};

TEST_P(SplitRuns, AreComparedWhole)
{
    for (const bool swapped : { false, true }) {
        const auto alignment = swapped ? aligned(m_b.side(), m_a.side()) : aligned(m_a.side(), m_b.side());
        for (const auto& pair : alignment.pairs) {
            EXPECT_EQ(pair.status, PairStatus::Matched) << pair.id << ": " << *pair.note;
            for (const auto& lane : pair.lanes) {
                EXPECT_EQ(bytesOf(alignment.a, lane.a), bytesOf(alignment.b, lane.b)) << pair.id << ": " << *pair.assembly;
            }
        }
        EXPECT_EQ(alignment.steps.front().text.find("do not hold the same rows"), std::string::npos) << alignment.steps.front().text;
    }
}

TEST_P(SplitRuns, AreComparedWithRanksThatSplitOtherwise)
{
    // Four ranks that split the positions of all rows in quarters, from last to first.
    RecordedRun other("c", 4);
    const auto ids = tokens(kRows, kPositions);
    const Order all { 0, 1, 2, 3, 4, 5, 6, 7 }, allRows { 0, 1, 2, 3 };
    for (int rank = 0; rank < 4; ++rank) {
        other.rank(rank).batch(i64({ kRows, kPositions }, ids));
        record(other.rank(rank), ids, allRows, { 6 - 2 * rank, 7 - 2 * rank }, 4);
        other.rank(rank).loss(1.5f + static_cast<float>(rank)).grad("fc.weight", f32({ 1 }, { 2 + 2 * static_cast<float>(rank) }));
    }
    if (!std::get<1>(GetParam())) {
        return; // neither side has whole rows: nothing says which positions are which
    }
    const auto alignment = aligned(m_b.side(), other.side());
    EXPECT_FALSE(alignment.steps.front().rankByRank);
    for (const auto& pair : alignment.pairs) {
        EXPECT_EQ(pair.status, PairStatus::Matched) << pair.id << ": " << *pair.note;
        for (const auto& lane : pair.lanes) {
            EXPECT_EQ(bytesOf(alignment.a, lane.a), bytesOf(alignment.b, lane.b)) << pair.id << ": " << *pair.assembly;
        }
    }
}

/// Two ranks of a zigzag, each of which has two of tensor parallelism: features of a size that positions have, too.
TEST(SplitPositions, BesideTensorParallelFeatures)
{
    constexpr std::int64_t kRows = 2, kPositions = 8;
    const auto ids = tokens(kRows, kPositions);
    const Order all { 0, 1, 2, 3, 4, 5, 6, 7 };
    const auto features = [](const Order& positions, const Order& columns) {
        std::vector<float> out;
        for (std::int64_t row = 0; row < kRows; ++row) {
            for (const auto position : positions) {
                for (const auto column : columns) {
                    out.push_back(static_cast<float>(row * 1000 + position * 10 + column) + 0.5f);
                }
            }
        }
        return f32({ kRows, std::ssize(positions), std::ssize(columns) }, out);
    };
    RecordedRun a("a"), b("b", 4);
    a.rank().batch(i64({ kRows, kPositions }, ids)).input("", i64({ kRows, kPositions }, ids)).output("fc", features(all, all)).loss(1);
    for (int rank = 0; rank < 4; ++rank) {
        const Order positions = rank < 2 ? Order { 0, 1, 6, 7 } : Order { 2, 3, 4, 5 }, columns = rank % 2 == 0 ? Order { 0, 1, 2, 3 } : Order { 4, 5, 6, 7 };
        auto& scribe = b.rank(rank);
        scribe.info({ { "coordinates", { { "cp", rank / 2 }, { "tp", rank % 2 } } } });
        scribe.batch(i64({ kRows, kPositions }, ids)).input("", i64({ kRows, 4 }, cut(ids, kPositions, { 0, 1 }, positions)));
        scribe.output("fc", features(positions, columns)).loss(1);
    }
    const auto alignment = aligned(a.side(), b.side());
    const auto& pair = test::pairOf(alignment, "s0/forward/output/fc");
    ASSERT_EQ(pair.status, PairStatus::Matched) << *pair.note;
    EXPECT_EQ(bytesOf(alignment.a, pair.lanes.front().a), bytesOf(alignment.b, pair.lanes.front().b)) << *pair.assembly;
}

/// A script that gives every rank the whole batch, and takes every second row of it.
TEST(RowsOfItsOwn, AreThoseThatTheModelIsGiven)
{
    const auto ids = tokens(4, 3);
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(i64({ 4, 3 }, ids)).input("", i64({ 4, 3 }, ids)).output("fc", f32({ 4, 1 }, { 0, 1, 2, 3 })).loss(2);
    for (const std::int64_t rank : { 0, 1 }) {
        auto& scribe = b.rank(static_cast<int>(rank));
        scribe.batch(i64({ 4, 3 }, ids)).input("", i64({ 2, 3 }, cut(ids, 3, { rank, rank + 2 }, { 0, 1, 2 })));
        scribe.output("fc", f32({ 2, 1 }, asFloats({ rank, rank + 2 }))).loss(1 + 2 * static_cast<float>(rank));
    }
    const auto alignment = aligned(a.side(), b.side());
    for (const auto& pair : alignment.pairs) {
        ASSERT_EQ(pair.status, PairStatus::Matched) << pair.id << ": " << *pair.note;
        EXPECT_EQ(bytesOf(alignment.a, pair.lanes.front().a), bytesOf(alignment.b, pair.lanes.front().b)) << pair.id << ": " << *pair.assembly;
    }
}

INSTANTIATE_TEST_SUITE_P(Orders, SplitRuns, ::testing::Combine(::testing::Bool(), ::testing::Bool()), [](const auto& parameters) {
    return std::string(std::get<0>(parameters.param) ? "Zigzag" : "Contiguous") + (std::get<1>(parameters.param) ? "BatchWhole" : "BatchInParts");
});

} // namespace
} // namespace forkpoint::align
