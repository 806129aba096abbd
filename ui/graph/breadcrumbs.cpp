// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/breadcrumbs.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace forkpoint::ui {

namespace {

const QString kBetween = QStringLiteral(" / ");
const QString kLeftOut = QStringLiteral("… / ");

} // namespace

Breadcrumbs::Breadcrumbs(QWidget* parent)
    : QWidget(parent)
{
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
}

void Breadcrumbs::setPath(const QStringList& names, const std::vector<graph::NodeId>& nodes)
{
    m_names = names;
    m_nodes = nodes;
    m_hover = -1;
    setAccessibleName(names.join(kBetween));
    setToolTip(names.isEmpty() ? QString() : tip(names.join(kBetween)));
    update();
}

std::vector<Breadcrumbs::Part> Breadcrumbs::parts() const
{
    std::vector<Part> out;
    if (m_names.isEmpty()) {
        return out;
    }
    const auto widthOf = [this](const QString& text) { return fontMetrics().horizontalAdvance(text); };
    qsizetype first = m_names.size() - 1;
    int used = widthOf(m_names.last());
    while (first > 0 && used + widthOf(m_names[first - 1] + kBetween) + (first > 1 ? widthOf(kLeftOut) : 0) <= width()) {
        used += widthOf(m_names[--first] + kBetween);
    }
    int x = 0;
    const auto add = [&](const QString& text, int index) {
        const QString shownText = fontMetrics().elidedText(text, Qt::ElideMiddle, std::max(0, width() - x));
        out.push_back({ QRect(x, 0, widthOf(shownText), height()), shownText, index });
        x += widthOf(shownText);
    };
    if (first > 0) {
        add(kLeftOut, -1);
    }
    for (auto i = first; i < m_names.size(); ++i) {
        add(m_names[i], static_cast<int>(i));
        if (i + 1 < m_names.size()) {
            add(kBetween, -1);
        }
    }
    return out;
}

int Breadcrumbs::partAt(const QPoint& position) const
{
    for (const auto& part : parts()) {
        if (part.box.contains(position)) {
            return part.index;
        }
    }
    return -1;
}

void Breadcrumbs::paintEvent(QPaintEvent*)
{
    const auto& theme = Theme::current();
    QPainter painter(this);
    const QFont plain = font();
    QFont underlined = plain;
    underlined.setUnderline(true);
    for (const auto& part : parts()) {
        const bool hovered = part.index >= 0 && part.index == m_hover;
        painter.setFont(hovered ? underlined : plain);
        painter.setPen(hovered ? theme.accent : theme.muted);
        painter.drawText(part.box.adjusted(0, 0, 2, 0), Qt::AlignVCenter | Qt::TextSingleLine, part.text);
    }
}

void Breadcrumbs::mouseMoveEvent(QMouseEvent* event)
{
    m_hover = partAt(event->pos());
    setCursor(m_hover >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    update();
}

void Breadcrumbs::mousePressEvent(QMouseEvent* event)
{
    if (const int part = partAt(event->pos()); part >= 0 && event->button() == Qt::LeftButton) {
        emit clicked(m_nodes[static_cast<std::size_t>(part)]);
    }
}

void Breadcrumbs::leaveEvent(QEvent*)
{
    m_hover = -1;
    update();
}

} // namespace forkpoint::ui
