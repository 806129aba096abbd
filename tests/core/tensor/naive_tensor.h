// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/composed_sources.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

// A tensor as tests believe in it: all bytes in memory, every element addressed by its index, one at a time. Sources are compared with it.
namespace forkpoint::test {

struct NaiveTensor {
    DType dtype = DType::Float32;
    Shape shape;
    std::vector<std::byte> bytes;

    std::size_t item() const { return itemSize(dtype); }

    const std::byte* at(const std::vector<std::int64_t>& index) const
    {
        std::int64_t flat = 0;
        for (std::size_t d = 0; d < shape.size(); ++d)
            flat = flat * shape[d] + index[d];
        return bytes.data() + static_cast<std::size_t>(flat) * item();
    }
};

/// Calls `visit(index)` for every index of `extent` in row-major order.
template <class Visit> void forEachIndex(const Shape& extent, Visit visit)
{
    if (std::find(extent.begin(), extent.end(), 0) != extent.end())
        return;
    std::vector<std::int64_t> index(extent.size(), 0);
    while (true) {
        visit(index);
        std::size_t d = extent.size();
        while (d > 0 && ++index[d - 1] == extent[d - 1])
            index[--d] = 0;
        if (d == 0)
            return;
    }
}

inline std::vector<std::byte> naiveRead(const NaiveTensor& tensor, const Box& box)
{
    std::vector<std::byte> result;
    forEachIndex(box.extent, [&](std::vector<std::int64_t> index) {
        for (std::size_t d = 0; d < index.size(); ++d)
            index[d] += box.start[d];
        const std::byte* element = tensor.at(index);
        result.insert(result.end(), element, element + tensor.item());
    });
    return result;
}

using Random = std::mt19937_64;

inline std::int64_t pick(Random& random, std::int64_t low, std::int64_t high)
{
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

inline std::vector<std::byte> randomBytes(Random& random, std::size_t size)
{
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random() & 0xff);
    return bytes;
}

inline NaiveTensor randomTensor(Random& random, DType dtype, Shape shape)
{
    const std::size_t size = static_cast<std::size_t>(elementCount(shape).value()) * itemSize(dtype);
    return {dtype, std::move(shape), randomBytes(random, size)};
}

inline Shape randomShape(Random& random, std::int64_t minRank = 0, std::int64_t maxRank = 4, std::int64_t minSize = 0,
                         std::int64_t maxSize = 6)
{
    Shape shape(static_cast<std::size_t>(pick(random, minRank, maxRank)));
    for (std::int64_t& size : shape)
        size = pick(random, minSize, maxSize);
    return shape;
}

inline Box randomBox(Random& random, const Shape& shape)
{
    Box box;
    for (const std::int64_t size : shape) {
        // Often the whole dimension, so that ranges of every kind appear.
        const bool whole = random() % 3 == 0;
        const std::int64_t start = whole ? 0 : pick(random, 0, size);
        box.start.push_back(start);
        box.extent.push_back(whole ? size : pick(random, 0, size - start));
    }
    return box;
}

inline TensorSourcePtr memory(const NaiveTensor& tensor)
{
    return memorySource(tensor.dtype, tensor.shape, tensor.bytes).value();
}

/// Reads `boxes` random boxes, the whole, and the preferred chunks of some size, and compares each with the naive tensor.
inline void expectSame(const TensorSource& source, const NaiveTensor& expected, Random& random, int boxes = 20)
{
    ASSERT_EQ(source.dtype(), expected.dtype);
    ASSERT_EQ(source.shape(), expected.shape);
    ReadBuffer buffer;
    const auto check = [&](const Box& box) {
        auto bytes = source.read(box, buffer);
        ASSERT_TRUE(bytes) << bytes.error().text();
        const std::vector<std::byte> wanted = naiveRead(expected, box);
        ASSERT_TRUE(std::equal(bytes->begin(), bytes->end(), wanted.begin(), wanted.end()));
        if (!bytes->empty()) {
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(bytes->data()) % std::min<std::size_t>(itemSize(source.dtype()), 8), 0u);
        }
    };
    check(Box::whole(expected.shape));
    for (int i = 0; i < boxes; ++i) {
        check(randomBox(random, expected.shape));
        if (testing::Test::HasFatalFailure())
            return;
    }
    std::vector<std::byte> joined;
    for (const Box& box : source.preferredChunks(static_cast<std::size_t>(pick(random, 1, 200)))) {
        auto bytes = source.read(box, buffer);
        ASSERT_TRUE(bytes) << bytes.error().text();
        joined.insert(joined.end(), bytes->begin(), bytes->end());
    }
    EXPECT_EQ(joined, expected.bytes);
}

} // namespace forkpoint::test
