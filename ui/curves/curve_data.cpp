// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/curves/curve_data.h"

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

/// Collects a line of at most `points` points.
class LineBuilder {
public:
    LineBuilder(std::size_t points, double smoothing, bool log, bool absolute)
        : m_smoothing(smoothing)
        , m_log(log)
        , m_absolute(absolute)
    {
        m_raw.resize(static_cast<qsizetype>(points));
        m_rawEnd = m_raw.data();
        if (smoothing > 0) {
            m_smooth.resize(static_cast<qsizetype>(points));
            m_smoothEnd = m_smooth.data();
        }
    }

    void add(std::int32_t step, double value)
    {
        ++m_line.points;
        if (!isDrawable(value)) {
            m_line.tooLarge += std::isfinite(value) ? 1 : 0;
            m_line.nonFinite.push_back({ step, std::isnan(value) ? NonFinite::NaN : value > 0 ? NonFinite::PlusInf : NonFinite::MinusInf });
            *m_rawEnd++ = QCPGraphData(step, kGap);
            if (m_smoothing > 0) {
                *m_smoothEnd++ = QCPGraphData(step, kGap);
            }
            return;
        }
        const double drawn = drawable(value);
        if (std::isnan(drawn)) {
            ++m_line.hidden;
        } else {
            m_line.values.add(drawn);
        }
        *m_rawEnd++ = QCPGraphData(step, drawn);
        if (m_smoothing > 0) {
            // Divided by the weights seen so far, or the average would start at zero.
            m_average = m_smoothing * m_average + (1 - m_smoothing) * value;
            m_unseen = m_unseen < 1e-20 ? 0 : m_unseen * m_smoothing; // never a denormal: they are slow
            *m_smoothEnd++ = QCPGraphData(step, drawable(m_average / (1 - m_unseen)));
        }
    }

    PlottedLine take()
    {
        m_raw.resize(m_rawEnd - m_raw.constData());
        m_line.raw = GraphData::create();
        m_line.raw->set(m_raw, true);
        if (m_smoothing > 0) {
            m_smooth.resize(m_smoothEnd - m_smooth.constData());
        }
        m_line.smooth = GraphData::create();
        m_line.smooth->set(m_smooth, true);
        return std::move(m_line);
    }

private:
    double drawable(double value) const
    {
        if (!m_log) {
            return value;
        }
        const double v = m_absolute ? std::abs(value) : value;
        return v > 0 ? v : kGap;
    }

    PlottedLine m_line;
    QVector<QCPGraphData> m_raw, m_smooth; ///< as long as they may become
    QCPGraphData* m_rawEnd = nullptr;
    QCPGraphData* m_smoothEnd = nullptr;
    double m_smoothing, m_average = 0, m_unseen = 1;
    bool m_log, m_absolute;
};

PlottedLine side(const std::vector<curves::Point>& points, const CurveOptions& options)
{
    LineBuilder line(points.size(), options.smoothing, options.logValues, false);
    for (const auto& point : points) {
        line.add(point.step, point.value);
    }
    return line.take();
}

} // namespace

PlottedCurve plotted(const curves::Overlay& overlay, const CurveOptions& options)
{
    PlottedCurve out;
    out.a = side(overlay.a, options);
    out.b = side(overlay.b, options);
    LineBuilder difference(std::min(overlay.a.size(), overlay.b.size()), options.smoothing, options.logDifference, true);
    auto b = overlay.b.begin();
    for (const auto& a : overlay.a) {
        while (b != overlay.b.end() && b->step < a.step) {
            ++b;
        }
        if (b == overlay.b.end()) {
            break;
        }
        if (b->step == a.step) {
            const bool same = a.value == b->value || (std::isnan(a.value) && std::isnan(b->value));
            out.unequal += same ? 0 : 1;
            out.finite += isDrawable(a.value) && isDrawable(b->value) ? 1 : 0;
            difference.add(a.step, a.value == b->value ? 0.0 : b->value - a.value); // Inf on both sides is no difference
        }
    }
    out.difference = difference.take();
    bool any = false;
    for (const auto* points : { &overlay.a, &overlay.b }) {
        if (!points->empty()) {
            out.firstStep = any ? std::min(out.firstStep, points->front().step) : points->front().step;
            out.lastStep = any ? std::max(out.lastStep, points->back().step) : points->back().step;
            any = true;
        }
    }
    return out;
}

std::optional<std::int32_t> nearestStep(const curves::Overlay& overlay, double step)
{
    std::optional<std::int32_t> best;
    const auto consider = [&](const curves::Point& point) {
        if (!best || std::abs(point.step - step) < std::abs(*best - step)) {
            best = point.step;
        }
    };
    for (const auto* points : { &overlay.a, &overlay.b }) {
        const auto it = std::lower_bound(points->begin(), points->end(), step, [](const curves::Point& p, double s) { return p.step < s; });
        if (it != points->end()) {
            consider(*it);
        }
        if (it != points->begin()) {
            consider(*(it - 1));
        }
    }
    return best;
}

std::optional<std::int32_t> neighbourStep(const curves::Overlay& overlay, std::int32_t step, int direction)
{
    std::optional<std::int32_t> best;
    const auto consider = [&](std::int32_t other) {
        if (!best || std::abs(std::int64_t(other) - step) < std::abs(std::int64_t(*best) - step)) {
            best = other;
        }
    };
    for (const auto* points : { &overlay.a, &overlay.b }) {
        const auto [from, to] = std::equal_range(points->begin(), points->end(), curves::Point { step, 0 },
            [](const curves::Point& x, const curves::Point& y) { return x.step < y.step; });
        if (direction > 0 && to != points->end()) {
            consider(to->step);
        } else if (direction < 0 && from != points->begin()) {
            consider((from - 1)->step);
        }
    }
    return best;
}

double relativeDifference(double a, double b)
{
    const double scale = std::max(std::abs(a), std::abs(b));
    return scale == 0 ? 0 : std::abs(b - a) / scale;
}

} // namespace forkpoint::ui
