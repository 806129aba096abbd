// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/graph/visible_layout.h"
#include "ui/graph/box_index.h"

#include <QFont>
#include <QString>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

// What a graph canvas shows, apart from colours: made on a worker, never changed afterwards, shared.
namespace forkpoint::ui {

// Sizes at zoom 1. The place for a number is fixed, so that results that stream in never move anything.
inline constexpr double kNodeHeight = 30, kGroupHeight = 38, kFrameHeader = 30;
inline constexpr double kNodePadding = 9, kMarkSize = 11, kSignSize = 13, kGapInNode = 7, kNumberWidth = 50;
inline constexpr double kFrameBarWidth = 84;

/// Widths of a font's letters, measured on the UI thread for the worker that decides sizes.
class LetterWidths {
public:
    explicit LetterWidths(const QFont& font);
    double of(const QString& text) const;

private:
    std::array<double, 128> m_ascii {};
    double m_other = 0;
};

struct ItemText {
    QString name, className; ///< fit to be drawn; className empty where it is not shown
};

struct GraphScene {
    std::shared_ptr<const graph::UnionGraph> graph;
    graph::Expansion expansion;
    graph::VisibleGraph visible;
    graph::VisibleLayout layout;
    std::vector<ItemText> texts;  ///< per item
    BoxIndex items, segments;
    std::vector<std::uint32_t> segmentEdges, segmentEdgesBegin; ///< visible edges that run along a segment
    std::vector<std::uint32_t> inEdges, inBegin, outEdges, outBegin; ///< visible edges of an item

    graph::ItemId itemOf(graph::NodeId node) const { return node == graph::kNoNode ? graph::kNoItem : visible.itemOfNode[node]; }
    const graph::Node& nodeOf(graph::ItemId item) const { return graph->nodes[visible.items[item].node]; }
    QRectF rect(graph::ItemId item) const { return items.box(item); }
    QRectF bounds() const { return { 0, 0, layout.width, layout.height }; }
    std::span<const std::uint32_t> edgesInto(graph::ItemId item) const { return { inEdges.data() + inBegin[item], inEdges.data() + inBegin[item + 1] }; }
    std::span<const std::uint32_t> edgesOutOf(graph::ItemId item) const { return { outEdges.data() + outBegin[item], outEdges.data() + outBegin[item + 1] }; }
    std::span<const std::uint32_t> edgesAlong(std::uint32_t segment) const
    {
        return { segmentEdges.data() + segmentEdgesBegin[segment], segmentEdges.data() + segmentEdgesBegin[segment + 1] };
    }
};

/// A node across graphs of other steps.
using NodeName = std::pair<std::string, std::int32_t>;
std::optional<graph::NodeId> findNode(const graph::UnionGraph& graph, const NodeName& name);

/// Which groups are expanded, by name.
std::vector<NodeName> expandedNames(const graph::UnionGraph& graph, const graph::Expansion& expansion);
graph::Expansion expansionOf(const graph::UnionGraph& graph, const std::vector<NodeName>& names);

Result<std::shared_ptr<const GraphScene>> buildScene(std::shared_ptr<const graph::UnionGraph> graph, graph::Expansion expansion,
                                                     const LetterWidths& widths, std::stop_token stop = {}, Progress* progress = nullptr);

/// What is written on a node: the path below its group; of the root its class.
QString nodeLabel(const graph::UnionGraph& graph, graph::NodeId node);
QString classText(const graph::Node& node); ///< "Linear", "Linear → QuantLinear"

} // namespace forkpoint::ui
