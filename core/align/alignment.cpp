// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/alignment.h"

#include "core/align/step_plan.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <set>
#include <unordered_map>

// Every record gets a key; records with equal keys meet in one draft, a grid of parts per side (micro-step x rank). What stays alone on
// one side goes down the ladder. Then each draft is related: the parts become wholes, the wholes lanes.
namespace forkpoint::align {

namespace {

using bundle::Kind;
using bundle::hasMicro;
using bundle::kNoMicro;
using bundle::Phase;
using bundle::TensorRecord;

struct Draft {
    PairKey key;
    std::map<std::pair<std::int32_t, std::size_t>, Part> a, b; ///< (micro, rank index) -> part, of not observed ones too
    Rule rule = Rule::None;
    std::string notObserved; ///< the reason why some part is; nothing is compared then
};

using Drafts = std::map<PairKey, Draft>;

/// The micro group that a micro-step belongs to; nullopt if it is in none.
std::optional<std::int32_t> groupOf(const std::vector<std::vector<std::int32_t>>& groups, std::int32_t micro)
{
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (std::find(groups[g].begin(), groups[g].end(), micro) != groups[g].end()) {
            return static_cast<std::int32_t>(g);
        }
    }
    return std::nullopt;
}

PairKey keyOf(const TensorRecord& record, std::int32_t step, std::int32_t microGroup, const std::map<std::string, std::string>& renames)
{
    PairKey key;
    key.step = step;
    key.micro = hasMicro(record.phase) ? microGroup : kNoMicro;
    key.phase = record.phase;
    key.kind = record.kind;
    key.level = record.level;
    key.module = renamed(renames, normalisedPath(record.module));
    key.param = record.param;
    key.call = record.call;
    key.slot = record.slot;
    return key;
}

void collect(const Side& side, std::int32_t recordedStep, std::int32_t step, const std::vector<std::vector<std::int32_t>>& microGroups,
             const std::map<std::string, std::string>& renames, bool isA, Drafts& drafts)
{
    for (std::size_t r = 0; r < side.ranks.size(); ++r) {
        for (const auto& record : side.ranks[r]->tensors) {
            if (record.step != recordedStep) {
                continue;
            }
            const std::int32_t micro = hasMicro(record.phase) ? std::max(record.micro, 0) : 0;
            const auto group = hasMicro(record.phase) ? groupOf(microGroups, micro) : std::optional<std::int32_t>(0);
            if (!group) {
                continue;
            }
            const PairKey key = keyOf(record, step, *group, renames);
            auto& draft = drafts[key];
            draft.key = key;
            if (!record.notObserved.empty()) {
                draft.notObserved = record.notObserved;
            }
            auto& parts = isA ? draft.a : draft.b;
            parts.emplace(std::pair { micro, r }, Part { side.ranks[r], &record, micro, r });
        }
    }
}

/// Inputs and outputs of one call whose slots are named differently: pair what is left in order, where the shapes allow it.
void matchSlotsInOrder(Drafts& drafts)
{
    struct Loose {
        std::vector<PairKey> a, b;
    };
    std::map<PairKey, Loose> byCall;
    for (const auto& [key, draft] : drafts) {
        if (draft.a.empty() == draft.b.empty() || (key.kind != Kind::Input && key.kind != Kind::Output && key.kind != Kind::GradOutput && key.kind != Kind::Batch)) {
            continue;
        }
        PairKey call = key;
        call.slot.clear();
        (draft.b.empty() ? byCall[call].a : byCall[call].b).push_back(key);
    }
    for (auto& [call, loose] : byCall) {
        if (loose.a.size() != loose.b.size()) {
            continue;
        }
        const auto byOrder = [&](bool isA) {
            return [&drafts, isA](const PairKey& x, const PairKey& y) {
                const auto order = [&](const PairKey& k) { return (isA ? drafts.at(k).a : drafts.at(k).b).begin()->second.record->order; };
                return order(x) < order(y);
            };
        };
        std::sort(loose.a.begin(), loose.a.end(), byOrder(true));
        std::sort(loose.b.begin(), loose.b.end(), byOrder(false));
        for (std::size_t i = 0; i < loose.a.size(); ++i) {
            auto& target = drafts.at(loose.a[i]);
            auto& other = drafts.at(loose.b[i]);
            const auto* recordA = target.a.begin()->second.record;
            const auto* recordB = other.b.begin()->second.record;
            if (recordA->shape.size() != recordB->shape.size() || isInteger(recordA->dtype) != isInteger(recordB->dtype)) {
                continue;
            }
            target.b = std::move(other.b);
            target.rule = Rule::SlotOrder;
            if (target.notObserved.empty()) {
                target.notObserved = other.notObserved;
            }
            drafts.erase(loose.b[i]);
        }
    }
}

PartGrid gridOf(const std::map<std::pair<std::int32_t, std::size_t>, Part>& parts, const std::vector<std::size_t>& ranks,
                const std::vector<std::int32_t>& micros)
{
    PartGrid grid(micros.size(), std::vector<Part>(ranks.size()));
    for (std::size_t m = 0; m < micros.size(); ++m) {
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            if (const auto found = parts.find({ micros[m], ranks[r] }); found != parts.end()) {
                grid[m][r] = found->second;
            }
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

Rule nameRule(const Draft& draft, const std::map<std::string, std::string>& renames)
{
    if (draft.rule != Rule::None) {
        return draft.rule;
    }
    const auto& a = *draft.a.begin()->second.record;
    const auto& b = *draft.b.begin()->second.record;
    if (a.module == b.module) {
        return Rule::Exact;
    }
    const std::string plain = normalisedPath(b.module);
    return renamed(renames, plain) == plain ? Rule::Normalised : Rule::ClassOrder;
}

/// The ranks among `ranks` whose recording broke off before they had all parts that the others have.
std::vector<int> brokenOff(const Side& side, const std::vector<std::size_t>& ranks, const PartGrid& grid)
{
    std::vector<int> out;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        const bool lacks = std::any_of(grid.begin(), grid.end(), [&](const auto& row) { return !row[r].record; });
        if (lacks && !side.ranks[ranks[r]]->complete) {
            out.push_back(side.ranks[ranks[r]]->rank);
        }
    }
    return out;
}

std::vector<int> recordedRanks(const std::map<std::pair<std::int32_t, std::size_t>, Part>& parts)
{
    std::vector<int> ranks;
    for (const auto& [where, part] : parts) {
        ranks.push_back(part.rank->rank);
    }
    return ranks;
}

/// Which ranks a side is short of, in words; empty if it has all, or if both launches had the same number of ranks: those are compared one by one.
std::string shortOf(const Side& side, const Side& other)
{
    const int world = side.bundle->worldSize();
    if (world == other.bundle->worldSize() || side.ranks.size() >= static_cast<std::size_t>(std::max(world, 0))) {
        return {};
    }
    std::vector<int> ranks;
    for (const auto* rank : side.ranks) {
        ranks.push_back(rank->rank);
    }
    return fmt::format("only {} of {} ranks", rankList(ranks), world);
}

Pair relatePair(const Draft& draft, const Side& sideA, const Side& sideB, const StepPlan& plan, const StepCells& cellsA, const StepCells& cellsB,
                const std::map<std::string, std::string>& renames)
{
    Pair pair;
    pair.key = draft.key;
    pair.id = pairId(draft.key);
    if (!draft.a.empty()) {
        pair.dtypeA = draft.a.begin()->second.record->dtype;
        pair.shapeA = draft.a.begin()->second.record->shape;
    }
    if (!draft.b.empty()) {
        pair.dtypeB = draft.b.begin()->second.record->dtype;
        pair.shapeB = draft.b.begin()->second.record->shape;
    }
    if (!draft.notObserved.empty()) {
        pair.status = PairStatus::NotObserved;
        pair.note = draft.notObserved;
        return pair;
    }
    if (draft.a.empty() || draft.b.empty()) {
        pair.status = draft.b.empty() ? PairStatus::OnlyA : PairStatus::OnlyB;
        return pair;
    }
    pair.rule = nameRule(draft, renames);

    const bool micro = hasMicro(draft.key.phase);
    const auto groupsOfRanks = plan.groups.size() / std::max<std::size_t>(1, plan.microsA.size());
    bool incomplete = false;
    for (std::size_t g = 0; g < groupsOfRanks; ++g) {
        // Groups are stored rank group by rank group, micro group by micro group; what has no micro-step uses the first of its ranks.
        CellGroup group = plan.groups[g * plan.microsA.size() + (micro ? static_cast<std::size_t>(draft.key.micro) : 0)];
        if (!micro) {
            group.microsA = group.microsB = { 0 };
        }
        const auto gridA = gridOf(draft.a, group.ranksA, group.microsA), gridB = gridOf(draft.b, group.ranksB, group.microsB);
        if (isEmpty(gridA) || isEmpty(gridB)) {
            incomplete = incomplete || isEmpty(gridA) != isEmpty(gridB);
            continue;
        }
        auto relation = relate(draft.key, gridA, gridB, group, cellsA.rows, cellsB.rows);
        const bool unrelated = relation.lanes.empty();
        const auto brokenA = brokenOff(sideA, group.ranksA, gridA), brokenB = brokenOff(sideB, group.ranksB, gridB);
        if ((!brokenA.empty() && (unrelated || relation.needsAllOfA)) || (!brokenB.empty() && (unrelated || relation.needsAllOfB))) {
            // Some of the pieces or summands: what they make is not the whole, and no defect of the training either.
            pair.status = PairStatus::NotObserved;
            pair.note = fmt::format("the recording of {} of the {} ended before it", rankList(brokenB.empty() ? brokenA : brokenB),
                                    brokenB.empty() ? "reference" : "candidate");
            pair.lanes.clear();
            return pair;
        }
        // The share that some ranks had of a batch is no batch, and what was computed from it differs from what was computed from the whole.
        const std::string shortA = shortOf(sideA, sideB), shortB = shortOf(sideB, sideA);
        if ((!shortA.empty() || !shortB.empty()) && (unrelated || (micro && !group.rows.matched))) {
            pair.status = PairStatus::NotObserved;
            pair.note = fmt::format("the {} is {}, which do not hold the whole", shortB.empty() ? "reference" : "candidate", shortB.empty() ? shortA : shortB);
            pair.lanes.clear();
            return pair;
        }
        if (unrelated) {
            pair.note = relation.problem;
            pair.status = relation.incomplete ? PairStatus::OnlyA : PairStatus::Unrelated;
            pair.lanes.clear();
            return pair;
        }
        incomplete = incomplete || relation.incomplete;
        pair.guess = pair.guess || relation.guess;
        std::move(relation.lanes.begin(), relation.lanes.end(), std::back_inserter(pair.lanes));
    }
    if (pair.lanes.empty()) {
        pair.status = PairStatus::OnlyA;
        pair.note = "no rank recorded it on both sides";
        return pair;
    }
    const auto& first = pair.lanes.front();
    pair.shapeA = first.a.shape;
    pair.shapeB = first.b.shape;
    const std::string planA = describe(first.a), planB = describe(first.b);
    pair.assembly = planB;
    if (!planA.empty()) {
        pair.assembly = planB.empty() ? "reference: " + planA : fmt::format("reference: {}; candidate: {}", planA, planB);
    }
    if (groupsOfRanks > 1) {
        pair.assembly += std::string(pair.assembly.empty() ? "" : "; ") + "rank by rank";
    } else if (first.b.ranks == Join::Replicate) {
        pair.assembly += pair.lanes.size() == 1 ? fmt::format(", {} equal", rankList(recordedRanks(draft.b)))
                                                : fmt::format(", {} differ", rankList(recordedRanks(draft.b)));
    }
    if (incomplete) {
        pair.note = "not recorded on every rank or micro-step";
    }
    return pair;
}

struct CallSite {
    std::int32_t micro;
    std::string module;
    std::int32_t call;
    auto operator<=>(const CallSite&) const = default;
};

/// Where each module call and backward stands in the script, from the first rank that knows it.
std::map<CallSite, std::string> callSites(const Side& side, std::int32_t step, const std::map<std::string, std::string>& renames)
{
    std::map<CallSite, std::string> sites;
    for (const auto* rank : side.ranks) {
        for (const auto& call : rank->calls) {
            if (call.step == step && !call.recompute && !call.source.empty()) {
                sites.emplace(CallSite { call.micro, renamed(renames, normalisedPath(call.module)), call.call }, call.source);
            }
        }
        for (const auto& backward : rank->backwards) {
            if (backward.step == step && !backward.source.empty()) {
                sites.emplace(CallSite { backward.micro, backward.root, 0 }, backward.source);
            }
        }
    }
    return sites;
}

std::string sourceOf(const PairKey& key, const std::map<CallSite, std::string>& sites, const std::vector<std::vector<std::int32_t>>& micros)
{
    const bool ofCall = key.phase == Phase::Forward || key.phase == Phase::Backward;
    if (!ofCall || key.micro < 0 || static_cast<std::size_t>(key.micro) >= micros.size()) {
        return {};
    }
    for (const auto micro : micros[static_cast<std::size_t>(key.micro)]) {
        if (const auto found = sites.find({ micro, key.module, key.call }); found != sites.end()) {
            return found->second;
        }
    }
    return {};
}

/// Execution order of a draft on one side: that of its first record in the lowest rank.
std::int64_t orderOn(const std::map<std::pair<std::int32_t, std::size_t>, Part>& parts)
{
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    std::size_t bestRank = std::numeric_limits<std::size_t>::max();
    for (const auto& [where, part] : parts) {
        if (where.second < bestRank || (where.second == bestRank && part.record->order < best)) {
            bestRank = where.second;
            best = part.record->order;
        }
    }
    return best;
}

/// Drafts in display order: step and phase, then A's order; what only B has follows its neighbour in B.
std::vector<const Draft*> ordered(const Drafts& drafts)
{
    std::vector<const Draft*> inA, onlyB;
    for (const auto& [key, draft] : drafts) {
        (draft.a.empty() ? onlyB : inA).push_back(&draft);
    }
    const auto place = [](const Draft* d) { return std::pair(d->key.step, d->key.phase); };
    std::stable_sort(inA.begin(), inA.end(),
                     [&](const Draft* x, const Draft* y) { return std::tuple(place(x), orderOn(x->a)) < std::tuple(place(y), orderOn(y->a)); });
    if (onlyB.empty()) {
        return inA;
    }
    std::vector<const Draft*> inB;
    for (const auto& [key, draft] : drafts) {
        if (!draft.b.empty()) {
            inB.push_back(&draft);
        }
    }
    std::stable_sort(inB.begin(), inB.end(),
                     [&](const Draft* x, const Draft* y) { return std::tuple(place(x), orderOn(x->b)) < std::tuple(place(y), orderOn(y->b)); });
    std::map<const Draft*, std::vector<const Draft*>> followers;          // neighbour in A -> what B has after it
    std::map<std::pair<std::int32_t, Phase>, std::vector<const Draft*>> leaders; // before the first matched pair of a phase
    const Draft* neighbour = nullptr;
    for (const auto* draft : inB) {
        if (!draft->a.empty()) {
            neighbour = draft;
        } else if (neighbour && place(neighbour) == place(draft)) {
            followers[neighbour].push_back(draft);
        } else {
            leaders[place(draft)].push_back(draft);
        }
    }
    std::vector<const Draft*> out;
    for (const auto* draft : inA) {
        for (auto leader = leaders.begin(); leader != leaders.end() && leader->first <= place(draft); leader = leaders.erase(leader)) {
            out.insert(out.end(), leader->second.begin(), leader->second.end());
        }
        out.push_back(draft);
        if (const auto found = followers.find(draft); found != followers.end()) {
            out.insert(out.end(), found->second.begin(), found->second.end());
        }
    }
    for (const auto& [where, rest] : leaders) {
        out.insert(out.end(), rest.begin(), rest.end());
    }
    return out;
}

/// Recomputed tensors are an extra: one side may recompute and the other not.
bool isExtra(const Draft& draft)
{
    const auto recomputed = [](const auto& parts) { return !parts.empty() && parts.begin()->second.record->recompute; };
    return (draft.a.empty() && recomputed(draft.b)) || (draft.b.empty() && recomputed(draft.a));
}

std::vector<bundle::ModuleRecord> allModules(const Side& side)
{
    std::vector<bundle::ModuleRecord> out;
    for (const auto* rank : side.ranks) {
        out.insert(out.end(), rank->modules.begin(), rank->modules.end());
    }
    return out;
}

std::vector<int> stepsOf(const Side& side)
{
    std::set<int> steps;
    for (const auto* rank : side.ranks) {
        for (const auto& record : rank->tensors) {
            steps.insert(record.step);
        }
    }
    return { steps.begin(), steps.end() };
}

std::string stepList(const std::vector<int>& steps)
{
    std::string out;
    for (const int step : steps) {
        out += fmt::format("{}{}", out.empty() ? "" : ", ", step);
    }
    return out.empty() ? "none" : out;
}

/// Two launches of equal size are compared rank by rank: what one rank of them has no counterpart in the other is left out.
void keepCommonRanks(Side& a, Side& b, std::vector<std::string>& notes)
{
    const auto numbers = [](const Side& side) {
        std::vector<int> out;
        for (const auto* rank : side.ranks) {
            out.push_back(rank->rank);
        }
        return out;
    };
    const auto ofA = numbers(a), ofB = numbers(b);
    const auto common = [&](const bundle::RankData* rank) {
        return std::find(ofA.begin(), ofA.end(), rank->rank) != ofA.end() && std::find(ofB.begin(), ofB.end(), rank->rank) != ofB.end();
    };
    if (a.bundle->worldSize() != b.bundle->worldSize() || ofA.size() == ofB.size() || std::none_of(a.ranks.begin(), a.ranks.end(), common)) {
        return;
    }
    for (auto* side : { &a, &b }) {
        std::erase_if(side->ranks, [&](const bundle::RankData* rank) { return !common(rank); });
    }
    notes.push_back(fmt::format("reference: {}; candidate: {}: compared are those that both have", rankList(ofA), rankList(ofB)));
}

void noteMissingRanks(const Side& side, std::string_view which, std::vector<std::string>& notes)
{
    const auto world = static_cast<std::size_t>(std::max(side.bundle->worldSize(), 0));
    if (side.ranks.size() > 1 && side.ranks.size() < world) {
        notes.push_back(fmt::format("{}: {} of {} ranks were recorded", which, side.ranks.size(), world));
    }
}

/// One launch: the same folder, or two copies of it, or two of its ranks' folders.
bool isSameRun(const bundle::Bundle& a, const bundle::Bundle& b)
{
    const auto identity = [](const bundle::Bundle& bundle) {
        const auto id = bundle.info().find("run_id");
        const bool known = id != bundle.info().end() && id->is_string() && !id->get_ref<const std::string&>().empty();
        const auto attempt = bundle.info().find("attempt");
        return known ? std::optional(std::pair(id->get<std::string>(), attempt == bundle.info().end() ? nlohmann::json(0) : *attempt)) : std::nullopt;
    };
    std::error_code ignored;
    const auto idA = identity(a), idB = identity(b);
    return std::filesystem::equivalent(a.path(), b.path(), ignored) || (idA && idA == idB);
}

} // namespace

std::string_view name(Rule rule)
{
    switch (rule) {
    case Rule::Exact:
        return "exact";
    case Rule::Normalised:
        return "normalised";
    case Rule::ClassOrder:
        return "class and order";
    case Rule::SlotOrder:
        return "slot order";
    case Rule::None:
        break;
    }
    return "unmatched";
}

Result<Alignment> align(Side a, Side b, const AlignOptions& options, Progress* progress, std::stop_token stop)
{
    Alignment out;
    out.stepOffset = options.stepOffset;
    const auto stepsA = stepsOf(a), stepsB = stepsOf(b);
    const std::int64_t offset = options.stepOffset; // wide: any offset may be given
    std::vector<int> common, onlyA, onlyB;
    for (const int step : stepsA) {
        const bool both = std::find(stepsB.begin(), stepsB.end(), step + offset) != stepsB.end();
        (both ? common : onlyA).push_back(step);
    }
    for (const int step : stepsB) {
        if (std::find(stepsA.begin(), stepsA.end(), step - offset) == stepsA.end()) {
            onlyB.push_back(step);
        }
    }
    for (const auto& [side, steps] : { std::pair(&a, &stepsA), std::pair(&b, &stepsB) }) {
        if (steps->empty()) {
            const auto& problems = side->bundle->problems();
            const auto first = std::find_if(problems.begin(), problems.end(), [](const auto& p) { return p.level == bundle::Problem::Level::Warning; });
            const std::string found = first == problems.end() ? std::string() : fmt::format(" ({}: {})", first->where, first->message);
            return fail(ErrorCode::Truncated,
                        fmt::format("holds no readable tensor record{}: there is nothing to compare. forkpoint-cli info says all that was found", found),
                        side->bundle->path().string());
        }
    }
    if (common.empty()) {
        return fail(ErrorCode::Usage,
                    fmt::format("the runs have no recorded step in common (reference: {}; candidate: {}). Record the same steps of both, or give "
                                "the offset between their numbers",
                                stepList(stepsA), stepList(stepsB)));
    }
    if (!onlyA.empty()) {
        out.notes.push_back(fmt::format("steps recorded in the reference only: {}", stepList(onlyA)));
    }
    if (!onlyB.empty()) {
        out.notes.push_back(fmt::format("steps recorded in the candidate only: {}", stepList(onlyB)));
    }
    out.stepsOnlyA = onlyA.size();
    out.stepsOnlyB = onlyB.size();
    keepCommonRanks(a, b, out.notes);
    if (a.ranks.size() == 1 && b.ranks.size() == 1 && a.ranks[0]->rank != b.ranks[0]->rank && isSameRun(*a.bundle, *b.bundle)) {
        out.ranksOfOneRun = { a.ranks[0]->rank, b.ranks[0]->rank };
    }
    noteMissingRanks(a, "reference", out.notes);
    noteMissingRanks(b, "candidate", out.notes);
    out.renames = matchRenamedModules(allModules(a), allModules(b));

    for (std::size_t s = 0; s < common.size(); ++s) {
        if (stop.stop_requested()) {
            return fail(ErrorCode::Cancelled, "cancelled while aligning");
        }
        if (progress) {
            progress->report("align", static_cast<double>(s) / static_cast<double>(common.size()));
        }
        const std::int32_t stepA = common[s], stepB = stepA + options.stepOffset;
        const auto cellsA = stepCells(a, stepA), cellsB = stepCells(b, stepB);
        out.steps.push_back(planStep(a, b, stepA, stepB, cellsA, cellsB, out.steps.empty() ? nullptr : &out.steps.back()));
        const auto& plan = out.steps.back();

        Drafts drafts;
        collect(a, stepA, stepA, plan.microsA, {}, true, drafts);
        collect(b, stepB, stepA, plan.microsB, out.renames, false, drafts);
        matchSlotsInOrder(drafts);
        const auto sitesA = callSites(a, stepA, {}), sitesB = callSites(b, stepB, out.renames);
        for (const auto* draft : ordered(drafts)) {
            if (isExtra(*draft)) {
                continue;
            }
            auto pair = relatePair(*draft, a, b, plan, cellsA, cellsB, out.renames);
            pair.source = sourceOf(pair.key, sitesA, plan.microsA);
            if (pair.source.empty()) {
                pair.source = sourceOf(pair.key, sitesB, plan.microsB);
            }
            out.pairs.push_back(std::move(pair));
        }
    }
    out.a = std::move(a);
    out.b = std::move(b);
    return out;
}

} // namespace forkpoint::align
