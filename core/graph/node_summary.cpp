// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/node_summary.h"

#include <algorithm>
#include <cmath>

// Nodes are in pre-order, so going backwards every node is complete when it is added to its parent.
namespace forkpoint::graph {

namespace {

/// Of the node's own pairs only.
SeveritySummary ownLevels(const UnionGraph& graph, NodeId id, RoleSet roles, std::span<const std::byte> severities)
{
    SeveritySummary own;
    bool pending = false;
    for (const auto& [pair, role] : graph.pairsOf(id)) {
        if (!roles.contains(role)) {
            continue;
        }
        if (pair >= severities.size()) {
            pending = true;
            continue;
        }
        const auto level = std::min(std::to_integer<std::uint8_t>(severities[pair]), static_cast<std::uint8_t>(kSeverityLevels - 1));
        if (own.worstPair == kNoPair || level > own.worst) {
            own.worst = level;
            own.worstPair = pair;
            own.worstNode = id;
        }
    }
    if (own.worstPair != kNoPair) {
        own.counts[own.worst] = 1;
    }
    own.pending = pending && own.worstPair == kNoPair ? 1 : 0;
    return own;
}

/// True if `x` is to be named rather than `y`: worse, or as bad and earlier.
bool leads(const SeveritySummary& x, const SeveritySummary& y)
{
    return x.worstPair != kNoPair && (y.worstPair == kNoPair || x.worst > y.worst || (x.worst == y.worst && x.worstPair < y.worstPair));
}

bool leads(const ValueSummary& x, const ValueSummary& y)
{
    return x.pair != kNoPair && (y.pair == kNoPair || x.value > y.value || (x.value == y.value && x.pair < y.pair));
}

} // namespace

std::vector<SeveritySummary> summariseLevels(const UnionGraph& graph, RoleSet roles, std::span<const std::byte> severities)
{
    std::vector<SeveritySummary> out(graph.nodes.size());
    for (auto id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
        const auto own = ownLevels(graph, id, roles, severities);
        auto& sum = out[id]; // holds the children already
        for (std::size_t level = 0; level < kSeverityLevels; ++level) {
            sum.counts[level] += own.counts[level];
        }
        sum.pending += own.pending;
        if (leads(own, sum)) {
            sum.worst = own.worst;
            sum.worstPair = own.worstPair;
            sum.worstNode = own.worstNode;
        }
        if (const auto parent = graph.nodes[id].parent; parent != kNoNode) {
            auto& above = out[parent];
            for (std::size_t level = 0; level < kSeverityLevels; ++level) {
                above.counts[level] += sum.counts[level];
            }
            above.pending += sum.pending;
            if (leads(sum, above)) {
                above.worst = sum.worst;
                above.worstPair = sum.worstPair;
                above.worstNode = sum.worstNode;
            }
        }
    }
    return out;
}

std::vector<ValueSummary> largestValues(const UnionGraph& graph, RoleSet roles, std::span<const double> values)
{
    std::vector<ValueSummary> out(graph.nodes.size());
    for (auto id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
        for (const auto& [pair, role] : graph.pairsOf(id)) {
            if (roles.contains(role) && pair < values.size() && !std::isnan(values[pair])) {
                const ValueSummary own { values[pair], pair, id };
                out[id] = leads(own, out[id]) ? own : out[id];
            }
        }
        if (const auto parent = graph.nodes[id].parent; parent != kNoNode && leads(out[id], out[parent])) {
            out[parent] = out[id];
        }
    }
    return out;
}

} // namespace forkpoint::graph
