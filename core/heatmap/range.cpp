// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/range.h"

#include "core/base/progress_steps.h"
#include "core/heatmap/data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <type_traits>

namespace forkpoint::heatmap {
namespace {

constexpr std::int64_t kLowestBin = -1074 * LogBins::kPerOctave; ///< of double's smallest number
constexpr std::size_t kBinCount = static_cast<std::size_t>((1024 + 1074) * LogBins::kPerOctave);
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::int64_t kCellsAtOnce = 1 << 15; ///< stay in the second-level cache between being computed and counted

/// Every bin there is, both signs.
struct AllBins {
    std::vector<std::int64_t> negative = std::vector<std::int64_t>(kBinCount);
    std::vector<std::int64_t> positive = std::vector<std::int64_t>(kBinCount);
    std::int64_t zeros = 0;
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
};

LogBins trimmed(const std::vector<std::int64_t>& counts)
{
    LogBins bins;
    const auto isUsed = [](std::int64_t count) { return count != 0; };
    const auto first = std::find_if(counts.begin(), counts.end(), isUsed);
    if (first == counts.end())
        return bins;
    const auto last = std::find_if(counts.rbegin(), counts.rend(), isUsed).base();
    bins.first = kLowestBin + (first - counts.begin());
    bins.counts.assign(first, last);
    return bins;
}

/// Counts numbers of one type by their topmost bits: sign, exponent and three bits of the mantissa.
template <class Real>
class Counter {
public:
    void add(const Real* values, std::int64_t n)
    {
        for (std::int64_t i = 0; i < n; ++i) {
            const Real value = values[i];
            m_min = value < m_min ? value : m_min;
            m_max = value > m_max ? value : m_max;
            Bits bits;
            std::memcpy(&bits, &value, sizeof bits);
            // Neighbours are often in one bin; two tables in turn do not wait for each other's counts.
            ++m_counts[(static_cast<std::size_t>(bits >> kShift) << 1) | static_cast<std::size_t>(i & 1)];
            if ((bits & kExponent) == 0) [[unlikely]]
                addTiny(value);
        }
    }

    void addTo(AllBins& bins) const
    {
        for (std::size_t i = kPerSignBins; i-- > 0;) {
            const std::int64_t positive = std::int64_t{m_counts[2 * i]} + m_counts[2 * i + 1];
            const std::int64_t negative = std::int64_t{m_counts[2 * (i + kPerSignBins)]} + m_counts[2 * (i + kPerSignBins) + 1];
            if (i < LogBins::kPerOctave || (positive | negative) == 0)
                continue; // below the exponent's first step bits are no logarithm: addTiny has counted them
            const auto bin = static_cast<std::size_t>(static_cast<std::int64_t>(i) - LogBins::kPerOctave * kBias - kLowestBin);
            bins.positive[bin] += positive;
            bins.negative[bin] += negative;
        }
        for (std::size_t i = 0; i < m_tiny.size(); ++i)
            (m_tiny[i] < 0 ? bins.negative : bins.positive)[static_cast<std::size_t>(LogBins::binOf(std::fabs(static_cast<double>(m_tiny[i]))) - kLowestBin)]++;
        bins.zeros += m_zeros;
        bins.min = std::min(bins.min, static_cast<double>(m_min) + 0.0);
        bins.max = std::max(bins.max, static_cast<double>(m_max) + 0.0);
    }

private:
    using Bits = std::conditional_t<std::is_same_v<Real, float>, std::uint32_t, std::uint64_t>;
    static constexpr int kMantissa = std::numeric_limits<Real>::digits - 1;
    static constexpr int kShift = kMantissa - 3;
    static constexpr std::int64_t kBias = std::numeric_limits<Real>::max_exponent - 1;
    static constexpr std::size_t kPerSignBins = std::size_t{1} << (sizeof(Real) * 8 - 1 - kShift);
    static constexpr Bits kExponent = static_cast<Bits>(Bits{2 * kBias + 1} << kMantissa);

    void addTiny(Real value)
    {
        if (value == 0)
            ++m_zeros;
        else
            m_tiny.push_back(value);
    }

    std::vector<std::uint32_t> m_counts = std::vector<std::uint32_t>(4 * kPerSignBins);
    std::vector<Real> m_tiny; ///< subnormal numbers
    std::int64_t m_zeros = 0;
    Real m_min = std::numeric_limits<Real>::infinity();
    Real m_max = -std::numeric_limits<Real>::infinity();
};

/// Values of one plane, element by element, of some rows of a block.
template <class Real>
struct Values {
    std::vector<Real> low, high;
    std::vector<std::uint16_t> flags;

    CellPlanes<Real> planes(std::int64_t cells, std::int64_t columns)
    {
        const auto size = static_cast<std::size_t>(cells);
        flags.resize(size);
        high.resize(size);
        low.resize(size);
        CellPlanes<Real> result;
        result.flags = flags.data();
        result.stride = columns;
        result.minA = result.minB = low.data();
        result.maxA = result.maxB = high.data();
        result.difference = result.relative = result.ulp = high.data();
        return result;
    }
};

/// Some rows of a block as a block.
SliceBlock rowsOf(const SliceBlock& block, std::int64_t first, std::int64_t rows)
{
    SliceBlock part = block;
    part.rect.row += first;
    part.rect.rows = rows;
    for (SliceSide* side : {&part.a, &part.b}) {
        if (side->bytes != nullptr)
            side->bytes += first * side->rowStride * static_cast<std::int64_t>(itemSize(side->dtype));
    }
    return part;
}

template <class Real>
Result<Histogram> counted(const Pyramid::Data& data, Mode mode, const std::stop_token& stop, ProgressSteps& progress)
{
    const Slice& slice = data.pair.slice();
    const unsigned plane = planeOf(mode);
    const std::uint16_t finite = plane == kPlaneA ? kFiniteA : plane == kPlaneB ? kFiniteB : kFinitePair;
    const auto blocks = data.pair.blocks({0, 0, slice.rows(), slice.columns()}, 1, 1, kBlockBytes);
    Histogram result;
    AllBins bins;
    std::mutex mutex;
    const auto work = [&](std::size_t index, SliceBuffers& buffers) -> Result<void> {
        const auto block = data.pair.read(blocks[index], sidesOf(plane), buffers);
        if (!block)
            return tl::unexpected<Error>(block.error());
        Values<Real> values;
        Counter<Real> counter;
        std::int64_t nan = 0, positiveInf = 0, negativeInf = 0, equalInf = 0;
        const CellRect& rect = block->rect;
        const std::int64_t rowsAtOnce = std::max<std::int64_t>(kCellsAtOnce / rect.columns, 1);
        for (std::int64_t row = 0; row < rect.rows; row += rowsAtOnce) {
            const std::int64_t rows = std::min(rowsAtOnce, rect.rows - row);
            const std::int64_t cells = rows * rect.columns;
            Counts seen;
            poolBlock<Real>(rowsOf(*block, row, rows), slice, plane, 0, 0, data.tolerance(), values.planes(cells, rect.columns), seen,
                            bestInstructions());
            const ModeFlags flags = modeFlags(mode);
            const auto has = [&](std::int64_t i, std::uint16_t flag) { return (values.flags[static_cast<std::size_t>(i)] & flag) != 0; };
            Real* const numbers = values.high.data();
            std::int64_t kept = 0;
            for (std::int64_t i = 0; i < cells; ++i) {
                if (has(i, finite)) [[likely]] {
                    numbers[kept++] = mode == Mode::AbsDifference ? std::fabs(numbers[i]) : numbers[i];
                    continue;
                }
                nan += has(i, flags.nan);
                positiveInf += has(i, flags.positiveInf);
                negativeInf += has(i, flags.negativeInf);
                equalInf += plane != kPlaneA && plane != kPlaneB && has(i, kEqualInf);
            }
            counter.add(numbers, kept);
        }
        {
            const std::lock_guard lock(mutex);
            counter.addTo(bins);
            result.nan += nan;
            result.positiveInf += positiveInf;
            result.negativeInf += negativeInf;
            bins.zeros += equalInf;
            if (equalInf > 0) {
                bins.min = std::min(bins.min, 0.0);
                bins.max = std::max(bins.max, 0.0);
            }
        }
        progress.add(static_cast<std::uint64_t>(rect.cells()));
        return {};
    };
    if (const Result<void> done = forEachBlock(blocks.size(), data.options.threads, stop, work); !done)
        return tl::unexpected<Error>(done.error());
    result.mode = mode;
    result.negative = trimmed(bins.negative);
    result.positive = trimmed(bins.positive);
    result.zeros = bins.zeros;
    if (result.finite() > 0) {
        result.min = bins.min;
        result.max = bins.max;
    }
    return result;
}

/// Finite values in ascending order as runs that lie between two values.
struct Run {
    double low, high;
    std::int64_t count;
};

template <class Visit>
void forEachRun(const Histogram& histogram, Visit visit)
{
    const LogBins& negative = histogram.negative;
    for (std::size_t i = negative.counts.size(); i-- > 0;) {
        const std::int64_t bin = negative.first + static_cast<std::int64_t>(i);
        visit(Run{-LogBins::edge(bin + 1), -LogBins::edge(bin), negative.counts[i]});
    }
    visit(Run{0, 0, histogram.zeros});
    const LogBins& positive = histogram.positive;
    for (std::size_t i = 0; i < positive.counts.size(); ++i) {
        const std::int64_t bin = positive.first + static_cast<std::int64_t>(i);
        visit(Run{LogBins::edge(bin), LogBins::edge(bin + 1), positive.counts[i]});
    }
}

LogBins joinedBins(const LogBins& x, const LogBins& y)
{
    if (x.counts.empty() || y.counts.empty())
        return x.counts.empty() ? y : x;
    LogBins sum;
    sum.first = std::min(x.first, y.first);
    const std::int64_t end = std::max(x.first + static_cast<std::int64_t>(x.counts.size()), y.first + static_cast<std::int64_t>(y.counts.size()));
    sum.counts.resize(static_cast<std::size_t>(end - sum.first));
    for (const LogBins* bins : {&x, &y}) {
        for (std::size_t i = 0; i < bins->counts.size(); ++i)
            sum.counts[static_cast<std::size_t>(bins->first - sum.first) + i] += bins->counts[i];
    }
    return sum;
}

/// The histogram of the magnitudes of what is not 0.
Histogram magnitudes(const Histogram& histogram)
{
    Histogram result;
    result.positive = joinedBins(histogram.negative, histogram.positive);
    if (result.positive.counts.empty())
        return result;
    result.max = std::max(std::fabs(histogram.min), std::fabs(histogram.max));
    result.min = LogBins::edge(result.positive.first);
    return result;
}

} // namespace

double LogBins::edge(std::int64_t bin)
{
    const auto octave = static_cast<int>(bin >= 0 ? bin / kPerOctave : -((-bin + kPerOctave - 1) / kPerOctave));
    const auto part = static_cast<double>(bin - std::int64_t{octave} * kPerOctave);
    if (octave >= 1024)
        return std::numeric_limits<double>::max();
    return std::ldexp(1 + part / kPerOctave, octave);
}

std::int64_t LogBins::binOf(double magnitude)
{
    const int octave = std::ilogb(magnitude);
    const double part = std::ldexp(magnitude, -octave) - 1; // exact, in [0, 1)
    return std::int64_t{octave} * kPerOctave + static_cast<std::int64_t>(part * kPerOctave);
}

std::int64_t LogBins::total() const { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }

std::int64_t Histogram::finite() const { return negative.total() + zeros + positive.total(); }

Result<Histogram> histogramOf(const Pyramid& pyramid, Mode mode, std::stop_token stop, Progress* progress)
try {
    const Pyramid::Data& data = pyramid.data();
    Histogram result;
    result.mode = mode;
    if (mode == Mode::OverTolerance) { // counted already
        const Counts& counts = data.counts;
        result.classes = {counts.elements - counts.differing, counts.differing - counts.over, counts.over};
        result.nan = counts.nanPairs;
        return result;
    }
    if (data.pair.slice().elements() == 0)
        return result;
    ProgressSteps steps(progress, "histogram", static_cast<std::uint64_t>(data.pair.slice().elements()));
    auto counts = pyramid.wide() ? counted<double>(data, mode, stop, steps) : counted<float>(data, mode, stop, steps);
    if (counts)
        steps.finish();
    return counts;
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::Unreadable, "not enough memory for a histogram");
}

Histogram joined(const Histogram& x, const Histogram& y)
{
    Histogram sum = x;
    sum.negative = joinedBins(x.negative, y.negative);
    sum.positive = joinedBins(x.positive, y.positive);
    sum.zeros += y.zeros;
    sum.nan += y.nan;
    sum.positiveInf += y.positiveInf;
    sum.negativeInf += y.negativeInf;
    for (std::size_t i = 0; i < sum.classes.size(); ++i)
        sum.classes[i] += y.classes[i];
    if (x.finite() == 0) {
        sum.min = y.min;
        sum.max = y.max;
    } else if (y.finite() > 0) {
        sum.min = std::min(x.min, y.min);
        sum.max = std::max(x.max, y.max);
    }
    return sum;
}

double quantile(const Histogram& histogram, double q)
{
    const std::int64_t finite = histogram.finite();
    if (finite == 0)
        return 0;
    if (!(q > 0))
        return histogram.min;
    if (q >= 1)
        return histogram.max;
    const double rank = q * static_cast<double>(finite);
    double before = 0;
    double result = histogram.max;
    bool found = false;
    forEachRun(histogram, [&](const Run& run) {
        const auto count = static_cast<double>(run.count);
        if (!found && count > 0 && rank <= before + count) {
            result = run.low + (run.high - run.low) * ((rank - before) / count);
            found = true;
        }
        before += count;
    });
    return std::clamp(result, histogram.min, histogram.max);
}

double magnitudeQuantile(const Histogram& histogram, double q) { return quantile(magnitudes(histogram), q); }

OutsideCounts outside(const Histogram& histogram, const ValueRange& range)
{
    double below = 0, above = 0;
    bool belowExact = true, aboveExact = true;
    forEachRun(histogram, [&](const Run& run) {
        // The runs at both ends hold nothing beyond the extremes.
        const double low = std::max(run.low, histogram.min), high = std::min(run.high, histogram.max);
        const auto share = [&](double part) { return high > low ? std::clamp(part / (high - low), 0.0, 1.0) : 0.0; };
        const auto count = static_cast<double>(run.count);
        if (high < range.low)
            below += count;
        else if (low < range.low) {
            below += count * share(range.low - low);
            belowExact = false;
        }
        if (low > range.high)
            above += count;
        else if (high > range.high) {
            above += count * share(high - range.high);
            aboveExact = false;
        }
    });
    const std::int64_t finite = histogram.finite();
    const auto rounded = [&](double share, bool any) { return std::clamp<std::int64_t>(std::llround(share), any ? 1 : 0, finite); };
    return {rounded(below, finite > 0 && histogram.min < range.low), rounded(above, finite > 0 && histogram.max > range.high), belowExact, aboveExact};
}

ValueRange fittedRange(const Histogram& histogram, RangeScale scale)
{
    constexpr double kTail = 0.005, kDifferenceTail = 0.001;
    const bool log = scale == RangeScale::Log;
    const auto widened = [log](double low, double high) -> ValueRange {
        if (low < high)
            return {low, high};
        constexpr double kLargest = std::numeric_limits<double>::max();
        if (log)
            return {std::max(high / 2, std::numeric_limits<double>::denorm_min()), std::min(high * 2, kLargest)};
        const double room = std::max(std::fabs(high) / 2, std::numeric_limits<double>::min());
        return {std::max(low - room, -kLargest), std::min(high + room, kLargest)};
    };
    if (histogram.mode == Mode::OverTolerance)
        return {0, 2};
    const Histogram sizes = magnitudes(histogram);
    if (sizes.positive.counts.empty())
        return {log ? 0.1 : 0.0, 1};
    switch (histogram.mode) {
    case Mode::A:
    case Mode::B: {
        if (!log)
            return widened(quantile(histogram, kTail), quantile(histogram, 1 - kTail));
        Histogram positive = histogram;
        positive.negative = {};
        positive = magnitudes(positive);
        positive.max = std::max(histogram.max, 0.0);
        if (positive.positive.counts.empty())
            return {0.1, 1};
        return widened(quantile(positive, kTail), quantile(positive, 1 - kTail));
    }
    case Mode::Difference: {
        const double size = quantile(sizes, 1 - kDifferenceTail);
        return log ? widened(quantile(sizes, kTail), size) : widened(-size, size);
    }
    default:
        return widened(log ? quantile(sizes, kTail) : 0, quantile(sizes, 1 - kDifferenceTail));
    }
}

} // namespace forkpoint::heatmap
