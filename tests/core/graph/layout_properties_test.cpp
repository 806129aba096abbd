// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/layer_coordinates.h"
#include "core/graph/layer_order.h"
#include "core/graph/layered_layout.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>

// What holds for every graph, tried on random ones with fixed seeds.
namespace forkpoint::graph {
namespace {

struct Random {
    std::mt19937 engine;
    explicit Random(unsigned seed) : engine(seed) {}
    std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine() % limit); }
    double between(double low, double high) { return low + (high - low) * static_cast<double>(engine()) / 4294967295.0; }
};

struct Sample {
    std::vector<LayoutNode> nodes;
    std::vector<LayoutEdge> edges;
    LayoutOptions options;
    bool acyclic = true;
    std::string text;
};

/// Chains, fans, dense and sparse, with pins, attachments, minor edges, several parts; every third with cycles and loops.
Sample sampleOf(unsigned seed)
{
    Random random(seed);
    Sample sample;
    sample.acyclic = seed % 3 != 0;
    const std::uint32_t size = 1 + random.below(seed % 5 == 0 ? 120 : 30);
    const double density = random.between(0.2, 3);
    const std::uint32_t reach = 1 + random.below(size);
    for (std::uint32_t v = 0; v < size; ++v) {
        const double width = random.below(10) == 0 ? random.between(0, 900) : random.between(20, 180);
        sample.nodes.push_back({ width, random.below(10) == 0 ? random.between(0, 400) : random.between(10, 50), Pin::None });
    }
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(density * size); ++i) {
        std::uint32_t from = random.below(size), to = std::min(size - 1, from + random.below(reach + 1));
        if (!sample.acyclic && random.below(4) == 0) {
            std::swap(from, to);
        }
        if (from == to && sample.acyclic) {
            continue;
        }
        LayoutEdge edge { from, to, 0, 0, random.below(5) == 0 };
        if (random.below(3) == 0) {
            edge.fromOffset = random.between(-0.5, 0.5) * sample.nodes[from].width;
            edge.toOffset = random.between(-0.5, 0.5) * sample.nodes[to].width;
        }
        sample.edges.push_back(edge);
    }
    if (seed % 4 == 1) {
        std::vector<std::uint8_t> fed(size, 0), feeds(size, 0);
        for (const auto& edge : sample.edges) {
            feeds[edge.from] = 1;
            fed[edge.to] = 1;
        }
        for (std::uint32_t v = 0; v < size; ++v) {
            if (random.below(2) == 0) {
                sample.nodes[v].pin = !fed[v] ? Pin::Top : !feeds[v] ? Pin::Bottom : Pin::None;
            }
        }
    }
    if (seed % 7 == 0) {
        sample.options.lanesPerNode = 0;
    }
    sample.text = "seed " + std::to_string(seed);
    return sample;
}

bool overlap(const Rect& x, const Rect& y) { return x.x < y.right() && y.x < x.right() && x.y < y.bottom() && y.y < x.bottom(); }

/// Whether a straight line passes through the inside of a rectangle.
bool passes(Point a, Point b, Rect r)
{
    constexpr double kInside = 0.25;
    r = { r.x + kInside, r.y + kInside, r.width - 2 * kInside, r.height - 2 * kInside };
    if (r.width <= 0 || r.height <= 0) {
        return false;
    }
    double from = 0, to = 1;
    const auto clip = [&](double start, double delta, double low, double high) {
        if (delta == 0) {
            if (start <= low || start >= high) {
                to = -1;
            }
            return;
        }
        const double t0 = (low - start) / delta, t1 = (high - start) / delta;
        from = std::max(from, std::min(t0, t1));
        to = std::min(to, std::max(t0, t1));
    };
    clip(a.x, b.x - a.x, r.x, r.right());
    clip(a.y, b.y - a.y, r.y, r.bottom());
    return from < to;
}

class LayoutProperties : public ::testing::TestWithParam<unsigned> { };

TEST_P(LayoutProperties, NodesDoNotOverlapAndLieWithin)
{
    const auto sample = sampleOf(GetParam());
    const auto layout = layeredLayout(sample.nodes, sample.edges, sample.options).value();
    for (std::size_t i = 0; i < layout.nodes.size(); ++i) {
        const auto& node = layout.nodes[i];
        EXPECT_EQ(node.width, sample.nodes[i].width);
        EXPECT_EQ(node.height, sample.nodes[i].height);
        EXPECT_GE(node.x, -1e-9);
        EXPECT_GE(node.y, -1e-9);
        EXPECT_LE(node.right(), layout.width + 1e-9);
        EXPECT_LE(node.bottom(), layout.height + 1e-9);
        for (std::size_t j = 0; j < i; ++j) {
            EXPECT_FALSE(overlap(node, layout.nodes[j])) << sample.text << ": " << j << " and " << i;
        }
    }
}

TEST_P(LayoutProperties, EdgesRunDownwardsExceptThoseThatCloseCycles)
{
    const auto sample = sampleOf(GetParam());
    const auto layout = layeredLayout(sample.nodes, sample.edges, sample.options).value();
    std::size_t reversed = 0;
    for (std::size_t e = 0; e < sample.edges.size(); ++e) {
        const auto& edge = sample.edges[e];
        const auto route = layout.route(e);
        ASSERT_GE(route.size(), 2u);
        if (edge.from == edge.to) {
            continue;
        }
        reversed += layout.reversed[e];
        const bool up = layout.reversed[e] != 0;
        EXPECT_EQ(layout.layers[edge.from] < layout.layers[edge.to], !up) << sample.text;
        for (std::size_t i = 1; i < route.size() && !up; ++i) {
            EXPECT_LE(route[i - 1].y, route[i].y + 1e-9) << sample.text;
        }
        for (const auto& p : route) {
            EXPECT_TRUE(p.x >= -1e-9 && p.x <= layout.width + 1e-9 && p.y >= -1e-9 && p.y <= layout.height + 1e-9) << sample.text;
        }
        const auto &from = layout.nodes[edge.from], &to = layout.nodes[edge.to];
        EXPECT_NEAR(route.front().x, from.x + from.width / 2 + edge.fromOffset, 1e-9);
        EXPECT_NEAR(route.front().y, from.bottom(), 1e-9);
        EXPECT_NEAR(route.back().x, to.x + to.width / 2 + edge.toOffset, 1e-9);
        EXPECT_NEAR(route.back().y, to.y, 1e-9);
    }
    EXPECT_EQ(layout.stats.reversedEdges, reversed);
    if (sample.acyclic) {
        EXPECT_EQ(reversed, 0u) << sample.text;
    }
}

TEST_P(LayoutProperties, NoEdgePassesThroughANode)
{
    const auto sample = sampleOf(GetParam());
    const auto layout = layeredLayout(sample.nodes, sample.edges, sample.options).value();
    for (std::size_t e = 0; e < sample.edges.size(); ++e) {
        const auto route = layout.route(e);
        for (std::size_t i = 1; i < route.size(); ++i) {
            for (std::size_t v = 0; v < layout.nodes.size(); ++v) {
                EXPECT_FALSE(passes(route[i - 1], route[i], layout.nodes[v])) << sample.text << ": edge " << e << " through " << v;
            }
        }
    }
}

TEST_P(LayoutProperties, TheSameAgainAndWithEdgesInAnyOrder)
{
    const auto sample = sampleOf(GetParam());
    const auto layout = layeredLayout(sample.nodes, sample.edges, sample.options).value();
    std::vector<std::size_t> order(sample.edges.size());
    for (std::size_t e = 0; e < order.size(); ++e) {
        order[e] = e;
    }
    for (unsigned shuffle = 0; shuffle < 3; ++shuffle) {
        std::vector<LayoutEdge> edges;
        for (const auto e : order) {
            edges.push_back(sample.edges[e]);
        }
        const auto again = layeredLayout(sample.nodes, edges, sample.options).value();
        EXPECT_EQ(again.nodes, layout.nodes) << sample.text;
        EXPECT_EQ(again.width, layout.width);
        EXPECT_EQ(again.height, layout.height);
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto x = again.route(i), y = layout.route(order[i]);
            EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << sample.text;
        }
        std::shuffle(order.begin(), order.end(), std::mt19937(shuffle));
    }
}

TEST_P(LayoutProperties, CrossingsAreCountedRightAndNeverBecomeMore)
{
    using namespace layered;
    auto sample = sampleOf(GetParam());
    std::sort(sample.edges.begin(), sample.edges.end(),
              [](const LayoutEdge& x, const LayoutEdge& y) { return std::pair(x.from, x.to) < std::pair(y.from, y.to); });
    auto graph = properLayers(sample.nodes, sample.edges, sample.options, {}).graph;
    const auto naive = [&] {
        std::size_t crossings = 0;
        std::vector<std::pair<double, double>> ends;
        for (std::uint32_t l = 0; l < graph.layers; ++l) {
            ends.clear();
            for (const auto v : graph.inLayer(l)) {
                for (const auto& n : graph.below(v)) {
                    ends.emplace_back(graph.position[v] + static_cast<double>(n.ownShare), graph.position[n.vertex] + static_cast<double>(n.otherShare));
                }
            }
            for (std::size_t i = 0; i < ends.size(); ++i) {
                for (std::size_t j = 0; j < i; ++j) {
                    crossings += (ends[i].first < ends[j].first && ends[i].second > ends[j].second) || (ends[i].first > ends[j].first && ends[i].second < ends[j].second);
                }
            }
        }
        return crossings;
    };
    const auto before = countCrossings(graph);
    EXPECT_EQ(before, naive()) << sample.text;
    const auto after = reduceCrossings(graph, 12, {});
    EXPECT_LE(after, before);
    EXPECT_EQ(after, naive()) << sample.text;
    for (std::uint32_t l = 0; l < graph.layers; ++l) { // still a permutation, and positions agree
        std::uint32_t place = 0;
        for (const auto v : graph.inLayer(l)) {
            EXPECT_EQ(graph.layer[v], l);
            EXPECT_EQ(graph.position[v], place++);
        }
    }
}

TEST_P(LayoutProperties, CoordinatesKeepOrderAndGaps)
{
    using namespace layered;
    auto sample = sampleOf(GetParam());
    std::sort(sample.edges.begin(), sample.edges.end(),
              [](const LayoutEdge& x, const LayoutEdge& y) { return std::pair(x.from, x.to) < std::pair(y.from, y.to); });
    auto graph = properLayers(sample.nodes, sample.edges, sample.options, {}).graph;
    reduceCrossings(graph, 12, {});
    const auto x = horizontalCoordinates(graph, 24, 14, {});
    for (std::uint32_t l = 0; l < graph.layers; ++l) {
        const auto layer = graph.inLayer(l);
        for (std::size_t i = 1; i < layer.size(); ++i) {
            const auto left = layer[i - 1], right = layer[i];
            const double gap = left < graph.nodes && right < graph.nodes ? 24 : 14;
            EXPECT_GE(x[right] - graph.left[right], x[left] + graph.right[left] + gap - 0.0626) << sample.text; // the grid takes a 16th
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Random, LayoutProperties, ::testing::Range(1u, 161u));

} // namespace
} // namespace forkpoint::graph
