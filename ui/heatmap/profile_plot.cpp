// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/profile_plot.h"

#include "ui/theme/theme.h"

#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <limits>

namespace forkpoint::ui {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMark = 3; ///< half the size of a gap's mark
constexpr int kLane = 11; ///< a row of marks

QColor withAlpha(QColor colour, int alpha)
{
    colour.setAlpha(alpha);
    return colour;
}

QPen linePen(bool second, double width)
{
    QPen pen(second ? Theme::current().b : Theme::current().a, width);
    if (second) {
        pen.setDashPattern({ 3, 2 });
        pen.setCapStyle(Qt::FlatCap);
    }
    return pen;
}

} // namespace

double ProfilePlot::Scale::y(double value) const
{
    const double span = high - low;
    const double share = std::isfinite(span) ? (value - low) / span : (value / 2 - low / 2) / (high / 2 - low / 2);
    return bottom - share * (bottom - top);
}

ProfilePlot::ProfilePlot(QWidget* parent)
    : QWidget(parent)
    , m_marker(kNaN)
    , m_hovered(kNaN)
{
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    setAccessibleName(tr("Profile of A and B"));
}

void ProfilePlot::setProfile(Profile profile)
{
    m_profile = std::move(profile);
    const auto n = std::min(m_profile.a.size(), m_profile.b.size());
    m_profile.a.resize(n);
    m_profile.b.resize(n);
    if (!(m_profile.elementsPerValue > 0)) {
        m_profile.elementsPerValue = 1;
    }
    setAccessibleDescription(readout());
    update();
}

void ProfilePlot::setView(double firstElement, double elementsPerPixel, int leftPixels)
{
    m_firstElement = firstElement;
    m_elementsPerPixel = elementsPerPixel > 0 ? elementsPerPixel : 1;
    m_left = leftPixels;
    update();
}

void ProfilePlot::setMarker(double element)
{
    m_marker = element;
    setAccessibleDescription(readout());
    update();
}

double ProfilePlot::positionOf(double element) const
{
    return m_left + (element - m_firstElement) / m_elementsPerPixel;
}

double ProfilePlot::elementAt(double x) const
{
    return m_firstElement + (x - m_left) * m_elementsPerPixel;
}

QRect ProfilePlot::plotRect() const
{
    const int header = fontMetrics().height() + 8;
    return QRect(QPoint(std::max(m_left, 0), header), QPoint(width() - 1, height() - 4));
}

std::optional<std::size_t> ProfilePlot::valueUnder(double element) const
{
    const double k = std::floor((element - m_profile.firstElement) / m_profile.elementsPerValue);
    return k >= 0 && k < static_cast<double>(m_profile.a.size()) ? std::optional(static_cast<std::size_t>(k)) : std::nullopt;
}

double ProfilePlot::readElement() const
{
    return valueUnder(m_hovered) ? m_hovered : m_marker;
}

QString ProfilePlot::readout() const
{
    const auto k = valueUnder(readElement());
    if (!k) {
        return m_profile.title;
    }
    const double first = m_profile.firstElement + static_cast<double>(*k) * m_profile.elementsPerValue;
    const double last = first + std::max(m_profile.elementsPerValue, 1.0) - 1;
    const QLocale locale;
    const auto place = [&locale](double x) { return locale.toString(static_cast<qlonglong>(std::floor(x))); };
    const QString at = last >= first + 1 ? tr("at %1 to %2").arg(place(first), place(last)) : tr("at %1").arg(place(first));
    return tr("%1, %2: A %3, B %4").arg(m_profile.title, at, number(m_profile.a[*k], 6), number(m_profile.b[*k], 6));
}

void ProfilePlot::hover(double element)
{
    if (element == m_hovered || (std::isnan(element) && std::isnan(m_hovered))) {
        return;
    }
    m_hovered = element;
    update();
    emit hovered(element);
}

void ProfilePlot::mouseMoveEvent(QMouseEvent* event)
{
    const double element = elementAt(event->position().x());
    hover(event->position().x() >= m_left && valueUnder(element) ? element : kNaN);
}

void ProfilePlot::leaveEvent(QEvent* event)
{
    QWidget::leaveEvent(event);
    hover(kNaN);
}

// How it looks.

void ProfilePlot::paintEvent(QPaintEvent*)
{
    const auto& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.panel);
    painter.fillRect(QRect(0, 0, width(), 1), theme.border);
    paintHeader(painter);
    const QRect box = plotRect();
    if (box.width() < 4 || box.height() < 8) {
        return;
    }
    if (m_profile.a.empty()) {
        painter.setPen(theme.muted);
        painter.drawText(box, Qt::AlignCenter, tr("no row or column to show"));
        return;
    }
    const double scale = devicePixelRatioF();
    const int count = static_cast<int>(std::ceil(box.width() * scale));
    const double first = (elementAt(box.left()) - m_profile.firstElement) / m_profile.elementsPerValue;
    const double step = m_elementsPerPixel / scale / m_profile.elementsPerValue;
    const auto a = profileColumns(m_profile.a, first, step, count), b = profileColumns(m_profile.b, first, step, count);
    const auto isGap = [](const ProfileColumn& c) { return c.nan || c.positiveInf || c.negativeInf; };
    const bool gapsA = std::any_of(a.begin(), a.end(), isGap), gapsB = std::any_of(b.begin(), b.end(), isGap);
    ProfileExtent extent;
    extent.add(a);
    extent.add(b);
    Scale values;
    values.top = box.top() + 4 + (gapsA ? kLane : 0) + (gapsB ? kLane : 0);
    values.bottom = box.bottom() - 3;
    values.low = extent.min;
    values.high = extent.max;
    if (!(values.low < values.high)) {
        const double room = values.low == 0 ? 1 : std::abs(values.low) / 4;
        values.low -= room;
        values.high += room;
    }

    painter.save();
    painter.setClipRect(box);
    paintGaps(painter, box, a, false);
    paintGaps(painter, box, b, true);
    painter.restore();
    if (extent.isEmpty) {
        painter.setPen(theme.muted);
        painter.drawText(box, Qt::AlignCenter, tr("no finite value in view"));
    } else {
        paintAxis(painter, values);
        painter.save();
        painter.setClipRect(box);
        paintSide(painter, values, a, false);
        paintSide(painter, values, b, true);
        painter.restore();
    }
    paintMarker(painter, values);
}

void ProfilePlot::paintHeader(QPainter& painter) const
{
    const auto& theme = Theme::current();
    const QFont digits = monospace(font());
    QFont bold = font();
    bold.setBold(true);
    const QFontMetrics mono(digits), strong(bold);
    const QRect line(8, 4, width() - 16, fontMetrics().height());
    const auto k = valueUnder(readElement());
    QString place = m_profile.title;
    if (k) {
        const double first = m_profile.firstElement + static_cast<double>(*k) * m_profile.elementsPerValue;
        place += QStringLiteral(" [%1]").arg(QLocale().toString(static_cast<qlonglong>(std::floor(first))));
    }
    // The numbers are what counts: less of everything else, and at last fewer digits, where there is little room.
    struct Fit {
        int digits, gap, sample;
        bool place;
    };
    QString values[2];
    Fit fit {};
    for (const Fit tried : { Fit { 6, 16, 20, true }, Fit { 6, 10, 14, true }, Fit { 4, 10, 14, true }, Fit { 4, 8, 14, false } }) {
        fit = tried;
        int needed = fit.place && !place.isEmpty() ? strong.horizontalAdvance(place) + fit.gap : 0;
        for (const int side : { 0, 1 }) {
            values[side] = k ? number((side == 1 ? m_profile.b : m_profile.a)[*k], fit.digits) : QString();
            needed += fit.sample + 6 + strong.horizontalAdvance(QLatin1Char(side == 1 ? 'B' : 'A')) + (k ? 6 + mono.horizontalAdvance(values[side]) : 0) + fit.gap;
        }
        if (needed - fit.gap <= line.width()) {
            break;
        }
    }
    int x = line.left();
    const auto write = [&](const QFont& f, const QColor& colour, const QString& text, int gap) {
        painter.setFont(f);
        painter.setPen(colour);
        const QFontMetrics metrics(f);
        const int room = std::max(0, line.right() + 1 - x);
        painter.drawText(QRect(x, line.top(), room, line.height()), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
            metrics.elidedText(text, Qt::ElideRight, room + 1));
        x += metrics.horizontalAdvance(text) + gap;
    };
    if (fit.place && !place.isEmpty()) {
        write(bold, theme.text, place, fit.gap);
    }
    for (const bool second : { false, true }) {
        painter.setPen(linePen(second, 2));
        painter.drawLine(QPointF(x, line.center().y() + 0.5), QPointF(x + fit.sample, line.center().y() + 0.5));
        x += fit.sample + 6;
        write(bold, second ? theme.b : theme.a, second ? QStringLiteral("B") : QStringLiteral("A"), k ? 6 : fit.gap);
        if (k) {
            write(digits, theme.text, values[second ? 1 : 0], fit.gap);
        }
    }
    painter.setFont(font());
}

void ProfilePlot::paintAxis(QPainter& painter, const Scale& scale) const
{
    const auto& theme = Theme::current();
    const QRect box = plotRect();
    const int line = fontMetrics().height();
    const int most = std::clamp((scale.bottom - scale.top) / (line + 10) + 1, 2, 6);
    std::vector<double> ticks = roundNumbers(scale.low, scale.high, most);
    if (ticks.size() < 2) {
        ticks = { scale.low, scale.high };
    }
    // As many digits as tell the ticks apart.
    const double step = ticks[1] / 2 - ticks[0] / 2, largest = std::max(std::abs(ticks.front()), std::abs(ticks.back())) / 2;
    const int digits = step > 0 ? std::clamp(static_cast<int>(std::floor(std::log10(largest)) - std::floor(std::log10(step))) + 2, 3, 16) : 6;
    for (const double tick : ticks) {
        const double y = std::floor(scale.y(tick)) + 0.5;
        const QString text = number(tick, digits);
        const int wide = fontMetrics().horizontalAdvance(text);
        painter.setPen(QPen(tick == 0 ? theme.muted : theme.border, 1, tick == 0 ? Qt::SolidLine : Qt::DotLine));
        painter.drawLine(QPointF(box.left(), y), QPointF(box.right() + 1, y));
        const bool isBeside = m_left >= wide + 10;
        const double top = std::clamp(y - line / 2.0, box.top() - 2.0, box.bottom() + 3.0 - line);
        const QRectF place(isBeside ? m_left - wide - 6 : box.left() + 4, top, wide + 1, line);
        if (!isBeside) {
            painter.fillRect(place.adjusted(-3, 1, 2, -1), withAlpha(theme.panel, 215));
        }
        painter.setPen(theme.muted);
        painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, text);
    }
}

void ProfilePlot::paintGaps(QPainter& painter, const QRect& box, const std::vector<ProfileColumn>& columns, bool second) const
{
    const auto& theme = Theme::current();
    const double scale = devicePixelRatioF();
    painter.setRenderHint(QPainter::Antialiasing, false);
    const auto isGap = [](const ProfileColumn& c) { return c.nan || c.positiveInf || c.negativeInf; };
    for (std::size_t i = 0; i < columns.size();) {
        std::size_t end = i;
        while (end < columns.size() && isGap(columns[end])) {
            ++end;
        }
        if (end > i) {
            painter.fillRect(QRectF(box.left() + static_cast<double>(i) / scale, box.top(), static_cast<double>(end - i) / scale, box.height()),
                withAlpha(theme.fill(diagnose::Severity::Invalid), 120));
        }
        i = end + 1;
    }
    // A cross for NaN, an arrow to where the value went for an infinity; A's above, B's below.
    painter.setRenderHint(QPainter::Antialiasing);
    const double y = box.top() + kLane / 2.0 + (second ? kLane : 0);
    painter.setPen(QPen(second ? theme.b : theme.a, 1.6, Qt::SolidLine, Qt::RoundCap));
    double last = -1e9;
    const auto mark = [&](double x, bool isNaN, bool isPositive) {
        if (x - last < 2 * kMark + 3) {
            return;
        }
        last = x;
        if (isNaN) {
            painter.drawLine(QPointF(x - kMark, y - kMark), QPointF(x + kMark, y + kMark));
            painter.drawLine(QPointF(x - kMark, y + kMark), QPointF(x + kMark, y - kMark));
        } else {
            const double tip = isPositive ? -kMark - 0.5 : kMark + 0.5;
            painter.drawLine(QPointF(x, y - tip), QPointF(x, y + tip));
            painter.drawLine(QPointF(x, y + tip), QPointF(x - 2.5, y + tip / 4));
            painter.drawLine(QPointF(x, y + tip), QPointF(x + 2.5, y + tip / 4));
        }
    };
    if (m_profile.elementsPerValue / m_elementsPerPixel > 2) { // in the middle of its cell
        const auto& values = second ? m_profile.b : m_profile.a;
        const auto place = [&](double k) { return std::clamp((k - m_profile.firstElement) / m_profile.elementsPerValue, 0.0, static_cast<double>(values.size())); };
        const auto end = static_cast<std::size_t>(std::ceil(place(elementAt(box.right() + 1))));
        for (auto k = static_cast<std::size_t>(place(elementAt(box.left()))); k < end; ++k) {
            if (!std::isfinite(values[k])) {
                mark(positionOf(m_profile.firstElement + (static_cast<double>(k) + 0.5) * m_profile.elementsPerValue), std::isnan(values[k]), values[k] > 0);
            }
        }
        return;
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (isGap(columns[i])) {
            mark(box.left() + (static_cast<double>(i) + 0.5) / scale, columns[i].nan, columns[i].positiveInf);
        }
    }
}

void ProfilePlot::paintSide(QPainter& painter, const Scale& scale, const std::vector<ProfileColumn>& columns, bool second) const
{
    const QRect box = plotRect();
    const double pixel = 1 / devicePixelRatioF();
    const QColor colour = second ? Theme::current().b : Theme::current().a;
    painter.setRenderHint(QPainter::Antialiasing);
    // Runs of finite columns: a band from lowest to highest with lines along both; where they are one, a line.
    for (std::size_t begin = 0; begin < columns.size();) {
        if (!columns[begin].finite) {
            ++begin;
            continue;
        }
        std::size_t end = begin;
        bool isBand = false;
        while (end < columns.size() && columns[end].finite) {
            isBand = isBand || columns[end].min < columns[end].max;
            ++end;
        }
        const auto edge = [&](bool high) {
            QPolygonF points;
            for (std::size_t i = begin; i < end; ++i) {
                const double y = scale.y(high ? columns[i].max : columns[i].min), x = box.left() + static_cast<double>(i) * pixel;
                if (points.size() >= 2 && points.last().y() == y && points[points.size() - 2].y() == y) {
                    points.last().setX(x + pixel);
                } else {
                    points << QPointF(x, y) << QPointF(x + pixel, y);
                }
            }
            return points;
        };
        const QPolygonF upper = edge(true);
        painter.setBrush(Qt::NoBrush);
        if (isBand) {
            const QPolygonF lower = edge(false);
            QPolygonF band = upper;
            for (auto it = lower.rbegin(); it != lower.rend(); ++it) {
                band << *it;
            }
            painter.setPen(Qt::NoPen);
            painter.setBrush(withAlpha(colour, 60));
            painter.drawPolygon(band);
            painter.setBrush(Qt::NoBrush);
            painter.setPen(linePen(second, 1));
            painter.drawPolyline(upper);
            painter.drawPolyline(lower);
        } else {
            painter.setPen(linePen(second, 1.5));
            painter.drawPolyline(upper);
        }
        begin = end;
    }
}

void ProfilePlot::paintMarker(QPainter& painter, const Scale& scale) const
{
    const auto& theme = Theme::current();
    const QRect box = plotRect();
    painter.setRenderHint(QPainter::Antialiasing);
    const auto middle = [this](double element) { return positionOf(std::floor(element) + 0.5); };
    if (valueUnder(m_hovered)) {
        const double x = middle(m_hovered);
        painter.setPen(QPen(theme.muted, 1, Qt::DotLine));
        painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom() + 1));
    }
    if (!std::isnan(m_marker)) {
        const double x = middle(m_marker);
        if (x < box.left() || x > box.right() + 1) {
            return;
        }
        painter.setPen(QPen(theme.accent, 1.2));
        painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom() + 1));
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme.accent);
        painter.drawPolygon(QPolygonF({ { x - 4, box.top() - 0.5 }, { x + 4, box.top() - 0.5 }, { x, box.top() + 5.5 } }));
    }
    if (const auto k = valueUnder(readElement())) {
        const double x = middle(readElement());
        for (const bool second : { false, true }) {
            const double value = (second ? m_profile.b : m_profile.a)[*k];
            if (std::isfinite(value) && value >= scale.low && value <= scale.high) {
                painter.setPen(QPen(theme.panel, 4));
                painter.setBrush(theme.panel);
                painter.drawEllipse(QPointF(x, scale.y(value)), 3.5, 3.5);
                painter.setPen(QPen(second ? theme.b : theme.a, 1.7));
                painter.drawEllipse(QPointF(x, scale.y(value)), 3.5, 3.5);
            }
        }
    }
}

} // namespace forkpoint::ui
