// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

// What is computed for one element, or one pair of elements. Shared by the backends: a GPU compiler sees the same text, so that integers
// and extrema agree bit for bit. Hence nothing here but arithmetic: no containers, no allocation, no exceptions.
#if defined(__CUDACC__)
#define FORKPOINT_HD __host__ __device__
#define FORKPOINT_HD_RARE __host__ __device__ __noinline__ // keeps registers, and compile time, for what is frequent
#else
#define FORKPOINT_HD
#define FORKPOINT_HD_RARE
#endif

namespace forkpoint::metrics {

/// In which type d = B - A is formed.
enum class Arithmetic : std::uint8_t {
    Single,  ///< both floating, up to float32 (complex64): float
    Double,  ///< one is float64 (complex128), or one is floating and the other an integer (an int64 beyond 2^53 is rounded to double)
    Integer, ///< both integers or bool: exact, in 65 bits
};

FORKPOINT_HD constexpr bool isIntegerElement(DType dtype)
{
    switch (dtype) {
    case DType::Int64:
    case DType::Int32:
    case DType::Int16:
    case DType::Int8:
    case DType::UInt8:
    case DType::Bool:
        return true;
    default:
        return false;
    }
}

FORKPOINT_HD constexpr Arithmetic arithmeticOf(DType a, DType b)
{
    if (isIntegerElement(a) != isIntegerElement(b))
        return Arithmetic::Double;
    if (isIntegerElement(a))
        return Arithmetic::Integer;
    const auto isDouble = [](DType dtype) { return dtype == DType::Float64 || dtype == DType::Complex128; };
    return isDouble(a) || isDouble(b) ? Arithmetic::Double : Arithmetic::Single;
}

/// Numbers per element: 2 for complex, which are compared as their real and imaginary parts.
FORKPOINT_HD constexpr int partsOf(DType dtype) { return dtype == DType::Complex64 || dtype == DType::Complex128 ? 2 : 1; }

/// Bytes of one part.
FORKPOINT_HD constexpr std::size_t partSize(DType dtype)
{
    switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
    case DType::Int64:
        return 8;
    case DType::Float32:
    case DType::Complex64:
    case DType::Int32:
        return 4;
    case DType::Float16:
    case DType::BFloat16:
    case DType::Int16:
        return 2;
    case DType::Float8E4M3FN:
    case DType::Float8E5M2:
    case DType::Int8:
    case DType::UInt8:
    case DType::Bool:
        return 1;
    }
    return 1;
}

// The parts as stored, and their exact value in a wider type. Inline twins of the conversions in core/tensor/dtype.h, which are calls; the
// tests hold the two against each other on every bit pattern.

struct Float16Bits {
    std::uint16_t bits;
};
struct BFloat16Bits {
    std::uint16_t bits;
};
struct Float8E4M3FNBits {
    std::uint8_t bits;
};
struct Float8E5M2Bits {
    std::uint8_t bits;
};
struct BoolByte {
    std::uint8_t bits; ///< any byte but 0 is true
};

/// The bytes of `value` as another type of the same size.
template <class To, class From>
FORKPOINT_HD To bitsOf(From value)
{
    static_assert(sizeof(To) == sizeof(From));
    To bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

FORKPOINT_HD inline float floatOfBits(std::uint32_t bits) { return bitsOf<float>(bits); }

FORKPOINT_HD inline float widened(float x) { return x; }
FORKPOINT_HD inline double widened(double x) { return x; }
FORKPOINT_HD inline std::int64_t widened(std::int64_t x) { return x; }
FORKPOINT_HD inline std::int64_t widened(std::int32_t x) { return x; }
FORKPOINT_HD inline std::int64_t widened(std::int16_t x) { return x; }
FORKPOINT_HD inline std::int64_t widened(std::int8_t x) { return x; }
FORKPOINT_HD inline std::int64_t widened(std::uint8_t x) { return x; }
FORKPOINT_HD inline std::int64_t widened(BoolByte x) { return x.bits != 0; }

FORKPOINT_HD inline float widened(BFloat16Bits x) { return floatOfBits(std::uint32_t{x.bits} << 16); }

FORKPOINT_HD inline float widened(Float16Bits x)
{
    const std::uint32_t sign = (x.bits & 0x8000u) << 16;
    const std::uint32_t magnitude = x.bits & 0x7fffu;
    if (magnitude >= 0x7c00u) // infinity, NaN: payload kept
        return floatOfBits(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude < 0x400u) { // zero, subnormal: units of 2^-24
        const float value = static_cast<float>(magnitude) * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    return floatOfBits(sign | ((magnitude << 13) + (112u << 23)));
}

FORKPOINT_HD inline float widened(Float8E5M2Bits x) { return widened(Float16Bits{static_cast<std::uint16_t>(x.bits << 8)}); }

FORKPOINT_HD inline float widened(Float8E4M3FNBits x)
{
    const std::uint32_t sign = (x.bits & 0x80u) << 24;
    const std::uint32_t magnitude = x.bits & 0x7fu;
    if (magnitude == 0x7fu) // the only NaN; there is no infinity
        return floatOfBits(sign | 0x7ff00000u);
    if (magnitude < 0x08u) { // zero, subnormal: units of 2^-9
        const float value = static_cast<float>(magnitude) * 0x1p-9f;
        return sign != 0 ? -value : value;
    }
    return floatOfBits(sign | ((magnitude << 20) + (120u << 23)));
}

FORKPOINT_HD inline bool isFiniteValue(double x) { return std::fabs(x) <= DBL_MAX; }

/// d = b - a in float. Where that overflows although both are finite, in double, so that finite data has finite differences.
FORKPOINT_HD inline double difference(float a, float b)
{
    const float d = b - a;
    return std::fabs(d) <= FLT_MAX ? static_cast<double>(d) : static_cast<double>(b) - static_cast<double>(a);
}

/// d = b - a in double; infinite if it overflows, which relativeError and the backends' sums allow for.
FORKPOINT_HD inline double difference(double a, double b) { return b - a; }

/// d = b - a, exact in 65 bits (sign and magnitude), then rounded once to double.
FORKPOINT_HD inline double difference(std::int64_t a, std::int64_t b)
{
    const auto ua = static_cast<std::uint64_t>(a);
    const auto ub = static_cast<std::uint64_t>(b);
    return b >= a ? static_cast<double>(ub - ua) : -static_cast<double>(ua - ub);
}

/// |d| as reported: at most double's largest number.
FORKPOINT_HD inline double absoluteError(double d)
{
    const double size = std::fabs(d);
    return size <= DBL_MAX ? size : DBL_MAX;
}

/// |d| / max(|a|, |b|) of a finite pair, in [0, 2]; 0/0 is 0.
FORKPOINT_HD_RARE inline double relativeError(double a, double b, double d)
{
    const double size = std::fabs(a) > std::fabs(b) ? std::fabs(a) : std::fabs(b);
    if (size == 0)
        return 0;
    if (!isFiniteValue(d))
        return std::fabs(b / 2 - a / 2) / (size / 2);
    return std::fabs(d) / size;
}

/// False only if relativeError(a, b, d) is not above `best`, which must not be negative. Costs no division: the sign of best * size - |d| is
/// exact with one rounding, unless that is subnormal.
FORKPOINT_HD inline bool mayExceedRelative(double best, double a, double b, double d)
{
    const double size = std::fabs(a) > std::fabs(b) ? std::fabs(a) : std::fabs(b);
    return size < 0x1p-900 ? size > 0 : !(std::fma(best, size, -std::fabs(d)) >= 0);
}

/// Whether a finite pair is outside the tolerance, with a the reference: torch.isclose(b, a), its threshold formed in double.
FORKPOINT_HD inline bool violatesTolerance(double a, double d, double rtol, double atol)
{
    return ((d != 0) & !(std::fabs(d) <= atol + rtol * std::fabs(a))) != 0; // no branch: equal numbers come at random
}

// Which narrower types hold a finite float32 exactly, from its bits.

FORKPOINT_HD inline bool low13Clear(std::uint32_t bits) { return (bits & 0x1fffu) == 0; }
FORKPOINT_HD inline bool bfloat16Holds(std::uint32_t bits) { return (bits & 0xffffu) == 0; }

FORKPOINT_HD inline bool float16Holds(std::uint32_t bits)
{
    const std::uint32_t exponent = (bits >> 23) & 0xffu;
    if ((bits & 0x7fffffffu) == 0)
        return true;
    if (exponent >= 113 && exponent <= 142) // float16's normal numbers: 2^-14 to 65504
        return low13Clear(bits);
    if (exponent < 103 || exponent > 142)
        return false;
    const std::uint32_t dropped = 126 - exponent; // subnormal: multiples of 2^-24
    return (bits & ((1u << dropped) - 1) & 0x7fffffu) == 0;
}

} // namespace forkpoint::metrics
