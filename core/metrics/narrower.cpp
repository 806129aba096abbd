// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/narrower.h"

#include "core/metrics/element.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace forkpoint::metrics {
namespace {

/// A floating type narrower than float32: its fields, and the bits of what is not a number of it.
struct Format {
    int digits;            ///< stored bits of the significand
    int lowestExponent;    ///< of normal numbers
    std::uint32_t largest; ///< bits of the largest number
    std::uint32_t beyond;  ///< infinity, or NaN where there is none
    std::uint32_t nan;
    int width;
};

constexpr Format kFloat16{10, -14, 0x7bff, 0x7c00, 0x7e00, 16};
constexpr Format kBFloat16{7, -126, 0x7f7f, 0x7f80, 0x7fc0, 16};
constexpr Format kFloat8E5M2{2, -14, 0x7b, 0x7c, 0x7f, 8};
constexpr Format kFloat8E4M3FN{3, -6, 0x7e, 0x7f, 0x7f, 8};

std::uint32_t rounded(double x, const Format& format)
{
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint32_t sign = bits >> 63 != 0 ? 1u << (format.width - 1) : 0u;
    if (std::isnan(x))
        return sign | format.nan;
    if (std::isinf(x))
        return sign | format.beyond;
    // A double below its own normal numbers rounds to 0 like any number that small, so its lacking leading digit does not matter.
    const int exponent = static_cast<int>(bits >> 52 & 0x7ffu) - 1023;
    const std::uint64_t significand = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
    const int place = exponent > format.lowestExponent ? exponent : format.lowestExponent;
    const int dropped = 52 - format.digits + place - exponent; // bits of the significand below the last digit
    if (x == 0 || dropped > 53)
        return sign; // less than half of the smallest number
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    const std::uint64_t rest = significand & (2 * half - 1);
    std::uint64_t steps = significand >> dropped;
    steps += rest > half || (rest == half && steps % 2 == 1);
    // With its leading digit, a normal number's steps carry into the exponent by themselves, and so does a rounding up to the next power of two.
    const std::uint64_t size = (static_cast<std::uint64_t>(place - format.lowestExponent) << format.digits) + steps;
    return sign | (size > format.largest ? format.beyond : static_cast<std::uint32_t>(size));
}

template <class Stored>
double valueAt(const std::byte* bytes)
{
    Stored stored;
    std::memcpy(&stored, bytes, sizeof stored);
    return static_cast<double>(widened(stored));
}

template <class Stored>
void roundFrom(std::span<const std::byte> bytes, DType to, std::span<std::byte> out)
{
    const std::size_t n = bytes.size() / sizeof(Stored);
    const auto put = [&](const Format& format) {
        const auto size = static_cast<std::size_t>(format.width / 8);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t bits = rounded(valueAt<Stored>(bytes.data() + i * sizeof(Stored)), format);
            std::memcpy(out.data() + i * size, &bits, size); // little-endian, as the format
        }
    };
    switch (to) {
    case DType::Float16:
        return put(kFloat16);
    case DType::BFloat16:
        return put(kBFloat16);
    case DType::Float8E5M2:
        return put(kFloat8E5M2);
    case DType::Float8E4M3FN:
        return put(kFloat8E4M3FN);
    default:
        break;
    }
    for (std::size_t i = 0; i < n; ++i) { // float32: the language rounds to nearest
        const auto value = static_cast<float>(valueAt<Stored>(bytes.data() + i * sizeof(Stored)));
        std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
    }
}

} // namespace

std::optional<DType> narrowerOf(DType a, DType b)
{
    if (a == b || isInteger(a) || isInteger(b) || isComplex(a) != isComplex(b))
        return std::nullopt;
    return unitRoundoff(a) > unitRoundoff(b) ? a : b;
}

void roundTo(DType from, std::span<const std::byte> bytes, DType to, std::span<std::byte> out)
{
    switch (from) {
    case DType::Float64:
    case DType::Complex128:
        return roundFrom<double>(bytes, to, out);
    case DType::Float32:
    case DType::Complex64:
        return roundFrom<float>(bytes, to, out);
    case DType::Float16:
        return roundFrom<Float16Bits>(bytes, to, out);
    case DType::BFloat16:
        return roundFrom<BFloat16Bits>(bytes, to, out);
    case DType::Float8E4M3FN:
        return roundFrom<Float8E4M3FNBits>(bytes, to, out);
    case DType::Float8E5M2:
        return roundFrom<Float8E5M2Bits>(bytes, to, out);
    default: // integers: see narrowerOf
        return;
    }
}

} // namespace forkpoint::metrics
