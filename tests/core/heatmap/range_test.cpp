// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/range.h"
#include "reference.h"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace forkpoint::heatmap {
namespace {

using test::TestTensor;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::shared_ptr<const Pyramid> built(const TestTensor& a, const TestTensor& b, const Shape& shape, const PyramidOptions& options = {})
{
    return Pyramid::build(test::sourceOf(a, shape), test::sourceOf(b, shape), lastPlaneAxes(shape), options).value();
}

/// One row of A and B, given as numbers.
std::shared_ptr<const Pyramid> rowOf(const std::vector<double>& a, const std::vector<double>& b, DType dtype = DType::Float64)
{
    return built(test::tensorOf(dtype, a), test::tensorOf(dtype, b), {1, static_cast<std::int64_t>(a.size())});
}

Histogram histogramOfNumbers(const std::vector<double>& numbers, Mode mode = Mode::A)
{
    const std::vector<double> zeros(numbers.size());
    return histogramOf(*(mode == Mode::A ? rowOf(numbers, zeros) : rowOf(zeros, numbers)), mode).value();
}

TEST(LogBins, edgesHoldTheirNumbers)
{
    std::mt19937_64 random(1);
    for (int i = 0; i < 100'000; ++i) {
        const double x = std::fabs(std::bit_cast<double>(random()));
        if (!std::isfinite(x) || x == 0)
            continue;
        const std::int64_t bin = LogBins::binOf(x);
        ASSERT_LE(LogBins::edge(bin), x);
        ASSERT_GE(LogBins::edge(bin + 1), x); // equal only at double's largest number
        ASSERT_TRUE(x >= 0x1p-1060 ? LogBins::edge(bin + 1) <= LogBins::edge(bin) * 1.126 : true);
    }
    EXPECT_EQ(LogBins::edge(0), 1);
    EXPECT_EQ(LogBins::edge(4), 1.5);
    EXPECT_EQ(LogBins::edge(8), 2);
    EXPECT_EQ(LogBins::edge(-8), 0.5);
    EXPECT_EQ(LogBins::edge(-1), 0.9375);
    EXPECT_EQ(LogBins::binOf(1), 0);
    EXPECT_EQ(LogBins::binOf(std::nextafter(1.0, 0.0)), -1);
    EXPECT_EQ(LogBins::binOf(std::numeric_limits<double>::denorm_min()), -1074 * 8);
    EXPECT_EQ(LogBins::edge(1024 * 8), std::numeric_limits<double>::max());
}

/// The same counts from one loop over region values of level 0.
Histogram counted(const Pyramid& pyramid, Mode mode)
{
    Histogram result;
    result.mode = mode;
    const auto region = pyramid.region(0, pyramid.level(0).whole(), mode).value();
    std::map<std::int64_t, std::int64_t> negative, positive;
    bool any = false;
    for (std::size_t i = 0; i < region.values.size(); ++i) {
        const unsigned flags = region.flags[i];
        const ModeFlags modes = modeFlags(mode);
        if ((flags & modes.finite) == 0) {
            result.nan += (flags & modes.nan) != 0;
            result.positiveInf += (flags & modes.positiveInf) != 0;
            result.negativeInf += (flags & modes.negativeInf) != 0;
            continue;
        }
        const double value = region.values[i];
        result.min = any ? std::min(result.min, value) : value;
        result.max = any ? std::max(result.max, value) : value;
        any = true;
        if (value == 0)
            ++result.zeros;
        else
            ++(value < 0 ? negative : positive)[LogBins::binOf(std::fabs(value))];
    }
    const auto packed = [](const std::map<std::int64_t, std::int64_t>& bins) {
        LogBins packedBins;
        if (bins.empty())
            return packedBins;
        packedBins.first = bins.begin()->first;
        packedBins.counts.resize(static_cast<std::size_t>(bins.rbegin()->first - packedBins.first + 1));
        for (const auto& [bin, count] : bins)
            packedBins.counts[static_cast<std::size_t>(bin - packedBins.first)] = count;
        return packedBins;
    };
    result.negative = packed(negative);
    result.positive = packed(positive);
    return result;
}

TEST(Histogram, countsEveryElement)
{
    const Shape shape{70, 333};
    for (const DType dtype : test::kAllTypes) {
        if (isComplex(dtype))
            continue;
        SCOPED_TRACE(name(dtype));
        const std::int64_t n = shape[0] * shape[1];
        const auto pyramid = built(test::randomBits(dtype, n, 2), test::randomBits(dtype, n, 3), shape);
        for (const Mode mode : kModes) {
            if (mode == Mode::OverTolerance)
                continue;
            const auto histogram = histogramOf(*pyramid, mode).value();
            EXPECT_TRUE(histogram == counted(*pyramid, mode)) << static_cast<int>(mode);
            EXPECT_EQ(histogram.finite() + histogram.nan + histogram.positiveInf + histogram.negativeInf, n);
        }
    }
}

TEST(Histogram, tiniestAndLargestNumbers)
{
    const std::vector<double> a{0x1p-149, -0x1p-149, 3.5e-45, 0x1p-126, 3.4e38, -3.4e38, 0, -0.0, 1};
    for (const DType dtype : {DType::Float32, DType::Float64}) {
        const auto pyramid = rowOf(a, std::vector<double>(a.size()), dtype);
        EXPECT_TRUE(histogramOf(*pyramid, Mode::A).value() == counted(*pyramid, Mode::A));
        EXPECT_EQ(histogramOf(*pyramid, Mode::A).value().zeros, 2);
    }
}

TEST(Histogram, equalInfinitiesAreDifferenceZero)
{
    const auto histogram = histogramOf(*rowOf({kInf, kInf, 1, kNan, 2}, {kInf, -kInf, 1, 1, kInf}), Mode::AbsDifference).value();
    EXPECT_EQ(histogram.zeros, 2);
    EXPECT_EQ(histogram.negativeInf, 1);
    EXPECT_EQ(histogram.positiveInf, 1);
    EXPECT_EQ(histogram.nan, 1);
    EXPECT_EQ(histogram.max, 0);
}

TEST(Histogram, classesOfTolerance)
{
    PyramidOptions options;
    options.rtol = 0;
    options.atol = 0.5;
    const auto pyramid = built(test::tensorOf(DType::Float32, {1, 1, 1, 1, kNan, kInf}), test::tensorOf(DType::Float32, {1, 1.25, 1.5, 2, 1, kInf}), {1, 6}, options);
    const auto histogram = histogramOf(*pyramid, Mode::OverTolerance).value();
    EXPECT_EQ(histogram.classes, (std::array<std::int64_t, 3>{2, 2, 2}));
    EXPECT_EQ(fittedRange(histogram, RangeScale::Linear), (ValueRange{0, 2}));
}

TEST(Histogram, theSameForAnyNumberOfThreadsAndStopsWhenAsked)
{
    const oneapi::tbb::global_control allow(oneapi::tbb::global_control::max_allowed_parallelism, 4);
    const Shape shape{900, 1100};
    const TestTensor a = test::randomBits(DType::Float32, 990'000, 5), b = test::randomBits(DType::Float32, 990'000, 6);
    PyramidOptions options;
    options.threads = 1;
    const auto one = histogramOf(*built(a, b, shape, options), Mode::Difference).value();
    options.threads = 4;
    EXPECT_TRUE(one == histogramOf(*built(a, b, shape, options), Mode::Difference).value());
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(histogramOf(*built(a, b, shape, options), Mode::Difference, stop.get_token()).error().code, ErrorCode::Cancelled);
}

TEST(Histogram, ofNothing)
{
    const TestTensor none = test::tensorOf(DType::Float32, {});
    for (const Mode mode : kModes) {
        const auto histogram = histogramOf(*built(none, none, {0, 3}), mode).value();
        EXPECT_EQ(histogram.finite(), 0);
        for (const RangeScale scale : {RangeScale::Linear, RangeScale::Log, RangeScale::SymLog}) {
            const ValueRange range = fittedRange(histogram, scale);
            EXPECT_LT(range.low, range.high);
            EXPECT_TRUE(scale != RangeScale::Log || range.low > 0 || mode == Mode::OverTolerance);
        }
        EXPECT_EQ(quantile(histogram, 0.5), 0);
    }
}

TEST(Quantile, isWithinABinOfTheExactOne)
{
    for (unsigned seed = 0; seed < 5; ++seed) {
        std::vector<double> numbers = test::normalNumbers(20'000, seed);
        for (double& number : numbers)
            number = number * number * number + (seed % 2 == 0 ? 0 : 2);
        const Histogram histogram = histogramOfNumbers(numbers);
        std::sort(numbers.begin(), numbers.end());
        for (const double q : {0.0, 0.001, 0.005, 0.1, 0.25, 0.5, 0.75, 0.9, 0.995, 0.999, 1.0}) {
            const double exact = numbers[std::min(static_cast<std::size_t>(q * 20'000), numbers.size() - 1)];
            EXPECT_NEAR(quantile(histogram, q), exact, 0.13 * std::fabs(exact) + 1e-6) << q;
        }
        EXPECT_EQ(quantile(histogram, 0), numbers.front());
        EXPECT_EQ(quantile(histogram, 1), numbers.back());
        double last = -kInf;
        for (double q = 0; q <= 1; q += 0.001) {
            ASSERT_GE(quantile(histogram, q), last);
            last = quantile(histogram, q);
        }
    }
}

TEST(Quantile, zerosCountAmongValuesAndNotAmongMagnitudes)
{
    std::vector<double> numbers(1000);
    numbers[7] = -5;
    numbers[8] = 3;
    const Histogram histogram = histogramOfNumbers(numbers);
    EXPECT_EQ(quantile(histogram, 0.5), 0);
    EXPECT_EQ(quantile(histogram, 0.999), 0);
    EXPECT_NEAR(magnitudeQuantile(histogram, 0.999), 5, 0.01);
    EXPECT_EQ(magnitudeQuantile(histogram, 1), 5);
}

TEST(FittedRange, oneExtremeDoesNotStretchIt)
{
    std::vector<double> numbers = test::normalNumbers(100'000, 9);
    numbers[5] = 1e30;
    numbers[6] = -1e30;
    numbers[7] = kNan;
    numbers[8] = kInf;
    const ValueRange a = fittedRange(histogramOfNumbers(numbers), RangeScale::Linear);
    EXPECT_NEAR(a.low, -2.6, 0.3);
    EXPECT_NEAR(a.high, 2.6, 0.3);
    const ValueRange d = fittedRange(histogramOfNumbers(numbers, Mode::Difference), RangeScale::Linear);
    EXPECT_EQ(d.low, -d.high);
    EXPECT_NEAR(d.high, 3.3, 0.4);
    const ValueRange magnitude = fittedRange(histogramOfNumbers(numbers, Mode::AbsDifference), RangeScale::Linear);
    EXPECT_EQ(magnitude.low, 0);
    EXPECT_NEAR(magnitude.high, 3.3, 0.4);
    const ValueRange log = fittedRange(histogramOfNumbers(numbers, Mode::AbsDifference), RangeScale::Log);
    EXPECT_NEAR(log.low, 0.0063, 0.002);
    EXPECT_NEAR(log.high, 3.3, 0.4);
}

TEST(FittedRange, oneDifferenceAmongManyEqualIsTheRange)
{
    std::vector<double> numbers(1'000'000);
    numbers[123] = 1e-7;
    const Histogram histogram = histogramOfNumbers(numbers, Mode::AbsDifference);
    const ValueRange linear = fittedRange(histogram, RangeScale::Linear);
    EXPECT_EQ(linear.low, 0);
    EXPECT_NEAR(linear.high, 1e-7, 1e-8);
    const ValueRange log = fittedRange(histogram, RangeScale::Log);
    EXPECT_LT(log.low, 1e-7);
    EXPECT_GE(log.high, 0.99e-7);
}

TEST(FittedRange, isAlwaysARange)
{
    for (const std::vector<double>& numbers : {std::vector<double>{}, {0}, {5}, {5, 5, 5}, {-5}, {-5, -5}, {kNan}, {kInf, -kInf}, {1e308, -1e308}, {5e-324}, {0, 0, 5e-324},
                                               {1.7976931348623157e308}, {-1.7976931348623157e308}, {-3, -2, -1}}) {
        for (const Mode mode : {Mode::A, Mode::Difference, Mode::AbsDifference, Mode::Relative, Mode::Ulp}) {
            for (const RangeScale scale : {RangeScale::Linear, RangeScale::Log, RangeScale::SymLog}) {
                const ValueRange range = fittedRange(histogramOfNumbers(numbers, mode), scale);
                EXPECT_LT(range.low, range.high) << testing::PrintToString(numbers) << static_cast<int>(mode) << static_cast<int>(scale);
                EXPECT_TRUE(std::isfinite(range.low) && std::isfinite(range.high));
                EXPECT_TRUE(scale != RangeScale::Log || range.low > 0) << testing::PrintToString(numbers) << static_cast<int>(mode);
            }
        }
    }
}

TEST(Outside, isExactUpToTheBinsAtTheEnds)
{
    const std::vector<double> numbers = test::normalNumbers(10'000, 11);
    const Histogram histogram = histogramOfNumbers(numbers);
    for (const ValueRange& range : {ValueRange{-1, 1}, ValueRange{-0.01, 2}, ValueRange{0, 0.5}, ValueRange{-100, 100}, ValueRange{3, 100}, ValueRange{1, 1.0000001}}) {
        const auto below = std::count_if(numbers.begin(), numbers.end(), [&](double x) { return x < range.low; });
        const auto above = std::count_if(numbers.begin(), numbers.end(), [&](double x) { return x > range.high; });
        const OutsideCounts got = outside(histogram, range);
        EXPECT_NEAR(static_cast<double>(got.below), static_cast<double>(below), 60);
        EXPECT_NEAR(static_cast<double>(got.above), static_cast<double>(above), 60);
    }
    EXPECT_EQ(outside(histogram, {-8, 8}).below, 0);
    EXPECT_TRUE(outside(histogram, {-8, 8}).belowExact);
    EXPECT_EQ(outside(histogram, {histogram.min, histogram.max}).below, 0);
    EXPECT_EQ(outside(histogram, {histogram.min, histogram.max}).above, 0);
    EXPECT_EQ(outside(histogram, {-0.5, 0.5}).below, std::count_if(numbers.begin(), numbers.end(), [](double x) { return x < -0.5; })); // edges of bins
}

TEST(Outside, AnExtremeBeyondTheRangeIsNeverCountedAsInside)
{
    Histogram histogram;
    histogram.positive = {LogBins::binOf(0.34), {3}}; // one bin: 0.3438 to 0.375 is the next
    histogram.min = 0.32;
    histogram.max = 0.3429;
    const auto got = outside(histogram, {0.1, 0.3428});
    EXPECT_EQ(got.above, 1); // the largest is, though its share of the bin rounds to none
    EXPECT_FALSE(got.aboveExact);
    EXPECT_EQ(got.below, 0);
    EXPECT_TRUE(got.belowExact);
}

TEST(Joined, isTheHistogramOfBoth)
{
    const std::vector<double> x{1, -2, 0, kNan, 5e-300}, y{-1e10, 3, 0, kInf, kInf};
    std::vector<double> both = x;
    both.insert(both.end(), y.begin(), y.end());
    EXPECT_TRUE(joined(histogramOfNumbers(x), histogramOfNumbers(y)) == histogramOfNumbers(both));
    EXPECT_TRUE(joined(histogramOfNumbers(x), histogramOfNumbers({})) == histogramOfNumbers(x));
    EXPECT_TRUE(joined(histogramOfNumbers({}), histogramOfNumbers(y)) == histogramOfNumbers(y));
}

} // namespace
} // namespace forkpoint::heatmap
