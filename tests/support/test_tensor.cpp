// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace forkpoint::test {
namespace {

struct FloatFormat {
    int exponentBits, mantissaBits;
    bool hasInfinity; ///< float8_e4m3fn has none, and one NaN
};

std::optional<FloatFormat> formatOf(DType dtype)
{
    switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
        return FloatFormat{11, 52, true};
    case DType::Float32:
    case DType::Complex64:
        return FloatFormat{8, 23, true};
    case DType::Float16:
        return FloatFormat{5, 10, true};
    case DType::BFloat16:
        return FloatFormat{8, 7, true};
    case DType::Float8E4M3FN:
        return FloatFormat{4, 3, false};
    case DType::Float8E5M2:
        return FloatFormat{5, 2, true};
    default:
        return std::nullopt;
    }
}

std::uint64_t loadBits(const std::byte* at, std::size_t size)
{
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, size);
    return bits;
}

} // namespace

TestTensor::TestTensor(DType dtype, Shape shape, std::vector<std::byte> bytes)
    : m_dtype(dtype)
    , m_shape(std::move(shape))
    , m_bytes(std::move(bytes))
{
}

TestTensor& TestTensor::cutEvery(std::int64_t elements)
{
    m_cut = elements;
    return *this;
}

TestTensor& TestTensor::shift(std::size_t offset)
{
    m_bytes.insert(m_bytes.begin(), offset, std::byte{0xAA});
    m_offset += offset;
    return *this;
}

TestTensor& TestTensor::onRead(std::function<std::optional<Error>(std::int64_t)> hook)
{
    m_hook = std::move(hook);
    return *this;
}

Result<std::span<const std::byte>> TestTensor::read(const Box& box, ReadBuffer&) const
{
    std::int64_t flat = 0;
    for (std::size_t dim = 0; dim < m_shape.size(); ++dim)
        flat = flat * m_shape[dim] + box.start[dim];
    if (m_hook) {
        if (const auto error = m_hook(flat))
            return tl::unexpected<Error>(*error);
    }
    std::int64_t elements = 1;
    for (const std::int64_t extent : box.extent)
        elements *= extent;
    const std::size_t item = bytesOfPart(m_dtype) * static_cast<std::size_t>(partsOfElement(m_dtype));
    return bytes().subspan(static_cast<std::size_t>(flat) * item, static_cast<std::size_t>(elements) * item);
}

std::vector<Box> TestTensor::preferredChunks(std::size_t) const
{
    std::vector<Box> boxes;
    if (m_shape.size() != 1 || m_cut == 0) {
        if (std::find(m_shape.begin(), m_shape.end(), 0) == m_shape.end())
            boxes.push_back({std::vector<std::int64_t>(m_shape.size(), 0), m_shape});
        return boxes;
    }
    for (std::int64_t first = 0; first < m_shape[0]; first += m_cut)
        boxes.push_back({{first}, {std::min(m_cut, m_shape[0] - first)}});
    return boxes;
}

std::size_t bytesOfPart(DType dtype)
{
    if (const auto format = formatOf(dtype))
        return static_cast<std::size_t>(1 + format->exponentBits + format->mantissaBits) / 8;
    switch (dtype) {
    case DType::Int64:
        return 8;
    case DType::Int32:
        return 4;
    case DType::Int16:
        return 2;
    default:
        return 1;
    }
}

std::int64_t partsOfElement(DType dtype) { return dtype == DType::Complex64 || dtype == DType::Complex128 ? 2 : 1; }

long double decodePart(DType dtype, const std::byte* at)
{
    const std::size_t size = bytesOfPart(dtype);
    const std::uint64_t bits = loadBits(at, size);
    const auto format = formatOf(dtype);
    if (!format) {
        if (dtype == DType::Bool)
            return bits != 0 ? 1 : 0;
        if (dtype == DType::UInt8)
            return static_cast<long double>(bits);
        const int unused = 64 - static_cast<int>(size) * 8;
        return static_cast<long double>(static_cast<std::int64_t>(bits << unused) >> unused);
    }
    const std::uint64_t mantissa = bits & ((std::uint64_t{1} << format->mantissaBits) - 1);
    const std::uint64_t top = (std::uint64_t{1} << format->exponentBits) - 1;
    const std::uint64_t exponent = (bits >> format->mantissaBits) & top;
    const bool negative = ((bits >> (format->mantissaBits + format->exponentBits)) & 1) != 0;
    const int bias = static_cast<int>(top / 2);
    long double value = 0;
    if (format->hasInfinity && exponent == top)
        value = mantissa == 0 ? std::numeric_limits<long double>::infinity() : std::numeric_limits<long double>::quiet_NaN();
    else if (!format->hasInfinity && exponent == top && mantissa == 7)
        value = std::numeric_limits<long double>::quiet_NaN();
    else if (exponent == 0)
        value = std::ldexp(static_cast<long double>(mantissa), 1 - bias - format->mantissaBits);
    else
        value = std::ldexp(static_cast<long double>(mantissa | (std::uint64_t{1} << format->mantissaBits)),
                           static_cast<int>(exponent) - bias - format->mantissaBits);
    return negative ? -value : value;
}

void encodePart(DType dtype, double value, std::byte* at)
{
    std::uint64_t bits = 0;
    const auto format = formatOf(dtype);
    if (!format) {
        if (dtype == DType::Bool) {
            bits = value > 0 ? 1 : 0;
        } else {
            const int width = static_cast<int>(bytesOfPart(dtype)) * 8;
            const long double low = dtype == DType::UInt8 ? 0 : -std::ldexp(1.0L, width - 1);
            const long double high = dtype == DType::UInt8 ? 255 : std::ldexp(1.0L, width - 1) - 1;
            const long double clamped = std::clamp(std::trunc(static_cast<long double>(value)), low, high);
            bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(clamped));
        }
    } else {
        const std::uint64_t top = (std::uint64_t{1} << format->exponentBits) - 1;
        const int bias = static_cast<int>(top / 2);
        const std::uint64_t infinity = top << format->mantissaBits;
        const std::uint64_t largest = format->hasInfinity ? infinity - 1 : (infinity | 6);
        const double size = std::fabs(value);
        if (std::isnan(value)) {
            bits = format->hasInfinity ? infinity | (std::uint64_t{1} << (format->mantissaBits - 1)) : infinity | 7;
        } else if (std::isinf(value)) {
            bits = format->hasInfinity ? infinity : largest;
        } else if (size > 0) {
            const int exponent = std::max(std::ilogb(size), 1 - bias);
            const auto digits = static_cast<std::uint64_t>(std::ldexp(size, format->mantissaBits - exponent));
            const bool subnormal = digits < (std::uint64_t{1} << format->mantissaBits);
            const int field = exponent + bias - (subnormal ? 1 : 0);
            bits = field > static_cast<int>(top) ? largest
                                                 : (static_cast<std::uint64_t>(exponent + bias - 1) << format->mantissaBits) + digits;
            bits = std::min(bits, largest);
        }
        if (std::signbit(value))
            bits |= std::uint64_t{1} << (format->mantissaBits + format->exponentBits);
    }
    std::memcpy(at, &bits, bytesOfPart(dtype));
}

TestTensor tensorOf(DType dtype, const std::vector<double>& parts)
{
    const std::size_t size = bytesOfPart(dtype);
    std::vector<std::byte> bytes(parts.size() * size);
    for (std::size_t i = 0; i < parts.size(); ++i)
        encodePart(dtype, parts[i], bytes.data() + i * size);
    return {dtype, {static_cast<std::int64_t>(parts.size()) / partsOfElement(dtype)}, std::move(bytes)};
}

std::vector<double> normalNumbers(std::size_t n, unsigned seed, double scale)
{
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, scale);
    std::vector<double> numbers(n);
    for (double& number : numbers)
        number = normal(random);
    return numbers;
}

TestTensor randomBits(DType dtype, std::int64_t elements, unsigned seed)
{
    std::mt19937_64 random(seed);
    std::vector<std::byte> bytes(static_cast<std::size_t>(elements * partsOfElement(dtype)) * bytesOfPart(dtype));
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random());
    return {dtype, {elements}, std::move(bytes)};
}

} // namespace forkpoint::test
