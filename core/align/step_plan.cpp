// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/step_plan.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace forkpoint::align {

namespace {

using RankLists = std::vector<std::pair<std::vector<std::size_t>, std::vector<std::size_t>>>;
using MicroLists = std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>>;

std::vector<Cell> cellsOf(const std::vector<std::size_t>& ranks, const std::vector<std::int32_t>& micros)
{
    std::vector<Cell> out;
    for (const auto micro : micros) {
        for (const auto rank : ranks) {
            out.push_back({ rank, micro });
        }
    }
    return out;
}

/// The ranks that can be compared one by one: of equal worlds those that recorded the step on both sides (one may have died before it); of two
/// single ranks these. Empty for different worlds.
RankLists rankByRank(const Side& a, const Side& b, const StepCells& cellsA, const StepCells& cellsB)
{
    if (cellsA.ranks.size() == 1 && cellsB.ranks.size() == 1) {
        return { { cellsA.ranks, cellsB.ranks } };
    }
    RankLists out;
    if (a.bundle->worldSize() != b.bundle->worldSize()) {
        return out;
    }
    for (const auto x : cellsA.ranks) {
        for (const auto y : cellsB.ranks) {
            if (a.ranks[x]->rank == b.ranks[y]->rank) {
                out.push_back({ { x }, { y } });
            }
        }
    }
    return out;
}

template <class T>
std::vector<std::pair<std::vector<T>, std::vector<T>>> oneByOne(const std::vector<T>& a, const std::vector<T>& b)
{
    std::vector<std::pair<std::vector<T>, std::vector<T>>> out;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        out.push_back({ { a[i] }, { b[i] } });
    }
    return out;
}

std::vector<CellGroup> grouped(const RankLists& ranks, const MicroLists& micros, const StepCells& a, const StepCells& b, bool ofParts)
{
    std::vector<CellGroup> groups;
    for (const auto& [ranksA, ranksB] : ranks) {
        for (const auto& [microsA, microsB] : micros) {
            CellGroup group { ranksA, ranksB, microsA, microsB, {}, {}, {}, {} };
            group.rows = relateRows(a.rows, cellsOf(ranksA, microsA), b.rows, cellsOf(ranksB, microsB), ofParts);
            groups.push_back(std::move(group));
        }
    }
    return groups;
}

bool allMatched(const std::vector<CellGroup>& groups)
{
    return std::all_of(groups.begin(), groups.end(), [](const CellGroup& g) { return g.rows.matched; });
}

bool allSplit(const std::vector<CellGroup>& groups)
{
    return std::all_of(groups.begin(), groups.end(), [](const CellGroup& g) { return g.rows.splitA || g.rows.splitB; });
}

RankMesh meshFor(const PlanSide& side, const std::vector<std::size_t>& ranks, const std::vector<std::size_t>& sharers)
{
    if (ranks.size() < 2) {
        return {};
    }
    // One axis over all ranks, as DDP has it, does not say which of them share their rows.
    const auto groups = side.mesh.axes.size() < 2 && !sharers.empty() ? meshOfGroups(sharers) : RankMesh {};
    return groups.empty() ? side.mesh : groups;
}

/// Of each of `ranks`: the number of its group of ranks that hold the same rows; empty where each has rows of its own.
std::vector<std::size_t> holdersOfTheSame(const std::vector<std::size_t>& ranks, bool replicated, const std::vector<std::size_t>& sharers)
{
    std::vector<std::size_t> out;
    for (const auto rank : ranks) {
        if (replicated) {
            out.push_back(0);
        } else if (rank < sharers.size()) {
            out.push_back(sharers[rank]);
        }
    }
    return out;
}

/// Ranks whose losses are equal because their rows are, and of which each counts its own: no replicas, and no ranks that compute one loss together.
void keepOwn(SideWeights& weights, const StepCells& cells, const std::vector<std::size_t>& ranks, const std::vector<std::int32_t>& micros)
{
    const auto isAlike = [&](std::size_t rank, std::int32_t micro) {
        const auto first = cells.rows.find({ ranks.front(), micro }), own = cells.rows.find({ rank, micro });
        return first != cells.rows.end() && own != cells.rows.end() && !own->second.content.empty() && own->second.content == first->second.content;
    };
    const bool alike = std::all_of(ranks.begin(), ranks.end(), [&](std::size_t rank) {
        return std::all_of(micros.begin(), micros.end(), [&](std::int32_t micro) { return isAlike(rank, micro); });
    });
    if (weights.ranks == Reduction::Replicated && alike) {
        weights.ranks = Reduction::Mean;
        weights.weight /= static_cast<double>(ranks.size());
    }
}

/// The ranks whose losses make up the whole: of a pipeline those of its last stage.
std::vector<std::size_t> ranksWithLoss(const PlanSide& side, const std::vector<std::size_t>& ranks, const std::vector<std::int32_t>& micros)
{
    if (side.stages.empty()) {
        return ranks;
    }
    std::vector<std::size_t> out;
    for (const auto rank : ranks) {
        const auto losses = lossGrid(side.side, side.step, { rank }, micros);
        if (std::any_of(losses.begin(), losses.end(), [](const auto& row) { return !std::isnan(row.front()); })) {
            out.push_back(rank);
        }
    }
    return out.empty() ? ranks : out;
}

bool hasLoss(const Side& side, std::int32_t step)
{
    return std::any_of(side.ranks.begin(), side.ranks.end(), [&](const bundle::RankData* rank) {
        return std::any_of(rank->scalars.begin(), rank->scalars.end(), [&](const auto& s) { return s.step == step && s.name == "loss"; });
    });
}

/// What the text of a plan depends on besides the plan.
struct Circumstances {
    bool rowsKnown = false;      ///< something tells rows apart on both sides
    bool manyRanks = false;      ///< on either side
    bool ranksMissing = false;   ///< some rank has no counterpart
    bool manyMicros = false;     ///< on either side
    bool lossesRecorded = false; ///< on both sides
    const Stages &stagesA, &stagesB;
};

std::string planText(const StepPlan& plan, const Circumstances& given)
{
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    for (const auto& [which, stages] : { std::pair("reference", &given.stagesA), std::pair("candidate", &given.stagesB) }) {
        if (!stages->empty()) {
            add(fmt::format("the {} is a pipeline of {} stages", which, stages->count()));
        }
    }
    if (given.manyRanks) {
        add(!plan.rankByRank ? "all ranks joined" : given.ranksMissing ? "rank by rank, as far as both sides have them" : "rank by rank");
    }
    if (given.manyMicros) {
        add(plan.microByMicro ? "micro-step by micro-step" : "micro-steps joined");
    }
    if (!plan.groups.empty()) {
        const auto& rows = plan.groups.front().rows;
        if (rows.rowsA == 0 || rows.rowsB == 0) {
            add("no batch was recorded to match rows by");
        } else if (!given.rowsKnown) {
            add("rows are taken as they stand: no values of a batch were recorded on both sides to match them by");
        } else if (!allMatched(plan.groups)) {
            add("the two sides do not hold the same rows");
        } else {
            add(fmt::format("rows matched by {}{}", rows.by, rows.order.empty() ? ", in the same order" : ", in another order"));
        }
        if (std::any_of(plan.groups.begin(), plan.groups.end(), [](const CellGroup& g) { return g.rows.positions.length > 0; })) {
            add("batches are padded to other lengths: compared are the positions that both sides have and that are not padding");
        }
        if ((rows.replicatedA && given.stagesA.empty()) || (rows.replicatedB && given.stagesB.empty())) {
            add(fmt::format("every rank of {} holds the same rows", rows.replicatedB ? "the candidate" : "the reference"));
        }
        for (const auto& [which, sharers] : { std::pair("reference", &rows.sharersA), std::pair("candidate", &rows.sharersB) }) {
            if (!sharers->empty()) {
                std::set<std::size_t> groups(sharers->begin(), sharers->end());
                groups.erase(kNoGroup);
                add(fmt::format("the ranks of the {} form {} groups that share their rows", which, groups.size()));
            }
        }
        for (const auto& [which, split] : { std::pair("reference", rows.splitA), std::pair("candidate", rows.splitB) }) {
            if (split) {
                add(fmt::format("ranks of the {} that share rows split their positions{}", which, rows.positionOrder.empty() ? "" : ", in another order"));
            }
        }
        const auto& weights = plan.groups.front().weights;
        for (const auto& [which, side] : { std::pair("reference", &weights.a), std::pair("candidate", &weights.b) }) {
            if (weights.agreed && side->ranks == Reduction::Sum) {
                add(fmt::format("the losses agree if the ranks of the {} are summed, not averaged", which));
            }
            if (side->ofParts && !(side == &weights.a ? rows.splitA : rows.splitB)) {
                add(fmt::format("ranks of the {} that share rows have other losses: each is of a part of them", which));
            }
            if (weights.agreed && side->micros == Reduction::Mean) {
                add(fmt::format("the losses agree if the micro-steps of the {} are averaged, not summed", which));
            }
        }
        for (const auto& group : plan.groups) {
            if (!group.weights.agreed) {
                add(fmt::format("{}: ranks by mean, micro-steps by sum",
                                given.lossesRecorded ? "the losses agree under no weighting" : "no losses were recorded"));
                break;
            }
        }
    }
    return text;
}

} // namespace

StepCells stepCells(const Side& side, const StepRecords& records, std::size_t rowDim)
{
    StepCells cells;
    std::set<std::int32_t> micros;
    for (std::size_t r = 0; r < side.ranks.size(); ++r) {
        std::int32_t last = bundle::kNoMicro;
        for (const auto number : records[r]) {
            if (const auto micro = side.ranks[r]->tensors[number].micro; micro != last) {
                last = micro;
                if (micro != bundle::kNoMicro) {
                    micros.insert(micro);
                }
            }
        }
        if (!records[r].empty()) {
            cells.ranks.push_back(r);
        }
    }
    cells.micros.assign(micros.begin(), micros.end());
    if (cells.micros.empty()) {
        cells.micros = { 0 };
    }
    cells.rows = rowKeys(side, records, rowDim);
    return cells;
}

bool knowsRows(const StepCells& cells)
{
    return std::any_of(cells.rows.begin(), cells.rows.end(), [](const auto& cell) {
        const auto isKnown = [](const std::vector<RowKey>& keys) { return !keys.empty(); };
        return isKnown(cell.second.ids) || std::any_of(cell.second.bySlot.begin(), cell.second.bySlot.end(), isKnown);
    });
}

bool rowsMatch(const StepPlan& plan) { return allMatched(plan.groups); }

StepPlan planStep(const PlanSide& sideA, const PlanSide& sideB, const StepPlan* previous, const PlanHow& how)
{
    const Side &a = sideA.side, &b = sideB.side;
    const StepCells &cellsA = sideA.cells, &cellsB = sideB.cells;
    const std::int32_t stepA = sideA.step, stepB = sideB.step;
    const RankLists rankWise = rankByRank(a, b, cellsA, cellsB), rankJoined { { cellsA.ranks, cellsB.ranks } };
    const bool worlds = !rankWise.empty() && !how.joinRanks, micros = cellsA.micros.size() == cellsB.micros.size();
    const MicroLists microWise = micros ? oneByOne(cellsA.micros, cellsB.micros) : MicroLists(), microJoined { { cellsA.micros, cellsB.micros } };

    StepPlan plan;
    plan.step = stepA;
    bool found = false, tokensDiffer = false; // that the sides hold the same rows, but no module was given the same of them, may be for want of joining
    for (const bool byRank : { true, false }) { // finest first
        for (const bool byMicro : { true, false }) {
            if ((found && !tokensDiffer) || (byRank && !worlds) || (byMicro && !micros)) {
                continue;
            }
            auto groups = grouped(byRank ? rankWise : rankJoined, byMicro ? microWise : microJoined, cellsA, cellsB, how.ofParts);
            if (!allMatched(groups) || (found && !allSplit(groups))) {
                continue;
            }
            tokensDiffer = std::any_of(groups.begin(), groups.end(), [](const CellGroup& g) { return g.rows.tokensDiffer; });
            plan.groups = std::move(groups);
            plan.rankByRank = byRank;
            plan.microByMicro = byMicro;
            found = true;
        }
    }
    if (!found) {
        plan.rankByRank = worlds;
        plan.microByMicro = micros;
        plan.groups = grouped(worlds ? rankWise : rankJoined, micros ? microWise : microJoined, cellsA, cellsB, how.ofParts);
    }
    for (const auto& [microsA, microsB] : plan.microByMicro ? microWise : microJoined) {
        plan.microsA.push_back(microsA);
        plan.microsB.push_back(microsB);
    }
    for (std::size_t i = 0; i < plan.groups.size(); ++i) {
        auto& group = plan.groups[i];
        group.meshA = meshFor(sideA, group.ranksA, group.rows.sharersA);
        group.meshB = meshFor(sideB, group.ranksB, group.rows.sharersB);
        std::optional<LossWeights> fallback;
        if (previous && i < previous->groups.size() && previous->groups[i].ranksA.size() == group.ranksA.size()
            && previous->groups[i].ranksB.size() == group.ranksB.size() && previous->groups[i].microsA.size() == group.microsA.size()
            && previous->groups[i].microsB.size() == group.microsB.size()) {
            fallback = previous->groups[i].weights;
        }
        const auto lossRanksA = ranksWithLoss(sideA, group.ranksA, group.microsA), lossRanksB = ranksWithLoss(sideB, group.ranksB, group.microsB);
        const auto lossesA = lossGrid(a, stepA, lossRanksA, group.microsA), lossesB = lossGrid(b, stepB, lossRanksB, group.microsB);
        const bool otherStages = (!sideA.stages.empty() || !sideB.stages.empty()) && how.joinRanks && plan.microByMicro;
        group.weights = lossWeights(lossesA, lossesB, fallback, otherStages ? cellsA.micros.size() : 1);
        if (group.rows.matched && !group.rows.replicatedA && group.rows.sharersA.empty()) {
            keepOwn(group.weights.a, cellsA, group.ranksA, group.microsA);
        }
        if (group.rows.matched && !group.rows.replicatedB && group.rows.sharersB.empty()) {
            keepOwn(group.weights.b, cellsB, group.ranksB, group.microsB);
        }
        group.weights.a.ofParts = areLossesOfParts(lossesA, holdersOfTheSame(lossRanksA, group.rows.replicatedA, group.rows.sharersA));
        group.weights.b.ofParts = areLossesOfParts(lossesB, holdersOfTheSame(lossRanksB, group.rows.replicatedB, group.rows.sharersB));
    }
    plan.text = planText(plan, { .rowsKnown = knowsRows(cellsA) && knowsRows(cellsB),
                                 .manyRanks = cellsA.ranks.size() > 1 || cellsB.ranks.size() > 1,
                                 .ranksMissing = rankWise.size() < cellsA.ranks.size() || rankWise.size() < cellsB.ranks.size(),
                                 .manyMicros = cellsA.micros.size() > 1 || cellsB.micros.size() > 1,
                                 .lossesRecorded = hasLoss(a, stepA) && hasLoss(b, stepB),
                                 .stagesA = sideA.stages,
                                 .stagesB = sideB.stages });
    return plan;
}

} // namespace forkpoint::align
