// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/ulp.h"

#include <cmath>

namespace forkpoint::metrics {
namespace {

/// One part as stored.
struct Part {
    std::uint64_t bits = 0;
    bool nan = false;
    double value = 0;
    std::int64_t integer = 0; ///< integers only
};

template <class Stored>
Part partAs(const std::byte* bytes)
{
    Stored stored;
    std::memcpy(&stored, bytes, sizeof stored);
    Part part;
    std::memcpy(&part.bits, bytes, sizeof stored);
    const auto value = widened(stored);
    part.value = static_cast<double>(value);
    part.nan = std::isnan(part.value);
    if constexpr (std::is_same_v<decltype(value), const std::int64_t>)
        part.integer = value;
    return part;
}

Part partOf(DType dtype, const std::byte* bytes)
{
    switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
        return partAs<double>(bytes);
    case DType::Float32:
    case DType::Complex64:
        return partAs<float>(bytes);
    case DType::Float16:
        return partAs<Float16Bits>(bytes);
    case DType::BFloat16:
        return partAs<BFloat16Bits>(bytes);
    case DType::Float8E4M3FN:
        return partAs<Float8E4M3FNBits>(bytes);
    case DType::Float8E5M2:
        return partAs<Float8E5M2Bits>(bytes);
    case DType::Int64:
        return partAs<std::int64_t>(bytes);
    case DType::Int32:
        return partAs<std::int32_t>(bytes);
    case DType::Int16:
        return partAs<std::int16_t>(bytes);
    case DType::Int8:
        return partAs<std::int8_t>(bytes);
    case DType::UInt8:
        return partAs<std::uint8_t>(bytes);
    case DType::Bool:
        return partAs<BoolByte>(bytes);
    }
    return {};
}

} // namespace

std::uint64_t ulpDistance(float a, float b)
{
    if (std::isnan(a) || std::isnan(b))
        return kUlpUndefined;
    return steps(a, b);
}

std::uint64_t ulpDistance(double a, double b)
{
    if (std::isnan(a) || std::isnan(b))
        return kUlpUndefined;
    return steps(a, b);
}

std::uint64_t ulpDistance(DType dtypeA, const std::byte* a, DType dtypeB, const std::byte* b)
{
    const Part x = partOf(dtypeA, a);
    const Part y = partOf(dtypeB, b);
    if (x.nan || y.nan)
        return kUlpUndefined;
    switch (arithmeticOf(dtypeA, dtypeB)) {
    case Arithmetic::Integer:
        return steps(x.integer, y.integer);
    case Arithmetic::Double:
        return ulpDistance(x.value, y.value);
    case Arithmetic::Single:
        break;
    }
    if (partSize(dtypeA) == partSize(dtypeB) && dtypeA == dtypeB) {
        const int width = static_cast<int>(partSize(dtypeA)) * 8;
        return orderDistance(orderOfBits(x.bits, width), orderOfBits(y.bits, width));
    }
    return ulpDistance(static_cast<float>(x.value), static_cast<float>(y.value));
}

} // namespace forkpoint::metrics
