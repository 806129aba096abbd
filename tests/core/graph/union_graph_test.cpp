// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/node_summary.h"
#include "core/graph/union_graph.h"
#include "tests/support/union_sample.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <set>

namespace forkpoint::graph {
namespace {

using bundle::Kind;
using bundle::Phase;
using test::aligned;
using test::gpt;
using test::SampleRun;

UnionGraph graphOf(const SampleRun& a, const SampleRun& b, UnionOptions options = {}) { return unionGraph(aligned(a, b), options).value(); }

/// One line per node, indented: label, kind where it is no module, sides where not both.
std::string tree(const UnionGraph& graph)
{
    std::string out = "\n";
    std::vector<std::size_t> depths(graph.nodes.size(), 0);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        const auto& node = graph.nodes[id];
        depths[id] = node.parent == kNoNode ? 0 : depths[node.parent] + 1;
        out += std::string(2 * depths[id], ' ') + graph.label(id);
        constexpr const char* kKinds[] = { "", " (operator)", " (container)", " (parameter)", " (batch)", " (loss)" };
        out += kKinds[static_cast<std::size_t>(node.kind)];
        out += node.sides == Sides::A ? " A" : node.sides == Sides::B ? " B" : node.sides == Sides::None ? " none" : "";
        out += node.called || node.kind == NodeKind::Parameter || node.kind == NodeKind::Container ? "" : " not called";
        out += "\n";
    }
    return out;
}

std::string edgeText(const UnionGraph& graph, const Edge& edge)
{
    return graph.nodes[edge.from].path + "#" + std::to_string(graph.nodes[edge.from].call) + " -> " + graph.nodes[edge.to].path + "#"
        + std::to_string(graph.nodes[edge.to].call);
}

std::set<std::string> producers(const UnionGraph& graph, const std::string& path)
{
    std::set<std::string> out;
    for (const auto e : graph.producersOf(graph.find(path))) {
        out.insert(graph.nodes[graph.edges[e].from].path);
    }
    return out;
}

std::size_t recordedEdges(const UnionGraph& graph)
{
    return static_cast<std::size_t>(std::count_if(graph.edges.begin(), graph.edges.end(), [](const Edge& e) { return e.kind == EdgeKind::Recorded; }));
}

/// Every structural promise of the header.
void expectConsistent(const UnionGraph& graph)
{
    const auto size = static_cast<NodeId>(graph.nodes.size());
    ASSERT_EQ(graph.pairsBegin.size(), size + 1u);
    ASSERT_EQ(graph.outBegin.size(), size + 1u);
    ASSERT_EQ(graph.inBegin.size(), size + 1u);
    for (NodeId id = 0; id < size; ++id) {
        const auto& node = graph.nodes[id];
        EXPECT_GT(node.end, id);
        EXPECT_LE(node.end, size);
        EXPECT_NE(node.sides, Sides::None);
        if (node.parent != kNoNode) {
            EXPECT_LT(node.parent, id);
            EXPECT_LE(node.end, graph.nodes[node.parent].end);
        }
        for (const auto& edge : graph.consumersOf(id)) {
            EXPECT_EQ(edge.from, id);
            EXPECT_LT(edge.to, size);
            EXPECT_NE(edge.sides, Sides::None);
        }
        for (const auto e : graph.producersOf(id)) {
            EXPECT_EQ(graph.edges[e].to, id);
        }
        for (const auto& [pair, role] : graph.pairsOf(id)) {
            const auto nodes = graph.nodesOf(pair);
            EXPECT_TRUE(std::find(nodes.begin(), nodes.end(), id) != nodes.end());
        }
    }
}

TEST(UnionGraph, TransformerAsATree)
{
    test::GptShape shape;
    shape.blocks = 1;
    EXPECT_EQ(tree(graphOf(gpt(shape), gpt(shape))), R"(
batch (batch)
(root)
  tokens
  positions
  layers.0
    norm1
    attention
      query
      key
      value
      projection
    norm2
    mlp
      up
      act
      down
  norm
  head
loss (loss)
)");
}

TEST(UnionGraph, EdgesAreThoseThatWereRecorded)
{
    const auto run = gpt();
    const auto graph = graphOf(run, run);
    expectConsistent(graph);
    EXPECT_EQ(recordedEdges(graph), run.rank().edges.size());
    for (const auto& edge : graph.edges) {
        EXPECT_EQ(edge.sides, Sides::Both) << edgeText(graph, edge);
    }
}

TEST(UnionGraph, ResidualHasBothProducers)
{
    const auto graph = graphOf(gpt(), gpt());
    EXPECT_EQ(producers(graph, "layers.1.norm2"), (std::set<std::string> { "layers.0", "layers.1.attention", "layers.1.attention.projection" }));
    EXPECT_EQ(producers(graph, "layers.0.norm2"),
              (std::set<std::string> { "tokens", "positions", "layers.0.attention", "layers.0.attention.projection" }));
}

TEST(UnionGraph, WhatOneSideLacksIsFlagged)
{
    test::GptShape shape;
    const auto a = gpt(shape);
    shape.extraBlock = 1;
    const auto b = gpt(shape);
    const auto graph = graphOf(a, b);
    expectConsistent(graph);
    const auto extra = graph.find("layers.extra"), before = graph.find("layers.0"), after = graph.find("layers.1");
    EXPECT_EQ(graph.nodes[extra].sides, Sides::B);
    EXPECT_EQ(graph.nodes[graph.find("layers.extra.mlp.up")].sides, Sides::B);
    EXPECT_EQ(graph.nodes[after].sides, Sides::Both);
    EXPECT_LT(before, extra); // after its neighbour in B
    EXPECT_LT(extra, after);
    std::size_t onlyA = 0, onlyB = 0;
    for (const auto& edge : graph.edges) {
        onlyA += edge.sides == Sides::A ? 1 : 0;
        onlyB += edge.sides == Sides::B ? 1 : 0;
    }
    EXPECT_EQ(onlyA, 3u); // layers.0 into layers.1, its norm1 and its norm2
    EXPECT_EQ(onlyB, b.rank().edges.size() - (a.rank().edges.size() - onlyA));
    EXPECT_EQ(recordedEdges(graph), a.rank().edges.size() + onlyB);

    const auto swapped = graphOf(b, a);
    EXPECT_EQ(swapped.nodes.size(), graph.nodes.size());
    EXPECT_EQ(swapped.nodes[swapped.find("layers.extra")].sides, Sides::A);
}

TEST(UnionGraph, WrapperNamesAndRenamedModulesMeet)
{
    test::GptShape shape;
    const auto a = gpt(shape);
    shape.layers = "blocks";
    auto b = gpt(shape);
    for (auto& call : b.rank().calls) {
        call.module = call.module.empty() ? "module" : "module." + call.module;
        if (call.parent) {
            *call.parent = call.parent->empty() ? "module" : "module." + *call.parent;
        }
    }
    for (auto& edge : b.rank().edges) {
        for (auto* port : { &edge.from, &edge.to }) {
            if (port->module != "loss") {
                port->module = port->module.empty() ? "module" : "module." + port->module;
            }
        }
    }
    for (auto& module : b.rank().modules) {
        module.path = module.path.empty() ? "module" : "module." + module.path;
    }
    const auto graph = graphOf(a, b);
    expectConsistent(graph);
    EXPECT_EQ(tree(graph), tree(graphOf(a, a)));
    EXPECT_EQ(recordedEdges(graph), a.rank().edges.size());
    EXPECT_EQ(graph.nodes[graph.find("layers.1")].sides, Sides::Both);
    EXPECT_EQ(graph.nodes[graph.find("layers.1")].classB, "Block");
}

TEST(UnionGraph, AModuleCalledTwiceHasItsChildrenTwice)
{
    SampleRun run;
    run.module("encoder", "Encoder");
    run.module("encoder.fc", "Linear", { "weight" });
    for (int i = 0; i < 2; ++i) {
        run.enter("encoder");
        run.call("encoder.fc");
        run.leave();
    }
    run.edge("encoder", "encoder.fc", 0, 1);
    const auto graph = graphOf(run, run);
    expectConsistent(graph);
    EXPECT_EQ(tree(graph), R"(
batch (batch)
encoder
  fc
encoder #1
  fc #1
)");
    // A parameter belongs to both calls.
    const auto alignment = aligned(run, run);
    const auto start = std::find_if(alignment.pairs.begin(), alignment.pairs.end(), [](const align::Pair& p) { return p.key.phase == Phase::Start; });
    EXPECT_EQ(graph.nodesOf(static_cast<PairIndex>(start - alignment.pairs.begin())), (std::vector<NodeId> { 2, 4 }));
}

TEST(UnionGraph, AModuleCalledFromElsewhereLiesWhereItsPathSays)
{
    SampleRun run;
    run.enter("");
    run.call("shared");
    run.enter("decoder");
    run.call("shared"); // the caller is decoder, but the path is the root's
    run.leave();
    run.leave();
    run.call("decoder.head"); // called by the script: neither root nor decoder was running
    EXPECT_EQ(tree(graphOf(run, run)), R"(
batch (batch)
(root)
  shared
  decoder
  shared #1
decoder.head
)");
}

TEST(UnionGraph, ContainersOnRequest)
{
    UnionOptions options;
    options.containers = true;
    const auto graph = graphOf(gpt(), gpt(), options);
    expectConsistent(graph);
    const auto container = graph.find("layers");
    ASSERT_NE(container, kNoNode);
    EXPECT_EQ(graph.nodes[container].kind, NodeKind::Container);
    EXPECT_EQ(graph.nodes[container].classA, "ModuleList");
    EXPECT_EQ(graph.nodes[graph.find("layers.1")].parent, container);
    EXPECT_EQ(graph.label(graph.find("layers.1")), "1");
    EXPECT_EQ(graph.label(graph.find("layers.1.mlp.up")), "up");

    test::GptShape shape;
    shape.blocks = 1; // a list of one is no group
    const auto single = graphOf(gpt(shape), gpt(shape), options);
    expectConsistent(single);
    EXPECT_EQ(single.find("layers"), kNoNode);
    EXPECT_EQ(single.label(single.find("layers.0")), "layers.0");
}

TEST(UnionGraph, NestedContainersDissolveWhereTheyHoldTooLittle)
{
    SampleRun run;
    run.call("a.b.c.x");
    run.call("a.b.c.y");
    run.call("d.e.z");
    UnionOptions options;
    options.containers = true;
    const auto graph = graphOf(run, run, options);
    expectConsistent(graph);
    EXPECT_EQ(tree(graph), R"(
batch (batch)
a.b.c (container)
  x
  y
d.e.z
)");
}

TEST(UnionGraph, ParametersOnRequestAndTies)
{
    auto run = gpt();
    run.rank().ties.push_back({ "tokens.weight", "head.weight" });
    UnionOptions options;
    options.parameters = true;
    const auto plain = graphOf(run, run), graph = graphOf(run, run, options);
    expectConsistent(graph);
    const auto parameters
        = std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return n.kind == NodeKind::Parameter; });
    EXPECT_EQ(static_cast<std::size_t>(parameters), 2u * 16 + 2 + 3);
    EXPECT_EQ(graph.nodes.size(), plain.nodes.size() + static_cast<std::size_t>(parameters));
    EXPECT_EQ(recordedEdges(graph), recordedEdges(plain));
    const auto weight = graph.find("tokens.weight");
    ASSERT_EQ(graph.consumersOf(weight).size(), 2u);
    EXPECT_EQ(graph.nodes[graph.consumersOf(weight)[0].to].path, "tokens");
    EXPECT_EQ(graph.nodes[graph.consumersOf(weight)[1].to].path, "head");
    EXPECT_EQ(graph.pairsOf(weight).size(), 3u); // start, reduce, optimizer
    EXPECT_EQ(graph.nodes[weight].parent, graph.nodes[graph.find("tokens")].parent);
}

TEST(UnionGraph, BatchFeedsWhatNothingRecordedFeeds)
{
    const auto graph = graphOf(gpt(), gpt());
    const auto batch = graph.find("batch");
    ASSERT_EQ(batch, 0u);
    std::set<std::string> fed;
    for (const auto& edge : graph.consumersOf(batch)) {
        EXPECT_EQ(edge.kind, EdgeKind::Batch);
        fed.insert(graph.nodes[edge.to].path);
    }
    EXPECT_EQ(fed, (std::set<std::string> { "", "tokens", "positions" }));
    UnionOptions options;
    options.batchEdges = false;
    EXPECT_TRUE(graphOf(gpt(), gpt(), options).consumersOf(batch).empty());
}

TEST(UnionGraph, ParametersOfModulesThatAreNotCalledHaveANode)
{
    auto run = gpt();
    run.module("unused", "Linear", { "weight" });
    run.module("layers.0.attention.out_proj", "Linear", { "weight" });
    const auto graph = graphOf(run, run);
    expectConsistent(graph);
    const auto unused = graph.find("unused"), projection = graph.find("layers.0.attention.out_proj");
    EXPECT_FALSE(graph.nodes[unused].called);
    EXPECT_EQ(graph.nodes[unused].parent, graph.find(""));
    EXPECT_FALSE(graph.nodes[projection].called);
    EXPECT_EQ(graph.nodes[projection].parent, graph.find("layers.0.attention"));
    EXPECT_EQ(graph.pairsOf(projection).size(), 3u);
}

TEST(UnionGraph, WithoutRecordedGraphTheTensorsGiveTheTree)
{
    const auto run = gpt();
    auto alignment = aligned(run, run);
    const SampleRun nothing;
    alignment.a.ranks = alignment.b.ranks = { &nothing.rank() };
    const auto graph = unionGraph(alignment, {}).value();
    expectConsistent(graph);
    EXPECT_EQ(recordedEdges(graph), 0u);
    EXPECT_EQ(graph.nodes.size(), graphOf(run, run).nodes.size());
    EXPECT_EQ(graph.nodes[graph.find("layers.1.mlp.up")].parent, graph.find("layers.1.mlp"));
    EXPECT_EQ(graph.nodes[graph.find("loss")].kind, NodeKind::Loss);
}

TEST(UnionGraph, EveryPairHasItsNodes)
{
    const auto a = gpt();
    test::GptShape shape;
    shape.extraBlock = 0;
    const auto b = gpt(shape);
    const auto alignment = aligned(a, b);
    const auto graph = unionGraph(alignment, {}).value();
    for (PairIndex i = 0; i < alignment.pairs.size(); ++i) {
        const auto& key = alignment.pairs[i].key;
        const auto nodes = graph.nodesOf(i);
        ASSERT_EQ(nodes.size(), 1u) << alignment.pairs[i].id;
        EXPECT_EQ(graph.nodes[nodes[0]].path, key.kind == Kind::Batch ? "batch" : key.module);
    }
}

TEST(UnionGraph, OtherStepsAndMicroStepsAreLeftOut)
{
    const auto run = gpt();
    auto changed = gpt();
    auto alignment = aligned(run, changed);
    const auto whole = unionGraph(alignment, {}).value();
    auto later = alignment.pairs;
    for (auto& pair : later) {
        pair.key.step = 1;
    }
    alignment.pairs.insert(alignment.pairs.end(), later.begin(), later.end());
    for (auto call : run.rank().calls) {
        call.step = 1;
        call.module += "x";
        changed.rank().calls.push_back(call);
        call.step = 0;
        call.micro = 1;
        changed.rank().calls.push_back(call);
        call.micro = 0;
        call.recompute = true;
        changed.rank().calls.push_back(call);
    }
    EXPECT_EQ(tree(unionGraph(alignment, {}).value()), tree(whole));
    UnionOptions options;
    for (const auto& [step, micro] : { std::pair(1, 0), std::pair(0, 1), std::pair(0, -1) }) {
        options.step = step;
        options.micro = micro;
        const auto missing = unionGraph(alignment, options);
        ASSERT_FALSE(missing);
        EXPECT_EQ(missing.error().code, ErrorCode::Usage);
    }
}

TEST(UnionGraph, StepOffsetAndJoinedMicroSteps)
{
    const auto a = gpt();
    auto b = gpt();
    for (auto& call : b.rank().calls) {
        call.step = 5;
        call.micro = 1;
    }
    for (auto& edge : b.rank().edges) {
        edge.step = 5;
        edge.micro = 1;
    }
    b.rank().backwards[0].step = 5;
    b.rank().backwards[0].micro = 1;
    auto alignment = aligned(a, b);
    alignment.stepOffset = 5;
    alignment.steps[0].microsB = { { 0, 1 } };
    const auto graph = unionGraph(alignment, {}).value();
    EXPECT_EQ(recordedEdges(graph), a.rank().edges.size());
    EXPECT_EQ(graph.nodes[graph.find("loss")].sides, Sides::Both);
    for (const auto& edge : graph.edges) {
        EXPECT_EQ(edge.sides, Sides::Both);
    }
}

TEST(UnionGraph, RanksOfOneSideAreJoined)
{
    SampleRun first, second;
    first.call("stage0");
    second.call("stage1");
    second.edge("stage0", "stage1");
    auto alignment = aligned(first, first);
    alignment.a.ranks = { &first.rank(), &second.rank() };
    const auto graph = unionGraph(alignment, {}).value();
    expectConsistent(graph);
    EXPECT_EQ(graph.nodes[graph.find("stage1")].sides, Sides::A);
    EXPECT_EQ(recordedEdges(graph), 1u);
}

TEST(UnionGraph, WhatAStageSendsToTheNextIsNoDifference)
{
    SampleRun whole, first, second;
    for (auto* run : { &whole, &first }) {
        run->call("stage0");
        run->call("inside");
    }
    for (auto* run : { &whole, &second }) {
        run->call("stage1");
    }
    whole.edge("stage0", "inside");
    whole.edge("inside", "stage1");
    auto alignment = aligned(whole, whole);
    alignment.b.ranks = { &first.rank(), &second.rank() };
    const auto graph = unionGraph(alignment, {}).value();
    expectConsistent(graph);
    for (const auto& edge : graph.edges) {
        if (edge.kind == EdgeKind::Recorded) { // on one rank a missing edge is one
            EXPECT_EQ(edge.sides, edge.to == graph.find("stage1") ? Sides::Both : Sides::A) << edgeText(graph, edge);
        }
    }
    EXPECT_EQ(recordedEdges(graph), 2u);
}

TEST(UnionGraph, SlotsThatTheLadderMatchedAreOneEdge)
{
    SampleRun a, b;
    for (auto* run : { &a, &b }) {
        run->call("x");
        run->call("y");
        run->edge("x", "y", 0, 0, run == &a ? "0" : "input");
    }
    auto alignment = aligned(a, b);
    EXPECT_EQ(recordedEdges(unionGraph(alignment, {}).value()), 2u); // by name they are two
    for (auto& pair : alignment.pairs) {
        if (pair.key.module == "y" && pair.key.kind == Kind::Input) {
            pair.key.slot = "0";
            pair.rule = align::Rule::SlotOrder;
        }
    }
    const auto graph = unionGraph(alignment, {}).value();
    ASSERT_EQ(recordedEdges(graph), 1u);
    const auto edge = *std::find_if(graph.edges.begin(), graph.edges.end(), [](const Edge& e) { return e.kind == EdgeKind::Recorded; });
    EXPECT_EQ(edge.sides, Sides::Both);
    EXPECT_EQ(edge.toSlot, "0");
}

TEST(UnionGraph, OperatorsLieBelowTheirModule)
{
    SampleRun run;
    run.call("fc");
    auto alignment = aligned(run, run);
    align::Pair pair;
    pair.key.micro = 0;
    pair.key.phase = Phase::Forward;
    pair.key.kind = Kind::Output;
    pair.key.level = bundle::Level::Op;
    pair.key.module = "fc/aten::addmm";
    alignment.pairs.push_back(pair);
    const auto graph = unionGraph(alignment, {}).value();
    const auto node = graph.find("fc/aten::addmm");
    ASSERT_NE(node, kNoNode);
    EXPECT_EQ(graph.nodes[node].kind, NodeKind::Operator);
    EXPECT_EQ(graph.nodes[node].parent, graph.find("fc"));
    EXPECT_EQ(graph.label(node), "aten::addmm");
}

TEST(UnionGraph, TheOrderOfRecordsDoesNotMatter)
{
    test::GptShape shape;
    shape.extraBlock = 1;
    auto a = gpt(), b = gpt(shape);
    const auto alignment = aligned(a, b);
    UnionOptions options;
    options.parameters = options.containers = true;
    const auto graph = unionGraph(alignment, options).value();
    for (unsigned seed = 0; seed < 5; ++seed) {
        std::mt19937 random(seed);
        for (auto* rank : { &a.rank(), &b.rank() }) {
            std::shuffle(rank->calls.begin(), rank->calls.end(), random);
            std::shuffle(rank->edges.begin(), rank->edges.end(), random);
            std::shuffle(rank->modules.begin(), rank->modules.end(), random);
        }
        const auto again = unionGraph(alignment, options).value();
        EXPECT_EQ(tree(again), tree(graph));
        ASSERT_EQ(again.edges.size(), graph.edges.size());
        for (std::size_t e = 0; e < graph.edges.size(); ++e) {
            EXPECT_EQ(edgeText(again, again.edges[e]), edgeText(graph, graph.edges[e]));
            EXPECT_EQ(again.edges[e].sides, graph.edges[e].sides);
        }
    }
}

TEST(UnionGraph, DamagedRecordsStillGiveATree)
{
    const std::vector<std::string> paths { "", "a", "a.b", "a.b.c", "loss", "loss#1", "b", "a..b", ".", "module", "a/b", "batch", std::string(500, 'x'),
                                           "<b>&", "a.b.c.d.e.f.g.h" };
    for (unsigned seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        const auto any = [&] { return paths[random() % paths.size()]; };
        SampleRun a, b;
        for (auto* run : { &a, &b }) {
            for (auto i = random() % 40; i > 0; --i) {
                bundle::CallRecord call;
                call.module = any();
                call.call = static_cast<std::int32_t>(random() % 4) - 1;
                call.order = static_cast<std::int64_t>(random() % 20);
                call.parent = random() % 3 == 0 ? std::nullopt : std::optional(any());
                call.parentCall = static_cast<std::int32_t>(random() % 4) - 1;
                run->rank().calls.push_back(call);
            }
            for (auto i = random() % 40; i > 0; --i) {
                run->edge(any(), any(), static_cast<std::int32_t>(random() % 4) - 1, static_cast<std::int32_t>(random() % 4) - 1);
            }
            for (auto i = random() % 3; i > 0; --i) {
                run->backward(any());
            }
            for (auto i = random() % 10; i > 0; --i) {
                run->module(any(), "Class", { "weight", "" });
            }
            run->rank().ties.push_back({ any() + ".weight", any(), any() + ".weight" });
        }
        for (const bool extras : { false, true }) {
            UnionOptions options;
            options.parameters = options.containers = extras;
            const auto graph = graphOf(a, b, options);
            expectConsistent(graph);
            std::set<std::tuple<std::string, std::int32_t, std::string, std::int32_t>> distinct;
            const auto renames = align::matchRenamedModules(a.rank().modules, b.rank().modules);
            for (const auto* run : { &a, &b }) {
                for (const auto& edge : run->rank().edges) {
                    const auto inA = [&](const bundle::Port& port) {
                        const auto path = align::normalisedPath(port.module);
                        return run == &b ? align::renamed(renames, path) : path;
                    };
                    distinct.emplace(inA(edge.from), edge.from.call, inA(edge.to), edge.to.call);
                }
            }
            EXPECT_EQ(recordedEdges(graph), distinct.size()) << seed;
        }
    }
}

TEST(UnionGraph, Cancelled)
{
    const auto run = gpt();
    std::stop_source source;
    source.request_stop();
    const auto graph = unionGraph(aligned(run, run), {}, source.get_token());
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().code, ErrorCode::Cancelled);
}

TEST(UnionGraph, EmptyRuns)
{
    const SampleRun nothing;
    auto alignment = aligned(nothing, nothing);
    alignment.pairs.clear();
    const auto graph = unionGraph(alignment, {}).value();
    expectConsistent(graph);
    EXPECT_TRUE(graph.nodes.empty());
    EXPECT_EQ(graph.find("x"), kNoNode);
}

enum class Severity : std::uint8_t { Identical, Noise, Unmatched, Drift, Divergent, Invalid };

struct Judged {
    align::Alignment alignment;
    UnionGraph graph;
    std::vector<Severity> severities;

    explicit Judged(const SampleRun& run)
        : alignment(aligned(run, run))
        , graph(unionGraph(alignment, {}).value())
        , severities(alignment.pairs.size(), Severity::Noise)
    {
    }
    PairIndex pair(Phase phase, Kind kind, const std::string& module) const
    {
        const auto found = std::find_if(alignment.pairs.begin(), alignment.pairs.end(), [&](const align::Pair& p) {
            return p.key.phase == phase && p.key.kind == kind && p.key.module == module;
        });
        return static_cast<PairIndex>(found - alignment.pairs.begin());
    }
    SeveritySummary of(const std::string& path, RoleSet roles) const
    {
        return summarise(graph, roles, std::span<const Severity>(severities))[graph.find(path)];
    }
};

TEST(NodeSummary, GroupHasItsWorstChildAndTheDistribution)
{
    const auto run = gpt();
    Judged judged(run);
    const auto worst = judged.pair(Phase::Forward, Kind::Output, "layers.1.mlp.up");
    judged.severities[worst] = Severity::Divergent;
    judged.severities[judged.pair(Phase::Forward, Kind::Output, "layers.1.norm1")] = Severity::Drift;
    judged.severities[judged.pair(Phase::Backward, Kind::GradOutput, "layers.1.norm1")] = Severity::Invalid;

    const auto forward = RoleSet::ofPhase(Phase::Forward);
    const auto block = judged.of("layers.1", forward);
    EXPECT_EQ(block.worst, static_cast<std::uint8_t>(Severity::Divergent));
    EXPECT_EQ(block.worstPair, worst);
    EXPECT_EQ(block.worstNode, judged.graph.find("layers.1.mlp.up"));
    EXPECT_EQ(block.counts, (std::array<std::uint32_t, kSeverityLevels> { 0, 10, 0, 1, 1, 0, 0, 0 }));
    EXPECT_EQ(judged.of("layers.0", forward).worst, static_cast<std::uint8_t>(Severity::Noise));
    EXPECT_EQ(judged.of("", forward).worstPair, worst);
    EXPECT_EQ(judged.of("layers.1", RoleSet::ofPhase(Phase::Backward)).worst, static_cast<std::uint8_t>(Severity::Invalid));
    EXPECT_EQ(judged.of("layers.1.norm1", RoleSet::all()).worst, static_cast<std::uint8_t>(Severity::Invalid));
}

TEST(NodeSummary, NodesWithoutResultsArePending)
{
    const auto run = gpt();
    Judged judged(run);
    judged.severities.resize(judged.pair(Phase::Forward, Kind::Input, "layers.1.norm2"));
    const auto block = judged.of("layers.1", RoleSet::ofPhase(Phase::Forward));
    EXPECT_EQ(block.pending, 5u); // norm2, mlp, up, act, down
    EXPECT_EQ(block.counts[1], 7u);
    const auto reduce = judged.of("layers.1", RoleSet::ofPhase(Phase::Reduce));
    EXPECT_EQ(reduce.worstPair, kNoPair);
    EXPECT_EQ(reduce.pending, 8u); // those with parameters
}

TEST(NodeSummary, LevelsBeyondTheLastCountAsTheLast)
{
    enum class Odd : std::uint8_t { Huge = 200 };
    const auto run = gpt();
    const Judged judged(run);
    const std::vector<Odd> odd(judged.severities.size(), Odd::Huge);
    EXPECT_EQ(summarise(judged.graph, RoleSet::all(), std::span<const Odd>(odd)).front().worst, kSeverityLevels - 1);
}

TEST(NodeSummary, LargestValues)
{
    const auto run = gpt();
    const Judged judged(run);
    std::vector<double> values(judged.severities.size(), 0.5);
    const auto inside = judged.pair(Phase::Forward, Kind::Output, "layers.1.mlp.up"), outside = judged.pair(Phase::Forward, Kind::Output, "head");
    values[inside] = 2;
    values[outside] = std::numeric_limits<double>::infinity();
    values[judged.pair(Phase::Forward, Kind::Output, "layers.1.norm1")] = std::numeric_limits<double>::quiet_NaN();
    const auto largest = largestValues(judged.graph, RoleSet::ofPhase(Phase::Forward), values);
    EXPECT_EQ(largest[judged.graph.find("layers.1")].pair, inside);
    EXPECT_EQ(largest[judged.graph.find("layers.1")].value, 2);
    EXPECT_EQ(largest[judged.graph.find("")].pair, outside);
    EXPECT_EQ(largest[judged.graph.find("layers.0")].value, 0.5);
    EXPECT_EQ(largestValues(judged.graph, RoleSet {}, values)[0].pair, kNoPair);
}

} // namespace
} // namespace forkpoint::graph
