// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/graph/graph_painter.h"

#include <QImage>
#include <QWidget>

#include <functional>

namespace forkpoint::ui {

/// The painted graph: view, pointer and keyboard. Knows nothing of the session; says what the user asks for.
class GraphCanvas : public QWidget {
    Q_OBJECT
public:
    explicit GraphCanvas(QWidget* parent = nullptr);

    /// Another layout. The view stays as it is, but for `anchor`, whose upper left corner stays where it was, if both layouts have it.
    void setScene(std::shared_ptr<const GraphScene> scene, const std::optional<NodeName>& anchor = {});
    void setMarks(GraphMarks marks);             ///< repaints, moves nothing
    void setMessage(const QString& message);     ///< shown where there is no scene
    void setSelected(std::optional<graph::NodeId> node);
    void setFocusNode(std::optional<graph::NodeId> node);
    void setMatches(std::vector<std::uint8_t> matches); ///< per node: found by the search; empty: none
    void setTipOf(std::function<QString(graph::NodeId)> node, std::function<QString(const std::vector<graph::EdgeId>&)> edge);
    void setRightMargin(double pixels) { m_rightMargin = pixels; } ///< what lies over the canvas there; fit keeps out of it

    const std::shared_ptr<const GraphScene>& scene() const { return m_scene; }
    const GraphMarks& marks() const { return m_marks; }
    const GraphCamera& camera() const { return m_camera; }
    std::optional<graph::NodeId> focusNode() const { return m_focus; }
    std::optional<graph::NodeId> selected() const { return m_selected; }
    QRectF viewRect(graph::ItemId item) const { return m_camera.toView(m_scene->rect(item)); } ///< on the canvas
    graph::ItemId itemAt(const QPointF& position) const; ///< kNoItem: none; a frame only at its title
    std::vector<std::uint32_t> edgesAt(const QPointF& position) const; ///< visible edges; empty: none
    QRectF visibleScene() const { return m_camera.toScene(QRectF(rect())); }

    void fit();                                  ///< all of it
    void showStart();                            ///< fit if that can be read, else the upper end at a zoom that can
    void zoom(double factor, const QPointF& around);
    void centreOn(const QPointF& scenePoint);
    void reveal(graph::NodeId node);             ///< moves only if it is not on screen, and no further than needed
    void focusOn(graph::NodeId node);            ///< to the middle, at a zoom that can be read

signals:
    void nodeClicked(graph::NodeId node);
    void nodeReached(graph::NodeId node);        ///< by keyboard
    void toggleRequested(graph::NodeId node);
    void menuRequested(graph::NodeId node, const QPoint& globalPosition);
    void viewChanged();

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void setCamera(GraphCamera camera);
    void spoil() { m_image = {}; update(); } ///< the static layer is out of date
    void hover(const QPointF& position);
    void moveFocus(int key);
    std::optional<graph::ItemId> neighbour(graph::ItemId item, bool producers) const;
    std::optional<graph::ItemId> sibling(graph::ItemId item, bool right) const;
    void paintOverlay(QPainter& painter) const;
    void highlightEdges(QPainter& painter, std::span<const std::uint32_t> edges, double width) const;

    std::shared_ptr<const GraphScene> m_scene;
    GraphMarks m_marks;
    QString m_message;
    GraphCamera m_camera;
    QImage m_image; ///< everything but the overlay; null: to be painted
    std::optional<graph::NodeId> m_selected, m_focus;
    std::vector<std::uint8_t> m_matches;
    graph::ItemId m_hoverItem = graph::kNoItem;
    std::vector<std::uint32_t> m_hoverEdges;
    std::function<QString(graph::NodeId)> m_nodeTip;
    std::function<QString(const std::vector<graph::EdgeId>&)> m_edgeTip;
    double m_rightMargin = 0;
    bool m_startPending = false; ///< showStart() waits for a size
    std::optional<QPointF> m_press; ///< where a button went down
    GraphCamera m_pressCamera;
    bool m_dragging = false;
};

} // namespace forkpoint::ui
