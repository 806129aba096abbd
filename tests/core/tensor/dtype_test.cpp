// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/dtype.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>

namespace forkpoint {
namespace {

const DType kAll[]
    = {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16, DType::Float8E4M3FN, DType::Float8E5M2, DType::Int64,
       DType::Int32,   DType::Int16,   DType::Int8,    DType::UInt8,    DType::Bool,         DType::Complex64,  DType::Complex128};

TEST(DType, NamesAreThoseOfTheFormat)
{
    std::set<std::string> names;
    for (const DType dtype : kAll) {
        EXPECT_EQ(dtypeFromName(name(dtype)), dtype);
        names.emplace(name(dtype));
    }
    const std::set<std::string> format = {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64",
                                          "int32",   "int16",   "int8",    "uint8",    "bool",          "complex64",   "complex128"};
    EXPECT_EQ(names, format);
    for (const char* other : {"", "float", "Float32", "float32 ", "float8_e4m3", "uint16"})
        EXPECT_EQ(dtypeFromName(other), std::nullopt) << other;
}

TEST(DType, SizesAndClasses)
{
    struct Row {
        DType dtype;
        std::size_t size;
        char kind; // f, i, c
        double roundoff;
    };
    const Row rows[] = {
        {DType::Float64, 8, 'f', std::numeric_limits<double>::epsilon() / 2},
        {DType::Float32, 4, 'f', static_cast<double>(std::numeric_limits<float>::epsilon()) / 2},
        {DType::Float16, 2, 'f', 1.0 / 2048},
        {DType::BFloat16, 2, 'f', 1.0 / 256},
        {DType::Float8E4M3FN, 1, 'f', 1.0 / 16},
        {DType::Float8E5M2, 1, 'f', 1.0 / 8},
        {DType::Int64, 8, 'i', 0},
        {DType::Int32, 4, 'i', 0},
        {DType::Int16, 2, 'i', 0},
        {DType::Int8, 1, 'i', 0},
        {DType::UInt8, 1, 'i', 0},
        {DType::Bool, 1, 'i', 0},
        {DType::Complex64, 8, 'c', static_cast<double>(std::numeric_limits<float>::epsilon()) / 2},
        {DType::Complex128, 16, 'c', std::numeric_limits<double>::epsilon() / 2},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(name(row.dtype));
        EXPECT_EQ(itemSize(row.dtype), row.size);
        EXPECT_EQ(isFloating(row.dtype), row.kind == 'f');
        EXPECT_EQ(isInteger(row.dtype), row.kind == 'i');
        EXPECT_EQ(isComplex(row.dtype), row.kind == 'c');
        EXPECT_EQ(unitRoundoff(row.dtype), row.roundoff);
    }
}

/// What a bit pattern means, by the definition of such a format and nothing else: (-1)^s * (hidden + m / 2^mantissaBits) * 2^exponent.
double byDefinition(unsigned bits, int exponentBits, int mantissaBits, bool hasInfinity)
{
    const unsigned mantissaMask = (1u << mantissaBits) - 1;
    const unsigned exponentMask = (1u << exponentBits) - 1;
    const unsigned mantissa = bits & mantissaMask;
    const unsigned exponent = (bits >> mantissaBits) & exponentMask;
    const double sign = (bits >> (exponentBits + mantissaBits)) != 0 ? -1.0 : 1.0;
    const int bias = (1 << (exponentBits - 1)) - 1;
    if (exponent == exponentMask) {
        if (hasInfinity)
            return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
        if (mantissa == mantissaMask)
            return std::numeric_limits<double>::quiet_NaN();
    }
    const double fraction = static_cast<double>(mantissa) / std::ldexp(1.0, mantissaBits);
    if (exponent == 0)
        return sign * std::ldexp(fraction, 1 - bias);
    return sign * std::ldexp(1.0 + fraction, static_cast<int>(exponent) - bias);
}

template <class Decode> void checkAll(unsigned patterns, int exponentBits, int mantissaBits, bool hasInfinity, Decode decode)
{
    for (unsigned bits = 0; bits < patterns; ++bits) {
        const double expected = byDefinition(bits, exponentBits, mantissaBits, hasInfinity);
        const float decoded = decode(bits);
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(decoded)) << bits;
        } else {
            ASSERT_EQ(static_cast<double>(decoded), expected) << bits;
        }
        ASSERT_EQ(std::signbit(decoded), bits >= patterns / 2) << bits; // of zeros, infinities and NaNs too
    }
}

TEST(DType, EveryFloat16)
{
    checkAll(1u << 16, 5, 10, true, [](unsigned bits) { return fromFloat16(static_cast<std::uint16_t>(bits)); });
}

TEST(DType, EveryBFloat16)
{
    checkAll(1u << 16, 8, 7, true, [](unsigned bits) { return fromBFloat16(static_cast<std::uint16_t>(bits)); });
}

TEST(DType, EveryFloat8E4M3FN)
{
    checkAll(1u << 8, 4, 3, false, [](unsigned bits) { return fromFloat8E4M3FN(static_cast<std::uint8_t>(bits)); });
    EXPECT_EQ(fromFloat8E4M3FN(0x7e), 448.0f);
}

TEST(DType, EveryFloat8E5M2)
{
    checkAll(1u << 8, 5, 2, true, [](unsigned bits) { return fromFloat8E5M2(static_cast<std::uint8_t>(bits)); });
    EXPECT_EQ(fromFloat8E5M2(0x7b), 57344.0f);
}

} // namespace
} // namespace forkpoint
