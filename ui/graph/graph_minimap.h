// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/graph/graph_canvas.h"

namespace forkpoint::ui {

/// The whole graph as dots of its severities, in a corner of the canvas; the rectangle is what the canvas shows, dragging moves it. A graph
/// that is far taller than wide is drawn wider than it is, so that dots stay dots.
class GraphMinimap : public QWidget {
    Q_OBJECT
public:
    explicit GraphMinimap(GraphCanvas& canvas);

    QRectF viewport() const; ///< the rectangle

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    void place();
    void paintOverview();
    QRectF area() const; ///< of the graph within the widget
    QPointF toScene(const QPointF& position) const;

    GraphCanvas& m_canvas;
    QImage m_image;
    std::shared_ptr<const GraphScene> m_painted;
    bool m_stale = true;
    QPointF m_grip; ///< from the viewport's middle to where it was gripped
};

} // namespace forkpoint::ui
