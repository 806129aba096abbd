// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/range_axis.h"

#include "ui/theme/theme.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace forkpoint::ui {

using heatmap::Histogram;
using heatmap::LogBins;

namespace {

constexpr double kBandShare = 0.001; ///< of the values other than 0, at most, are too small to have a place of their own
constexpr double kHalfBand = 11; ///< pixels
constexpr double kLeastOctaves = 2; ///< of an axis
constexpr double kRoom = 0.04; ///< of the octaves, beyond what must be on the axis
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();

/// The edge of the first bin that the band does not swallow; 0 if there are no values but 0.
double smallestShown(const Histogram& histogram)
{
    const LogBins& x = histogram.negative;
    const LogBins& y = histogram.positive;
    const auto end = [](const LogBins& bins) { return bins.first + static_cast<std::int64_t>(bins.counts.size()); };
    const auto at = [&end](const LogBins& bins, std::int64_t bin) {
        return bin >= bins.first && bin < end(bins) ? bins.counts[static_cast<std::size_t>(bin - bins.first)] : 0;
    };
    const auto hidden = static_cast<std::int64_t>(kBandShare * static_cast<double>(x.total() + y.total()));
    std::int64_t seen = 0;
    const std::int64_t first = x.counts.empty() ? y.first : y.counts.empty() ? x.first : std::min(x.first, y.first);
    const std::int64_t last = std::max(x.counts.empty() ? first : end(x), y.counts.empty() ? first : end(y));
    for (std::int64_t bin = first; bin < last; ++bin) {
        seen += at(x, bin) + at(y, bin);
        if (seen > hidden) {
            return LogBins::edge(bin);
        }
    }
    return 0;
}

double octaves(double from, double to)
{
    return std::log2(to) - std::log2(from);
}

} // namespace

RangeAxis::RangeAxis(const Histogram* histogram, const heatmap::Normalisation& normalisation, bool symmetric)
{
    const bool log = normalisation.scale == heatmap::RangeScale::Log;
    const auto finite = [](double x) { return std::isfinite(x) ? x : 0; };
    const double low = finite(normalisation.range.low), high = finite(normalisation.range.high);
    double below = std::max({ -low, -high, 0.0 }), above = std::max({ low, high, 0.0 });
    double edge = 0;
    if (histogram && (!histogram->negative.counts.empty() || !histogram->positive.counts.empty())) {
        below = std::max(below, -histogram->min);
        above = std::max(above, histogram->max);
        edge = smallestShown(*histogram);
    }
    if (symmetric && !log) {
        below = above = std::max(below, above);
    }
    const double largest = std::max(below, above) > 0 ? std::max(below, above) : 1;
    if (edge == 0) {
        edge = largest / std::exp2(3 * kLeastOctaves);
    }
    // The range must not be lost in the band. (On a linear scale one end may be: it must get through zero.)
    if (const double end = log && low > 0 ? low : std::max(std::abs(low), std::abs(high)); end > 0) {
        edge = std::min(edge, end / 4);
    }
    m_edge = std::clamp(std::min(edge, largest / std::exp2(kLeastOctaves)), kSmallest, kLargest);
    const double span = octaves(m_edge, largest);
    const auto side = [&](double reach) {
        return std::min(std::max(reach > m_edge ? octaves(m_edge, reach) : 0, 1.0) + std::max(kRoom * span, 0.3), octaves(m_edge, kLargest));
    };
    m_octavesAbove = side(above);
    m_octavesBelow = below > 0 ? side(below) : 0;
}

void RangeAxis::setPlace(double left, double width)
{
    m_left = left;
    m_width = std::max(width, 4 * kHalfBand);
}

double RangeAxis::bandWidth() const
{
    return twoSided() ? 2 * kHalfBand : kHalfBand;
}

double RangeAxis::pixelsPerOctave() const
{
    return (m_width - bandWidth()) / (m_octavesBelow + m_octavesAbove);
}

double RangeAxis::zeroPosition() const
{
    return m_left + (twoSided() ? m_octavesBelow * pixelsPerOctave() + kHalfBand : 0);
}

double RangeAxis::positionOf(double value) const
{
    const double size = std::abs(value);
    double distance = 0;
    if (size > m_edge) {
        distance = kHalfBand + octaves(m_edge, std::min(size, kLargest)) * pixelsPerOctave();
    } else if (size > 0) {
        distance = kHalfBand * (size / m_edge);
    }
    return std::clamp(zeroPosition() + (value < 0 ? -distance : distance), left(), right());
}

double RangeAxis::valueAt(double position) const
{
    const double offset = std::clamp(position, left(), right()) - zeroPosition();
    const double distance = std::abs(offset);
    const double size = distance <= kHalfBand ? m_edge * (distance / kHalfBand)
                                              : std::min(std::exp2(std::log2(m_edge) + (distance - kHalfBand) / pixelsPerOctave()), kLargest);
    return offset < 0 ? -size : size;
}

double RangeAxis::lowest() const
{
    return valueAt(left());
}
double RangeAxis::highest() const
{
    return valueAt(right());
}

int RangeAxis::usefulDigits() const
{
    const double step = std::exp2(1 / pixelsPerOctave()) - 1;
    return std::clamp(static_cast<int>(std::ceil(-std::log10(step))) + 1, 2, 9);
}

std::vector<RangeAxis::Tick> RangeAxis::ticks(const std::function<double(const QString&)>& widthOf, double gap) const
{
    const auto tick = [this](double value) { return Tick { value, positionOf(value), number(value) }; };
    const auto place = [&](const Tick& t) { // as it is written: within the axis
        const double half = widthOf(t.text) / 2;
        const double middle = std::clamp(t.position, left() + half, std::max(left() + half, right() - half));
        return std::pair(middle - half, middle + half);
    };
    const auto decade = [](double size) { return static_cast<int>(std::floor(std::log10(size))); };
    const int first = std::max(decade(m_edge) + 1, -323), last = std::min(decade(std::max(highest(), -lowest())), 308);
    // The closest spacing at which no texts touch: 1, 2 and 5 in every decade, or every so many decades, counted from the largest.
    for (int step = 0; step <= std::max(last - first, 0) + 1; ++step) {
        std::vector<Tick> ticks { tick(0) };
        for (int power = last; power >= first - (step == 0 ? 1 : 0); power -= std::max(step, 1)) {
            for (const double factor : { 1.0, 2.0, 5.0 }) {
                const double value = factor * std::pow(10.0, power);
                if (value <= highest() && value > m_edge) {
                    ticks.push_back(tick(value));
                }
                if (-value >= lowest() && value > m_edge && twoSided()) {
                    ticks.push_back(tick(-value));
                }
                if (step > 0) {
                    break;
                }
            }
        }
        std::sort(ticks.begin(), ticks.end(), [](const Tick& x, const Tick& y) { return x.value < y.value; });
        bool fits = true;
        for (std::size_t i = 1; i < ticks.size(); ++i) {
            fits = fits && place(ticks[i]).first - place(ticks[i - 1]).second >= gap;
        }
        if (fits) {
            return ticks;
        }
    }
    return { tick(0) };
}

std::int64_t countInBand(const Histogram& histogram, const RangeAxis& axis)
{
    std::int64_t count = histogram.zeros;
    for (const LogBins* bins : { &histogram.negative, &histogram.positive }) {
        for (std::size_t i = 0; i < bins->counts.size(); ++i) {
            if (LogBins::edge(bins->first + static_cast<std::int64_t>(i)) < axis.bandEdge()) {
                count += bins->counts[i];
            }
        }
    }
    return count;
}

std::vector<std::int64_t> barCounts(const Histogram& histogram, const RangeAxis& axis, int columns)
{
    std::vector<std::int64_t> counts(static_cast<std::size_t>(std::max(columns, 0)));
    if (counts.empty()) {
        return counts;
    }
    const double scale = columns / (axis.right() - axis.left());
    const auto fill = [&](double from, double to, std::int64_t count) {
        const auto column = [&](double x) { return std::clamp(static_cast<int>(std::lround((x - axis.left()) * scale)), 0, columns); };
        const int first = std::min(column(from), columns - 1), last = std::max(column(to), first + 1);
        for (int i = first; i < last; ++i) {
            auto& there = counts[static_cast<std::size_t>(i)];
            there = std::max(there, count);
        }
    };
    const double edge = axis.bandEdge();
    fill(axis.twoSided() ? axis.positionOf(-edge) : axis.left(), axis.positionOf(edge), countInBand(histogram, axis));
    const auto side = [&](const LogBins& bins, double sign) {
        for (std::size_t i = 0; i < bins.counts.size(); ++i) {
            const auto bin = bins.first + static_cast<std::int64_t>(i);
            const double from = LogBins::edge(bin);
            if (bins.counts[i] > 0 && from >= edge) {
                const double x = axis.positionOf(sign * from), y = axis.positionOf(sign * LogBins::edge(bin + 1));
                fill(std::min(x, y), std::max(x, y), bins.counts[i]);
            }
        }
    };
    side(histogram.negative, -1);
    side(histogram.positive, 1);
    return counts;
}

} // namespace forkpoint::ui
