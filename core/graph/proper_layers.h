// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/layered_layout.h"

#include <cstdint>
#include <span>
#include <vector>

// Steps 1 to 3 of the layered layout (layered_layout.cpp tells the whole): no cycles, a layer for each node, and edges that only lead from
// one layer to the next.
namespace forkpoint::graph::layered {

using Vertex = std::uint32_t;

/// How much a piece of an edge wants to be straight, most first.
enum class Link : std::uint8_t {
    Spine, ///< a short one in the middle of both its nodes' short ones, as known when the order is
    Lane,  ///< between two places of one lane
    Short, ///< between nodes of neighbouring layers
    Loose, ///< between a node and its lane; or a minor edge
};
inline constexpr std::size_t kLinks = 4;

struct Neighbour {
    Vertex vertex = 0;
    float ownOffset = 0, otherOffset = 0; ///< where the edge is attached, from the middle
    float ownShare = 0, otherShare = 0;   ///< the same in widths, within (-0.5, 0.5)
    Link link = Link::Short;
};

/// A vertex is a node of the graph or a place that a lane takes in a layer it passes.
struct ProperGraph {
    Vertex nodes = 0;                        ///< vertices below this are nodes
    std::uint32_t layers = 0;
    std::vector<std::uint32_t> layer;        ///< per vertex
    std::vector<double> left, right;         ///< per vertex: extent to both sides of the middle
    std::vector<Neighbour> down, up;         ///< neighbours in the next and in the previous layer
    std::vector<std::uint32_t> downBegin, upBegin; ///< vertices + 1 offsets
    std::vector<Vertex> order;               ///< vertices by layer, from left to right
    std::vector<std::uint32_t> layerBegin;   ///< layers + 1 offsets into order
    std::vector<std::uint32_t> position;     ///< per vertex, within its layer

    std::span<const Neighbour> below(Vertex v) const { return { down.data() + downBegin[v], down.data() + downBegin[v + 1] }; }
    std::span<const Neighbour> above(Vertex v) const { return { up.data() + upBegin[v], up.data() + upBegin[v + 1] }; }
    std::span<const Vertex> inLayer(std::uint32_t l) const { return { order.data() + layerBegin[l], order.data() + layerBegin[l + 1] }; }
};

/// How an edge gets from its upper to its lower node.
struct EdgePath {
    Vertex lane = 0;           ///< first of the places it takes, which are numbered downwards
    std::uint32_t places = 0;
    bool reversed = false;     ///< the upper node is the edge's `to`; its places include the layers of both nodes
    bool margin = false;       ///< its lane was over the budget: it takes no places and runs along the margin
    bool loop = false;         ///< from a node to itself
};

struct ProperLayers {
    ProperGraph graph; ///< with an order that is stable, not yet good
    std::vector<EdgePath> paths; ///< per edge
    std::size_t places = 0, marginEdges = 0, reversedEdges = 0;
};

/// `edges` by (from, to). Returns with what it has if `stop` is requested; the caller looks.
ProperLayers properLayers(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges, const LayoutOptions& options, const std::stop_token& stop);

} // namespace forkpoint::graph::layered
