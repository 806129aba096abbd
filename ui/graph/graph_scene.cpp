// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_scene.h"

#include "ui/models/pair_words.h"

#include <QFontMetricsF>

#include <algorithm>
#include <map>

namespace forkpoint::ui {

using graph::ItemId;
using graph::NodeId;
using graph::UnionGraph;

namespace {

constexpr double kLeastWidth = 96, kMostText = 190;

/// Offsets and numbers of the edges of each item.
void listEdges(const graph::VisibleGraph& visible, bool incoming, std::vector<std::uint32_t>& edges, std::vector<std::uint32_t>& begin)
{
    begin.assign(visible.items.size() + 1, 0);
    for (const auto& edge : visible.edges) {
        ++begin[(incoming ? edge.to : edge.from) + 1];
    }
    for (std::size_t i = 1; i < begin.size(); ++i) {
        begin[i] += begin[i - 1];
    }
    edges.resize(visible.edges.size());
    auto next = begin;
    for (std::uint32_t e = 0; e < visible.edges.size(); ++e) {
        edges[next[incoming ? visible.edges[e].to : visible.edges[e].from]++] = e;
    }
}

void listEdgesOfSegments(GraphScene& scene)
{
    const auto& layout = scene.layout;
    auto& begin = scene.segmentEdgesBegin;
    begin.assign(layout.segments.size() + 1, 0);
    for (const auto segment : layout.edgeSegments) {
        ++begin[segment + 1];
    }
    for (std::size_t i = 1; i < begin.size(); ++i) {
        begin[i] += begin[i - 1];
    }
    scene.segmentEdges.resize(layout.edgeSegments.size());
    auto next = begin;
    for (std::uint32_t e = 0; e < scene.visible.edges.size(); ++e) {
        for (const auto segment : layout.segmentsOf(e)) {
            scene.segmentEdges[next[segment]++] = e;
        }
    }
}

QRectF boxOf(std::span<const graph::Point> route)
{
    double left = route[0].x, right = left, top = route[0].y, bottom = top;
    for (const auto& p : route) {
        left = std::min(left, p.x);
        right = std::max(right, p.x);
        top = std::min(top, p.y);
        bottom = std::max(bottom, p.y);
    }
    return { left, top, right - left, bottom - top };
}

graph::ItemSize sizeOf(const GraphScene& scene, ItemId item, const LetterWidths& widths)
{
    const auto& visible = scene.visible.items[item];
    const auto& text = scene.texts[item];
    const bool group = scene.graph->isGroup(visible.node);
    double words = widths.of(text.name);
    if (!text.className.isEmpty()) {
        words += kGapInNode + widths.of(text.className);
    }
    double width = 2 * kNodePadding + kMarkSize + kGapInNode + std::min(words, kMostText) + kGapInNode + (group ? kSignSize + kGapInNode : 0);
    width += visible.frame ? kFrameBarWidth + 2 * kGapInNode : kNumberWidth;
    width = std::max(width, kLeastWidth);
    return { std::ceil(width / 2) * 2, group && !visible.frame ? kGroupHeight : kNodeHeight };
}

} // namespace

LetterWidths::LetterWidths(const QFont& font)
{
    const QFontMetricsF metrics(font);
    for (std::size_t c = 0; c < m_ascii.size(); ++c) {
        m_ascii[c] = c < 0x20 ? 0 : metrics.horizontalAdvance(QChar(static_cast<ushort>(c)));
    }
    m_other = metrics.horizontalAdvance(QChar(0x4E2D)); // a wide one: too much room rather than too little
}

double LetterWidths::of(const QString& text) const
{
    double sum = 0;
    for (const QChar c : text) {
        sum += c.unicode() < 128 ? m_ascii[c.unicode()] : m_other;
    }
    return sum;
}

QString classText(const graph::Node& node)
{
    const auto a = shown(node.classA), b = shown(node.classB);
    return a.isEmpty() || a == b ? b : b.isEmpty() ? a : QStringLiteral("%1 → %2").arg(a, b);
}

QString nodeLabel(const UnionGraph& graph, NodeId id)
{
    const auto& node = graph.nodes[id];
    if (node.path.empty()) {
        if (const auto name = classText(node); !name.isEmpty()) {
            return name;
        }
    }
    return shown(graph.label(id));
}

std::optional<NodeId> findNode(const UnionGraph& graph, const NodeName& name)
{
    const auto id = graph.find(name.first, name.second);
    return id == graph::kNoNode ? std::nullopt : std::optional(id);
}

std::vector<NodeName> expandedNames(const UnionGraph& graph, const graph::Expansion& expansion)
{
    std::vector<NodeName> out;
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        if (expansion.contains(id)) {
            out.emplace_back(graph.nodes[id].path, graph.nodes[id].call);
        }
    }
    return out;
}

graph::Expansion expansionOf(const UnionGraph& graph, const std::vector<NodeName>& names)
{
    std::map<NodeName, int> wanted;
    for (const auto& name : names) {
        ++wanted[name];
    }
    graph::Expansion out(graph);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        if (graph.isGroup(id) && wanted.contains({ graph.nodes[id].path, graph.nodes[id].call })) {
            out.set(id, true);
        }
    }
    return out;
}

Result<std::shared_ptr<const GraphScene>> buildScene(std::shared_ptr<const UnionGraph> graph, graph::Expansion expansion, const LetterWidths& widths,
                                                     std::stop_token stop, Progress* progress)
{
    auto scene = std::make_shared<GraphScene>(GraphScene { std::move(graph), std::move(expansion), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {} });
    scene->visible = graph::visibleGraph(*scene->graph, scene->expansion);
    std::vector<graph::ItemSize> sizes;
    scene->texts.resize(scene->visible.items.size());
    for (ItemId i = 0; i < scene->visible.items.size(); ++i) {
        const auto node = scene->visible.items[i].node;
        auto& text = scene->texts[i];
        text.name = nodeLabel(*scene->graph, node);
        if (scene->graph->isGroup(node) && !scene->nodeOf(i).path.empty()) {
            text.className = classText(scene->nodeOf(i));
        }
        sizes.push_back(sizeOf(*scene, i, widths));
    }
    graph::FrameStyle style;
    style.header = kFrameHeader + 12; // the first layer keeps clear of the title
    auto layout = graph::visibleLayout(scene->visible, sizes, style, stop, progress);
    if (!layout) {
        return tl::unexpected(layout.error());
    }
    scene->layout = std::move(*layout);
    std::vector<QRectF> boxes;
    for (const auto& r : scene->layout.items) {
        boxes.emplace_back(r.x, r.y, r.width, r.height);
    }
    scene->items = BoxIndex(std::move(boxes));
    boxes.clear();
    for (const auto& segment : scene->layout.segments) {
        boxes.push_back(boxOf(scene->layout.route(segment)));
    }
    scene->segments = BoxIndex(std::move(boxes));
    listEdgesOfSegments(*scene);
    listEdges(scene->visible, true, scene->inEdges, scene->inBegin);
    listEdges(scene->visible, false, scene->outEdges, scene->outBegin);
    return scene;
}

} // namespace forkpoint::ui
