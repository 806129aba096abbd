// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/render.h"
#include "core/heatmap/pixels.h"
#include "reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace forkpoint::heatmap {
namespace {

using test::PatternSource;
using test::TestTensor;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Rgba kBackground = rgba(1, 2, 3, 4);
constexpr Rgba kUntouched = 0xdeadbeef;

using PyramidPtr = std::shared_ptr<const Pyramid>;

PyramidPtr built(const TestTensor& a, const TestTensor& b, const Shape& shape, const PyramidOptions& options = {})
{
    return Pyramid::build(test::sourceOf(a, shape), test::sourceOf(b, shape), lastPlaneAxes(shape), options).value();
}

/// All numbers 1 but for one of B.
PyramidPtr withOneBad(const Shape& shape, std::int64_t flat, float bad, const SliceAxes& axes)
{
    return Pyramid::build(std::make_shared<PatternSource>(shape, 1.0f), std::make_shared<PatternSource>(shape, 1.0f, std::map{std::pair(flat, bad)}), axes)
        .value();
}

Style styleOf(Mode mode, ValueRange range = {0, 1}, RangeScale scale = RangeScale::Linear)
{
    Style style;
    style.mode = mode;
    style.normalisation = {scale, range, 1};
    style.background = kBackground;
    return style;
}

struct Picture {
    int width = 0, height = 0;
    std::vector<Rgba> pixels;
    RenderInfo info;

    Rgba at(int x, int y) const { return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)]; }
    std::int64_t count(Rgba colour) const { return std::count(pixels.begin(), pixels.end(), colour); }
};

Picture rendered(const Pyramid& pyramid, const Viewport& view, const Style& style, Reads reads = Reads::Allowed)
{
    Picture picture{view.width, view.height, std::vector<Rgba>(static_cast<std::size_t>(view.width) * static_cast<std::size_t>(view.height), kUntouched), {}};
    const auto info = renderRegion(pyramid, view, style, picture.pixels, static_cast<std::size_t>(view.width), reads);
    EXPECT_TRUE(info) << info.error().text();
    if (info)
        picture.info = *info;
    return picture;
}

const Rgba kLow = colours(ColourMap::Viridis).front();
const Rgba kHigh = colours(ColourMap::Viridis).back();

// ---- what must be seen

TEST(RenderRegion, oneBadElementOf4096x4096IsAPixelAtFit)
{
    std::mt19937_64 random(1);
    const Shape shape{4096, 4096};
    for (int round = 0; round < 6; ++round) {
        const auto flat = static_cast<std::int64_t>(random() % (4096 * 4096));
        const PyramidPtr pyramid = withOneBad(shape, flat, 3.0f, lastPlaneAxes(shape));
        const Cell bad{flat / 4096, flat % 4096};
        for (const auto& [width, height] : {std::pair(1600, 1000), std::pair(440, 281), std::pair(1, 1), std::pair(4096, 4096), std::pair(99, 1000)}) {
            const Viewport view = fitted(4096, 4096, width, height);
            for (const auto& [mode, range] : {std::pair(Mode::AbsDifference, ValueRange{0, 2}), std::pair(Mode::Difference, ValueRange{0, 2}),
                                              std::pair(Mode::B, ValueRange{1, 3}), std::pair(Mode::Relative, ValueRange{0, 0.6}),
                                              std::pair(Mode::Ulp, ValueRange{0, 1e6})}) {
                const Picture picture = rendered(*pyramid, view, styleOf(mode, range));
                ASSERT_EQ(picture.count(kHigh), 1) << width << "x" << height << " mode " << static_cast<int>(mode);
                ASSERT_EQ(picture.count(kUntouched), 0);
                const int shift = pyramid->level(picture.info.level).rowShift; // the pixel touches the cell that it is in
                const PixelPoint place = pixelOf(view, {bad.row >> shift << shift, bad.column >> shift << shift});
                const double cellSize = std::ldexp(1.0, shift) / view.rowsPerPixel;
                bool found = false;
                for (int y = 0; y < height; ++y) {
                    for (int x = 0; x < width; ++x) {
                        if (picture.at(x, y) == kHigh)
                            found = x + 1 > place.x && x < place.x + cellSize && y + 1 > place.y && y < place.y + cellSize;
                    }
                }
                EXPECT_TRUE(found) << bad.row << ", " << bad.column;
            }
            const Picture classes = rendered(*pyramid, view, styleOf(Mode::OverTolerance));
            EXPECT_EQ(classes.count(ClassColours().over), 1);
            EXPECT_EQ(classes.count(ClassColours().within), 0);
        }
    }
}

TEST(RenderRegion, oneBadElementOfTenMillionInALineIsAPixelAtFit)
{
    std::mt19937_64 random(2);
    const Shape shape{1, 10'000'000};
    for (int round = 0; round < 5; ++round) {
        const auto flat = round == 0 ? 0 : round == 1 ? shape[1] - 1 : static_cast<std::int64_t>(random() % 10'000'000);
        for (const SliceAxes& axes : {lastPlaneAxes(shape), overviewAxes(shape), SliceAxes{{1, 1}, {0, 1}, {}, 0}}) {
            const PyramidPtr pyramid = withOneBad(shape, flat, 3.0f, axes);
            for (const bool stretched : {false, true}) {
                for (const auto& [width, height] : {std::pair(1600, 1000), std::pair(313, 500)}) {
                    const auto view = fitted(pyramid->slice().rows(), pyramid->slice().columns(), width, height, stretched);
                    const Picture picture = rendered(*pyramid, view, styleOf(Mode::AbsDifference, {0, 2}));
                    ASSERT_GE(picture.count(kHigh), 1);
                    ASSERT_LE(picture.count(kHigh), stretched ? std::max(width, height) : 1);
                    if (stretched) { // fills the view; a fold's last row is short
                        ASSERT_LE(picture.count(kBackground), pyramid->slice().folded() ? 3 * width : 0);
                    }
                }
            }
        }
    }
}

/// Any view that holds the bad element shows it, and no other view does.
TEST(RenderRegion, everyViewOfABadElementShowsIt)
{
    std::mt19937_64 random(3);
    const auto between = [&](double low, double high) { return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53; };
    for (const Shape& shape : {Shape{300, 500}, Shape{1, 5000}, Shape{37, 4096}, Shape{1000, 3}}) {
        for (int round = 0; round < 60; ++round) {
            const auto flat = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shape[0] * shape[1]));
            const Cell bad{flat / shape[1], flat % shape[1]};
            const PyramidPtr pyramid = withOneBad(shape, flat, 3.0f, lastPlaneAxes(shape));
            Viewport view;
            view.width = 1 + static_cast<int>(random() % 200);
            view.height = 1 + static_cast<int>(random() % 200);
            view.columnsPerPixel = std::exp2(between(-6, 6));
            view.rowsPerPixel = random() % 3 == 0 ? std::exp2(between(-6, 6)) : view.columnsPerPixel;
            // Somewhere around it.
            view.left = static_cast<double>(bad.column) + 0.5 - between(0, view.width) * view.columnsPerPixel;
            view.top = static_cast<double>(bad.row) + 0.5 - between(0, view.height) * view.rowsPerPixel;
            const Picture picture = rendered(*pyramid, view, styleOf(Mode::AbsDifference, {0, 2}));
            const std::int64_t shown = picture.count(kHigh);
            ASSERT_GE(shown, 1) << shape[0] << "x" << shape[1] << " at " << bad.row << "," << bad.column << ", " << view.columnsPerPixel << " a pixel";
            if (view.columnsPerPixel >= 1 && view.rowsPerPixel >= 1) {
                ASSERT_EQ(shown, 1);
            }
            ASSERT_EQ(picture.count(kUntouched), 0);
            Viewport elsewhere = view;
            elsewhere.left += (view.width + 70) * std::max(view.columnsPerPixel, 1.0);
            ASSERT_EQ(rendered(*pyramid, elsewhere, styleOf(Mode::AbsDifference, {0, 2})).count(kHigh), 0);
        }
    }
}

/// The cell under a pixel's middle, which is what an inspector tells about, is among what the pixel shows.
TEST(RenderRegion, whatIsUnderAPixelIsInThePixel)
{
    std::mt19937_64 random(8);
    const auto between = [&](double low, double high) { return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53; };
    const Shape shape{301, 517}; // last cells are cut short
    for (int round = 0; round < 60; ++round) {
        const auto flat = static_cast<std::int64_t>(random() % (301 * 517));
        const Cell bad{flat / shape[1], flat % shape[1]};
        const PyramidPtr pyramid = withOneBad(shape, flat, 3.0f, lastPlaneAxes(shape));
        Viewport view{between(-50, 300), between(-50, 200), std::exp2(between(-2, 5)), 1, 150, 120};
        view.rowsPerPixel = view.columnsPerPixel;
        const Picture picture = rendered(*pyramid, view, styleOf(Mode::AbsDifference, {0, 2}));
        for (int y = 0; y < view.height; ++y) {
            for (int x = 0; x < view.width; ++x) {
                const Cell under = cellAt(view, x, y);
                ASSERT_TRUE(picture.at(x, y) == kHigh || under != bad) << x << ", " << y << " at " << view.columnsPerPixel << " a pixel";
                ASSERT_TRUE(picture.at(x, y) != kBackground || !pyramid->slice().contains(under)) << x << ", " << y << " at " << view.columnsPerPixel;
            }
        }
    }
}

/// An element that the edge of the view cuts in two, or whose cell it does, is still seen.
TEST(RenderRegion, theEdgeOfTheViewHidesNothing)
{
    const Shape shape{64, 64};
    for (const std::int64_t column : {std::int64_t{16}, std::int64_t{23}, std::int64_t{31}}) {
        const PyramidPtr pyramid = withOneBad(shape, 20 * 64 + column, 3.0f, lastPlaneAxes(shape));
        for (const double perPixel : {1.0, 1.3, 2.0, 4.0, 7.9, 8.0}) {
            for (const double cut : {0.1, 0.5, 0.9}) {
                Viewport right{0, 0, perPixel, perPixel, 10, 40};
                right.left = static_cast<double>(column) + cut - 10 * perPixel;
                ASSERT_EQ(rendered(*pyramid, right, styleOf(Mode::AbsDifference, {0, 2})).count(kHigh), 1) << column << " " << perPixel << " " << cut;
                Viewport left{static_cast<double>(column) + cut, 0, perPixel, perPixel, 10, 40};
                ASSERT_EQ(rendered(*pyramid, left, styleOf(Mode::AbsDifference, {0, 2})).count(kHigh), 1) << column << " " << perPixel << " " << cut;
            }
        }
    }
}

// ---- agreement with the values

TestTensor wild(DType dtype, std::int64_t n, unsigned seed)
{
    std::mt19937_64 random(seed);
    std::vector<double> numbers = test::normalNumbers(static_cast<std::size_t>(n), seed);
    for (double& number : numbers) {
        if (random() % 30 == 0)
            number = std::array{kNan, kInf, -kInf, 0.0}[random() % 4];
    }
    return test::tensorOf(dtype, numbers);
}

Rgba expectedColour(const Style& style, double value, std::uint16_t flags)
{
    const ModeFlags mode = modeFlags(style.mode);
    if (style.showSpecial && (flags & mode.nan) != 0)
        return style.special.nan;
    if (style.showSpecial && (flags & mode.positiveInf) != 0)
        return style.special.positiveInf;
    if (style.showSpecial && (flags & mode.negativeInf) != 0)
        return style.special.negativeInf;
    if ((flags & mode.finite) == 0)
        return style.background;
    if (style.mode == Mode::OverTolerance)
        return value == 2 ? style.classes.over : value == 1 ? style.classes.within : style.classes.equal;
    return colours(style.map)[colourIndex(style.normalisation, value)];
}

/// Equal, or neighbours on the map: values in float and in double may fall on either side of a border.
bool nearlySame(ColourMap map, Rgba x, Rgba y)
{
    if (x == y)
        return true;
    const auto table = colours(map);
    for (std::size_t i = 0; i + 1 < kColours; ++i) {
        if ((table[i] == x && table[i + 1] == y) || (table[i] == y && table[i + 1] == x))
            return true;
    }
    return false;
}

TEST(RenderRegion, pixelsAreTheValuesOneToOne)
{
    const Shape shape{97, 1130};
    for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16, DType::Int32}) {
        const PyramidPtr pyramid = built(wild(dtype, shape[0] * shape[1], 4), wild(dtype, shape[0] * shape[1], 5), shape);
        for (const Mode mode : kModes) {
            for (const RangeScale scale : {RangeScale::Linear, RangeScale::Log, RangeScale::SymLog}) {
                for (const bool showSpecial : {true, false}) {
                    Style style = styleOf(mode, scale == RangeScale::Log ? ValueRange{1e-3, 3} : ValueRange{-2, 2}, scale);
                    style.showSpecial = showSpecial;
                    const Viewport view{-3, -2, 1, 1, 1200, 105};
                    const Picture picture = rendered(*pyramid, view, style);
                    ASSERT_EQ(picture.info.level, 0);
                    ASSERT_TRUE(picture.info.complete);
                    const auto values = pyramid->region(0, pyramid->level(0).whole(), mode).value();
                    for (int y = 0; y < view.height; ++y) {
                        for (int x = 0; x < view.width; ++x) {
                            const Cell cell{y - 2, x - 3};
                            ASSERT_EQ(cellAt(view, x, y), cell);
                            const auto i = static_cast<std::size_t>(cell.row * shape[1] + cell.column);
                            const Rgba expected = pyramid->slice().contains(cell) ? expectedColour(style, values.values[i], values.flags[i]) : kBackground;
                            ASSERT_TRUE(nearlySame(style.map, picture.at(x, y), expected)) << x << ", " << y << " mode " << static_cast<int>(mode);
                        }
                    }
                }
            }
        }
    }
}

TEST(RenderRegion, magnifiedCellsAreBlocks)
{
    const Shape shape{20, 30};
    const PyramidPtr pyramid = built(wild(DType::Float32, 600, 6), wild(DType::Float32, 600, 7), shape);
    const Style style = styleOf(Mode::B, {-2, 2});
    const Viewport view{2.5, 3.25, 1.0 / 8, 1.0 / 16, 160, 192};
    const Picture picture = rendered(*pyramid, view, style);
    const auto values = pyramid->region(0, {0, 0, 20, 30}, Mode::B).value();
    for (int y = 0; y < view.height; ++y) {
        for (int x = 0; x < view.width; ++x) {
            const Cell cell = cellAt(view, x, y);
            const auto i = static_cast<std::size_t>(cell.row * 30 + cell.column);
            ASSERT_TRUE(nearlySame(style.map, picture.at(x, y), expectedColour(style, values.values[i], values.flags[i])));
        }
    }
}

/// Reduced views: a pixel is the extreme of its cells, found here from the level's region.
TEST(RenderRegion, reducedPixelsAreExtremesOfTheirCells)
{
    const Shape shape{333, 777};
    const PyramidPtr pyramid = built(wild(DType::Float32, shape[0] * shape[1], 8), wild(DType::Float32, shape[0] * shape[1], 9), shape);
    for (const double perPixel : {1.0, 2.0, 4.0, 8.0, 64.0}) { // whole cells a pixel: no rounding to copy here
        for (const Mode mode : kModes) {
            for (const bool showSpecial : {true, false}) {
                Style style = styleOf(mode, {-2, 2});
                style.showSpecial = showSpecial;
                const Viewport view{0, 0, perPixel, perPixel, static_cast<int>(std::ceil(777 / perPixel)), static_cast<int>(std::ceil(333 / perPixel))};
                const Picture picture = rendered(*pyramid, view, style);
                const LevelShape& level = pyramid->level(picture.info.level);
                const auto values = pyramid->region(picture.info.level, level.whole(), mode).value();
                const auto step = static_cast<std::int64_t>(perPixel);
                for (int y = 0; y < view.height; ++y) {
                    for (int x = 0; x < view.width; ++x) {
                        double value = 0;
                        unsigned flags = 0;
                        for (std::int64_t row = (y * step) >> level.rowShift; row < std::min(((y + 1) * step) >> level.rowShift, level.rows) || row == ((y * step) >> level.rowShift); ++row) {
                            for (std::int64_t column = (x * step) >> level.columnShift;
                                 column < std::min(((x + 1) * step) >> level.columnShift, level.columns) || column == ((x * step) >> level.columnShift); ++column) {
                                const auto i = static_cast<std::size_t>(row * level.columns + column);
                                if (std::fabs(values.values[i]) > std::fabs(value) || values.values[i] == -value)
                                    value = std::fabs(values.values[i]) > std::fabs(value) ? values.values[i] : std::max(value, values.values[i]);
                                flags |= values.flags[i];
                            }
                        }
                        ASSERT_TRUE(nearlySame(style.map, picture.at(x, y), expectedColour(style, value, static_cast<std::uint16_t>(flags))))
                            << x << ", " << y << " mode " << static_cast<int>(mode) << " at " << perPixel;
                    }
                }
            }
        }
    }
}

TEST(RenderRegion, bothInstructionSetsChooseTheSameColours)
{
    if (!supported(Instructions::Avx2))
        GTEST_SKIP() << "this machine has no AVX2";
    std::mt19937_64 random(10);
    std::vector<float> values(1003);
    for (float& value : values) {
        do {
            value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        } while (!std::isfinite(value));
    }
    values[0] = 0;
    values[1] = -0.0f;
    for (const Normalisation& normalisation : {Normalisation{RangeScale::Linear, {-1e10, 1e12}, 1}, Normalisation{RangeScale::Log, {1e-20, 1e20}, 1},
                                               Normalisation{RangeScale::SymLog, {-1e20, 1e30}, 1e-3}}) {
        std::vector<std::int32_t> portable(values.size()), avx2(values.size());
        const PreparedScale scale(normalisation);
        pixelLoops<float>(Instructions::Portable).colourIndexes(scale, values.data(), 1003, portable.data());
        pixelLoops<float>(Instructions::Avx2).colourIndexes(scale, values.data(), 1003, avx2.data());
        EXPECT_EQ(portable, avx2);
        for (std::size_t i = 0; i < values.size(); ++i)
            EXPECT_NEAR(static_cast<double>(colourIndex(normalisation, static_cast<double>(values[i]))), portable[i], 1);
    }
}

// ---- scales

TEST(ColourIndex, goesFromLowToHigh)
{
    for (const Normalisation& n : {Normalisation{RangeScale::Linear, {-3, 5}, 1}, Normalisation{RangeScale::Log, {1e-6, 1e3}, 1}, Normalisation{RangeScale::SymLog, {-10, 10}, 0.1}}) {
        EXPECT_EQ(colourIndex(n, n.range.low), 0u);
        EXPECT_EQ(colourIndex(n, n.range.high), kColours - 1);
        EXPECT_EQ(colourIndex(n, -1e300), 0u);
        EXPECT_EQ(colourIndex(n, 1e300), kColours - 1);
        std::size_t last = 0;
        for (double x = n.range.low; x <= n.range.high; x += (n.range.high - n.range.low) / 5000) {
            ASSERT_GE(colourIndex(n, x), last);
            last = colourIndex(n, x);
        }
    }
}

TEST(ColourIndex, isWhereTheFormulaSays)
{
    for (double t = 0; t <= 1; t += 0.01) {
        EXPECT_NEAR(static_cast<double>(colourIndex({RangeScale::Linear, {10, 20}, 1}, 10 + 10 * t)), 255 * t, 0.51);
        EXPECT_NEAR(static_cast<double>(colourIndex({RangeScale::Log, {1e-9, 1e-1}, 1}, std::pow(10, -9 + 8 * t))), 255 * t, 0.55);
        const double x = (2 * t - 1) * 100;
        const double symmetric = std::copysign(std::log1p(std::fabs(x) / 0.5), x) / std::log1p(100 / 0.5);
        EXPECT_NEAR(static_cast<double>(colourIndex({RangeScale::SymLog, {-100, 100}, 0.5}, x)), 255 * (symmetric + 1) / 2, 0.55);
    }
    EXPECT_EQ(colourIndex({RangeScale::Log, {1e-9, 1}, 1}, 0), 0u);
    EXPECT_EQ(colourIndex({RangeScale::Log, {1e-9, 1}, 1}, -5), 0u);
    EXPECT_EQ(colourIndex({RangeScale::Linear, {-1.7e308, 1.7e308}, 1}, 0), 128u); // the extent alone is no double
    EXPECT_EQ(colourIndex({RangeScale::Linear, {1000, 1000.001}, 1}, 1000.0005), 128u);
    EXPECT_EQ(colourIndex({RangeScale::Log, {1e-310, 1e-300}, 1}, 1e-290), 255u);
}

TEST(ColourIndex, aRangeThatIsNoneStillGivesColours)
{
    for (const RangeScale scale : {RangeScale::Linear, RangeScale::Log, RangeScale::SymLog}) {
        for (const ValueRange& range : {ValueRange{0, 0}, ValueRange{1, 1}, ValueRange{2, 1}, ValueRange{kNan, kNan}, ValueRange{-kInf, kInf}, ValueRange{-2, -1}, ValueRange{0, 1},
                                        ValueRange{1e-320, 1e-319}}) {
            for (const double linear : {1.0, 0.0, kNan, -1.0, kInf}) {
                for (const double value : {0.0, 1.0, -1.0, 1e308, -1e308, 5e-324})
                    EXPECT_LT(colourIndex({scale, range, linear}, value), kColours);
            }
        }
        EXPECT_EQ(colourIndex({scale, {1, 1}, 1}, 2), kColours - 1);
        EXPECT_EQ(colourIndex({scale, {1, 1}, 1}, 0.5), 0u);
    }
}

// ---- views

TEST(Viewport, fitsCentredAndWhole)
{
    const Viewport view = fitted(1000, 500, 300, 200);
    EXPECT_EQ(view.rowsPerPixel, 5);
    EXPECT_EQ(view.columnsPerPixel, 5);
    EXPECT_EQ(view.top, 0);
    EXPECT_EQ(view.left, -500);
    const Viewport stretched = fitted(1000, 500, 300, 200, true);
    EXPECT_EQ(stretched.left, 0);
    EXPECT_NEAR(stretched.columnsPerPixel * 300, 500, 1e-9);
    EXPECT_EQ(fitted(0, 5, 300, 200).width, 300);
}

TEST(Viewport, zoomsAboutAPointAndPans)
{
    const Viewport view{10, 20, 2, 3, 400, 300};
    const Viewport in = zoomed(view, 2, 100, 50);
    EXPECT_EQ(in.columnsPerPixel, 1);
    EXPECT_EQ(in.rowsPerPixel, 1.5);
    EXPECT_EQ(in.left + 100 * in.columnsPerPixel, view.left + 100 * view.columnsPerPixel);
    EXPECT_EQ(in.top + 50 * in.rowsPerPixel, view.top + 50 * view.rowsPerPixel);
    EXPECT_EQ(zoomed(in, 0.5, 100, 50), view);
    const Viewport moved = panned(view, 30, -10);
    EXPECT_EQ(pixelOf(moved, {20, 10}).x, pixelOf(view, {20, 10}).x + 30);
    EXPECT_EQ(pixelOf(moved, {20, 10}).y, pixelOf(view, {20, 10}).y - 10);
    EXPECT_EQ(cellAt(Viewport{0, 0, 0.25, 0.25, 9, 9}, 7, 3), (Cell{0, 1}));
    EXPECT_EQ(cellAt(Viewport{-5, -5, 1, 1, 9, 9}, 0, 0), (Cell{-5, -5}));
}

TEST(RenderRegion, refusesWhatCannotBeDrawn)
{
    const TestTensor tensor = test::tensorOf(DType::Float32, std::vector<double>(12, 1));
    const PyramidPtr pyramid = built(tensor, tensor, {3, 4});
    std::vector<Rgba> pixels(100);
    const auto code = [&](const Viewport& view, std::size_t size, std::size_t stride) {
        const auto info = renderRegion(*pyramid, view, styleOf(Mode::A), std::span(pixels).first(size), stride);
        return info ? std::optional<ErrorCode>() : info.error().code;
    };
    EXPECT_EQ(code({0, 0, 1, 1, 10, 10}, 100, 10), std::nullopt);
    EXPECT_EQ(code({0, 0, 1, 1, 10, 10}, 99, 10), ErrorCode::Usage);
    EXPECT_EQ(code({0, 0, 1, 1, 10, 5}, 85, 20), ErrorCode::Usage);
    EXPECT_EQ(code({0, 0, 1, 1, 10, 5}, 90, 20), std::nullopt);
    EXPECT_EQ(code({0, 0, 1, 1, 10, 5}, 100, 9), ErrorCode::Usage);
    EXPECT_EQ(code({0, 0, 0, 1, 5, 5}, 100, 5), ErrorCode::Usage);
    EXPECT_EQ(code({0, 0, 1, -1, 5, 5}, 100, 5), ErrorCode::Usage);
    EXPECT_EQ(code({0, 0, kNan, 1, 5, 5}, 100, 5), ErrorCode::Usage);
    EXPECT_EQ(code({kNan, 0, 1, 1, 5, 5}, 100, 5), ErrorCode::Usage);
    EXPECT_EQ(code({kInf, 0, 1, 1, 5, 5}, 100, 5), ErrorCode::Usage);
    EXPECT_EQ(code({0, 0, kInf, 1, 5, 5}, 100, 5), ErrorCode::Usage);
    EXPECT_EQ(code({0, 0, 1, 1, -5, 5}, 100, 5), ErrorCode::Usage);
    EXPECT_EQ(code({0, 0, 1, 1, 0, 5}, 0, 5), std::nullopt);
    EXPECT_EQ(code({1e17, -1e17, 1e14, 1e-9, 5, 5}, 100, 5), std::nullopt);
}

TEST(RenderRegion, leavesWhatLiesBetweenItsRowsAlone)
{
    const TestTensor tensor = test::tensorOf(DType::Float32, std::vector<double>(12, 1));
    const PyramidPtr pyramid = built(tensor, tensor, {3, 4});
    std::vector<Rgba> pixels(5 * 8, kUntouched);
    ASSERT_TRUE(renderRegion(*pyramid, {0, 0, 1, 1, 5, 5}, styleOf(Mode::A), pixels, 8));
    for (std::size_t i = 0; i < pixels.size(); ++i)
        EXPECT_EQ(pixels[i] == kUntouched, i % 8 >= 5);
    EXPECT_EQ(pixels[4], kBackground);
    EXPECT_EQ(pixels[0], kHigh);
}

TEST(RenderRegion, emptyPicturesAreBackground)
{
    const TestTensor none = test::tensorOf(DType::Float32, {});
    const Picture picture = rendered(*built(none, none, {0, 4}), {0, 0, 1, 1, 20, 10}, styleOf(Mode::A));
    EXPECT_EQ(picture.count(kBackground), 200);
    EXPECT_TRUE(picture.info.complete);
    const TestTensor one = test::tensorOf(DType::Float32, {1});
    const Picture scalar = rendered(*built(one, one, {}), fitted(1, 1, 20, 10), styleOf(Mode::A));
    EXPECT_EQ(scalar.count(kHigh), 100);
    EXPECT_EQ(scalar.count(kBackground), 100);
}

// ---- without waiting

TEST(RenderRegion, forbiddenReadsAreNotMadeAndTheBadElementIsStillThere)
{
    const Shape shape{2048, 2048};
    const std::int64_t flat = 1000 * 2048 + 1001;
    const auto a = std::make_shared<PatternSource>(shape, 1.0f);
    const auto b = std::make_shared<PatternSource>(shape, 1.0f, std::map<std::int64_t, float>{{flat, 3.0f}});
    const auto pyramid = Pyramid::build(a, b, lastPlaneAxes(shape)).value();
    ASSERT_GT(pyramid->firstStoredLevel(), 0);
    const std::int64_t built = a->reads();
    const Viewport view{800, 900, 1, 1, 400, 300};
    const Style style = styleOf(Mode::AbsDifference, {0, 2});
    const Picture coarse = rendered(*pyramid, view, style, Reads::Forbidden);
    EXPECT_FALSE(coarse.info.complete);
    EXPECT_EQ(a->reads(), built);
    EXPECT_EQ(coarse.at(201, 100), kHigh);
    EXPECT_EQ(coarse.count(kHigh), std::int64_t{1} << 2 * pyramid->firstStoredLevel()); // its whole cell

    const Picture exact = rendered(*pyramid, view, style);
    EXPECT_TRUE(exact.info.complete);
    EXPECT_GT(a->reads(), built);
    EXPECT_EQ(exact.count(kHigh), 1);
    const std::int64_t then = a->reads();
    const Picture again = rendered(*pyramid, view, style, Reads::Forbidden); // now it is there
    EXPECT_TRUE(again.info.complete);
    EXPECT_EQ(again.pixels, exact.pixels);
    const Picture partly = rendered(*pyramid, panned(view, 0, -200), style, Reads::Forbidden); // part of it is
    EXPECT_FALSE(partly.info.complete);
    EXPECT_EQ(a->reads(), then);
    EXPECT_TRUE(rendered(*pyramid, fitted(2048, 2048, 400, 300), style, Reads::Forbidden).info.complete);
}

TEST(RenderRegion, aTurnedPictureIsThePictureTurned)
{
    const Shape shape{400, 300};
    const TestTensor a = wild(DType::Float32, 120'000, 20), b = wild(DType::Float32, 120'000, 21);
    PyramidOptions options;
    options.memoryBudget = 30 * 1000;
    const auto upright = Pyramid::build(test::sourceOf(a, shape), test::sourceOf(b, shape), {{0, 1}, {1, 1}, {}, 0}, options).value();
    const auto turned = Pyramid::build(test::sourceOf(a, shape), test::sourceOf(b, shape), {{1, 1}, {0, 1}, {}, 0}, options).value();
    for (const double perPixel : {0.5, 1.0, 1.7, 3.3, 10.0}) {
        const Picture x = rendered(*upright, {0, 0, perPixel, perPixel, 150, 150}, styleOf(Mode::Difference, {-3, 3}));
        const Picture y = rendered(*turned, {0, 0, perPixel, perPixel, 150, 150}, styleOf(Mode::Difference, {-3, 3}));
        for (int i = 0; i < 150; ++i) {
            for (int j = 0; j < 150; ++j)
                ASSERT_EQ(x.at(i, j), y.at(j, i)) << perPixel;
        }
    }
}

} // namespace
} // namespace forkpoint::heatmap
