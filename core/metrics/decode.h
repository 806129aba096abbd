// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/element.h"

#include <cstddef>

// Bytes of any type to numbers that arithmetic is done on, one after the other.
namespace forkpoint::metrics {

template <class Stored>
FORKPOINT_HD Stored load(const std::byte* bytes, std::size_t index)
{
    Stored value;
    std::memcpy(&value, bytes + index * sizeof(Stored), sizeof(Stored));
    return value;
}

template <class Stored, class Work>
FORKPOINT_HD void decodeAs(const std::byte* bytes, int n, Work* out)
{
    for (int i = 0; i < n; ++i)
        out[i] = static_cast<Work>(widened(load<Stored>(bytes, static_cast<std::size_t>(i))));
}

/// `n` parts to `out`. Work must hold the type, which arithmeticOf sees to; an integer among doubles is rounded.
template <class Work>
FORKPOINT_HD void decode(DType dtype, const std::byte* bytes, int n, Work* out)
{
    switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
        return decodeAs<double>(bytes, n, out);
    case DType::Float32:
    case DType::Complex64:
        return decodeAs<float>(bytes, n, out);
    case DType::Float16:
        return decodeAs<Float16Bits>(bytes, n, out);
    case DType::BFloat16:
        return decodeAs<BFloat16Bits>(bytes, n, out);
    case DType::Float8E4M3FN:
        return decodeAs<Float8E4M3FNBits>(bytes, n, out);
    case DType::Float8E5M2:
        return decodeAs<Float8E5M2Bits>(bytes, n, out);
    case DType::Int64:
        return decodeAs<std::int64_t>(bytes, n, out);
    case DType::Int32:
        return decodeAs<std::int32_t>(bytes, n, out);
    case DType::Int16:
        return decodeAs<std::int16_t>(bytes, n, out);
    case DType::Int8:
        return decodeAs<std::int8_t>(bytes, n, out);
    case DType::UInt8:
        return decodeAs<std::uint8_t>(bytes, n, out);
    case DType::Bool:
        return decodeAs<BoolByte>(bytes, n, out);
    }
}

} // namespace forkpoint::metrics
