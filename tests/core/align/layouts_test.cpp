// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/assembled_bytes.h"
#include "tests/support/run_builder.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <limits>
#include <numeric>

// Every way to lay out samples and positions in a tensor, with every way to deal them to ranks and micro-steps: batch first, as most models have it;
// sequence first, as nn.LSTM and nn.Transformer have it by default; flattened, as criteria want it.
namespace forkpoint::align {
namespace {

using test::aligned;
using test::bytesOf;
using test::f32;
using test::i64;
using test::RecordedRun;

using Order = std::vector<std::int64_t>;

constexpr std::int64_t kRows = 4, kFeatures = 3;

/// What a cell has: these samples, and of each these positions.
struct Share {
    Order rows, positions;
};

float valueAt(std::int64_t row, std::int64_t position, std::int64_t feature)
{
    return static_cast<float>(row * 1000 + position * 10 + feature) + 0.5f;
}

test::Values values(const Share& share, Shape shape, bool sequenceFirst)
{
    std::vector<float> out;
    const auto &outer = sequenceFirst ? share.positions : share.rows, &inner = sequenceFirst ? share.rows : share.positions;
    for (const auto i : outer) {
        for (const auto j : inner) {
            for (std::int64_t feature = 0; feature < kFeatures; ++feature) {
                out.push_back(sequenceFirst ? valueAt(j, i, feature) : valueAt(i, j, feature));
            }
        }
    }
    return f32(std::move(shape), out);
}

test::Values tokens(const Share& share, bool sequenceFirst)
{
    std::vector<std::int64_t> out;
    const auto &outer = sequenceFirst ? share.positions : share.rows, &inner = sequenceFirst ? share.rows : share.positions;
    for (const auto i : outer) {
        for (const auto j : inner) {
            out.push_back(sequenceFirst ? j * 100 + i : i * 100 + j);
        }
    }
    return i64({ std::ssize(outer), std::ssize(inner) }, out);
}

void record(test::RankScribe& to, const Share& share, const Share& batch, bool batchSequenceFirst)
{
    const auto n = std::ssize(share.rows), t = std::ssize(share.positions);
    to.batch(tokens(batch, batchSequenceFirst), { .slot = "0" });
    to.input("", tokens(share, batchSequenceFirst)).input("embedding", tokens(share, true));
    to.output("batch_first", values(share, { n, t, kFeatures }, false)).output("sequence_first", values(share, { t, n, kFeatures }, true));
    to.output("flat_batch_first", values(share, { n * t, kFeatures }, false)).output("flat_sequence_first", values(share, { t * n, kFeatures }, true));
    const Share last { share.rows, { 0 } };
    to.output("pooled", values(last, { n, kFeatures }, false)).output("state", values(last, { 1, n, kFeatures }, true));
    const Share positionsOnly { { 0 }, share.positions };
    to.output("positions", values(positionsOnly, { t, kFeatures }, false));
}

struct Deal {
    friend void PrintTo(const Deal& deal, std::ostream* to) { *to << deal.name; }
    std::string name;
    int ranks = 1, micros = 1;
    std::function<Order(int, int)> rows;    ///< of a rank and a micro-step
    std::function<Order(int)> positions;    ///< of a rank; null: all
};

const Deal kDeals[] = {
    { "Whole", 1, 1, [](int, int) { return Order { 0, 1, 2, 3 }; }, {} },
    { "Shuffled", 1, 1, [](int, int) { return Order { 2, 0, 3, 1 }; }, {} },
    { "TwoMicroSteps", 1, 2, [](int, int m) { return Order { 2 * m, 2 * m + 1 }; }, {} },
    { "TwoMicroStepsInTurn", 1, 2, [](int, int m) { return Order { m, m + 2 }; }, {} },
    { "TwoRanks", 2, 1, [](int r, int) { return Order { r, r + 2 }; }, {} },
    { "TwoRanksInOrder", 2, 1, [](int r, int) { return Order { 2 * r, 2 * r + 1 }; }, {} },
    { "TwoRanksTwoMicroSteps", 2, 2, [](int r, int m) { return Order { 2 * m + r }; }, {} },
};

const Deal kDealsOfPositions[] = {
    { "TwoHalvesOfPositions", 2, 1, [](int, int) { return Order { 0, 1, 2, 3 }; }, [](int r) { return r == 0 ? Order { 0, 1, 2, 3 } : Order { 4, 5, 6, 7 }; } },
    { "AZigzagOfPositions", 2, 1, [](int, int) { return Order { 0, 1, 2, 3 }; }, [](int r) { return r == 0 ? Order { 0, 1, 6, 7 } : Order { 2, 3, 4, 5 }; } },
    { "RanksOfRowsAndPositions", 4, 1, [](int r, int) { return r < 2 ? Order { 0, 2 } : Order { 1, 3 }; },
      [](int r) { return r % 2 == 0 ? Order { 0, 1, 2, 3 } : Order { 4, 5, 6, 7 }; } },
    { "RanksOfOneRowAndAZigzag", 8, 1, [](int r, int) { return Order { r / 2 }; },
      [](int r) { return r % 2 == 0 ? Order { 0, 1, 6, 7 } : Order { 2, 3, 4, 5 }; } },
    { "RanksOfRowsAndAZigzag", 4, 1, [](int r, int) { return r < 2 ? Order { 0, 2 } : Order { 1, 3 }; },
      [](int r) { return r % 2 == 0 ? Order { 0, 1, 6, 7 } : Order { 2, 3, 4, 5 }; } },
};

/// How the batch is recorded: whole or in the parts that the model gets; samples or positions first.
struct BatchLayout {
    friend void PrintTo(const BatchLayout& batch, std::ostream* to) { *to << batch.name; }
    std::string name;
    bool inParts = false, sequenceFirst = false;
};

void write(RecordedRun& run, const Deal& deal, std::int64_t length, const BatchLayout& batch)
{
    Order all(static_cast<std::size_t>(length));
    std::iota(all.begin(), all.end(), 0);
    for (int rank = 0; rank < deal.ranks; ++rank) {
        for (int micro = 0; micro < deal.micros; ++micro) {
            const Share share { deal.rows(rank, micro), deal.positions ? deal.positions(rank) : all };
            run.rank(rank).micro(micro);
            record(run.rank(rank), share, { share.rows, batch.inParts ? share.positions : all }, batch.sequenceFirst);
            run.rank(rank).loss(2);
        }
    }
}

/// The deal of the candidate, the length of the sequences, and the batch.
class Layouts : public ::testing::TestWithParam<std::tuple<Deal, int, BatchLayout>> { };

TEST_P(Layouts, AreComparedWhole)
{
    const auto& [deal, length, batch] = GetParam();
    if (deal.name == "RanksOfOneRowAndAZigzag" && batch.inParts && batch.sequenceFirst) {
        GTEST_SKIP() << "either dim of the batch may be that of the samples";
    }
    for (const auto& other : kDeals) {
        if (deal.positions && other.ranks * other.micros > 1) {
            continue; // both in parts: position_split_test.cpp
        }
        if (other.ranks == deal.ranks && other.micros == deal.micros && other.ranks * other.micros > 1) {
            continue; // compared one by one
        }
        RecordedRun a("a", other.ranks), b("b", deal.ranks);
        write(a, other, length, batch);
        write(b, deal, length, batch);
        const auto alignment = aligned(a.side(), b.side());
        for (const auto& pair : alignment.pairs) {
            ASSERT_EQ(pair.status, PairStatus::Matched) << other.name << ": " << pair.id << ": " << *pair.note;
            for (const auto& lane : pair.lanes) {
                EXPECT_EQ(bytesOf(alignment.a, lane.a), bytesOf(alignment.b, lane.b))
                    << other.name << ": " << pair.id << ": " << *pair.assembly << "\n" << alignment.steps.front().text;
            }
        }
    }
}

const BatchLayout kBatches[] = { { "", false, false }, { "BatchInParts", true, false }, { "BatchSequenceFirst", false, true },
                                 { "BatchInPartsSequenceFirst", true, true } };

std::string nameOf(const ::testing::TestParamInfo<Layouts::ParamType>& of)
{
    const auto& [deal, length, batch] = of.param;
    return deal.name + (length == 8 ? "Long" : "Odd") + batch.name;
}

INSTANTIATE_TEST_SUITE_P(Samples, Layouts, ::testing::Combine(::testing::ValuesIn(kDeals), ::testing::Values(8, 9), ::testing::ValuesIn(kBatches)), nameOf);
INSTANTIATE_TEST_SUITE_P(Positions, Layouts,
                         ::testing::Combine(::testing::ValuesIn(kDealsOfPositions), ::testing::Values(8), ::testing::ValuesIn(kBatches)), nameOf);

// What a tensor may be arranged in must not make a difference look like none.

bool isEqual(const Alignment& alignment, const std::string& id)
{
    const auto& pair = test::pairOf(alignment, id);
    return pair.status == PairStatus::Matched && bytesOf(alignment.a, pair.lanes.front().a) == bytesOf(alignment.b, pair.lanes.front().b);
}

TEST(ADefect, LabelsThatStayedWhereTheyWere)
{
    RecordedRun a("a"), b("b");
    const Order shuffled { 1, 0, 3, 2 };
    const auto labels = i64({ 4 }, { 5, 6, 7, 8 });
    for (const bool isB : { false, true }) {
        const Share share { isB ? shuffled : Order { 0, 1, 2, 3 }, { 0, 1, 2 } };
        auto& scribe = isB ? b.rank() : a.rank();
        scribe.batch(tokens(share, false), { .slot = "0" }).batch(labels, { .slot = "1" });
        scribe.output("fc", values(share, { 4, 3, kFeatures }, false)).loss(1);
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_TRUE(isEqual(alignment, "s0/data/batch/batch:0"));
    EXPECT_TRUE(isEqual(alignment, "s0/forward/output/fc"));
    EXPECT_FALSE(isEqual(alignment, "s0/data/batch/batch:1")) << "each sample has another label now";
}

TEST(Content, WhatIsFarBackInATensorIsSeen)
{
    for (const std::int64_t features : { 3, 5, 7 }) { // 4 * 6 * features elements, of which those of the last position alone are not zero
        RecordedRun a("a"), b("b");
        for (const bool isB : { false, true }) {
            const Order rows = isB ? Order { 1, 0, 3, 2 } : Order { 0, 1, 2, 3 };
            std::vector<float> gradient(static_cast<std::size_t>(24 * features), 0.0f);
            for (std::size_t row = 0; row < 4; ++row) { // [6 x 4 samples, features]
                for (std::size_t feature = 0; feature < static_cast<std::size_t>(features); ++feature) {
                    gradient[(5 * 4 + row) * static_cast<std::size_t>(features) + feature] = valueAt(rows[row], 5, static_cast<std::int64_t>(feature));
                }
            }
            auto& scribe = isB ? b.rank() : a.rank();
            scribe.batch(tokens({ rows, { 0, 1, 2, 3, 4, 5 } }, false)).loss(1).gradOutput("last", f32({ 24, features }, gradient));
        }
        EXPECT_TRUE(isEqual(aligned(a.side(), b.side()), "s0/backward/grad_output/last")) << features;
    }
}

TEST(ADefect, RowsThatARankMixedUp)
{
    RecordedRun a("a"), b("b", 2);
    write(a, kDeals[0], 8, kBatches[0]);
    for (int rank = 0; rank < 2; ++rank) {
        const Share share { { rank, rank + 2 }, { 0, 1, 2, 3, 4, 5, 6, 7 } }, mixed { { share.rows[1], share.rows[0] }, share.positions };
        auto& scribe = b.rank(rank);
        scribe.batch(tokens(share, false), { .slot = "0" });
        scribe.output("batch_first", values(rank == 1 ? mixed : share, { 2, 8, kFeatures }, false));
        scribe.output("sequence_first", values(rank == 1 ? mixed : share, { 8, 2, kFeatures }, true));
        scribe.output("flat_batch_first", values(rank == 1 ? mixed : share, { 16, kFeatures }, false));
        scribe.output("flat_sequence_first", values(rank == 1 ? mixed : share, { 16, kFeatures }, true)).loss(1);
    }
    const auto alignment = aligned(a.side(), b.side());
    for (const char* name : { "batch_first", "sequence_first", "flat_batch_first", "flat_sequence_first" }) {
        EXPECT_FALSE(isEqual(alignment, std::string("s0/forward/output/") + name)) << name;
    }
}

TEST(Content, ElementsThatAreNotFiniteDoNotStopTheSearch)
{
    RecordedRun a("a"), b("b", 2);
    const Share whole { { 0, 1, 2, 3 }, { 0, 1 } };
    const auto masked = [](const Share& share) {
        auto out = values(share, { 2 * std::ssize(share.rows), kFeatures }, true);
        for (std::size_t i = 0; i < out.bytes.size(); i += sizeof(float) * static_cast<std::size_t>(kFeatures)) {
            const float lowest = -std::numeric_limits<float>::infinity();
            std::memcpy(out.bytes.data() + i, &lowest, sizeof lowest);
        }
        return out;
    };
    a.rank().batch(tokens(whole, false)).output("scores", masked(whole)).loss(1);
    for (int rank = 0; rank < 2; ++rank) {
        const Share share { { rank, rank + 2 }, { 0, 1 } };
        b.rank(rank).batch(tokens(share, false)).output("scores", masked(share)).loss(1);
    }
    EXPECT_TRUE(isEqual(aligned(a.side(), b.side()), "s0/forward/output/scores"));
}

TEST(Orders, AClaimOfManyEntriesTakesNoMemory)
{
    RecordedRun a("a"), b("b");
    for (const bool isB : { false, true }) {
        auto& scribe = isB ? b.rank() : a.rank();
        scribe.batch(tokens({ isB ? Order { 1, 0, 3, 2 } : Order { 0, 1, 2, 3 }, { 0, 1 } }, false));
        scribe.output("fc", values({ { 0, 1, 2, 3 }, { 0, 1 } }, { 8, kFeatures }, false));
        scribe.loss(1);
    }
    std::vector<std::shared_ptr<const bundle::Bundle>> bundles;
    for (auto* run : { &a, &b }) {
        run->open();
        const auto index = run->path() / "rank00000" / "tensors.jsonl";
        std::string text;
        {
            std::ifstream in(index);
            text.assign(std::istreambuf_iterator<char>(in), {});
        }
        const std::string claimed = "\"shape\":[8,3]";
        ASSERT_NE(text.find(claimed), std::string::npos) << text;
        text.replace(text.find(claimed), claimed.size(), "\"shape\":[1099511627776,3]");
        std::ofstream(index) << text;
        auto bundle = bundle::Bundle::open(run->path());
        ASSERT_TRUE(bundle) << bundle.error().text();
        bundles.push_back(*bundle);
    }
    const auto alignment = align(Side::whole(bundles[0]), Side::whole(bundles[1]));
    EXPECT_TRUE(alignment) << "not an exception";
}

} // namespace
} // namespace forkpoint::align
