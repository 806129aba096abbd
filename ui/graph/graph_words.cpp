// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_words.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <set>

namespace forkpoint::ui {

using diagnose::Severity;
using graph::NodeId;
using graph::PairRole;
using graph::Sides;
using graph::UnionGraph;

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(GraphWords)
};

constexpr std::size_t kListedEdges = 5;

QString sideSentence(const graph::Node& node)
{
    return node.sides == Sides::A ? Words::tr("only in A") : node.sides == Sides::B ? Words::tr("only in B") : QString();
}

QString stateText(const NodeMark& mark, ColourBy colourBy)
{
    if (!mark.severity) {
        return mark.pending > 0 ? Words::tr("not measured yet") : Words::tr("nothing recorded here in this phase");
    }
    const QString number = markNumber(mark);
    return number.isEmpty() ? severityWord(*mark.severity)
                            : Words::tr("%1: %2 (%3)", "severity: number (its meaning)").arg(severityWord(*mark.severity), number, numberMeaning(colourBy));
}

/// "3 divergent, 12 noise"
QString countsText(const NodeMark& mark)
{
    QStringList parts;
    for (std::size_t level = kMarkLevels; level-- > 0;) {
        if (mark.counts[level] > 0) {
            parts += QStringLiteral("%1 %2").arg(mark.counts[level]).arg(severityWord(static_cast<Severity>(level)));
        }
    }
    if (mark.pending > 0) {
        parts += Words::tr("%1 pending").arg(mark.pending);
    }
    return parts.join(QStringLiteral(", "));
}

void append(QStringList& lines, const QString& line)
{
    if (!line.isEmpty()) {
        lines += line;
    }
}

} // namespace

QString nodeName(const UnionGraph& graph, NodeId id)
{
    const auto& node = graph.nodes[id];
    if (node.path.empty()) {
        return nodeLabel(graph, id);
    }
    const QString name = shown(node.path);
    return node.call > 0 ? QStringLiteral("%1 #%2").arg(name).arg(node.call) : name;
}

QString nodeSentence(const UnionGraph& graph, NodeId id, const NodeMark& mark, ColourBy colourBy, bool expanded)
{
    QStringList parts { nodeName(graph, id) };
    append(parts, classText(graph.nodes[id]));
    append(parts, sideSentence(graph.nodes[id]));
    append(parts, stateText(mark, colourBy));
    if (mark.fork) {
        parts += Words::tr("the fork lies here");
    }
    if (graph.isGroup(id)) {
        parts += expanded ? Words::tr("group, expanded") : Words::tr("group, collapsed");
        append(parts, countsText(mark));
    }
    return parts.join(QStringLiteral(", "));
}

QString nodeTip(const UnionGraph& graph, NodeId id, const NodeMark& mark, ColourBy colourBy)
{
    const auto& node = graph.nodes[id];
    QStringList lines;
    append(lines, node.path.empty() ? QString() : classText(node));
    append(lines, sideSentence(node));
    if (!node.called) {
        lines += Words::tr("no call of it was recorded");
    }
    append(lines, stateText(mark, colourBy));
    if (graph.isGroup(id)) {
        append(lines, countsText(mark));
    }
    if (mark.fork) {
        lines += Words::tr("The runs fork here.");
    }
    append(lines, shown(node.source));
    return tip(nodeName(graph, id), lines.join(QLatin1Char('\n')));
}

QString edgeTensor(const UnionGraph& graph, const compare::Snapshot& comparison, graph::EdgeId id)
{
    const auto& edge = graph.edges[id];
    const auto& pairs = comparison.structure().alignment.pairs;
    const auto find = [&](NodeId node, PairRole role, const std::string& slot) -> const align::Pair* {
        const align::Pair* only = nullptr;
        int count = 0;
        for (const auto& [pair, own] : graph.pairsOf(node)) {
            if (own == role) {
                if (pairs[pair].key.slot == slot) {
                    return &pairs[pair];
                }
                only = &pairs[pair];
                ++count;
            }
        }
        return count == 1 ? only : nullptr; // of one tensor the slot's name does not matter
    };
    const auto* pair = find(edge.from, graph.nodes[edge.from].kind == graph::NodeKind::Batch ? PairRole::Batch : PairRole::Output, edge.fromSlot);
    if (!pair) {
        pair = find(edge.to, PairRole::Input, edge.toSlot);
    }
    return pair ? QStringLiteral("%1 %2").arg(dtypeText(*pair), shapeText(*pair)) : QString();
}

QString edgeTip(const UnionGraph& graph, const compare::Snapshot& comparison, const std::vector<graph::EdgeId>& edges)
{
    std::set<graph::EdgeId> unique(edges.begin(), edges.end());
    QStringList lines;
    for (const auto id : unique) {
        const auto& edge = graph.edges[id];
        if (static_cast<std::size_t>(lines.size()) == kListedEdges) {
            lines += Words::tr("and %n more", nullptr, static_cast<int>(unique.size() - kListedEdges));
            break;
        }
        QString line = Words::tr("%1 → %2", "an edge from, to").arg(nodeName(graph, edge.from), nodeName(graph, edge.to));
        if (const auto tensor = edgeTensor(graph, comparison, id); !tensor.isEmpty()) {
            line += QStringLiteral(": ") + tensor;
        }
        if (edge.sides != Sides::Both) {
            line += QStringLiteral(", ") + (edge.sides == Sides::A ? Words::tr("only in A") : Words::tr("only in B"));
        }
        if (edge.kind != graph::EdgeKind::Recorded) {
            line += QStringLiteral(", ") + Words::tr("not recorded, follows from the inputs");
        }
        lines += line;
    }
    return tip(lines.join(QLatin1Char('\n')));
}

} // namespace forkpoint::ui
