// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/drop_overlay.h"

#include "ui/theme/theme.h"
#include "ui/window/known_runs.h"
#include "ui/window/start_screen.h"

#include <QDragEnterEvent>
#include <QPainter>

namespace forkpoint::ui {

DropOverlay::DropOverlay(QWidget* parent)
    : QWidget(parent)
{
    setAcceptDrops(true);
    hide();
}

void DropOverlay::setDropped(const QStringList& paths)
{
    m_count = static_cast<int>(paths.size());
    m_portable = m_count == 1 && looksPortable(paths[0]);
    update();
}

bool DropOverlay::isReference(const QPointF& at) const { return at.x() < width() / 2.0; }

void DropOverlay::paintEvent(QPaintEvent*)
{
    const auto& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor veil = theme.window;
    veil.setAlpha(225);
    painter.fillRect(rect(), veil);
    QFont large = font();
    large.setBold(true);
    large.setPointSizeF(font().pointSizeF() * 1.5);
    painter.setFont(large);
    const auto zone = [&](const QRect& box, const QColor& colour, bool active, const QString& text) {
        painter.setPen(QPen(active ? colour : theme.border, active ? 3 : 2, Qt::DashLine));
        painter.setBrush(active ? theme.selection : theme.panel);
        painter.drawRoundedRect(QRectF(box).adjusted(16, 16, -16, -16), 10, 10);
        painter.setPen(active ? colour : theme.muted);
        painter.drawText(box.adjusted(24, 24, -24, -24), Qt::AlignCenter | Qt::TextWordWrap, text);
    };
    if (m_portable) {
        zone(rect(), theme.accent, true, tr("A portable comparison"));
        return;
    }
    if (m_count > 1) {
        zone(rect(), theme.accent, true, tr("Two runs: which is which is asked next"));
        return;
    }
    zone(QRect(0, 0, width() / 2, height()), theme.a, m_reference, tr("A, the reference"));
    zone(QRect(width() / 2, 0, width() - width() / 2, height()), theme.b, !m_reference, tr("B, the candidate"));
}

void DropOverlay::dragEnterEvent(QDragEnterEvent* event)
{
    m_reference = isReference(event->position());
    event->acceptProposedAction();
    update();
}

void DropOverlay::dragMoveEvent(QDragMoveEvent* event)
{
    m_reference = isReference(event->position());
    event->acceptProposedAction();
    update();
}

void DropOverlay::dragLeaveEvent(QDragLeaveEvent*) { hide(); }

void DropOverlay::dropEvent(QDropEvent* event)
{
    hide();
    const auto paths = droppedPaths(event->mimeData());
    event->acceptProposedAction();
    if (paths.size() == 2) {
        emit bothDropped(paths[0], paths[1]);
    } else if (paths.size() == 1) {
        emit dropped(isReference(event->position()), paths[0]);
    }
}

} // namespace forkpoint::ui
