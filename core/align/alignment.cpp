// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/alignment.h"

#include "core/align/call_sites.h"
#include "core/align/layout.h"
#include "core/align/mapped_names.h"
#include "core/align/pairing.h"
#include "core/align/stage_numbers.h"
#include "core/align/stages.h"
#include "core/base/progress_steps.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>

// Names are brought to the reference's terms; records with equal keys then meet in one draft, parts of micro-steps and ranks. Then each draft is
// related: the parts become wholes, the wholes lanes. Steps are planned one after the other, because each may rest on the one before, and then
// paired side by side; a result never depends on which thread made it.
namespace forkpoint::align {

namespace {

constexpr std::size_t kStepsAtOnce = 16; ///< the pairs of more are not held twice

/// Which ranks a side has of a step, in words, if it is short of some; empty if it has all, or if both launches had the same number of ranks: those
/// are compared one by one. A rank may be missing altogether, or have been killed before the step.
std::string shortOf(const Side& side, const StepCells& cells, const Side& other)
{
    const int world = side.bundle->worldSize();
    if (world == other.bundle->worldSize() || cells.ranks.size() >= static_cast<std::size_t>(std::max(world, 0))) {
        return {};
    }
    std::vector<int> ranks;
    for (const std::size_t rank : cells.ranks) {
        ranks.push_back(side.ranks[rank]->rank);
    }
    return fmt::format("only {} of {} ranks", rankList(ranks), world);
}

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

/// Of every parameter, by module and name, as the first rank of the side holds it.
using ParameterShapes = std::map<std::pair<std::string_view, std::string_view>, const Shape*>;

ParameterShapes parameterShapes(const Side& side)
{
    ParameterShapes shapes;
    for (const auto& record : side.ranks.front()->tensors) {
        if (record.phase == bundle::Phase::Start && record.kind == bundle::Kind::Param) {
            shapes.try_emplace({ *record.module, *record.param }, &*record.shape);
        }
    }
    return shapes;
}

/// The modules of a side with the shapes of their parameters: what is of another shape is no renamed module. nullopt: some were not recorded.
std::optional<std::vector<bundle::ModuleRecord>> modulesWithShapes(const Side& side)
{
    auto modules = allModules(side);
    const auto shapes = parameterShapes(side);
    for (auto& module : modules) {
        for (auto& parameter : module.parameters) {
            const auto found = shapes.find({ module.path, parameter });
            if (found == shapes.end()) {
                return std::nullopt;
            }
            parameter += fmt::format("[{}]", fmt::join(*found->second, ", "));
        }
    }
    return modules;
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
    const auto world = static_cast<std::size_t>(std::max(side.bundle->worldSize(), 0)), recorded = side.bundle->ranks().size();
    if (side.ranks.size() > 1 && recorded < world) {
        notes.push_back(fmt::format("{}: {} of {} ranks were recorded", which, recorded, world));
    }
}

/// The first step of A that B has, too, under its own number.
std::optional<std::int32_t> firstCommonStep(const Side& a, const Side& b, std::int64_t offset)
{
    const auto steps = [](const Side& side) {
        std::set<std::int64_t> out;
        for (const auto* rank : side.ranks) {
            std::optional<std::int32_t> last;
            for (const auto& record : rank->tensors) {
                if (record.step != last) {
                    last = record.step;
                    out.insert(record.step);
                }
            }
        }
        return out;
    };
    const auto ofA = steps(a), ofB = steps(b);
    const auto found = std::find_if(ofA.begin(), ofA.end(), [&](std::int64_t step) { return ofB.contains(step + offset); });
    return found == ofA.end() ? std::nullopt : std::optional(static_cast<std::int32_t>(*found));
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
    const auto has = [](const RankMesh& mesh, const std::string& axis) {
        return std::find(mesh.axes.begin(), mesh.axes.end(), axis) != mesh.axes.end();
    };
    for (const auto& rule : rules) {
        for (const auto& placement : rule.placement) {
            if (!placement.axis.empty() && !has(meshA, placement.axis) && !has(meshB, placement.axis)) {
                const auto& axes = meshB.empty() ? meshA.axes : meshB.axes;
                return fail(ErrorCode::Usage,
                            fmt::format("the placement '{}' names the axis {}, and the ranks have {}: --mesh names the axes", rule.text,
                                        placement.axis, fmt::join(axes, ", ")));
            }
        }
    }
    return {};
}

/// The steps that both sides have, by A's numbers; what only one has is noted. Fails with Truncated where a side has none, with Usage where they have
/// none in common.
Result<std::vector<int>> commonSteps(const Side& a, const SideIndex& indexA, const Side& b, const SideIndex& indexB, Alignment& out)
{
    const auto stepsA = stepsOf(indexA), stepsB = stepsOf(indexB);
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
            const auto first = std::find_if(problems.begin(), problems.end(),
                                            [](const auto& p) { return p.level == bundle::Problem::Level::Warning; });
            const std::string found = first == problems.end() ? std::string() : fmt::format(" ({}: {})", first->where, first->message);
            return fail(ErrorCode::Truncated,
                        fmt::format("holds no readable tensor record{}: there is nothing to compare. forkpoint-cli info says all that was found",
                                    found),
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
    return common;
}

/// Modules that were matched by class. `modulesB`: with the names that the mapping gives them.
std::map<std::string, std::string> renamedModules(const Side& a, const Side& b, const std::vector<bundle::ModuleRecord>& modulesB)
{
    auto renames = matchRenamedModules(allModules(a), modulesB);
    if (!renames.empty() && a.ranks.size() == 1 && b.ranks.size() == 1 && a.bundle->worldSize() == b.bundle->worldSize()) {
        const auto shapedA = modulesWithShapes(a);
        auto shapedB = modulesWithShapes(b);
        if (shapedA && shapedB) {
            for (std::size_t i = 0; i < modulesB.size(); ++i) {
                (*shapedB)[i].path = modulesB[i].path; // as mapped
            }
            renames = matchRenamedModules(*shapedA, *shapedB);
        }
    }
    return renames;
}

struct StepOf {
    const Side& side;
    std::int32_t step = 0;
    const RankMesh& mesh;
    const StepRecords& records;
    const Stages& stages;
};

struct PlanTask {
    StepOf a, b;
    const StepPlan* previous = nullptr;
    const LayoutDifference& layout;
    bool sameStages = true;
};

struct PlannedStep {
    StepPlan plan;
    StepCells cellsA, cellsB;
};

PlannedStep planned(const PlanTask& task, PlannedStep with, const PlanHow& how)
{
    const auto side = [](const StepOf& of, const StepCells& cells) { return PlanSide { of.side, of.step, cells, of.mesh, of.stages }; };
    with.plan = planStep(side(task.a, with.cellsA), side(task.b, with.cellsB), task.previous, how);
    return with;
}

PlannedStep cellsOf(const PlanTask& task, std::size_t rowDim)
{
    PlannedStep out;
    tbb::parallel_invoke([&] { out.cellsA = stepCells(task.a.side, task.a.records, rowDim); },
                         [&] { out.cellsB = stepCells(task.b.side, task.b.records, rowDim); });
    shareRows(out.cellsA.rows, task.a.stages);
    shareRows(out.cellsB.rows, task.b.stages);
    return out;
}

/// The rows match rank by rank, but what the ranks hold of the tensors does not.
bool joinsForLayout(const StepPlan& plan, const LayoutDifference& layout)
{
    const bool padded = std::any_of(plan.groups.begin(), plan.groups.end(), [](const CellGroup& g) { return g.rows.positions.length > 0; });
    return plan.rankByRank && (layout.parameters || (layout.activations && !padded));
}

/// The plan under which both sides hold the same rows: as the batches have them; with sequences first in the batches; with ranks that have parts of
/// them. The last two are as likely where both fit.
PlannedStep planRows(const PlanTask& task)
{
    const bool joined = !task.sameStages;
    auto out = planned(task, cellsOf(task, 0), { .ofParts = false, .joinRanks = joined });
    if (rowsMatch(out.plan) && joinsForLayout(out.plan, task.layout)) {
        if (auto other = planned(task, out, { .ofParts = false, .joinRanks = true }); rowsMatch(other.plan)) {
            out = std::move(other);
        }
    }
    if (!rowsMatch(out.plan) && knowsRows(out.cellsA) && knowsRows(out.cellsB)) {
        out = planned(task, std::move(out), { .joinRanks = joined });
        auto turned = planned(task, cellsOf(task, 1), { .ofParts = false, .joinRanks = joined });
        if (!rowsMatch(turned.plan) && !rowsMatch(out.plan)) {
            turned = planned(task, std::move(turned), { .joinRanks = joined });
        }
        if (rowsMatch(turned.plan)) {
            out = std::move(turned);
        }
    }
    for (auto* cells : { &out.cellsA, &out.cellsB }) {
        for (auto& [cell, keys] : cells->rows) {
            keys.tokens = {}; // they have said what they had to
        }
    }
    return out;
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
    if (const auto step = firstCommonStep(a, b, out.stepOffset)) {
        auto renumbered = numberLayersAlike(a, b, *step, *step + out.stepOffset);
        std::move(renumbered.begin(), renumbered.end(), std::back_inserter(out.notes));
    }
    Result<SideIndex> indexA, indexB;
    tbb::parallel_invoke([&] { indexA = indexOf(a); }, [&] { indexB = indexOf(b); });
    if (!indexA || !indexB) {
        return tl::unexpected(indexA ? indexB.error() : indexA.error());
    }
    const auto steps = commonSteps(a, *indexA, b, *indexB, out);
    if (!steps) {
        return tl::unexpected(steps.error());
    }
    const auto& common = *steps;
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
    auto stagesA = stagesOf(a), stagesB = stagesOf(b);
    const bool stagesAlike = sameStages(a, stagesA, b, stagesB);
    out.renames = renamedModules(a, b, modulesB);
    if (!stagesAlike) {
        auto renames = renamesOfStages(a, stagesA, b, stagesB);
        renames.merge(std::move(out.renames));
        out.renames = std::move(renames);
    }
    auto names = mapNames(*indexA, *indexB, options.mapping, out.renames);
    if (!names) {
        return tl::unexpected(names.error());
    }
    out.renames.merge(mappedPaths);
    orderStages(a, stagesA, b, stagesB, out.renames);
    std::move(names->notes.begin(), names->notes.end(), std::back_inserter(out.notes));

    std::optional<CallSites> sitesA, sitesB;
    tbb::parallel_invoke([&] { sitesA.emplace(a, std::map<std::string, std::string>()); }, [&] { sitesB.emplace(b, out.renames); });
    std::size_t most = 0;
    for (const auto* side : { &a, &b }) {
        for (const auto* rank : side->ranks) {
            most = std::max(most, rank->tensors.size());
        }
    }
    out.pairs.reserve(common.size() == 1 ? 0 : most);
    out.steps.reserve(common.size()); // plans stay where they are
    std::vector<bool> placed(options.placements.size());
    ValuePools pools;
    ProgressSteps done(progress, "align", common.size());

    const bool manyRanks = a.ranks.size() > 1 && b.ranks.size() > 1;
    const auto layout = manyRanks ? layoutDifference({ a, *indexA, indexA->steps.at(common.front()) },
                                                     { b, *indexB, indexB->steps.at(common.front() + out.stepOffset) })
                                  : LayoutDifference();

    struct Step {
        const StepPlan* plan = nullptr;
        StepCells cellsA, cellsB;
        std::vector<Pair> pairs;
    };
    using StepPtr = std::shared_ptr<Step>;
    const auto planNext = [&](tbb::flow_control& flow) -> StepPtr {
        if (out.steps.size() == common.size() || stop.stop_requested()) {
            flow.stop();
            return nullptr;
        }
        const std::int32_t stepA = common[out.steps.size()], stepB = stepA + out.stepOffset;
        auto step = std::make_shared<Step>();
        const auto* previous = out.steps.empty() ? nullptr : &out.steps.back();
        auto planned = planRows({ { a, stepA, *meshA, indexA->steps.at(stepA), stagesA }, { b, stepB, *meshB, indexB->steps.at(stepB), stagesB },
                                 previous, layout, stagesAlike });
        step->cellsA = std::move(planned.cellsA);
        step->cellsB = std::move(planned.cellsB);
        out.steps.push_back(std::move(planned.plan));
        step->plan = &out.steps.back();
        return step;
    };
    const auto pairUp = [&](const StepPtr& step) -> StepPtr {
        const auto& plan = *step->plan;
        const std::int32_t stepB = plan.step + out.stepOffset;
        static const Stages none;
        const auto drafts = draftsOfStep({ a, *indexA, names->a, plan.step, plan.microsA, plan.rankByRank ? none : stagesA },
                                         { b, *indexB, names->b, stepB, plan.microsB, plan.rankByRank ? none : stagesB }, *names);
        auto order = displayOrder(drafts.drafts);
        std::erase_if(order, [&](std::uint32_t i) { return isExtra(drafts.drafts[i]); });
        const StepContext context { a, b, plan, step->cellsA, step->cellsB, options, shortOf(a, step->cellsA, b), shortOf(b, step->cellsB, a), pools };
        step->pairs.resize(order.size());
        tbb::parallel_for(std::size_t { 0 }, order.size(), [&](std::size_t i) {
            if (stop.stop_requested()) {
                return;
            }
            const auto& draft = drafts.drafts[order[i]];
            auto& pair = step->pairs[i] = relatePair(draft, pairKey(draft.key, plan.step, *names, drafts), context);
            pair.source = sitesA->of(pair.key, plan.step, plan.microsA);
            if (pair.source.empty()) {
                pair.source = sitesB->of(pair.key, stepB, plan.microsB);
            }
        });
        return step;
    };
    const auto append = [&](const StepPtr& step) {
        for (std::size_t rule = 0; rule < placed.size(); ++rule) {
            const auto& given = options.placements[rule];
            placed[rule] = placed[rule] || std::any_of(step->pairs.begin(), step->pairs.end(), [&](const Pair& pair) {
                return given.matches(pair.key, true) || given.matches(pair.key, false);
            });
        }
        if (common.size() == 1) {
            out.pairs = std::move(step->pairs);
        } else {
            std::move(step->pairs.begin(), step->pairs.end(), std::back_inserter(out.pairs));
        }
        done.add(1);
    };
    tbb::parallel_pipeline(kStepsAtOnce, tbb::make_filter<void, StepPtr>(tbb::filter_mode::serial_in_order, planNext)
                               & tbb::make_filter<StepPtr, StepPtr>(tbb::filter_mode::parallel, pairUp)
                               & tbb::make_filter<StepPtr, void>(tbb::filter_mode::serial_in_order, append));
    if (stop.stop_requested()) {
        return fail(ErrorCode::Cancelled, "cancelled while aligning");
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
