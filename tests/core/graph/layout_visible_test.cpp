// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/visible_layout.h"
#include "tests/core/graph/layout_picture.h"
#include "tests/support/union_sample.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace forkpoint::graph {
namespace {

using test::aligned;
using test::gpt;
using test::SampleRun;

UnionGraph graphOf(const SampleRun& a, const SampleRun& b, UnionOptions options = {}) { return unionGraph(aligned(a, b), options).value(); }

std::vector<std::string> namesOf(const UnionGraph& graph, const VisibleGraph& visible)
{
    std::vector<std::string> names;
    for (const auto& item : visible.items) {
        names.push_back(graph.label(item.node));
    }
    return names;
}

std::vector<ItemSize> sizesOf(const std::vector<std::string>& names)
{
    std::vector<ItemSize> sizes;
    for (const auto& name : names) {
        const auto node = test::pictureNode(name);
        sizes.push_back({ node.width, node.height });
    }
    return sizes;
}

std::string draw(const UnionGraph& graph, const Expansion& expansion)
{
    const auto visible = visibleGraph(graph, expansion);
    const auto names = namesOf(graph, visible);
    return test::picture(visibleLayout(visible, sizesOf(names), test::pictureStyle()).value(), visible, names);
}

bool within(const Rect& inner, const Rect& outer)
{
    constexpr double kNoise = 1e-9;
    return inner.x >= outer.x - kNoise && inner.y >= outer.y - kNoise && inner.right() <= outer.right() + kNoise && inner.bottom() <= outer.bottom() + kNoise;
}

bool overlap(const Rect& x, const Rect& y) { return x.x < y.right() && y.x < x.right() && x.y < y.bottom() && y.y < x.bottom(); }

bool isAncestor(const VisibleGraph& visible, ItemId frame, ItemId item) { return frame < item && item < visible.items[frame].end; }

/// Edges of the union graph are each in one visible edge, or hidden in a collapsed group.
void expectAllEdges(const UnionGraph& graph, const VisibleGraph& visible)
{
    std::vector<int> times(graph.edges.size(), 0);
    for (const auto& edge : visible.edges) {
        EXPECT_NE(edge.from, edge.to);
        EXPECT_LT(edge.begin, edge.end);
        Sides sides = Sides::None;
        bool recorded = false;
        for (const auto e : visible.edgesOf(edge)) {
            ++times[e];
            EXPECT_EQ(visible.itemOfNode[graph.edges[e].from], edge.from);
            EXPECT_EQ(visible.itemOfNode[graph.edges[e].to], edge.to);
            sides = sides | graph.edges[e].sides;
            recorded = recorded || graph.edges[e].kind == EdgeKind::Recorded;
        }
        EXPECT_EQ(edge.sides, sides);
        EXPECT_EQ(edge.recorded, recorded);
    }
    for (const auto e : visible.hidden) {
        ++times[e];
        EXPECT_EQ(visible.itemOfNode[graph.edges[e].from], visible.itemOfNode[graph.edges[e].to]);
    }
    EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](int t) { return t == 1; }));
}

void expectNested(const VisibleGraph& visible, const VisibleLayout& layout, const FrameStyle& style)
{
    const Rect all { 0, 0, layout.width, layout.height };
    for (ItemId i = 0; i < visible.items.size(); ++i) {
        const auto parent = visible.items[i].parent;
        auto room = parent == kNoItem ? all : layout.items[parent];
        if (parent != kNoItem) {
            room.y += style.header;
            room.height -= style.header;
        }
        EXPECT_TRUE(within(layout.items[i], room)) << i;
        for (ItemId j = 0; j < i; ++j) {
            EXPECT_TRUE(isAncestor(visible, j, i) || !overlap(layout.items[i], layout.items[j])) << j << " and " << i;
        }
    }
}

/// An edge's segments follow each other from its source to its target, each within its frame.
void expectConnected(const VisibleGraph& visible, const VisibleLayout& layout)
{
    ASSERT_EQ(layout.edgeSegmentsBegin.size(), visible.edges.size() + 1);
    for (std::size_t e = 0; e < visible.edges.size(); ++e) {
        const auto& edge = visible.edges[e];
        const auto segments = layout.segmentsOf(e);
        const bool contained = isAncestor(visible, edge.from, edge.to) || isAncestor(visible, edge.to, edge.from);
        EXPECT_EQ(segments.empty(), contained);
        for (std::size_t i = 0; i < segments.size(); ++i) {
            const auto& segment = layout.segments[segments[i]];
            const auto route = layout.route(segment);
            ASSERT_GE(route.size(), 2u);
            if (i > 0) {
                const auto end = layout.route(layout.segments[segments[i - 1]]).back();
                EXPECT_NEAR(end.x, route.front().x, 1e-6);
                EXPECT_NEAR(end.y, route.front().y, 1e-6);
            }
            EXPECT_TRUE(segment.frame == kNoItem || isAncestor(visible, segment.frame, edge.from) || isAncestor(visible, segment.frame, edge.to));
            for (const auto& p : route) {
                EXPECT_TRUE(segment.frame == kNoItem || within({ p.x, p.y, 0, 0 }, layout.items[segment.frame]));
            }
            EXPECT_FALSE(segment.implied);
            EXPECT_TRUE(!edge.recorded || segment.recorded);
        }
        if (!segments.empty()) {
            const auto &first = layout.segments[segments.front()], &last = layout.segments[segments.back()];
            const auto &from = layout.items[edge.from], &to = layout.items[edge.to];
            EXPECT_NEAR(layout.route(first).front().y, from.bottom(), 1e-6);
            EXPECT_NEAR(layout.route(last).back().y, to.y, 1e-6);
            EXPECT_TRUE(last.arrives);
        }
    }
}

/// Whoever follows a line from a source through ports reaches its targets and no others: edges that meet at a port can be exchanged.
void expectPortsLoseNothing(const VisibleGraph& visible, const VisibleLayout& layout)
{
    std::set<std::pair<ItemId, ItemId>> pairs;
    for (const auto& edge : visible.edges) {
        pairs.emplace(edge.from, edge.to);
    }
    std::map<std::tuple<double, double>, std::vector<std::size_t>> meeting;
    for (std::size_t e = 0; e < visible.edges.size(); ++e) {
        const auto segments = layout.segmentsOf(e);
        for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
            const auto end = layout.route(layout.segments[segments[i]]).back();
            meeting[{ end.x, end.y }].push_back(e);
        }
    }
    for (const auto& [where, edges] : meeting) {
        for (const auto x : edges) {
            for (const auto y : edges) {
                EXPECT_TRUE(pairs.contains({ visible.edges[x].from, visible.edges[y].to }));
            }
        }
    }
}

void expectSound(const UnionGraph& graph, const Expansion& expansion)
{
    const auto visible = visibleGraph(graph, expansion);
    expectAllEdges(graph, visible);
    const auto names = namesOf(graph, visible);
    const FrameStyle style;
    const auto layout = visibleLayout(visible, sizesOf(names), style).value();
    expectNested(visible, layout, style);
    expectConnected(visible, layout);
    expectPortsLoseNothing(visible, layout);
    const auto again = visibleLayout(visible, sizesOf(names), style).value();
    EXPECT_EQ(again.items, layout.items);
    EXPECT_EQ(again.points, layout.points);
}

test::GptShape shapeOf(int blocks, int extra = -1)
{
    test::GptShape shape;
    shape.blocks = blocks;
    shape.extraBlock = extra;
    return shape;
}

TEST(VisibleLayout, CollapsedRunIsAChain)
{
    const auto a = gpt(shapeOf(2)), b = gpt(shapeOf(2, 1));
    const auto graph = graphOf(a, b);
    EXPECT_EQ(draw(graph, Expansion(graph)), R"(
[batch]
    |
    |
[(root)]
    |
    |
 [loss]
)");
}

TEST(VisibleLayout, ABlockThatOneSideLacksIsPassedByTheOther)
{
    const auto a = gpt(shapeOf(2)), b = gpt(shapeOf(2, 1));
    const auto graph = graphOf(a, b);
    EXPECT_EQ(draw(graph, Expansion::toDepth(graph, 1)), R"(
        [batch]
           |
           |
+-(root)---|------------+
:       /     \         :
: [tokens]  [positions] :
:      \        /       :
:         \  /          :
:     [layers.0]        :
:          |  \         :
:          |      \     :
:   [layers.extra]  |   :
:          |      /     :
:          |  /         :
:     [layers.1]        :
:          |            :
:          |            :
:       [norm]          :
:          |            :
:          |            :
:       [head]          :
:          |            :
+----------|------------+
           |
           |
        [loss]
)");
}

TEST(VisibleLayout, ExpandedBlockIsAFrameAroundItsContent)
{
    const auto run = gpt(shapeOf(2));
    const auto graph = graphOf(run, run);
    Expansion expansion(graph);
    expansion.expandTo(graph, graph.find("layers.1.attention.key"));
    EXPECT_EQ(draw(graph, expansion), R"(
              [batch]
                 |
                 |
+-(root)---------|------------------+
:             /     \               :
:      [tokens]  [positions]        :
:            \       /              :
:               \ /                 :
:           [layers.0]              :
:                |                  :
:                |                  :
: +-layers.1-----|----------------+ :
: :              |       \        : :
: :           [norm1]            |: :
: :              |               |: :
: :              |               |: :
: : +-attention--|------------+  |: :
: : :        /   |   \        :  |: :
: : : [query]  [key]  [value] :  |: :
: : :      \     |     /      :  |: :
: : :          \ | /          :  |: :
: : :      [projection]       :  |: :
: : :            |            :  |: :
: : +------------|------------+  |: :
: :              |           /    : :
: :              |   /            : :
: :           [norm2]             : :
: :              |                : :
: :              |                : :
: :            [mlp]              : :
: :              |                : :
: +--------------|----------------+ :
:                |                  :
:                |                  :
:             [norm]                :
:                |                  :
:                |                  :
:             [head]                :
:                |                  :
+----------------|------------------+
                 |
                 |
              [loss]
)");
}

TEST(VisibleLayout, SpineIsOneVerticalLineThroughAllFrames)
{
    const auto run = gpt(shapeOf(6));
    UnionOptions options;
    options.parameters = true;
    for (const bool parameters : { false, true }) {
        options.parameters = parameters;
        const auto graph = graphOf(run, run, options);
        const auto visible = visibleGraph(graph, Expansion::all(graph));
        const auto layout = visibleLayout(visible, sizesOf(namesOf(graph, visible))).value();
        const auto middle = [&](const std::string& path) {
            const auto& rect = layout.items[visible.itemOfNode[graph.find(path)]];
            return rect.x + rect.width / 2;
        };
        const double x = middle("layers.0.norm1");
        for (int i = 0; i < 6; ++i) {
            const std::string block = "layers." + std::to_string(i);
            for (const auto* name : { ".norm1", ".attention.key", ".attention.projection", ".norm2", ".mlp.up", ".mlp.act", ".mlp.down" }) {
                EXPECT_EQ(middle(block + name), x) << block << name;
            }
        }
        for (const auto* name : { "batch", "norm", "head", "loss" }) {
            EXPECT_EQ(middle(name), x) << name;
        }
    }
}

TEST(VisibleLayout, EqualBlocksLookEqual)
{
    const auto run = gpt(shapeOf(4));
    const auto graph = graphOf(run, run);
    const auto visible = visibleGraph(graph, Expansion::all(graph));
    const auto layout = visibleLayout(visible, sizesOf(namesOf(graph, visible))).value();
    const auto itemOf = [&](const std::string& path) { return visible.itemOfNode[graph.find(path)]; };
    const auto first = itemOf("layers.1"), second = itemOf("layers.2");
    for (ItemId i = 0; i < visible.items[first].end - first; ++i) {
        const auto &x = layout.items[first + i], &y = layout.items[second + i];
        EXPECT_EQ(x.x - layout.items[first].x, y.x - layout.items[second].x);
        EXPECT_EQ(x.y - layout.items[first].y, y.y - layout.items[second].y);
        EXPECT_EQ(x.width, y.width);
    }
}

TEST(VisibleLayout, ResidualIsDrawnFromBothProducers)
{
    const auto run = gpt(shapeOf(2));
    const auto graph = graphOf(run, run);
    const auto visible = visibleGraph(graph, Expansion::all(graph));
    const auto layout = visibleLayout(visible, sizesOf(namesOf(graph, visible))).value();
    const auto sum = visible.itemOfNode[graph.find("layers.1.norm2")];
    std::set<std::string> producers;
    std::set<std::uint32_t> last;
    for (std::size_t e = 0; e < visible.edges.size(); ++e) {
        if (visible.edges[e].to == sum) {
            producers.insert(graph.nodes[visible.items[visible.edges[e].from].node].path);
            last.insert(layout.segmentsOf(e).back());
        }
    }
    EXPECT_EQ(producers, (std::set<std::string> { "layers.0", "layers.1.attention", "layers.1.attention.projection" }));
    EXPECT_EQ(last.size(), 2u); // one line from the attention, one from the block before
}

TEST(VisibleLayout, DecoderBlocksTakeTheMemoryAtTheSamePort)
{
    SampleRun run;
    run.call("encoder");
    run.call("embed");
    run.enter("decoder");
    std::string input = "embed";
    for (int i = 0; i < 4; ++i) {
        const std::string block = "decoder." + std::to_string(i);
        run.enter(block);
        run.call(block + ".self");
        run.call(block + ".cross");
        run.leave();
        run.edge(input, block);
        run.edge(input, block + ".self");
        run.edge("encoder", block);
        run.edge("encoder", block + ".cross");
        run.edge(block + ".self", block + ".cross");
        input = block;
    }
    run.leave();
    const auto graph = graphOf(run, run);
    const auto visible = visibleGraph(graph, Expansion::all(graph));
    const auto layout = visibleLayout(visible, sizesOf(namesOf(graph, visible))).value();
    EXPECT_EQ(layout.stats.crossings, 0u);
    std::set<double> entries; // of the memory into each block, from the block's left side
    const auto encoder = visible.itemOfNode[graph.find("encoder")];
    for (std::size_t e = 0; e < visible.edges.size(); ++e) {
        const auto to = visible.edges[e].to;
        if (visible.edges[e].from == encoder && visible.items[to].frame) {
            entries.insert(layout.route(layout.segments[layout.segmentsOf(e).back()]).back().x - layout.items[to].x);
        }
    }
    EXPECT_EQ(entries.size(), 1u);
}

TEST(VisibleLayout, OutputOfAGroupIsImpliedByWhatEndsInIt)
{
    const auto run = gpt(shapeOf(2));
    const auto graph = graphOf(run, run);
    const auto visible = visibleGraph(graph, Expansion::all(graph));
    const auto layout = visibleLayout(visible, sizesOf(namesOf(graph, visible))).value();
    std::set<std::string> frames;
    std::size_t implied = 0;
    for (const auto& segment : layout.segments) {
        if (segment.implied) {
            ++implied;
            EXPECT_FALSE(segment.recorded);
            frames.insert(graph.nodes[visible.items[segment.frame].node].path);
        }
    }
    EXPECT_EQ(frames, (std::set<std::string> { "layers.0", "layers.0.mlp", "layers.1", "layers.1.mlp" }));
    EXPECT_EQ(implied, 4u);
}

TEST(VisibleLayout, EveryStateOfExpansionIsSound)
{
    const auto a = gpt(shapeOf(3)), b = gpt(shapeOf(3, 2));
    for (const bool extras : { false, true }) {
        UnionOptions options;
        options.parameters = options.containers = extras;
        const auto graph = graphOf(a, b, options);
        for (int depth = 0; depth < 6; ++depth) {
            expectSound(graph, Expansion::toDepth(graph, depth));
        }
        for (unsigned seed = 0; seed < 20; ++seed) {
            std::mt19937 random(seed);
            Expansion expansion(graph);
            for (NodeId id = 0; id < graph.nodes.size(); ++id) {
                expansion.set(id, random() % 3 != 0);
            }
            expectSound(graph, expansion);
        }
    }
}

/// Calls nested at random, edges between any two of them, also backwards and between a group and its own content.
SampleRun randomRun(unsigned seed)
{
    std::mt19937 random(seed);
    SampleRun run;
    std::vector<std::string> stack { "m" }, paths;
    run.enter("m");
    for (int i = 0; i < 60; ++i) {
        const auto choice = random() % 5;
        if (choice == 0 && stack.size() < 6) {
            stack.push_back(stack.back() + ".g" + std::to_string(i));
            run.enter(stack.back());
            paths.push_back(stack.back());
        } else if (choice == 1 && stack.size() > 1) {
            run.leave();
            stack.pop_back();
        } else {
            paths.push_back(stack.back() + ".n" + std::to_string(i));
            run.call(paths.back());
        }
    }
    for (; !stack.empty(); stack.pop_back()) {
        run.leave();
    }
    for (int i = 0; i < 90; ++i) {
        auto from = random() % paths.size(), to = random() % paths.size();
        if (from > to && random() % 8 != 0) {
            std::swap(from, to);
        }
        run.edge(paths[from], paths[to]);
    }
    return run;
}

TEST(VisibleLayout, RandomGroupsAreSound)
{
    for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        const auto a = randomRun(seed);
        const auto b = seed % 4 == 0 ? randomRun(seed + 1000) : a;
        const auto graph = graphOf(a, b);
        std::mt19937 random(seed);
        for (int round = 0; round < 3; ++round) {
            Expansion expansion = Expansion::all(graph);
            for (NodeId id = 0; id < graph.nodes.size() && round > 0; ++id) {
                expansion.set(id, random() % 4 != 0);
            }
            expectSound(graph, expansion);
        }
    }
}

TEST(VisibleLayout, EmptyGraphAndSingleNode)
{
    const VisibleGraph empty;
    const auto nothing = visibleLayout(empty, {}).value();
    EXPECT_EQ(nothing.width, 0);
    EXPECT_EQ(nothing.edgeSegmentsBegin.size(), 1u);
    SampleRun run;
    run.call("fc");
    auto alignment = aligned(run, run);
    alignment.pairs.clear();
    const auto graph = unionGraph(alignment, {}).value();
    const auto visible = visibleGraph(graph, Expansion::all(graph));
    ASSERT_EQ(visible.items.size(), 1u);
    EXPECT_FALSE(visible.items[0].frame);
    EXPECT_EQ(visibleLayout(visible, std::vector<ItemSize> { { 80, 30 } }).value().items[0], (Rect { 0, 0, 80, 30 }));
}

TEST(VisibleLayout, FramesAreAtLeastAsWideAsTheirTitles)
{
    SampleRun run;
    const std::string name(500, 'x');
    run.enter(name);
    run.call(name + ".a");
    run.call(name + ".b");
    run.leave();
    run.edge(name + ".a", name + ".b");
    run.call("after");
    run.edge(name, "after");
    const auto graph = graphOf(run, run);
    const auto visible = visibleGraph(graph, Expansion::all(graph));
    const auto names = namesOf(graph, visible);
    const auto layout = visibleLayout(visible, sizesOf(names)).value();
    const auto frame = layout.items[visible.itemOfNode[graph.find(name)]], inner = layout.items[visible.itemOfNode[graph.find(name + ".a")]];
    EXPECT_GE(frame.width, 502 * test::kCellWidth);
    EXPECT_NEAR(inner.x + inner.width / 2, frame.x + frame.width / 2, 1);
}

TEST(VisibleLayout, RefusesAnotherNumberOfSizesAndStops)
{
    const auto run = gpt();
    const auto graph = graphOf(run, run);
    const auto visible = visibleGraph(graph, Expansion::all(graph));
    EXPECT_EQ(visibleLayout(visible, {}).error().code, ErrorCode::Usage);
    std::stop_source source;
    source.request_stop();
    EXPECT_EQ(visibleLayout(visible, std::vector<ItemSize>(visible.items.size()), {}, source.get_token()).error().code, ErrorCode::Cancelled);
}

TEST(Expansion, ToANode)
{
    const auto run = gpt();
    const auto graph = graphOf(run, run);
    Expansion expansion(graph);
    expansion.expandTo(graph, graph.find("layers.0.mlp.up"));
    const auto visible = visibleGraph(graph, expansion);
    EXPECT_EQ(visible.items[visible.itemOfNode[graph.find("layers.0.mlp.up")]].node, graph.find("layers.0.mlp.up"));
    EXPECT_EQ(visible.items[visible.itemOfNode[graph.find("layers.1.mlp.up")]].node, graph.find("layers.1"));
    EXPECT_EQ(visible.items[visible.itemOfNode[graph.find("layers.0.attention.key")]].node, graph.find("layers.0.attention"));
}

} // namespace
} // namespace forkpoint::graph
