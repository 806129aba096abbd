// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/layer_coordinates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

// The method of Brandes and Koepf, with three changes.
//
// Each vertex is aligned with at most one neighbour in the layer before it, so that vertices form vertical blocks; blocks are then pushed
// together. Done four times (aligning downwards or upwards, leftmost or rightmost first), and each vertex takes the mean of its two middle
// positions: that keeps what is straight in all four and centres the rest.
//
// 1. Pieces are aligned in order of their Link, spine first, instead of in one go with lanes first. Within a kind it is the original
//    method, and a piece that would cross an aligned one is left slanted.
// 2. Attachment points: a block is straight where its pieces meet their nodes, so a vertex has a shift within its block (Rueegg et al.,
//    "Size- and port-aware horizontal node coordinate assignment", 2015).
// 3. Blocks are pushed together by longest paths over the graph of blocks, first to the left, then back towards what lies right of them.
//    The published compaction by classes is wrong in corner cases (Brandes, Walter, Zink: "Erratum", 2020), and this is linear as well.
namespace forkpoint::graph::layered {

namespace {

constexpr std::size_t kCancelEvery = 1u << 12;
constexpr Vertex kNone = UINT32_MAX;
constexpr double kGrid = 16; ///< coordinates are multiples of 1/16: equal on every machine, and straight is exactly straight
constexpr double kMostDrift = 150; ///< a block whose nodes are entered and left at different points walks aside; no further than this
constexpr double kNoise = 1e-6; ///< of sums that should be equal

class Placement {
public:
    Placement(const ProperGraph& graph, double nodeGap, double laneGap, const std::stop_token& stop)
        : m_graph(graph)
        , m_vertices(static_cast<Vertex>(graph.layer.size()))
        , m_nodeGap(nodeGap)
        , m_laneGap(laneGap)
        , m_stop(stop)
        , m_up(graph.up)
        , m_down(graph.down)
        , m_linksBelow(graph.layers, 0)
    {
        for (Vertex v = 0; v < m_vertices; ++v) {
            const auto byPlace = [&](const Neighbour& x, const Neighbour& y) {
                return m_graph.position[x.vertex] + static_cast<double>(x.otherShare) < m_graph.position[y.vertex] + static_cast<double>(y.otherShare);
            };
            std::stable_sort(m_up.begin() + m_graph.upBegin[v], m_up.begin() + m_graph.upBegin[v + 1], byPlace);
            std::stable_sort(m_down.begin() + m_graph.downBegin[v], m_down.begin() + m_graph.downBegin[v + 1], byPlace);
        }
        findSpine();
        for (Vertex v = 0; v < m_vertices; ++v) {
            for (const auto& n : downOf(v)) {
                m_linksBelow[m_graph.layer[v]] = static_cast<std::uint8_t>(m_linksBelow[m_graph.layer[v]] | (1u << static_cast<unsigned>(n.link)));
            }
        }
    }

    std::vector<double> run()
    {
        std::array<std::vector<double>, 4> all;
        for (std::size_t i = 0; i < all.size(); ++i) {
            m_fromAbove = i < 2;
            m_mirrored = i % 2 == 1;
            align();
            compact();
            if (m_stop.stop_requested()) {
                return std::vector<double>(m_vertices, 0);
            }
            all[i] = m_x;
        }
        return combine(all);
    }

private:
    std::span<Neighbour> upOf(Vertex v) { return { m_up.data() + m_graph.upBegin[v], m_up.data() + m_graph.upBegin[v + 1] }; }
    std::span<Neighbour> downOf(Vertex v) { return { m_down.data() + m_graph.downBegin[v], m_down.data() + m_graph.downBegin[v + 1] }; }

    /// The middle one of an odd number of short neighbours, kNone if there is none.
    static Vertex middleOf(std::span<const Neighbour> neighbours)
    {
        std::size_t count = 0;
        for (const auto& n : neighbours) {
            count += n.link == Link::Short ? 1 : 0;
        }
        std::size_t before = count / 2;
        for (const auto& n : neighbours) {
            if (count % 2 == 1 && n.link == Link::Short && before-- == 0) {
                return n.vertex;
            }
        }
        return kNone;
    }

    /// A chain is straight, and a fan of three (query, key, value) hangs on its middle.
    void findSpine()
    {
        std::vector<Vertex> middleAbove(m_graph.nodes), middleBelow(m_graph.nodes);
        for (Vertex v = 0; v < m_graph.nodes; ++v) {
            middleAbove[v] = middleOf(upOf(v));
            middleBelow[v] = middleOf(downOf(v));
        }
        const auto mark = [](std::span<Neighbour> neighbours, Vertex other) {
            for (auto& n : neighbours) {
                n.link = n.link == Link::Short && n.vertex == other ? Link::Spine : n.link;
            }
        };
        for (Vertex v = 0; v < m_graph.nodes; ++v) {
            if (const Vertex below = middleBelow[v]; below != kNone && middleAbove[below] == v) {
                mark(downOf(v), below);
                mark(upOf(below), v);
            }
        }
    }

    std::uint32_t sizeOf(std::uint32_t l) const { return m_graph.layerBegin[l + 1] - m_graph.layerBegin[l]; }
    /// The vertex at a place of a layer, counted from the side that the pass starts on.
    Vertex at(std::uint32_t l, std::uint32_t place) const
    {
        return m_graph.order[m_mirrored ? m_graph.layerBegin[l + 1] - 1 - place : m_graph.layerBegin[l] + place];
    }
    std::int64_t placeOf(Vertex v) const
    {
        const auto position = static_cast<std::int64_t>(m_graph.position[v]);
        return m_mirrored ? sizeOf(m_graph.layer[v]) - 1 - position : position;
    }
    Vertex rightOf(Vertex v) const
    {
        const auto l = m_graph.layer[v];
        const auto index = m_graph.layerBegin[l] + m_graph.position[v];
        if (m_mirrored) {
            return index == m_graph.layerBegin[l] ? kNone : m_graph.order[index - 1];
        }
        return index + 1 == m_graph.layerBegin[l + 1] ? kNone : m_graph.order[index + 1];
    }
    double distance(Vertex left, Vertex right) const
    {
        const double gap = left < m_graph.nodes && right < m_graph.nodes ? m_nodeGap : m_laneGap;
        return gap + (m_mirrored ? m_graph.left[left] + m_graph.right[right] : m_graph.right[left] + m_graph.left[right]);
    }

    void align()
    {
        m_root.resize(m_vertices);
        m_next.assign(m_vertices, kNone);
        m_shift.assign(m_vertices, 0);
        m_taken.assign(m_vertices, 0);
        m_firstLine.resize(m_vertices);
        for (Vertex v = 0; v < m_vertices; ++v) {
            m_root[v] = v;
        }
        for (std::uint32_t i = 1; i < m_graph.layers; ++i) {
            const std::uint32_t l = m_fromAbove ? i : m_graph.layers - 1 - i;
            alignLayer(l, m_linksBelow[m_fromAbove ? l - 1 : l]);
            if (i % kCancelEvery == 0 && m_stop.stop_requested()) {
                return;
            }
        }
    }

    void alignLayer(std::uint32_t l, unsigned links)
    {
        const std::uint32_t size = sizeOf(l);
        constexpr auto kFar = std::numeric_limits<std::int64_t>::max();
        m_match.assign(size, -1);
        bool first = true;
        for (std::size_t link = 0; link < kLinks; ++link) {
            if (!(links >> link & 1u)) {
                continue;
            }
            m_bound.assign(size, kFar); // the first aligned place to the right
            if (!first) {
                for (std::uint32_t j = size - 1; j > 0; --j) {
                    m_bound[j - 1] = m_match[j] >= 0 ? m_match[j] : m_bound[j];
                }
            }
            first = false;
            std::int64_t last = -1; // the last aligned place to the left
            for (std::uint32_t j = 0; j < size; ++j) {
                if (m_match[j] < 0) {
                    m_match[j] = alignVertex(at(l, j), static_cast<Link>(link), last, m_bound[j]);
                }
                last = std::max(last, m_match[j]);
            }
        }
    }

    /// Aligns v with the median of its neighbours of one kind; of two medians the first that is free and strictly between `last` and `bound`.
    /// Returns its place, -1 if there is none.
    std::int64_t alignVertex(Vertex v, Link link, std::int64_t last, std::int64_t bound)
    {
        const std::span<const Neighbour> neighbours = m_fromAbove ? upOf(v) : downOf(v);
        std::size_t count = 0;
        for (const auto& n : neighbours) {
            count += n.link == link ? 1 : 0;
        }
        if (count == 0) {
            return -1;
        }
        const std::array<std::size_t, 2> medians = m_mirrored ? std::array { count / 2, (count - 1) / 2 } : std::array { (count - 1) / 2, count / 2 };
        for (const auto median : medians) {
            std::size_t k = 0;
            const auto found = std::find_if(neighbours.begin(), neighbours.end(), [&](const Neighbour& n) { return n.link == link && k++ == median; });
            const Vertex u = found->vertex;
            const auto place = placeOf(u);
            if (!m_taken[u] && place > last && place < bound) {
                const double side = m_mirrored ? -1 : 1;
                const double line = m_shift[u] + side * static_cast<double>(found->otherOffset);
                const Vertex root = m_root[u];
                if (u == root) {
                    m_firstLine[root] = line;
                } else if (std::abs(line - m_firstLine[root]) > kMostDrift) {
                    continue;
                }
                m_taken[u] = 1;
                m_root[v] = root;
                m_next[u] = v;
                m_shift[v] = line - side * static_cast<double>(found->ownOffset);
                return place;
            }
        }
        return -1;
    }

    void compact()
    {
        std::vector<double> block(m_vertices, 0);
        std::vector<std::uint32_t> waiting(m_vertices, 0);
        std::vector<Vertex> order;
        order.reserve(m_vertices);
        for (Vertex v = 0; v < m_vertices; ++v) {
            waiting[m_root[v]] += placeOf(v) > 0 ? 1 : 0;
        }
        for (Vertex v = 0; v < m_vertices; ++v) {
            if (m_root[v] == v && waiting[v] == 0) {
                order.push_back(v);
            }
        }
        for (std::size_t i = 0; i < order.size(); ++i) {
            for (Vertex v = order[i]; v != kNone; v = m_next[v]) {
                const Vertex right = rightOf(v);
                if (right == kNone) {
                    continue;
                }
                const Vertex root = m_root[right];
                block[root] = std::max(block[root], block[order[i]] + m_shift[v] + distance(v, right) - m_shift[right]);
                if (--waiting[root] == 0) {
                    order.push_back(root);
                }
            }
            if (i % kCancelEvery == kCancelEvery - 1 && m_stop.stop_requested()) {
                break;
            }
        }
        for (auto root = order.rbegin(); root != order.rend(); ++root) {
            double most = std::numeric_limits<double>::infinity();
            for (Vertex v = *root; v != kNone; v = m_next[v]) {
                if (const Vertex right = rightOf(v); right != kNone) {
                    most = std::min(most, block[m_root[right]] + m_shift[right] - distance(v, right) - m_shift[v]);
                }
            }
            if (most < std::numeric_limits<double>::infinity()) {
                block[*root] = std::max(block[*root], most);
            }
        }
        m_x.resize(m_vertices);
        for (Vertex v = 0; v < m_vertices; ++v) {
            const double x = block[m_root[v]] + m_shift[v];
            m_x[v] = m_mirrored ? -x : x;
        }
    }

    std::pair<double, double> extent(const std::vector<double>& x) const
    {
        std::pair out(std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity());
        for (Vertex v = 0; v < m_vertices; ++v) {
            out.first = std::min(out.first, x[v] - m_graph.left[v]);
            out.second = std::max(out.second, x[v] + m_graph.right[v]);
        }
        return out;
    }

    /// Brings all four to the extent of the narrowest, each by the side it was pushed to, and takes the mean of the two middle values. Where
    /// all four keep a distance, so does every order statistic of them, and the mean.
    std::vector<double> combine(std::array<std::vector<double>, 4>& all) const
    {
        if (m_vertices == 0) {
            return {};
        }
        std::array<std::pair<double, double>, 4> extents;
        std::size_t narrowest = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            extents[i] = extent(all[i]);
            if (extents[i].second - extents[i].first < extents[narrowest].second - extents[narrowest].first) {
                narrowest = i;
            }
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            const double by = i % 2 == 0 ? extents[narrowest].first - extents[i].first : extents[narrowest].second - extents[i].second;
            for (auto& x : all[i]) {
                x += by;
            }
        }
        std::vector<double> out(m_vertices);
        for (Vertex v = 0; v < m_vertices; ++v) {
            std::array<double, 4> x { all[0][v], all[1][v], all[2][v], all[3][v] };
            std::sort(x.begin(), x.end());
            out[v] = (x[1] + x[2]) / 2;
        }
        const double start = extent(out).first;
        for (auto& x : out) {
            x = std::ceil((x - start) * kGrid - kNoise) / kGrid;
        }
        return out;
    }

    const ProperGraph& m_graph;
    Vertex m_vertices;
    double m_nodeGap, m_laneGap;
    const std::stop_token& m_stop;
    std::vector<Neighbour> m_up, m_down;   ///< by place
    std::vector<std::uint8_t> m_linksBelow; ///< per layer, the kinds of pieces that leave it downwards: a set
    bool m_fromAbove = true, m_mirrored = false;
    std::vector<Vertex> m_root, m_next;    ///< first vertex of the block; the next one in it
    std::vector<double> m_shift, m_x;      ///< from the block's position
    std::vector<double> m_firstLine;       ///< of a block's root: where its first aligned piece runs, from the block's position
    std::vector<std::uint8_t> m_taken;
    std::vector<std::int64_t> m_match, m_bound;
};

} // namespace

std::vector<double> horizontalCoordinates(const ProperGraph& graph, double nodeGap, double laneGap, const std::stop_token& stop)
{
    return Placement(graph, nodeGap, laneGap, stop).run();
}

} // namespace forkpoint::graph::layered
