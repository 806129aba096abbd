// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/compare/comparison.h"
#include "core/graph/node_summary.h"
#include "ui/session/session.h"

#include <QString>

#include <array>
#include <optional>
#include <vector>

// What the results so far say about each node of a graph. Made anew when results, gate or colouring change; places never do.
namespace forkpoint::ui {

inline constexpr std::size_t kMarkLevels = 6; ///< diagnose::Severity

/// Of a node and everything below it.
struct NodeMark {
    std::optional<diagnose::Severity> severity; ///< the worst; nullopt: no pair of the gate, or all are pending
    std::optional<double> value;                ///< the largest
    std::size_t pair = graph::kNoPair;          ///< the worst
    std::array<std::uint32_t, kMarkLevels> counts {}; ///< nodes by severity
    std::uint32_t pending = 0;
    bool fork = false;                          ///< the fork lies here

    std::uint32_t all() const;
};

struct GraphMarks {
    std::vector<NodeMark> nodes; ///< one per node of the graph
    std::optional<graph::NodeId> fork; ///< the node of the fork's pair, where the graph has it
};

GraphMarks graphMarks(const graph::UnionGraph& graph, const compare::Snapshot& comparison, std::optional<diagnose::Gate> gate, ColourBy colourBy);

/// The pair that a click on the node selects: by the gate's own kind (output in forward, reduced gradient in reduce), of several the worst;
/// without a gate the worst of all. Of a group that has none itself, the worst below it.
std::optional<std::size_t> pairToSelect(const graph::UnionGraph& graph, const GraphMarks& marks, const compare::Snapshot& comparison, graph::NodeId node,
                                        std::optional<diagnose::Gate> gate);

/// The number on a node; empty if there is none.
QString markNumber(const NodeMark& mark);
QString numberMeaning(ColourBy colourBy); ///< "error as a multiple of the floor"

} // namespace forkpoint::ui
