// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/graph/graph_marks.h"
#include "ui/graph/graph_scene.h"

#include <QString>

// Nodes and edges of the graph in words, for tool tips, menus and screen readers.
namespace forkpoint::ui {

QString nodeName(const graph::UnionGraph& graph, graph::NodeId node); ///< full: path, and #call from the second call on
QString nodeSentence(const graph::UnionGraph& graph, graph::NodeId node, const NodeMark& mark, ColourBy colourBy, bool expanded); ///< plain text
QString nodeTip(const graph::UnionGraph& graph, graph::NodeId node, const NodeMark& mark, ColourBy colourBy);
/// The tensors along a line: from where to where, and their shape.
QString edgeTip(const graph::UnionGraph& graph, const compare::Snapshot& comparison, const std::vector<graph::EdgeId>& edges);
QString edgeTensor(const graph::UnionGraph& graph, const compare::Snapshot& comparison, graph::EdgeId edge); ///< "float32 [4, 32]"; empty if not recorded

} // namespace forkpoint::ui
