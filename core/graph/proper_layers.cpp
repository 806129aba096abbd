// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/proper_layers.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace forkpoint::graph::layered {

namespace {

constexpr std::size_t kCancelEvery = 1u << 12;
constexpr double kLoopRoom = 16; ///< to the right of a node with an edge to itself

/// An edge that points downwards, whichever way it was given.
struct Arc {
    Vertex upper = 0, lower = 0;
    double upperOffset = 0, lowerOffset = 0;
    std::uint32_t edge = 0;
    bool reversed = false;
    bool minor = false;
};

struct Piece {
    Vertex upper = 0, lower = 0;
    float upperOffset = 0, lowerOffset = 0;
    Link link = Link::Short;
};

class Builder {
public:
    Builder(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges, const LayoutOptions& options, const std::stop_token& stop)
        : m_nodes(nodes)
        , m_edges(edges)
        , m_options(options)
        , m_stop(stop)
        , m_count(static_cast<Vertex>(nodes.size()))
    {
    }

    ProperLayers build()
    {
        m_out.paths.resize(m_edges.size());
        readPins();
        breakCycles();
        sortArcs();
        assignLayers();
        pullSourcesDown();
        placeBottom();
        makeLanes();
        if (!m_stop.stop_requested()) {
            connect();
            orderAtFirst();
        }
        return std::move(m_out);
    }

private:
    bool cancelledAt(std::size_t i) const { return i % kCancelEvery == kCancelEvery - 1 && m_stop.stop_requested(); }

    /// A pin counts only where no edge contradicts it.
    void readPins()
    {
        m_pins.resize(m_count);
        m_firstEdge.assign(m_count + 1, 0);
        for (Vertex v = 0; v < m_count; ++v) {
            m_pins[v] = m_nodes[v].pin;
        }
        for (const auto& edge : m_edges) {
            ++m_firstEdge[edge.from + 1];
            if (m_pins[edge.to] == Pin::Top) {
                m_pins[edge.to] = Pin::None;
            }
            if (m_pins[edge.from] == Pin::Bottom) {
                m_pins[edge.from] = Pin::None;
            }
        }
        std::partial_sum(m_firstEdge.begin(), m_firstEdge.end(), m_firstEdge.begin());
    }

    /// Reverses the edges that close a cycle in a depth-first search, which starts at sources, in input order.
    void breakCycles()
    {
        enum : std::uint8_t { Unseen, Open, Done };
        std::vector<std::uint8_t> state(m_count, Unseen);
        std::vector<std::uint32_t> next(m_firstEdge.begin(), m_firstEdge.end() - (m_firstEdge.empty() ? 0 : 1));
        std::vector<std::uint8_t> hasInput(m_count, 0);
        for (const auto& edge : m_edges) {
            hasInput[edge.to] = static_cast<std::uint8_t>(hasInput[edge.to] | (edge.from != edge.to ? 1 : 0));
        }
        std::vector<Vertex> stack;
        const auto search = [&](Vertex start) {
            state[start] = Open;
            stack.push_back(start);
            while (!stack.empty()) {
                const Vertex v = stack.back();
                if (next[v] == m_firstEdge[v + 1]) {
                    state[v] = Done;
                    stack.pop_back();
                    continue;
                }
                const auto edge = next[v]++;
                const Vertex to = m_edges[edge].to;
                if (to == v) {
                    m_out.paths[edge].loop = true;
                } else if (state[to] == Open) {
                    m_out.paths[edge].reversed = true;
                    ++m_out.reversedEdges;
                } else if (state[to] == Unseen) {
                    state[to] = Open;
                    stack.push_back(to);
                }
            }
        };
        for (const bool sources : { true, false }) {
            for (Vertex v = 0; v < m_count; ++v) {
                if (state[v] == Unseen && (!sources || !hasInput[v])) {
                    search(v);
                }
                if (cancelledAt(v)) {
                    return;
                }
            }
        }
    }

    /// All arcs by their upper node. Of one node those first that share a lane: the same attachment and direction.
    void sortArcs()
    {
        m_firstArc.assign(m_count + 1, 0);
        const auto upperOf = [&](std::uint32_t e) { return m_out.paths[e].reversed ? m_edges[e].to : m_edges[e].from; };
        for (std::uint32_t e = 0; e < m_edges.size(); ++e) {
            if (!m_out.paths[e].loop) {
                ++m_firstArc[upperOf(e) + 1];
            }
        }
        std::partial_sum(m_firstArc.begin(), m_firstArc.end(), m_firstArc.begin());
        m_arcs.resize(m_firstArc.back());
        std::vector<std::uint32_t> next(m_firstArc.begin(), m_firstArc.end());
        for (std::uint32_t e = 0; e < m_edges.size(); ++e) {
            if (m_out.paths[e].loop) {
                continue;
            }
            const auto& edge = m_edges[e];
            const bool reversed = m_out.paths[e].reversed;
            m_arcs[next[upperOf(e)]++] = reversed ? Arc { edge.to, edge.from, edge.toOffset, edge.fromOffset, e, true, edge.minor }
                                                  : Arc { edge.from, edge.to, edge.fromOffset, edge.toOffset, e, false, edge.minor };
        }
    }

    std::span<const Arc> arcsOf(Vertex v) const { return { m_arcs.data() + m_firstArc[v], m_arcs.data() + m_firstArc[v + 1] }; }

    /// Longest path from a source. Nodes pinned to the top are sources, so they are in the first layer anyway.
    void assignLayers()
    {
        auto& layer = m_out.graph.layer;
        layer.assign(m_count, 0);
        std::vector<std::uint32_t> waiting(m_count, 0);
        for (const auto& arc : m_arcs) {
            ++waiting[arc.lower];
        }
        m_downwards.reserve(m_count);
        for (Vertex v = 0; v < m_count; ++v) {
            if (waiting[v] == 0) {
                m_downwards.push_back(v);
            }
        }
        for (std::size_t i = 0; i < m_downwards.size(); ++i) {
            const Vertex v = m_downwards[i];
            for (const auto& arc : arcsOf(v)) {
                layer[arc.lower] = std::max(layer[arc.lower], layer[v] + 1);
                if (--waiting[arc.lower] == 0) {
                    m_downwards.push_back(arc.lower);
                }
            }
            if (cancelledAt(i)) {
                return;
            }
        }
    }

    /// A source, and a tree of nodes that leads from sources only to one node, belongs just above what it feeds. Left in the first layers,
    /// each parameter would drag a lane through the whole picture.
    void pullSourcesDown()
    {
        std::vector<std::uint8_t> fixed(m_count, 0);
        for (const Vertex v : m_downwards) {
            if (m_pins[v] != Pin::None) {
                fixed[v] = 1;
            }
            const bool pullsAlong = !fixed[v] && arcsOf(v).size() == 1;
            for (const auto& arc : arcsOf(v)) {
                fixed[arc.lower] = static_cast<std::uint8_t>(fixed[arc.lower] | (pullsAlong ? 0 : 1));
            }
        }
        auto& layer = m_out.graph.layer;
        for (auto v = m_downwards.rbegin(); v != m_downwards.rend(); ++v) {
            const auto arcs = arcsOf(*v);
            if (fixed[*v] || arcs.empty()) {
                continue;
            }
            std::uint32_t lowest = UINT32_MAX;
            for (const auto& arc : arcs) {
                if (m_pins[arc.lower] != Pin::Bottom) { // its layer is not known yet, and below all others
                    lowest = std::min(lowest, layer[arc.lower]);
                }
            }
            if (lowest != UINT32_MAX) {
                layer[*v] = lowest - 1;
            }
        }
    }

    void placeBottom()
    {
        auto& layer = m_out.graph.layer;
        std::uint32_t last = 0;
        for (Vertex v = 0; v < m_count; ++v) {
            if (m_pins[v] != Pin::Bottom) {
                last = std::max(last, layer[v] + 1);
            }
        }
        for (Vertex v = 0; v < m_count; ++v) {
            if (m_pins[v] == Pin::Bottom) {
                layer[v] = last;
            }
        }
        m_out.graph.layers = last + (std::find(m_pins.begin(), m_pins.end(), Pin::Bottom) == m_pins.end() ? 0 : 1);
    }

    /// Arcs [begin, end) leave the same node at the same point and share one lane down to the farthest target. Reversed ones reach the same
    /// point from below, in a lane up from the lowest source.
    struct Lane {
        std::uint32_t begin = 0, end = 0, length = 0;
    };

    void makeLanes()
    {
        const auto& layer = m_out.graph.layer;
        std::vector<Lane> lanes;
        std::size_t wanted = 0;
        for (Vertex v = 0; v < m_count; ++v) {
            if (cancelledAt(v)) {
                return;
            }
            const auto first = m_arcs.begin() + m_firstArc[v], last = m_arcs.begin() + m_firstArc[v + 1];
            const auto key = [&](const Arc& a) { return std::tuple(a.reversed, a.upperOffset, layer[a.lower], a.lower, a.lowerOffset); };
            std::sort(first, last, [&](const Arc& x, const Arc& y) { return key(x) < key(y); });
            for (auto at = first; at != last;) {
                const auto begin = at;
                while (at != last && at->reversed == begin->reversed && at->upperOffset == begin->upperOffset) {
                    ++at;
                }
                const auto passed = layer[std::prev(at)->lower] - layer[v];
                const auto length = begin->reversed ? passed + 1 : passed - 1;
                lanes.push_back({ static_cast<std::uint32_t>(begin - m_arcs.begin()), static_cast<std::uint32_t>(at - m_arcs.begin()), length });
                wanted += length;
            }
        }
        const auto longest = longestAllowed(lanes, wanted);
        m_pieces.reserve(m_arcs.size() + std::min(wanted, m_arcs.size() * 8));
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            const bool allowed = lanes[i].length <= longest;
            m_arcs[lanes[i].begin].reversed ? makeUpwardLane(lanes[i], allowed) : makeLane(lanes[i], allowed);
            if (cancelledAt(i)) {
                return;
            }
        }
        m_out.places = m_out.graph.layer.size() - m_count;
    }

    /// The greatest length for which all lanes up to it together fit the budget.
    std::uint32_t longestAllowed(const std::vector<Lane>& lanes, std::size_t wanted) const
    {
        const auto budget = static_cast<std::size_t>(std::max(m_options.lanesPerNode, 0.0) * static_cast<double>(m_count)) + 1000;
        if (wanted <= budget) {
            return UINT32_MAX;
        }
        std::vector<std::uint32_t> lengths;
        for (const auto& lane : lanes) {
            lengths.push_back(lane.length);
        }
        std::sort(lengths.begin(), lengths.end());
        std::size_t used = 0;
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            used += lengths[i];
            if (used > budget) {
                return lengths[i] - 1; // all of this length are out, so that the order of equals does not matter
            }
        }
        return UINT32_MAX;
    }

    void makeLane(const Lane& lane, bool allowed)
    {
        auto& layer = m_out.graph.layer;
        const Vertex start = m_arcs[lane.begin].upper;
        const auto firstPlace = static_cast<Vertex>(layer.size());
        Vertex previous = start;
        auto previousOffset = static_cast<float>(m_arcs[lane.begin].upperOffset);
        std::uint32_t at = lane.begin;
        for (std::uint32_t l = layer[start] + 1; at < lane.end; ++l) {
            for (; at < lane.end && layer[m_arcs[at].lower] == l; ++at) {
                const auto& arc = m_arcs[at];
                auto& path = m_out.paths[arc.edge];
                path.lane = firstPlace;
                path.places = l - layer[start] - 1;
                const bool loose = path.places > 0 || arc.minor;
                m_pieces.push_back({ previous, arc.lower, previousOffset, static_cast<float>(arc.lowerOffset), loose ? Link::Loose : Link::Short });
            }
            if (at == lane.end) {
                break;
            }
            if (!allowed) {
                for (; at < lane.end; ++at) {
                    m_out.paths[m_arcs[at].edge].margin = true;
                    ++m_out.marginEdges;
                }
                break;
            }
            const auto place = static_cast<Vertex>(layer.size());
            layer.push_back(l);
            m_pieces.push_back({ previous, place, previousOffset, 0, previous == start ? Link::Loose : Link::Lane });
            previous = place;
            previousOffset = 0;
        }
    }

    /// Edges that close a cycle leave their node downwards like all others, turn, run up in a lane beside both nodes, turn again above the
    /// target. The lane takes places in the layers of both, and none of its pieces meets a node.
    void makeUpwardLane(const Lane& lane, bool allowed)
    {
        auto& layer = m_out.graph.layer;
        const auto top = layer[m_arcs[lane.begin].upper];
        const auto firstPlace = static_cast<Vertex>(layer.size());
        for (std::uint32_t i = 0; allowed && i < lane.length; ++i) {
            layer.push_back(top + i);
            if (i > 0) {
                m_pieces.push_back({ firstPlace + i - 1, firstPlace + i, 0, 0, Link::Lane });
            }
        }
        for (auto at = lane.begin; at < lane.end; ++at) {
            auto& path = m_out.paths[m_arcs[at].edge];
            path.lane = firstPlace;
            path.places = allowed ? layer[m_arcs[at].lower] - top + 1 : 0;
            path.margin = !allowed;
            m_out.marginEdges += allowed ? 0 : 1;
        }
    }

    void connect()
    {
        auto& g = m_out.graph;
        const auto vertices = static_cast<Vertex>(g.layer.size());
        g.nodes = m_count;
        g.left.assign(vertices, 0);
        g.right.assign(vertices, 0);
        for (Vertex v = 0; v < m_count; ++v) {
            g.left[v] = g.right[v] = m_nodes[v].width / 2;
        }
        for (std::uint32_t e = 0; e < m_edges.size(); ++e) {
            if (m_out.paths[e].loop) {
                const auto v = m_edges[e].from;
                g.right[v] = m_nodes[v].width / 2 + kLoopRoom;
            }
        }
        const auto share = [&](Vertex v, float offset) {
            const double width = v < m_count ? m_nodes[v].width : 0.0;
            return width > 0 ? static_cast<float>(std::clamp(static_cast<double>(offset) / width, -0.49, 0.49)) : 0.0f;
        };
        g.downBegin.assign(vertices + 1, 0);
        g.upBegin.assign(vertices + 1, 0);
        for (const auto& piece : m_pieces) {
            ++g.downBegin[piece.upper + 1];
            ++g.upBegin[piece.lower + 1];
        }
        std::partial_sum(g.downBegin.begin(), g.downBegin.end(), g.downBegin.begin());
        std::partial_sum(g.upBegin.begin(), g.upBegin.end(), g.upBegin.begin());
        g.down.resize(m_pieces.size());
        g.up.resize(m_pieces.size());
        std::vector<std::uint32_t> nextDown(g.downBegin.begin(), g.downBegin.end()), nextUp(g.upBegin.begin(), g.upBegin.end());
        for (const auto& p : m_pieces) {
            const float upperShare = share(p.upper, p.upperOffset), lowerShare = share(p.lower, p.lowerOffset);
            g.down[nextDown[p.upper]++] = { p.lower, p.upperOffset, p.lowerOffset, upperShare, lowerShare, p.link };
            g.up[nextUp[p.lower]++] = { p.upper, p.lowerOffset, p.upperOffset, lowerShare, upperShare, p.link };
        }
    }

    /// Vertices enter their layers in the order of a depth-first search from the sources in input order; of a node's neighbours the nodes
    /// come before its lane, so that lanes start out on the right. Sources of minor edges only start out on the left.
    void orderAtFirst()
    {
        auto& g = m_out.graph;
        const auto vertices = static_cast<Vertex>(g.layer.size());
        std::vector<std::uint8_t> minor(vertices, 0);
        for (Vertex v = 0; v < m_count; ++v) {
            const auto arcs = arcsOf(v);
            minor[v] = g.above(v).empty() && !arcs.empty() && std::all_of(arcs.begin(), arcs.end(), [](const Arc& a) { return a.minor; }) ? 1 : 0;
        }
        g.layerBegin.assign(g.layers + 1, 0);
        std::vector<std::uint32_t> minorsIn(g.layers, 0);
        for (Vertex v = 0; v < vertices; ++v) {
            ++g.layerBegin[g.layer[v] + 1];
            minorsIn[g.layer[v]] += minor[v];
        }
        std::partial_sum(g.layerBegin.begin(), g.layerBegin.end(), g.layerBegin.begin());
        g.order.resize(vertices);
        g.position.assign(vertices, 0);
        std::array<std::vector<std::uint32_t>, 2> nextPlace; // of the others, of the minor ones
        nextPlace[0].resize(g.layers);
        nextPlace[1].assign(g.layerBegin.begin(), g.layerBegin.end() - 1);
        for (std::uint32_t l = 0; l < g.layers; ++l) {
            nextPlace[0][l] = g.layerBegin[l] + minorsIn[l];
        }
        std::vector<std::uint32_t> nextChild(g.downBegin.begin(), g.downBegin.end());
        std::vector<std::uint8_t> seen(vertices, 0);
        std::vector<Vertex> stack;
        const auto enter = [&](Vertex v) {
            const auto l = g.layer[v];
            seen[v] = 1;
            g.position[v] = nextPlace[minor[v]][l] - g.layerBegin[l];
            g.order[nextPlace[minor[v]][l]++] = v;
            stack.push_back(v);
        };
        for (const std::uint8_t phase : { std::uint8_t(0), std::uint8_t(1) }) {
            for (Vertex start = 0; start < vertices; ++start) {
                if (seen[start] || minor[start] != phase || !g.above(start).empty()) {
                    continue;
                }
                enter(start);
                while (!stack.empty()) {
                    const Vertex v = stack.back();
                    if (nextChild[v] == g.downBegin[v + 1]) {
                        stack.pop_back();
                        continue;
                    }
                    const Vertex child = g.down[nextChild[v]++].vertex;
                    if (!seen[child]) {
                        enter(child);
                    }
                }
            }
        }
    }

    std::span<const LayoutNode> m_nodes;
    std::span<const LayoutEdge> m_edges;
    const LayoutOptions& m_options;
    const std::stop_token& m_stop;
    Vertex m_count;
    ProperLayers m_out;
    std::vector<Pin> m_pins;
    std::vector<std::uint32_t> m_firstEdge; ///< per node, offsets into m_edges
    std::vector<Arc> m_arcs;
    std::vector<std::uint32_t> m_firstArc;
    std::vector<Vertex> m_downwards; ///< nodes in topological order
    std::vector<Piece> m_pieces;
};

} // namespace

ProperLayers properLayers(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges, const LayoutOptions& options, const std::stop_token& stop)
{
    return Builder(nodes, edges, options, stop).build();
}

} // namespace forkpoint::graph::layered
