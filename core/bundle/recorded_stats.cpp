// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/recorded_stats.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace forkpoint::bundle {

namespace {

template <class T, class ToDouble> RecordedStats collect(std::span<const std::byte> bytes, ToDouble toDouble)
{
    RecordedStats stats;
    stats.min = std::numeric_limits<double>::infinity();
    stats.max = -std::numeric_limits<double>::infinity();
    double sum = 0, squares = 0;
    std::int64_t finite = 0;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
        T element;
        std::memcpy(&element, bytes.data() + at, sizeof(T));
        const double value = toDouble(element);
        if (std::isnan(value)) {
            ++stats.nan;
        } else if (std::isinf(value)) {
            ++stats.inf;
        } else {
            ++finite;
            stats.min = std::min(stats.min, value);
            stats.max = std::max(stats.max, value);
            sum += value;
            squares += value * value;
        }
    }
    if (finite == 0) {
        stats.min = stats.max = stats.mean = stats.l2 = std::numeric_limits<double>::quiet_NaN();
    } else {
        stats.mean = sum / static_cast<double>(finite);
        stats.l2 = std::sqrt(squares);
    }
    return stats;
}

template <class T> double plain(T value)
{
    return static_cast<double>(value);
}

} // namespace

std::optional<RecordedStats> statsOf(DType dtype, std::span<const std::byte> bytes)
{
    if (bytes.empty())
        return std::nullopt;
    switch (dtype) {
    case DType::Float64:
        return collect<double>(bytes, plain<double>);
    case DType::Float32:
        return collect<float>(bytes, plain<float>);
    case DType::Float16:
        return collect<std::uint16_t>(bytes, fromFloat16);
    case DType::BFloat16:
        return collect<std::uint16_t>(bytes, fromBFloat16);
    case DType::Float8E4M3FN:
        return collect<std::uint8_t>(bytes, fromFloat8E4M3FN);
    case DType::Float8E5M2:
        return collect<std::uint8_t>(bytes, fromFloat8E5M2);
    case DType::Int64:
        return collect<std::int64_t>(bytes, plain<std::int64_t>);
    case DType::Int32:
        return collect<std::int32_t>(bytes, plain<std::int32_t>);
    case DType::Int16:
        return collect<std::int16_t>(bytes, plain<std::int16_t>);
    case DType::Int8:
        return collect<std::int8_t>(bytes, plain<std::int8_t>);
    case DType::UInt8:
    case DType::Bool:
        return collect<std::uint8_t>(bytes, plain<std::uint8_t>);
    case DType::Complex64:
    case DType::Complex128:
        break;
    }
    return std::nullopt;
}

} // namespace forkpoint::bundle
