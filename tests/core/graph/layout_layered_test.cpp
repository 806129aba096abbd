// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/layered_layout.h"
#include "tests/core/graph/layout_picture.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <thread>

namespace forkpoint::graph {
namespace {

using test::picture;
using test::pictureNode;
using test::pictureOptions;

struct Named {
    std::vector<std::string> names;
    std::vector<LayoutNode> nodes;
    std::vector<LayoutEdge> edges;

    explicit Named(const std::vector<std::string>& all)
        : names(all)
    {
        for (const auto& name : all) {
            nodes.push_back(pictureNode(name));
        }
    }
    std::uint32_t number(const std::string& name) const
    {
        return static_cast<std::uint32_t>(std::find(names.begin(), names.end(), name) - names.begin());
    }
    Named& edge(const std::string& from, const std::string& to, bool minor = false)
    {
        edges.push_back({ number(from), number(to), 0, 0, minor });
        return *this;
    }
    Named& chain(const std::vector<std::string>& path)
    {
        for (std::size_t i = 1; i < path.size(); ++i) {
            edge(path[i - 1], path[i]);
        }
        return *this;
    }
    LayeredLayout layout() const { return layeredLayout(nodes, edges, pictureOptions()).value(); }
    std::string draw() const { return picture(layout(), names); }
};

std::vector<LayoutNode> boxes(std::size_t count) { return std::vector<LayoutNode>(count, { 100, 30, Pin::None }); }

TEST(LayeredLayout, EmptyGraph)
{
    const auto layout = layeredLayout({}, {}).value();
    EXPECT_EQ(layout.width, 0);
    EXPECT_EQ(layout.height, 0);
    EXPECT_TRUE(layout.nodes.empty());
    EXPECT_EQ(layout.pointsBegin.size(), 1u);
}

TEST(LayeredLayout, SingleNode)
{
    const auto layout = layeredLayout(boxes(1), {}).value();
    EXPECT_EQ(layout.nodes[0], (Rect { 0, 0, 100, 30 }));
    EXPECT_EQ(layout.width, 100);
    EXPECT_EQ(layout.height, 30);
}

TEST(LayeredLayout, ChainIsOneVerticalLine)
{
    EXPECT_EQ(Named({ "tok", "norm", "attention", "head" }).chain({ "tok", "norm", "attention", "head" }).draw(), R"(
   [tok]
     |
     |
  [norm]
     |
     |
[attention]
     |
     |
  [head]
)");
}

TEST(LayeredLayout, ResidualIsAnArcBesideTheChain)
{
    EXPECT_EQ(Named({ "in", "norm", "attn", "sum" }).chain({ "in", "norm", "attn", "sum" }).edge("in", "sum").draw(), R"(
 [in]
   |\
   |  \
[norm]  |
   |    |
   |    |
[attn]  |
   |  /
   |/
[sum]
)");
}

TEST(LayeredLayout, FanHangsOnItsMiddle)
{
    EXPECT_EQ(Named({ "norm", "q", "k", "v", "proj" }).chain({ "norm", "q", "proj" }).chain({ "norm", "k", "proj" }).chain({ "norm", "v", "proj" }).draw(), R"(
   [norm]
     /|\
  /   |   \
[q]  [k]  [v]
  \   |   /
     \|/
   [proj]
)");
}

TEST(LayeredLayout, SourcesStandJustAboveWhatTheyFeed)
{
    EXPECT_EQ(Named({ "in", "a", "b", "w" }).chain({ "in", "a", "b" }).edge("w", "b", true).draw(), R"(
    [in]
      |
      |
[w]  [a]
  \   |
     \|
     [b]
)");
}

TEST(LayeredLayout, TreesOfSourcesAreKeptTogether)
{
    const auto layout = Named({ "in", "a", "b", "c", "d", "w", "cast" }).chain({ "in", "a", "b", "c", "d" }).chain({ "w", "cast", "d" }).layout();
    EXPECT_EQ(layout.layers, (std::vector<std::uint32_t> { 0, 1, 2, 3, 4, 2, 3 }));
}

TEST(LayeredLayout, CycleIsClosedByALoopBackUp)
{
    const Named named = Named({ "a", "b", "c" }).chain({ "a", "b", "c" }).edge("c", "a");
    const auto layout = named.layout();
    EXPECT_EQ(layout.reversed, (std::vector<std::uint8_t> { 0, 0, 1 }));
    EXPECT_EQ(layout.route(2).front().y, layout.nodes[2].bottom());
    EXPECT_EQ(layout.route(2).back().y, layout.nodes[0].y);
    EXPECT_EQ(named.draw(), R"(
 ----
[a]  |
 |   |
 |   |
[b]  |
 |   |
 |   |
[c]  |
 ----
)");
}

TEST(LayeredLayout, SelfLoopStandsBesideItsNode)
{
    const auto layout = Named({ "cell", "next" }).edge("cell", "cell").edge("cell", "next").layout();
    EXPECT_EQ(layout.reversed[0], 0);
    const auto loop = layout.route(0);
    ASSERT_EQ(loop.size(), 4u);
    EXPECT_EQ(loop.front().x, layout.nodes[0].right());
    EXPECT_GT(loop[1].x, layout.nodes[0].right());
    EXPECT_LE(loop[1].x, layout.width);
}

TEST(LayeredLayout, PartsThatNothingConnectsArePackedInOrder)
{
    EXPECT_EQ(Named({ "a", "b", "x", "y", "lone" }).chain({ "a", "b" }).chain({ "x", "y" }).draw(), R"(
[a]    [x]
 |      |
 |      |
[b]    [y]


[lone]
)");
}

TEST(LayeredLayout, ManyLonelyNodesFillAnAreaRowByRow)
{
    const auto layout = layeredLayout(boxes(1000), {}).value();
    EXPECT_LT(layout.width, 3 * layout.height);
    EXPECT_LT(layout.height, 3 * layout.width);
    for (std::size_t v = 1; v < layout.nodes.size(); ++v) {
        const auto &before = layout.nodes[v - 1], &node = layout.nodes[v];
        EXPECT_TRUE(node.y > before.y || (node.y == before.y && node.x > before.x)) << v;
    }
}

TEST(LayeredLayout, PinsAreAtTheBordersAndOtherPartsBesideThem)
{
    Named named({ "in", "a", "b", "lone", "out" });
    named.nodes[0].pin = Pin::Top;
    named.nodes[4].pin = Pin::Bottom;
    named.chain({ "in", "a", "b" }).edge("in", "out");
    const auto layout = named.layout();
    EXPECT_EQ(layout.layers[0], 0u);
    EXPECT_EQ(layout.layers[4], 3u);
    EXPECT_GE(layout.nodes[3].x, layout.nodes[2].right());
    EXPECT_EQ(named.draw(), R"(
[in]        [lone]
  \
  | \
[a]  |
  |  |
  |  |
[b]  |
     |
     |
   [out]
)");
}

TEST(LayeredLayout, AttachmentsBesideTheMiddleAreMadeStraight)
{
    std::vector<LayoutNode> nodes { { 200, 40, Pin::None }, { 60, 20, Pin::None }, { 120, 40, Pin::None } };
    const std::vector<LayoutEdge> edges { { 0, 1, 60, 0, false }, { 1, 2, 0, -30, false } };
    const auto layout = layeredLayout(nodes, edges).value();
    for (std::size_t e = 0; e < edges.size(); ++e) {
        ASSERT_EQ(layout.route(e).size(), 2u);
        EXPECT_EQ(layout.route(e)[0].x, layout.route(e)[1].x);
    }
    EXPECT_EQ(layout.route(0)[0].x, layout.nodes[0].x + 160);
    EXPECT_EQ(layout.route(1)[1].x, layout.nodes[2].x + 30);
}

TEST(LayeredLayout, ParallelEdgesShareTheirLine)
{
    const auto layout = Named({ "a", "b" }).edge("a", "b").edge("a", "b").layout();
    EXPECT_TRUE(std::equal(layout.route(0).begin(), layout.route(0).end(), layout.route(1).begin(), layout.route(1).end()));
}

TEST(LayeredLayout, OneSourceTakesOneLaneHoweverManyItFeeds)
{
    constexpr std::uint32_t kLayers = 96;
    std::vector<LayoutEdge> edges;
    for (std::uint32_t i = 1; i <= kLayers; ++i) {
        if (i > 1) {
            edges.push_back({ i - 1, i, 0, 0, false });
        }
        edges.push_back({ 0, i, 0, 0, false }); // a mask
    }
    const auto layout = layeredLayout(boxes(kLayers + 1), edges).value();
    EXPECT_EQ(layout.stats.lanePlaces, kLayers - 1);
    EXPECT_EQ(layout.stats.crossings, 0u);
}

TEST(LayeredLayout, LanesBeyondTheBudgetRunAlongTheMargin)
{
    constexpr std::uint32_t kSize = 300;
    std::vector<LayoutEdge> edges;
    for (std::uint32_t v = 0; v + 1 < kSize; ++v) {
        edges.push_back({ v, v + 1, 0, 0, false });
        if (v + 3 < kSize) {
            edges.push_back({ v, v + 3, 0, 0, false });
            edges.push_back({ v, kSize - 1 - v % 5, 5, 0, false }); // from another point: a lane of its own
        }
    }
    LayoutOptions options;
    options.lanesPerNode = 0; // leaves the least budget
    const auto layout = layeredLayout(boxes(kSize), edges, options).value();
    EXPECT_GT(layout.stats.marginEdges, 200u);
    EXPECT_LE(layout.stats.lanePlaces, 1000u);
    double right = 0;
    for (const auto& node : layout.nodes) {
        right = std::max(right, node.right());
    }
    std::size_t beside = 0;
    for (std::size_t e = 0; e < edges.size(); ++e) {
        const auto route = layout.route(e);
        EXPECT_LE(route.front().y, route.back().y);
        for (const auto& p : route) {
            EXPECT_LE(p.x, layout.width);
            beside += p.x > right ? 1 : 0;
        }
    }
    EXPECT_GE(beside, 2 * layout.stats.marginEdges);
}

TEST(LayeredLayout, VeryDeepGraph)
{
    constexpr std::uint32_t kSize = 30000;
    std::vector<LayoutEdge> edges;
    for (std::uint32_t v = 0; v + 1 < kSize; ++v) {
        edges.push_back({ v, v + 1, 0, 0, false });
    }
    const auto layout = layeredLayout(boxes(kSize), edges).value();
    EXPECT_EQ(layout.stats.layers, kSize);
    EXPECT_EQ(layout.width, 100);
    EXPECT_EQ(layout.nodes[kSize - 1].x, 0);
}

TEST(LayeredLayout, VeryWideGraph)
{
    constexpr std::uint32_t kSize = 20000;
    std::vector<LayoutEdge> edges;
    for (std::uint32_t v = 1; v + 1 < kSize; ++v) {
        edges.push_back({ 0, v, 0, 0, false });
        edges.push_back({ v, kSize - 1, 0, 0, false });
    }
    const auto layout = layeredLayout(boxes(kSize), edges).value();
    EXPECT_EQ(layout.stats.layers, 3u);
    EXPECT_EQ(layout.stats.crossings, 0u);
    EXPECT_NEAR(layout.nodes[0].x + 50, layout.width / 2, 130);
    EXPECT_EQ(layout.nodes[0].x, layout.nodes[kSize - 1].x);
}

TEST(LayeredLayout, NamesOf500Characters)
{
    const std::string name(500, 'x');
    Named named({ "in", name, "out" });
    named.chain({ "in", name, "out" }).edge("in", "out");
    const auto layout = named.layout();
    EXPECT_EQ(layout.nodes[1].width, 502 * test::kCellWidth);
    EXPECT_GT(layout.route(2)[1].x, layout.nodes[1].right());
}

TEST(LayeredLayout, NodesWithoutSize)
{
    const std::vector<LayoutNode> nodes(3);
    const std::vector<LayoutEdge> edges { { 0, 1, 0, 0, false }, { 1, 2, 0, 0, false }, { 0, 2, 0, 0, false } };
    LayoutOptions options;
    options.layerGap = options.pinGap = 0;
    const auto layout = layeredLayout(nodes, edges, options).value();
    for (std::size_t e = 0; e < edges.size(); ++e) {
        EXPECT_GE(layout.route(e).size(), 2u);
    }
}

TEST(LayeredLayout, RefusesWhatItCannotLayOut)
{
    const auto codeOf = [](std::vector<LayoutNode> nodes, std::vector<LayoutEdge> edges) {
        const auto layout = layeredLayout(nodes, edges);
        return layout ? ErrorCode::Cancelled : layout.error().code;
    };
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(codeOf(boxes(2), { { 0, 2, 0, 0, false } }), ErrorCode::Usage);
    EXPECT_EQ(codeOf(boxes(2), { { 7, 1, 0, 0, false } }), ErrorCode::Usage);
    EXPECT_EQ(codeOf(boxes(2), { { 0, 1, nan, 0, false } }), ErrorCode::Usage);
    EXPECT_EQ(codeOf({ { nan, 1, Pin::None } }, {}), ErrorCode::Usage);
    EXPECT_EQ(codeOf({ { 1, inf, Pin::None } }, {}), ErrorCode::Usage);
    EXPECT_EQ(codeOf({ { -1, 1, Pin::None } }, {}), ErrorCode::Usage);
}

TEST(LayeredLayout, PinsThatEdgesContradictAreIgnored)
{
    std::vector<LayoutNode> nodes = boxes(3);
    nodes[2].pin = Pin::Top;
    nodes[0].pin = Pin::Bottom;
    const auto layout = layeredLayout(nodes, std::vector<LayoutEdge> { { 0, 1, 0, 0, false }, { 1, 2, 0, 0, false } }).value();
    EXPECT_EQ(layout.layers, (std::vector<std::uint32_t> { 0, 1, 2 }));
}

std::vector<LayoutEdge> randomEdges(std::uint32_t nodes, std::size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<LayoutEdge> edges;
    for (std::size_t i = 0; i < count; ++i) {
        edges.push_back({ static_cast<std::uint32_t>(random() % nodes), static_cast<std::uint32_t>(random() % nodes), 0, 0, false });
    }
    return edges;
}

TEST(LayeredLayout, CancelledBeforeItStarts)
{
    std::stop_source source;
    source.request_stop();
    const auto layout = layeredLayout(boxes(3), {}, {}, source.get_token());
    ASSERT_FALSE(layout);
    EXPECT_EQ(layout.error().code, ErrorCode::Cancelled);
}

double threadSeconds()
{
    timespec time {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(LayeredLayout, CancelLeavesQuickly)
{
    const auto nodes = boxes(40000);
    const auto edges = randomEdges(40000, 80000, 3);
    const double begin = threadSeconds();
    ASSERT_TRUE(layeredLayout(nodes, edges));
    const double whole = threadSeconds() - begin;
    int cancelledRuns = 0;
    // After different shares of the work, so that each step is hit. Processor time of the worker: the machine may be busy.
    for (const double share : { 0.0, 0.02, 0.05, 0.2, 0.4, 0.6, 0.8, 0.9 }) {
        std::stop_source source;
        std::atomic<double> started = 0;
        double used = 0;
        bool cancelled = false;
        std::atomic<bool> done = false;
        clockid_t clock {};
        std::atomic<bool> ready = false;
        std::thread worker([&] {
            pthread_getcpuclockid(pthread_self(), &clock);
            started = threadSeconds();
            ready = true;
            const auto layout = layeredLayout(nodes, edges, {}, source.get_token());
            cancelled = !layout && layout.error().code == ErrorCode::Cancelled;
            used = threadSeconds();
            done = true;
        });
        while (!ready) {
            std::this_thread::yield();
        }
        timespec now {};
        double atStop = 0;
        do {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            clock_gettime(clock, &now);
            atStop = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
        } while (!done && atStop - started < share * whole);
        source.request_stop();
        worker.join();
        cancelledRuns += cancelled ? 1 : 0;
        EXPECT_LT(used - atStop, 0.1) << share;
    }
    EXPECT_GT(cancelledRuns, 0); // a late scheduler may let some of them finish
}

TEST(LayeredLayout, ReportsProgress)
{
    struct Recorder : Progress {
        std::vector<double> fractions;
        void report(std::string_view, double fraction) override { fractions.push_back(fraction); }
    } recorder;
    ASSERT_TRUE(layeredLayout(boxes(1000), {}, {}, {}, &recorder));
    EXPECT_FALSE(recorder.fractions.empty());
    EXPECT_LE(recorder.fractions.size(), 101u);
    EXPECT_TRUE(std::is_sorted(recorder.fractions.begin(), recorder.fractions.end()));
}

} // namespace
} // namespace forkpoint::graph
