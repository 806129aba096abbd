// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/union_graph.h"

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

// What a node or a group shows of the results below it: its worst, and how the rest is distributed.
namespace forkpoint::graph {

inline constexpr std::size_t kSeverityLevels = 8;

/// Over a node and everything below it.
struct SeveritySummary {
    std::uint8_t worst = 0;          ///< value of the severity's enumerator; meaningful if worstPair is set
    PairIndex worstPair = kNoPair;   ///< the first pair of the worst severity
    NodeId worstNode = kNoNode;      ///< whose pair it is
    std::array<std::uint32_t, kSeverityLevels> counts {}; ///< nodes by their own worst severity; nodes without pairs are in none
    std::uint32_t pending = 0;       ///< nodes that have pairs, but no result yet
};

/// One per node. `severities` are those of the first pairs, as Snapshot::severities() gives them; values at or above kSeverityLevels count
/// as the highest level. Only pairs in one of `roles` are looked at.
std::vector<SeveritySummary> summariseLevels(const UnionGraph& graph, RoleSet roles, std::span<const std::byte> severities);

/// `Severity` is an enumeration of one byte, mildest first (core/diagnose/severity.h; named here by its shape only, because diagnose depends
/// on graph).
template <class Severity>
    requires(std::is_enum_v<Severity> && sizeof(Severity) == 1)
std::vector<SeveritySummary> summarise(const UnionGraph& graph, RoleSet roles, std::span<const Severity> severities)
{
    return summariseLevels(graph, roles, std::as_bytes(severities));
}

/// The largest value over a node and everything below it.
struct ValueSummary {
    double value = 0;              ///< meaningful if pair is set
    PairIndex pair = kNoPair;      ///< the first that has it
    NodeId node = kNoNode;
};

/// One per node; NaN is passed over. For colouring by error, added error or any metric with one value per pair.
std::vector<ValueSummary> largestValues(const UnionGraph& graph, RoleSet roles, std::span<const double> values);

} // namespace forkpoint::graph
