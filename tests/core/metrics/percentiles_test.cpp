// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace forkpoint::metrics {
namespace {

using test::TestTensor;
using test::tensorOf;

constexpr double kInf = std::numeric_limits<double>::infinity();

Percentiles measuredPercentiles(const TestTensor& a, const TestTensor& b, const TestTensor* mask = nullptr, int threads = 0)
{
    MeasureOptions options;
    options.percentiles = true;
    options.threads = threads;
    const auto result = mask != nullptr ? measureMasked(a, b, *mask, options) : measure(a, b, options);
    if (!result || !result->percentiles) {
        ADD_FAILURE() << (result ? "no percentiles" : result.error().text());
        return {};
    }
    return *result->percentiles;
}

/// By sorting: number ceil(p n) of the sizes, from 1.
Percentiles sortedPercentiles(std::vector<double> sizes)
{
    if (sizes.empty())
        return {};
    std::sort(sizes.begin(), sizes.end());
    const auto at = [&](std::size_t perMille) {
        const std::size_t rank = (sizes.size() * perMille + 999) / 1000;
        return sizes[std::max<std::size_t>(rank, 1) - 1];
    };
    return {at(500), at(900), at(990), at(999)};
}

/// |d| of every finite pair, one pair at a time: maxAbs of a single pair has its own tests.
std::vector<double> sizesOf(const TestTensor& a, const TestTensor& b, const TestTensor* mask)
{
    std::vector<double> sizes;
    const std::size_t sizeA = test::bytesOfPart(a.dtype()), sizeB = test::bytesOfPart(b.dtype());
    const auto parts = static_cast<std::size_t>(test::partsOfElement(a.dtype()));
    for (std::size_t i = 0; i < a.bytes().size() / sizeA; ++i) {
        if (mask != nullptr && mask->bytes()[i / parts] == std::byte{0})
            continue;
        const auto part = [](const TestTensor& tensor, std::size_t at, std::size_t size) {
            const DType real = tensor.dtype() == DType::Complex64 ? DType::Float32 : tensor.dtype() == DType::Complex128 ? DType::Float64 : tensor.dtype();
            return TestTensor(real, {1}, {tensor.bytes().begin() + static_cast<std::ptrdiff_t>(at * size),
                                          tensor.bytes().begin() + static_cast<std::ptrdiff_t>((at + 1) * size)});
        };
        const PairStatistics one = test::referenceStatistics(part(a, i, sizeA), part(b, i, sizeB), nullptr, {});
        if (one.finite == 1)
            sizes.push_back(one.maxAbs.value);
    }
    return sizes;
}

class PercentilesOfType : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Percentiles, PercentilesOfType, ::testing::ValuesIn(test::kAllTypes),
                         [](const auto& type) { return std::string(name(type.param)); });

TEST_P(PercentilesOfType, areThoseOfTheSortedNumbers)
{
    unsigned seed = static_cast<unsigned>(GetParam());
    for (const std::int64_t elements : {1, 2, 3, 9, 10, 11, 99, 1000, 1001, 3333}) {
        SCOPED_TRACE(elements);
        const auto numbers = [&] { return test::normalNumbers(static_cast<std::size_t>(elements * test::partsOfElement(GetParam())), ++seed, 20); };
        TestTensor a = tensorOf(GetParam(), numbers());
        const TestTensor b = tensorOf(GetParam(), numbers());
        a.cutEvery(100);
        EXPECT_EQ(measuredPercentiles(a, b), sortedPercentiles(sizesOf(a, b, nullptr)));
        const TestTensor bitsA = test::randomBits(GetParam(), elements, ++seed), bitsB = test::randomBits(GetParam(), elements, ++seed);
        EXPECT_EQ(measuredPercentiles(bitsA, bitsB), sortedPercentiles(sizesOf(bitsA, bitsB, nullptr)));
        EXPECT_EQ(measuredPercentiles(a, a), Percentiles{});
    }
}

TEST_P(PercentilesOfType, countOnlyWhatTheMaskKeeps)
{
    const TestTensor a = test::randomBits(GetParam(), 2000, 71), b = test::randomBits(GetParam(), 2000, 72);
    std::vector<std::byte> keep(2000);
    for (std::size_t i = 0; i < keep.size(); ++i)
        keep[i] = static_cast<std::byte>(i % 3);
    const TestTensor mask(DType::UInt8, {2000}, keep);
    EXPECT_EQ(measuredPercentiles(a, b, &mask), sortedPercentiles(sizesOf(a, b, &mask)));
}

TEST(Percentiles, nanAndInfinityAreLeftOut)
{
    const TestTensor a = tensorOf(DType::Float64, {1, kInf, std::nan(""), 4, 5}), b = tensorOf(DType::Float64, {2, 1, 1, 6, kInf});
    EXPECT_EQ(measuredPercentiles(a, b), (Percentiles{1, 2, 2, 2}));
    const TestTensor none = tensorOf(DType::Float64, {kInf, kInf});
    EXPECT_EQ(measuredPercentiles(none, none), Percentiles{});
    EXPECT_EQ(measuredPercentiles(TestTensor(DType::Int8, {0}, {}), TestTensor(DType::Int8, {0}, {})), Percentiles{});
}

TEST(Percentiles, pairsOfTwoTypesAndAnyNumberOfThreads)
{
    const std::vector<double> numbers = test::normalNumbers(50000, 81);
    TestTensor a = tensorOf(DType::Float32, numbers);
    const TestTensor b = tensorOf(DType::BFloat16, numbers);
    a.cutEvery(999);
    const Percentiles expected = sortedPercentiles(sizesOf(a, b, nullptr));
    for (const int threads : {1, 2, 4})
        EXPECT_EQ(measuredPercentiles(a, b, nullptr, threads), expected);
}

TEST(Percentiles, areFoundOnlyOnRequest)
{
    TestTensor a = tensorOf(DType::Float32, {1, 2, 3});
    std::atomic<int> reads = 0;
    a.onRead([&](std::int64_t) -> std::optional<Error> {
        ++reads;
        return std::nullopt;
    });
    EXPECT_FALSE(measure(a, tensorOf(DType::Float32, {1, 2, 4}))->percentiles);
    EXPECT_EQ(reads, 1);
}

} // namespace
} // namespace forkpoint::metrics
