// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/sentence.h"

#include "core/compare/pair_counts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

namespace forkpoint::report {

namespace {

using diagnose::Severity;

std::string place(const align::Pair& pair)
{
    const auto& key = pair.key;
    std::string text = fmt::format("step {}", key.step);
    if (key.micro > 0) {
        text += fmt::format(", micro-step {}", key.micro);
    }
    text += fmt::format(", {}/{} of {}", bundle::name(key.phase), bundle::name(key.kind), key.name());
    if (key.call > 0) {
        text += fmt::format(" (call {})", key.call);
    }
    if (!key.slot.empty()) {
        text += fmt::format(" [{}]", *key.slot);
    }
    return text;
}

std::string counted(std::size_t n, std::string_view noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

/// What was not compared, one sentence each.
std::string leftOut(const compare::Snapshot& comparison, const compare::PairCounts& counts)
{
    std::string text;
    if (counts.differing > 0) {
        const auto results = comparison.results();
        const auto first = std::find_if(results.begin(), results.end(), [](const auto& result) { return result.differsInBits; });
        const auto where = place(comparison.structure().alignment.pairs[static_cast<std::size_t>(first - results.begin())]);
        const bool ordered = comparison.outcome()->verdict.ordered;
        text += counts.differing == 1
            ? fmt::format(" 1 tensor differs in bits, {}; by how much was not recorded.", where)
            : fmt::format(" {} tensors differ in bits; by how much was not recorded. The first in {} is {}.", counts.differing,
                          ordered ? "execution order" : "the order of the files", where);
    }
    if (counts.oneSided() > 0) {
        text += fmt::format(" {} on one side only.", counts.oneSided() == 1 ? "1 tensor exists" : fmt::format("{} tensors exist", counts.oneSided()));
    }
    if (counts.unreadable > 0) {
        text += fmt::format(" {} could not be read.", counted(counts.unreadable, "tensor"));
    }
    return text;
}

/// The verdict where there is no fork.
std::string agreement(const compare::Snapshot& comparison)
{
    const auto counts = compare::countPairs(comparison);
    const bool oneRun = comparison.structure().alignment.ranksOfOneRun.has_value();
    const auto withinFloor = counts.identical + counts.noise;
    if (counts.differing > 0 && !oneRun) { // what is known to differ is said first
        std::string text = leftOut(comparison, counts).substr(1);
        text += withinFloor > 0 ? fmt::format(" Of the others, {} bit-identical", counts.identical) : std::string();
        text += counts.noise > 0 ? fmt::format(" and {} within rounding.", counts.noise) : withinFloor > 0 ? "." : "";
        return text;
    }
    if (withinFloor + counts.undecidable == 0) {
        return (oneRun && counts.compared() > 0 ? "Nothing that must be equal on all ranks was compared."
                   : counts.unreadable > 0      ? "Nothing could be compared."
                                                : "Nothing could be compared: no tensor exists on both sides.")
            + leftOut(comparison, counts);
    }
    const std::string_view subject = oneRun ? "Weights, reduced gradients and optimizer" : comparison.outcome()->verdict.ordered ? "The runs" : "The files";
    std::string text;
    if (withinFloor == 0) {
        text = fmt::format("No tensor could be decided: {} the floor, but may have grown from rounding.",
                           counts.undecidable == 1 ? "1 exceeds" : fmt::format("{} exceed", counts.undecidable));
        return text + leftOut(comparison, counts);
    }
    if (counts.noise == 0) {
        text = counts.complete() ? fmt::format("{} are bit-identical in all {}.", subject, counted(counts.identical, "compared tensor"))
                                 : fmt::format("{} are bit-identical in the {} that could be compared.", subject, counted(counts.identical, "tensor"));
    } else {
        text = fmt::format("{} agree within rounding in {} ({} bit-identical)", subject,
                           counts.complete() ? fmt::format("all {}", counted(withinFloor, "compared tensor"))
                                             : fmt::format("the {} that could be compared", counted(withinFloor, "tensor")),
                           counts.identical);
        const auto& closest = comparison.outcome()->verdict.closest;
        text += closest ? fmt::format("; closest to the floor: {}, {}.", place(comparison.structure().alignment.pairs[*closest]), pairNumbers(comparison, *closest))
                        : ".";
    }
    if (counts.undecidable > 0) {
        text += fmt::format(" {} in later steps {} the floor, but may have grown from rounding.", counted(counts.undecidable, "tensor"),
                            counts.undecidable == 1 ? "exceeds" : "exceed");
    }
    return text + leftOut(comparison, counts);
}

/// Said before the verdict on two ranks of one run.
std::string lead(const compare::Snapshot& comparison)
{
    const auto& ranks = comparison.structure().alignment.ranksOfOneRun;
    return ranks ? fmt::format("Ranks {} and {} of one run: their data differ by design, so look at weights, reduced gradients and optimizer. ", ranks->first,
                               ranks->second)
                 : std::string();
}

constexpr std::int64_t kEnoughForAFactor = 4; ///< elements; any two single numbers have a factor between them

/// 2, 3, 0.5: what a forgotten mean or a doubled sum makes of a number.
bool isSimpleRatio(double factor)
{
    const double larger = std::abs(factor) >= 1 ? factor : 1 / factor;
    return std::abs(larger) <= 1024 && std::abs(larger - std::round(larger)) < 1e-6 * std::abs(larger);
}

} // namespace

std::string pairNumbers(const compare::Snapshot& comparison, std::size_t index)
{
    const auto& result = comparison.result(index);
    const auto* lane = result.worstLane();
    if (!lane) {
        return result.note.empty() ? "not compared" : result.note;
    }
    const auto& s = lane->statistics;
    if (result.severity == Severity::Identical) {
        return "bit-identical";
    }
    if (result.severity == Severity::Invalid) {
        return fmt::format("not finite in different places: NaN {} against {}, infinite {} against {}", s.a.nan, s.b.nan,
                           s.a.positiveInf + s.a.negativeInf, s.b.positiveInf + s.b.negativeInf);
    }
    std::string text = fmt::format("relative difference {:.2g}{}", s.relL2, lane->ofUpdate ? " of the update" : "");
    if (std::isfinite(result.ratio)) {
        text += fmt::format(", {:.2g} times the floor", result.ratio);
    } else {
        text += fmt::format(", {} of {} elements differ", s.count - s.bitEqual, s.count);
    }
    const bool factor = std::abs(s.bestScale - 1) > 1e-3 && s.scaleResidual < 0.01 * std::min(1.0, s.relL2)
        && (s.count >= kEnoughForAFactor || isSimpleRatio(s.bestScale));
    if (factor && diagnose::isAboveFloor(result.severity)) {
        text += fmt::format("; candidate = {:.6g} x reference {}", s.bestScale,
                            s.scaleResidual > 0 ? fmt::format("up to {:.1g}", s.scaleResidual) : "exactly");
    }
    if (result.structured) {
        text += "; small, but not random: a factor or a bias runs through it";
    }
    if (lane->rank >= 0 && result.lanes.size() > 1) {
        text += fmt::format("; worst on rank {}", lane->rank);
    }
    return text;
}

namespace {

/// The loss of later steps says what the recorded tensors cannot.
std::string laterOnset(const compare::Snapshot& comparison)
{
    const auto& steps = comparison.structure().alignment.steps;
    for (const auto& curve : comparison.outcome()->curves) {
        if (curve.onset && !steps.empty() && *curve.onset > steps.back().step) {
            return fmt::format(" But the {} departs at step {}, after the last compared step {}: record --steps {}:{} of both runs.", curve.name, *curve.onset,
                               steps.back().step, std::max(0, *curve.onset - 1), *curve.onset + 1);
        }
    }
    return {};
}

std::string oneSidedInputs(const compare::Snapshot& comparison, std::size_t pair)
{
    const auto& structure = comparison.structure();
    constexpr std::size_t kNamed = 3;
    std::size_t found = 0;
    std::string out;
    for (const auto input : structure.inputs.of[pair]) {
        const auto status = structure.alignment.pairs[input].status;
        if ((status == align::PairStatus::OnlyA || status == align::PairStatus::OnlyB) && ++found <= kNamed) {
            out += fmt::format("{}{} exists in the {} only", out.empty() ? "; " : ", ", structure.alignment.pairs[input].id,
                               status == align::PairStatus::OnlyA ? "reference" : "candidate");
        }
    }
    return found > kNamed ? out + fmt::format(" (and {} more)", found - kNamed) : out;
}

/// The recorder saw that the ranks hold the same (DDP, a replicated DTensor).
bool isDeclaredReplica(const align::Pair& pair)
{
    const auto* record = pair.lanes.empty() || pair.lanes.front().b.parts.empty() ? nullptr : pair.lanes.front().b.parts.front().front().record;
    return record && !record->placement.empty()
        && std::all_of(record->placement.begin(), record->placement.end(), [](const auto& p) { return p.type == bundle::Placement::Type::Replicate; });
}

/// Why the fork is one.
std::string evidence(const compare::Snapshot& comparison)
{
    const auto& fork = *comparison.outcome()->verdict.fork;
    switch (compare::forkEvidence(comparison)) {
    case compare::ForkEvidence::MustBeEqual:
        return isDeclaredReplica(comparison.structure().alignment.pairs[fork.pair])
            ? "it must be equal on all ranks"
            : "it must be equal on all ranks, unless each holds a part of it, which was not recorded";
    case compare::ForkEvidence::InputsAgree:
        return fmt::format("{} recorded {} it was computed from {}", fork.after.size(), fork.after.size() == 1 ? "tensor" : "tensors",
                           fork.after.size() == 1 ? "agrees" : "agree");
    case compare::ForkEvidence::FirstRecorded:
        return "nothing recorded comes before it";
    case compare::ForkEvidence::InputsNotCompared:
        return "none of its recorded inputs could be compared";
    case compare::ForkEvidence::InputsNotRecorded:
        break;
    }
    return "none of its inputs was recorded";
}

/// Plain files: what differs, without a claim about cause.
std::string fileDifference(const compare::Snapshot& comparison)
{
    const auto& verdict = comparison.outcome()->verdict;
    const auto& pairs = comparison.structure().alignment.pairs;
    std::size_t differing = 0, compared = 0, worst = verdict.fork->pair;
    for (const auto& gate : verdict.gates) {
        differing += gate.above + gate.invalid;
        compared += gate.identical + gate.noise + gate.above + gate.invalid;
    }
    for (std::size_t i = 0; i < comparison.ready(); ++i) {
        worst = comparison.result(i).ratio > comparison.result(worst).ratio ? i : worst;
    }
    std::string text = fmt::format("The files differ by more than rounding in {} of {}. ", differing, counted(compared, "compared tensor"));
    if (worst == verdict.fork->pair) {
        text += fmt::format("The first in the order of the files differs most: {}, {}.", place(pairs[worst]), pairNumbers(comparison, worst));
    } else {
        text += fmt::format("The first in the order of the files is {}, {}; the largest difference is in {}, {}.", place(pairs[verdict.fork->pair]),
                            pairNumbers(comparison, verdict.fork->pair), place(pairs[worst]), pairNumbers(comparison, worst));
    }
    return text + " Files do not say in which order they were computed: record both runs to find where they fork.";
}

} // namespace

std::string verdictSentence(const compare::Snapshot& comparison)
{
    const auto& verdict = comparison.outcome()->verdict;
    if (verdict.fork && !verdict.ordered) {
        return fileDifference(comparison);
    }
    const std::string before = lead(comparison);
    if (!verdict.fork) {
        return before + agreement(comparison) + laterOnset(comparison);
    }
    const auto& pair = comparison.structure().alignment.pairs[verdict.fork->pair];
    const std::string_view subject = before.empty() ? "The runs" : "They";
    const std::string where = pair.source.empty() ? "" : fmt::format(" at {}", *pair.source);
    if (pair.status == align::PairStatus::OnlyA || pair.status == align::PairStatus::OnlyB) {
        return before
            + fmt::format("{} fork at {}{}: it exists in the {} only, and what it feeds differs.", subject, place(pair), where,
                          pair.status == align::PairStatus::OnlyA ? "reference" : "candidate");
    }
    if (!verdict.fork->proven) {
        return before
            + fmt::format("{} differ; the first difference in execution order is {}{} ({}), but not all of its inputs agree or were recorded.", subject,
                          place(pair), where, pairNumbers(comparison, verdict.fork->pair));
    }
    return before
        + fmt::format("{} fork at {}{}: {}; {}{}.", subject, place(pair), where, pairNumbers(comparison, verdict.fork->pair), evidence(comparison),
                      oneSidedInputs(comparison, verdict.fork->pair));
}

Coverage coverageOf(const align::Side& side)
{
    Coverage out;
    std::set<std::string> seen;
    for (const auto* rank : side.ranks) {
        out.incompleteRanks += rank->complete ? 0u : 1u;
        const auto coverage = rank->info.find("coverage");
        if (coverage == rank->info.end() || !coverage->is_object()) {
            continue;
        }
        const auto number = [&](const char* key) {
            const auto found = coverage->find(key);
            return found != coverage->end() && found->is_number_integer() ? found->get<std::int64_t>() : std::int64_t(-1);
        };
        const auto calls = number("calls"), callsSeen = number("calls_seen");
        out.calls = calls < 0 ? out.calls : std::max<std::int64_t>(out.calls, 0) + calls;
        out.callsSeen = callsSeen < 0 ? out.callsSeen : std::max<std::int64_t>(out.callsSeen, 0) + callsSeen;
        const auto list = coverage->find("not_observed");
        if (list == coverage->end() || !list->is_array()) {
            continue;
        }
        for (const auto& entry : *list) {
            if (!entry.is_object()) {
                continue;
            }
            const auto text = [&](const char* key) {
                const auto found = entry.find(key);
                return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
            };
            if (auto line = fmt::format("{}: {}", text("what"), text("why")); seen.insert(line).second) {
                out.notObserved.push_back(std::move(line));
            }
        }
    }
    return out;
}

namespace {

std::size_t tensorsOf(const align::Side& side)
{
    std::size_t count = 0;
    for (const auto* rank : side.ranks) {
        count += rank->tensors.size();
    }
    return count;
}

} // namespace

std::string coverageSentence(const compare::Snapshot& comparison)
{
    const auto& alignment = comparison.structure().alignment;
    std::string text;
    std::size_t notObserved = 0;
    for (const auto* side : { &alignment.a, &alignment.b }) {
        const auto coverage = coverageOf(*side);
        notObserved += coverage.notObserved.size();
        text += text.empty() ? "reference " : ", candidate ";
        text += !side->bundle->isRecording() ? counted(tensorsOf(*side), "tensor")
            : coverage.calls < 0             ? "calls not counted" : fmt::format("{} of {} module calls", coverage.callsSeen, coverage.calls);
        const auto& problems = side->bundle->problems();
        const auto damage = std::count_if(problems.begin(), problems.end(), [](const auto& p) { return p.level == bundle::Problem::Level::Warning; });
        if (damage > 0) {
            text += fmt::format(" ({} problem{} in the {}: see the notes)", damage, damage == 1 ? "" : "s", side->bundle->isRecording() ? "bundle" : "files");
        }
        if (coverage.incompleteRanks > 0) {
            text += fmt::format(" ({} of {} ranks did not end regularly)", coverage.incompleteRanks, side->ranks.size());
        }
    }
    std::size_t unmatchedA = 0, unmatchedB = 0;
    for (const auto& pair : alignment.pairs) {
        unmatchedA += pair.status == align::PairStatus::OnlyA ? 1u : 0u;
        unmatchedB += pair.status == align::PairStatus::OnlyB ? 1u : 0u;
    }
    text += fmt::format("; {} pairs", alignment.pairs.size() - unmatchedA - unmatchedB);
    if (unmatchedA + unmatchedB > 0) {
        text += fmt::format(", {} tensors only in the reference, {} only in the candidate", unmatchedA, unmatchedB);
    }
    if (notObserved > 0) {
        text += fmt::format("; {} things not observed", notObserved);
    }
    if (const auto unreadable = compare::countPairs(comparison).unreadable; unreadable > 0) {
        text += fmt::format("; {} could not be read", counted(unreadable, "pair"));
    }
    return text;
}

std::vector<std::string> narrowNotes(const compare::Snapshot& comparison)
{
    constexpr std::int64_t kEnoughToTell = 16; // fewer elements may be round numbers by chance
    if (comparison.outcome()->verdict.ordered) {
        return {};
    }
    std::vector<std::string> out;
    for (const bool isA : { true, false }) {
        std::map<DType, std::size_t> counts;
        for (std::size_t i = 0; i < comparison.ready(); ++i) {
            const auto* lane = comparison.result(i).worstLane();
            if (!lane || lane->statistics.count < kEnoughToTell) {
                continue;
            }
            if (const auto& narrowest = (isA ? lane->statistics.a : lane->statistics.b).narrowest) {
                ++counts[*narrowest];
            }
        }
        for (const auto& [dtype, count] : counts) {
            out.push_back(fmt::format("{}: {} hold{} {} values only, stored as float32: converted from the narrower type before saving, and no more exact than it",
                                      isA ? "reference" : "candidate", counted(count, "tensor"), count == 1 ? "s" : "", name(dtype)));
        }
    }
    return out;
}

} // namespace forkpoint::report
