// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/union_graph.h"

#include <cstdint>
#include <span>
#include <vector>

// The part of a union graph that is on screen: expanded groups are frames around their content, collapsed ones single items.
namespace forkpoint::graph {

using ItemId = std::uint32_t;
inline constexpr ItemId kNoItem = UINT32_MAX;

/// Which groups are expanded, by node. Ids hold for one union graph; keep paths and calls across graphs.
class Expansion {
public:
    explicit Expansion(const UnionGraph& graph) : m_expanded(graph.nodes.size(), 0) {}
    bool contains(NodeId id) const { return m_expanded[id] != 0; }
    void set(NodeId id, bool expanded) { m_expanded[id] = expanded ? 1 : 0; }
    void expandTo(const UnionGraph& graph, NodeId id); ///< every group around the node

    static Expansion all(const UnionGraph& graph);
    /// Groups of depth below `depth`: 1 expands the groups at the top.
    static Expansion toDepth(const UnionGraph& graph, int depth);

private:
    std::vector<std::uint8_t> m_expanded;
};

struct VisibleItem {
    NodeId node = 0;
    ItemId parent = kNoItem; ///< the frame it lies in
    ItemId end = 0;          ///< items are in pre-order: a frame's content is [id + 1, end)
    bool frame = false;      ///< an expanded group
};

/// All edges of the union graph between the same two items, in one direction.
struct VisibleEdge {
    ItemId from = 0, to = 0; ///< never equal; either may be a frame: its own input or output
    Sides sides = Sides::None;
    bool recorded = false;   ///< at least one of them was recorded
    bool parameter = false;  ///< all of them lead from parameters
    std::uint32_t begin = 0, end = 0; ///< into VisibleGraph::merged
};

struct VisibleGraph {
    std::vector<VisibleItem> items;
    std::vector<VisibleEdge> edges;  ///< by (from, to)
    std::vector<EdgeId> merged;      ///< the edges behind each visible edge
    std::vector<EdgeId> hidden;      ///< edges within one collapsed group: every edge of the union graph is in `merged` or here, once
    std::vector<ItemId> itemOfNode;  ///< of a node in a collapsed group, that group's

    std::span<const EdgeId> edgesOf(const VisibleEdge& edge) const { return { merged.data() + edge.begin, merged.data() + edge.end }; }
};

VisibleGraph visibleGraph(const UnionGraph& graph, const Expansion& expansion);

} // namespace forkpoint::graph
