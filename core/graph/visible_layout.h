// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/layered_layout.h"
#include "core/graph/visible_graph.h"

#include <span>
#include <stop_token>
#include <vector>

namespace forkpoint::graph {

struct ItemSize {
    double width = 0, height = 0; ///< of a frame: the least width (its title), the height is ignored
};

struct FrameStyle {
    double header = 28;  ///< room for the title
    double padding = 16; ///< left, right and below
    LayoutOptions layers;
};

/// A piece of line that is drawn once, however many edges run along it.
struct Segment {
    ItemId frame = kNoItem;        ///< the frame it lies in, kNoItem on the canvas
    Sides sides = Sides::None;
    bool recorded = false;         ///< some edge on it was recorded
    bool parameter = false;        ///< all edges on it lead from parameters
    bool arrives = false;          ///< ends at an item that is no frame, or is an edge's end at a frame: place for an arrow head
    bool upward = false;           ///< closes a cycle
    bool implied = false;          ///< from what ends in a frame to the frame's output: how it got there was not recorded
    std::uint32_t begin = 0, end = 0; ///< into VisibleLayout::points
};

/// Absolute coordinates.
struct VisibleLayout {
    double width = 0, height = 0;
    std::vector<Rect> items;
    std::vector<Segment> segments;
    std::vector<Point> points;
    std::vector<std::uint32_t> edgeSegments;      ///< of all visible edges, each from its start to its end; see edgeSegmentsBegin
    std::vector<std::uint32_t> edgeSegmentsBegin; ///< edges + 1 offsets; empty range: an edge between a frame and its own content
    LayoutStats stats;                            ///< summed; layers: the most in one frame

    std::span<const Point> route(const Segment& segment) const { return { points.data() + segment.begin, points.data() + segment.end }; }
    std::span<const std::uint32_t> segmentsOf(std::size_t edge) const
    {
        return { edgeSegments.data() + edgeSegmentsBegin[edge], edgeSegments.data() + edgeSegmentsBegin[edge + 1] };
    }
};

/// Lays out each frame's content by itself, innermost first, then uses its size in the frame around it. `sizes`: one per item.
/// Fails as layeredLayout does.
Result<VisibleLayout> visibleLayout(const VisibleGraph& graph, std::span<const ItemSize> sizes, const FrameStyle& style = {},
                                    std::stop_token stop = {}, Progress* progress = nullptr);

} // namespace forkpoint::graph
