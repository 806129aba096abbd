// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_canvas.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <limits>

namespace forkpoint::ui {

using graph::ItemId;
using graph::kNoItem;
using graph::NodeId;

namespace {

constexpr double kLargestScale = 4, kReadableScale = 0.6, kFitAtMost = 1.15;
constexpr double kMargin = 24;
constexpr double kEdgeReach = 5; ///< pixels
constexpr double kKeyZoom = 1.25;
constexpr double kKeepVisible = 48; ///< of the graph, however far it is dragged
constexpr std::size_t kHighlighted = 400; ///< edges of one node

double distanceTo(const QLineF& line, const QPointF& point)
{
    const QPointF along = line.p2() - line.p1(), to = point - line.p1();
    const double length = QPointF::dotProduct(along, along);
    const double at = length == 0 ? 0 : std::clamp(QPointF::dotProduct(to, along) / length, 0.0, 1.0);
    return QLineF(point, line.pointAt(at)).length();
}

double distanceTo(const QPainterPath& path, const QPointF& point)
{
    double least = std::numeric_limits<double>::infinity();
    for (const auto& polygon : path.toSubpathPolygons()) {
        for (qsizetype i = 1; i < polygon.size(); ++i) {
            least = std::min(least, distanceTo(QLineF(polygon[i - 1], polygon[i]), point));
        }
    }
    return least;
}

} // namespace

GraphCanvas::GraphCanvas(QWidget* parent)
    : QWidget(parent)
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setMinimumSize(160, 100);
    setAccessibleName(tr("Graph"));
}

void GraphCanvas::setScene(std::shared_ptr<const GraphScene> scene, const std::optional<NodeName>& anchor)
{
    std::optional<QPointF> before;
    if (m_scene && scene && anchor) {
        if (const auto node = findNode(*m_scene->graph, *anchor)) {
            before = viewRect(m_scene->itemOf(*node)).topLeft();
        }
    }
    const bool sameGraph = m_scene && scene && m_scene->graph == scene->graph;
    m_scene = std::move(scene);
    m_hoverItem = kNoItem;
    m_hoverEdges.clear();
    if (!sameGraph) {
        m_marks = {};
        m_matches.clear();
        m_focus.reset();
        m_selected.reset();
        if (m_scene) {
            m_marks.nodes.resize(m_scene->graph->nodes.size());
        }
    }
    if (before) {
        if (const auto node = findNode(*m_scene->graph, *anchor)) {
            auto camera = m_camera;
            camera.origin = m_scene->rect(m_scene->itemOf(*node)).topLeft() - *before / camera.scale;
            setCamera(camera);
        }
    }
    spoil();
    emit viewChanged();
}

void GraphCanvas::setMarks(GraphMarks marks)
{
    m_marks = std::move(marks);
    spoil();
    emit viewChanged();
}

void GraphCanvas::setMessage(const QString& message)
{
    m_message = message;
    update();
}

void GraphCanvas::setSelected(std::optional<NodeId> node)
{
    m_selected = node;
    update();
}

void GraphCanvas::setFocusNode(std::optional<NodeId> node)
{
    m_focus = node;
    update();
}

void GraphCanvas::setMatches(std::vector<std::uint8_t> matches)
{
    m_matches = std::move(matches);
    update();
}

void GraphCanvas::setTipOf(std::function<QString(NodeId)> node, std::function<QString(const std::vector<graph::EdgeId>&)> edge)
{
    m_nodeTip = std::move(node);
    m_edgeTip = std::move(edge);
}

ItemId GraphCanvas::itemAt(const QPointF& position) const
{
    if (!m_scene) {
        return kNoItem;
    }
    const QPointF point = m_camera.toScene(position);
    const auto found = m_scene->items.touching(QRectF(point, QSizeF(0, 0)));
    for (auto i = found.size(); i-- > 0;) { // inner ones have greater numbers
        if (!m_scene->visible.items[found[i]].frame || frameTitle(*m_scene, found[i]).contains(point)) {
            return found[i];
        }
    }
    return kNoItem;
}

std::vector<std::uint32_t> GraphCanvas::edgesAt(const QPointF& position) const
{
    if (!m_scene || detailAt(m_camera.scale) == GraphDetail::Dots) {
        return {};
    }
    const QPointF point = m_camera.toScene(position);
    const double reach = kEdgeReach / m_camera.scale;
    double least = reach;
    std::optional<std::uint32_t> nearest;
    for (const auto segment : m_scene->segments.touching(QRectF(point, QSizeF(0, 0)).adjusted(-reach, -reach, reach, reach))) {
        const double distance = m_scene->layout.segments[segment].implied ? reach : distanceTo(segmentPath(*m_scene, segment), point);
        if (distance < least) {
            least = distance;
            nearest = segment;
        }
    }
    if (!nearest) {
        return {};
    }
    const auto edges = m_scene->edgesAlong(*nearest);
    return { edges.begin(), edges.end() };
}

/// Keeps a part of the graph in sight and the zoom within reason.
void GraphCanvas::setCamera(GraphCamera camera)
{
    if (m_scene && width() > 0) {
        const auto bounds = m_scene->bounds();
        const double fitting = std::min((width() - kMargin) / std::max(1.0, bounds.width()), (height() - kMargin) / std::max(1.0, bounds.height()));
        camera.scale = std::clamp(camera.scale, std::min(0.5 * std::max(fitting, 1e-7), 0.5), kLargestScale);
        const double keep = kKeepVisible / camera.scale, wide = width() / camera.scale, high = height() / camera.scale;
        camera.origin.setX(std::clamp(camera.origin.x(), std::min(keep - wide, 0.0), std::max(bounds.right() - keep, 0.0)));
        camera.origin.setY(std::clamp(camera.origin.y(), std::min(keep - high, 0.0), std::max(bounds.bottom() - keep, 0.0)));
    }
    if (!(camera == m_camera)) {
        m_camera = camera;
        spoil();
        emit viewChanged();
    }
}

void GraphCanvas::fit()
{
    if (!m_scene) {
        return;
    }
    const auto bounds = m_scene->bounds();
    const double right = m_rightMargin * 2.5 < width() ? m_rightMargin : 0;
    const QRectF room = QRectF(rect()).adjusted(kMargin, kMargin, -kMargin - right, -kMargin);
    GraphCamera camera;
    camera.scale = std::min({ room.width() / std::max(1.0, bounds.width()), room.height() / std::max(1.0, bounds.height()), kFitAtMost });
    camera.scale = std::max(camera.scale, 1e-6);
    // In the middle of the whole canvas where the margin allows it.
    const double centre = std::min(QRectF(rect()).center().x(), room.right() - bounds.width() * camera.scale / 2);
    camera.origin = bounds.center() - QPointF(std::max(centre, room.left() + bounds.width() * camera.scale / 2), room.center().y()) / camera.scale;
    setCamera(camera);
}

void GraphCanvas::showStart()
{
    m_startPending = !m_scene || width() < 50 || !isVisible();
    if (m_startPending) {
        return;
    }
    fit();
    if (m_camera.scale < kReadableScale) {
        const auto bounds = m_scene->bounds();
        GraphCamera camera;
        camera.scale = std::clamp((width() - 2 * kMargin) / std::max(1.0, bounds.width()), kReadableScale, 1.0);
        camera.origin = QPointF(bounds.center().x() - width() / 2.0 / camera.scale, -kMargin / camera.scale);
        setCamera(camera);
    }
}

void GraphCanvas::zoom(double factor, const QPointF& around)
{
    const QPointF fixed = m_camera.toScene(around);
    auto camera = m_camera;
    camera.scale *= factor;
    if (m_scene) {
        const auto bounds = m_scene->bounds();
        const double fitting = std::min((width() - kMargin) / std::max(1.0, bounds.width()), (height() - kMargin) / std::max(1.0, bounds.height()));
        camera.scale = std::clamp(camera.scale, std::min(0.5 * std::max(fitting, 1e-7), 0.5), kLargestScale);
    }
    camera.origin = fixed - around / camera.scale;
    setCamera(camera);
}

void GraphCanvas::centreOn(const QPointF& scenePoint)
{
    auto camera = m_camera;
    camera.origin = scenePoint - QRectF(rect()).center() / camera.scale;
    setCamera(camera);
}

void GraphCanvas::reveal(NodeId node)
{
    if (!m_scene || m_startPending) {
        return;
    }
    const auto item = m_scene->itemOf(node);
    QRectF box = viewRect(item);
    if (m_scene->visible.items[item].frame) {
        box = m_camera.toView(frameTitle(*m_scene, item));
    }
    const QRectF room = QRectF(rect()).adjusted(kMargin, kMargin, -kMargin, -kMargin);
    if (QRectF(rect()).contains(box)) {
        return;
    }
    const auto shift = [](double low, double high, double from, double to) {
        return high - low > to - from ? low - from : low < from ? low - from : high > to ? high - to : 0;
    };
    auto camera = m_camera;
    camera.origin += QPointF(shift(box.left(), box.right(), room.left(), room.right()), shift(box.top(), box.bottom(), room.top(), room.bottom())) / camera.scale;
    setCamera(camera);
}

void GraphCanvas::focusOn(NodeId node)
{
    if (!m_scene) {
        return;
    }
    auto camera = m_camera;
    camera.scale = std::max(camera.scale, 1.0);
    camera.origin = m_scene->rect(m_scene->itemOf(node)).center() - QRectF(rect()).center() / camera.scale;
    setCamera(camera);
}

bool GraphCanvas::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QString text;
        if (const auto item = itemAt(help->pos()); item != kNoItem && m_nodeTip) {
            text = m_nodeTip(m_scene->visible.items[item].node);
        } else if (const auto edges = edgesAt(help->pos()); !edges.empty() && m_edgeTip) {
            std::vector<graph::EdgeId> recorded;
            for (const auto e : edges) {
                const auto ids = m_scene->visible.edgesOf(m_scene->visible.edges[e]);
                recorded.insert(recorded.end(), ids.begin(), ids.end());
            }
            text = m_edgeTip(recorded);
        }
        QToolTip::showText(help->globalPos(), text, this);
        return true;
    }
    return QWidget::event(event);
}

void GraphCanvas::highlightEdges(QPainter& painter, std::span<const std::uint32_t> edges, double width) const
{
    const auto& theme = Theme::current();
    QPen pen(theme.accent, width);
    pen.setCosmetic(true);
    painter.setBrush(Qt::NoBrush);
    for (const auto e : edges.first(std::min(edges.size(), kHighlighted))) {
        for (const auto segment : m_scene->layout.segmentsOf(e)) {
            painter.strokePath(segmentPath(*m_scene, segment), pen);
            if (m_scene->layout.segments[segment].arrives && detailAt(m_camera.scale) == GraphDetail::Full) {
                paintArrow(painter, *m_scene, segment, theme.accent);
            }
        }
    }
}

void GraphCanvas::paintOverlay(QPainter& painter) const
{
    const auto& theme = Theme::current();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.scale(m_camera.scale, m_camera.scale);
    painter.translate(-m_camera.origin);
    const auto selectedItem = m_selected ? m_scene->itemOf(*m_selected) : kNoItem;
    const auto focusItem = m_focus ? m_scene->itemOf(*m_focus) : kNoItem;
    if (m_hoverItem != kNoItem) {
        highlightEdges(painter, m_scene->edgesInto(m_hoverItem), 1.4);
        highlightEdges(painter, m_scene->edgesOutOf(m_hoverItem), 1.4);
    } else if (!m_hoverEdges.empty()) {
        highlightEdges(painter, m_hoverEdges, 2);
    }
    painter.restore();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    const auto ring = [&](ItemId item, double outset, double width, Qt::PenStyle style, const QColor& colour) {
        const QRectF box = viewRect(item).adjusted(-outset, -outset, outset, outset);
        if (box.intersects(QRectF(rect()))) {
            painter.setPen(QPen(colour, width, style));
            painter.drawRoundedRect(box, 6, 6);
        }
    };
    if (!m_matches.empty()) {
        for (const auto item : m_scene->items.touching(visibleScene())) {
            const auto& visible = m_scene->visible.items[item];
            const auto end = visible.frame ? visible.node + 1 : m_scene->graph->nodes[visible.node].end;
            if (std::find(m_matches.begin() + visible.node, m_matches.begin() + end, 1) != m_matches.begin() + end) {
                ring(item, 2, 1.6, m_matches[visible.node] ? Qt::SolidLine : Qt::DotLine, theme.b);
            }
        }
    }
    if (selectedItem != kNoItem) {
        ring(selectedItem, 3.5, 2, Qt::SolidLine, theme.accent);
    }
    if (focusItem != kNoItem && hasFocus() && focusItem != selectedItem) {
        ring(focusItem, 3.5, 1.2, Qt::DotLine, theme.accent);
    }
    painter.restore();
    if (hasFocus()) {
        painter.setPen(theme.accent);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

void GraphCanvas::paintEvent(QPaintEvent*)
{
    const auto& theme = Theme::current();
    QPainter painter(this);
    if (!m_scene) {
        painter.fillRect(rect(), theme.panel);
        painter.setPen(theme.muted);
        painter.drawText(QRectF(rect()).adjusted(kMargin, kMargin, -kMargin, -kMargin), Qt::AlignCenter | Qt::TextWordWrap, m_message);
        return;
    }
    if (m_startPending) {
        showStart();
        if (m_selected) {
            reveal(*m_selected);
        }
    }
    const double ratio = devicePixelRatioF();
    const QSize pixels(static_cast<int>(std::ceil(width() * ratio)), static_cast<int>(std::ceil(height() * ratio)));
    if (m_image.size() != pixels || m_image.devicePixelRatio() != ratio) {
        m_image = QImage(pixels, QImage::Format_RGB32);
        m_image.setDevicePixelRatio(ratio);
        paintGraph(m_image, *m_scene, m_marks, m_camera, font());
    }
    painter.drawImage(0, 0, m_image);
    paintOverlay(painter);
}

/// What was in the middle stays there.
void GraphCanvas::resizeEvent(QResizeEvent* event)
{
    if (event->oldSize().isValid() && m_scene && !m_startPending) {
        auto camera = m_camera;
        camera.origin -= QPointF(width() - event->oldSize().width(), height() - event->oldSize().height()) / 2 / camera.scale;
        setCamera(camera);
    }
    spoil();
    emit viewChanged();
}

void GraphCanvas::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) {
        spoil();
    }
    QWidget::changeEvent(event);
}

void GraphCanvas::hover(const QPointF& position)
{
    const auto item = itemAt(position);
    auto edges = item == kNoItem ? edgesAt(position) : std::vector<std::uint32_t>();
    if (item != m_hoverItem || edges != m_hoverEdges) {
        m_hoverItem = item;
        m_hoverEdges = std::move(edges);
        setCursor(item != kNoItem ? Qt::PointingHandCursor : Qt::ArrowCursor);
        update();
    }
}

void GraphCanvas::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton || event->button() == Qt::MiddleButton) {
        m_press = event->position();
        m_pressCamera = m_camera;
        m_dragging = event->button() == Qt::MiddleButton;
    }
}

void GraphCanvas::mouseMoveEvent(QMouseEvent* event)
{
    if (!m_press) {
        hover(event->position());
        return;
    }
    const QPointF moved = event->position() - *m_press;
    m_dragging = m_dragging || moved.manhattanLength() >= QApplication::startDragDistance();
    if (m_dragging) {
        setCursor(Qt::ClosedHandCursor);
        auto camera = m_pressCamera;
        camera.origin -= moved / camera.scale;
        setCamera(camera);
    }
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event)
{
    if (!m_press) {
        return;
    }
    const bool clicked = !m_dragging && event->button() == Qt::LeftButton;
    m_press.reset();
    m_dragging = false;
    setCursor(Qt::ArrowCursor);
    hover(event->position());
    if (!clicked || m_hoverItem == kNoItem) {
        return;
    }
    const auto node = m_scene->visible.items[m_hoverItem].node;
    if (m_scene->graph->isGroup(node) && signBox(*m_scene, m_hoverItem).adjusted(-4, -4, 4, 4).contains(m_camera.toScene(event->position()))) {
        emit toggleRequested(node);
    } else {
        emit nodeClicked(node);
    }
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event)
{
    const auto item = itemAt(event->position());
    if (event->button() != Qt::LeftButton || item == kNoItem) {
        return;
    }
    const auto node = m_scene->visible.items[item].node;
    if (m_scene->graph->isGroup(node)) {
        emit toggleRequested(node);
    } else {
        emit nodeClicked(node);
    }
}

void GraphCanvas::leaveEvent(QEvent*)
{
    m_hoverItem = kNoItem;
    m_hoverEdges.clear();
    update();
}

void GraphCanvas::wheelEvent(QWheelEvent* event)
{
    const double steps = event->angleDelta().y() / 120.0;
    if (m_scene && steps != 0) {
        zoom(std::pow(1.2, steps), event->position());
    }
    event->accept();
}

std::optional<ItemId> GraphCanvas::neighbour(ItemId item, bool producers) const
{
    const auto& visible = m_scene->visible;
    if (visible.items[item].frame && !producers) {
        return item + 1; // into it: what ran first
    }
    for (ItemId at = item; at != kNoItem; at = visible.items[at].parent) { // what has none itself takes its group's
        std::optional<ItemId> best;
        double bestDistance = 0;
        for (const auto e : producers ? m_scene->edgesInto(at) : m_scene->edgesOutOf(at)) {
            const auto other = producers ? visible.edges[e].from : visible.edges[e].to;
            const bool around = other <= item && item < visible.items[other].end; // the frame that it lies in
            if (around) {
                continue;
            }
            // The nearest layer first, then the straightest way; a frame only if nothing in it is connected.
            const QRectF from = m_scene->rect(item), to = m_scene->rect(other);
            const double distance = std::abs(from.center().y() - to.center().y()) + 0.2 * std::abs(from.center().x() - to.center().x())
                + (visible.items[other].frame ? 1e9 : 0);
            if (!best || distance < bestDistance) {
                best = other;
                bestDistance = distance;
            }
        }
        if (best) {
            return best;
        }
    }
    return std::nullopt;
}

std::optional<ItemId> GraphCanvas::sibling(ItemId item, bool right) const
{
    const auto& items = m_scene->visible.items;
    const QRectF from = m_scene->rect(item);
    std::optional<ItemId> best;
    double bestDistance = 0;
    const auto parent = items[item].parent;
    const ItemId end = parent == kNoItem ? static_cast<ItemId>(items.size()) : items[parent].end;
    for (ItemId other = parent == kNoItem ? 0 : parent + 1; other < end; other = items[other].end) {
        const QRectF to = m_scene->rect(other);
        const double distance = right ? to.center().x() - from.center().x() : from.center().x() - to.center().x();
        const bool sameLayer = to.top() <= from.bottom() && from.top() <= to.bottom();
        if (other != item && sameLayer && distance > 0 && (!best || distance < bestDistance)) {
            best = other;
            bestDistance = distance;
        }
    }
    return best;
}

void GraphCanvas::moveFocus(int key)
{
    if (!m_focus) {
        emit nodeReached(m_selected.value_or(m_scene->visible.items.front().node));
        return;
    }
    const auto item = m_scene->itemOf(*m_focus);
    const auto next = key == Qt::Key_Up || key == Qt::Key_Down ? neighbour(item, key == Qt::Key_Up) : sibling(item, key == Qt::Key_Right);
    if (next) {
        emit nodeReached(m_scene->visible.items[*next].node);
    }
}

void GraphCanvas::keyPressEvent(QKeyEvent* event)
{
    if (!m_scene || m_scene->visible.items.empty() || event->modifiers() & (Qt::AltModifier | Qt::MetaModifier)) {
        QWidget::keyPressEvent(event);
        return;
    }
    const QPointF middle = QRectF(rect()).center();
    switch (event->key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Left:
    case Qt::Key_Right:
        moveFocus(event->key());
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (m_focus) {
            emit toggleRequested(m_scene->visible.items[m_scene->itemOf(*m_focus)].node);
        }
        return;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        zoom(kKeyZoom, middle);
        return;
    case Qt::Key_Minus:
        zoom(1 / kKeyZoom, middle);
        return;
    case Qt::Key_0:
        fit();
        return;
    case Qt::Key_F:
        if (event->modifiers() == Qt::NoModifier) {
            if (const auto node = m_focus ? m_focus : m_selected) {
                focusOn(*node);
            }
            return;
        }
        break;
    default:
        break;
    }
    QWidget::keyPressEvent(event);
}

void GraphCanvas::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    if (!m_focus && m_selected) {
        setFocusNode(m_selected);
    }
}

void GraphCanvas::contextMenuEvent(QContextMenuEvent* event)
{
    if (!m_scene) {
        return;
    }
    const bool byKey = event->reason() == QContextMenuEvent::Keyboard;
    const auto item = byKey ? (m_focus ? m_scene->itemOf(*m_focus) : kNoItem) : itemAt(event->pos());
    if (item != kNoItem) {
        emit menuRequested(m_scene->visible.items[item].node, byKey ? mapToGlobal(viewRect(item).center().toPoint()) : event->globalPos());
    }
}

} // namespace forkpoint::ui
