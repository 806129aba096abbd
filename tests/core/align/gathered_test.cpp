// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/assembled_bytes.h"
#include "tests/support/run_builder.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>

// What a rank has gathered from all others, as contrastive losses do: the samples of all ranks, in the order of the ranks; and what relates every
// sample to every other one, and so has samples along two dims.
namespace forkpoint::align {
namespace {

using test::aligned;
using test::bytesOf;
using test::f32;
using test::i64;
using test::RecordedRun;

using Order = std::vector<std::int64_t>;
using World = std::vector<Order>; ///< samples of each rank

constexpr std::int64_t kRows = 8, kFeatures = 3;

const World kWhole { { 0, 1, 2, 3, 4, 5, 6, 7 } }, kShuffled { { 6, 1, 4, 3, 0, 7, 2, 5 } }, kTwo { { 0, 2, 4, 6 }, { 1, 3, 5, 7 } },
    kFour { { 0, 4 }, { 1, 5 }, { 2, 6 }, { 3, 7 } };

Order gathered(const World& world)
{
    Order out;
    for (const auto& own : world) {
        out.insert(out.end(), own.begin(), own.end());
    }
    return out;
}

test::Values features(const Order& rows, float times = 1)
{
    std::vector<float> out;
    for (const auto row : rows) {
        for (std::int64_t feature = 0; feature < kFeatures; ++feature) {
            out.push_back((static_cast<float>(row * 16 + feature) + 1) * times);
        }
    }
    return f32({ std::ssize(rows), kFeatures }, out);
}

test::Values similarities(const Order& rows, const Order& columns)
{
    std::vector<float> out;
    for (const auto row : rows) {
        for (const auto column : columns) {
            out.push_back(static_cast<float>(row * 100 + column) + 0.5f);
        }
    }
    return f32({ std::ssize(rows), std::ssize(columns) }, out);
}

/// How a rank sees what it gathered, given the order in which it should.
using Gather = std::function<Order(int rank, const Order& inOrder)>;

void write(RecordedRun& run, const World& world, const Gather& gather = [](int, const Order& inOrder) { return inOrder; })
{
    const float shares[] = { 0.5f, 1.5f, 0.75f, 1.25f }; // each rank's of the loss and of a gradient, which are means over ranks
    for (int rank = 0; rank < static_cast<int>(world.size()); ++rank) {
        const auto& own = world[static_cast<std::size_t>(rank)];
        const auto all = gather(rank, gathered(world));
        const float share = world.size() == 1 ? 1.0f : shares[rank];
        run.rank(rank).batch(i64({ std::ssize(own) }, own), { .slot = "0" }).output("own", features(own));
        run.rank(rank).output("gathered", features(all)).output("own_to_all", similarities(own, all));
        run.rank(rank).output("all_to_own", similarities(all, own)).output("all_to_all", similarities(all, all));
        run.rank(rank).loss(2 * share).gradOutput("gathered", features(all, share));
    }
}

bool isEqual(const Alignment& alignment, const Pair& pair)
{
    return pair.status == PairStatus::Matched && std::all_of(pair.lanes.begin(), pair.lanes.end(), [&](const Lane& lane) {
        return bytesOf(alignment.a, lane.a) == bytesOf(alignment.b, lane.b);
    });
}

class Gathered : public ::testing::TestWithParam<std::pair<const World*, const World*>> { };

TEST_P(Gathered, IsBroughtToTheOrderOfTheReference)
{
    const auto& [worldA, worldB] = GetParam();
    RecordedRun a("a", static_cast<int>(worldA->size())), b("b", static_cast<int>(worldB->size()));
    write(a, *worldA);
    write(b, *worldB);
    const auto alignment = aligned(a.side(), b.side());
    for (const auto& pair : alignment.pairs) {
        EXPECT_TRUE(isEqual(alignment, pair)) << pair.id << ": " << *pair.assembly << *pair.note << "\n" << alignment.steps.front().text;
    }
}

INSTANTIATE_TEST_SUITE_P(Worlds, Gathered,
                         ::testing::Values(std::pair(&kWhole, &kShuffled), std::pair(&kWhole, &kTwo), std::pair(&kWhole, &kFour),
                                           std::pair(&kTwo, &kWhole), std::pair(&kTwo, &kFour), std::pair(&kFour, &kShuffled)));

TEST(AGatherThatIsWrong, StaysDifferent)
{
    const std::pair<const char*, Gather> wrong[] = {
        { "one rank has two samples in each other's place",
          [](int rank, const Order& all) {
              Order out = all;
              std::swap(out[0], out[rank == 1 ? 5u : 0u]);
              return out;
          } },
        { "own samples in the place of another rank's",
          [](int rank, const Order& all) {
              Order out = all;
              std::copy_n(all.begin() + rank * 4, 4, out.begin());
              return out;
          } },
        { "ranks in another order", [](int, const Order& all) {
              Order out(all.begin() + 4, all.end());
              out.insert(out.end(), all.begin(), all.begin() + 4);
              return out;
          } },
    };
    for (const auto& [what, gather] : wrong) {
        RecordedRun a("a"), b("b", 2);
        write(a, kWhole);
        write(b, kTwo, gather);
        const auto alignment = aligned(a.side(), b.side());
        EXPECT_TRUE(isEqual(alignment, test::pairOf(alignment, "s0/forward/output/own")));
        for (const char* name : { "gathered", "own_to_all", "all_to_own", "all_to_all" }) {
            const auto& pair = test::pairOf(alignment, std::string("s0/forward/output/") + name);
            EXPECT_EQ(pair.status, PairStatus::Matched) << *pair.note;
            EXPECT_FALSE(isEqual(alignment, pair)) << what << ": " << name;
        }
    }
}

/// Targets of a contrastive loss: which of all samples, as gathered, is the one that belongs to each.
void writeTargets(RecordedRun& run, const World& world, std::int64_t wrongBy = 0)
{
    std::int64_t first = 0;
    for (int rank = 0; rank < static_cast<int>(world.size()); ++rank) {
        const auto& own = world[static_cast<std::size_t>(rank)];
        Order targets(own.size());
        std::iota(targets.begin(), targets.end(), first + rank * wrongBy);
        for (std::size_t i = 0; i < own.size(); ++i) {
            targets[i] = own[i] == 7 ? -100 : targets[i]; // ignored
        }
        first += std::ssize(own);
        run.rank(rank).batch(i64({ std::ssize(own) }, own), { .slot = "0" }).input("criterion", i64({ std::ssize(own) }, targets), { .slot = "1" });
        run.rank(rank).loss(1);
    }
}

TEST(NumbersOfSamples, FollowTheSamples)
{
    RecordedRun a("a", 1), b("b", 2);
    writeTargets(a, kWhole);
    writeTargets(b, kTwo);
    const auto alignment = aligned(a.side(), b.side());
    const auto& pair = test::pairOf(alignment, "s0/forward/input/criterion:1");
    EXPECT_TRUE(isEqual(alignment, pair)) << *pair.assembly << *pair.note;
    EXPECT_NE(pair.assembly->find("row numbers in it follow"), std::string::npos) << *pair.assembly;
}

TEST(NumbersOfSamples, AnOffsetThatIsWrongStaysDifferent)
{
    for (const std::int64_t by : { -4, -1, 1 }) {
        RecordedRun a("a", 1), b("b", 2);
        writeTargets(a, kWhole);
        writeTargets(b, kTwo, by);
        const auto alignment = aligned(a.side(), b.side());
        const auto& pair = test::pairOf(alignment, "s0/forward/input/criterion:1");
        EXPECT_EQ(pair.status, PairStatus::Matched) << *pair.note;
        EXPECT_FALSE(isEqual(alignment, pair)) << by;
    }
}

/// A module that gathers from all ranks, which returns its input where there is one rank.
TEST(WhatIsHandedOn, HasAGradientOfItsOwnOnlyWhereItIsAnotherTensor)
{
    RecordedRun a("a"), b("b", 2);
    const auto all = features(kWhole.front());
    a.rank().batch(i64({ 8 }, kWhole.front()), { .slot = "0" }).input("gather", all).output("gather", all).gradOutput("gather", all).loss(1);
    for (int rank = 0; rank < 2; ++rank) {
        const auto& own = kTwo[static_cast<std::size_t>(rank)];
        b.rank(rank).batch(i64({ 4 }, own), { .slot = "0" }).input("gather", features(own)).output("gather", features(gathered(kTwo)));
        b.rank(rank).gradOutput("gather", features(gathered(kTwo), 0.5f)).loss(1);
    }
    for (const bool turned : { false, true }) {
        const auto alignment = turned ? aligned(b.side(), a.side()) : aligned(a.side(), b.side());
        EXPECT_TRUE(isEqual(alignment, test::pairOf(alignment, "s0/forward/output/gather")));
        const auto& pair = test::pairOf(alignment, "s0/backward/grad_output/gather");
        EXPECT_EQ(pair.status, PairStatus::NotObserved);
        EXPECT_TRUE(pair.note->starts_with(turned ? "the candidate hands" : "the reference hands")) << *pair.note;
    }
}

TEST(WhatIsHandedOn, IsComparedWhereBothSidesDo)
{
    RecordedRun a("a"), b("b", 2);
    const auto all = features(kWhole.front());
    a.rank().batch(i64({ 8 }, kWhole.front()), { .slot = "0" }).input("identity", all).output("identity", all).gradOutput("identity", all).loss(1);
    for (int rank = 0; rank < 2; ++rank) {
        const auto own = features(kTwo[static_cast<std::size_t>(rank)]);
        b.rank(rank).batch(i64({ 4 }, kTwo[static_cast<std::size_t>(rank)]), { .slot = "0" }).input("identity", own).output("identity", own);
        b.rank(rank).gradOutput("identity", own).loss(1);
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(test::pairOf(alignment, "s0/backward/grad_output/identity").status, PairStatus::Matched);
}

TEST(AMatrixOfAsManyFeaturesAsSamples, KeepsItsFeatures)
{
    RecordedRun a("a"), b("b", 2);
    const Order columns = kWhole.front();
    for (int rank = 0; rank < 2; ++rank) {
        const auto& own = kTwo[static_cast<std::size_t>(rank)];
        b.rank(rank).batch(i64({ 4 }, own), { .slot = "0" }).output("fc", similarities(own, columns)).loss(1);
        b.rank(rank).output("table", similarities(columns, columns));
    }
    a.rank().batch(i64({ 8 }, kWhole.front()), { .slot = "0" }).output("fc", similarities(kWhole.front(), columns)).loss(1);
    a.rank().output("table", similarities(columns, columns));
    const auto alignment = aligned(a.side(), b.side());
    for (const char* name : { "fc", "table" }) {
        EXPECT_TRUE(isEqual(alignment, test::pairOf(alignment, std::string("s0/forward/output/") + name))) << name;
    }
}

} // namespace
} // namespace forkpoint::align
