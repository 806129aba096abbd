// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "implementations.h"
#include "mixtures.h"
#include "reference.h"

#include "core/metrics/backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

// The contract of core/metrics: every backend, instruction set, thread count and way of cutting gives the same counts, extrema and
// histograms, bit for bit, and sums within their bound.
namespace forkpoint::metrics {
namespace {

using test::mixed;
using test::partner;
using test::TestTensor;

void expectAllAgree(const TestTensor& a, const TestTensor& b, const TestTensor* mask, const MeasureOptions& options, double tolerance)
{
    const auto run = [&] { return mask != nullptr ? measureMasked(a, b, *mask, options) : measure(a, b, options); };
    ASSERT_TRUE(selectBackend("scalar"));
    const auto expected = run();
    ASSERT_TRUE(expected);
    test::withEachImplementation([&](const test::Implementation& by) {
        const auto got = run();
        ASSERT_TRUE(got);
        EXPECT_EQ(got->backend, by.backend);
        test::expectAgrees(*got, *expected, tolerance);
        ASSERT_EQ(got->narrower.has_value(), expected->narrower.has_value());
        if (got->narrower) {
            EXPECT_EQ(got->narrower->bitEqual, expected->narrower->bitEqual);
            EXPECT_EQ(got->narrower->maxAbs, expected->narrower->maxAbs);
            EXPECT_EQ(got->narrower->ulpHistogram, expected->narrower->ulpHistogram);
        }
    });
}

class Equality : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Metrics, Equality, ::testing::ValuesIn(test::kAllTypes), [](const auto& type) { return std::string(name(type.param)); });

TEST_P(Equality, mixturesOfEverything)
{
    std::mt19937_64 random(static_cast<unsigned>(GetParam()) + 100);
    for (int round = 0; round < 12; ++round) {
        SCOPED_TRACE(round);
        const auto elements = static_cast<std::int64_t>(1 + random() % (round < 8 ? 5000 : 40000));
        TestTensor a = mixed(GetParam(), elements, random);
        const TestTensor b = partner(a, GetParam(), random);
        a.cutEvery(round % 3 == 0 ? 0 : static_cast<std::int64_t>(1 + random() % 20000));
        const double rtol = round % 4 == 0 ? 0 : std::pow(10, -static_cast<double>(random() % 7));
        expectAllAgree(a, b, nullptr, {.rtol = rtol, .atol = round % 5 == 0 ? 0 : rtol * 1e-3}, 1e-12);
    }
}

TEST_P(Equality, mixturesUnderAMask)
{
    std::mt19937_64 random(static_cast<unsigned>(GetParam()) + 200);
    for (int round = 0; round < 4; ++round) {
        const auto elements = static_cast<std::int64_t>(1 + random() % 9000);
        const TestTensor a = mixed(GetParam(), elements, random);
        const TestTensor b = partner(a, GetParam(), random);
        std::vector<std::byte> keep(static_cast<std::size_t>(elements));
        for (std::byte& byte : keep)
            byte = static_cast<std::byte>(random() % (round % 2 == 0 ? 2 : 8));
        const TestTensor mask(DType::UInt8, {elements}, keep);
        expectAllAgree(a, b, &mask, {}, 1e-12);
    }
}

TEST_P(Equality, pairsOfTwoTypes)
{
    std::mt19937_64 random(static_cast<unsigned>(GetParam()) + 300);
    for (const DType other : test::kAllTypes) {
        if (isComplex(other) != isComplex(GetParam()) || other == GetParam())
            continue;
        SCOPED_TRACE(name(other));
        const TestTensor a = mixed(GetParam(), 9000, random);
        expectAllAgree(a, partner(a, other, random), nullptr, {.rtol = 1e-3}, 1e-12);
    }
}

/// Every length up to some vectors, at the end of a longer tensor too.
TEST_P(Equality, lengthsAroundTheVector)
{
    std::mt19937_64 random(static_cast<unsigned>(GetParam()) + 400);
    for (std::int64_t elements = 1; elements <= 70; ++elements) {
        const TestTensor a = mixed(GetParam(), elements, random);
        expectAllAgree(a, partner(a, GetParam(), random), nullptr, {.rtol = 1e-2, .atol = 0}, 1e-12);
        const TestTensor longer = test::tensorOf(GetParam(), test::normalNumbers(static_cast<std::size_t>((1024 + elements) * test::partsOfElement(GetParam())), 7, 40));
        expectAllAgree(longer, partner(longer, GetParam(), random), nullptr, {}, 1e-12);
    }
}

/// However it is cut: counts, extrema and histograms; sums within their bound.
TEST_P(Equality, chunksDoNotMatter)
{
    std::mt19937_64 random(static_cast<unsigned>(GetParam()) + 500);
    TestTensor a = mixed(GetParam(), 30000, random);
    const TestTensor b = partner(a, GetParam(), random);
    test::withEachImplementation([&](const test::Implementation&) {
        a.cutEvery(0);
        const auto whole = measure(a, b);
        ASSERT_TRUE(whole);
        for (const std::int64_t cut : {1, 15, 1000, 1024, 4097, 20000}) {
            if (cut == 1 && a.dtype() != DType::Float32)
                continue; // slow, and the same code
            a.cutEvery(cut);
            for (const int threads : {1, 2}) {
                const auto got = measure(a, b, {.threads = threads});
                ASSERT_TRUE(got);
                test::expectAgrees(*got, *whole, 1e-12);
            }
        }
    });
}

/// The lowest index wins, in whatever lane or block it lies.
TEST(Equality, tiesInEveryLane)
{
    for (const DType dtype : {DType::Float32, DType::BFloat16, DType::Float64, DType::Int8}) {
        for (const std::size_t first : {0u, 1u, 7u, 15u, 16u, 17u, 511u, 512u, 1023u, 1024u, 1025u, 2047u, 2050u}) {
            std::vector<double> a(2100, 2.0), b(2100, 2.0);
            for (std::size_t i = first; i < a.size(); i += 3)
                b[i] = 3.0;
            const TestTensor x = test::tensorOf(dtype, a), y = test::tensorOf(dtype, b);
            test::withEachImplementation([&](const test::Implementation&) {
                const auto got = measure(x, y);
                ASSERT_TRUE(got);
                EXPECT_EQ(got->maxAbs.index, static_cast<std::int64_t>(first));
                EXPECT_EQ(got->maxRel.index, static_cast<std::int64_t>(first));
                EXPECT_EQ(got->maxRel.value, 1.0 / 3);
                EXPECT_EQ(got->maxAbs.a, 2);
                EXPECT_EQ(got->maxAbs.b, 3);
            });
        }
    }
}

/// Edges of the bins: each side of a power of two.
TEST(Equality, histogramEdges)
{
    const std::vector<double> a(4000, 1.0);
    std::vector<double> b;
    for (int i = 0; i < 4000; ++i) {
        const double size = std::ldexp(1.0, i % 50 - 25);
        b.push_back(1 + (i % 3 == 0 ? size : i % 3 == 1 ? std::nextafter(size, 0) : -size));
    }
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Float8E4M3FN, DType::Float8E5M2}) {
        const TestTensor x = test::tensorOf(dtype, a), y = test::tensorOf(dtype, b);
        const PairStatistics expected = test::referenceStatistics(x, y, nullptr, {});
        test::withEachImplementation([&](const test::Implementation&) {
            const auto got = measure(x, y);
            ASSERT_TRUE(got);
            test::expectAgrees(*got, expected);
        });
    }
}

} // namespace
} // namespace forkpoint::metrics
