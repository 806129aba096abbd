// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/node_summary.h"
#include "core/graph/visible_layout.h"
#include "tests/support/union_sample.h"

#include <benchmark/benchmark.h>
#include <map>
#include <random>

// The graph of a long transformer, of A and B together, with a node per parameter: 28 nodes per block. Argument: number of nodes, about.
namespace forkpoint::graph {
namespace {

constexpr int kNodesPerBlock = 28;

struct Sample {
    test::SampleRun a, b;
    align::Alignment alignment;

    explicit Sample(std::int64_t nodes)
    {
        test::GptShape shape;
        shape.blocks = static_cast<int>(nodes / kNodesPerBlock);
        a = test::gpt(shape);
        shape.extraBlock = shape.blocks / 2;
        b = test::gpt(shape);
        alignment = test::aligned(a, b);
    }
};

const Sample& sample(std::int64_t nodes)
{
    static std::map<std::int64_t, Sample> samples;
    return samples.try_emplace(nodes, nodes).first->second;
}

UnionGraph sampleGraph(std::int64_t nodes)
{
    UnionOptions options;
    options.parameters = true;
    return unionGraph(sample(nodes).alignment, options).value();
}

std::vector<ItemSize> sizesOf(const UnionGraph& graph, const VisibleGraph& visible)
{
    std::vector<ItemSize> sizes;
    for (const auto& item : visible.items) {
        const bool parameter = graph.nodes[item.node].kind == NodeKind::Parameter;
        sizes.push_back(parameter ? ItemSize { 90, 20 } : ItemSize { 140, 30 });
    }
    return sizes;
}

void count(benchmark::State& state, std::size_t nodes, std::size_t edges, const LayoutStats& stats)
{
    state.counters["nodes"] = static_cast<double>(nodes);
    state.counters["edges"] = static_cast<double>(edges);
    state.counters["places"] = static_cast<double>(stats.lanePlaces);
    state.counters["crossings"] = static_cast<double>(stats.crossings);
}

void unionGraphOfTransformer(benchmark::State& state)
{
    const auto& runs = sample(state.range(0));
    UnionOptions options;
    options.parameters = true;
    for (auto _ : state) {
        benchmark::DoNotOptimize(unionGraph(runs.alignment, options));
    }
}

void visibleGraphOfTransformer(benchmark::State& state)
{
    const auto graph = sampleGraph(state.range(0));
    const auto expansion = Expansion::all(graph);
    for (auto _ : state) {
        benchmark::DoNotOptimize(visibleGraph(graph, expansion));
    }
}

/// `depth` of expanded groups: 1 shows the blocks, 9 everything.
void layoutOfTransformer(benchmark::State& state)
{
    const auto graph = sampleGraph(state.range(0));
    const auto visible = visibleGraph(graph, Expansion::toDepth(graph, static_cast<int>(state.range(1))));
    const auto sizes = sizesOf(graph, visible);
    LayoutStats stats;
    for (auto _ : state) {
        auto layout = visibleLayout(visible, sizes);
        stats = layout.value().stats;
        benchmark::DoNotOptimize(layout);
    }
    count(state, visible.items.size(), visible.edges.size(), stats);
}

/// The same nodes and edges without frames: one graph for the layered layout.
void flatLayoutOfTransformer(benchmark::State& state)
{
    const auto graph = sampleGraph(state.range(0));
    std::vector<LayoutNode> nodes;
    std::vector<LayoutEdge> edges;
    for (const auto& node : graph.nodes) {
        const bool parameter = node.kind == NodeKind::Parameter;
        nodes.push_back({ parameter ? 90.0 : 140.0, parameter ? 20.0 : 30.0, Pin::None });
    }
    for (const auto& edge : graph.edges) {
        edges.push_back({ edge.from, edge.to, 0, 0, edge.kind == EdgeKind::Parameter });
    }
    LayoutStats stats;
    for (auto _ : state) {
        auto layout = layeredLayout(nodes, edges);
        stats = layout.value().stats;
        benchmark::DoNotOptimize(layout);
    }
    count(state, nodes.size(), edges.size(), stats);
}

/// Nothing is regular: each node feeds two others among the next hundred.
void layoutOfRandomGraph(benchmark::State& state)
{
    std::mt19937 random(7);
    const auto size = static_cast<std::uint32_t>(state.range(0));
    const std::vector<LayoutNode> nodes(size, { 100, 30, Pin::None });
    std::vector<LayoutEdge> edges;
    for (std::uint32_t v = 0; v + 1 < size; ++v) {
        for (int i = 0; i < 2; ++i) {
            edges.push_back({ v, std::min<std::uint32_t>(size - 1, v + 1 + static_cast<std::uint32_t>(random() % 100)), 0, 0, false });
        }
    }
    LayoutStats stats;
    for (auto _ : state) {
        auto layout = layeredLayout(nodes, edges);
        stats = layout.value().stats;
        benchmark::DoNotOptimize(layout);
    }
    count(state, nodes.size(), edges.size(), stats);
}

void summariesOfTransformer(benchmark::State& state)
{
    enum class Level : std::uint8_t { None };
    const auto graph = sampleGraph(state.range(0));
    const std::vector<Level> levels(sample(state.range(0)).alignment.pairs.size());
    for (auto _ : state) {
        benchmark::DoNotOptimize(summarise(graph, RoleSet::all(), std::span<const Level>(levels)));
    }
}

BENCHMARK(unionGraphOfTransformer)->Arg(20000)->Arg(50000)->Unit(benchmark::kMillisecond);
BENCHMARK(visibleGraphOfTransformer)->Arg(20000)->Arg(50000)->Unit(benchmark::kMillisecond);
BENCHMARK(layoutOfTransformer)->Args({ 20000, 9 })->Args({ 50000, 9 })->Args({ 20000, 1 })->Unit(benchmark::kMillisecond);
BENCHMARK(flatLayoutOfTransformer)->Arg(20000)->Arg(50000)->Unit(benchmark::kMillisecond);
BENCHMARK(layoutOfRandomGraph)->Arg(2000)->Arg(20000)->Unit(benchmark::kMillisecond);
BENCHMARK(summariesOfTransformer)->Arg(20000)->Arg(50000)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace forkpoint::graph
