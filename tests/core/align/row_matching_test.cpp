// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/row_matching.h"

#include "core/tensor/composed_sources.h"
#include "tests/support/assembled_bytes.h"
#include "tests/support/run_builder.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <span>

// Rows found by what they hold: alone, and as the tokens that a router sends to an expert.
namespace forkpoint::align {
namespace {

using test::aligned;
using test::bytesOf;
using test::f32;
using test::i64;
using test::RecordedRun;

using Order = std::vector<std::int64_t>;
using Elements = std::vector<float>;

TensorSourcePtr matrix(const Elements& values, std::int64_t columns)
{
    const auto bytes = std::as_bytes(std::span(values));
    return memorySource(DType::Float32, { std::ssize(values) / columns, columns }, { bytes.begin(), bytes.end() }).value();
}

Order shuffled(std::int64_t n, unsigned seed)
{
    Order order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    return order;
}

/// Row i is row order[i] of `values`, with a relative error per element.
Elements taken(const Elements& values, const Order& order, std::int64_t columns, double error = 0)
{
    Elements out;
    for (const auto row : order) {
        for (std::int64_t column = 0; column < columns; ++column) {
            out.push_back(values[static_cast<std::size_t>(row * columns + column)]);
        }
    }
    return error > 0 ? test::perturbed(out, error, 5) : out;
}

TEST(NearestRows, FindsEveryRowInAnotherOrderAndRoundedOtherwise)
{
    for (const std::int64_t columns : { 1, 2, 16, 300 }) {
        for (const double error : { 0.0, 1e-6, 4e-3 }) {
            if (columns < 16 && error > 1e-4) {
                continue; // rows of few features lie too close for that
            }
            const std::int64_t rows = 500;
            const auto values = test::gaussian(static_cast<std::size_t>(rows * columns), 1);
            const auto order = shuffled(rows, 2);
            const auto found = nearestRows(matrix(taken(values, order, columns), columns), matrix(test::perturbed(values, error, 3), columns));
            ASSERT_TRUE(found);
            const auto wrong = std::inner_product(found->begin(), found->end(), order.begin(), 0, std::plus<>(), std::not_equal_to<>());
            EXPECT_LE(wrong, columns == 1 && error > 0 ? 4 : 0) << columns << " columns, error " << error; // neighbours on a line, as near as rounding
        }
    }
}

TEST(NearestRows, IsAPermutationWhateverTheRowsHold)
{
    const auto isPermutation = [](Order order) {
        std::sort(order.begin(), order.end());
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (order[i] != static_cast<std::int64_t>(i)) {
                return false;
            }
        }
        return true;
    };
    const auto some = test::gaussian(40 * 6, 1), others = test::gaussian(40 * 6, 2);
    Elements twice = some, zeros(40 * 6, 0.0f);
    std::copy_n(some.begin(), 20 * 6, twice.begin() + 20 * 6); // every row twice
    for (const auto& [a, b] : { std::pair(some, others), std::pair(twice, taken(twice, shuffled(40, 4), 6)), std::pair(zeros, zeros), std::pair(zeros, some) }) {
        const auto found = nearestRows(matrix(a, 6), matrix(b, 6));
        ASSERT_TRUE(found);
        EXPECT_TRUE(isPermutation(*found));
    }
}

TEST(NearestRows, RowsThatAreScaledFindTheirs)
{
    const std::int64_t rows = 60, columns = 16;
    const auto values = test::gaussian(static_cast<std::size_t>(rows * columns), 1);
    const auto order = shuffled(rows, 2);
    auto b = values;
    std::for_each(b.begin(), b.begin() + 45 * columns, [](float& x) { x *= 1.1f; });
    EXPECT_EQ(nearestRows(matrix(taken(values, order, columns), columns), matrix(b, columns)), order);
}

TEST(NearestRows, GivesUpOnWhatHasNoDistance)
{
    auto values = test::gaussian(12, 1);
    const auto good = matrix(values, 3);
    values[5] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(nearestRows(good, matrix(values, 3)));
    values[5] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(nearestRows(matrix(values, 3), good));
    EXPECT_FALSE(nearestRows(good, matrix(test::gaussian(12, 1), 4))) << "another shape";
    EXPECT_FALSE(nearestRows(matrix({}, 3), matrix({}, 3)));
    const auto integers = memorySource(DType::Int32, { 2, 2 }, std::vector<std::byte>(16)).value();
    EXPECT_FALSE(nearestRows(integers, integers));
}

// --- tokens that a router sends to an expert ---

constexpr std::int64_t kTokens = 5, kFeatures = 16; ///< tokens of each sample
const Order kAll { 0, 1, 2, 3, 4, 5, 6, 7 };
const std::vector<Order> kTwo { { 0, 2, 4, 6 }, { 1, 3, 5, 7 } };

/// The tokens of these samples that the expert gets, numbered sample by sample.
Order sentTo(int expert, const Order& samples)
{
    Order out;
    for (const auto sample : samples) {
        for (std::int64_t token = 0; token < kTokens; ++token) {
            if (((sample * kTokens + token) * 7919 % 13 < 6) == (expert == 0)) {
                out.push_back(sample * kTokens + token);
            }
        }
    }
    return out;
}

struct Expert {
    double error = 0; ///< relative, of rank 1
    float times = 1;  ///< on rank 1
    bool digestOnly = false;
};

void record(test::RankScribe& to, const Order& samples, const Expert& expert, bool isLast, double weight)
{
    Order tokens;
    for (const auto sample : samples) {
        for (std::int64_t token = 0; token < kTokens; ++token) {
            tokens.push_back(sample * kTokens + token);
        }
    }
    to.batch(i64({ std::ssize(samples), kTokens }, tokens), { .slot = "0" });
    const auto states = test::gaussian(kAll.size() * kTokens * kFeatures, 7);
    const test::At at { .digestOnly = expert.digestOnly };
    for (const int number : { 0, 1 }) {
        const auto sent = sentTo(number, samples);
        auto own = taken(states, sent, kFeatures, isLast ? expert.error : 0);
        std::for_each(own.begin(), own.end(), [&](float& x) { x *= isLast ? expert.times : 1.0f; });
        const std::string module = "experts." + std::to_string(number);
        to.output(module, f32({ std::ssize(sent), kFeatures }, own), at);
        to.gradOutput(module, f32({ std::ssize(sent), kFeatures }, test::scaled(own, weight)), at);
    }
}

bool agrees(const Alignment& alignment, const Pair& pair, double within)
{
    if (pair.status != PairStatus::Matched) {
        return false;
    }
    const auto a = bytesOf(alignment.a, pair.lanes.front().a), b = bytesOf(alignment.b, pair.lanes.front().b);
    double apart = 0, size = 0;
    for (std::size_t at = 0; at < a.size(); at += sizeof(float)) {
        float x = 0, y = 0;
        std::memcpy(&x, a.data() + at, sizeof x);
        std::memcpy(&y, b.data() + at, sizeof y);
        apart += std::abs(static_cast<double>(x) - y);
        size += std::abs(static_cast<double>(x));
    }
    return apart <= within * size;
}

TEST(TokensOfAnExpert, AreFoundInTheRanksThatHaveThem)
{
    for (const double error : { 0.0, 1e-6, 4e-3 }) {
        RecordedRun a("a"), b("b", 2);
        record(a.rank(), kAll, {}, false, 1);
        a.rank().loss(3);
        for (int rank = 0; rank < 2; ++rank) {
            record(b.rank(rank), kTwo[static_cast<std::size_t>(rank)], { .error = error }, rank == 1, 2);
            b.rank(rank).loss(rank == 0 ? 2.5f : 3.5f); // the mean
        }
        for (const bool turned : { false, true }) {
            const auto alignment = turned ? aligned(b.side(), a.side()) : aligned(a.side(), b.side());
            for (const char* id : { "s0/forward/output/experts.0", "s0/forward/output/experts.1", "s0/backward/grad_output/experts.0" }) {
                const auto& pair = test::pairOf(alignment, id);
                EXPECT_TRUE(agrees(alignment, pair, 2 * error)) << id << " " << error << ": " << *pair.assembly << *pair.note;
            }
        }
    }
}

/// [samples x heads, features]: the number of rows follows from the batch, and so does their order.
TEST(RowsOfSamples, ThatAModuleMixedUpAreNotFoundByContent)
{
    RecordedRun a("a"), b("b", 2);
    const auto record = [](test::RankScribe& to, const Order& samples, bool mixedUp) {
        to.batch(i64({ std::ssize(samples), kTokens }, Order(samples.size() * kTokens, 0)), { .slot = "0" });
        to.batch(i64({ std::ssize(samples) }, samples), { .slot = "1" }).loss(1);
        const auto values = test::gaussian(kAll.size() * 3 * kFeatures, 7);
        Order rows, single;
        for (const auto sample : samples) {
            for (const std::int64_t head : { 0, 1, 2 }) {
                rows.push_back(sample * 3 + (mixedUp ? 2 - head : head));
            }
            single.push_back(mixedUp ? kAll.back() - sample : sample);
        }
        to.output("heads", f32({ std::ssize(rows), 1, kFeatures }, taken(values, rows, kFeatures)));
        to.output("pooled", f32({ std::ssize(single), kFeatures }, taken(values, single, kFeatures)));
    };
    record(a.rank(), kAll, false);
    record(b.rank(0), kTwo[0], false);
    record(b.rank(1), kTwo[1], true);
    const auto alignment = aligned(a.side(), b.side());
    for (const char* id : { "s0/forward/output/heads", "s0/forward/output/pooled" }) {
        const auto& pair = test::pairOf(alignment, id);
        EXPECT_EQ(pair.status, PairStatus::Matched) << *pair.note;
        EXPECT_FALSE(agrees(alignment, pair, 0.1)) << id << ": " << *pair.assembly;
    }
}

TEST(TokensOfAnExpert, WhatOneRankComputedOtherwiseShows)
{
    for (const float times : { 1.05f, 2.0f, 0.0f }) {
        RecordedRun a("a"), b("b", 2);
        record(a.rank(), kAll, {}, false, 1);
        a.rank().loss(1);
        for (int rank = 0; rank < 2; ++rank) {
            record(b.rank(rank), kTwo[static_cast<std::size_t>(rank)], { .times = times }, rank == 1, 1);
            b.rank(rank).loss(1);
        }
        const auto alignment = aligned(a.side(), b.side());
        const auto& pair = test::pairOf(alignment, "s0/forward/output/experts.0");
        EXPECT_EQ(pair.status, PairStatus::Matched) << *pair.note;
        EXPECT_FALSE(agrees(alignment, pair, 0.01)) << times;
    }
}

TEST(TokensOfAnExpert, OfWhichNotAllIsThereAreNotCompared)
{
    RecordedRun a("a"), b("b", 2);
    record(a.rank(), kAll, { .digestOnly = true }, false, 1);
    a.rank().loss(1);
    for (int rank = 0; rank < 2; ++rank) {
        record(b.rank(rank), kTwo[static_cast<std::size_t>(rank)], { .digestOnly = true }, rank == 1, 1);
        b.rank(rank).loss(1);
    }
    const auto alignment = aligned(a.side(), b.side());
    const auto& pair = test::pairOf(alignment, "s0/forward/output/experts.0");
    EXPECT_EQ(pair.status, PairStatus::NotObserved);
    EXPECT_TRUE(pair.note->starts_with("its rows follow from the batch")) << *pair.note;
}

} // namespace
} // namespace forkpoint::align
