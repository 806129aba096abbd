// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "mixtures.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace forkpoint::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// What may lie in a tensor. A stretch has one of these throughout, so that blocks of one kind, edges and mixtures all occur.
enum class Stretch { Normal, Zeros, Denormal, Tiny, Huge, Special, Constant, FewValues, AnyBits, Kinds };

double numberOf(Stretch stretch, std::mt19937_64& random)
{
    std::normal_distribution<double> normal;
    const bool odd = random() % 2 == 1;
    switch (stretch) {
    case Stretch::Normal:
        return normal(random);
    case Stretch::Zeros:
        return random() % 3 == 0 ? normal(random) : odd ? 0.0 : -0.0;
    case Stretch::Denormal:
        return normal(random) * (odd ? 0x1p-128 : 0x1p-1030);
    case Stretch::Tiny:
        return normal(random) * (odd ? 0x1p-122 : 0x1p-15);
    case Stretch::Huge:
        return normal(random) * (odd ? 0x1p126 : 0x1p1020);
    case Stretch::Special:
        return random() % 8 == 0 ? (odd ? kInf : -kInf) : random() % 8 == 0 ? std::nan("") : normal(random);
    case Stretch::Constant:
        return 1.0 / 3;
    case Stretch::FewValues:
        return static_cast<double>(random() % 5) - 2;
    default:
        return 0;
    }
}

} // namespace

TestTensor mixed(DType dtype, std::int64_t elements, std::mt19937_64& random)
{
    TestTensor tensor = randomBits(dtype, elements, static_cast<unsigned>(random()));
    const std::size_t size = bytesOfPart(dtype), total = tensor.bytes().size() / size;
    for (std::size_t i = 0; i < total;) {
        const auto stretch = static_cast<Stretch>(random() % static_cast<unsigned>(Stretch::Kinds));
        const std::size_t end = std::min<std::size_t>(total, i + 1 + random() % 3000);
        for (; i < end; ++i) {
            if (stretch == Stretch::AnyBits)
                continue;
            const double value = numberOf(stretch, random);
            if (isInteger(dtype))
                encodePart(dtype, std::isfinite(value) ? value * 40 : 3, tensor.bytes().data() + i * size);
            else
                std::memcpy(tensor.bytes().data() + i * size, tensorOf(isComplex(dtype) ? (size == 4 ? DType::Float32 : DType::Float64) : dtype, {value}).bytes().data(), size);
        }
    }
    return tensor;
}

TestTensor partner(const TestTensor& a, DType dtype, std::mt19937_64& random)
{
    TestTensor b = mixed(dtype, a.shape()[0], random);
    if (dtype != a.dtype())
        return b;
    const std::size_t size = bytesOfPart(dtype), total = b.bytes().size() / size;
    for (std::size_t i = 0; i < total;) {
        const std::uint64_t kind = random() % 5;
        const std::size_t end = std::min<std::size_t>(total, i + 1 + random() % 2000);
        for (; i < end; ++i) {
            std::byte* const at = b.bytes().data() + i * size;
            if (kind != 0)
                std::memcpy(at, a.bytes().data() + i * size, size);
            if (kind == 1 || (kind == 2 && random() % 2 == 0))
                *at ^= static_cast<std::byte>(1 + random() % 3);
            else if (kind == 3)
                at[size - 1] ^= std::byte{0x80};
        }
    }
    return b;
}

} // namespace forkpoint::test
