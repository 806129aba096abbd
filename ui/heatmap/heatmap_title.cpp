// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/heatmap_title.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QPainter>

#include <algorithm>

namespace forkpoint::ui {

HeatmapTitle::HeatmapTitle(QWidget* parent)
    : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
}

void HeatmapTitle::setTexts(const QString& name, const QString& details, const QString& definition)
{
    m_name = name;
    m_details = details;
    setToolTip(tip(name, definition.isEmpty() ? details : details + QLatin1Char('\n') + definition));
    setAccessibleName(text());
    update();
}

void HeatmapTitle::setSide(Side side, const QString& text)
{
    m_side = side;
    m_sideText = text;
    setAccessibleName(this->text());
    update();
}

void HeatmapTitle::setCompact(bool compact)
{
    if (compact != m_compact) {
        m_compact = compact;
        updateGeometry();
        update();
    }
}

QString HeatmapTitle::text() const { return QStringList { m_name, m_details, m_sideText }.join(QStringLiteral(" | ")); }

QSize HeatmapTitle::sizeHint() const { return { 320, (fontMetrics().height() + 2) * (m_compact ? 1 : 2) + 2 }; }

QSize HeatmapTitle::minimumSizeHint() const { return { 80, sizeHint().height() }; }

void HeatmapTitle::paintEvent(QPaintEvent*)
{
    const auto& theme = Theme::current();
    QPainter painter(this);
    QFont bold = font();
    bold.setBold(true);
    const QFontMetrics boldMetrics(bold), metrics(font());
    const int line = metrics.height() + 2;
    // What is seen, at the right: it changes while Space is held, so it has a fixed place.
    const int swatch = m_side == Side::Both || m_sideText.isEmpty() ? 0 : 14;
    const int most = width() * 2 / 5;
    const QString side = boldMetrics.elidedText(m_sideText, Qt::ElideMiddle, most);
    const int sideWidth = boldMetrics.horizontalAdvance(side);
    const QColor colour = m_side == Side::A ? theme.a : m_side == Side::B ? theme.b : theme.text;
    if (swatch > 0) {
        painter.fillRect(QRect(width() - sideWidth - swatch, (line - 9) / 2 + 1, 9, 9), colour);
    }
    painter.setFont(bold);
    painter.setPen(colour);
    painter.drawText(QRect(0, 0, width(), line), Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine, side);
    painter.setPen(theme.text);
    const int room = std::max(0, width() - sideWidth - swatch - 12);
    const QString name = boldMetrics.elidedText(m_name, Qt::ElideMiddle, m_compact ? std::max(room / 2, room - metrics.horizontalAdvance(m_details) - 10) : room);
    painter.drawText(QRect(0, 0, room, line), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, name);
    painter.setFont(font());
    painter.setPen(theme.muted);
    QRect details(0, line, width(), line);
    if (m_compact) {
        const int left = boldMetrics.horizontalAdvance(name) + 10;
        details = QRect(left, 0, std::max(0, room - left), line);
    }
    painter.drawText(details, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, metrics.elidedText(m_details, Qt::ElideRight, details.width()));
}

} // namespace forkpoint::ui
