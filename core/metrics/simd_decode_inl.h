// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes of any type to floats or doubles. Included once for every instruction set.
#if defined(FORKPOINT_SIMD_DECODE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORKPOINT_SIMD_DECODE_INL_H
#undef FORKPOINT_SIMD_DECODE_INL_H
#else
#define FORKPOINT_SIMD_DECODE_INL_H
#endif

#include "core/metrics/element.h"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace forkpoint::metrics::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Stored>
HWY_INLINE Stored loadStored(const std::byte* bytes, std::size_t index)
{
    Stored stored;
    std::memcpy(&stored, bytes + index * sizeof stored, sizeof stored);
    return stored;
}

template <class Stored, class T>
void decodeEach(const std::byte* bytes, std::size_t from, std::size_t n, T* out)
{
    for (std::size_t i = from; i < n; ++i)
        out[i] = static_cast<T>(widened(loadStored<Stored>(bytes, i)));
}

inline void decodeBFloat16(const std::byte* bytes, std::size_t n, float* out)
{
    const hn::ScalableTag<float> df;
    const hn::RebindToUnsigned<decltype(df)> du;
    const hn::Rebind<std::uint16_t, decltype(df)> dh;
    std::size_t i = 0;
    for (; i + hn::Lanes(df) <= n; i += hn::Lanes(df)) {
        const auto narrow = hn::LoadU(dh, reinterpret_cast<const std::uint16_t*>(bytes) + i);
        hn::StoreU(hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(du, narrow))), df, out + i);
    }
    decodeEach<BFloat16Bits>(bytes, i, n, out);
}

template <class DF>
HWY_INLINE hn::VFromD<DF> floatsOfFloat16(DF df, const std::byte* bytes, std::size_t at)
{
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
    return hn::PromoteTo(df, hn::LoadU(hn::Rebind<hwy::float16_t, DF>(), reinterpret_cast<const hwy::float16_t*>(bytes) + at));
#else
    // Highway 1.0.3 takes infinity and NaN for numbers where the processor does not convert.
    const hn::RebindToUnsigned<DF> du;
    const hn::RebindToSigned<DF> di;
    const auto bits = hn::PromoteTo(du, hn::LoadU(hn::Rebind<std::uint16_t, DF>(), reinterpret_cast<const std::uint16_t*>(bytes) + at));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
    const auto size = hn::BitCast(di, hn::And(bits, hn::Set(du, 0x7fffu)));
    const auto offset = hn::Set(di, 112 << 23);
    const auto normal = hn::Add(hn::ShiftLeft<13>(size), offset);
    const auto subnormal = hn::BitCast(di, hn::Mul(hn::ConvertTo(df, size), hn::Set(df, 0x1p-24f)));
    const auto special = hn::IfThenElseZero(hn::Gt(size, hn::Set(di, 0x7bff)), offset);
    const auto wide = hn::IfThenElse(hn::Lt(size, hn::Set(di, 0x400)), subnormal, hn::Add(normal, special));
    return hn::BitCast(df, hn::Or(hn::BitCast(du, wide), sign));
#endif
}

inline void decodeFloat16(const std::byte* bytes, std::size_t n, float* out)
{
    const hn::ScalableTag<float> df;
    std::size_t i = 0;
    for (; i + hn::Lanes(df) <= n; i += hn::Lanes(df))
        hn::StoreU(floatsOfFloat16(df, bytes, i), df, out + i);
    decodeEach<Float16Bits>(bytes, i, n, out);
}

/// All 256 of a type, looked up.
template <class Stored>
void decodeByTable(const std::byte* bytes, std::size_t n, float* out)
{
    static const std::array<float, 256> table = [] {
        std::array<float, 256> values;
        for (unsigned bits = 0; bits < 256; ++bits)
            values[bits] = widened(Stored{static_cast<std::uint8_t>(bits)});
        return values;
    }();
    for (std::size_t i = 0; i < n; ++i)
        out[i] = table[static_cast<std::size_t>(bytes[i])];
}

template <class Stored>
void decodeIntegers(const std::byte* bytes, std::size_t n, double* out)
{
    const hn::ScalableTag<double> dd;
    const hn::Rebind<std::int32_t, decltype(dd)> di;
    std::size_t i = 0;
    if constexpr (std::is_same_v<Stored, std::int32_t>) {
        for (; i + hn::Lanes(dd) <= n; i += hn::Lanes(dd))
            hn::StoreU(hn::PromoteTo(dd, hn::LoadU(di, reinterpret_cast<const std::int32_t*>(bytes) + i)), dd, out + i);
    } else if constexpr (std::is_same_v<Stored, std::int16_t>) {
        const hn::Rebind<std::int16_t, decltype(dd)> dh;
        for (; i + hn::Lanes(dd) <= n; i += hn::Lanes(dd))
            hn::StoreU(hn::PromoteTo(dd, hn::PromoteTo(di, hn::LoadU(dh, reinterpret_cast<const std::int16_t*>(bytes) + i))), dd, out + i);
    }
    decodeEach<Stored>(bytes, i, n, out);
}

/// `n` parts of a floating type up to float32.
inline void decode(DType dtype, const std::byte* bytes, std::size_t n, float* out)
{
    switch (dtype) {
    case DType::Float16:
        return decodeFloat16(bytes, n, out);
    case DType::BFloat16:
        return decodeBFloat16(bytes, n, out);
    case DType::Float8E4M3FN:
        return decodeByTable<Float8E4M3FNBits>(bytes, n, out);
    case DType::Float8E5M2:
        return decodeByTable<Float8E5M2Bits>(bytes, n, out);
    default:
        std::memcpy(out, bytes, n * sizeof(float));
    }
}

/// `n` parts of any type; an int64 is rounded.
inline void decode(DType dtype, const std::byte* bytes, std::size_t n, double* out)
{
    switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
        std::memcpy(out, bytes, n * sizeof(double));
        return;
    case DType::Int64:
        return decodeEach<std::int64_t>(bytes, 0, n, out);
    case DType::Int32:
        return decodeIntegers<std::int32_t>(bytes, n, out);
    case DType::Int16:
        return decodeIntegers<std::int16_t>(bytes, n, out);
    case DType::Int8:
        return decodeEach<std::int8_t>(bytes, 0, n, out);
    case DType::UInt8:
        return decodeEach<std::uint8_t>(bytes, 0, n, out);
    case DType::Bool:
        return decodeEach<BoolByte>(bytes, 0, n, out);
    case DType::Float32:
    case DType::Complex64:
        return decodeEach<float>(bytes, 0, n, out);
    case DType::Float16:
        return decodeEach<Float16Bits>(bytes, 0, n, out);
    case DType::BFloat16:
        return decodeEach<BFloat16Bits>(bytes, 0, n, out);
    case DType::Float8E4M3FN:
        return decodeEach<Float8E4M3FNBits>(bytes, 0, n, out);
    case DType::Float8E5M2:
        return decodeEach<Float8E5M2Bits>(bytes, 0, n, out);
    }
}

} // namespace forkpoint::metrics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
