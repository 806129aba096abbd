// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

namespace forkpoint::graph {

struct Point {
    double x = 0, y = 0;
    bool operator==(const Point&) const = default;
};

struct Rect {
    double x = 0, y = 0, width = 0, height = 0; ///< x, y: the upper left corner
    double right() const { return x + width; }
    double bottom() const { return y + height; }
    bool operator==(const Rect&) const = default;
};

/// Keeps a node at the upper border (first layer) or the lower one (a last layer that holds only such). A top node must have no incoming
/// edge, a bottom node no outgoing one, else the pin is ignored.
enum class Pin : std::uint8_t { None, Top, Bottom };

struct LayoutNode {
    double width = 0, height = 0; ///< finite and not negative
    Pin pin = Pin::None;
};

struct LayoutEdge {
    std::uint32_t from = 0, to = 0;
    double fromOffset = 0, toOffset = 0; ///< where it is attached: distance from the middle of the node's lower and upper side
    bool minor = false;                  ///< others are kept straight first
};

struct LayoutOptions {
    double nodeGap = 24;      ///< between nodes of a layer
    double laneGap = 14;      ///< around edges that pass a layer
    double layerGap = 34;     ///< between layers, at least
    double flatGrowth = 0.06; ///< how much a gap grows per length of its flattest piece, up to two layer gaps more
    double pinGap = 14;       ///< below and above a first and last layer without height
    double partGap = 40;      ///< between parts that no edge connects
    double aspect = 1.6;      ///< width / height that several parts are packed into
    int sweeps = 12;          ///< rounds of crossing reduction, at most
    double lanesPerNode = 4;  ///< budget of places that edges may take in layers they pass; the longest beyond it run along the margin
};

struct LayoutStats {
    std::size_t parts = 0, layers = 0, lanePlaces = 0, marginEdges = 0, reversedEdges = 0, crossings = 0;
};

struct LayeredLayout {
    double width = 0, height = 0;
    std::vector<Rect> nodes;                ///< within [0, width] x [0, height]
    std::vector<std::uint32_t> layers;      ///< per node, within its part
    std::vector<std::uint8_t> reversed;     ///< per edge: closes a cycle; it leaves downwards, runs up beside the nodes, and enters from above
    std::vector<Point> points;              ///< of all edges
    std::vector<std::uint32_t> pointsBegin; ///< edges + 1 offsets into points
    LayoutStats stats;

    /// From the producer's lower side to the consumer's upper side. Slanted only between layers, where there are no nodes, so each slanted
    /// piece may be replaced by a curve within its bounding box. (A loop, from a node to itself, stands on the node's right side.)
    std::span<const Point> route(std::size_t edge) const { return { points.data() + pointsBegin[edge], points.data() + pointsBegin[edge + 1] }; }
};

/// Lays out a directed graph in layers, top to bottom. Equal input gives equal coordinates; the order of `edges` does not matter, that of
/// `nodes` decides where the graph does not. Takes O((V + E) log V) steps, with V including at most lanesPerNode places per node. Fails with Usage if an
/// edge names no node or a size is not usable, Cancelled.
Result<LayeredLayout> layeredLayout(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges, const LayoutOptions& options = {},
                                    std::stop_token stop = {}, Progress* progress = nullptr);

} // namespace forkpoint::graph
