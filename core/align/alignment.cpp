// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/alignment.h"

#include "core/align/drafts.h"
#include "core/align/mapped_names.h"
#include "core/align/step_plan.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <oneapi/tbb/parallel_for.h>
#include <string_view>
#include <unordered_map>

// Names are brought to the reference's terms; records with equal keys then meet in one draft, parts of micro-steps and ranks. Then each draft is
// related: the parts become wholes, the wholes lanes.
namespace forkpoint::align {

namespace {

using bundle::hasMicro;
using bundle::Phase;

/// Columns are piece by piece, in each rank by rank.
PartGrid gridOf(const std::vector<Part>& parts, const std::vector<std::size_t>& ranks, const std::vector<std::int32_t>& micros, std::size_t pieces)
{
    PartGrid grid(micros.size(), std::vector<Part>(ranks.size() * pieces));
    for (const auto& part : parts) {
        const auto micro = std::find(micros.begin(), micros.end(), part.micro);
        const auto rank = std::lower_bound(ranks.begin(), ranks.end(), part.rankIndex);
        if (micro == micros.end() || rank == ranks.end() || *rank != part.rankIndex || part.piece >= pieces) {
            continue;
        }
        auto& place = grid[static_cast<std::size_t>(micro - micros.begin())][part.piece * ranks.size() + static_cast<std::size_t>(rank - ranks.begin())];
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

std::vector<int> recordedRanks(const std::vector<Part>& parts)
{
    std::vector<int> ranks;
    for (const auto& part : parts) {
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

/// The only part of the only rank of a group with one micro-step; nullptr if the group or the draft has more.
const Part* onePart(const std::vector<Part>& parts, const std::vector<std::size_t>& ranks, std::size_t micros)
{
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return ranks.size() == 1 && part.rankIndex == ranks.front(); });
    return micros == 1 && found != parts.end() ? &*found : nullptr; // of a wrapper and what it wraps the first
}

/// What relating the pairs of a step needs to know.
struct StepContext {
    const Side& a;
    const Side& b;
    const StepPlan& plan;
    const StepCells& cellsA;
    const StepCells& cellsB;
    const AlignOptions& options;
    std::string shortA, shortB; ///< shortOf
};

/// The last rule that is about the pair; nullptr if there is none.
const PlacementRule* placementRule(const AlignOptions& options, const PairKey& key, bool ofA)
{
    const auto found = std::find_if(options.placements.rbegin(), options.placements.rend(), [&](const PlacementRule& rule) { return rule.matches(key, ofA); });
    return found == options.placements.rend() ? nullptr : &*found;
}

const JoinRule* piecesOf(const MappedName* name) { return name && name->join && !name->isWhole ? name->join : nullptr; }

Pair relatePair(const Draft& draft, PairKey key, const StepContext& context)
{
    const auto& plan = context.plan;
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
        pair.status = PairStatus::NotObserved;
        pair.note = *draft.notObserved;
        return pair;
    }
    if (draft.a.empty() || draft.b.empty()) {
        pair.status = draft.b.empty() ? PairStatus::OnlyA : PairStatus::OnlyB;
        return pair;
    }
    pair.rule = ruleOf(draft);
    if (pair.rule == Rule::Mapped) {
        const auto& by = draft.mappedB->by.empty() ? draft.mappedA->by : draft.mappedB->by;
        pair.mappedBy = draft.call ? placeOf(context.options.mapping, draft.call->line) : by;
    }
    const auto *piecesA = piecesOf(draft.mappedA), *piecesB = piecesOf(draft.mappedB);
    const auto *ruleA = placementRule(context.options, pair.key, true), *ruleB = placementRule(context.options, pair.key, false);
    const std::size_t countA = piecesA ? piecesA->parts.size() : 1, countB = piecesB ? piecesB->parts.size() : 1;

    const bool micro = hasMicro(draft.key.phase);
    const auto groupsOfRanks = plan.groups.size() / std::max<std::size_t>(1, plan.microsA.size());
    bool incomplete = false, verified = false;
    for (std::size_t g = 0; g < groupsOfRanks; ++g) {
        // Groups are stored rank group by rank group, micro group by micro group; what has no micro-step uses the first of its ranks.
        const CellGroup& group = plan.groups[g * plan.microsA.size() + (micro ? static_cast<std::size_t>(draft.key.micro) : 0)];
        if (const auto *partA = onePart(draft.a, group.ranksA, micro ? group.microsA.size() : 1), *partB = onePart(draft.b, group.ranksB, micro ? group.microsB.size() : 1);
            partA && partB && !piecesA && !piecesB && !ruleA && !ruleB && context.shortA.empty() && context.shortB.empty()) {
            if (auto lane = oneAgainstOne(*partA, *partB, group)) {
                pair.lanes.push_back(std::move(*lane));
                continue;
            }
        }
        const auto gridA = gridOf(draft.a, group.ranksA, micro ? group.microsA : std::vector<std::int32_t> { 0 }, countA);
        const auto gridB = gridOf(draft.b, group.ranksB, micro ? group.microsB : std::vector<std::int32_t> { 0 }, countB);
        if (isEmpty(gridA) || isEmpty(gridB)) {
            incomplete = incomplete || isEmpty(gridA) != isEmpty(gridB);
            continue;
        }
        auto relation = relate(pair.key, { *context.a.bundle, gridA, context.cellsA.rows, ruleA ? &ruleA->placement : nullptr, piecesA },
                               { *context.b.bundle, gridB, context.cellsB.rows, ruleB ? &ruleB->placement : nullptr, piecesB }, group);
        const bool unrelated = relation.lanes.empty();
        const auto brokenA = brokenOff(context.a, group.ranksA, gridA), brokenB = brokenOff(context.b, group.ranksB, gridB);
        if ((!brokenA.empty() && (unrelated || relation.needsAllOfA)) || (!brokenB.empty() && (unrelated || relation.needsAllOfB))) {
            // Some of the pieces or summands: what they make is not the whole, and no defect of the training either.
            pair.status = PairStatus::NotObserved;
            pair.note = fmt::format("the recording of {} of the {} ended before it", rankList(brokenB.empty() ? brokenA : brokenB),
                                    brokenB.empty() ? "reference" : "candidate");
            pair.lanes.clear();
            return pair;
        }
        // The share that some ranks had of a batch is no batch, and what was computed from it differs from what was computed from the whole.
        const auto &shortA = context.shortA, &shortB = context.shortB;
        if ((!shortA.empty() || !shortB.empty()) && (unrelated || (micro && !group.rows.matched))) {
            pair.status = PairStatus::NotObserved;
            pair.note = fmt::format("the {} is {}, which do not hold the whole", shortB.empty() ? "reference" : "candidate", shortB.empty() ? shortA : shortB);
            pair.lanes.clear();
            return pair;
        }
        if (unrelated && relation.padded) {
            pair.status = PairStatus::NotObserved;
            pair.note = fmt::format("the batches are padded to other lengths, and this tensor cannot be brought to one: {}", relation.problem);
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
        verified = verified || relation.verified;
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
    } else if (piecesA && first.a.ranks == Join::Replicate) {
        pair.assembly = fmt::format("each of {} tensors of the reference against one", countA);
    } else if (piecesB && first.b.ranks == Join::Replicate) {
        pair.assembly = fmt::format("each of {} tensors of the candidate against one", countB);
    } else if (first.b.ranks == Join::Replicate && first.b.outer.empty()) {
        pair.assembly += pair.lanes.size() == 1 ? fmt::format(", {} equal", rankList(recordedRanks(draft.b)))
                                                : fmt::format(", {} differ", rankList(recordedRanks(draft.b)));
    }
    if (verified) {
        pair.assembly += ", found by comparing elements";
    }
    if (ruleA || ruleB) {
        pair.assembly += fmt::format("{}placement given: {}", pair.assembly.empty() ? "" : ", ", (ruleB ? ruleB : ruleA)->text);
    }
    if (incomplete) {
        pair.note = "not recorded on every rank or micro-step";
    }
    return pair;
}

struct CallSite {
    std::int32_t step, micro, call;
    std::string_view module;
    bool operator==(const CallSite&) const = default;
};

struct CallSiteHash {
    std::size_t operator()(const CallSite& site) const
    {
        const auto numbers = (static_cast<std::uint64_t>(site.step) << 32) ^ (static_cast<std::uint64_t>(site.micro) << 16) ^ static_cast<std::uint64_t>(site.call);
        return std::hash<std::string_view>()(site.module) ^ (numbers * 0x9E3779B97F4A7C15ull);
    }
};

/// Where each module call and backward stands in the script, from the first rank that knows it.
class CallSites {
public:
    CallSites(const Side& side, const std::map<std::string, std::string>& renames)
    {
        const auto inTermsOfA = [&](const std::string& module) -> std::string_view {
            const auto [at, added] = m_modules.try_emplace(module);
            if (added) {
                at->second = renamed(renames, normalisedPath(module));
            }
            return at->second;
        };
        for (const auto* rank : side.ranks) {
            for (const auto& call : rank->calls) {
                if (!call.recompute && !call.source.empty()) {
                    m_sites.emplace(CallSite { call.step, call.micro, call.call, inTermsOfA(call.module) }, &call.source);
                }
            }
            for (const auto& backward : rank->backwards) {
                if (!backward.source.empty()) {
                    m_sites.emplace(CallSite { backward.step, backward.micro, 0, backward.root }, &backward.source);
                }
            }
        }
    }

    /// Empty if it is not known. `step` in the run's own numbering, `micros` of the pair's group.
    std::string of(const PairKey& key, std::int32_t step, const std::vector<std::vector<std::int32_t>>& micros) const
    {
        const bool ofCall = key.phase == Phase::Forward || key.phase == Phase::Backward;
        if (!ofCall || key.micro < 0 || static_cast<std::size_t>(key.micro) >= micros.size()) {
            return {};
        }
        for (const auto micro : micros[static_cast<std::size_t>(key.micro)]) {
            if (const auto found = m_sites.find({ step, micro, key.call, key.module }); found != m_sites.end()) {
                return *found->second;
            }
        }
        return {};
    }

private:
    std::unordered_map<std::string, std::string> m_modules; ///< nodes stay where they are
    std::unordered_map<CallSite, const std::string*, CallSiteHash> m_sites;
};

/// Recomputed tensors are an extra: one side may recompute and the other not.
bool isExtra(const Draft& draft)
{
    const auto recomputed = [](const auto& parts) { return !parts.empty() && parts.front().record->recompute; };
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

std::vector<int> stepsOf(const SideIndex& index)
{
    std::vector<int> steps;
    for (const auto& [step, records] : index.steps) {
        steps.push_back(step);
    }
    return steps;
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

/// Fails with Usage if a given placement names an axis that neither side's mesh has: without it, the placement would say something else. Where no
/// mesh is known, the ranks are one axis, whatever it is called.
Result<void> checkAxes(const std::vector<PlacementRule>& rules, const RankMesh& meshA, const RankMesh& meshB)
{
    if (meshA.empty() && meshB.empty()) {
        return {};
    }
    const auto has = [](const RankMesh& mesh, const std::string& axis) { return std::find(mesh.axes.begin(), mesh.axes.end(), axis) != mesh.axes.end(); };
    for (const auto& rule : rules) {
        for (const auto& placement : rule.placement) {
            if (!placement.axis.empty() && !has(meshA, placement.axis) && !has(meshB, placement.axis)) {
                const auto& axes = meshB.empty() ? meshA.axes : meshB.axes;
                return fail(ErrorCode::Usage, fmt::format("the placement '{}' names the axis {}, and the ranks have {}: --mesh names the axes", rule.text,
                                                          placement.axis, fmt::join(axes, ", ")));
            }
        }
    }
    return {};
}

} // namespace

std::string_view name(Rule rule)
{
    switch (rule) {
    case Rule::Mapped:
        return "mapped";
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
    out.stepOffset = options.stepOffset.value_or(options.mapping.stepOffset.value_or(0));
    keepCommonRanks(a, b, out.notes);
    const auto indexA = indexOf(a), indexB = indexOf(b);
    if (!indexA || !indexB) {
        return tl::unexpected(indexA ? indexB.error() : indexA.error());
    }
    const auto stepsA = stepsOf(*indexA), stepsB = stepsOf(*indexB);
    const std::int64_t offset = out.stepOffset; // wide: any offset may be given
    std::vector<int> common, onlyA, onlyB;
    for (const int step : stepsA) {
        const bool both = std::binary_search(stepsB.begin(), stepsB.end(), step + offset);
        (both ? common : onlyA).push_back(step);
    }
    for (const int step : stepsB) {
        if (!std::binary_search(stepsA.begin(), stepsA.end(), step - offset)) {
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
    if (a.ranks.size() == 1 && b.ranks.size() == 1 && a.ranks[0]->rank != b.ranks[0]->rank && isSameRun(*a.bundle, *b.bundle)) {
        out.ranksOfOneRun = { a.ranks[0]->rank, b.ranks[0]->rank };
    }
    noteMissingRanks(a, "reference", out.notes);
    noteMissingRanks(b, "candidate", out.notes);
    auto meshA = options.meshA.empty() ? Result<RankMesh>(declaredMesh(a)) : givenMesh(a, options.meshA);
    auto meshB = options.meshB.empty() ? Result<RankMesh>(declaredMesh(b)) : givenMesh(b, options.meshB);
    if (!meshA || !meshB) {
        return tl::unexpected(meshA ? meshB.error() : meshA.error());
    }
    if (auto known = checkAxes(options.placements, *meshA, *meshB); !known) {
        return tl::unexpected(known.error());
    }

    auto modulesB = allModules(b);
    auto mappedPaths = mappedModules(modulesB, options.mapping);
    for (auto& module : modulesB) {
        if (const auto mapped = mappedPaths.find(normalisedPath(module.path)); mapped != mappedPaths.end()) {
            module.path = mapped->second;
        }
    }
    out.renames = matchRenamedModules(allModules(a), modulesB);
    auto names = mapNames(*indexA, *indexB, options.mapping, out.renames);
    if (!names) {
        return tl::unexpected(names.error());
    }
    out.renames.merge(mappedPaths);
    std::move(names->notes.begin(), names->notes.end(), std::back_inserter(out.notes));

    std::size_t most = 0;
    for (const auto* side : { &a, &b }) {
        for (const auto* rank : side->ranks) {
            most = std::max(most, rank->tensors.size());
        }
    }
    out.pairs.reserve(most);
    const CallSites sitesA(a, {}), sitesB(b, out.renames);
    TextNumbers slots;
    std::vector<bool> placed(options.placements.size());
    for (std::size_t s = 0; s < common.size(); ++s) {
        if (stop.stop_requested()) {
            return fail(ErrorCode::Cancelled, "cancelled while aligning");
        }
        if (progress) {
            progress->report("align", static_cast<double>(s) / static_cast<double>(common.size()));
        }
        const std::int32_t stepA = common[s], stepB = stepA + out.stepOffset;
        const auto cellsA = stepCells(a, indexA->steps.at(stepA)), cellsB = stepCells(b, indexB->steps.at(stepB));
        out.steps.push_back(planStep({ a, stepA, cellsA, *meshA }, { b, stepB, cellsB, *meshB }, out.steps.empty() ? nullptr : &out.steps.back()));
        const auto& plan = out.steps.back();
        const auto drafts = draftsOfStep({ a, *indexA, names->a, stepA, plan.microsA }, { b, *indexB, names->b, stepB, plan.microsB }, *names, slots);
        auto order = displayOrder(drafts);
        std::erase_if(order, [&](std::uint32_t i) { return isExtra(drafts[i]); });

        const StepContext context { a, b, plan, cellsA, cellsB, options, shortOf(a, b), shortOf(b, a) };
        const std::size_t first = out.pairs.size();
        out.pairs.resize(first + order.size());
        oneapi::tbb::parallel_for(std::size_t { 0 }, order.size(), [&](std::size_t i) {
            const auto& draft = drafts[order[i]];
            auto pair = relatePair(draft, pairKey(draft.key, stepA, *names, slots), context);
            pair.source = sitesA.of(pair.key, stepA, plan.microsA);
            if (pair.source.empty()) {
                pair.source = sitesB.of(pair.key, stepB, plan.microsB);
            }
            out.pairs[first + i] = std::move(pair);
        });
        for (std::size_t rule = 0; rule < placed.size(); ++rule) {
            const auto matches = [&](const Pair& pair) { return options.placements[rule].matches(pair.key, true) || options.placements[rule].matches(pair.key, false); };
            placed[rule] = placed[rule] || std::any_of(out.pairs.begin() + static_cast<std::ptrdiff_t>(first), out.pairs.end(), matches);
        }
    }
    for (std::size_t rule = 0; rule < placed.size(); ++rule) {
        if (!placed[rule]) {
            out.notes.push_back(fmt::format("the placement '{}' is about no tensor: no name and kind matches it", options.placements[rule].text));
        }
    }
    out.a = std::move(a);
    out.b = std::move(b);
    return out;
}

} // namespace forkpoint::align
