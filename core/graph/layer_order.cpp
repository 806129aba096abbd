// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/layer_order.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace forkpoint::graph::layered {

namespace {

constexpr std::size_t kCancelEvery = 256;   ///< layers
constexpr std::size_t kFewPieces = 24;      ///< are counted pair by pair
constexpr std::size_t kManyPieces = 1u << 9; ///< two vertices with more pieces than this are not tried the other way round
constexpr int kPatience = 3;                ///< sweeps without gain
constexpr int kExchangeRounds = 4;

/// The two ends of a piece between neighbouring layers, as places from left to right: position of the vertex plus share of its width.
struct Ends {
    double upper = 0, lower = 0;
    bool operator<(const Ends& other) const { return upper < other.upper || (upper == other.upper && lower < other.lower); }
};

class Order {
public:
    Order(ProperGraph& graph, const std::stop_token& stop)
        : m_graph(graph)
        , m_stop(stop)
        , m_crossings(graph.layers > 0 ? graph.layers - 1 : 0, 0)
    {
    }

    std::size_t count()
    {
        m_total = 0;
        for (std::uint32_t l = 0; l + 1 < m_graph.layers && !cancelledAt(l); ++l) {
            m_crossings[l] = countBelow(l);
            m_total += m_crossings[l];
        }
        return m_total;
    }

    std::size_t reduce(int sweeps)
    {
        count();
        auto best = m_graph.order;
        std::size_t bestTotal = m_total;
        int idle = 0;
        for (int sweep = 0; sweep < sweeps && bestTotal > 0 && idle < kPatience && !m_stop.stop_requested(); ++sweep) {
            const bool changed = runSweep(sweep % 2 == 0);
            if (count() < bestTotal) {
                bestTotal = m_total;
                best = m_graph.order;
                idle = 0;
            } else {
                ++idle;
            }
            if (!changed && sweep > 0) {
                break;
            }
        }
        restore(best);
        if (bestTotal > 0 && !m_stop.stop_requested()) {
            count();
            exchangeNeighbours();
        }
        return m_total;
    }

private:
    bool cancelledAt(std::uint32_t l) const { return l % kCancelEvery == kCancelEvery - 1 && m_stop.stop_requested(); }
    std::span<Vertex> layer(std::uint32_t l) { return { m_graph.order.data() + m_graph.layerBegin[l], m_graph.order.data() + m_graph.layerBegin[l + 1] }; }

    void number(std::uint32_t l)
    {
        std::uint32_t position = 0;
        for (const Vertex v : layer(l)) {
            m_graph.position[v] = position++;
        }
    }

    void restore(const std::vector<Vertex>& order)
    {
        m_graph.order = order;
        for (std::uint32_t l = 0; l < m_graph.layers; ++l) {
            number(l);
        }
        m_total = 0;
        for (const auto c : m_crossings) {
            m_total += c;
        }
    }

    /// Crossings between layer l and the next.
    std::size_t countBelow(std::uint32_t l)
    {
        m_ends.clear();
        for (const Vertex v : layer(l)) {
            for (const auto& n : m_graph.below(v)) {
                m_ends.push_back({ m_graph.position[v] + static_cast<double>(n.ownShare), m_graph.position[n.vertex] + static_cast<double>(n.otherShare) });
            }
        }
        if (m_ends.size() <= kFewPieces) {
            std::size_t crossings = 0;
            for (std::size_t i = 1; i < m_ends.size(); ++i) {
                for (std::size_t j = 0; j < i; ++j) {
                    crossings += (m_ends[i].upper - m_ends[j].upper) * (m_ends[i].lower - m_ends[j].lower) < 0 ? 1 : 0;
                }
            }
            return crossings;
        }
        std::sort(m_ends.begin(), m_ends.end());
        return inversions();
    }

    /// Pairs of m_ends, sorted by their upper ends, whose lower ends are the other way round. Merges bottom up.
    std::size_t inversions()
    {
        m_lower.clear();
        for (const auto& e : m_ends) {
            m_lower.push_back(e.lower);
        }
        m_merged.resize(m_lower.size());
        std::size_t crossings = 0;
        for (std::size_t width = 1; width < m_lower.size(); width *= 2) {
            for (std::size_t begin = 0; begin < m_lower.size(); begin += 2 * width) {
                const auto middle = std::min(begin + width, m_lower.size()), end = std::min(begin + 2 * width, m_lower.size());
                std::size_t i = begin, j = middle;
                for (std::size_t out = begin; out < end; ++out) {
                    if (j == end || (i < middle && m_lower[i] <= m_lower[j])) {
                        m_merged[out] = m_lower[i++];
                    } else {
                        crossings += middle - i;
                        m_merged[out] = m_lower[j++];
                    }
                }
            }
            std::swap(m_lower, m_merged);
        }
        return crossings;
    }

    bool runSweep(bool downwards)
    {
        bool changed = false;
        for (std::uint32_t i = 1; i < m_graph.layers && !cancelledAt(i); ++i) {
            changed = sortByNeighbours(downwards ? i : m_graph.layers - 1 - i, downwards) || changed;
        }
        return changed;
    }

    /// Each vertex goes to the mean place of its neighbours in the layer before; those without neighbours there keep their places.
    bool sortByNeighbours(std::uint32_t l, bool fromAbove)
    {
        const auto vertices = layer(l);
        if (vertices.size() < 2) {
            return false;
        }
        m_means.clear();
        m_slots.clear();
        bool sorted = true;
        for (std::uint32_t i = 0; i < vertices.size(); ++i) {
            const auto neighbours = fromAbove ? m_graph.above(vertices[i]) : m_graph.below(vertices[i]);
            if (neighbours.empty()) {
                continue;
            }
            double sum = 0;
            for (const auto& n : neighbours) {
                sum += m_graph.position[n.vertex] + static_cast<double>(n.otherShare);
            }
            const double mean = sum / static_cast<double>(neighbours.size());
            sorted = sorted && (m_means.empty() || m_means.back().first <= mean);
            m_means.emplace_back(mean, i);
            m_slots.push_back(i);
        }
        if (sorted) {
            return false;
        }
        std::sort(m_means.begin(), m_means.end()); // equal means keep their order: the second member is the old place
        m_moved.assign(vertices.begin(), vertices.end());
        for (std::size_t k = 0; k < m_slots.size(); ++k) {
            vertices[m_slots[k]] = m_moved[m_means[k].second];
        }
        number(l);
        return true;
    }

    /// Swaps neighbours in a layer while that removes crossings.
    void exchangeNeighbours()
    {
        bool improved = true;
        for (int round = 0; round < kExchangeRounds && improved; ++round) {
            improved = false;
            for (std::uint32_t l = 0; l < m_graph.layers; ++l) {
                if (cancelledAt(l)) {
                    return;
                }
                const bool crossedAbove = l > 0 && m_crossings[l - 1] > 0, crossedBelow = l + 1 < m_graph.layers && m_crossings[l] > 0;
                if (crossedAbove || crossedBelow) {
                    improved = exchangeIn(l) || improved;
                }
            }
            count();
        }
    }

    bool exchangeIn(std::uint32_t l)
    {
        const auto vertices = layer(l);
        bool improved = false;
        for (std::size_t i = 0; i + 1 < vertices.size(); ++i) {
            const Vertex u = vertices[i], v = vertices[i + 1];
            const auto [keepAbove, swapAbove] = crossingsOf(m_graph.above(u), m_graph.above(v));
            const auto [keepBelow, swapBelow] = crossingsOf(m_graph.below(u), m_graph.below(v));
            if (swapAbove + swapBelow < keepAbove + keepBelow) {
                std::swap(vertices[i], vertices[i + 1]);
                std::swap(m_graph.position[u], m_graph.position[v]);
                improved = true;
            }
        }
        return improved;
    }

    /// Crossings among the pieces of two neighbours with u on the left, and with v on the left.
    std::pair<std::size_t, std::size_t> crossingsOf(std::span<const Neighbour> u, std::span<const Neighbour> v)
    {
        if (u.empty() || v.empty() || u.size() + v.size() > kManyPieces) {
            return { 0, 0 };
        }
        const auto places = [&](std::span<const Neighbour> neighbours, std::vector<double>& out) {
            out.clear();
            for (const auto& n : neighbours) {
                out.push_back(m_graph.position[n.vertex] + static_cast<double>(n.otherShare));
            }
            std::sort(out.begin(), out.end());
        };
        places(u, m_placesU);
        places(v, m_placesV);
        std::size_t keep = 0, swap = 0, below = 0, upTo = 0;
        for (const double x : m_placesU) {
            while (below < m_placesV.size() && m_placesV[below] < x) {
                ++below;
            }
            upTo = std::max(upTo, below);
            while (upTo < m_placesV.size() && m_placesV[upTo] <= x) {
                ++upTo;
            }
            keep += below;
            swap += m_placesV.size() - upTo;
        }
        return { keep, swap };
    }

    ProperGraph& m_graph;
    const std::stop_token& m_stop;
    std::vector<std::size_t> m_crossings; ///< below each layer but the last
    std::size_t m_total = 0;
    std::vector<Ends> m_ends;
    std::vector<double> m_lower, m_merged, m_placesU, m_placesV;
    std::vector<std::pair<double, std::uint32_t>> m_means;
    std::vector<std::uint32_t> m_slots;
    std::vector<Vertex> m_moved;
};

} // namespace

std::size_t countCrossings(const ProperGraph& graph)
{
    auto copy = graph;
    return Order(copy, {}).count();
}

std::size_t reduceCrossings(ProperGraph& graph, int sweeps, const std::stop_token& stop) { return Order(graph, stop).reduce(sweeps); }

} // namespace forkpoint::graph::layered
