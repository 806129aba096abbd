// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_legend.h"

#include "ui/theme/theme.h"

#include <QPainter>

#include <algorithm>
#include <array>

namespace forkpoint::ui {

using diagnose::Severity;

namespace {

constexpr int kMargin = 10, kSwatch = 15, kGap = 5, kBetween = 14;
constexpr std::array kShown { Severity::Identical, Severity::Noise, Severity::Drift, Severity::Divergent, Severity::Invalid, Severity::Unmatched };

} // namespace

GraphLegend::GraphLegend(QWidget* parent)
    : QWidget(parent)
{
    QSizePolicy policy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    setAccessibleName(tr("Legend of the graph"));
    QStringList words;
    for (const auto severity : kShown) {
        words += severityWord(severity);
    }
    setAccessibleDescription(words.join(QStringLiteral(", ")));
}

void GraphLegend::setMeaning(const QString& meaning)
{
    m_meaning = meaning;
    updateGeometry();
    update();
}

int GraphLegend::flow(int width, QPainter* painter) const
{
    const auto& theme = Theme::current();
    const int line = fontMetrics().height() + 6;
    int x = kMargin, y = 3;
    const auto advance = [&](int needed) {
        if (x > kMargin && x + needed > width - kMargin) {
            x = kMargin;
            y += line;
        }
    };
    const auto text = [&](const QString& words, const QColor& colour) {
        const int wide = fontMetrics().horizontalAdvance(words);
        if (painter) {
            painter->setPen(colour);
            painter->drawText(QRect(x, y, std::min(wide + 1, width - kMargin - x), line), Qt::AlignVCenter,
                              fontMetrics().elidedText(words, Qt::ElideRight, std::max(0, width - kMargin - x) + 1));
        }
        x += wide + kBetween;
    };
    if (!m_meaning.isEmpty()) {
        text(m_meaning, theme.muted);
    }
    for (const auto severity : kShown) {
        const QString word = severityWord(severity);
        advance(kSwatch + kGap + fontMetrics().horizontalAdvance(word));
        if (painter) {
            const QRectF box(x, y + (line - kSwatch) / 2.0, kSwatch, kSwatch);
            painter->setPen(Qt::NoPen);
            painter->setBrush(theme.fill(severity));
            painter->drawRoundedRect(box, 3, 3);
            paintSeverity(*painter, box.adjusted(3, 3, -3, -3), severity, theme.strong(severity));
        }
        x += kSwatch + kGap;
        text(word, theme.text);
    }
    const QString oneSided = tr("only A or B");
    advance(2 * kSwatch + kGap + fontMetrics().horizontalAdvance(oneSided));
    if (painter) {
        for (const bool second : { false, true }) {
            painter->setBrush(Qt::NoBrush);
            painter->setPen(QPen(second ? theme.b : theme.a, 1.3, Qt::DashLine));
            painter->drawRoundedRect(QRectF(x + second * (kSwatch + 3), y + (line - kSwatch) / 2.0 + 1, kSwatch, kSwatch - 2), 3, 3);
        }
    }
    x += 2 * kSwatch + 3 + kGap;
    text(oneSided, theme.text);
    return y + line + 3;
}

void GraphLegend::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(rect(), Theme::current().panel);
    painter.fillRect(QRect(0, 0, width(), 1), Theme::current().border);
    flow(width(), &painter);
}

} // namespace forkpoint::ui
