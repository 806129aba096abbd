// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/pairing.h"

#include "core/bundle/sketch.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string_view>

namespace forkpoint::align {

namespace {

using bundle::hasMicro;

/// Columns are piece by piece, in each rank by rank.
PartGrid gridOf(std::span<const Part> parts, const std::vector<std::size_t>& ranks, const std::vector<std::int32_t>& micros, std::size_t pieces)
{
    PartGrid grid(micros.size(), std::vector<Part>(ranks.size() * pieces));
    for (const auto& part : parts) {
        const auto micro = std::find(micros.begin(), micros.end(), part.micro);
        const auto rank = std::lower_bound(ranks.begin(), ranks.end(), part.rankIndex);
        if (micro == micros.end() || rank == ranks.end() || *rank != part.rankIndex || part.piece >= pieces) {
            continue;
        }
        const auto row = static_cast<std::size_t>(micro - micros.begin()), column = static_cast<std::size_t>(rank - ranks.begin());
        auto& place = grid[row][part.piece * ranks.size() + column];
        if (!place.record) { // of a wrapper and what it wraps the first
            place = part;
        }
    }
    return grid;
}

bool isEmpty(const PartGrid& grid)
{
    return std::all_of(grid.begin(), grid.end(), [](const auto& row) {
        return std::all_of(row.begin(), row.end(), [](const Part& p) { return p.record == nullptr; });
    });
}

Rule ruleOf(const Draft& draft)
{
    if (draft.call || !draft.mappedA->by.empty() || !draft.mappedB->by.empty()) {
        return Rule::Mapped;
    }
    if (draft.bySlotOrder) {
        return Rule::SlotOrder;
    }
    if (draft.a.front().record->module == draft.b.front().record->module) {
        return Rule::Exact;
    }
    return draft.mappedB->byClass ? Rule::ClassOrder : Rule::Normalised;
}

/// The ranks among `ranks` whose recording broke off before they had all parts that the others have.
std::vector<int> brokenOff(const Side& side, const std::vector<std::size_t>& ranks, const PartGrid& grid)
{
    std::vector<int> out;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        bool lacks = false;
        for (const auto& row : grid) {
            for (std::size_t c = r; c < row.size(); c += ranks.size()) {
                lacks = lacks || !row[c].record;
            }
        }
        if (lacks && !side.ranks[ranks[r]]->complete) {
            out.push_back(side.ranks[ranks[r]]->rank);
        }
    }
    return out;
}

std::vector<int> recordedRanks(std::span<const Part> parts)
{
    std::vector<int> ranks;
    for (const auto& part : parts) {
        ranks.push_back(part.rank->rank);
    }
    return ranks;
}

/// The only part of the only rank of a group with one micro-step; nullptr if the group or the draft has more.
const Part* onePart(std::span<const Part> parts, const std::vector<std::size_t>& ranks, std::size_t micros)
{
    if (micros != 1 || ranks.size() != 1) {
        return nullptr;
    }
    const auto found = std::lower_bound(parts.begin(), parts.end(), ranks.front(),
                                        [](const Part& part, std::size_t rank) { return part.rankIndex < rank; });
    return found != parts.end() && found->rankIndex == ranks.front() ? &*found : nullptr; // of a wrapper and what it wraps the first
}

/// The last rule that is about the pair; nullptr if there is none.
const PlacementRule* placementRule(const AlignOptions& options, const PairKey& key, bool ofA)
{
    const auto found = std::find_if(options.placements.rbegin(), options.placements.rend(),
                                    [&](const PlacementRule& rule) { return rule.matches(key, ofA); });
    return found == options.placements.rend() ? nullptr : &*found;
}

const JoinRule* piecesOf(const MappedName* name) { return name && name->join && !name->isWhole ? name->join : nullptr; }

/// The pair as one that is not compared.
Pair notCompared(Pair pair, PairStatus status, bundle::SharedText why)
{
    pair.lanes.clear();
    pair.status = status;
    pair.note = std::move(why);
    return pair;
}

/// A batch from which the script takes the samples of several micro-steps: where the other side's is another one, its samples are compared as the model
/// was given them.
bool isLongerBatch(const Draft& draft, const StepContext& context)
{
    const auto isSuch = [](const StepCells& cells) {
        return std::any_of(cells.rows.begin(), cells.rows.end(), [](const auto& cell) { return cell.second.ofLongerBatch; });
    };
    return draft.key.kind == bundle::Kind::Batch && ((!draft.a.empty() && isSuch(context.cellsA)) || (!draft.b.empty() && isSuch(context.cellsB)));
}

/// The first part of these ranks, if all others of them are the same; else nullptr.
const Part* onlyValue(std::span<const Part> parts, const std::vector<std::size_t>& ranks)
{
    const Part* first = nullptr;
    for (const auto& part : parts) {
        if (!std::binary_search(ranks.begin(), ranks.end(), part.rankIndex)) {
            continue;
        }
        first = first ? first : &part;
        if (!bundle::sameBits(*part.record, *first->record).value_or(false)) {
            return nullptr;
        }
    }
    return first;
}

/// The plan in words.
std::string planText(const Pair& pair, const Draft& draft, std::size_t groupsOfRanks)
{
    const auto& first = pair.lanes.front();
    const std::string planA = describe(first.a), planB = describe(first.b);
    const std::string plan = planA.empty() ? planB
        : planB.empty()                    ? "reference: " + planA
                                           : fmt::format("reference: {}; candidate: {}", planA, planB);
    if (groupsOfRanks > 1) {
        return plan + (plan.empty() ? "" : "; ") + "rank by rank";
    }
    const auto *piecesA = piecesOf(draft.mappedA), *piecesB = piecesOf(draft.mappedB);
    if (piecesA && first.a.ranks == Join::Replicate) {
        return fmt::format("each of {} tensors of the reference against one", piecesA->parts.size());
    }
    if (piecesB && first.b.ranks == Join::Replicate) {
        return fmt::format("each of {} tensors of the candidate against one", piecesB->parts.size());
    }
    if (first.b.ranks == Join::Replicate && first.b.outer.empty()) {
        return plan + fmt::format(", {} {}", rankList(recordedRanks(draft.b)), pair.lanes.size() == 1 ? "equal" : "differ");
    }
    return plan;
}

} // namespace

Pair relatePair(const Draft& draft, PairKey key, const StepContext& context)
{
    const auto& plan = context.plan;
    auto& pool = context.pools.local();
    Pair pair;
    pair.key = std::move(key);
    pair.id = pairId(pair.key);
    if (!draft.a.empty()) {
        pair.dtypeA = draft.a.front().record->dtype;
        pair.shapeA = draft.a.front().record->shape;
    }
    if (!draft.b.empty()) {
        pair.dtypeB = draft.b.front().record->dtype;
        pair.shapeB = draft.b.front().record->shape;
    }
    if (draft.notObserved) {
        return notCompared(std::move(pair), PairStatus::NotObserved, *draft.notObserved);
    }
    static const bundle::SharedText ofSeveral = "its samples are those of several micro-steps, and are compared as the model was given them";
    const bool longerBatch = isLongerBatch(draft, context);
    if (longerBatch && (draft.a.empty() || draft.b.empty())) {
        return notCompared(std::move(pair), PairStatus::NotObserved, ofSeveral);
    }
    if (draft.a.empty() || draft.b.empty()) {
        return notCompared(std::move(pair), draft.b.empty() ? PairStatus::OnlyA : PairStatus::OnlyB, {});
    }
    pair.rule = ruleOf(draft);
    if (pair.rule == Rule::Mapped) {
        const auto& by = draft.mappedB->by.empty() ? draft.mappedA->by : draft.mappedB->by;
        pair.mappedBy = draft.call ? pool.text(placeOf(context.options.mapping, draft.call->line)) : by;
    }
    const auto *piecesA = piecesOf(draft.mappedA), *piecesB = piecesOf(draft.mappedB);
    const auto *ruleA = placementRule(context.options, pair.key, true), *ruleB = placementRule(context.options, pair.key, false);
    const std::size_t countA = piecesA ? piecesA->parts.size() : 1, countB = piecesB ? piecesB->parts.size() : 1;
    const auto &shortA = context.shortA, &shortB = context.shortB;
    const bool plain = !piecesA && !piecesB && !ruleA && !ruleB && shortA.empty() && shortB.empty();

    const bool micro = hasMicro(draft.key.phase);
    const std::vector<std::int32_t> noMicro { 0 };
    const auto groupsOfRanks = plan.groups.size() / std::max<std::size_t>(1, plan.microsA.size());
    bool incomplete = false, verified = false;
    pair.lanes.reserve(groupsOfRanks);
    for (std::size_t g = 0; g < groupsOfRanks; ++g) {
        // Groups are stored rank group by rank group, micro group by micro group; what has no micro-step uses the first of its ranks.
        const CellGroup& group = plan.groups[g * plan.microsA.size() + (micro ? static_cast<std::size_t>(draft.key.micro) : 0)];
        const auto &microsA = micro ? group.microsA : noMicro, &microsB = micro ? group.microsB : noMicro;
        const auto* partA = longerBatch ? onlyValue(draft.a, group.ranksA) : plain ? onePart(draft.a, group.ranksA, microsA.size()) : nullptr;
        const auto* partB = longerBatch ? onlyValue(draft.b, group.ranksB) : plain ? onePart(draft.b, group.ranksB, microsB.size()) : nullptr;
        if (partA && partB) {
            if (auto lane = oneAgainstOne(*partA, *partB, group)) {
                pair.lanes.push_back(std::move(*lane));
                continue;
            }
        }
        const auto gridA = gridOf(draft.a, group.ranksA, microsA, countA), gridB = gridOf(draft.b, group.ranksB, microsB, countB);
        if (isEmpty(gridA) || isEmpty(gridB)) {
            incomplete = incomplete || isEmpty(gridA) != isEmpty(gridB);
            continue;
        }
        if (longerBatch) {
            return notCompared(std::move(pair), PairStatus::NotObserved, ofSeveral);
        }
        auto relation = relate(pair.key, { *context.a.bundle, gridA, context.cellsA.rows, ruleA, piecesA },
                               { *context.b.bundle, gridB, context.cellsB.rows, ruleB, piecesB }, group);
        const bool unrelated = relation.lanes.empty();
        const auto brokenA = brokenOff(context.a, group.ranksA, gridA), brokenB = brokenOff(context.b, group.ranksB, gridB);
        if ((!brokenA.empty() && (unrelated || relation.needsAllOfA)) || (!brokenB.empty() && (unrelated || relation.needsAllOfB))) {
            // Some of the pieces or summands: what they make is not the whole, and no defect of the training either.
            return notCompared(std::move(pair), PairStatus::NotObserved,
                               pool.text(fmt::format("the recording of {} of the {} ended before it", rankList(brokenB.empty() ? brokenA : brokenB),
                                                     brokenB.empty() ? "reference" : "candidate")));
        }
        // The share that some ranks had of a batch is no batch, and what was computed from it differs from what was computed from the whole.
        if ((!shortA.empty() || !shortB.empty()) && (unrelated || (micro && !group.rows.matched))) {
            return notCompared(std::move(pair), PairStatus::NotObserved,
                               pool.text(fmt::format("the {} is {}, which do not hold the whole", shortB.empty() ? "reference" : "candidate",
                                                     shortB.empty() ? shortA : shortB)));
        }
        if (unrelated && relation.notObserved) {
            return notCompared(std::move(pair), PairStatus::NotObserved, pool.text(relation.problem));
        }
        if (unrelated) {
            return notCompared(std::move(pair), relation.incomplete ? PairStatus::OnlyA : PairStatus::Unrelated, pool.text(relation.problem));
        }
        incomplete = incomplete || relation.incomplete;
        pair.guess = pair.guess || relation.guess;
        verified = verified || relation.verified;
        for (auto& lane : relation.lanes) {
            for (auto* order : { &lane.b.order, &lane.b.secondOrder }) { // of long sequences long, and the same in many pairs
                if (order->size() > static_cast<std::size_t>(std::max(group.rows.rowsB, std::ssize(*group.rows.positionOrder)))) {
                    *order = pool.shape(**order);
                }
            }
            pair.lanes.push_back(std::move(lane));
        }
    }
    if (pair.lanes.empty()) {
        return notCompared(std::move(pair), PairStatus::OnlyA, pool.text("no rank recorded it on both sides"));
    }
    pair.shapeA = pair.lanes.front().a.shape;
    pair.shapeB = pair.lanes.front().b.shape;
    auto text = planText(pair, draft, groupsOfRanks);
    if (verified) {
        text += ", found by comparing elements";
    }
    if (ruleA || ruleB) {
        text += fmt::format("{}placement given: {}", text.empty() ? "" : ", ", (ruleB ? ruleB : ruleA)->text);
    }
    pair.assembly = pool.text(text);
    if (incomplete) {
        pair.note = pool.text("not recorded on every rank or micro-step");
    }
    return pair;
}

} // namespace forkpoint::align
