// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/layered_layout.h"

#include "core/graph/layer_coordinates.h"
#include "core/graph/layer_order.h"
#include "core/graph/proper_layers.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <queue>
#include <tuple>

// A layered layout after Sugiyama, Tagawa and Toda ("Methods for visual understanding of hierarchical system structures", 1981): data flows
// from top to bottom, each node lies in a layer (also called rank), edges lead from layer to layer.
//
// The graphs are those of training steps: long chains of blocks, residuals that pass a few layers, fans (query, key, value), parameters that
// feed one node, and rarely something dense. Three things must hold: it is calm (the main chain is one vertical line, residuals are arcs
// beside it), it is the same every time and on every machine, and 20,000 nodes take tens of milliseconds.
//
//   1. Cycles.      Edges that close one in a depth-first search count as turned round, and are drawn as a loop back up beside the nodes.
//                   Execution order is acyclic, so this is for groups (a module outside that is called within) and for damaged input; a
//                   minimal set is not worth its cost.
//   2. Layers.      Longest path from the sources, then sources and trees of them are pulled down to just above what they feed. Network
//                   simplex (Gansner et al., "A technique for drawing directed graphs", 1993) gives shorter edges and takes seconds.
//   3. Lanes.       An edge that passes layers takes a place in each ("dummy nodes"). All edges that leave one node at one point share a
//                   single lane, which branches at each target: a mask that feeds 96 layers costs 96 places, not 96 * 97 / 2. A budget bounds
//                   the rest: the longest lanes beyond it take no places and run along the margin instead.
//   4. Order.       Barycentre sweeps down and up with exact crossing counts (Barth, Juenger, Mutzel: "Simple and efficient bilayer cross
//                   counting", 2002), best order kept, then exchanges of neighbours. Equal means keep their order, which started as the
//                   order of execution.
//   5. Coordinates. Brandes and Koepf ("Fast and simple horizontal coordinate assignment", 2001), changed so that the spine is straight
//                   before lanes are (layer_coordinates.cpp).
//   6. Routes.      Vertical within layers, slanted between them, so that no edge meets a node that is not its own.
//
// Parts that no edge connects are laid out by themselves and packed in rows, in input order.
//
// Deterministic: no random choice, no iteration over hashed containers, ties by input order, edges sorted first, coordinates on a grid of
// 1/16. One thread: parts and groups are small, and the caller is a background job anyway.
namespace forkpoint::graph {

namespace {

using namespace layered;

constexpr double kLoopWidth = 10;
constexpr double kMarginStep = 6;
constexpr std::uint32_t kMarginTracks = 64;
constexpr double kMostGrowth = 2; ///< in layer gaps
constexpr double kTurn = 0.35;    ///< where between two layers edges turn aside

struct Part {
    std::vector<std::uint32_t> nodes, edges; ///< numbers in the whole
    bool pinned = false;
};

struct PartLayout {
    double width = 0, height = 0;
    std::vector<Rect> nodes;
    std::vector<std::uint32_t> layers;
    std::vector<std::uint8_t> reversed;
    std::vector<Point> points;
    std::vector<std::uint32_t> pointsBegin { 0 };
};

/// Edge numbers by (from, to, attachment): two stable counting sorts, then the few edges between the same two nodes.
std::vector<std::uint32_t> sortedEdges(std::size_t nodes, std::span<const LayoutEdge> edges)
{
    std::vector<std::uint32_t> order(edges.size()), sorted(edges.size());
    std::iota(order.begin(), order.end(), 0u);
    for (const bool byTarget : { true, false }) {
        std::vector<std::uint32_t> next(nodes + 1, 0);
        const auto key = [&](std::uint32_t e) { return byTarget ? edges[e].to : edges[e].from; };
        for (const auto e : order) {
            ++next[key(e) + 1];
        }
        std::partial_sum(next.begin(), next.end(), next.begin());
        for (const auto e : order) {
            sorted[next[key(e)]++] = e;
        }
        std::swap(order, sorted);
    }
    const auto attachment = [&](std::uint32_t e) { return std::tuple(edges[e].fromOffset, edges[e].toOffset, edges[e].minor); };
    for (auto at = order.begin(); at != order.end();) {
        auto end = std::next(at);
        while (end != order.end() && edges[*end].from == edges[*at].from && edges[*end].to == edges[*at].to) {
            ++end;
        }
        if (end - at > 1) {
            std::stable_sort(at, end, [&](std::uint32_t x, std::uint32_t y) { return attachment(x) < attachment(y); });
        }
        at = end;
    }
    return order;
}

/// Connected parts by their first node. All pinned nodes are in one part, which comes first: it spans the whole height.
std::vector<Part> findParts(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges, const std::vector<std::uint32_t>& order)
{
    std::vector<std::uint32_t> leader(nodes.size());
    std::iota(leader.begin(), leader.end(), 0u);
    const auto find = [&](std::uint32_t v) {
        while (leader[v] != v) {
            v = leader[v] = leader[leader[v]];
        }
        return v;
    };
    const auto join = [&](std::uint32_t x, std::uint32_t y) {
        const auto a = find(x), b = find(y);
        leader[std::max(a, b)] = std::min(a, b);
    };
    for (const auto& edge : edges) {
        join(edge.from, edge.to);
    }
    std::uint32_t pinned = UINT32_MAX;
    for (std::uint32_t v = 0; v < nodes.size(); ++v) {
        if (nodes[v].pin != Pin::None) {
            pinned = pinned == UINT32_MAX ? v : pinned;
            join(pinned, v);
        }
    }
    std::vector<Part> parts;
    std::vector<std::uint32_t> partOf(nodes.size(), UINT32_MAX);
    for (std::uint32_t v = 0; v < nodes.size(); ++v) {
        const auto top = find(v);
        if (partOf[top] == UINT32_MAX) {
            partOf[top] = static_cast<std::uint32_t>(parts.size());
            parts.emplace_back();
        }
        parts[partOf[top]].nodes.push_back(v);
    }
    for (const auto e : order) {
        parts[partOf[find(edges[e].from)]].edges.push_back(e);
    }
    if (pinned != UINT32_MAX) {
        const auto first = parts.begin() + partOf[find(pinned)];
        first->pinned = true;
        std::rotate(parts.begin(), first, std::next(first));
    }
    return parts;
}

/// Vertical geometry of one part, and the routes.
class Drawing {
public:
    Drawing(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges, const ProperLayers& proper, const std::vector<double>& x,
            const LayoutOptions& options)
        : m_nodes(nodes)
        , m_edges(edges)
        , m_proper(proper)
        , m_graph(proper.graph)
        , m_x(x)
        , m_options(options)
    {
    }

    PartLayout draw()
    {
        placeLayers();
        placeNodes();
        assignTracks();
        for (std::uint32_t e = 0; e < m_edges.size(); ++e) {
            route(e);
            m_out.pointsBegin.push_back(static_cast<std::uint32_t>(m_out.points.size()));
        }
        return std::move(m_out);
    }

private:
    double heightOf(std::uint32_t l) const
    {
        double height = 0;
        for (const auto v : m_graph.inLayer(l)) {
            height = v < m_graph.nodes ? std::max(height, m_nodes[v].height) : height;
        }
        return height;
    }

    double gapBelow(std::uint32_t l) const
    {
        const bool atPins = (l == 0 && heightOf(0) == 0) || (l + 2 == m_graph.layers && heightOf(l + 1) == 0);
        double flattest = 0;
        for (const auto v : m_graph.inLayer(l)) {
            for (const auto& n : m_graph.below(v)) {
                flattest = std::max(flattest, std::abs(m_x[v] + static_cast<double>(n.ownOffset) - m_x[n.vertex] - static_cast<double>(n.otherOffset)));
            }
        }
        const double growth = std::min(flattest * m_options.flatGrowth, kMostGrowth * m_options.layerGap);
        return (atPins ? m_options.pinGap : m_options.layerGap) + std::floor(growth);
    }

    void placeLayers()
    {
        for (std::uint32_t e = 0; e < m_edges.size(); ++e) { // turns beyond the first and the last layer
            if (m_proper.paths[e].reversed) {
                m_roomAbove = m_graph.layer[m_edges[e].to] == 0 ? m_options.laneGap : m_roomAbove;
                m_roomBelow = m_graph.layer[m_edges[e].from] + 1 == m_graph.layers ? m_options.laneGap : m_roomBelow;
            }
        }
        double y = m_roomAbove;
        for (std::uint32_t l = 0; l < m_graph.layers; ++l) {
            const double height = heightOf(l);
            m_top.push_back(y);
            m_bottom.push_back(y + height);
            y += height + (l + 1 < m_graph.layers ? gapBelow(l) : 0.0);
        }
        m_out.height = m_bottom.empty() ? 0 : m_bottom.back() + m_roomBelow;
    }

    /// Where a node stands in a layer that is higher than itself: sources close to what they feed, ends close to what feeds them.
    double lowering(Vertex v) const
    {
        if (m_nodes[v].pin != Pin::None) {
            return m_nodes[v].pin == Pin::Top ? 0 : 1;
        }
        const bool fed = !m_graph.above(v).empty(), feeds = !m_graph.below(v).empty();
        return fed == feeds ? 0.5 : fed ? 0 : 1;
    }

    void placeNodes()
    {
        m_out.nodes.resize(m_nodes.size());
        m_out.layers.assign(m_graph.layer.begin(), m_graph.layer.begin() + static_cast<std::ptrdiff_t>(m_nodes.size()));
        for (Vertex v = 0; v < m_nodes.size(); ++v) {
            const auto l = m_graph.layer[v];
            const double room = m_bottom[l] - m_top[l] - m_nodes[v].height;
            m_out.nodes[v] = { m_x[v] - m_nodes[v].width / 2, m_top[l] + room * lowering(v), m_nodes[v].width, m_nodes[v].height };
        }
        for (Vertex v = 0; v < m_graph.layer.size(); ++v) {
            m_out.width = std::max(m_out.width, m_x[v] + m_graph.right[v]);
        }
    }

    /// Edges along the margin get a track each that is free between their layers; tracks are reused when there are too many.
    void assignTracks()
    {
        std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> spans; // upper layer, lower layer, edge
        for (std::uint32_t e = 0; e < m_edges.size(); ++e) {
            if (m_proper.paths[e].margin) {
                const auto [upper, lower] = std::minmax(m_graph.layer[m_edges[e].from], m_graph.layer[m_edges[e].to]);
                spans.emplace_back(upper, lower, e);
            }
        }
        if (spans.empty()) {
            return;
        }
        std::sort(spans.begin(), spans.end());
        m_track.assign(m_edges.size(), 0);
        std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
        std::priority_queue<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::pair<std::uint32_t, std::uint32_t>>, std::greater<>> busy;
        std::uint32_t tracks = 0;
        for (const auto& [upper, lower, e] : spans) {
            for (; !busy.empty() && busy.top().first < upper; busy.pop()) {
                free.push(busy.top().second);
            }
            std::uint32_t track = tracks;
            if (free.empty()) {
                ++tracks;
            } else {
                track = free.top();
                free.pop();
            }
            busy.emplace(lower, track);
            m_track[e] = track % kMarginTracks;
        }
        m_marginX = m_out.width + m_options.laneGap;
        m_out.width = m_marginX + kMarginStep * std::min(tracks, kMarginTracks);
    }

    void route(std::uint32_t e)
    {
        const auto& path = m_proper.paths[e];
        m_out.reversed.push_back(path.reversed ? 1 : 0);
        const auto first = m_out.points.size();
        if (path.loop) {
            routeLoop(m_out.nodes[m_edges[e].from]);
            return;
        }
        const auto& edge = m_edges[e];
        const double fromX = m_x[edge.from] + edge.fromOffset, toX = m_x[edge.to] + edge.toOffset;
        const auto from = m_graph.layer[edge.from], to = m_graph.layer[edge.to];
        addPoint(first, fromX, m_out.nodes[edge.from].bottom());
        addPoint(first, fromX, m_bottom[from]);
        if (path.margin || path.reversed) {
            const double out = turnBelow(from), in = turnAbove(to);
            addPoint(first, fromX, out);
            if (path.margin) {
                addPoint(first, m_marginX + kMarginStep * m_track[e], out);
                addPoint(first, m_marginX + kMarginStep * m_track[e], in);
            } else {
                routeUp(first, path, out, in);
            }
            addPoint(first, toX, in);
        } else {
            for (std::uint32_t i = 0; i < path.places; ++i) {
                passLayer(first, path.lane + i, true);
            }
        }
        addPoint(first, toX, m_top[to]);
        addPoint(first, toX, m_out.nodes[edge.to].y);
        if (m_out.points.size() == first + 1) { // no height and no gap
            m_out.points.push_back(m_out.points.back());
        }
    }

    void passLayer(std::size_t first, Vertex place, bool downwards)
    {
        const auto l = m_graph.layer[place];
        addPoint(first, m_x[place], downwards ? m_top[l] : m_bottom[l]);
        addPoint(first, m_x[place], downwards ? m_bottom[l] : m_top[l]);
    }

    void routeUp(std::size_t first, const EdgePath& path, double out, double in)
    {
        addPoint(first, m_x[path.lane + path.places - 1], out);
        for (std::uint32_t i = path.places; i-- > 0;) {
            passLayer(first, path.lane + i, false);
        }
        addPoint(first, m_x[path.lane], in);
    }

    /// Where an edge turns aside below layer l, or comes in from aside above it.
    double turnBelow(std::uint32_t l) const
    {
        return m_bottom[l] + (l + 1 < m_graph.layers ? kTurn * (m_top[l + 1] - m_bottom[l]) : m_roomBelow / 2);
    }
    double turnAbove(std::uint32_t l) const { return m_top[l] - (l > 0 ? kTurn * (m_top[l] - m_bottom[l - 1]) : m_roomAbove / 2); }

    void routeLoop(const Rect& node)
    {
        const double upper = node.y + node.height * 0.25, lower = node.y + node.height * 0.75;
        m_out.points.insert(m_out.points.end(),
                            { { node.right(), lower }, { node.right() + kLoopWidth, lower }, { node.right() + kLoopWidth, upper }, { node.right(), upper } });
    }

    /// Leaves out what lies on a vertical line with its neighbours.
    void addPoint(std::size_t first, double x, double y)
    {
        auto& points = m_out.points;
        const auto size = points.size();
        if (size > first && points[size - 1] == Point { x, y }) {
            return;
        }
        if (size > first + 1 && points[size - 1].x == x && points[size - 2].x == x) {
            points[size - 1].y = y;
            return;
        }
        points.push_back({ x, y });
    }

    std::span<const LayoutNode> m_nodes;
    std::span<const LayoutEdge> m_edges;
    const ProperLayers& m_proper;
    const ProperGraph& m_graph;
    const std::vector<double>& m_x;
    const LayoutOptions& m_options;
    PartLayout m_out;
    std::vector<double> m_top, m_bottom; ///< per layer
    std::vector<std::uint32_t> m_track;  ///< per edge
    double m_marginX = 0;
    double m_roomAbove = 0, m_roomBelow = 0;
};

PartLayout layOutPart(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges, const LayoutOptions& options, const std::stop_token& stop,
                      LayoutStats& stats)
{
    if (nodes.size() == 1 && edges.empty()) { // a run without a recorded graph has nothing else
        PartLayout single;
        single.width = nodes[0].width;
        single.height = nodes[0].height;
        single.nodes = { { 0, 0, nodes[0].width, nodes[0].height } };
        single.layers = { 0 };
        stats.layers = std::max<std::size_t>(stats.layers, 1);
        return single;
    }
    auto proper = properLayers(nodes, edges, options, stop);
    if (stop.stop_requested()) {
        return {};
    }
    stats.crossings += reduceCrossings(proper.graph, options.sweeps, stop);
    const auto x = horizontalCoordinates(proper.graph, options.nodeGap, options.laneGap, stop);
    if (stop.stop_requested()) {
        return {};
    }
    stats.layers = std::max<std::size_t>(stats.layers, proper.graph.layers);
    stats.lanePlaces += proper.places;
    stats.marginEdges += proper.marginEdges;
    stats.reversedEdges += proper.reversedEdges;
    return Drawing(nodes, edges, proper, x, options).draw();
}

/// Puts rectangles in rows, in order, within about `limit` of width. Returns their upper left corners; `extent` receives the size of all.
std::vector<Point> packRows(std::span<const Point> sizes, double limit, double gap, Point& extent)
{
    std::vector<Point> corners;
    double x = 0, y = 0, row = 0;
    for (const auto& size : sizes) {
        if (x > 0 && x + size.x > limit) {
            x = 0;
            y += row + gap;
            row = 0;
        }
        corners.push_back({ x, y });
        extent.x = std::max(extent.x, x + size.x);
        extent.y = std::max(extent.y, y + size.y);
        x += size.x + gap;
        row = std::max(row, size.y);
    }
    return corners;
}

std::vector<Point> packParts(const std::vector<PartLayout>& parts, bool firstIsPinned, const LayoutOptions& options, Point& extent)
{
    std::vector<Point> sizes;
    double area = 0, widest = 0;
    for (const auto& part : parts) {
        sizes.push_back({ part.width, part.height });
    }
    const std::span<const Point> packed = std::span(sizes).subspan(firstIsPinned ? 1 : 0);
    for (const auto& size : packed) {
        area += (size.x + options.partGap) * (size.y + options.partGap);
        widest = std::max(widest, size.x);
    }
    if (!firstIsPinned) {
        return packRows(packed, std::max(widest, std::sqrt(area * options.aspect)), options.partGap, extent);
    }
    // The pinned part keeps the whole height to itself; the others stand to its right, about as high.
    const double height = std::max(sizes.front().y, std::sqrt(area / options.aspect));
    Point rest;
    auto corners = packRows(packed, std::max(widest, area / std::max(height, 1.0)), options.partGap, rest);
    for (auto& corner : corners) {
        corner.x += sizes.front().x + options.partGap;
    }
    corners.insert(corners.begin(), Point {});
    extent.x = sizes.front().x + (packed.empty() ? 0 : options.partGap + rest.x);
    extent.y = std::max(sizes.front().y, rest.y);
    return corners;
}

bool isUsable(double size) { return std::isfinite(size) && size >= 0 && size < 1e9; }

tl::unexpected<Error> stopped() { return fail(ErrorCode::Cancelled, "cancelled while laying out the graph"); }

Result<void> check(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges)
{
    if (nodes.size() > UINT32_MAX / 8 || edges.size() > UINT32_MAX / 8) {
        return fail(ErrorCode::Unsupported, fmt::format("a graph of {} nodes and {} edges cannot be laid out", nodes.size(), edges.size()));
    }
    for (std::size_t v = 0; v < nodes.size(); ++v) {
        if (!isUsable(nodes[v].width) || !isUsable(nodes[v].height)) {
            return fail(ErrorCode::Usage, fmt::format("node {} has no usable size: {} x {}", v, nodes[v].width, nodes[v].height));
        }
    }
    for (const auto& edge : edges) {
        if (edge.from >= nodes.size() || edge.to >= nodes.size() || !isUsable(std::abs(edge.fromOffset)) || !isUsable(std::abs(edge.toOffset))) {
            return fail(ErrorCode::Usage, fmt::format("an edge from {} to {} does not fit a graph of {} nodes", edge.from, edge.to, nodes.size()));
        }
    }
    return {};
}

} // namespace

Result<LayeredLayout> layeredLayout(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges, const LayoutOptions& options,
                                    std::stop_token stop, Progress* progress)
{
    if (auto checked = check(nodes, edges); !checked) {
        return tl::unexpected(checked.error());
    }
    LayeredLayout out;
    const auto parts = findParts(nodes, edges, sortedEdges(nodes.size(), edges));
    std::vector<PartLayout> layouts;
    layouts.reserve(parts.size());
    std::vector<std::uint32_t> numbers(nodes.size());
    std::vector<LayoutNode> partNodes;
    std::vector<LayoutEdge> partEdges;
    std::size_t done = 0, reported = 0;
    for (const auto& part : parts) {
        if (stop.stop_requested()) {
            return stopped();
        }
        partNodes.clear();
        partEdges.clear();
        for (std::uint32_t i = 0; i < part.nodes.size(); ++i) {
            numbers[part.nodes[i]] = i;
            partNodes.push_back(nodes[part.nodes[i]]);
        }
        for (const auto e : part.edges) {
            partEdges.push_back(edges[e]);
            partEdges.back().from = numbers[edges[e].from];
            partEdges.back().to = numbers[edges[e].to];
        }
        layouts.push_back(layOutPart(partNodes, partEdges, options, stop, out.stats));
        done += part.nodes.size();
        if (progress && (done - reported) * 100 >= nodes.size()) {
            progress->report("layout", static_cast<double>(done) / static_cast<double>(nodes.size()));
            reported = done;
        }
    }
    if (stop.stop_requested()) {
        return stopped();
    }
    Point extent;
    const auto corners = packParts(layouts, !parts.empty() && parts.front().pinned, options, extent);
    out.width = extent.x;
    out.height = extent.y;
    out.stats.parts = parts.size();
    out.nodes.resize(nodes.size());
    out.layers.resize(nodes.size());
    out.reversed.resize(edges.size());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> placeOfEdge(edges.size()); // part, number in it
    for (std::uint32_t p = 0; p < parts.size(); ++p) {
        for (std::size_t i = 0; i < parts[p].nodes.size(); ++i) {
            auto rect = layouts[p].nodes[i];
            rect.x += corners[p].x;
            rect.y += corners[p].y;
            out.nodes[parts[p].nodes[i]] = rect;
            out.layers[parts[p].nodes[i]] = layouts[p].layers[i];
        }
        for (std::uint32_t i = 0; i < parts[p].edges.size(); ++i) {
            placeOfEdge[parts[p].edges[i]] = { p, i };
        }
    }
    out.pointsBegin.reserve(edges.size() + 1);
    out.pointsBegin.push_back(0);
    for (std::size_t e = 0; e < edges.size(); ++e) {
        const auto [p, i] = placeOfEdge[e];
        out.reversed[e] = layouts[p].reversed[i];
        for (auto k = layouts[p].pointsBegin[i]; k < layouts[p].pointsBegin[i + 1]; ++k) {
            out.points.push_back({ layouts[p].points[k].x + corners[p].x, layouts[p].points[k].y + corners[p].y });
        }
        out.pointsBegin.push_back(static_cast<std::uint32_t>(out.points.size()));
    }
    return out;
}

} // namespace forkpoint::graph
