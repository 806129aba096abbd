// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/range_handle.h"

#include "ui/theme/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <cmath>

namespace forkpoint::ui {

RangeHandle::RangeHandle(bool high, QWidget* parent)
    : QWidget(parent)
    , m_high(high)
{
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::SizeHorCursor);
    setObjectName(high ? QStringLiteral("highHandle") : QStringLiteral("lowHandle"));
}

void RangeHandle::place(double x, const QRect& rows)
{
    m_x = x;
    const int line = static_cast<int>(std::floor(x));
    setGeometry(line - (m_high ? kInwards : kOutwards), rows.top(), kOutwards + kInwards + 1, rows.height());
    update();
}

void RangeHandle::paintEvent(QPaintEvent*)
{
    const auto& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double x = m_x - this->x();
    const bool lit = isHeld() || underMouse() || hasFocus();
    const QColor colour = lit ? theme.accent : theme.text;
    painter.setPen(QPen(theme.panel, 3.5)); // so that it is seen on bars of its own lightness
    painter.drawLine(QPointF(x, 0), QPointF(x, height()));
    painter.setPen(QPen(colour, 1.6));
    painter.drawLine(QPointF(x, 0), QPointF(x, height()));
    constexpr double kWide = 9, kHigh = 16;
    const QRectF grip(m_high ? x : x - kWide, 0, kWide, kHigh);
    painter.setPen(QPen(theme.panel, 1));
    painter.setBrush(colour);
    painter.drawRoundedRect(grip, 2.5, 2.5);
    painter.setPen(QPen(theme.panel, 1));
    for (const double dx : { -1.5, 1.5 }) {
        painter.drawLine(QPointF(grip.center().x() + dx, 5), QPointF(grip.center().x() + dx, kHigh - 5));
    }
    if (hasFocus()) {
        painter.setPen(QPen(theme.accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(grip.adjusted(-1.5, 0.5, 1.5, 2).intersected(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5)), 3.5, 3.5);
    }
}

void RangeHandle::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton) {
        return;
    }
    m_grab = mapToParent(event->position()).x() - m_x;
    m_moved = false;
    update();
    emit taken();
}

void RangeHandle::mouseMoveEvent(QMouseEvent* event)
{
    if (m_grab) {
        m_moved = true;
        emit draggedTo(mapToParent(event->position()).x() - *m_grab);
    }
}

void RangeHandle::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || !m_grab) {
        return;
    }
    m_grab.reset();
    update();
    if (m_moved) {
        emit dropped();
    }
}

void RangeHandle::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton) {
        emit numberWanted();
    }
}

void RangeHandle::keyPressEvent(QKeyEvent* event)
{
    const double pixels = event->modifiers() & Qt::ShiftModifier ? 10 : 1;
    switch (event->key()) {
    case Qt::Key_Left:
        emit steps(-pixels);
        return;
    case Qt::Key_Right:
        emit steps(pixels);
        return;
    case Qt::Key_Home:
        emit fitWanted();
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_F2:
        emit numberWanted();
        return;
    case Qt::Key_Escape:
        if (m_grab) {
            m_grab.reset();
            update();
            emit dragCancelled();
            return;
        }
        break;
    default:
        break;
    }
    QWidget::keyPressEvent(event);
}

void RangeHandle::enterEvent(QEnterEvent* event)
{
    QWidget::enterEvent(event);
    update();
}
void RangeHandle::leaveEvent(QEvent* event)
{
    QWidget::leaveEvent(event);
    update();
}
void RangeHandle::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    update();
}
void RangeHandle::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    update();
}

} // namespace forkpoint::ui
