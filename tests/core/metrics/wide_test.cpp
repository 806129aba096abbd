// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/chunk_accumulator.h"
#include "core/metrics/pair_statistics.h"

#include <gtest/gtest.h>

#include <random>

namespace forkpoint::metrics {
namespace {

long double exact(Wide x) { return std::ldexp(static_cast<long double>(x.m), x.e); }

TEST(Wide, isDoubleInTheOrdinaryRange)
{
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal(0, 1e10);
    for (int i = 0; i < 1000; ++i) {
        const double x = normal(random), y = normal(random);
        EXPECT_EQ(toDouble(wide(x) + wide(y)), x + y);
        EXPECT_EQ(toDouble(wide(x) - wide(y)), x - y);
        EXPECT_EQ(toDouble(wide(x) * wide(y)), x * y);
        EXPECT_EQ(toDouble(wide(x) / wide(y)), x / y);
        EXPECT_EQ(toDouble(root(wide(std::fabs(x)))), std::sqrt(std::fabs(x)));
        EXPECT_EQ(wide(x).e, 0);
    }
}

TEST(Wide, keepsItsDigitsFarOutside)
{
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> digits(1, 2);
    std::uniform_int_distribution<int> exponents(-1000, 1000);
    for (int i = 0; i < 20000; ++i) {
        const Wide x = wide(digits(random), exponents(random));
        const Wide y = -wide(digits(random), exponents(random));
        const auto near = [](long double got, long double expected) { return std::fabs(got - expected) <= 0x1p-52L * std::fabs(expected); };
        EXPECT_TRUE(near(exact(x * y), exact(x) * exact(y)));
        EXPECT_TRUE(near(exact(x / y), exact(x) / exact(y)));
        EXPECT_TRUE(near(exact(root(x)), std::sqrt(exact(x))));
        EXPECT_LE(std::fabs(exact(x + y) - (exact(x) + exact(y))), 0x1p-52L * (std::fabs(exact(x)) + std::fabs(exact(y))));
        EXPECT_EQ(exact(x + y), exact(y + x));
        EXPECT_EQ(x < -y, exact(x) < exact(-y));
    }
}

TEST(Wide, zeroAndTheEndsOfTheRange)
{
    EXPECT_TRUE(isZero(wide(0)));
    EXPECT_TRUE(isZero(wide(5) - wide(5)));
    EXPECT_EQ(toDouble(wide(0) + wide(1, 3000)), DBL_MAX);
    EXPECT_EQ(toDouble(-wide(1, 3000)), -DBL_MAX);
    EXPECT_EQ(toDouble(wide(1, -3000)), 0);
    EXPECT_EQ(toDouble(wide(0x1p-1074)), 0x1p-1074);
    EXPECT_EQ(toDouble(wide(DBL_MAX)), DBL_MAX);
    EXPECT_EQ(toDouble(root(wide(DBL_MAX) * wide(DBL_MAX))), DBL_MAX);
    EXPECT_EQ(toDouble(root(wide(-1))), 0);
    EXPECT_EQ(toDouble(wide(1) + wide(1, -4000)), 1);
}

TEST(Wide, addsManyAcrossTheBorder)
{
    Wide sum;
    long double expected = 0;
    for (int i = 0; i < 1000; ++i) {
        sum = sum + wide(0x1p199) * wide(1.25);
        expected += 0x1p199L * 1.25L;
    }
    EXPECT_NEAR(static_cast<double>(exact(sum) / expected), 1, 1e-13);
}

TEST(Combine, lowestIndexWinsInAnyOrder)
{
    const ExtremumAccumulator early{2.0, 3, 1, 3}, late{2.0, 9, 5, 7}, smaller{1.0, 0, 0, 1};
    for (auto order : {std::array{early, late, smaller}, std::array{late, early, smaller}, std::array{smaller, late, early}}) {
        ExtremumAccumulator sum;
        for (const ExtremumAccumulator& next : order)
            sum.combine(next);
        EXPECT_EQ(sum.index, 3);
        EXPECT_EQ(sum.value, 2.0);
        EXPECT_EQ(sum.a, 1);
    }
    ExtremumAccumulator zeros;
    zeros.combine({});
    EXPECT_EQ(zeros.index, -1);
    zeros.combine({0.0, 4, 1, 1});
    EXPECT_EQ(zeros.index, 4); // a maximum of 0 is one
}

TEST(Combine, emptyChunksChangeNothing)
{
    ChunkAccumulator sum;
    sum.combine({});
    EXPECT_EQ(finished(sum, {}, DType::Float32, DType::Float32), PairStatistics{});
}

TEST(Combine, constantDataHasNoDeviation)
{
    Moments sum;
    for (int i = 1; i < 200; ++i)
        sum.combine({i, wide(0.1), wide(0)});
    EXPECT_EQ(toDouble(sum.mean), 0.1);
    EXPECT_TRUE(isZero(sum.deviation));
}

} // namespace
} // namespace forkpoint::metrics
