// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/box_ranges.h"
#include "core/tensor/tensor_source.h"
#include "tests/core/tensor/naive_tensor.h"

#include <gtest/gtest.h>
#include <limits>

namespace forkpoint {
namespace {

using namespace test;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(ElementCount, Table)
{
    EXPECT_EQ(elementCount({}), 1);
    EXPECT_EQ(elementCount({0}), 0);
    EXPECT_EQ(elementCount({2, 3, 4}), 24);
    EXPECT_EQ(elementCount({kMax}), kMax);
    EXPECT_EQ(elementCount({kMax, 1, 0}), 0);
    EXPECT_EQ(elementCount({-1}), std::nullopt);
    EXPECT_EQ(elementCount({0, -1}), std::nullopt);
    EXPECT_EQ(elementCount({kMax, 2}), std::nullopt);
    EXPECT_EQ(elementCount({0, kMax, kMax}), std::nullopt); // its strides do not exist either
    EXPECT_EQ(elementCount({1ll << 32, 1ll << 31}), std::nullopt);
    EXPECT_EQ(elementCount({1ll << 31, 1ll << 31}), 1ll << 62);
}

TEST(Box, WholeAndElements)
{
    EXPECT_EQ(Box::whole({2, 3}), (Box{{0, 0}, {2, 3}}));
    EXPECT_EQ(Box::whole({}).elements(), 1);
    EXPECT_EQ((Box{{5, 5}, {2, 0}}).elements(), 0);
    EXPECT_EQ((Box{{0}, {-3}}).elements(), 0);
    EXPECT_EQ((Box{{0, 0}, {kMax, kMax}}).elements(), 0);
}

TEST(Box, LeavingTheShapeIsRefused)
{
    const Shape shape = {2, 3};
    EXPECT_TRUE(checkBox(shape, {{0, 0}, {2, 3}}));
    EXPECT_TRUE(checkBox(shape, {{2, 3}, {0, 0}}));
    const Box bad[] = {
        {{0}, {1}},       {{0, 0, 0}, {1, 1, 1}}, {{0, 0}, {1}},       {{-1, 0}, {1, 1}},   {{0, 0}, {3, 1}},
        {{0, 1}, {1, 3}}, {{0, 0}, {1, -1}},      {{kMax, 0}, {1, 1}}, {{1, 0}, {kMax, 1}}, {{kMax, kMax}, {kMax, kMax}},
        {{0, 4}, {1, 0}},
    };
    for (const Box& box : bad) {
        const auto result = checkBox(shape, box);
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, ErrorCode::Usage);
        EXPECT_NE(result.error().message.find("[2, 3]"), std::string::npos) << result.error().message;
    }
}

TEST(RangeWalk, RangesAreThoseOfTheBox)
{
    Random random(11);
    for (int i = 0; i < 500; ++i) {
        const Shape shape = randomShape(random);
        const Box box = randomBox(random, shape);
        std::vector<std::int64_t> expected;
        forEachIndex(box.extent, [&](const std::vector<std::int64_t>& index) {
            std::int64_t flat = 0;
            for (std::size_t d = 0; d < shape.size(); ++d)
                flat = flat * shape[d] + box.start[d] + index[d];
            expected.push_back(flat);
        });
        RangeWalk walk(shape, box);
        std::vector<std::int64_t> walked;
        FlatRange range;
        std::int64_t ranges = 0;
        while (walk.next(range)) {
            EXPECT_EQ(range.count, walk.rangeLength());
            ++ranges;
            for (std::int64_t k = 0; k < range.count; ++k)
                walked.push_back(range.offset + k);
        }
        EXPECT_EQ(walked, expected);
        EXPECT_EQ(ranges, walk.count());
    }
}

TEST(BoxesOfRange, CoverTheRangeInOrder)
{
    Random random(12);
    for (int i = 0; i < 500; ++i) {
        const Shape shape = randomShape(random, 0, 5, 1, 5);
        const std::int64_t total = elementCount(shape).value();
        const std::int64_t offset = pick(random, 0, total);
        const FlatRange range{offset, pick(random, 0, total - offset)};
        const std::vector<Box> boxes = boxesOfRange(shape, range);
        EXPECT_LE(boxes.size(), 2 * shape.size() + 1);
        std::int64_t at = range.offset;
        for (const Box& box : boxes) {
            ASSERT_TRUE(checkBox(shape, box));
            RangeWalk walk(shape, box);
            ASSERT_EQ(walk.count(), 1);
            FlatRange piece;
            ASSERT_TRUE(walk.next(piece));
            EXPECT_EQ(piece.offset, at);
            at += piece.count;
        }
        EXPECT_EQ(at, range.offset + range.count);
    }
}

TEST(ContiguousChunks, PartitionInOrder)
{
    Random random(13);
    for (int i = 0; i < 1000; ++i) {
        const Shape shape = randomShape(random, 0, 5, 0, 7);
        const std::size_t item = std::size_t{1} << pick(random, 0, 4);
        const auto target = static_cast<std::size_t>(pick(random, 0, 600));
        const std::vector<Box> chunks = contiguousChunks(shape, item, target);
        std::int64_t at = 0;
        for (const Box& box : chunks) {
            ASSERT_TRUE(checkBox(shape, box));
            RangeWalk walk(shape, box);
            ASSERT_EQ(walk.count(), 1);
            FlatRange range;
            ASSERT_TRUE(walk.next(range));
            ASSERT_EQ(range.offset, at);
            at += range.count;
            EXPECT_LE(static_cast<std::size_t>(range.count) * item, std::max(target, item));
        }
        EXPECT_EQ(at, elementCount(shape).value());
    }
}

TEST(ContiguousChunks, AreOfAboutTheTarget)
{
    EXPECT_EQ(contiguousChunks({1000, 1000}, 4, 1 << 20).size(), 4u); // 262 rows each
    EXPECT_EQ(contiguousChunks({1 << 20}, 4, 1 << 20).size(), 4u);
    EXPECT_EQ(contiguousChunks({4, 1 << 20}, 1, 1 << 20).size(), 4u);
    EXPECT_EQ(contiguousChunks({2, 3, 1 << 19}, 4, 1 << 20).size(), 12u);
    EXPECT_EQ(contiguousChunks({}, 4, 1 << 20), std::vector<Box>{Box{}});
    EXPECT_TRUE(contiguousChunks({3, 0}, 4, 1 << 20).empty());
    EXPECT_TRUE(contiguousChunks({-3}, 4, 1 << 20).empty());
    EXPECT_EQ(contiguousChunks({kMax}, 4, std::numeric_limits<std::size_t>::max()).size(), 3u);
}

TEST(ReadBuffer, ChildrenStayWhereTheyAre)
{
    ReadBuffer buffer;
    ReadBuffer& first = buffer.child(0);
    const std::span<std::byte> bytes = first.take(100);
    bytes[0] = std::byte{42};
    for (std::size_t i = 1; i < 200; ++i)
        buffer.child(i).take(10);
    EXPECT_EQ(&buffer.child(0), &first);
    EXPECT_EQ(bytes[0], std::byte{42});
}

TEST(ReadBuffer, TakenMemoryIsAlignedAndLargeEnough)
{
    ReadBuffer buffer;
    for (const std::size_t size : {1u, 0u, 63u, 64u, 65u, 1u << 20, 5u}) {
        const std::span<std::byte> bytes = buffer.take(size);
        EXPECT_EQ(bytes.size(), size);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64, 0u);
        std::fill(bytes.begin(), bytes.end(), std::byte{1});
    }
}

TEST(ReadBuffer, RemembersUntilItIsTakenAgain)
{
    ReadBuffer buffer;
    EXPECT_FALSE(buffer.recall({}));
    EXPECT_FALSE(buffer.recall({1, 0}));
    buffer.take(3)[2] = std::byte{7};
    EXPECT_FALSE(buffer.recall({1, 0}));
    buffer.remember({1, 0});
    ASSERT_TRUE(buffer.recall({1, 0}));
    EXPECT_EQ(buffer.recall({1, 0})->size(), 3u);
    EXPECT_EQ((*buffer.recall({1, 0}))[2], std::byte{7});
    EXPECT_FALSE(buffer.recall({1, 1}));
    EXPECT_FALSE(buffer.recall({2, 0}));
    buffer.take(3);
    EXPECT_FALSE(buffer.recall({1, 0}));
}

TEST(TakeBytes, TooMuchIsAnErrorNotAnException)
{
    ReadBuffer buffer;
    const auto taken = takeBytes(buffer, std::numeric_limits<std::size_t>::max() / 2);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::Unreadable);
}

} // namespace
} // namespace forkpoint
