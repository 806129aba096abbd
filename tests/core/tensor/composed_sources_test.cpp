// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/composed_sources.h"
#include "tests/core/tensor/naive_tensor.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace forkpoint {
namespace {

using namespace test;

template <class T> NaiveTensor tensorOf(DType dtype, Shape shape, const std::vector<T>& values)
{
    NaiveTensor tensor{dtype, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T))};
    if (!values.empty())
        std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    return tensor;
}

template <class T> std::vector<T> valuesOf(const TensorSource& source)
{
    ReadBuffer buffer;
    const auto bytes = source.read(Box::whole(source.shape()), buffer).value();
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty())
        std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

DType anyType(Random& random)
{
    return static_cast<DType>(random() % 14);
}

NaiveTensor naiveConcat(const std::vector<NaiveTensor>& parts, std::size_t dim)
{
    NaiveTensor whole{parts.front().dtype, parts.front().shape, {}};
    whole.shape[dim] = 0;
    for (const NaiveTensor& part : parts)
        whole.shape[dim] += part.shape[dim];
    forEachIndex(whole.shape, [&](std::vector<std::int64_t> index) {
        std::size_t part = 0;
        while (index[dim] >= parts[part].shape[dim])
            index[dim] -= parts[part++].shape[dim];
        const std::byte* element = parts[part].at(index);
        whole.bytes.insert(whole.bytes.end(), element, element + whole.item());
    });
    return whole;
}

NaiveTensor naiveRowMap(const NaiveTensor& tensor, const std::vector<std::int64_t>& order, std::int64_t rows, std::size_t dim = 0)
{
    NaiveTensor mapped{tensor.dtype, tensor.shape, {}};
    forEachIndex(tensor.shape, [&](std::vector<std::int64_t> index) {
        index[dim] = order[static_cast<std::size_t>(index[dim] / rows)] * rows + index[dim] % rows;
        const std::byte* element = tensor.at(index);
        mapped.bytes.insert(mapped.bytes.end(), element, element + tensor.item());
    });
    return mapped;
}

std::vector<std::int64_t> randomOrder(Random& random, std::int64_t size)
{
    std::vector<std::int64_t> order(static_cast<std::size_t>(size));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return order;
}

TEST(MemorySource, EveryBox)
{
    Random random(21);
    for (int i = 0; i < 200; ++i) {
        const NaiveTensor tensor = randomTensor(random, anyType(random), randomShape(random));
        expectSame(*memory(tensor), tensor, random);
    }
}

TEST(MemorySource, ContiguousBlocksAreNotCopied)
{
    Random random(22);
    const NaiveTensor tensor = randomTensor(random, DType::Float32, {4, 5});
    const TensorSourcePtr source = memory(tensor);
    ReadBuffer one, two;
    const auto rows = source->read({{1, 0}, {2, 5}}, one).value();
    const auto again = source->read({{1, 0}, {2, 5}}, two).value();
    EXPECT_EQ(rows.data(), again.data());
}

TEST(ConcatSource, EveryBoxOfUnevenParts)
{
    Random random(23);
    for (int i = 0; i < 200; ++i) {
        const DType dtype = anyType(random);
        const Shape shape = randomShape(random, 1, 4, 0, 4);
        const auto dim = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(shape.size()) - 1));
        std::vector<NaiveTensor> parts;
        std::vector<TensorSourcePtr> sources;
        for (std::int64_t k = pick(random, 1, 5); k > 0; --k) {
            Shape part = shape;
            part[dim] = pick(random, 0, 4);
            parts.push_back(randomTensor(random, dtype, part));
            sources.push_back(memory(parts.back()));
        }
        const auto source = concatSource(sources, static_cast<std::int64_t>(dim));
        ASSERT_TRUE(source) << source.error().text();
        expectSame(**source, naiveConcat(parts, dim), random);
    }
}

TEST(ConcatSource, MorePartsThanBuffers)
{
    Random random(24);
    std::vector<NaiveTensor> parts;
    std::vector<TensorSourcePtr> sources;
    for (int k = 0; k < 150; ++k) {
        parts.push_back(randomTensor(random, DType::Int16, {3, 2}));
        sources.push_back(memory(parts.back()));
    }
    expectSame(*concatSource(sources, 1).value(), naiveConcat(parts, 1), random);
}

TEST(ConcatSource, ByHand)
{
    const TensorSourcePtr left = memory(tensorOf<float>(DType::Float32, {2, 1}, {1, 3}));
    const TensorSourcePtr right = memory(tensorOf<float>(DType::Float32, {2, 1}, {2, 4}));
    EXPECT_EQ(valuesOf<float>(*concatSource({left, right}, 1).value()), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(valuesOf<float>(*concatSource({left, right}, 0).value()), (std::vector<float>{1, 3, 2, 4}));
}

TEST(RowMapSource, EveryBoxBlockSizeAndDim)
{
    Random random(25);
    for (int i = 0; i < 200; ++i) {
        const std::int64_t rows = pick(random, 1, 3);
        const std::int64_t samples = pick(random, 0, 5);
        Shape shape = randomShape(random, 0, 3, 0, 4);
        const auto dim = static_cast<std::size_t>(pick(random, 0, std::ssize(shape)));
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), rows * samples);
        const NaiveTensor tensor = randomTensor(random, anyType(random), shape);
        const std::vector<std::int64_t> order = randomOrder(random, samples);
        const auto source = rowMapSource(memory(tensor), order, rows, dim);
        ASSERT_TRUE(source) << source.error().text();
        expectSame(**source, naiveRowMap(tensor, order, rows, dim), random);
    }
}

TEST(RowMapSource, DealsRowsBackFromTwoRanks)
{
    // A sampler gave rank 0 the samples 0, 2 and rank 1 the samples 1, 3.
    const TensorSourcePtr rank0 = memory(tensorOf<float>(DType::Float32, {2, 1}, {0, 20}));
    const TensorSourcePtr rank1 = memory(tensorOf<float>(DType::Float32, {2, 1}, {10, 30}));
    const TensorSourcePtr joined = concatSource({rank0, rank1}, 0).value();
    EXPECT_EQ(valuesOf<float>(*rowMapSource(joined, {0, 2, 1, 3}, 1).value()), (std::vector<float>{0, 10, 20, 30}));
}

TEST(ReshapedSource, EveryBoxOfEveryShape)
{
    Random random(26);
    for (int i = 0; i < 300; ++i) {
        // Shapes of the same count: shuffle the prime factors of one into dims of the other.
        const Shape shape = randomShape(random, 0, 4, 1, 6);
        Shape other(static_cast<std::size_t>(pick(random, 1, 5)), 1);
        for (const std::int64_t size : shape) {
            for (std::int64_t prime : {2, 3, 5}) {
                for (std::int64_t rest = size; rest % prime == 0; rest /= prime)
                    other[static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(other.size()) - 1))] *= prime;
            }
        }
        NaiveTensor tensor = randomTensor(random, anyType(random), shape);
        const auto source = reshapedSource(memory(tensor), other);
        ASSERT_TRUE(source) << source.error().text();
        tensor.shape = other;
        expectSame(**source, tensor, random);
    }
    NaiveTensor empty = randomTensor(random, DType::Int8, {3, 0, 2});
    const TensorSourcePtr source = reshapedSource(memory(empty), {0, 7}).value();
    empty.shape = {0, 7};
    expectSame(*source, empty, random);
}

TEST(WeightedSumSource, WidensAndRoundsOnce)
{
    const TensorSourcePtr half = memory(tensorOf<std::uint16_t>(DType::Float16, {3}, {0x3c00, 0x4000, 0xc200})); // 1, 2, -3
    const TensorSourcePtr brain = memory(tensorOf<std::uint16_t>(DType::BFloat16, {3}, {0x3f80, 0x4040, 0x0000})); // 1, 3, 0
    const TensorSourcePtr eight = memory(tensorOf<std::uint8_t>(DType::Float8E4M3FN, {3}, {0x38, 0x7e, 0x00})); // 1, 448, 0
    const TensorSourcePtr small = memory(tensorOf<std::uint8_t>(DType::Float8E5M2, {3}, {0x3c, 0x7b, 0x00})); // 1, 57344, 0
    const auto sum = weightedSumSource({half, brain, eight, small}, {0.5, 0.5, 1, 1});
    ASSERT_TRUE(sum) << sum.error().text();
    EXPECT_EQ((*sum)->dtype(), DType::Float32);
    EXPECT_EQ(valuesOf<float>(**sum), (std::vector<float>{3, 57794.5f, -1.5f}));

    // 1 + 2^-24 + 2^-24 is 1 + 2^-23 if it is formed in double, and 1 if it is formed in float.
    const TensorSourcePtr one = memory(tensorOf<float>(DType::Float32, {1}, {1}));
    const TensorSourcePtr tiny = memory(tensorOf<float>(DType::Float32, {1}, {0x1p-24f}));
    EXPECT_EQ(valuesOf<float>(*weightedSumSource({one, tiny, tiny}, {1, 1, 1}).value()), std::vector<float>{1 + 0x1p-23f});

    const TensorSourcePtr wide = memory(tensorOf<double>(DType::Float64, {1}, {0.1}));
    const TensorSourcePtr mixed = weightedSumSource({one, wide}, {1, 2}).value();
    EXPECT_EQ(mixed->dtype(), DType::Float64);
    EXPECT_EQ(valuesOf<double>(*mixed), std::vector<double>{1 + 0.2});
}

TEST(WeightedSumSource, ComplexPartsAreSummedByPart)
{
    const TensorSourcePtr a = memory(tensorOf<float>(DType::Complex64, {1}, {1, 2}));
    const TensorSourcePtr b = memory(tensorOf<double>(DType::Complex128, {1}, {10, 20}));
    EXPECT_EQ(valuesOf<float>(*weightedSumSource({a, a}, {1, 2}).value()), (std::vector<float>{3, 6}));
    const TensorSourcePtr wide = weightedSumSource({a, b}, {1, 0.5}).value();
    EXPECT_EQ(wide->dtype(), DType::Complex128);
    EXPECT_EQ(valuesOf<double>(*wide), (std::vector<double>{6, 12}));
}

TEST(WeightedSumSource, EveryBox)
{
    Random random(27);
    for (int i = 0; i < 100; ++i) {
        const Shape shape = randomShape(random);
        const auto count = static_cast<std::size_t>(elementCount(shape).value());
        std::vector<TensorSourcePtr> parts;
        std::vector<double> weights;
        std::vector<double> sums(count, 0.0);
        for (std::int64_t k = pick(random, 1, 4); k > 0; --k) {
            std::vector<float> values(count);
            for (float& value : values)
                value = static_cast<float>(pick(random, -1000, 1000)) / 7.0f;
            weights.push_back(static_cast<double>(pick(random, -4, 4)) / 3.0);
            for (std::size_t n = 0; n < count; ++n)
                sums[n] += weights.back() * static_cast<double>(values[n]);
            parts.push_back(memory(tensorOf(DType::Float32, shape, values)));
        }
        std::vector<float> rounded(sums.begin(), sums.end());
        expectSame(*weightedSumSource(parts, weights).value(), tensorOf(DType::Float32, shape, rounded), random);
    }
}

TEST(ComposedSources, OnTopOfEachOther)
{
    Random random(28);
    for (int i = 0; i < 100; ++i) {
        const DType dtype = anyType(random);
        const std::int64_t width = pick(random, 1, 4);
        std::vector<NaiveTensor> parts;
        std::vector<TensorSourcePtr> sources;
        for (std::int64_t k = pick(random, 1, 4); k > 0; --k) {
            parts.push_back(randomTensor(random, dtype, {pick(random, 0, 5), width, 3}));
            sources.push_back(memory(parts.back()));
        }
        NaiveTensor expected = naiveConcat(parts, 0);
        const std::vector<std::int64_t> order = randomOrder(random, expected.shape[0]);
        expected = naiveRowMap(expected, order, 1);
        TensorSourcePtr source = rowMapSource(concatSource(sources, 0).value(), order, 1).value();
        expectSame(*source, expected, random);
        expected.shape = {expected.shape[0] * width, 3};
        source = reshapedSource(source, expected.shape).value();
        expectSame(*source, expected, random);
        const NaiveTensor right = randomTensor(random, dtype, {expected.shape[0], 2});
        source = concatSource({source, memory(right)}, 1).value();
        expectSame(*source, naiveConcat({expected, right}, 1), random);
    }
}

TEST(ComposedSources, RenumberedIntegersKeepWhatIsNoNumber)
{
    const std::vector<std::int64_t> numbers{2, 0, 1};
    const auto wide = memory(tensorOf<std::int64_t>(DType::Int64, {2, 3}, {0, 1, 2, -100, 3, 1}));
    EXPECT_EQ(valuesOf<std::int64_t>(*renumberedSource(wide, numbers).value()), (std::vector<std::int64_t>{2, 0, 1, -100, 3, 0}));
    const auto narrow = renumberedSource(memory(tensorOf<std::int32_t>(DType::Int32, {2, 2}, {2, -1, 1, 0})), numbers).value();
    EXPECT_EQ(valuesOf<std::int32_t>(*narrow), (std::vector<std::int32_t>{1, -1, 0, 2}));
    ReadBuffer buffer;
    const auto column = narrow->read(Box{{0, 1}, {2, 1}}, buffer);
    ASSERT_TRUE(column);
    std::int32_t second = 0;
    std::memcpy(&second, column->data() + sizeof(std::int32_t), sizeof second);
    EXPECT_EQ(second, 2);
    EXPECT_EQ(valuesOf<std::int64_t>(*renumberedSource(memory(tensorOf<std::int64_t>(DType::Int64, {0}, {})), numbers).value()),
              std::vector<std::int64_t>());
}

TEST(ComposedSources, BoxesOutsideAreRefusedByAll)
{
    const TensorSourcePtr plain = memory(tensorOf<float>(DType::Float32, {2, 2}, {1, 2, 3, 4}));
    const TensorSourcePtr all[] = {plain, concatSource({plain, plain}, 0).value(), rowMapSource(plain, {1, 0}, 1).value(),
                                   weightedSumSource({plain}, {1}).value(), reshapedSource(plain, {4, 1}).value()};
    ReadBuffer buffer;
    for (const TensorSourcePtr& source : all) {
        for (const Box& box : {Box{{0, 0}, {5, 1}}, Box{{0}, {1}}, Box{{-1, 0}, {1, 1}}, Box{{0, 3}, {1, 0}}}) {
            const auto bytes = source->read(box, buffer);
            ASSERT_FALSE(bytes);
            EXPECT_EQ(bytes.error().code, ErrorCode::Usage);
        }
    }
}

TEST(ComposedSources, FactoriesSayWhatDoesNotFit)
{
    const TensorSourcePtr f22 = memory(tensorOf<float>(DType::Float32, {2, 2}, {1, 2, 3, 4}));
    const TensorSourcePtr f4 = memory(tensorOf<float>(DType::Float32, {4}, {1, 2, 3, 4}));
    const TensorSourcePtr i22 = memory(tensorOf<std::int32_t>(DType::Int32, {2, 2}, {1, 2, 3, 4}));
    const TensorSourcePtr scalar = memory(tensorOf<float>(DType::Float32, {}, {1}));
    const TensorSourcePtr complex = memory(tensorOf<float>(DType::Complex64, {2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
    const std::int64_t huge = std::int64_t{1} << 62;
    const TensorSourcePtr wide = memory(NaiveTensor{DType::UInt8, {0, huge}, {}});

    struct Row {
        Result<TensorSourcePtr> result;
        const char* says;
    };
    const Row rows[] = {
        {memorySource(DType::Float32, {2}, std::vector<std::byte>(7)), "[2] has 8 bytes, but 7"},
        {memorySource(DType::Float32, {huge}, {}), "more bytes than can be addressed"},
        {memorySource(DType::Float32, {-1}, {}), "more bytes"},
        {concatSource({}, 0), "no part"},
        {concatSource({f22, nullptr}, 0), "missing"},
        {concatSource({f22}, 2), "dimension 2"},
        {concatSource({f22}, -1), "dimension -1"},
        {concatSource({scalar}, 0), "[]"},
        {concatSource({f22, i22}, 0), "part 1 is int32"},
        {concatSource({f22, f4}, 0), "part 1 has [4]"},
        {concatSource({wide, wide}, 1), "larger than can be addressed"},
        {rowMapSource(nullptr, {}, 1), "no tensor"},
        {rowMapSource(scalar, {0}, 1), "[]"},
        {rowMapSource(f4, {0, 1}, 3), "2 samples of 3 rows"},
        {rowMapSource(f4, {0, 1}, 0), "0 rows"},
        {rowMapSource(f4, {0, 1}, 2, 1), "along dimension 1"},
        {rowMapSource(f4, {0, 1, 2}, 1), "3 samples"},
        {rowMapSource(f4, {0, 1, 1, 3}, 1), "sample 1"},
        {rowMapSource(f4, {0, 1, 4, 3}, 1), "sample 4"},
        {rowMapSource(f4, {0, 1, -1, 3}, 1), "sample -1"},
        {renumberedSource(nullptr, {0}), "no tensor"},
        {renumberedSource(f4, {0}), "not float32"},
        {weightedSumSource({}, {}), "no part"},
        {weightedSumSource({f22, nullptr}, {1, 1}), "missing"},
        {weightedSumSource({f22}, {1, 2}), "2 weights"},
        {weightedSumSource({i22}, {1}), "int32"},
        {weightedSumSource({f22, complex}, {1, 1}), "complex64"},
        {weightedSumSource({f22, f4}, {1, 1}), "part 1 has [4]"},
        {reshapedSource(nullptr, {}), "no tensor"},
        {reshapedSource(f4, {3}), "[3]"},
        {reshapedSource(f4, {-2, -2}), "[-2, -2]"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.says);
        ASSERT_FALSE(row.result);
        EXPECT_EQ(row.result.error().code, ErrorCode::Usage);
        EXPECT_NE(row.result.error().message.find(row.says), std::string::npos) << row.result.error().message;
    }
}

} // namespace
} // namespace forkpoint
