// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/graph/graph_marks.h"
#include "ui/graph/graph_scene.h"
#include "ui/theme/theme.h"

#include <QImage>

class QPainter;
class QPainterPath;

// Draws a graph scene; no state of its own. Scene coordinates are those of the layout.
namespace forkpoint::ui {

/// Where the scene is on the canvas: device-independent pixel = (scene - origin) * scale.
struct GraphCamera {
    double scale = 1;
    QPointF origin;

    QPointF toView(const QPointF& scene) const { return (scene - origin) * scale; }
    QPointF toScene(const QPointF& view) const { return view / scale + origin; }
    QRectF toView(const QRectF& scene) const { return { toView(scene.topLeft()), scene.size() * scale }; }
    QRectF toScene(const QRectF& view) const { return { toScene(view.topLeft()), view.size() / scale }; }
    bool operator==(const GraphCamera&) const = default;
};

/// How much is drawn at a zoom.
enum class GraphDetail {
    Dots,  ///< a colour per node
    Boxes, ///< boxes and plain lines
    Full,  ///< shapes, words and numbers
};
GraphDetail detailAt(double scale);

/// Everything that stays while the pointer moves. `image` has its device pixel ratio set. `marks` has one mark per node; `font` is that of zoom 1.
void paintGraph(QImage& image, const GraphScene& scene, const GraphMarks& marks, const GraphCamera& camera, const QFont& font);

/// The line of a segment, each slanted piece as a curve.
QPainterPath segmentPath(const GraphScene& scene, std::uint32_t segment);
void paintArrow(QPainter& painter, const GraphScene& scene, std::uint32_t segment, const QColor& colour);

QColor nodeFill(const NodeMark& mark, const Theme& theme);
QRectF signBox(const GraphScene& scene, graph::ItemId item); ///< of a group: the "+" or "−" that expands and collapses it
QRectF frameTitle(const GraphScene& scene, graph::ItemId item);

} // namespace forkpoint::ui
