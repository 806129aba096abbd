// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/visible_graph.h"

#include <algorithm>
#include <utility>

namespace forkpoint::graph {

void Expansion::expandTo(const UnionGraph& graph, NodeId id)
{
    for (NodeId above = graph.nodes[id].parent; above != kNoNode; above = graph.nodes[above].parent) {
        set(above, true);
    }
}

Expansion Expansion::all(const UnionGraph& graph)
{
    Expansion out(graph);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        out.set(id, graph.isGroup(id));
    }
    return out;
}

Expansion Expansion::toDepth(const UnionGraph& graph, int depth)
{
    Expansion out(graph);
    std::vector<int> depths(graph.nodes.size(), 0);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) { // parents come first
        const auto parent = graph.nodes[id].parent;
        depths[id] = parent == kNoNode ? 0 : depths[parent] + 1;
        out.set(id, graph.isGroup(id) && depths[id] < depth);
    }
    return out;
}

VisibleGraph visibleGraph(const UnionGraph& graph, const Expansion& expansion)
{
    VisibleGraph out;
    out.itemOfNode.resize(graph.nodes.size());
    for (NodeId id = 0; id < graph.nodes.size();) {
        const auto& node = graph.nodes[id];
        VisibleItem item;
        item.node = id;
        item.parent = node.parent == kNoNode ? kNoItem : out.itemOfNode[node.parent];
        item.frame = graph.isGroup(id) && expansion.contains(id);
        const auto number = static_cast<ItemId>(out.items.size());
        const NodeId covered = item.frame ? id + 1 : node.end;
        std::fill(out.itemOfNode.begin() + id, out.itemOfNode.begin() + covered, number);
        out.items.push_back(item);
        id = covered;
    }
    for (auto i = static_cast<ItemId>(out.items.size()); i-- > 0;) {
        auto& item = out.items[i];
        item.end = std::max(item.end, i + 1);
        if (item.parent != kNoItem) {
            out.items[item.parent].end = std::max(out.items[item.parent].end, item.end);
        }
    }

    std::vector<std::pair<std::uint64_t, EdgeId>> ends; // both items, edge
    ends.reserve(graph.edges.size());
    for (EdgeId e = 0; e < graph.edges.size(); ++e) {
        const auto from = out.itemOfNode[graph.edges[e].from], to = out.itemOfNode[graph.edges[e].to];
        if (from == to) {
            out.hidden.push_back(e);
        } else {
            ends.emplace_back((static_cast<std::uint64_t>(from) << 32) | to, e);
        }
    }
    if (!std::is_sorted(ends.begin(), ends.end())) { // it is while nothing is collapsed: items keep the order of nodes
        std::sort(ends.begin(), ends.end());
    }
    out.merged.reserve(ends.size());
    for (std::size_t i = 0; i < ends.size();) {
        VisibleEdge edge;
        const auto key = ends[i].first;
        edge.from = static_cast<ItemId>(key >> 32);
        edge.to = static_cast<ItemId>(key & UINT32_MAX);
        edge.begin = static_cast<std::uint32_t>(out.merged.size());
        edge.parameter = true;
        for (; i < ends.size() && ends[i].first == key; ++i) {
            const auto& behind = graph.edges[ends[i].second];
            edge.sides = edge.sides | behind.sides;
            edge.recorded = edge.recorded || behind.kind == EdgeKind::Recorded;
            edge.parameter = edge.parameter && behind.kind == EdgeKind::Parameter;
            out.merged.push_back(ends[i].second);
        }
        edge.end = static_cast<std::uint32_t>(out.merged.size());
        out.edges.push_back(edge);
    }
    return out;
}

} // namespace forkpoint::graph
