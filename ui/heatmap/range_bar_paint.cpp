// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/range_bar.h"
#include "ui/heatmap/range_handle.h"
#include "ui/theme/theme.h"

#include <QLocale>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

// How the range bar looks.
namespace forkpoint::ui {

namespace {

constexpr int kSwatch = 11, kSwatchGap = 5, kBetween = 14;
constexpr int kTickGap = 14;

QColor colourOf(heatmap::Rgba c)
{
    return QColor(static_cast<int>(heatmap::redOf(c)), static_cast<int>(heatmap::greenOf(c)), static_cast<int>(heatmap::blueOf(c)));
}

QColor mixed(const QColor& x, const QColor& y, double share)
{
    const auto part = [share](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * share)); };
    return QColor(part(x.red(), y.red()), part(x.green(), y.green()), part(x.blue(), y.blue()));
}

void paintSwatch(QPainter& painter, const QRectF& box, const QColor& colour)
{
    painter.setPen(QPen(Theme::current().muted, 1));
    painter.setBrush(colour);
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
}

QString percent(std::int64_t part, std::int64_t whole)
{
    return RangeBar::tr("%1 %").arg(number(100 * static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1)), 3));
}

/// NaN and infinities with their counts: name, colour, count.
struct SpecialEntry {
    QString name;
    heatmap::Rgba colour;
    std::int64_t count;
};
std::array<SpecialEntry, 3> specialEntries(const heatmap::Histogram* histogram, const heatmap::SpecialColours& colours)
{
    const heatmap::Histogram none;
    const auto& h = histogram ? *histogram : none;
    return { { { QStringLiteral("NaN"), colours.nan, h.nan },
        { QStringLiteral("+Inf"), colours.positiveInf, h.positiveInf },
        { QStringLiteral("-Inf"), colours.negativeInf, h.negativeInf } } };
}

} // namespace

int RangeBar::specialWidth() const
{
    const auto entries = specialEntries(m_histogram.get(), m_special);
    int names = 0, counts = 0;
    for (const auto& e : entries) {
        names = std::max(names, fontMetrics().horizontalAdvance(e.name));
        counts = std::max(counts, fontMetrics().horizontalAdvance(QLocale().toString(e.count)));
    }
    return kSwatch + kSwatchGap + names + 10 + counts;
}

void RangeBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), Theme::current().panel);
    const Parts p = parts();
    if (hasClasses()) {
        paintClasses(painter, p);
        return;
    }
    paintTop(painter, p.top);
    paintBars(painter, p.bars);
    paintStrip(painter, p.strip);
    paintNumbers(painter, p.ticks);
    paintSpecial(painter, p.special);
}

void RangeBar::paintTop(QPainter& painter, const QRect& box) const
{
    const auto& theme = Theme::current();
    const QLocale locale;
    QString left, right;
    bool isBelow = false, isAbove = false;
    if (m_histogram) {
        const auto outside = heatmap::outside(*m_histogram, m_range.range);
        isBelow = outside.below > 0;
        isAbove = outside.above > 0;
        const auto count = [&](std::int64_t n, bool exact) { return (exact ? QString() : QStringLiteral("≈")) + locale.toString(n); };
        left = tr("%1 below").arg(count(outside.below, outside.belowExact));
        right = tr("%1 above").arg(count(outside.above, outside.aboveExact));
        if (isBelow) {
            left.prepend(QStringLiteral("\u25C2 "));
        }
        if (isAbove) {
            right.append(QStringLiteral(" \u25B8"));
        }
    }
    painter.setPen(isBelow ? theme.text : theme.muted);
    painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, left);
    painter.setPen(isAbove ? theme.text : theme.muted);
    painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter, right);

    // In the middle what the axis is; more of it where there is room.
    const int room = box.width() - fontMetrics().horizontalAdvance(left) - fontMetrics().horizontalAdvance(right) - 24;
    QStringList words { tr("log") };
    if (!m_histogram) {
        words = { tr("counting the values") };
    } else if (m_histogram->finite() == 0) {
        words = { tr("no finite value") };
    } else if (fontMetrics().horizontalAdvance(tr("log axes")) <= room) {
        words = { tr("log axes") };
    }
    if (m_partial) {
        words += tr("not fitted");
    }
    QString text = words.join(QStringLiteral(" \u00B7 "));
    if (fontMetrics().horizontalAdvance(text) > room) {
        text = words.front();
    }
    const int wide = fontMetrics().horizontalAdvance(text);
    const int from = box.left() + fontMetrics().horizontalAdvance(left) + 12 + (room - wide) / 2;
    painter.setPen(theme.muted);
    painter.drawText(QRect(from, box.top(), wide + 1, box.height()), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, text);
    if (m_partial) { // also where the words have no room
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme.accent);
        painter.drawEllipse(QPointF(from - 8, box.center().y() + 1), 3, 3);
        painter.setRenderHint(QPainter::Antialiasing, false);
    }
}

void RangeBar::paintBars(QPainter& painter, const QRect& box) const
{
    const auto& theme = Theme::current();
    painter.fillRect(box, theme.raised);
    if (!m_histogram) {
        return;
    }
    const double scale = devicePixelRatioF();
    const int columns = static_cast<int>(std::lround(box.width() * scale));
    const auto counts = barCounts(*m_histogram, m_axis, columns);
    const std::int64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
    if (most == 0) {
        return;
    }
    const double low = m_axis.positionOf(m_range.range.low), high = m_axis.positionOf(m_range.range.high);
    const double bandFrom = m_axis.positionOf(-m_axis.bandEdge()), bandTo = m_axis.positionOf(m_axis.bandEdge());
    const QColor inside = mixed(theme.panel, theme.text, theme.dark ? 0.6 : 0.55), outside = mixed(theme.panel, theme.text, theme.dark ? 0.32 : 0.28);
    const double whole = std::log1p(static_cast<double>(most)), least = 2;
    painter.setPen(Qt::NoPen);
    for (int i = 0; i < columns;) {
        int end = i + 1;
        const auto count = counts[static_cast<std::size_t>(i)];
        const double from = box.left() + i / scale;
        const auto isInside = [&](int column) {
            const double x = box.left() + (column + 0.5) / scale;
            return x >= low && x <= high;
        };
        while (end < columns && counts[static_cast<std::size_t>(end)] == count && isInside(end) == isInside(i)) {
            ++end;
        }
        if (count > 0) {
            const double tall = std::max(least, std::log1p(static_cast<double>(count)) / whole * (box.height() - 1));
            painter.fillRect(QRectF(from, box.bottom() + 1 - tall, (end - i) / scale, tall), isInside(i) ? inside : outside);
        }
        i = end;
    }
    // The piece about zero is another kind of bar: it is set apart.
    painter.setPen(QPen(theme.border, 1, Qt::DotLine));
    for (const double x : { bandFrom, bandTo }) {
        if (x > box.left() && x < box.right()) {
            painter.drawLine(QPointF(std::floor(x) + 0.5, box.top()), QPointF(std::floor(x) + 0.5, box.bottom() + 1));
        }
    }
}

void RangeBar::paintStrip(QPainter& painter, const QRect& box) const
{
    const double scale = devicePixelRatioF();
    const int columns = std::max(1, static_cast<int>(std::lround(box.width() * scale)));
    const auto table = heatmap::colours(m_map);
    QImage row(columns, 1, QImage::Format_RGB32);
    auto* pixels = reinterpret_cast<QRgb*>(row.scanLine(0));
    for (int i = 0; i < columns; ++i) {
        const double value = m_axis.valueAt(box.left() + (i + 0.5) / scale);
        pixels[i] = colourOf(table[heatmap::colourIndex(m_range, value)]).rgb();
    }
    // The map between the handles; thin beyond them, where everything has the colour of the end.
    const double low = m_axis.positionOf(m_range.range.low), high = m_axis.positionOf(m_range.range.high);
    const int thin = box.height() / 3;
    const auto part = [&](double from, double to, const QRect& rows) {
        if (to > from) {
            const double x = (from - box.left()) * scale, wide = (to - from) * scale;
            painter.drawImage(QRectF(from, rows.top(), to - from, rows.height()), row, QRectF(x, 0, wide, 1));
        }
    };
    const QRect beyond(box.left(), box.center().y() - thin / 2, box.width(), thin);
    part(box.left(), low, beyond);
    part(high, box.right() + 1, beyond);
    part(low, high, box);
    painter.setPen(QPen(Theme::current().border, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(std::floor(low) + 0.5, box.top() + 0.5, std::max(0.0, std::floor(high) - std::floor(low)), box.height() - 1));
}

void RangeBar::paintNumbers(QPainter& painter, const QRect& box) const
{
    const auto& theme = Theme::current();
    QFont bold = font();
    bold.setBold(true);
    const QFontMetricsF strong(bold), plain(font());
    // The two ends first: pushed apart where they would touch, within the widget.
    const QString texts[] { number(m_range.range.low), number(m_range.range.high) };
    const double wide[] { strong.horizontalAdvance(texts[0]), strong.horizontalAdvance(texts[1]) };
    double middle[] { m_axis.positionOf(m_range.range.low), m_axis.positionOf(m_range.range.high) };
    constexpr double kEdge = 3;
    const double from = kEdge, to = box.right() + 1 + RangeHandle::kOutwards;
    const auto within = [&](double x, double w) { return std::clamp(x, from + w / 2, std::max(from + w / 2, to - w / 2)); };
    middle[0] = within(middle[0], wide[0]);
    middle[1] = within(middle[1], wide[1]);
    const double needed = (wide[0] + wide[1]) / 2 + 8;
    if (middle[1] - middle[0] < needed) {
        const double centre = (middle[0] + middle[1]) / 2;
        middle[0] = within(centre - needed / 2, wide[0]);
        middle[1] = std::max(middle[0] + needed, within(centre + needed / 2, wide[1]));
        if (const double over = middle[1] + wide[1] / 2 - to; over > 0) {
            middle[0] -= over;
            middle[1] -= over;
        }
    }
    painter.setFont(bold);
    painter.setPen(theme.text);
    for (const int i : { 0, 1 }) {
        painter.drawText(QRectF(middle[i] - wide[i] / 2 - 1, box.top(), wide[i] + 2, box.height()), Qt::AlignCenter | Qt::TextSingleLine, texts[i]);
    }
    // A mark for every decade that can be told from the next; numbers where the ends leave room.
    constexpr double kMarkGap = 5;
    const auto mark = [&](double x, const QColor& colour, double length) {
        painter.setPen(QPen(colour, 1));
        painter.drawLine(QPointF(std::floor(x) + 0.5, box.top() - 1), QPointF(std::floor(x) + 0.5, box.top() - 1 + length));
    };
    for (const auto& tick : m_axis.ticks([](const QString&) { return 0.0; }, kMarkGap)) {
        mark(tick.position, theme.border, 2);
    }
    painter.setFont(font());
    for (const auto& tick : m_axis.ticks([&](const QString& text) { return plain.horizontalAdvance(text); }, kTickGap)) {
        const double w = plain.horizontalAdvance(tick.text);
        const double x = std::clamp(tick.position, box.left() + w / 2, box.right() + 1 - w / 2);
        const bool isFree = std::abs(x - middle[0]) > (w + wide[0]) / 2 + 8 && std::abs(x - middle[1]) > (w + wide[1]) / 2 + 8;
        mark(tick.position, theme.muted, isFree ? 3 : 2);
        if (isFree) {
            painter.setPen(theme.muted);
            painter.drawText(QRectF(x - w / 2 - 1, box.top(), w + 2, box.height()), Qt::AlignCenter | Qt::TextSingleLine, tick.text);
        }
    }
}

void RangeBar::paintSpecial(QPainter& painter, const QRect& box) const
{
    const auto& theme = Theme::current();
    const QLocale locale;
    const bool narrow = isNarrow(width());
    const int line = fontMetrics().height();
    const auto entries = specialEntries(m_histogram.get(), m_special);
    int x = box.left();
    const int step = narrow ? 0 : std::min(line + 8, (box.height() - line) / 2);
    int y = narrow ? box.top() : box.center().y() - line / 2 - step;
    for (const auto& e : entries) {
        const QString count = m_histogram ? locale.toString(e.count) : QStringLiteral("-");
        paintSwatch(painter, QRectF(x, y + (line - kSwatch) / 2, kSwatch, kSwatch), colourOf(e.colour));
        painter.setPen(e.count > 0 ? theme.text : theme.muted);
        const int at = x + kSwatch + kSwatchGap, nameWide = fontMetrics().horizontalAdvance(e.name), countWide = fontMetrics().horizontalAdvance(count);
        painter.drawText(QRect(at, y, nameWide + 1, line), Qt::AlignLeft | Qt::AlignVCenter, e.name);
        if (narrow) {
            painter.drawText(QRect(at + nameWide + 6, y, countWide + 1, line), Qt::AlignLeft | Qt::AlignVCenter, count);
            x = at + nameWide + 6 + countWide + kBetween;
        } else {
            painter.drawText(QRect(at, y, box.right() + 1 - at, line), Qt::AlignRight | Qt::AlignVCenter, count);
            y += step;
        }
    }
}

void RangeBar::paintClasses(QPainter& painter, const Parts& p) const
{
    const auto& theme = Theme::current();
    const QLocale locale;
    const heatmap::ClassColours colours;
    const auto& counts = m_histogram->classes;
    const std::array<QColor, 3> fills { colourOf(colours.equal), colourOf(colours.within), colourOf(colours.over) };
    const std::array<QString, 3> names { tr("equal"), tr("within the tolerance"), tr("over the tolerance") };
    const std::array<QString, 3> shortNames { tr("equal"), tr("within"), tr("over") };
    const std::int64_t all = counts[0] + counts[1] + counts[2];
    // One bar, as long as the shares; no class that occurs is too small to be seen.
    constexpr double kLeast = 3;
    std::array<double, 3> wide {};
    double spare = p.bars.width();
    for (std::size_t i = 0; i < 3 && all > 0; ++i) {
        wide[i] = counts[i] > 0 ? std::max(kLeast, p.bars.width() * static_cast<double>(counts[i]) / static_cast<double>(all)) : 0;
        spare -= wide[i];
    }
    *std::max_element(wide.begin(), wide.end()) += all > 0 ? spare : 0;
    const QRect bar(p.bars.left(), p.bars.top() + 6, p.bars.width(), p.strip.bottom() + 1 - p.bars.top() - 6 - fontMetrics().height() / 2);
    painter.fillRect(bar, theme.raised);
    double x = bar.left();
    for (std::size_t i = 0; i < 3; ++i) {
        painter.fillRect(QRectF(x, bar.top(), wide[i], bar.height()), fills[i]);
        x += wide[i];
    }
    painter.setPen(QPen(theme.border, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(bar).adjusted(-0.5, -0.5, 0.5, 0.5));
    const auto word = [&](std::size_t i, int detail) {
        const QString count = locale.toString(counts[i]);
        return detail == 0 ? QStringLiteral("%1 %2").arg(names[i], tr("%1 (%2)").arg(count, percent(counts[i], all)))
            : detail == 1  ? QStringLiteral("%1 %2").arg(names[i], count)
                           : QStringLiteral("%1 %2").arg(shortNames[i], count);
    };
    constexpr int kShortest = 2;
    int detail = 0;
    const auto needed = [&] {
        int sum = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            sum += kSwatch + kSwatchGap + fontMetrics().horizontalAdvance(word(i, detail)) + (i < 2 ? kBetween : 0);
        }
        return sum;
    };
    while (detail < kShortest && needed() > p.ticks.width()) {
        ++detail;
    }
    const bool isOneRow = needed() <= p.ticks.width(); // or the first stands above the bar
    if (isOneRow) {
        painter.setPen(theme.muted);
        painter.drawText(p.top, Qt::AlignLeft | Qt::AlignVCenter, tr("pairs of elements: %1").arg(locale.toString(all)));
    }
    int at = p.ticks.left();
    for (std::size_t i = 0; i < 3; ++i) {
        const QRect& row = isOneRow || i > 0 ? p.ticks : p.top;
        const QString text = word(i, detail);
        paintSwatch(painter, QRectF(at, row.top() + (row.height() - kSwatch) / 2, kSwatch, kSwatch), fills[i]);
        painter.setPen(counts[i] > 0 ? theme.text : theme.muted);
        const int from = at + kSwatch + kSwatchGap, textWide = fontMetrics().horizontalAdvance(text);
        painter.drawText(QRect(from, row.top(), textWide + 1, row.height()), Qt::AlignLeft | Qt::AlignVCenter, text);
        at = isOneRow || i > 0 ? from + textWide + kBetween : at;
    }
}

} // namespace forkpoint::ui
