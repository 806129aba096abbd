// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/dtype.h"

#include <array>
#include <bit>

namespace forkpoint {

namespace {

struct Traits {
    std::string_view name;
    std::size_t size;
    double roundoff;
};

// In the order of the enumeration. 2^-p: p is 53, 24, 11, 8, 4, 3.
constexpr std::array<Traits, 14> kTraits = {{
    {"float64", 8, 0x1p-53},
    {"float32", 4, 0x1p-24},
    {"float16", 2, 0x1p-11},
    {"bfloat16", 2, 0x1p-8},
    {"float8_e4m3fn", 1, 0x1p-4},
    {"float8_e5m2", 1, 0x1p-3},
    {"int64", 8, 0.0},
    {"int32", 4, 0.0},
    {"int16", 2, 0.0},
    {"int8", 1, 0.0},
    {"uint8", 1, 0.0},
    {"bool", 1, 0.0},
    {"complex64", 8, 0x1p-24},
    {"complex128", 16, 0x1p-53},
}};

const Traits& traits(DType dtype)
{
    return kTraits[static_cast<std::size_t>(dtype)];
}

// Widens sign / exponent / mantissa fields to a float's bits. Every finite value of a type with at most 5 exponent and 10 mantissa bits is
// a normal float, so subnormals are normalised by shifting the leading one out; nothing is rounded anywhere. `special` says that the
// topmost exponent means infinity and NaN.
std::uint32_t widen(std::uint32_t sign, std::uint32_t exponent, std::uint32_t mantissa, int exponentBits, int mantissaBits, bool special)
{
    const int bias = (1 << (exponentBits - 1)) - 1;
    const std::uint32_t signBit = sign << 31;
    if (special && exponent == (1u << exponentBits) - 1u)
        return signBit | 0x7f800000u | (mantissa << (23 - mantissaBits));
    if (exponent != 0)
        return signBit | (static_cast<std::uint32_t>(static_cast<int>(exponent) - bias + 127) << 23) | (mantissa << (23 - mantissaBits));
    if (mantissa == 0)
        return signBit;
    const int shift = std::countl_zero(mantissa) - (31 - mantissaBits); // brings the leading one to the hidden bit
    const int biased = 1 - bias - shift + 127;
    const std::uint32_t rest = (mantissa << shift) & ((1u << mantissaBits) - 1u);
    return signBit | (static_cast<std::uint32_t>(biased) << 23) | (rest << (23 - mantissaBits));
}

} // namespace

std::string_view name(DType dtype)
{
    return traits(dtype).name;
}

std::optional<DType> dtypeFromName(std::string_view name)
{
    for (std::size_t i = 0; i < kTraits.size(); ++i) {
        if (kTraits[i].name == name)
            return static_cast<DType>(i);
    }
    return std::nullopt;
}

std::size_t itemSize(DType dtype)
{
    return traits(dtype).size;
}

bool isFloating(DType dtype)
{
    return dtype <= DType::Float8E5M2;
}

bool isComplex(DType dtype)
{
    return dtype == DType::Complex64 || dtype == DType::Complex128;
}

bool isInteger(DType dtype)
{
    return !isFloating(dtype) && !isComplex(dtype);
}

double unitRoundoff(DType dtype)
{
    return traits(dtype).roundoff;
}

float fromFloat16(std::uint16_t bits)
{
    return std::bit_cast<float>(widen(bits >> 15, (bits >> 10) & 0x1fu, bits & 0x3ffu, 5, 10, true));
}

float fromBFloat16(std::uint16_t bits)
{
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float fromFloat8E4M3FN(std::uint8_t bits)
{
    // "FN": no infinities, and only the all-ones pattern is NaN; the rest of the topmost exponent holds numbers up to 448 (OCP OFP8).
    if ((bits & 0x7fu) == 0x7fu)
        return std::bit_cast<float>((static_cast<std::uint32_t>(bits & 0x80u) << 24) | 0x7fc00000u);
    return std::bit_cast<float>(widen(bits >> 7, (bits >> 3) & 0xfu, bits & 0x7u, 4, 3, false));
}

float fromFloat8E5M2(std::uint8_t bits)
{
    return fromFloat16(static_cast<std::uint16_t>(bits << 8)); // it is the upper half of a float16
}

} // namespace forkpoint
