// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/narrower.h"

#include "core/metrics/element.h"

#include <cmath>
#include <cstring>

namespace forkpoint::metrics {
namespace {

/// A floating type narrower than float32: its fields, and the bits of what is not a number of it.
struct Format {
    int digits;         ///< stored bits of the significand
    int lowestExponent; ///< of normal numbers
    double largest;
    std::uint32_t beyond; ///< infinity, or NaN where there is none
    std::uint32_t nan;
    int width;
};

constexpr Format kFloat16{10, -14, 65504, 0x7c00, 0x7e00, 16};
constexpr Format kBFloat16{7, -126, 0x1.fep127, 0x7f80, 0x7fc0, 16};
constexpr Format kFloat8E5M2{2, -14, 57344, 0x7c, 0x7f, 8};
constexpr Format kFloat8E4M3FN{3, -6, 448, 0x7f, 0x7f, 8};

std::uint32_t rounded(double x, const Format& format)
{
    const std::uint32_t sign = std::signbit(x) ? 1u << (format.width - 1) : 0u;
    if (std::isnan(x))
        return sign | format.nan;
    const double size = std::fabs(x);
    if (std::isinf(size))
        return sign | format.beyond;
    int exponent = size > 0 ? std::ilogb(size) : format.lowestExponent;
    if (exponent < format.lowestExponent)
        exponent = format.lowestExponent;
    // In units of the last place; the scale is a power of two, so that only nearbyint rounds, in the default mode: ties to even.
    double steps = std::nearbyint(std::ldexp(size, format.digits - exponent));
    const double whole = std::ldexp(1.0, format.digits);
    if (steps == 2 * whole) { // into the next power of two
        steps = whole;
        ++exponent;
    }
    if (std::ldexp(steps, exponent - format.digits) > format.largest)
        return sign | format.beyond;
    if (steps < whole) // subnormal or 0
        return sign | static_cast<std::uint32_t>(steps);
    return sign | static_cast<std::uint32_t>(exponent - format.lowestExponent + 1) << format.digits | static_cast<std::uint32_t>(steps - whole);
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
