// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/pair.h"
#include "core/heatmap/slice.h"
#include "reference.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <set>

namespace forkpoint::heatmap {
namespace {

using test::TestTensor;

Slice made(Shape shape, SliceAxes axes)
{
    auto slice = Slice::make(std::move(shape), std::move(axes));
    EXPECT_TRUE(slice) << slice.error().text();
    return *slice;
}

/// Every way to put dims on the rows and columns of a tensor of this rank, each with other fixed indexes.
std::vector<SliceAxes> allAxes(const Shape& shape, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<DimRange> ranges{{0, 0}};
    for (std::size_t first = 0; first < shape.size(); ++first) {
        for (std::size_t count = 1; first + count <= shape.size(); ++count)
            ranges.push_back({first, count});
    }
    std::vector<SliceAxes> all;
    for (const DimRange& rows : ranges) {
        for (const DimRange& columns : ranges) {
            if (rows.count > 0 && columns.count > 0 && rows.first < columns.end() && columns.first < rows.end())
                continue;
            SliceAxes axes{rows, columns, {}, 0};
            for (const std::int64_t size : shape)
                axes.fixed.push_back(static_cast<std::int64_t>(random()) % size);
            all.push_back(axes);
            if (rows.count == 0) {
                axes.foldWidth = 1 + static_cast<std::int64_t>(random() % 7);
                all.push_back(axes);
            }
        }
    }
    return all;
}

TEST(Slice, placesAndIndexesAreEachOthersInverse)
{
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{4, 5}, Shape{3, 4, 5}, Shape{2, 3, 2, 4}, Shape{1, 3, 1}}) {
        for (const SliceAxes& axes : allAxes(shape, 1)) {
            const Slice slice = made(shape, axes);
            std::set<std::int64_t> seen;
            std::int64_t count = 0;
            for (std::int64_t row = 0; row < slice.rows(); ++row) {
                for (std::int64_t column = 0; column < slice.columns(); ++column) {
                    const Cell cell{row, column};
                    ASSERT_EQ(slice.contains(cell), column < slice.columnsInRow(row));
                    if (!slice.contains(cell))
                        continue;
                    ++count;
                    const auto index = slice.indexAt(cell);
                    ASSERT_EQ(slice.cellOf(index), cell);
                    ASSERT_EQ(slice.cellOfFlat(slice.flatAt(cell)), cell);
                    ASSERT_EQ(slice.unflattened(slice.flatAt(cell)), index);
                    seen.insert(slice.flatAt(cell));
                    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
                        if (!axes.rows.contains(dim) && !axes.columns.contains(dim)) {
                            ASSERT_EQ(index[dim], axes.fixed[dim]);
                        }
                    }
                }
            }
            EXPECT_EQ(count, slice.elements());
            EXPECT_EQ(static_cast<std::int64_t>(seen.size()), count);
            const std::int64_t all = elementCount(shape).value();
            for (std::int64_t flat = 0; flat < all; ++flat)
                ASSERT_EQ(slice.cellOfFlat(flat).has_value(), seen.contains(flat));
        }
    }
}

TEST(Slice, dimsAreMergedLastFastest)
{
    const Slice slice = made({2, 3, 4}, {{0, 2}, {2, 1}, {}, 0});
    EXPECT_EQ(slice.rows(), 6);
    EXPECT_EQ(slice.columns(), 4);
    EXPECT_EQ(slice.indexAt({4, 3}), (std::vector<std::int64_t>{1, 1, 3}));
    EXPECT_EQ(slice.flatAt({4, 3}), 1 * 12 + 1 * 4 + 3);
}

TEST(Slice, defaultsSuitTheShape)
{
    EXPECT_EQ(overviewAxes({}), SliceAxes{});
    EXPECT_EQ(overviewAxes({7}), (SliceAxes{{}, {0, 1}, {}, 0}));
    EXPECT_EQ(overviewAxes({10'000'000}), (SliceAxes{{}, {0, 1}, {}, 4096}));
    EXPECT_EQ(overviewAxes({1, 10'000'000}), (SliceAxes{{}, {0, 2}, {}, 4096}));
    EXPECT_EQ(overviewAxes({30, 40}), (SliceAxes{{0, 1}, {1, 1}, {}, 0}));
    EXPECT_EQ(overviewAxes({8, 256, 512}), (SliceAxes{{0, 2}, {2, 1}, {}, 0}));
    EXPECT_EQ(overviewAxes({64, 3, 7, 7}), (SliceAxes{{0, 1}, {1, 3}, {}, 0})); // a convolution's filters, one a row
    EXPECT_EQ(lastPlaneAxes({8, 256, 512}), (SliceAxes{{1, 1}, {2, 1}, {}, 0}));
    EXPECT_EQ(lastPlaneAxes({7}), overviewAxes({7}));
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 0, 2}, Shape{5}, Shape{1, 1}, Shape{3000}, Shape{2, 3, 4, 5, 6}}) {
        EXPECT_TRUE(Slice::make(shape, overviewAxes(shape)));
        EXPECT_TRUE(Slice::make(shape, lastPlaneAxes(shape)));
        EXPECT_EQ(made(shape, overviewAxes(shape)).elements(), elementCount(shape));
    }
}

TEST(Slice, foldsIntoPowersOfTwo)
{
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1024}, std::int64_t{1025}, std::int64_t{65536}, std::int64_t{10'000'000}, std::int64_t{1} << 31}) {
        const std::int64_t width = foldedWidth(n);
        EXPECT_GE(width, 1);
        if (n <= 1024) {
            EXPECT_EQ(width, std::max<std::int64_t>(n, 1));
            continue;
        }
        EXPECT_EQ(width & (width - 1), 0);
        const double aspect = static_cast<double>(width) * static_cast<double>(width) / static_cast<double>(n);
        EXPECT_GT(aspect, 0.75);
        EXPECT_LT(aspect, 3.3);
    }
}

TEST(Slice, refusesWhatMakesNoSense)
{
    const auto refused = [](Shape shape, SliceAxes axes) {
        const auto slice = Slice::make(std::move(shape), std::move(axes));
        return !slice && slice.error().code == ErrorCode::Usage && !slice.error().message.empty();
    };
    EXPECT_TRUE(refused({3, 4}, {{0, 1}, {0, 1}, {}, 0}));
    EXPECT_TRUE(refused({3, 4}, {{0, 2}, {1, 1}, {}, 0}));
    EXPECT_TRUE(refused({3, 4}, {{0, 1}, {1, 2}, {}, 0}));
    EXPECT_TRUE(refused({3, 4}, {{5, 0}, {0, 1}, {}, 0}));
    EXPECT_TRUE(refused({3, 4}, {{0, 1}, {1, ~std::size_t{0}}, {}, 0}));
    EXPECT_TRUE(refused({3, 4, 5}, {{1, 1}, {2, 1}, {3, 0, 0}, 0}));
    EXPECT_TRUE(refused({3, 4, 5}, {{1, 1}, {2, 1}, {-1, 0, 0}, 0}));
    EXPECT_TRUE(refused({3, 4, 5}, {{1, 1}, {2, 1}, {0}, 0}));
    EXPECT_TRUE(refused({3, 4}, {{0, 1}, {1, 1}, {}, 2}));
    EXPECT_TRUE(refused({3, 4}, {{}, {0, 2}, {}, -1}));
    EXPECT_TRUE(refused({-1}, {{}, {0, 1}, {}, 0}));
    EXPECT_TRUE(refused({std::int64_t{1} << 40, std::int64_t{1} << 40}, {{}, {0, 1}, {}, 0}));
}

TEST(Slice, emptyTensorsHaveNoPicture)
{
    for (const Shape& shape : {Shape{0}, Shape{0, 5}, Shape{5, 0}, Shape{3, 0, 4}}) {
        for (const SliceAxes& axes : {overviewAxes(shape), lastPlaneAxes(shape)}) {
            const Slice slice = made(shape, axes);
            EXPECT_EQ(slice.rows() * slice.columns(), 0);
            EXPECT_EQ(slice.elements(), 0);
            EXPECT_FALSE(slice.contains({0, 0}));
            EXPECT_FALSE(slice.cellOfFlat(0));
        }
    }
}

// ---- reading through a slice

/// A tensor whose numbers are their own flat index.
TestTensor counting(std::int64_t n)
{
    std::vector<double> numbers(static_cast<std::size_t>(n));
    std::iota(numbers.begin(), numbers.end(), 0);
    return test::tensorOf(DType::Int32, numbers);
}

std::int32_t valueAt(const SliceSide& side, std::int64_t row, std::int64_t column)
{
    std::int32_t value;
    std::memcpy(&value, side.bytes + (row * side.rowStride + column * side.columnStride) * 4, sizeof value);
    return value;
}

TEST(SlicedPair, readsEveryRectangleOfEverySlice)
{
    std::mt19937 random(5);
    for (const Shape& shape : {Shape{}, Shape{11}, Shape{6, 5}, Shape{3, 4, 5}, Shape{2, 3, 4, 3}}) {
        const std::int64_t n = elementCount(shape).value();
        const TensorSourcePtr a = test::sourceOf(counting(n), shape);
        const TensorSourcePtr b = test::sourceOf(counting(n), {n}); // of another shape
        for (const SliceAxes& axes : allAxes(shape, 2)) {
            const auto pair = SlicedPair::make(a, b, axes);
            ASSERT_TRUE(pair) << pair.error().text();
            const Slice& slice = pair->slice();
            for (int round = 0; round < 6; ++round) {
                CellRect rect{0, 0, slice.rows(), slice.columns()};
                if (round > 0) {
                    rect.row = static_cast<std::int64_t>(random()) % slice.rows();
                    rect.column = static_cast<std::int64_t>(random()) % slice.columns();
                    rect.rows = 1 + static_cast<std::int64_t>(random()) % (slice.rows() - rect.row);
                    rect.columns = 1 + static_cast<std::int64_t>(random()) % (slice.columns() - rect.column);
                }
                SliceBuffers buffers;
                const auto block = pair->read(rect, Sides::Both, buffers);
                ASSERT_TRUE(block) << block.error().text();
                for (std::int64_t row = 0; row < rect.rows; ++row) {
                    for (std::int64_t column = 0; column < rect.columns; ++column) {
                        const Cell cell{rect.row + row, rect.column + column};
                        if (!slice.contains(cell))
                            continue;
                        ASSERT_EQ(valueAt(block->a, row, column), slice.flatAt(cell));
                        ASSERT_EQ(valueAt(block->b, row, column), slice.flatAt(cell));
                    }
                }
            }
        }
    }
}

TEST(SlicedPair, blocksCoverAnAreaOnce)
{
    std::mt19937 random(6);
    for (const SliceAxes& axes : {SliceAxes{{0, 1}, {1, 1}, {}, 0}, SliceAxes{{1, 1}, {0, 1}, {}, 0}, SliceAxes{{}, {0, 2}, {}, 90}}) {
        const Shape shape{70, 110};
        const auto pair = SlicedPair::make(test::sourceOf(counting(7700), shape), test::sourceOf(counting(7700), shape), axes);
        ASSERT_TRUE(pair);
        for (int round = 0; round < 200; ++round) {
            const std::int64_t rowStep = std::int64_t{1} << random() % 5, columnStep = std::int64_t{1} << random() % 5;
            CellRect area;
            area.row = static_cast<std::int64_t>(random()) % pair->slice().rows() / rowStep * rowStep;
            area.column = static_cast<std::int64_t>(random()) % pair->slice().columns() / columnStep * columnStep;
            area.rows = static_cast<std::int64_t>(random()) % (pair->slice().rows() - area.row + 1);
            area.columns = static_cast<std::int64_t>(random()) % (pair->slice().columns() - area.column + 1);
            const std::size_t target = std::size_t{1} << random() % 16;
            std::set<std::pair<std::int64_t, std::int64_t>> seen;
            for (const CellRect& block : pair->blocks(area, rowStep, columnStep, target)) {
                ASSERT_EQ(block.row % rowStep, 0);
                ASSERT_EQ(block.column % columnStep, 0);
                ASSERT_GT(block.cells(), 0);
                for (std::int64_t row = 0; row < block.rows; ++row) {
                    for (std::int64_t column = 0; column < block.columns; ++column)
                        ASSERT_TRUE(seen.insert({block.row + row, block.column + column}).second);
                }
            }
            ASSERT_EQ(static_cast<std::int64_t>(seen.size()), area.cells());
            if (!seen.empty()) {
                ASSERT_EQ(seen.begin()->first, area.row);
                ASSERT_EQ(seen.rbegin()->first, area.row + area.rows - 1);
            }
        }
    }
}

TEST(SlicedPair, showsComplexNumbersAsTheirParts)
{
    const TestTensor tensor = test::tensorOf(DType::Complex64, {1, -1, 2, -2, 3, -3});
    const TensorSourcePtr source = test::sourceOf(tensor, {3});
    EXPECT_EQ(pictureShape(*source), (Shape{3, 2}));
    for (const SliceAxes& axes : {SliceAxes{{0, 1}, {1, 1}, {}, 0}, SliceAxes{{1, 1}, {0, 1}, {}, 0}, SliceAxes{{}, {0, 1}, {0, 1}, 0}}) {
        const auto pair = SlicedPair::make(source, source, axes);
        ASSERT_TRUE(pair) << pair.error().text();
        EXPECT_EQ(pair->dtypeA(), DType::Float32);
        SliceBuffers buffers;
        const auto block = pair->read({0, 0, pair->slice().rows(), pair->slice().columns()}, Sides::A, buffers);
        ASSERT_TRUE(block);
        EXPECT_EQ(block->b.bytes, nullptr);
        for (std::int64_t row = 0; row < pair->slice().rows(); ++row) {
            for (std::int64_t column = 0; column < pair->slice().columns(); ++column) {
                float value;
                std::memcpy(&value, block->a.bytes + (row * block->a.rowStride + column * block->a.columnStride) * 4, sizeof value);
                const auto index = pair->slice().indexAt({row, column});
                EXPECT_EQ(value, static_cast<float>(index[0] + 1) * (index[1] == 0 ? 1.0f : -1.0f));
            }
        }
    }
}

TEST(SlicedPair, refusesPairsThatCannotBeShownTogether)
{
    const TensorSourcePtr six = test::sourceOf(counting(6), {6});
    const TensorSourcePtr seven = test::sourceOf(counting(7), {7});
    const TensorSourcePtr complex = test::sourceOf(test::tensorOf(DType::Complex64, std::vector<double>(12)), {6});
    for (const auto& [a, b] : {std::pair(six, seven), std::pair(six, complex), std::pair(complex, six)}) {
        const auto pair = SlicedPair::make(a, b, overviewAxes(pictureShape(*a)));
        ASSERT_FALSE(pair);
        EXPECT_EQ(pair.error().code, ErrorCode::Usage);
    }
}

} // namespace
} // namespace forkpoint::heatmap
