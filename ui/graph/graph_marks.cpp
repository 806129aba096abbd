// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_marks.h"

#include "ui/theme/theme.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace forkpoint::ui {

using diagnose::Gate;
using diagnose::Severity;
using graph::NodeId;
using graph::PairRole;

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(GraphMarks)
};

constexpr double kDriftUpTo = 100; ///< times the floor, as diagnose::Judgement has it

/// In the order in which a click prefers them.
std::vector<PairRole> rolesOf(Gate gate)
{
    switch (gate) {
    case Gate::Data:
        return { PairRole::Batch };
    case Gate::Weights:
        return { PairRole::StartState };
    case Gate::Forward:
        return { PairRole::Output, PairRole::Input };
    case Gate::Loss:
        return { PairRole::Output };
    case Gate::Backward:
        return { PairRole::GradOutput, PairRole::LocalGrad, PairRole::Recomputed };
    case Gate::Reduce:
        return { PairRole::ReducedGrad };
    case Gate::Optimizer:
        return { PairRole::EndState, PairRole::OptimizerState, PairRole::UpdateGrad };
    case Gate::Environment:
        break;
    }
    return {};
}

/// Environment has no pairs: the graph then shows all, as without a gate.
std::optional<Gate> pairGate(std::optional<Gate> gate) { return gate == Gate::Environment ? std::nullopt : gate; }

graph::RoleSet roleSet(std::optional<Gate> gate)
{
    switch (gate.value_or(Gate::Environment)) {
    case Gate::Data:
        return { PairRole::Batch };
    case Gate::Weights:
        return { PairRole::StartState };
    case Gate::Forward:
        return { PairRole::Batch, PairRole::Output, PairRole::Input };
    case Gate::Loss:
        return { PairRole::Output };
    case Gate::Backward:
        return graph::RoleSet::ofPhase(bundle::Phase::Backward);
    case Gate::Reduce:
        return graph::RoleSet::ofPhase(bundle::Phase::Reduce);
    case Gate::Optimizer:
        return graph::RoleSet::ofPhase(bundle::Phase::Optimizer);
    case Gate::Environment:
        break;
    }
    return graph::RoleSet::all();
}

struct Columns {
    std::vector<Severity> severities;
    std::vector<double> values; ///< NaN where there is none
};

/// Severity of an amount in multiples of the floor.
Severity severityOf(double ratio)
{
    return ratio > kDriftUpTo ? Severity::Divergent : ratio > 1 ? Severity::Drift : ratio > 0 ? Severity::Noise : Severity::Identical;
}

double multiple(double amount, double floor)
{
    return amount == 0 ? 0 : floor > 0 ? amount / floor : std::numeric_limits<double>::infinity();
}

Columns columnsOf(const compare::Snapshot& comparison, ColourBy colourBy)
{
    Columns out;
    const auto severities = comparison.severities();
    out.severities.assign(severities.begin(), severities.end());
    out.values.assign(comparison.ready(), std::nan(""));
    for (std::size_t pair = 0; pair < comparison.ready(); ++pair) {
        const auto& result = comparison.result(pair);
        if (result.lanes.empty()) {
            continue;
        }
        out.values[pair] = colourBy == ColourBy::Severity ? result.ratio : colourBy == ColourBy::OutputError ? result.error : multiple(result.added, result.floor);
        const bool sized = result.severity != Severity::Invalid && result.severity != Severity::Unmatched;
        if (colourBy == ColourBy::OutputError && sized) {
            out.severities[pair] = severityOf(multiple(result.error, result.floor));
        } else if (colourBy == ColourBy::AddedError && sized) {
            out.severities[pair] = severityOf(out.values[pair]);
        }
    }
    return out;
}

} // namespace

std::uint32_t NodeMark::all() const { return std::accumulate(counts.begin(), counts.end(), pending); }

GraphMarks graphMarks(const graph::UnionGraph& graph, const compare::Snapshot& comparison, std::optional<Gate> gate, ColourBy colourBy)
{
    gate = pairGate(gate);
    const auto columns = columnsOf(comparison, colourBy);
    const auto roles = roleSet(gate);
    const auto levels = graph::summarise(graph, roles, std::span<const Severity>(columns.severities));
    const auto values = graph::largestValues(graph, roles, columns.values);
    GraphMarks out;
    out.nodes.resize(graph.nodes.size());
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        // The forward pass begins at the batch and ends at the loss; the loss has a gate of its own too.
        if (gate == Gate::Loss && graph.nodes[id].kind != graph::NodeKind::Loss) {
            continue;
        }
        auto& mark = out.nodes[id];
        const auto& level = levels[id];
        if (level.worstPair != graph::kNoPair) {
            mark.severity = static_cast<Severity>(std::min<std::size_t>(level.worst, kMarkLevels - 1));
            mark.pair = level.worstPair;
        }
        const bool onlyOthersEqual = mark.severity == Severity::Unmatched && values[id].value == 0; // a 0 would be said of what was not compared
        if (values[id].pair != graph::kNoPair && !onlyOthersEqual) {
            mark.value = values[id].value;
        }
        std::copy_n(level.counts.begin(), kMarkLevels, mark.counts.begin());
        mark.pending = level.pending;
    }
    if (const auto* outcome = comparison.outcome(); outcome && outcome->verdict.fork && outcome->verdict.ordered) { // else it is the first in the files
        const auto nodes = graph.nodesOf(outcome->verdict.fork->pair);
        if (!nodes.empty()) {
            out.fork = nodes.front();
            for (auto at = nodes.front(); at != graph::kNoNode; at = graph.nodes[at].parent) {
                out.nodes[at].fork = true;
            }
        }
    }
    return out;
}

std::optional<std::size_t> pairToSelect(const graph::UnionGraph& graph, const GraphMarks& marks, const compare::Snapshot& comparison, NodeId node,
                                        std::optional<Gate> gate)
{
    gate = pairGate(gate);
    const auto preference = gate ? rolesOf(*gate)
                                 : std::vector<PairRole> { PairRole::Output, PairRole::Batch, PairRole::GradOutput, PairRole::ReducedGrad, PairRole::EndState };
    // Greater is better; equal ones: the earlier pair.
    using Score = std::tuple<int, int, double>;
    std::optional<std::size_t> best, any;
    Score bestScore;
    for (const auto& [pair, role] : graph.pairsOf(node)) {
        any = any ? any : std::optional(pair);
        const auto at = std::find(preference.begin(), preference.end(), role);
        if (gate && at == preference.end()) {
            continue;
        }
        const int wanted = static_cast<int>(preference.end() - at);
        const bool ready = pair < comparison.ready();
        const int severity = ready ? static_cast<int>(comparison.result(pair).severity) : -1;
        const double ratio = ready ? comparison.result(pair).ratio : 0;
        const bool above = severity >= static_cast<int>(Severity::Drift);
        // Above the floor the first one tells most: what comes later inherits.
        const Score score = gate ? Score { wanted, severity, ratio } : Score { severity, above ? 0 : wanted, above ? 0 : ratio };
        if (!best || score > bestScore) {
            best = pair;
            bestScore = score;
        }
    }
    if (best) {
        return best;
    }
    const auto below = marks.nodes[node].pair;
    return below != graph::kNoPair ? std::optional(below) : any;
}

QString markNumber(const NodeMark& mark)
{
    if (!mark.value) {
        return mark.severity || mark.pending == 0 ? QString() : QStringLiteral("…");
    }
    const double value = *mark.value;
    if (std::isinf(value)) {
        return QStringLiteral("∞");
    }
    return value >= 99.5 && value < 9999.5 ? QLocale().toString(std::round(value), 'f', 0) : number(value, 2);
}

QString numberMeaning(ColourBy colourBy)
{
    switch (colourBy) {
    case ColourBy::Severity:
        return Words::tr("error, × floor");
    case ColourBy::OutputError:
        return Words::tr("relative error");
    case ColourBy::AddedError:
        return Words::tr("new error here, × floor");
    }
    return {};
}

} // namespace forkpoint::ui
