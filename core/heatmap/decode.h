// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/columns.h"

#include <cstddef>
#include <cstring>

// From numbers as they are stored to the type that is worked on, and to their place in the order of their own type.
namespace forkpoint::heatmap::kernel {

using namespace metrics; // the elements' types and arithmetic

template <class Stored>
FORKPOINT_INLINE Stored loadAt(const std::byte* bytes, std::int64_t index)
{
    Stored value;
    std::memcpy(&value, bytes + static_cast<std::size_t>(index) * sizeof(Stored), sizeof(Stored));
    return value;
}

/// The same value as widened(), without branches so that it vectorises.
FORKPOINT_INLINE float floatOf(Float16Bits x)
{
    const std::uint32_t sign = (x.bits & 0x8000u) << 16;
    const std::uint32_t magnitude = x.bits & 0x7fffu;
    const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
    std::uint32_t subnormalBits;
    std::memcpy(&subnormalBits, &subnormal, sizeof subnormalBits);
    std::uint32_t bits = (magnitude << 13) + (112u << 23);
    bits = magnitude >= 0x7c00u ? 0x7f800000u | (magnitude & 0x3ffu) << 13 : bits;
    bits = magnitude < 0x400u ? subnormalBits : bits;
    return floatOfBits(sign | bits);
}
FORKPOINT_INLINE float floatOf(Float8E5M2Bits x) { return floatOf(Float16Bits{static_cast<std::uint16_t>(x.bits << 8)}); }
FORKPOINT_INLINE float floatOf(Float8E4M3FNBits x)
{
    const std::uint32_t sign = (x.bits & 0x80u) << 24;
    const std::uint32_t magnitude = x.bits & 0x7fu;
    const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-9f;
    std::uint32_t subnormalBits;
    std::memcpy(&subnormalBits, &subnormal, sizeof subnormalBits);
    std::uint32_t bits = (magnitude << 20) + (120u << 23);
    bits = magnitude == 0x7fu ? 0x7ff00000u : bits;
    bits = magnitude < 0x08u ? subnormalBits : bits;
    return floatOfBits(sign | bits);
}

template <class Stored, class Real>
FORKPOINT_INLINE Real realOf(Stored stored)
{
    if constexpr (std::is_same_v<Stored, Float16Bits> || std::is_same_v<Stored, Float8E5M2Bits> || std::is_same_v<Stored, Float8E4M3FNBits>)
        return static_cast<Real>(floatOf(stored));
    else if constexpr (std::is_same_v<Stored, BFloat16Bits>)
        return static_cast<Real>(floatOfBits(std::uint32_t{stored.bits} << 16));
    else if constexpr (std::is_same_v<Stored, BoolByte>)
        return static_cast<Real>(stored.bits != 0 ? 1 : 0);
    else if constexpr (std::is_integral_v<Stored> && sizeof(Stored) < sizeof(std::int32_t))
        return static_cast<Real>(static_cast<std::int32_t>(stored));
    else
        return static_cast<Real>(stored);
}

template <class Stored, class Real>
FORKPOINT_INLINE void decodeBody(const std::byte* bytes, std::int64_t stride, int n, Real* __restrict to)
{
    if (stride == 1 && n == kBlock) {
        for (int i = 0; i < kBlock; ++i)
            to[i] = realOf<Stored, Real>(loadAt<Stored>(bytes, i));
        return;
    }
    for (int i = 0; i < n; ++i)
        to[i] = realOf<Stored, Real>(loadAt<Stored>(bytes, i * stride));
    for (int i = n; i < kBlock; ++i) // the last number again: an extreme does not mind
        to[i] = to[n - 1];
}

/// The place in its own order of a number of at most 16 bits, or of an integer.
template <class Stored, class Real>
FORKPOINT_INLINE Order<Real> orderOf(Stored stored)
{
    if constexpr (std::is_same_v<Stored, BoolByte>) {
        return stored.bits != 0 ? 1 : 0;
    } else if constexpr (std::is_integral_v<Stored>) {
        return static_cast<Order<Real>>(stored);
    } else {
        using Bits = std::conditional_t<sizeof(Stored) == 1, std::uint8_t, std::uint16_t>;
        constexpr std::int32_t kSign = sizeof(Stored) == 1 ? 0x80 : 0x8000;
        Bits bits;
        std::memcpy(&bits, &stored, sizeof bits);
        const std::int32_t magnitude = bits & (kSign - 1);
        return (bits & kSign) != 0 ? -magnitude : magnitude;
    }
}

template <class Stored, class Real>
FORKPOINT_INLINE void orderBody(const std::byte* bytes, std::int64_t stride, int n, Order<Real>* __restrict to)
{
    if (stride == 1 && n == kBlock) {
        for (int i = 0; i < kBlock; ++i)
            to[i] = orderOf<Stored, Real>(loadAt<Stored>(bytes, i));
        return;
    }
    for (int i = 0; i < n; ++i)
        to[i] = orderOf<Stored, Real>(loadAt<Stored>(bytes, i * stride));
    for (int i = n; i < kBlock; ++i)
        to[i] = to[n - 1];
}

template <class Real>
FORKPOINT_INLINE Order<Real> orderOfReal(Real x)
{
    Order<Real> bits;
    std::memcpy(&bits, &x, sizeof bits);
    const Order<Real> sign = bits >> (sizeof bits * 8 - 1); // 0 or -1
    return (bits ^ (sign & std::numeric_limits<Order<Real>>::max())) - sign;
}

template <class Real>
FORKPOINT_INLINE Distance<Real> distanceOf(Order<Real> x, Order<Real> y)
{
    const Order<Real> low = x < y ? x : y;
    const Order<Real> high = x < y ? y : x;
    return static_cast<Distance<Real>>(high) - static_cast<Distance<Real>>(low);
}

template <class Real>
FORKPOINT_INLINE Real sizeOf(Real x) { return std::fabs(x); }

/// Calls with(Stored()) for the type as stored. Complex types do not come here.
template <class With>
auto dispatch(DType dtype, With with)
{
    switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
        return with(double{});
    case DType::Float32:
    case DType::Complex64:
        return with(float{});
    case DType::Float16:
        return with(Float16Bits{});
    case DType::BFloat16:
        return with(BFloat16Bits{});
    case DType::Float8E4M3FN:
        return with(Float8E4M3FNBits{});
    case DType::Float8E5M2:
        return with(Float8E5M2Bits{});
    case DType::Int64:
        return with(std::int64_t{});
    case DType::Int32:
        return with(std::int32_t{});
    case DType::Int16:
        return with(std::int16_t{});
    case DType::Int8:
        return with(std::int8_t{});
    case DType::UInt8:
        return with(std::uint8_t{});
    case DType::Bool:
        break;
    }
    return with(BoolByte{});
}

} // namespace forkpoint::heatmap::kernel
