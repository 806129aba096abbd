// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/cuda/border.h"
#include "core/metrics/decode.h"
#include "core/metrics/ulp.h"

#include <type_traits>

// How a thread gets at its numbers: some of both sides with one load each (a packet), then one after the other. A kind is a way to do that;
// the kernel is compiled once for each. Types that training uses have their own; all other pairs share one for each arithmetic.
namespace forkpoint::metrics::cuda {

using Segment = ForkpointCudaSegment;

/// Bytes that are loaded at once.
template <int Bytes>
struct alignas(Bytes < 16 ? Bytes : 16) Raw {
    std::byte bytes[Bytes];
};

/// Packet `index` of those at `from`, which is aligned to its size or to 16.
template <int Bytes>
FORKPOINT_HD Raw<Bytes> loadRaw(const std::byte* from, std::uint64_t index)
{
    return reinterpret_cast<const Raw<Bytes>*>(from)[index];
}

template <class Stored>
struct BitsOf {
    using Type = std::conditional_t<sizeof(Stored) == 8, std::uint64_t,
                                    std::conditional_t<sizeof(Stored) == 4, std::uint32_t,
                                                       std::conditional_t<sizeof(Stored) == 2, std::uint16_t, std::uint8_t>>>;
};

/// Both sides hold numbers of this type.
template <class Stored>
struct OneType {
    using Work = decltype(widened(Stored{}));
    using Bits = typename BitsOf<Stored>::Type;
    static constexpr bool kOneType = true;
    static constexpr bool kFloat32A = std::is_same_v<Stored, float>, kFloat32B = kFloat32A;
    static constexpr int kNumbers = sizeof(Stored) == 1 ? 8 : 16 / static_cast<int>(sizeof(Stored));
    static constexpr int kBytes = kNumbers * static_cast<int>(sizeof(Stored));

    struct Packet {
        Raw<kBytes> rawA, rawB;

        FORKPOINT_HD Work a(int i) const { return widened(load<Stored>(rawA.bytes, static_cast<std::size_t>(i))); }
        FORKPOINT_HD Work b(int i) const { return widened(load<Stored>(rawB.bytes, static_cast<std::size_t>(i))); }
        FORKPOINT_HD Bits bitsA(int i) const { return load<Bits>(rawA.bytes, static_cast<std::size_t>(i)); }
        FORKPOINT_HD Bits bitsB(int i) const { return load<Bits>(rawB.bytes, static_cast<std::size_t>(i)); }
        FORKPOINT_HD bool sameBits(int i) const { return bitsA(i) == bitsB(i); }
        FORKPOINT_HD std::uint64_t distance(int i) const
        {
            if constexpr (std::is_same_v<Work, std::int64_t>)
                return steps(a(i), b(i));
            else
                return bitsDistance(bitsA(i), bitsB(i));
        }
    };

    FORKPOINT_HD static Packet packet(const std::byte* buffer, const Segment& segment, std::uint64_t index)
    {
        return {loadRaw<kBytes>(buffer + segment.a, index), loadRaw<kBytes>(buffer + segment.b, index)};
    }
};

/// Any two types that arithmetic is done on as `Number`.
template <class Number>
struct TwoTypes {
    using Work = Number;
    static constexpr bool kOneType = false;
    static constexpr int kNumbers = 4;

    struct Packet {
        Work m_a[kNumbers], m_b[kNumbers];

        FORKPOINT_HD Work a(int i) const { return m_a[i]; }
        FORKPOINT_HD Work b(int i) const { return m_b[i]; }
        FORKPOINT_HD std::uint64_t distance(int i) const { return steps(m_a[i], m_b[i]); }
    };

    template <class Stored>
    FORKPOINT_HD static void decodePacket(const std::byte* from, std::uint64_t index, Work (&out)[kNumbers])
    {
        decodeAs<Stored>(loadRaw<kNumbers * static_cast<int>(sizeof(Stored))>(from, index).bytes, kNumbers, out);
    }

    FORKPOINT_HD static void decodePacket(DType dtype, const std::byte* from, std::uint64_t index, Work (&out)[kNumbers])
    {
        constexpr bool kIntegers = !std::is_same_v<Work, float>, kFloats = !std::is_same_v<Work, std::int64_t>;
        switch (dtype) {
        case DType::Float64:
        case DType::Complex128:
            if constexpr (std::is_same_v<Work, double>)
                decodePacket<double>(from, index, out);
            break;
        case DType::Float32:
        case DType::Complex64:
            if constexpr (kFloats)
                decodePacket<float>(from, index, out);
            break;
        case DType::Float16:
            if constexpr (kFloats)
                decodePacket<Float16Bits>(from, index, out);
            break;
        case DType::BFloat16:
            if constexpr (kFloats)
                decodePacket<BFloat16Bits>(from, index, out);
            break;
        case DType::Float8E4M3FN:
            if constexpr (kFloats)
                decodePacket<Float8E4M3FNBits>(from, index, out);
            break;
        case DType::Float8E5M2:
            if constexpr (kFloats)
                decodePacket<Float8E5M2Bits>(from, index, out);
            break;
        case DType::Int64:
            if constexpr (kIntegers)
                decodePacket<std::int64_t>(from, index, out);
            break;
        case DType::Int32:
            if constexpr (kIntegers)
                decodePacket<std::int32_t>(from, index, out);
            break;
        case DType::Int16:
            if constexpr (kIntegers)
                decodePacket<std::int16_t>(from, index, out);
            break;
        case DType::Int8:
            if constexpr (kIntegers)
                decodePacket<std::int8_t>(from, index, out);
            break;
        case DType::UInt8:
            if constexpr (kIntegers)
                decodePacket<std::uint8_t>(from, index, out);
            break;
        case DType::Bool:
            if constexpr (kIntegers)
                decodePacket<BoolByte>(from, index, out);
            break;
        }
    }

    FORKPOINT_HD static Packet packet(const std::byte* buffer, const Segment& segment, std::uint64_t index)
    {
        Packet packet{};
        decodePacket(static_cast<DType>(segment.dtype_a), buffer + segment.a, index, packet.m_a);
        decodePacket(static_cast<DType>(segment.dtype_b), buffer + segment.b, index, packet.m_b);
        return packet;
    }
};

enum class Kind : std::uint8_t { Float64, Float32, Float16, BFloat16, Float8E4M3FN, Float8E5M2, Bool, TwoSingle, TwoDouble, TwoInteger };
inline constexpr int kKinds = 10;

constexpr Kind kindOf(DType a, DType b)
{
    const Arithmetic arithmetic = arithmeticOf(a, b);
    if (a == b) {
        switch (a) {
        case DType::Float64:
        case DType::Complex128:
            return Kind::Float64;
        case DType::Float32:
        case DType::Complex64:
            return Kind::Float32;
        case DType::Float16:
            return Kind::Float16;
        case DType::BFloat16:
            return Kind::BFloat16;
        case DType::Float8E4M3FN:
            return Kind::Float8E4M3FN;
        case DType::Float8E5M2:
            return Kind::Float8E5M2;
        case DType::Bool: // the bytes are compared too, and true has many
            return Kind::Bool;
        default:
            break; // integers are equal where their values are
        }
    }
    return arithmetic == Arithmetic::Single ? Kind::TwoSingle : arithmetic == Arithmetic::Double ? Kind::TwoDouble : Kind::TwoInteger;
}

/// Calls `use` with the type that goes with `kind`: use(OneType<float>{}).
template <class Use>
void withKind(Kind kind, const Use& use)
{
    switch (kind) {
    case Kind::Float64:
        return use(OneType<double>{});
    case Kind::Float32:
        return use(OneType<float>{});
    case Kind::Float16:
        return use(OneType<Float16Bits>{});
    case Kind::BFloat16:
        return use(OneType<BFloat16Bits>{});
    case Kind::Float8E4M3FN:
        return use(OneType<Float8E4M3FNBits>{});
    case Kind::Float8E5M2:
        return use(OneType<Float8E5M2Bits>{});
    case Kind::Bool:
        return use(OneType<BoolByte>{});
    case Kind::TwoSingle:
        return use(TwoTypes<float>{});
    case Kind::TwoDouble:
        return use(TwoTypes<double>{});
    case Kind::TwoInteger:
        return use(TwoTypes<std::int64_t>{});
    }
}

} // namespace forkpoint::metrics::cuda
