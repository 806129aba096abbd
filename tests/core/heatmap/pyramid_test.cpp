// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/pyramid.h"
#include "core/heatmap/kernel.h"
#include "core/metrics/pair_statistics.h"
#include "core/tensor/composed_sources.h"
#include "reference.h"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

namespace forkpoint::heatmap {

using namespace metrics; // the elements' types and arithmetic

namespace {

using test::TestTensor;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using PyramidPtr = std::shared_ptr<const Pyramid>;

/// `shape` is of the picture: complex tensors have half as many elements in the last dim.
PyramidPtr built(const TestTensor& a, const TestTensor& b, const Shape& shape, const SliceAxes& axes, const PyramidOptions& options = {})
{
    Shape own = shape;
    if (isComplex(a.dtype()))
        own.pop_back();
    auto pyramid = Pyramid::build(test::sourceOf(a, own), test::sourceOf(b, own), axes, options);
    if (!pyramid) {
        ADD_FAILURE() << pyramid.error().text();
        return nullptr;
    }
    return *pyramid;
}

PyramidPtr built(const TestTensor& a, const TestTensor& b, const Shape& shape, const PyramidOptions& options = {})
{
    return built(a, b, shape, lastPlaneAxes(shape), options);
}

/// Ordinary numbers of which some are changed a little, some a lot, and some are nothing that can be compared.
struct Sample {
    TestTensor a, b;
};
Sample sampleOf(DType dtype, std::int64_t parts, unsigned seed, bool special)
{
    std::mt19937_64 random(seed);
    std::vector<double> a = test::normalNumbers(static_cast<std::size_t>(parts), seed, isInteger(dtype) ? 40 : 1.5);
    std::vector<double> b = a;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (random() % 3 == 0)
            b[i] *= 1 + 1e-6;
        if (random() % 50 == 0)
            b[i] += 1 + static_cast<double>(random() % 100);
        if (random() % 20 == 0)
            a[i] = b[i] = 0;
        if (special && random() % 40 == 0)
            (random() % 2 ? a : b)[i] = std::array{kNan, kInf, -kInf}[random() % 3];
        if (special && random() % 40 == 0)
            a[i] = b[i] = std::array{kNan, kInf, -kInf}[random() % 3];
    }
    return {test::tensorOf(dtype, a), test::tensorOf(dtype, b)};
}

/// As many levels as there are, some of them not stored.
PyramidOptions storedFrom(int level, const Shape& shape, bool wide)
{
    std::int64_t cells = 0;
    const auto probe = Pyramid::build(std::make_shared<test::PatternSource>(shape, 0.f), std::make_shared<test::PatternSource>(shape, 0.f),
                                             lastPlaneAxes(shape));
    for (int i = level; i < (*probe)->levels(); ++i)
        cells += (*probe)->level(i).whole().cells();
    PyramidOptions options;
    options.memoryBudget = static_cast<std::size_t>(cells * (wide ? 58 : 30));
    return options;
}

Shape pictureOf(Shape shape, DType dtype)
{
    if (isComplex(dtype)) {
        shape.back() /= 2;
        shape.push_back(2);
    }
    return shape;
}

// ---- pooling

class EveryType : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Pyramid, EveryType, ::testing::ValuesIn(test::kAllTypes),
                         [](const auto& type) { return std::string(name(type.param)); });

TEST_P(EveryType, everyCellOfEveryLevelIsTheReference)
{
    unsigned seed = 1;
    for (const Shape& shape : {Shape{1, 2}, Shape{2, 2}, Shape{5, 8}, Shape{33, 130}, Shape{67, 514}, Shape{3, 1000}, Shape{700, 4}, Shape{1, 3000}}) {
        SCOPED_TRACE(testing::PrintToString(shape));
        const std::int64_t parts = shape[0] * shape[1];
        const Shape picture = pictureOf(shape, GetParam());
        for (const bool special : {false, true}) {
            const Sample sample = sampleOf(GetParam(), parts, ++seed, special);
            const SliceAxes axes{{0, 1}, {1, picture.size() - 1}, {}, 0};
            const PyramidPtr pyramid = built(sample.a, sample.b, picture, axes);
            ASSERT_NE(pyramid, nullptr);
            test::expectAsReference(*pyramid, sample.a, sample.b);
            if (HasFatalFailure())
                return;
        }
    }
}

TEST_P(EveryType, everyBitPatternThereIs)
{
    const Shape shape{90, 260};
    const std::int64_t elements = shape[0] * shape[1] / test::partsOfElement(GetParam());
    const TestTensor a = test::randomBits(GetParam(), elements, 77);
    TestTensor b = test::randomBits(GetParam(), elements, 78);
    std::copy_n(a.bytes().begin(), b.bytes().size() / 2, b.bytes().begin()); // half of them are equal
    const Shape picture = pictureOf(shape, GetParam());
    const PyramidPtr pyramid = built(a, b, picture, SliceAxes{{0, 1}, {1, picture.size() - 1}, {}, 0});
    ASSERT_NE(pyramid, nullptr);
    test::expectAsReference(*pyramid, a, b);
}

TEST_P(EveryType, levelsThatAreNotStoredAreTheSame)
{
    const Shape shape{130, 262};
    const Shape picture = pictureOf(shape, GetParam());
    const SliceAxes axes{{0, 1}, {1, picture.size() - 1}, {}, 0};
    const Sample sample = sampleOf(GetParam(), shape[0] * shape[1], 5, true);
    const bool wide = isWidePair(GetParam(), GetParam());
    for (const int first : {1, 3, 5}) {
        const PyramidPtr pyramid = built(sample.a, sample.b, picture, axes, storedFrom(first, shape, wide));
        ASSERT_NE(pyramid, nullptr);
        ASSERT_EQ(pyramid->firstStoredLevel(), first);
        ASSERT_EQ(pyramid->wide(), wide);
        test::expectAsReference(*pyramid, sample.a, sample.b);
        if (HasFatalFailure())
            return;
    }
}

TEST(Pyramid, differentTypesOnTheTwoSides)
{
    using enum DType;
    const Shape shape{37, 141};
    const std::int64_t n = shape[0] * shape[1];
    for (const auto& [typeA, typeB] : {std::pair(Float32, BFloat16), std::pair(BFloat16, Float32), std::pair(Float16, BFloat16), std::pair(Float64, Float32),
                                       std::pair(Float8E4M3FN, Float8E5M2), std::pair(Int64, Int32), std::pair(Int16, UInt8), std::pair(Bool, Int8),
                                       std::pair(Int8, Float32), std::pair(Float16, Int64), std::pair(Float64, Bool), std::pair(Int32, Float8E5M2)}) {
        SCOPED_TRACE(std::string(name(typeA)) + " and " + std::string(name(typeB)));
        const auto a = test::tensorOf(typeA, test::normalNumbers(static_cast<std::size_t>(n), 3, 30));
        const auto b = test::tensorOf(typeB, test::normalNumbers(static_cast<std::size_t>(n), 3, 30));
        const PyramidPtr pyramid = built(a, b, shape);
        ASSERT_NE(pyramid, nullptr);
        test::expectAsReference(*pyramid, a, b);
        const PyramidPtr patterns = built(test::randomBits(typeA, n, 8), test::randomBits(typeB, n, 9), shape);
        test::expectAsReference(*patterns, test::randomBits(typeA, n, 8), test::randomBits(typeB, n, 9));
        if (HasFatalFailure())
            return;
    }
}

TEST(Pyramid, randomShapes)
{
    std::mt19937 random(11);
    const auto seed = [&random] { return static_cast<unsigned>(random()); };
    for (int round = 0; round < 40; ++round) {
        const bool thin = random() % 3 == 0;
        const Shape shape{1 + static_cast<std::int64_t>(random() % 60), 1 + static_cast<std::int64_t>(random() % (thin ? 2000 : 300))};
        SCOPED_TRACE(testing::PrintToString(shape));
        const Sample sample = sampleOf(random() % 2 ? DType::Float32 : DType::BFloat16, shape[0] * shape[1], seed(), round % 2 == 0);
        PyramidOptions options;
        options.memoryBudget = std::size_t{30} << random() % 14;
        const PyramidPtr pyramid = built(sample.a, sample.b, shape, options);
        ASSERT_NE(pyramid, nullptr);
        test::expectAsReference(*pyramid, sample.a, sample.b);
        if (HasFatalFailure())
            return;
    }
}

TEST(Pyramid, slicesOfThreeAndFourDimsOnAnyAxes)
{
    std::mt19937 random(12);
    for (const Shape& shape : {Shape{5, 6, 70}, Shape{3, 40, 4, 7}}) {
        const std::int64_t n = elementCount(shape).value();
        const Sample sample = sampleOf(DType::Float32, n, 13, true);
        for (std::size_t rows = 0; rows < shape.size(); ++rows) {
            for (std::size_t columns = 0; columns < shape.size(); ++columns) {
                if (rows == columns)
                    continue;
                SliceAxes axes{{rows, 1}, {columns, 1}, {}, 0};
                for (const std::int64_t size : shape)
                    axes.fixed.push_back(static_cast<std::int64_t>(random()) % size);
                PyramidOptions options;
                options.memoryBudget = 30 * 20; // most levels are not stored
                const PyramidPtr pyramid = built(sample.a, sample.b, shape, axes, options);
                ASSERT_NE(pyramid, nullptr);
                test::expectAsReference(*pyramid, sample.a, sample.b);
                const PyramidPtr stored = built(sample.a, sample.b, shape, axes);
                test::expectAsReference(*stored, sample.a, sample.b);
                if (HasFatalFailure())
                    return;
            }
        }
        for (const SliceAxes& axes : {overviewAxes(shape), SliceAxes{{0, 1}, {1, shape.size() - 1}, {}, 0}, SliceAxes{{1, shape.size() - 1}, {0, 1}, {}, 0},
                                      SliceAxes{{0, shape.size()}, {}, {}, 0}, SliceAxes{{}, {0, shape.size()}, {}, 37}, SliceAxes{{}, {1, 2}, {}, 11}}) {
            const PyramidPtr pyramid = built(sample.a, sample.b, shape, axes, storedFrom(2, {40, 60}, false));
            ASSERT_NE(pyramid, nullptr);
            test::expectAsReference(*pyramid, sample.a, sample.b);
            if (HasFatalFailure())
                return;
        }
    }
}

TEST(Pyramid, aTransposedSliceOfManyRowsAndColumns)
{
    const Shape shape{300, 1500};
    const Sample sample = sampleOf(DType::Float32, shape[0] * shape[1], 14, false);
    const PyramidPtr upright = built(sample.a, sample.b, shape);
    const PyramidPtr turned = built(sample.a, sample.b, shape, SliceAxes{{1, 1}, {0, 1}, {}, 0});
    ASSERT_TRUE(turned->slice().transposed());
    for (int level = 0; level < upright->levels(); ++level) {
        ASSERT_EQ(turned->level(level).rows, upright->level(level).columns);
        const LevelShape& shapeHere = upright->level(level);
        const auto x = upright->cells(level, shapeHere.whole()).value();
        const auto y = turned->cells(level, turned->level(level).whole()).value();
        for (std::int64_t row = 0; row < shapeHere.rows; ++row) {
            for (std::int64_t column = 0; column < shapeHere.columns; ++column)
                ASSERT_TRUE(x[static_cast<std::size_t>(row * shapeHere.columns + column)] == y[static_cast<std::size_t>(column * shapeHere.rows + row)]);
        }
    }
}

TEST(Pyramid, foldsWithAShortLastRow)
{
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{129}, std::int64_t{1025}, std::int64_t{5000}, std::int64_t{20001}}) {
        for (const std::int64_t width : {std::int64_t{0}, std::int64_t{64}, std::int64_t{100}, std::int64_t{700}}) {
            const Sample sample = sampleOf(DType::Float32, n, static_cast<unsigned>(n + width), true);
            SliceAxes axes = overviewAxes({n});
            axes.foldWidth = width;
            PyramidOptions options;
            options.memoryBudget = 30 * 300;
            const PyramidPtr pyramid = built(sample.a, sample.b, {n}, axes, options);
            ASSERT_NE(pyramid, nullptr);
            test::expectAsReference(*pyramid, sample.a, sample.b);
            if (HasFatalFailure())
                return;
        }
    }
}

TEST(Pyramid, scalarsAndEmptyTensors)
{
    const TestTensor one = test::tensorOf(DType::Float32, {2}), other = test::tensorOf(DType::Float32, {2.5});
    const PyramidPtr scalar = built(one, other, {});
    ASSERT_NE(scalar, nullptr);
    ASSERT_EQ(scalar->levels(), 1);
    test::expectAsReference(*scalar, one, other);
    EXPECT_EQ(scalar->element({0, 0}).value().difference, 0.5);

    const TestTensor none = test::tensorOf(DType::Float32, {});
    for (const Shape& shape : {Shape{0}, Shape{0, 4}, Shape{3, 0}, Shape{2, 0, 3}}) {
        const PyramidPtr empty = built(none, none, shape);
        ASSERT_NE(empty, nullptr);
        EXPECT_EQ(empty->levels(), 0);
        EXPECT_EQ(empty->counts(), Counts{});
        EXPECT_EQ(empty->levelFor(1, 1), 0);
        EXPECT_FALSE(empty->region(0, {0, 0, 0, 0}, Mode::A));
        EXPECT_FALSE(empty->element({0, 0}));
        EXPECT_EQ(empty->largest(Mode::AbsDifference).value(), std::nullopt);
        EXPECT_TRUE(empty->withTolerance(1, 1));
    }
}

TEST(Pyramid, bIsSeenInTheShapeOfA)
{
    const Sample sample = sampleOf(DType::Float32, 600, 15, false);
    const auto pyramid = Pyramid::build(test::sourceOf(sample.a, {20, 30}), test::sourceOf(sample.b, {6, 100}), lastPlaneAxes({20, 30}));
    ASSERT_TRUE(pyramid) << pyramid.error().text();
    test::expectAsReference(**pyramid, sample.a, sample.b);
}

// ---- what must not get lost

TEST(Pyramid, oneBadElementIsInEveryLevel)
{
    std::mt19937_64 random(21);
    for (const Shape& shape : {Shape{700, 900}, Shape{1, 100'000}, Shape{13, 20'011}}) {
        for (int round = 0; round < 10; ++round) {
            const auto flat = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shape[0] * shape[1]));
            const auto a = std::make_shared<test::PatternSource>(shape, 1.0f);
            const auto b = std::make_shared<test::PatternSource>(shape, 1.0f, std::map<std::int64_t, float>{{flat, 1.0f + 0x1p-23f}});
            const auto pyramid = Pyramid::build(a, b, lastPlaneAxes(shape)).value();
            for (int level = 0; level < pyramid->levels(); ++level) {
                const LevelShape& here = pyramid->level(level);
                const Cell bad = pyramid->slice().cellOfFlat(flat).value();
                const Cell cell{bad.row >> here.rowShift, bad.column >> here.columnShift};
                const auto region = pyramid->region(level, {cell.row, cell.column, 1, 1}, Mode::AbsDifference).value();
                ASSERT_EQ(region.values[0], 0x1p-23);
                ASSERT_EQ(pyramid->region(level, {cell.row, cell.column, 1, 1}, Mode::Ulp).value().values[0], 1);
            }
            EXPECT_EQ(pyramid->largest(Mode::Relative).value(), pyramid->slice().cellOfFlat(flat));
            EXPECT_EQ(pyramid->counts().differing, 1);
        }
    }
}

TEST(Pyramid, oneBadElementInAHundredMillion)
{
    const Shape shape{10'000, 10'000};
    const std::int64_t flat = 87'654'321;
    const auto a = std::make_shared<test::PatternSource>(shape, 0.25f);
    const auto b = std::make_shared<test::PatternSource>(shape, 0.25f, std::map<std::int64_t, float>{{flat, 0.5f}});
    PyramidOptions options;
    options.memoryBudget = std::size_t{16} << 20;
    const auto pyramid = Pyramid::build(a, b, lastPlaneAxes(shape), options).value();
    EXPECT_LE(pyramid->storedBytes(), options.memoryBudget);
    const auto top = pyramid->cells(pyramid->levels() - 1, {0, 0, 1, 1}).value();
    EXPECT_EQ(top[0].difference, 0.25);
    EXPECT_EQ(top[0].maxB, 0.5);
    EXPECT_EQ(top[0].maxA, 0.25);
    EXPECT_EQ(pyramid->largest(Mode::AbsDifference).value(), (Cell{8765, 4321}));
    EXPECT_EQ(a->elementsRead(), shape[0] * shape[1] + (a->elementsRead() - shape[0] * shape[1])); // read once while building, see below
    EXPECT_LE(a->largestRead(), std::int64_t{1} << 20);
}

TEST(Pyramid, buildingReadsEveryElementOnce)
{
    for (const Shape& shape : {Shape{3000, 1000}, Shape{7, 300'001}, Shape{1, 1'000'003}, Shape{200'001, 5}}) {
        const auto a = std::make_shared<test::PatternSource>(shape, 1.0f);
        const auto b = std::make_shared<test::PatternSource>(shape, 1.0f);
        for (const SliceAxes& axes : {lastPlaneAxes(shape), SliceAxes{{1, 1}, {0, 1}, {}, 0}, SliceAxes{{}, {0, 2}, {}, 777}}) {
            const std::int64_t before = a->elementsRead();
            ASSERT_TRUE(Pyramid::build(a, b, axes));
            EXPECT_EQ(a->elementsRead() - before, shape[0] * shape[1]);
            EXPECT_EQ(b->elementsRead(), a->elementsRead());
        }
    }
}

TEST(Pyramid, specialValuesNeitherHideNorPoison)
{
    const Shape shape{64, 64};
    std::vector<double> a(4096, 1), b(4096, 1);
    b[64 * 20 + 20] = 1.5; // a finite error, with trouble all around it
    a[64 * 20 + 21] = kNan;
    b[64 * 21 + 20] = kInf;
    a[64 * 21 + 21] = -kInf;
    a[64 * 40 + 3] = b[64 * 40 + 3] = kInf; // no difference
    a[64 * 50 + 3] = b[64 * 50 + 3] = kNan;
    for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16}) {
        const TestTensor tensorA = test::tensorOf(dtype, a), tensorB = test::tensorOf(dtype, b);
        const PyramidPtr pyramid = built(tensorA, tensorB, shape);
        const auto top = pyramid->cells(pyramid->levels() - 1, {0, 0, 1, 1}).value()[0];
        EXPECT_EQ(top.minA, 1);
        EXPECT_EQ(top.maxA, 1);
        EXPECT_EQ(top.maxB, 1.5);
        EXPECT_EQ(top.difference, 0.5);
        EXPECT_TRUE(std::isfinite(top.relative) && std::isfinite(top.ulp));
        EXPECT_EQ(top.flags, kFiniteA | kFiniteB | kFinitePair | kNanA | kNanB | kNegativeInfA | kPositiveInfA | kPositiveInfB | kNanPair |
                                 kPositiveInfPair | kEqualInf | kDiffers | kOver);
        const Counts& counts = pyramid->counts();
        EXPECT_EQ(counts.nanA, 2);
        EXPECT_EQ(counts.nanB, 1);
        EXPECT_EQ(counts.nanPairs, 2);
        EXPECT_EQ(counts.equalInf, 1);
        EXPECT_EQ(counts.finitePairs, 4096 - 5);
        EXPECT_EQ(counts.over, 5);
        const auto same = pyramid->cells(0, {40, 3, 1, 1}).value()[0];
        EXPECT_EQ(same.flags, kPositiveInfA | kPositiveInfB | kEqualInf);
        EXPECT_EQ(pyramid->largest(Mode::AbsDifference).value(), (Cell{20, 20}));
    }
}

TEST(Pyramid, aMaskOfEqualInfinitiesIsNoDifference)
{
    // Attention scores before the softmax: -infinity above the diagonal, on both sides.
    const Shape shape{150, 150};
    std::vector<double> a(22500), b(22500);
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = b[i] = i % 150 > i / 150 ? -kInf : static_cast<double>(i) * 1e-3;
    b[149 * 150] += 1;
    const PyramidPtr pyramid = built(test::tensorOf(DType::Float32, a), test::tensorOf(DType::Float32, b), shape);
    EXPECT_EQ(pyramid->counts().differing, 1);
    EXPECT_EQ(pyramid->counts().over, 1);
    EXPECT_EQ(pyramid->counts().equalInf, 150 * 149 / 2);
    const auto all = pyramid->region(0, pyramid->level(0).whole(), Mode::OverTolerance).value();
    EXPECT_EQ(std::count(all.values.begin(), all.values.end(), 0.0), 22499);
}

// ---- agreement with the rest of the core

TEST(Pyramid, countsAndExtremesAreThoseOfMeasure)
{
    for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16, DType::Float16, DType::Int32, DType::Int64, DType::UInt8, DType::Bool}) {
        SCOPED_TRACE(name(dtype));
        const Shape shape{123, 457};
        const Sample sample = sampleOf(dtype, shape[0] * shape[1], 31, true);
        PyramidOptions options;
        options.rtol = 1e-3;
        options.atol = 1e-2;
        const PyramidPtr pyramid = built(sample.a, sample.b, shape, options);
        MeasureOptions measureOptions;
        measureOptions.rtol = options.rtol;
        measureOptions.atol = options.atol;
        const auto statistics = measure(*test::sourceOf(sample.a, shape), *test::sourceOf(sample.b, shape), measureOptions).value();
        const Counts& counts = pyramid->counts();
        EXPECT_EQ(counts.elements, statistics.count);
        EXPECT_EQ(counts.finitePairs, statistics.finite);
        EXPECT_EQ(counts.over, statistics.allcloseViolations);
        EXPECT_EQ(counts.nanA, statistics.a.nan);
        EXPECT_EQ(counts.positiveInfB, statistics.b.positiveInf);
        EXPECT_EQ(counts.equalInf, statistics.infBothEqual);
        const auto top = pyramid->cells(pyramid->levels() - 1, {0, 0, 1, 1}).value()[0];
        EXPECT_EQ(std::fabs(top.difference), statistics.maxAbs.value);
        EXPECT_NEAR(top.relative, statistics.maxRel.value, 1e-7);
        const auto place = pyramid->largest(Mode::AbsDifference).value();
        EXPECT_EQ(std::fabs(pyramid->element(place.value()).value().difference), statistics.maxAbs.value);
    }
}

TEST(Pyramid, elementTellsEverything)
{
    const TestTensor a = test::tensorOf(DType::BFloat16, {1, 2, 3, kNan, kInf, kInf, -kInf, 0});
    const TestTensor b = test::tensorOf(DType::BFloat16, {1, 2.015625, -3, 1, kInf, 1, kInf, 0});
    const PyramidPtr pyramid = built(a, b, {2, 4});
    const auto at = [&](std::int64_t row, std::int64_t column) { return pyramid->element({row, column}).value(); };
    EXPECT_EQ(at(0, 1).index, (std::vector<std::int64_t>{0, 1}));
    EXPECT_EQ(at(1, 2).flat, 6);
    EXPECT_EQ(at(0, 1).a, 2);
    EXPECT_EQ(at(0, 1).b, 2.015625);
    EXPECT_EQ(at(0, 1).difference, 0.015625);
    EXPECT_EQ(at(0, 1).ulp, 1u);
    EXPECT_EQ(at(0, 1).bitsA, 0x4000u);
    EXPECT_EQ(at(0, 1).bitsB, 0x4001u);
    EXPECT_EQ(at(0, 2).relative, 2);
    EXPECT_TRUE(std::isnan(at(0, 3).difference));
    EXPECT_TRUE(std::isnan(at(0, 3).a));
    EXPECT_EQ(at(1, 0).difference, 0);
    EXPECT_EQ(at(1, 1).difference, -kInf);
    EXPECT_EQ(at(1, 2).difference, kInf);
    EXPECT_TRUE(std::isnan(at(1, 2).relative));
    EXPECT_FALSE(pyramid->element({2, 0}));
    EXPECT_FALSE(pyramid->element({0, -1}));

    const std::int64_t big = std::numeric_limits<std::int64_t>::max();
    TestTensor x = test::tensorOf(DType::Int64, {0}), y = test::tensorOf(DType::Int64, {0});
    std::memcpy(x.bytes().data(), &big, 8);
    const std::int64_t next = big - 1;
    std::memcpy(y.bytes().data(), &next, 8);
    const auto element = built(x, y, {})->element({0, 0}).value();
    EXPECT_EQ(element.difference, -1); // exact, though neither number is a double
    EXPECT_EQ(element.ulp, 1u);
    EXPECT_EQ(element.bitsA, static_cast<std::uint64_t>(big));
}

// ---- regions and memory

TEST(Pyramid, regionsAreCutOutOfTheirLevel)
{
    const Shape shape{211, 2300};
    const Sample sample = sampleOf(DType::Float32, shape[0] * shape[1], 41, true);
    const PyramidPtr pyramid = built(sample.a, sample.b, shape, storedFrom(2, shape, false));
    ASSERT_EQ(pyramid->firstStoredLevel(), 2);
    std::mt19937 random(42);
    for (int level = 0; level < pyramid->levels(); ++level) {
        const LevelShape& here = pyramid->level(level);
        for (const Mode mode : kModes) {
            const auto whole = built(sample.a, sample.b, shape)->region(level, here.whole(), mode).value();
            for (int round = 0; round < 10; ++round) {
                CellRect rect{static_cast<std::int64_t>(random()) % here.rows, static_cast<std::int64_t>(random()) % here.columns, 0, 0};
                rect.rows = static_cast<std::int64_t>(random()) % (here.rows - rect.row + 1);
                rect.columns = static_cast<std::int64_t>(random()) % (here.columns - rect.column + 1);
                const auto part = pyramid->region(level, rect, mode).value();
                ASSERT_EQ(static_cast<std::int64_t>(part.values.size()), rect.cells());
                for (std::int64_t i = 0; i < rect.cells(); ++i) {
                    const auto from = static_cast<std::size_t>((rect.row + i / rect.columns) * here.columns + rect.column + i % rect.columns);
                    ASSERT_EQ(part.values[static_cast<std::size_t>(i)], whole.values[from]);
                    ASSERT_EQ(part.flags[static_cast<std::size_t>(i)], whole.flags[from]);
                }
            }
        }
    }
    EXPECT_GT(pyramid->cachedBytes(), 0u);
}

TEST(Pyramid, regionsCostWhatTheyCover)
{
    const Shape shape{4096, 4096};
    const auto a = std::make_shared<test::PatternSource>(shape, 1.0f);
    const auto b = std::make_shared<test::PatternSource>(shape, 2.0f);
    const auto pyramid = Pyramid::build(a, b, lastPlaneAxes(shape)).value();
    ASSERT_EQ(pyramid->firstStoredLevel(), 2);
    const auto elementsFor = [&](int level, CellRect rect, Mode mode) {
        const std::int64_t before = a->elementsRead() + b->elementsRead();
        EXPECT_TRUE(pyramid->region(level, rect, mode));
        return a->elementsRead() + b->elementsRead() - before;
    };
    EXPECT_EQ(elementsFor(2, {0, 0, 1024, 1024}, Mode::A), 0);
    EXPECT_EQ(elementsFor(5, {3, 3, 50, 50}, Mode::Ulp), 0);
    EXPECT_EQ(elementsFor(0, {0, 0, 64, 1024}, Mode::AbsDifference), 2 * 64 * 1024);
    EXPECT_EQ(elementsFor(0, {0, 0, 64, 1024}, Mode::AbsDifference), 0); // kept
    EXPECT_EQ(elementsFor(0, {10, 10, 20, 30}, Mode::Difference), 0);    // of the same numbers
    EXPECT_EQ(elementsFor(0, {0, 0, 64, 1024}, Mode::A), 64 * 1024);     // one side will do
    EXPECT_EQ(elementsFor(1, {0, 0, 64, 1024}, Mode::B), 4 * 64 * 1024);
    EXPECT_EQ(elementsFor(0, {60, 1000, 10, 100}, Mode::AbsDifference), 2 * 3 * 64 * 1024); // three tiles more
}

TEST(Pyramid, memoryStaysWithinItsBudgets)
{
    const Shape shape{3000, 3000};
    const auto a = std::make_shared<test::PatternSource>(shape, 1.0f);
    const auto b = std::make_shared<test::PatternSource>(shape, 2.0f);
    for (const std::size_t budget : {std::size_t{1} << 30, std::size_t{20} << 20, std::size_t{1} << 20, std::size_t{1} << 10, std::size_t{0}}) {
        PyramidOptions options;
        options.memoryBudget = budget;
        options.cacheBudget = std::size_t{1} << 20;
        const auto pyramid = Pyramid::build(a, b, lastPlaneAxes(shape), options).value();
        EXPECT_LE(pyramid->storedBytes(), std::max<std::size_t>(budget, 30));
        for (std::int64_t row = 0; row + 100 <= 3000; row += 100) {
            ASSERT_TRUE(pyramid->region(0, {row, 0, 100, 1000}, Mode::A));
            ASSERT_LE(pyramid->cachedBytes(), options.cacheBudget);
        }
    }
    EXPECT_EQ(Pyramid::build(a, b, lastPlaneAxes(shape)).value()->firstStoredLevel(), 2);
    const Shape small{500, 500};
    EXPECT_EQ(built(test::tensorOf(DType::Float32, std::vector<double>(250'000)), test::tensorOf(DType::Float32, std::vector<double>(250'000)), small)
                  ->firstStoredLevel(),
              0);
}

TEST(Pyramid, theLevelForAZoom)
{
    const Shape shape{4096, 4096};
    const auto source = std::make_shared<test::PatternSource>(shape, 1.0f);
    const auto pyramid = Pyramid::build(source, source, lastPlaneAxes(shape)).value();
    EXPECT_EQ(pyramid->levelFor(0.01, 0.01), 0);
    EXPECT_EQ(pyramid->levelFor(1.99, 1.99), 0);
    EXPECT_EQ(pyramid->levelFor(2, 2), 1);
    EXPECT_EQ(pyramid->levelFor(4.1, 4.1), 2);
    EXPECT_EQ(pyramid->levelFor(4.1, 2.1), 1); // no larger than a pixel in either direction
    EXPECT_EQ(pyramid->levelFor(1e9, 1e9), pyramid->levels() - 1);
    const Shape strip{4, 1 << 20};
    const auto thin = std::make_shared<test::PatternSource>(strip, 1.0f);
    const auto strips = Pyramid::build(thin, thin, lastPlaneAxes(strip)).value();
    EXPECT_EQ(strips->level(strips->levelFor(0.01, 1000)).columnShift, 9);
    EXPECT_EQ(strips->level(strips->levelFor(0.01, 1000)).rowShift, 0);
}

TEST(Pyramid, refusesWhatMakesNoSense)
{
    const TestTensor tensor = test::tensorOf(DType::Float32, std::vector<double>(12, 1));
    const PyramidPtr pyramid = built(tensor, tensor, {3, 4});
    for (const auto& [level, rect] : {std::pair(-1, CellRect{0, 0, 1, 1}), std::pair(9, CellRect{0, 0, 1, 1}), std::pair(0, CellRect{0, 0, 4, 1}),
                                      std::pair(0, CellRect{-1, 0, 1, 1}), std::pair(0, CellRect{0, 2, 1, 3}), std::pair(0, CellRect{0, 0, -1, 1}),
                                      std::pair(0, CellRect{std::numeric_limits<std::int64_t>::max(), 0, 1, 1})}) {
        const auto region = pyramid->region(level, rect, Mode::A);
        ASSERT_FALSE(region);
        EXPECT_EQ(region.error().code, ErrorCode::Usage);
        EXPECT_FALSE(pyramid->cells(level, rect));
    }
    const TensorSourcePtr source = test::sourceOf(tensor, {12});
    for (const auto& [rtol, atol] : {std::pair(-1.0, 0.0), std::pair(0.0, -1.0), std::pair(kNan, 0.0), std::pair(0.0, kNan)}) {
        PyramidOptions options;
        options.rtol = rtol;
        options.atol = atol;
        const auto refused = Pyramid::build(source, source, overviewAxes({12}), options);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::Usage);
        EXPECT_FALSE(pyramid->withTolerance(rtol, atol));
    }
    EXPECT_FALSE(Pyramid::build(source, test::sourceOf(test::tensorOf(DType::Float32, {1}), {1}), overviewAxes({12})));
    EXPECT_FALSE(Pyramid::build(source, source, overviewAxes({3, 4})));
}

// ---- tolerance

TEST(Pyramid, aNewToleranceIsAsIfBuiltWithIt)
{
    const Shape shape{190, 275};
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Int32, DType::Float16}) {
        const Sample sample = sampleOf(dtype, shape[0] * shape[1], 51, true);
        const PyramidPtr first = built(sample.a, sample.b, shape);
        for (const auto& [rtol, atol] : {std::pair(0.0, 0.0), std::pair(1e-6, 0.0), std::pair(0.0, 1.0), std::pair(0.5, 20.0), std::pair(1e300, 1e308), std::pair(kInf, kInf)}) {
            const auto second = first->withTolerance(rtol, atol);
            ASSERT_TRUE(second) << second.error().text();
            EXPECT_EQ((*second)->options().rtol, rtol);
            test::expectAsReference(**second, sample.a, sample.b);
            if (HasFatalFailure())
                return;
        }
        test::expectAsReference(*first, sample.a, sample.b); // unchanged
    }
}

// ---- threads, instructions, failures, cancelling

bool sameCells(const Pyramid& x, const Pyramid& y)
{
    for (int level = 0; level < x.levels(); ++level) {
        const auto cellsX = x.cells(level, x.level(level).whole()).value(), cellsY = y.cells(level, y.level(level).whole()).value();
        for (std::size_t i = 0; i < cellsX.size(); ++i) { // bits, so that zeros have their sign compared too
            for (const auto member : {&CellContent::minA, &CellContent::maxA, &CellContent::minB, &CellContent::maxB, &CellContent::difference,
                                      &CellContent::relative, &CellContent::ulp}) {
                if (std::bit_cast<std::uint64_t>(cellsX[i].*member) != std::bit_cast<std::uint64_t>(cellsY[i].*member))
                    return false;
            }
            if (cellsX[i].flags != cellsY[i].flags)
                return false;
        }
    }
    return x.counts() == y.counts();
}

TEST(Pyramid, theSameForAnyNumberOfThreads)
{
    const oneapi::tbb::global_control allow(oneapi::tbb::global_control::max_allowed_parallelism, 4);
    const Shape shape{1111, 1234};
    const std::int64_t n = shape[0] * shape[1];
    const TestTensor a = test::randomBits(DType::Float32, n, 61), b = test::randomBits(DType::Float32, n, 62);
    PyramidOptions options;
    options.threads = 1;
    const PyramidPtr one = built(a, b, shape, options);
    for (const int threads : {0, 2, 3, 4}) {
        options.threads = threads;
        EXPECT_TRUE(sameCells(*one, *built(a, b, shape, options))) << threads;
    }
}

template <class Real>
void expectSameForBothInstructionSets(DType dtype)
{
    if (!supported(Instructions::Avx2))
        GTEST_SKIP() << "this machine has no AVX2";
    const Shape shape{61, 645};
    const std::int64_t n = shape[0] * shape[1];
    const auto pair = SlicedPair::make(test::sourceOf(test::randomBits(dtype, n, 63), shape), test::sourceOf(test::randomBits(dtype, n, 64), shape),
                                       lastPlaneAxes(shape))
                          .value();
    SliceBuffers buffers;
    const auto block = pair.read({0, 0, shape[0], shape[1]}, Sides::Both, buffers).value();
    for (const int shift : {0, 1, 2, 3, 6, 8}) {
        const auto rows = static_cast<std::size_t>(((shape[0] - 1) >> shift) + 1), columns = static_cast<std::size_t>(((shape[1] - 1) >> shift) + 1);
        std::vector<std::vector<Real>> values[2];
        std::vector<std::uint16_t> flags[2];
        Counts counts[2];
        for (const Instructions instructions : {Instructions::Portable, Instructions::Avx2}) {
            const auto at = static_cast<std::size_t>(instructions);
            values[at].assign(7, std::vector<Real>(rows * columns));
            flags[at].resize(rows * columns);
            auto& v = values[at];
            const CellPlanes<Real> cells{v[0].data(), v[1].data(), v[2].data(), v[3].data(), v[4].data(), v[5].data(), v[6].data(), flags[at].data(),
                                         static_cast<std::int64_t>(columns)};
            poolBlock<Real>(block, pair.slice(), kPlaneAll, shift, shift, {1e-3, 1e-3}, cells, counts[at], instructions);
        }
        for (std::size_t plane = 0; plane < 7; ++plane)
            ASSERT_EQ(std::memcmp(values[0][plane].data(), values[1][plane].data(), rows * columns * sizeof(Real)), 0) << "plane " << plane << ", shift " << shift;
        ASSERT_EQ(flags[0], flags[1]);
        ASSERT_TRUE(counts[0] == counts[1]);
    }
}

TEST(Pyramid, theSameForBothInstructionSets)
{
    for (const DType dtype : {DType::Float32, DType::Float16, DType::BFloat16, DType::Float8E4M3FN, DType::Float8E5M2, DType::Int16, DType::Int8, DType::Bool})
        expectSameForBothInstructionSets<float>(dtype);
    for (const DType dtype : {DType::Float64, DType::Int64, DType::Int32})
        expectSameForBothInstructionSets<double>(dtype);
}

TEST(Pyramid, manyThreadsLookAtOnce)
{
    const Shape shape{600, 2500};
    const Sample sample = sampleOf(DType::Float32, shape[0] * shape[1], 71, false);
    PyramidOptions options = storedFrom(3, shape, false);
    options.cacheBudget = 300'000; // tiles come and go
    const PyramidPtr pyramid = built(sample.a, sample.b, shape, options);
    const PyramidPtr quiet = built(sample.a, sample.b, shape);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (unsigned seed = 0; seed < 4; ++seed) {
        threads.emplace_back([&, seed] {
            std::mt19937 random(seed);
            for (int round = 0; round < 30; ++round) {
                const CellRect rect{static_cast<std::int64_t>(random() % 500), static_cast<std::int64_t>(random() % 2000), 100, 500};
                const Mode mode = kModes[random() % std::size(kModes)];
                wrong += pyramid->region(0, rect, mode).value().values != quiet->region(0, rect, mode).value().values;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
}

/// Fails, waits or asks to stop when it is read.
class HookedSource final : public TensorSource {
public:
    HookedSource(Shape shape, std::function<std::optional<Error>(std::int64_t)> hook)
        : m_source(std::move(shape), 1.0f)
        , m_hook(std::move(hook))
    {
    }
    DType dtype() const override { return m_source.dtype(); }
    const Shape& shape() const override { return m_source.shape(); }
    Result<std::span<const std::byte>> read(const Box& box, ReadBuffer& buffer) const override
    {
        if (auto error = m_hook(box.start.empty() ? 0 : box.start[0]))
            return tl::unexpected(*error);
        return m_source.read(box, buffer);
    }

private:
    test::PatternSource m_source;
    std::function<std::optional<Error>(std::int64_t)> m_hook;
};

TEST(Pyramid, theFirstBlockThatFailsIsReported)
{
    const Shape shape{4000, 2000};
    const auto good = std::make_shared<test::PatternSource>(shape, 1.0f);
    const auto bad = std::make_shared<HookedSource>(shape, [](std::int64_t row) -> std::optional<Error> {
        if (row >= 1000)
            return Error{ErrorCode::Corrupt, "row " + std::to_string(row >= 3000 ? 3000 : 1000), "somewhere"};
        return std::nullopt;
    });
    for (int round = 0; round < 5; ++round) {
        const auto failed = Pyramid::build(good, bad, lastPlaneAxes(shape));
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().code, ErrorCode::Corrupt);
        EXPECT_EQ(failed.error().message, "row 1000");
        EXPECT_EQ(failed.error().where, "somewhere");
    }
}

TEST(Pyramid, aSourceThatFailsLaterFailsTheRegionOnly)
{
    const Shape shape{3000, 2000};
    std::atomic<bool> broken = false;
    const auto source = std::make_shared<HookedSource>(shape, [&](std::int64_t) -> std::optional<Error> {
        return broken ? std::optional(Error{ErrorCode::Unreadable, "gone", {}}) : std::nullopt;
    });
    const auto pyramid = Pyramid::build(source, source, lastPlaneAxes(shape)).value();
    broken = true;
    EXPECT_TRUE(pyramid->region(2, {0, 0, 10, 10}, Mode::A));
    EXPECT_EQ(pyramid->region(0, {0, 0, 10, 10}, Mode::A).error().code, ErrorCode::Unreadable);
    EXPECT_EQ(pyramid->cells(1, {0, 0, 10, 10}).error().code, ErrorCode::Unreadable);
    EXPECT_EQ(pyramid->element({0, 0}).error().code, ErrorCode::Unreadable);
    EXPECT_EQ(pyramid->largest(Mode::A).error().code, ErrorCode::Unreadable);
    EXPECT_EQ(pyramid->withTolerance(1, 1).error().code, ErrorCode::Unreadable);
    broken = false;
    EXPECT_TRUE(pyramid->region(0, {0, 0, 10, 10}, Mode::A));
}

TEST(Pyramid, cancelsSoon)
{
    // Large enough to take much longer than a block; the stop comes from the first read.
    const Shape shape{40'000, 20'000};
    std::stop_source stop;
    std::atomic<std::int64_t> reads = 0;
    const auto source = std::make_shared<HookedSource>(shape, [&](std::int64_t) -> std::optional<Error> {
        ++reads;
        stop.request_stop();
        return std::nullopt;
    });
    PyramidOptions options;
    options.memoryBudget = std::size_t{1} << 20;
    const auto cancelled = Pyramid::build(source, source, lastPlaneAxes(shape), options, stop.get_token());
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
    EXPECT_LE(reads, 2 * 2 * static_cast<std::int64_t>(std::thread::hardware_concurrency()) + 2); // both sides of one block per thread

    const Shape small{3000, 3000};
    const auto pattern = std::make_shared<test::PatternSource>(small, 1.0f);
    const auto pyramid = Pyramid::build(pattern, pattern, lastPlaneAxes(small)).value();
    EXPECT_EQ(pyramid->region(0, {0, 0, 100, 100}, Mode::A, stop.get_token()).error().code, ErrorCode::Cancelled);
    EXPECT_EQ(pyramid->withTolerance(1, 1, stop.get_token()).error().code, ErrorCode::Cancelled);
}

class RecordedProgress final : public Progress {
public:
    void report(std::string_view stage, double fraction) override
    {
        const std::lock_guard lock(m_mutex);
        EXPECT_EQ(stage, "pyramid");
        EXPECT_GE(fraction, last);
        last = fraction;
        ++reports;
    }
    double last = 0;
    int reports = 0;

private:
    std::mutex m_mutex;
};

TEST(Pyramid, reportsItsProgress)
{
    const Shape shape{5000, 2000};
    const auto source = std::make_shared<test::PatternSource>(shape, 1.0f);
    RecordedProgress progress;
    ASSERT_TRUE(Pyramid::build(source, source, lastPlaneAxes(shape), {}, {}, &progress));
    EXPECT_EQ(progress.last, 1);
    EXPECT_GT(progress.reports, 5);
    EXPECT_LE(progress.reports, 110);
}

} // namespace
} // namespace forkpoint::heatmap
