// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/narrower.h"
#include "reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace forkpoint::metrics {
namespace {

using test::TestTensor;
using test::tensorOf;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kFloating[] = {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16, DType::Float8E4M3FN, DType::Float8E5M2};

TEST(Narrower, theTypeWithFewerDigits)
{
    EXPECT_EQ(narrowerOf(DType::Float64, DType::Float32), DType::Float32);
    EXPECT_EQ(narrowerOf(DType::BFloat16, DType::Float32), DType::BFloat16);
    EXPECT_EQ(narrowerOf(DType::BFloat16, DType::Float16), DType::BFloat16);
    EXPECT_EQ(narrowerOf(DType::Float8E4M3FN, DType::Float8E5M2), DType::Float8E5M2);
    EXPECT_EQ(narrowerOf(DType::Complex128, DType::Complex64), DType::Complex64);
    EXPECT_FALSE(narrowerOf(DType::Float32, DType::Float32));
    EXPECT_FALSE(narrowerOf(DType::Float32, DType::Int8));
    EXPECT_FALSE(narrowerOf(DType::Int64, DType::Int8));
    EXPECT_FALSE(narrowerOf(DType::Complex64, DType::Float32));
}

TEST(Narrower, roundsToNearestAndTiesToEven)
{
    for (const DType from : kFloating) {
        for (const DType to : kFloating) {
            if (from == to || narrowerOf(from, to) != to)
                continue;
            SCOPED_TRACE(std::string(name(from)) + " to " + std::string(name(to)));
            TestTensor tensor = test::randomBits(from, 20000, 5);
            if (from == DType::Float64 || from == DType::Float32) { // most random bits are beyond the range
                const TestTensor ordinary = tensorOf(from, test::normalNumbers(20000, 6, 30));
                tensor = TestTensor(from, {20000}, {ordinary.bytes().begin(), ordinary.bytes().end()});
            }
            std::vector<std::byte> rounded(tensor.bytes().size() / itemSize(from) * itemSize(to));
            roundTo(from, tensor.bytes(), to, rounded);
            const TestTensor expected = test::referenceRounded(tensor, to);
            for (std::size_t i = 0; i < rounded.size(); i += itemSize(to)) {
                const long double got = test::decodePart(to, rounded.data() + i), wanted = test::decodePart(to, expected.bytes().data() + i);
                const long double was = test::decodePart(from, tensor.bytes().data() + i / itemSize(to) * itemSize(from));
                ASSERT_TRUE((std::isnan(got) && std::isnan(wanted)) || (got == wanted && std::signbit(got) == std::signbit(wanted)))
                    << was << " became " << got << " and not " << wanted;
            }
        }
    }
}

TEST(Narrower, edgesOfTheRange)
{
    const auto rounded = [](double value, DType to) {
        const TestTensor tensor = tensorOf(DType::Float64, {value});
        std::vector<std::byte> bytes(itemSize(to));
        roundTo(DType::Float64, tensor.bytes(), to, bytes);
        return static_cast<double>(test::decodePart(to, bytes.data()));
    };
    EXPECT_EQ(rounded(65519.99, DType::Float16), 65504);
    EXPECT_EQ(rounded(65520, DType::Float16), kInf);
    EXPECT_EQ(rounded(-1e300, DType::BFloat16), -kInf);
    EXPECT_EQ(rounded(0x1p-25, DType::Float16), 0); // a tie, to even
    EXPECT_EQ(rounded(0x1.8p-24, DType::Float16), 0x1p-23);
    EXPECT_EQ(rounded(0x1.001p-25, DType::Float16), 0x1p-24);
    EXPECT_EQ(rounded(0x1.fffp-15, DType::Float16), 0x1p-14); // into the normal numbers
    EXPECT_EQ(rounded(464, DType::Float8E4M3FN), 448);
    EXPECT_TRUE(std::isnan(rounded(465, DType::Float8E4M3FN)));
    EXPECT_TRUE(std::isnan(rounded(kInf, DType::Float8E4M3FN)));
    EXPECT_EQ(rounded(1 + 0x1p-8 + 0x1p-40, DType::BFloat16), 1 + 0x1p-7); // in one step: by way of float32 it would be a tie
}

TEST(Narrower, thePairIsComparedInBothTypes)
{
    const std::vector<double> numbers = test::normalNumbers(3000, 7);
    const TestTensor wide = tensorOf(DType::Float32, numbers);
    std::vector<std::byte> bytes(6000);
    roundTo(DType::Float32, wide.bytes(), DType::BFloat16, bytes);
    bytes[1000] ^= std::byte{2}; // element 500, by two steps
    const TestTensor narrow(DType::BFloat16, {3000}, bytes);
    for (const bool swapped : {false, true}) {
        const auto result = swapped ? measure(narrow, wide) : measure(wide, narrow);
        ASSERT_TRUE(result);
        EXPECT_LT(result->bitEqual, 100); // those that have few digits
        ASSERT_TRUE(result->narrower);
        EXPECT_EQ(result->narrower->dtype, DType::BFloat16);
        EXPECT_EQ(result->narrower->finite, 3000);
        EXPECT_EQ(result->narrower->bitEqual, 2999);
        EXPECT_EQ(result->narrower->maxAbs.index, 500);
        EXPECT_EQ(result->narrower->ulpHistogram, (Histogram{2999, 1, {1}}));
    }
    EXPECT_FALSE(measure(wide, wide)->narrower);
    EXPECT_FALSE(measure(wide, narrow, {.narrower = false})->narrower);
}

TEST(Narrower, isTheStatisticsOfTheRoundedPair)
{
    for (const DType from : kFloating) {
        for (const DType to : kFloating) {
            if (narrowerOf(from, to) != to)
                continue;
            SCOPED_TRACE(std::string(name(from)) + " to " + std::string(name(to)));
            TestTensor a = tensorOf(from, test::normalNumbers(5000, 8));
            const TestTensor b = tensorOf(to, test::normalNumbers(5000, 9));
            a.cutEvery(700);
            const auto result = measure(a, b);
            ASSERT_TRUE(result && result->narrower);
            const PairStatistics expected = test::referenceStatistics(test::referenceRounded(a, to), b, nullptr, {});
            EXPECT_EQ(result->narrower->bitEqual, expected.bitEqual);
            EXPECT_EQ(result->narrower->maxAbs, expected.maxAbs);
            EXPECT_EQ(result->narrower->ulpHistogram, expected.ulpHistogram);
            EXPECT_EQ(result->narrower->allcloseViolations, expected.allcloseViolations);
            EXPECT_NEAR(result->narrower->relL2, expected.relL2, 1e-13);
            EXPECT_NEAR(result->narrower->meanAbs, expected.meanAbs, 1e-13);
        }
    }
}

} // namespace
} // namespace forkpoint::metrics
