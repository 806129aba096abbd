// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_minimap.h"

#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

using diagnose::Severity;

namespace {

constexpr int kWidth = 116, kHeight = 156, kInset = 7, kFromEdge = 10;
constexpr double kLeastWidth = 34; ///< of the graph in it

} // namespace

GraphMinimap::GraphMinimap(GraphCanvas& canvas)
    : QWidget(&canvas)
    , m_canvas(canvas)
{
    setCursor(Qt::PointingHandCursor);
    setAccessibleName(tr("Overview of the graph"));
    setToolTip(tr("The whole graph; drag to move the view."));
    canvas.installEventFilter(this);
    connect(&canvas, &GraphCanvas::viewChanged, this, [this] {
        m_stale = true;
        update();
    });
    place();
}

void GraphMinimap::place() { setGeometry(m_canvas.width() - kWidth - kFromEdge, kFromEdge, kWidth, std::min(kHeight, std::max(40, m_canvas.height() - 2 * kFromEdge))); }

bool GraphMinimap::eventFilter(QObject* object, QEvent* event)
{
    if (event->type() == QEvent::Resize) {
        place();
    }
    return QWidget::eventFilter(object, event);
}

QRectF GraphMinimap::area() const
{
    const QRectF room = QRectF(rect()).adjusted(kInset, kInset, -kInset, -kInset);
    if (!m_canvas.scene()) {
        return room;
    }
    const auto bounds = m_canvas.scene()->bounds();
    const double scale = std::min(room.width() / std::max(1.0, bounds.width()), room.height() / std::max(1.0, bounds.height()));
    const double width = std::clamp(bounds.width() * scale, std::min(kLeastWidth, room.width()), room.width());
    const double height = std::clamp(bounds.height() * scale, std::min(kLeastWidth, room.height()), room.height());
    return { room.center().x() - width / 2, room.center().y() - height / 2, width, height };
}

QPointF GraphMinimap::toScene(const QPointF& position) const
{
    const auto box = area();
    const auto bounds = m_canvas.scene()->bounds();
    return { (position.x() - box.left()) / box.width() * bounds.width(), (position.y() - box.top()) / box.height() * bounds.height() };
}

QRectF GraphMinimap::viewport() const
{
    if (!m_canvas.scene()) {
        return {};
    }
    const auto box = area();
    const auto bounds = m_canvas.scene()->bounds(), shown = m_canvas.visibleScene();
    const double x = box.width() / std::max(1.0, bounds.width()), y = box.height() / std::max(1.0, bounds.height());
    const QRectF all(box.left() + shown.left() * x, box.top() + shown.top() * y, shown.width() * x, std::max(3.0, shown.height() * y));
    return all.intersected(QRectF(rect()).adjusted(1.5, 1.5, -1.5, -1.5));
}

void GraphMinimap::paintOverview()
{
    const auto& theme = Theme::current();
    const double ratio = devicePixelRatioF();
    m_image = QImage((QSizeF(size()) * ratio).toSize(), QImage::Format_RGB32);
    m_image.setDevicePixelRatio(ratio);
    m_image.fill(theme.panel);
    const auto& scene = *m_canvas.scene();
    const auto box = area();
    const auto bounds = scene.bounds();
    const double x = box.width() / std::max(1.0, bounds.width()), y = box.height() / std::max(1.0, bounds.height());
    QPainter painter(&m_image);
    painter.setPen(Qt::NoPen);
    const auto placed = [&](graph::ItemId item) {
        const auto r = scene.rect(item);
        return QRectF(box.left() + r.left() * x, box.top() + r.top() * y, std::max(2.0, r.width() * x), std::max(1.5, r.height() * y));
    };
    for (int level = -2; level < static_cast<int>(kMarkLevels); ++level) { // frames, unmarked, then the worse the later
        for (graph::ItemId i = 0; i < scene.visible.items.size(); ++i) {
            const auto& item = scene.visible.items[i];
            const auto& mark = m_canvas.marks().nodes[item.node];
            const int own = item.frame ? -2 : mark.severity ? static_cast<int>(*mark.severity) : -1;
            if (own != level) {
                continue;
            }
            if (item.frame) {
                painter.fillRect(placed(i), theme.dark ? QColor(255, 255, 255, 10) : QColor(0, 0, 0, 9));
                continue;
            }
            QColor colour = theme.border;
            if (mark.severity) {
                colour = theme.strong(*mark.severity);
                colour.setAlphaF(*mark.severity >= Severity::Drift ? 0.95f : 0.5f);
            }
            painter.fillRect(placed(i), colour);
        }
    }
}

void GraphMinimap::paintEvent(QPaintEvent*)
{
    if (!m_canvas.scene()) {
        return;
    }
    const auto& theme = Theme::current();
    if (m_stale || m_painted != m_canvas.scene() || m_image.devicePixelRatio() != devicePixelRatioF() || m_image.deviceIndependentSize() != QSizeF(size())) {
        paintOverview();
        m_painted = m_canvas.scene();
        m_stale = false;
    }
    QPainter painter(this);
    painter.drawImage(0, 0, m_image);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor tint = theme.accent;
    tint.setAlphaF(0.13f);
    painter.setBrush(tint);
    painter.setPen(QPen(theme.accent, 1.2));
    painter.drawRoundedRect(viewport(), 2, 2);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.border, 1));
    painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
}

void GraphMinimap::mousePressEvent(QMouseEvent* event)
{
    if (!m_canvas.scene()) {
        return;
    }
    const auto shown = viewport();
    m_grip = shown.contains(event->position()) ? event->position() - shown.center() : QPointF();
    if (m_grip.isNull()) {
        m_canvas.centreOn(toScene(event->position()));
    }
}

void GraphMinimap::mouseMoveEvent(QMouseEvent* event)
{
    if (m_canvas.scene() && event->buttons()) {
        m_canvas.centreOn(toScene(event->position() - m_grip));
    }
}

void GraphMinimap::wheelEvent(QWheelEvent* event)
{
    m_canvas.zoom(std::pow(1.2, event->angleDelta().y() / 120.0), QRectF(m_canvas.rect()).center());
    event->accept();
}

void GraphMinimap::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) {
        m_stale = true;
    }
    QWidget::changeEvent(event);
}

} // namespace forkpoint::ui
