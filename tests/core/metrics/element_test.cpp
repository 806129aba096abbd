// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/element.h"
#include "tests/support/test_tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <set>

namespace forkpoint::metrics {
namespace {

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(Element, sizesAndPartsAreThoseOfTheFormat)
{
    for (const DType dtype : test::kAllTypes) {
        SCOPED_TRACE(name(dtype));
        EXPECT_EQ(partSize(dtype) * static_cast<std::size_t>(partsOf(dtype)), itemSize(dtype));
        EXPECT_EQ(partsOf(dtype) == 2, isComplex(dtype));
        EXPECT_EQ(isIntegerElement(dtype), isInteger(dtype));
    }
}

TEST(Element, narrowTypesWidenAsInCoreTensor)
{
    for (std::uint32_t i = 0; i <= 0xffff; ++i) {
        const auto half = static_cast<std::uint16_t>(i);
        ASSERT_EQ(bits(widened(Float16Bits{half})), bits(fromFloat16(half))) << i;
        ASSERT_EQ(bits(widened(BFloat16Bits{half})), bits(fromBFloat16(half))) << i;
    }
    for (std::uint32_t i = 0; i <= 0xff; ++i) {
        const auto byte = static_cast<std::uint8_t>(i);
        ASSERT_EQ(bits(widened(Float8E5M2Bits{byte})), bits(fromFloat8E5M2(byte))) << i;
        const float ours = widened(Float8E4M3FNBits{byte});
        const float theirs = fromFloat8E4M3FN(byte);
        ASSERT_EQ(std::isnan(ours), std::isnan(theirs)) << i;
        ASSERT_EQ(std::signbit(ours), std::signbit(theirs)) << i;
        if (!std::isnan(ours)) {
            ASSERT_EQ(bits(ours), bits(theirs)) << i;
        }
    }
}

TEST(Element, narrowTypesWidenExactly)
{
    for (std::uint32_t i = 0; i <= 0xffff; ++i) {
        std::byte at[2];
        std::memcpy(at, &i, 2);
        const auto expect = [&](float got, DType dtype) {
            const long double expected = test::decodePart(dtype, at);
            ASSERT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected))) << name(dtype) << " " << i;
            ASSERT_EQ(std::signbit(got), std::signbit(expected)) << name(dtype) << " " << i;
        };
        expect(widened(Float16Bits{static_cast<std::uint16_t>(i)}), DType::Float16);
        expect(widened(BFloat16Bits{static_cast<std::uint16_t>(i)}), DType::BFloat16);
        expect(widened(Float8E5M2Bits{static_cast<std::uint8_t>(i)}), DType::Float8E5M2);
        expect(widened(Float8E4M3FNBits{static_cast<std::uint8_t>(i)}), DType::Float8E4M3FN);
    }
}

TEST(Element, arithmeticIsTheWiderType)
{
    EXPECT_EQ(arithmeticOf(DType::Float8E5M2, DType::Float32), Arithmetic::Single);
    EXPECT_EQ(arithmeticOf(DType::Float16, DType::BFloat16), Arithmetic::Single);
    EXPECT_EQ(arithmeticOf(DType::Complex64, DType::Complex64), Arithmetic::Single);
    EXPECT_EQ(arithmeticOf(DType::Complex64, DType::Complex128), Arithmetic::Double);
    EXPECT_EQ(arithmeticOf(DType::Float32, DType::Float64), Arithmetic::Double);
    EXPECT_EQ(arithmeticOf(DType::Bool, DType::Float16), Arithmetic::Double);
    EXPECT_EQ(arithmeticOf(DType::Int64, DType::Bool), Arithmetic::Integer);
}

TEST(Element, differencesNeverOverflowInNarrowTypes)
{
    EXPECT_EQ(difference(1.0f, 1.5f), 0.5);
    EXPECT_EQ(difference(FLT_MAX, -FLT_MAX), -2.0 * FLT_MAX);
    const auto low = std::numeric_limits<std::int64_t>::min();
    const auto high = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(difference(low, high), 0x1p64); // 2^64 - 1, rounded
    EXPECT_EQ(difference(high, low), -0x1p64);
    EXPECT_EQ(difference(low, std::int64_t{0}), 0x1p63);
    EXPECT_EQ(difference(high, high - 1), -1.0); // both round to 2^63 as double
    EXPECT_EQ(difference(std::int64_t{3}, std::int64_t{3}), 0.0);
}

TEST(Element, differenceOfFloatsIsRoundedToFloat)
{
    EXPECT_EQ(difference(1.0f, 0x1p30f), static_cast<double>(0x1p30f)); // 2^30 - 1 needs 30 digits
    EXPECT_EQ(difference(1.0, 0x1p30), 0x1p30 - 1);
}

TEST(Element, relativeErrorIsSymmetricAndBounded)
{
    EXPECT_EQ(relativeError(0, 0, 0), 0);
    EXPECT_EQ(relativeError(0, 5, 5), 1);
    EXPECT_EQ(relativeError(5, 0, -5), 1);
    EXPECT_EQ(relativeError(-3, 3, 6), 2);
    EXPECT_EQ(relativeError(4, 5, 1), relativeError(5, 4, -1));
    EXPECT_EQ(relativeError(DBL_MAX, -DBL_MAX, -HUGE_VAL), 2);
    EXPECT_EQ(relativeError(0, 0x1p-1074, 0x1p-1074), 1);
    EXPECT_EQ(absoluteError(-HUGE_VAL), DBL_MAX);
}

// What float16 and bfloat16 can hold, from their own lists of values.
TEST(Element, narrowTypesThatHoldAFloat)
{
    std::set<std::uint32_t> halves;
    for (std::uint32_t i = 0; i <= 0xffff; ++i) {
        const float half = fromFloat16(static_cast<std::uint16_t>(i));
        if (std::isfinite(half))
            halves.insert(bits(half));
    }
    for (const std::uint32_t half : halves) {
        ASSERT_TRUE(float16Holds(half)) << half;
        ASSERT_TRUE(low13Clear(half)) << half;
        for (const std::uint32_t near : {half + 1, half ^ 0x1000u, half ^ 0x2000u, half ^ 0x800000u, half ^ 0x40000000u}) {
            if ((near & 0x7f800000u) != 0x7f800000u) {
                ASSERT_EQ(float16Holds(near), halves.contains(near)) << near;
            }
        }
    }
    std::mt19937 random(7);
    for (int i = 0; i < 200000; ++i) {
        auto any = static_cast<std::uint32_t>(random());
        any = i % 2 == 0 ? any : any & 0xffffe000u;
        if ((any & 0x7f800000u) == 0x7f800000u)
            continue;
        ASSERT_EQ(float16Holds(any), halves.contains(any)) << any;
        const std::uint32_t cut = any & 0xffff0000u;
        ASSERT_EQ(bfloat16Holds(any), bits(fromBFloat16(static_cast<std::uint16_t>(cut >> 16))) == any) << any;
    }
}

TEST(Element, toleranceMatchesTorchIsclose)
{
    // torch.isclose(b, a): equal, or |b - a| finite and at most atol + rtol |a|.
    EXPECT_FALSE(violatesTolerance(2, 1, 0.25, 0.5)); // exactly on the edge
    EXPECT_TRUE(violatesTolerance(2, std::nextafter(1, 2), 0.25, 0.5));
    EXPECT_FALSE(violatesTolerance(-2, -1, 0.25, 0.5));
    EXPECT_FALSE(violatesTolerance(0, 0, 0, 0));
    EXPECT_TRUE(violatesTolerance(0, 0x1p-1074, 0, 0));
    EXPECT_FALSE(violatesTolerance(100, 1, 0.01, 0)); // relative to a ...
    EXPECT_TRUE(violatesTolerance(99, 1, 0.01, 0));   // ... and not to b
    EXPECT_FALSE(violatesTolerance(0, 0, HUGE_VAL, 0));
}

} // namespace
} // namespace forkpoint::metrics
