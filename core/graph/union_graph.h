// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"
#include "core/graph/pair_inputs.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What ran in one micro-step, of A and B together: the graph that a window paints.
//
// A node is one call of a module (path and call number). Nodes form a tree: a call lies in the innermost call that was running at that time
// and whose path its own path continues, so that a module called twice has its children twice, each with its own values. Modules that only
// hold others (ModuleList) do not run; they are groups on request. Edges are the data flow as it was recorded, between calls of any depth:
// an edge may start or end at a group, which then stands for the group's own output or input.
namespace forkpoint::graph {

using NodeId = std::uint32_t;
using EdgeId = std::uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;
inline constexpr PairIndex kNoPair = static_cast<PairIndex>(-1);

enum class NodeKind : std::uint8_t {
    Module,
    Operator,  ///< below its module: path "layers.0.fc/aten::addmm"
    Container, ///< holds modules and never ran
    Parameter, ///< a parameter or buffer: a source
    Batch,
    Loss,      ///< root of backward
};

enum class EdgeKind : std::uint8_t {
    Recorded,
    Batch,     ///< not recorded: into calls with inputs that no recorded output reaches
    Parameter, ///< not recorded: into the calls of the module that owns the parameter, or a tied one
};

/// Which runs have it; a set.
enum class Sides : std::uint8_t { None = 0, A = 1, B = 2, Both = 3 };
constexpr Sides operator|(Sides x, Sides y) { return static_cast<Sides>(static_cast<int>(x) | static_cast<int>(y)); }

/// What a pair says about its node.
enum class PairRole : std::uint8_t {
    Batch,
    Input,
    Output,
    GradOutput,
    LocalGrad,      ///< backward/grad
    ReducedGrad,    ///< reduce/grad
    UpdateGrad,     ///< optimizer/grad
    StartState,     ///< parameter or buffer before the step
    EndState,       ///< parameter or buffer after it
    OptimizerState,
    Recomputed,     ///< values of a call that ran again during backward
    Other,
};
PairRole roleOf(const align::PairKey& key);

class RoleSet {
public:
    constexpr RoleSet() = default;
    constexpr RoleSet(std::initializer_list<PairRole> roles)
    {
        for (const auto role : roles) {
            m_bits |= 1u << static_cast<unsigned>(role);
        }
    }
    constexpr bool contains(PairRole role) const { return (m_bits >> static_cast<unsigned>(role) & 1u) != 0; }
    constexpr bool operator==(const RoleSet&) const = default;

    static constexpr RoleSet all()
    {
        RoleSet set;
        set.m_bits = ~0u;
        return set;
    }
    /// What a view shows that follows one phase. Forward has the batch too, but not the parameters it started from: those are phase start.
    static RoleSet ofPhase(bundle::Phase phase);

private:
    std::uint32_t m_bits = 0;
};

struct NodePair {
    PairIndex pair = 0;
    PairRole role = PairRole::Other;
};

struct Node {
    NodeKind kind = NodeKind::Module;
    Sides sides = Sides::None;
    std::int32_t call = 0;
    NodeId parent = kNoNode; ///< kNoNode at the top
    NodeId end = 0;          ///< nodes are in pre-order: a node's subtree is [id, end)
    bool called = true;      ///< false of a Module or Operator: it has tensors, but no call of it was seen
    std::string path;        ///< normalised, with A's names; "batch" of a Batch; full name of a Parameter
    std::string classA, classB; ///< empty if unknown
    std::string source;      ///< "train.py:41" of the call, empty if unknown
};

struct Edge {
    NodeId from = 0, to = 0;
    Sides sides = Sides::None;
    EdgeKind kind = EdgeKind::Recorded;
    bool direct = false;           ///< the very same tensor
    std::string fromSlot, toSlot;  ///< A's where the runs name a slot differently
};

struct UnionOptions {
    std::int32_t step = 0;       ///< as in Pair::key
    std::int32_t micro = 0;      ///< micro group, as in Pair::key
    bool parameters = false;     ///< with a node per parameter and buffer
    bool containers = false;     ///< with groups for modules that only hold two or more others
    bool batchEdges = true;
};

struct UnionGraph {
    std::int32_t step = 0, micro = 0;
    std::vector<Node> nodes;                ///< pre-order, execution order of A's first rank; what only B has after its neighbour
    std::vector<Edge> edges;                ///< by (from, to, slots); may hold cycles and self loops, as bundles are not trusted
    std::vector<NodePair> pairs;            ///< of all nodes; per node in pair order
    std::vector<std::uint32_t> pairsBegin;  ///< nodes + 1 offsets into pairs
    std::vector<EdgeId> incoming;           ///< edge ids by target
    std::vector<std::uint32_t> outBegin, inBegin; ///< nodes + 1 offsets into edges and incoming
    std::vector<std::pair<PairIndex, NodeId>> nodeOfPair; ///< ascending

    bool isGroup(NodeId id) const { return nodes[id].end > id + 1; }
    std::span<const NodePair> pairsOf(NodeId id) const { return { pairs.data() + pairsBegin[id], pairs.data() + pairsBegin[id + 1] }; }
    std::span<const NodePair> pairsBelow(NodeId id) const { return { pairs.data() + pairsBegin[id], pairs.data() + pairsBegin[nodes[id].end] }; }
    std::span<const Edge> consumersOf(NodeId id) const { return { edges.data() + outBegin[id], edges.data() + outBegin[id + 1] }; }
    std::span<const EdgeId> producersOf(NodeId id) const { return { incoming.data() + inBegin[id], incoming.data() + inBegin[id + 1] }; }

    /// kNoNode if there is none.
    NodeId find(std::string_view path, std::int32_t call = 0) const;
    /// Every node that a pair belongs to: a parameter belongs to each call of its module. Empty for pairs of other steps and micro-steps.
    std::vector<NodeId> nodesOf(PairIndex pair) const;
    /// The path below the nearest group with a path, and "#call" from the second call on: "attention.query", "cell #3"; "(root)".
    std::string label(NodeId id) const;
};

/// Fails with Usage if the alignment has no such step or micro group, Cancelled. Whatever the bundles hold, the result is a tree with
/// edges between existing nodes.
Result<UnionGraph> unionGraph(const align::Alignment& alignment, const UnionOptions& options, std::stop_token stop = {});

} // namespace forkpoint::graph
