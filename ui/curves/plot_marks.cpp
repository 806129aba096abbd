// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/curves/plot_marks.h"

#include "ui/curves/curve_plot.h"
#include "ui/theme/theme.h"

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

namespace {

using diagnose::Severity;

constexpr double kGapMark = 3; ///< half the size
constexpr double kMarkStep = 4; ///< marks closer than this are one

QColor withAlpha(QColor colour, int alpha)
{
    colour.setAlpha(alpha);
    return colour;
}

} // namespace

PlotMarks::PlotMarks(CurvePlot* plot)
    : QCPLayerable(plot, QStringLiteral("overlay"))
    , m_plot(*plot)
{
}

void PlotMarks::applyDefaultAntialiasingHint(QCPPainter* painter) const
{
    painter->setAntialiasing(true);
}

void PlotMarks::draw(QCPPainter* painter)
{
    if (m_plot.m_curve.a.points == 0 && m_plot.m_curve.b.points == 0) {
        return;
    }
    drawGaps(*painter);
    drawCursor(*painter);
    drawOnset(*painter);
    drawRecordedSteps(*painter);
    drawWords(*painter);
    if (m_plot.m_showFocus) {
        painter->setBrush(Qt::NoBrush);
        painter->setPen(QPen(Theme::current().accent, 1));
        painter->drawRoundedRect(QRectF(m_plot.viewport()).adjusted(1, 1, -1.5, -1.5), 4, 4);
    }
}

void PlotMarks::drawGaps(QCPPainter& painter) const
{
    const auto& theme = Theme::current();
    const auto* axis = m_plot.stepAxis();
    const QRect rect = m_plot.valuesRect();
    const auto sideMarks = [&](const PlottedLine& line, const QColor& colour, double lane) {
        const auto visible = std::lower_bound(line.nonFinite.begin(), line.nonFinite.end(), axis->range().lower,
            [](const NonFinitePoint& p, double lower) { return p.step < lower; });
        double bandFrom = 0, bandTo = -1, lastMark = -1e9;
        painter.setPen(Qt::NoPen);
        const auto paintBand = [&] {
            if (bandTo > bandFrom) {
                painter.fillRect(QRectF(QPointF(std::max(bandFrom, double(rect.left())), rect.top()),
                                     QPointF(std::min(bandTo, double(rect.right() + 1)), rect.bottom() + 1)),
                    withAlpha(theme.fill(Severity::Invalid), 110));
            }
        };
        QVector<QPair<double, NonFinite>> marks;
        for (auto it = visible; it != line.nonFinite.end() && it->step <= axis->range().upper; ++it) {
            const double x = axis->coordToPixel(it->step);
            const double from = std::min(axis->coordToPixel(it->step - 0.5), x - 1),
                         to = std::max(axis->coordToPixel(it->step + 0.5), x + 1);
            if (from > bandTo + 0.5) {
                paintBand();
                bandFrom = from;
            }
            bandTo = to;
            if (x - lastMark >= 2 * kGapMark + kMarkStep) {
                marks.append({ x, it->what });
                lastMark = x;
            }
        }
        paintBand();
        painter.setPen(QPen(colour, 1.6, Qt::SolidLine, Qt::RoundCap));
        painter.setBrush(Qt::NoBrush);
        const double y = rect.top() + lane;
        for (const auto& [x, what] : marks) {
            if (what == NonFinite::NaN) {
                painter.drawLine(QPointF(x - kGapMark, y - kGapMark), QPointF(x + kGapMark, y + kGapMark));
                painter.drawLine(QPointF(x - kGapMark, y + kGapMark), QPointF(x + kGapMark, y - kGapMark));
            } else { // an arrow to where the value went
                const double tip = what == NonFinite::PlusInf ? -kGapMark : kGapMark;
                painter.drawLine(QPointF(x, y - tip), QPointF(x, y + tip));
                painter.drawLine(QPointF(x, y + tip), QPointF(x - 2.5, y));
                painter.drawLine(QPointF(x, y + tip), QPointF(x + 2.5, y));
            }
        }
    };
    sideMarks(m_plot.m_curve.a, theme.a, 7);
    sideMarks(m_plot.m_curve.b, theme.b, 17);
}

void PlotMarks::drawCursor(QCPPainter& painter) const
{
    if (!m_plot.m_cursor || !m_plot.stepAxis()->range().contains(*m_plot.m_cursor)) {
        return;
    }
    const double x = m_plot.stepAxis()->coordToPixel(*m_plot.m_cursor);
    painter.setPen(QPen(withAlpha(Theme::current().accent, 150), 1));
    painter.drawLine(QPointF(x, m_plot.valuesRect().top()), QPointF(x, m_plot.differenceRect().bottom()));
}

void PlotMarks::drawOnset(QCPPainter& painter) const
{
    if (!m_plot.m_onset) {
        return;
    }
    const QRect upper = m_plot.valuesRect(), lower = m_plot.differenceRect();
    const QColor colour = Theme::current().strong(Severity::Divergent);
    const QCPRange range = m_plot.stepAxis()->range();
    const double at = m_plot.stepAxis()->coordToPixel(*m_plot.m_onset);
    const double x = std::clamp(at, double(upper.left()), double(upper.right()));
    QString label = m_plot.m_onsetLabel;
    if (range.contains(*m_plot.m_onset)) {
        QPen pen(colour, 1.2);
        pen.setDashPattern({ 3, 2 });
        painter.setPen(pen);
        painter.drawLine(QPointF(x, upper.top() - 12), QPointF(x, lower.bottom()));
    } else { // still told, with where it lies
        label = at < x ? QStringLiteral("\u25C2 ") + label : label + QStringLiteral(" \u25B8");
    }
    painter.setFont(m_plot.font());
    const QFontMetrics metrics(m_plot.font());
    const int width = metrics.horizontalAdvance(label);
    const bool right = x + 5 + width <= m_plot.viewport().right();
    painter.setPen(colour);
    painter.drawText(QRectF(right ? x + 5 : x - 5 - width, upper.top() - metrics.height() - 2, width + 2, metrics.height()),
        Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, label);
}

void PlotMarks::drawRecordedSteps(QCPPainter& painter) const
{
    const auto& theme = Theme::current();
    const auto* axis = m_plot.stepAxis();
    const QRect lane = m_plot.stepLane();
    const auto triangle = [&](double x, double half, const QColor& colour) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawPolygon(QPolygonF(
            { { x, lane.top() + 1.0 }, { x - half, lane.top() + 1.0 + 1.7 * half }, { x + half, lane.top() + 1.0 + 1.7 * half } }));
    };
    const auto& all = m_plot.m_recorded;
    const auto first = std::lower_bound(all.begin(), all.end(), axis->range().lower, [](int step, double lower) { return step < lower; });
    double last = -1e9;
    for (auto it = first; it != all.end() && *it <= axis->range().upper; ++it) {
        const double x = axis->coordToPixel(*it);
        if (x - last < kMarkStep) {
            continue;
        }
        last = x;
        triangle(x, 4, withAlpha(theme.text, 200));
    }
    for (const auto& [step, colour, half] :
        { std::tuple(m_plot.m_hoveredRecorded, theme.text, 5.5), std::tuple(m_plot.m_cursor, theme.accent, 5.5) }) {
        if (step && axis->range().contains(*step) && std::binary_search(all.begin(), all.end(), *step)) {
            triangle(axis->coordToPixel(*step), half, colour);
        }
    }
}

void PlotMarks::drawWords(QCPPainter& painter) const
{
    const auto& difference = m_plot.m_curve.difference;
    QString words;
    if (difference.points == 0) {
        words = CurvePlot::tr("no step that both runs have");
    } else if (m_plot.m_curve.finite == 0) {
        words = CurvePlot::tr("no common step with finite values on both sides");
    } else if (m_plot.m_curve.unequal == 0) {
        words = CurvePlot::tr("A and B are equal at every common step");
    } else if (difference.values.isEmpty()) {
        words = CurvePlot::tr("nothing that can be drawn");
    }
    const auto write = [&](const QRect& rect, const QString& text) {
        painter.setFont(m_plot.font());
        painter.setPen(Theme::current().muted);
        painter.drawText(QRect(rect.left(), rect.top(), rect.width(), rect.height() / 2), Qt::AlignCenter | Qt::TextSingleLine, text);
    };
    write(m_plot.differenceRect(), words);
    if (m_plot.m_curve.a.values.isEmpty() && m_plot.m_curve.b.values.isEmpty()) {
        write(m_plot.valuesRect(),
            m_plot.m_curve.a.hidden + m_plot.m_curve.b.hidden ? CurvePlot::tr("no value above zero for a log axis")
                                                              : CurvePlot::tr("no finite value"));
    }
}

PlotCrosshair::PlotCrosshair(CurvePlot* plot, const QString& layer)
    : QCPLayerable(plot, layer)
    , m_plot(*plot)
{
}

void PlotCrosshair::applyDefaultAntialiasingHint(QCPPainter* painter) const
{
    painter->setAntialiasing(true);
}

void PlotCrosshair::draw(QCPPainter* painter)
{
    if (!m_plot.m_crosshair || !m_plot.stepAxis()->range().contains(*m_plot.m_crosshair)) {
        return;
    }
    const auto& theme = Theme::current();
    const double x = m_plot.stepAxis()->coordToPixel(*m_plot.m_crosshair);
    painter->setPen(QPen(theme.muted, 1, Qt::DotLine));
    painter->drawLine(QPointF(x, m_plot.valuesRect().top()), QPointF(x, m_plot.differenceRect().bottom()));
    const auto ring = [&](const QCPAxis* axis, const QRect& rect, std::optional<double> value, const QColor& colour) {
        if (!value || !isDrawable(*value) || (axis->scaleType() == QCPAxis::stLogarithmic && *value <= 0)) {
            return;
        }
        const double y = axis->coordToPixel(*value);
        if (y >= rect.top() && y <= rect.bottom() + 1) {
            painter->setPen(QPen(theme.panel, 4.5)); // a halo: it must be seen on a band of its own colour
            painter->setBrush(theme.panel);
            painter->drawEllipse(QPointF(x, y), 3.5, 3.5);
            painter->setPen(QPen(colour, 1.8));
            painter->drawEllipse(QPointF(x, y), 3.5, 3.5);
        }
    };
    const auto a = m_plot.m_crosshairA, b = m_plot.m_crosshairB;
    ring(m_plot.valueAxis(), m_plot.valuesRect(), a, theme.a);
    ring(m_plot.valueAxis(), m_plot.valuesRect(), b, theme.b);
    if (a && b) {
        const double d = *a == *b ? 0 : *b - *a;
        ring(m_plot.differenceAxis(), m_plot.differenceRect(), m_plot.m_options.logDifference ? std::abs(d) : d, m_plot.differenceColour());
    }
}

} // namespace forkpoint::ui
