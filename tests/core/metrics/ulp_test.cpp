// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/ulp.h"
#include "tests/support/test_tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace forkpoint::metrics {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::uint64_t distance(DType dtypeA, std::uint64_t bitsA, DType dtypeB, std::uint64_t bitsB)
{
    return ulpDistance(dtypeA, reinterpret_cast<const std::byte*>(&bitsA), dtypeB, reinterpret_cast<const std::byte*>(&bitsB));
}

/// All numbers of a small type, in order; the distance of two must be how many steps apart they are in this list.
TEST(UlpDistance, countsTheNumbersBetweenInSmallTypes)
{
    std::mt19937 random(1);
    for (const DType dtype : {DType::Float8E4M3FN, DType::Float8E5M2, DType::Float16, DType::BFloat16}) {
        SCOPED_TRACE(name(dtype));
        const auto patterns = std::uint64_t{1} << itemSize(dtype) * 8;
        std::vector<long double> numbers;
        std::vector<long double> valueOf(patterns);
        for (std::uint64_t bits = 0; bits < patterns; ++bits) {
            valueOf[bits] = test::decodePart(dtype, reinterpret_cast<const std::byte*>(&bits));
            if (!std::isnan(valueOf[bits]))
                numbers.push_back(valueOf[bits]);
        }
        std::sort(numbers.begin(), numbers.end());
        numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
        const auto placeOf = [&](std::uint64_t bits) { return std::lower_bound(numbers.begin(), numbers.end(), valueOf[bits]) - numbers.begin(); };
        const auto check = [&](std::uint64_t x, std::uint64_t y) {
            const bool nan = std::isnan(valueOf[x]) || std::isnan(valueOf[y]);
            const auto expected = nan ? kUlpUndefined : static_cast<std::uint64_t>(std::abs(placeOf(x) - placeOf(y)));
            ASSERT_EQ(distance(dtype, x, dtype, y), expected) << x << " " << y;
        };
        if (patterns == 256) {
            for (std::uint64_t x = 0; x < patterns; ++x) {
                for (std::uint64_t y = 0; y < patterns; ++y)
                    check(x, y);
            }
        } else {
            for (int i = 0; i < 200000; ++i)
                check(random() % patterns, random() % patterns);
        }
    }
}

TEST(UlpDistance, floatAndDoubleStepByStep)
{
    std::mt19937_64 random(2);
    for (int i = 0; i < 2000; ++i) {
        const auto bits = static_cast<std::uint32_t>(random());
        const float x = std::bit_cast<float>(bits);
        if (!std::isfinite(x))
            continue;
        float y = x;
        const auto steps = random() % 50;
        for (std::uint64_t step = 0; step < steps; ++step)
            y = std::nextafterf(y, std::numeric_limits<float>::infinity());
        EXPECT_EQ(ulpDistance(x, y), std::isinf(y) ? ulpDistance(x, std::numeric_limits<float>::max()) + 1 : steps);
        EXPECT_EQ(ulpDistance(y, x), ulpDistance(x, y));
        const double wide = static_cast<double>(x);
        EXPECT_EQ(ulpDistance(wide, std::nextafter(std::nextafter(wide, kInf), kInf)), 2u);
    }
    EXPECT_EQ(ulpDistance(0.0f, -0.0f), 0u);
    EXPECT_EQ(ulpDistance(0.0, -0.0), 0u);
    EXPECT_EQ(ulpDistance(0x1p-149f, -0x1p-149f), 2u);
    EXPECT_EQ(ulpDistance(1.0f, 1.0f + 0x1p-23f), 1u);
}

TEST(UlpDistance, endsOfTheRange)
{
    constexpr float kMost = std::numeric_limits<float>::max();
    EXPECT_EQ(ulpDistance(kMost, static_cast<float>(kInf)), 1u);
    EXPECT_EQ(ulpDistance(-kMost, kMost), std::uint64_t{2} * 0x7f7fffff);
    EXPECT_EQ(ulpDistance(static_cast<float>(-kInf), static_cast<float>(kInf)), std::uint64_t{2} * 0x7f800000);
    EXPECT_EQ(ulpDistance(-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()), std::uint64_t{2} * 0x7fefffffffffffffu);
    EXPECT_EQ(ulpDistance(-kInf, kInf), std::uint64_t{2} * 0x7ff0000000000000u);
    EXPECT_EQ(ulpDistance(kNan, 1.0), kUlpUndefined);
    EXPECT_EQ(ulpDistance(1.0, kNan), kUlpUndefined);
    EXPECT_EQ(ulpDistance(kNan, kNan), kUlpUndefined);
    EXPECT_EQ(ulpDistance(static_cast<float>(kNan), 0.0f), kUlpUndefined);
}

TEST(UlpDistance, integersAreTheirDifference)
{
    const auto of = [](DType a, std::int64_t x, DType b, std::int64_t y) { return distance(a, static_cast<std::uint64_t>(x), b, static_cast<std::uint64_t>(y)); };
    EXPECT_EQ(of(DType::Int64, std::numeric_limits<std::int64_t>::min(), DType::Int64, std::numeric_limits<std::int64_t>::max()), ~std::uint64_t{0});
    EXPECT_EQ(of(DType::Int32, -5, DType::Int32, 7), 12u);
    EXPECT_EQ(of(DType::Int8, -128, DType::UInt8, 255), 383u);
    EXPECT_EQ(of(DType::Bool, 1, DType::Bool, 0), 1u);
    EXPECT_EQ(of(DType::Bool, 1, DType::Bool, 2), 0u); // any byte but 0 is true
    EXPECT_EQ(of(DType::Int16, 300, DType::Int64, 299), 1u);
}

TEST(UlpDistance, differentTypesInTheWiderOne)
{
    const auto bits16 = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x) >> 16}; };
    const auto bits32 = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
    const auto bits64 = [](double x) { return std::bit_cast<std::uint64_t>(x); };
    EXPECT_EQ(distance(DType::BFloat16, bits16(1.0f), DType::Float32, bits32(1.0f + 0x1p-23f)), 1u);
    EXPECT_EQ(distance(DType::Float32, bits32(1.0f), DType::Float64, bits64(1.0 + 0x1p-52)), 1u);
    EXPECT_EQ(distance(DType::Float16, 0x3c00, DType::BFloat16, bits16(1.0f)), 0u);
    EXPECT_EQ(distance(DType::Float16, 0x3c01, DType::BFloat16, bits16(1.0f)), std::uint64_t{1} << 13); // a step of float16 in float32's
    EXPECT_EQ(distance(DType::Int32, 1, DType::Float32, bits32(1.0f)), 0u);
    EXPECT_EQ(distance(DType::Int32, 1, DType::Float64, bits64(1.0 + 0x1p-52)), 1u);
}

} // namespace
} // namespace forkpoint::metrics
