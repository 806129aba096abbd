// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/curves/curve_legend.h"

#include "ui/theme/theme.h"

#include <QLocale>
#include <QPainter>

#include <algorithm>
#include <array>

namespace forkpoint::ui {

namespace {

constexpr int kSample = 22; ///< length of a line sample
constexpr int kGap = 6;
constexpr int kBetween = 18; ///< entries

struct Entry {
    QColor colour;
    Qt::PenStyle style;
    QString word, name, value;
    int fixed = 0; ///< width of all but the name
    int nameWidth = 0; ///< gap included
};

} // namespace

CurveLegend::CurveLegend(QWidget* parent)
    : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void CurveLegend::setRuns(const QString& a, const QString& b)
{
    m_a = a;
    m_b = b;
    setToolTip(QStringLiteral("<p>A: %1</p><p>B: %2</p>").arg(a.toHtmlEscaped(), b.toHtmlEscaped()));
    update();
}

void CurveLegend::setReadout(std::optional<CurveReadout> readout)
{
    m_readout = std::move(readout);
    setAccessibleName(m_readout ? m_readout->text() : tr("Legend: A %1, B %2, B - A").arg(m_a, m_b));
    update();
}

void CurveLegend::setDifferenceColour(const QColor& colour)
{
    m_differenceColour = colour;
    update();
}

QSize CurveLegend::sizeHint() const
{
    return { 420, fontMetrics().height() + 6 };
}
QSize CurveLegend::minimumSizeHint() const
{
    return { 120, fontMetrics().height() + 6 };
}

void CurveLegend::paintEvent(QPaintEvent*)
{
    const auto& theme = Theme::current();
    QPainter painter(this);
    const QFont plain = font(), digits = monospace(font());
    QFont bold = font();
    bold.setBold(true);
    const QFontMetrics text(plain), mono(digits), strong(bold);
    const auto value = [](const QString& v) { return v.isEmpty() ? QStringLiteral("-") : v; };

    std::array<Entry, 3> entries { { { theme.a, Qt::SolidLine, QStringLiteral("A"), m_a, {} },
        { theme.b, Qt::DashLine, QStringLiteral("B"), m_b, {} }, { m_differenceColour, Qt::SolidLine, tr("B - A"), {}, {} } } };
    QString step;
    if (m_readout) {
        step = tr("step %1").arg(QLocale().toString(m_readout->step));
        entries[0].value = value(m_readout->a);
        entries[1].value = value(m_readout->b);
        entries[2].value = value(m_readout->difference);
    }
    int needed = step.isEmpty() ? 0 : strong.horizontalAdvance(step) + kBetween;
    for (auto& e : entries) {
        e.fixed = kSample + kGap + strong.horizontalAdvance(e.word) + (e.value.isEmpty() ? 0 : kGap + 2 + mono.horizontalAdvance(e.value));
        needed += e.fixed + kBetween;
    }
    const QString relative = m_readout && !m_readout->relative.isEmpty() ? tr(" (relative %1)").arg(m_readout->relative) : QString();
    if (const int more = mono.horizontalAdvance(relative); needed + more - kBetween <= width()) { // whole or not at all
        entries[2].value += relative;
        entries[2].fixed += more;
        needed += more;
    }
    for (auto& e : entries) {
        e.nameWidth = e.name.isEmpty() ? 0 : std::min(text.horizontalAdvance(e.name) + 2, 220) + kGap;
        needed += e.nameWidth;
    }
    // Names give way first; the step word last.
    const int room = width();
    const int excess = needed - kBetween - room;
    if (excess > 0) {
        const int names = entries[0].nameWidth + entries[1].nameWidth;
        for (auto& e : entries) {
            if (e.nameWidth > 0) {
                e.nameWidth = std::max(0, e.nameWidth - (excess * e.nameWidth + names - 1) / names);
                e.nameWidth = e.nameWidth < 30 ? 0 : e.nameWidth; // an ellipsis alone says nothing
            }
        }
    }
    const int middle = height() / 2;
    const auto write = [&](int x, const QFont& f, const QColor& colour, const QString& s) {
        painter.setFont(f);
        painter.setPen(colour);
        painter.drawText(QRect(x, 0, std::max(room - x, 0), height()), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, s);
    };
    int x = 0;
    if (!step.isEmpty()) {
        write(x, bold, theme.text, step);
        x += strong.horizontalAdvance(step) + kBetween;
    }
    for (const auto& e : entries) {
        painter.setRenderHint(QPainter::Antialiasing);
        QPen pen(e.colour, 2, e.style, Qt::FlatCap);
        if (e.style == Qt::DashLine) {
            pen.setDashPattern({ 3, 2 });
        }
        painter.setPen(pen);
        painter.drawLine(QPointF(x, middle), QPointF(x + kSample, middle));
        int at = x + kSample + kGap;
        write(at, bold, e.colour, e.word);
        at += strong.horizontalAdvance(e.word);
        if (e.nameWidth > 0) {
            write(at + kGap, plain, theme.muted, text.elidedText(e.name, Qt::ElideMiddle, e.nameWidth - kGap));
            at += e.nameWidth;
        }
        if (!e.value.isEmpty()) {
            write(at + kGap + (e.nameWidth > 0 ? 2 : 0), digits, theme.text, e.value);
        }
        x += e.fixed + e.nameWidth + kBetween;
    }
}

} // namespace forkpoint::ui
