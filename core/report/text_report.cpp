// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/text_report.h"

#include "core/bundle/sketch.h"
#include "core/report/sentence.h"
#include "core/report/terminal.h"
#include "core/report/unmatched.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace forkpoint::report {

namespace {

using diagnose::GateState;
using diagnose::PairResult;
using diagnose::Severity;

constexpr std::size_t kContextLines = 12;
constexpr std::size_t kNoteLines = 12;
constexpr std::size_t kReasons = 2; ///< why tensors could not be read; of more only the first is told
constexpr std::size_t kLanes = 16;
constexpr int kNarrow = 70; ///< below, a column is left out so that names have room

std::string_view mark(Severity severity)
{
    switch (severity) {
    case Severity::Identical:
        return "=";
    case Severity::Noise:
        return "~";
    case Severity::Unmatched:
        return "?";
    case Severity::Drift:
        return "!";
    case Severity::Divergent:
        return "#";
    case Severity::Invalid:
        return "X";
    }
    return " ";
}

std::string heading(std::string_view text, const TextOptions& options) { return "\n" + toned(text, Tone::Bold, options) + "\n"; }

std::string stepsText(const std::vector<int>& steps)
{
    if (steps.empty()) {
        return "no steps";
    }
    const bool gapless = steps.back() - steps.front() + 1 == static_cast<int>(steps.size());
    return steps.size() == 1 ? fmt::format("step {}", steps[0])
        : gapless            ? fmt::format("steps {}-{}", steps.front(), steps.back())
                             : fmt::format("{} steps from {} to {}", steps.size(), steps.front(), steps.back());
}

std::string runText(const align::Side& side)
{
    std::string ranks = fmt::format("{} rank{}", side.ranks.size(), side.ranks.size() == 1 ? "" : "s");
    if (static_cast<int>(side.ranks.size()) != side.bundle->worldSize()) {
        ranks += fmt::format(" of {}", side.bundle->worldSize());
    }
    return fmt::format("{} ({}, {})", printable(side.label), ranks, stepsText(side.bundle->steps()));
}

std::string gateDetail(const diagnose::GateSummary& gate)
{
    std::string out;
    const auto add = [&out](std::size_t n, std::string_view what) {
        if (n > 0) {
            out += fmt::format("{}{} {}", out.empty() ? "" : ", ", n, what);
        }
    };
    add(gate.identical, "identical");
    add(gate.noise, "noise");
    add(gate.unmatched, "unmatched");
    add(gate.differing, "differing in bits");
    add(gate.above, "above the floor");
    add(gate.invalid, "invalid");
    return out;
}

std::string gatesText(const compare::Snapshot& comparison, const TextOptions& options)
{
    const auto& verdict = comparison.outcome()->verdict;
    const auto& alignment = comparison.structure().alignment;
    // After a fork everything later differs: only its own step shows what still agreed.
    const auto step = verdict.fork ? std::optional(alignment.pairs[verdict.fork->pair].key.step) : std::nullopt;
    const diagnose::GateQuestion question { step, verdict.fork ? std::optional(verdict.fork->pair) : std::nullopt,
                                            diagnose::unexpectedDifferences(comparison.structure().context) };
    const auto gates = diagnose::summariseGates(alignment, comparison.results(), question);
    std::string out = heading(step ? fmt::format("Gates of step {}", *step) : "Gates", options);
    for (std::size_t g = 0; g < diagnose::kGates; ++g) {
        const auto& gate = gates[g];
        const Tone tone = gate.state == GateState::Ok ? Tone::Good
            : gate.state == GateState::Fork           ? Tone::Bad
            : gate.state == GateState::Differs        ? Tone::Warn
                                                      : Tone::Dim;
        std::string detail = gateDetail(gate);
        if (static_cast<diagnose::Gate>(g) == diagnose::Gate::Environment && question.environmentDiffers) {
            const auto n = *question.environmentDiffers;
            detail = n == 0 ? "no unexpected difference" : fmt::format("{} difference{}", n, n == 1 ? "" : "s");
        }
        const std::string state(diagnose::name(gate.state));
        const std::string gap(14 - std::min<std::size_t>(state.size(), 12), ' ');
        out += fmt::format("  {}  {}{}\n", padded(diagnose::name(static_cast<diagnose::Gate>(g)), 11), toned(state, tone, options),
                           detail.empty() ? "" : gap + wrapped(detail, static_cast<std::size_t>(options.width), 29, 29));
    }
    return out;
}

/// Errors by rank, the worst first where there are too many for all.
std::string lanesText(const PairResult& result)
{
    std::vector<std::size_t> order(result.lanes.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    if (order.size() > kLanes) {
        std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return result.judgements[x].ratio > result.judgements[y].ratio; });
        order.resize(kLanes);
    }
    std::string out;
    for (const auto i : order) {
        out += fmt::format("{}{}: {:.2g}", out.empty() ? "" : ", ", result.lanes[i].rank < 0 ? "joined" : fmt::format("rank {}", result.lanes[i].rank),
                           result.judgements[i].error);
    }
    if (result.lanes.size() > kLanes) {
        out += fmt::format(", ... {} more", result.lanes.size() - kLanes);
    }
    return out;
}

/// At most 8 columns.
std::string scientific(double value)
{
    auto text = fmt::format("{:.2e}", value);
    return text.size() > 8 ? fmt::format("{:.1e}", value) : text;
}

std::string forkText(const compare::Snapshot& comparison, const TextOptions& options)
{
    const auto& verdict = comparison.outcome()->verdict;
    if (!verdict.fork) {
        return {};
    }
    const auto& pairs = comparison.structure().alignment.pairs;
    const auto& pair = pairs[verdict.fork->pair];
    const auto& result = comparison.result(verdict.fork->pair);
    const auto width = static_cast<std::size_t>(options.width);
    const auto metricLine = [&](std::string_view label, const std::string& value) {
        return fmt::format("  {}  {}\n", padded(label, 19), wrapped(printable(value), width, 23, 23));
    };
    std::string out = heading(verdict.fork->proven ? "Fork" : verdict.ordered ? "First difference" : "First difference, in the order of the files", options);
    out += metricLine("pair", pair.id);
    if (!pair.source.empty()) {
        out += metricLine("source", pair.source);
    }
    if (!verdict.fork->after.empty()) {
        double worst = 0;
        for (const auto i : verdict.fork->after) {
            worst = std::max(worst, comparison.result(i).error);
        }
        out += metricLine("inputs in agreement", fmt::format("{}, largest error {:.2g}", verdict.fork->after.size(), worst));
    }
    if (!pair.assembly.empty()) {
        out += metricLine("assembly", pair.assembly);
    }
    if (const auto* lane = result.worstLane()) {
        const auto& s = lane->statistics;
        out += metricLine("relative L2", fmt::format("{:.4g}{}, {}", s.relL2, lane->ofUpdate ? " of the update (after - start)" : "",
                                                     std::isfinite(result.ratio) ? fmt::format("{:.3g} times the floor", result.ratio) : "no floor"));
        out += metricLine("error e", fmt::format("{:.4g} (floor {:.2g}; inherited {:.2g}, new here {:.2g})", result.error, result.floor, result.inherited,
                                                 result.added));
        out += metricLine("largest |B - A|", fmt::format("{:.4g} at element {} ({:.9g} against {:.9g})", s.maxAbs.value, s.maxAbs.index, s.maxAbs.a, s.maxAbs.b));
        out += metricLine("best scale", fmt::format("{:.7g}, residual {:.2g}; cosine {:.7g}", s.bestScale, s.scaleResidual, s.cosine));
        out += metricLine("bit-equal", fmt::format("{} of {} elements", s.bitEqual, s.count));
        if (s.a.nan + s.b.nan + s.a.positiveInf + s.a.negativeInf + s.b.positiveInf + s.b.negativeInf > 0) {
            out += metricLine("not finite", fmt::format("NaN {} against {}, infinite {} against {}", s.a.nan, s.b.nan, s.a.positiveInf + s.a.negativeInf,
                                                        s.b.positiveInf + s.b.negativeInf));
        }
        if (result.lanes.size() > 1) {
            out += metricLine("by rank", lanesText(result));
        }
    }
    return out;
}

std::string pairLine(const compare::Snapshot& comparison, std::size_t index, bool isFork, const TextOptions& options)
{
    const auto& pair = comparison.structure().alignment.pairs[index];
    const auto& result = comparison.result(index);
    const std::string numbers = result.lanes.empty() ? std::string("-")
        : result.severity == Severity::Identical     ? std::string("0")
        : std::isfinite(result.error)                ? scientific(result.error)
                                                     : std::string("invalid");
    const std::string maxAbs = result.worstLane() && result.severity != Severity::Identical ? scientific(result.worstLane()->statistics.maxAbs.value) : "";
    const bool narrow = options.width < kNarrow;
    const auto room = static_cast<std::size_t>(options.width - (narrow ? 25 : 35));
    return fmt::format("{} {} {}  {}  {}{}\n", isFork ? ">" : " ", toned(mark(result.severity), toneOf(result.severity), options),
                       toned(padded(diagnose::name(result.severity), 9), toneOf(result.severity), options), padded(numbers, 8),
                       narrow ? std::string() : padded(maxAbs, 8) + "  ", shortened(printable(pair.id), room));
}

std::string pairsHeading(std::string_view title, const TextOptions& options)
{
    return heading(title, options) + toned(options.width < kNarrow ? "    severity   error     pair\n" : "    severity   error     max|B-A|  pair\n", Tone::Dim, options);
}

std::string pairsText(const compare::Snapshot& comparison, const TextOptions& options)
{
    const auto& verdict = comparison.outcome()->verdict;
    const std::size_t n = comparison.ready();
    if (n == 0) {
        return {};
    }
    std::size_t centre = 0;
    std::string title = verdict.ordered ? "Pairs around the fork, in execution order" : "Pairs around the first difference, in the order of the files";
    if (verdict.fork) {
        centre = verdict.fork->pair;
    } else {
        title = "Pairs with the largest error";
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < n; ++i) {
            if (comparison.result(i).severity != Severity::Identical) {
                order.push_back(i);
            }
        }
        if (order.empty()) {
            return {};
        }
        const auto count = std::min(order.size(), static_cast<std::size_t>(options.around));
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), [&](std::size_t x, std::size_t y) {
            return std::tuple(-comparison.result(x).ratio, x) < std::tuple(-comparison.result(y).ratio, y);
        });
        std::string out = pairsHeading(title, options);
        for (std::size_t i = 0; i < count; ++i) {
            out += pairLine(comparison, order[i], false, options);
        }
        return out;
    }
    const auto around = static_cast<std::size_t>(options.around);
    const std::size_t first = centre > around ? centre - around : 0, last = std::min(n, centre + around + 1);
    std::string out = pairsHeading(title, options);
    if (first > 0) {
        out += fmt::format("    ... {} before\n", first);
    }
    for (std::size_t i = first; i < last; ++i) {
        out += pairLine(comparison, i, i == centre, options);
    }
    if (last < n) {
        out += fmt::format("    ... {} after\n", n - last);
    }
    return out;
}

std::string contextText(const compare::Snapshot& comparison, const TextOptions& options)
{
    const auto& context = comparison.structure().context;
    if (!context) {
        return {};
    }
    std::string out;
    std::size_t shown = 0, expected = 0, unreadable = 0;
    for (const auto& e : *context) {
        if (e.unreadable) {
            ++unreadable;
        } else if (e.expected && !e.key.starts_with("argv")) {
            ++expected;
        } else if (shown++ < kContextLines) {
            out += "  " + wrapped(printable(fmt::format("{} {}: {} -> {}", e.section, e.key, e.a.empty() ? "(absent)" : e.a, e.b.empty() ? "(absent)" : e.b)),
                                  static_cast<std::size_t>(options.width), 2, 6)
                + "\n";
        }
    }
    if (shown > kContextLines) {
        out += fmt::format("  ... {} more: see --json\n", shown - kContextLines);
    }
    if (unreadable > 0) {
        out += "  " + wrapped("not readable on one side: see the notes", static_cast<std::size_t>(options.width), 2, 2) + "\n";
    } else if (shown == 0) {
        return {};
    }
    if (expected > 0) {
        out += "  " + wrapped(fmt::format("and {} that any two runs have (ports, ranks): see --json", expected), static_cast<std::size_t>(options.width), 2, 2)
            + "\n";
    }
    return heading(options.width < kNarrow ? "Environment, reference -> candidate" : "Configuration and environment, reference -> candidate", options) + out;
}

/// Recorded with --noise: FORMAT.md, section 6.3.
bool isNoiseRun(const nlohmann::json& rank)
{
    const auto found = rank.find("noise");
    return found != rank.end() && found->is_object();
}

/// Pairs that were not compared for one reason.
struct Refused {
    std::size_t pairs = 0;
    std::size_t first = 0;
};

std::string notesText(const compare::Snapshot& comparison, const TextOptions& options)
{
    const auto& alignment = comparison.structure().alignment;
    std::vector<std::string> notes = alignment.notes;
    std::string last;
    const bool filesOfOneRank = !comparison.outcome()->verdict.ordered && alignment.a.ranks.size() == 1 && alignment.b.ranks.size() == 1; // nothing to join
    for (const auto& plan : alignment.steps) {
        if (!filesOfOneRank && !plan.text.empty() && plan.text != last) { // equal plans of consecutive steps are said once
            notes.push_back(fmt::format("from step {}: {}", plan.step, plan.text));
            last = plan.text;
        }
    }
    std::size_t sampled = 0;
    std::map<std::string, Refused> notCompared; // by reason
    for (std::size_t i = 0; i < alignment.pairs.size(); ++i) {
        const auto& result = comparison.result(i);
        sampled += result.worstLane() && result.worstLane()->sampled > 0 ? 1u : 0u;
        if (alignment.pairs[i].status == align::PairStatus::Matched && result.lanes.empty() && !result.note.empty()) {
            auto& refused = notCompared[result.note];
            refused.first = refused.pairs++ == 0 ? i : refused.first;
        }
    }
    if (sampled > 0) {
        notes.push_back(fmt::format("{} pair{} compared on a sample, because only sketches of them were recorded: at most {} elements of each rank's part. "
                                    "Their errors are estimates, and what lies between the samples was not seen",
                                    sampled, sampled == 1 ? " was" : "s were", bundle::kSamples));
    }
    // Damaged files give every tensor a reason of its own: of many reasons only the first is told.
    const auto isHash = [&](const auto& entry) { return comparison.result(entry.second.first).differsInBits; };
    const bool joined = notCompared.size() - static_cast<std::size_t>(std::count_if(notCompared.begin(), notCompared.end(), isHash)) > kReasons;
    Refused unreadable { 0, alignment.pairs.size() };
    for (const auto& entry : notCompared) {
        const auto& [reason, refused] = entry;
        if (joined && !isHash(entry)) {
            unreadable = { unreadable.pairs + refused.pairs, std::min(unreadable.first, refused.first) };
        } else {
            notes.push_back(fmt::format("{} pair{} not compared: {}", refused.pairs, refused.pairs == 1 ? "" : "s", reason));
        }
    }
    if (joined) {
        notes.push_back(fmt::format("{} tensors could not be read, the first is {}: {}", unreadable.pairs, alignment.pairs[unreadable.first].id,
                                    comparison.result(unreadable.first).note));
    }
    for (auto& note : narrowNotes(comparison)) {
        notes.push_back(std::move(note));
    }
    std::map<std::string, std::size_t> notObserved; // reason -> pairs
    for (const auto& pair : alignment.pairs) {
        if (pair.status == align::PairStatus::NotObserved) {
            ++notObserved[*pair.note];
        }
    }
    for (const auto& [reason, count] : notObserved) {
        notes.push_back(fmt::format("{} pair{} not compared: {}", count, count == 1 ? "" : "s", reason));
    }
    if (const auto undecidable = comparison.outcome()->verdict.undecidable; undecidable > 0) {
        notes.push_back(fmt::format("{} later {} the floor but may have grown from rounding: record the reference again and give it as --noise "
                                    "to decide",
                                    undecidable, undecidable == 1 ? "pair exceeds" : "pairs exceed"));
    }
    for (const auto& [which, side] : { std::pair("reference", &alignment.a), std::pair("candidate", &alignment.b) }) {
        const auto disturbed = std::find_if(side->ranks.begin(), side->ranks.end(), [](const auto* rank) { return isNoiseRun(rank->info); });
        if (disturbed != side->ranks.end()) {
            notes.push_back(fmt::format("the {} was disturbed on purpose (record --noise): it tells what rounding alone does, give it as --noise", which));
        }
        for (const auto& problem : side->bundle->problems()) {
            notes.push_back(fmt::format("{}: {}{}{}", which, problem.where, problem.where.empty() ? "" : ": ", problem.message));
        }
    }
    if (notes.empty()) {
        return {};
    }
    std::string out = heading("Notes", options);
    for (std::size_t i = 0; i < std::min(notes.size(), kNoteLines); ++i) {
        out += "  " + wrapped(printable(notes[i]), static_cast<std::size_t>(options.width), 2, 4) + "\n";
    }
    if (notes.size() > kNoteLines) {
        out += fmt::format("  ... {} more: see --json\n", notes.size() - kNoteLines);
    }
    return out;
}

std::string floorText(const compare::Structure& structure)
{
    if (!structure.noiseLabel) {
        return "estimated";
    }
    std::string text = fmt::format("measured with {} on {} pairs", printable(*structure.noiseLabel), structure.noisePairs);
    if (structure.noiseAbove > 0) {
        text += fmt::format("; {} of them exceed the estimated floor: is it really a repeat of the reference?", structure.noiseAbove);
    }
    return text;
}

} // namespace

std::string textReport(const compare::Snapshot& comparison, const TextOptions& given)
{
    TextOptions options = given;
    options.width = std::max(options.width, 50);
    const auto& structure = comparison.structure();
    const auto& verdict = comparison.outcome()->verdict;
    const auto width = static_cast<std::size_t>(options.width);
    std::string severity(diagnose::name(verdict.severity));
    std::transform(severity.begin(), severity.end(), severity.begin(), [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c); });

    std::string out = toned(severity, toneOf(verdict.severity), options) + "  "
        + wrapped(printable(verdictSentence(comparison)), width, severity.size() + 2, severity.size() + 2) + "\n\n";
    out += fmt::format("  reference  {}\n", shortened(runText(structure.alignment.a), width - 13));
    out += fmt::format("  candidate  {}\n", shortened(runText(structure.alignment.b), width - 13));
    out += fmt::format("  floor      {}\n", wrapped(floorText(structure), width, 13, 13));
    out += fmt::format("  coverage   {}\n", wrapped(coverageSentence(comparison), width, 13, 13));
    if (verdict.ordered) { // files have no stations
        out += gatesText(comparison, options);
    }
    out += forkText(comparison, options);
    out += pairsText(comparison, options);
    out += unmatchedText(comparison, options);
    out += contextText(comparison, options);
    out += notesText(comparison, options);
    return out;
}

std::string originText(const compare::KeptTensors& kept)
{
    const auto& from = kept.provenance();
    const auto run = [](const compare::Origin& origin) { return origin.path.empty() ? origin.label : origin.path; };
    std::string text = fmt::format("Portable comparison of {} and {}, written by {} at {}", run(from.a), run(from.b), from.producer, from.created);
    for (const auto& option : from.options) {
        text += fmt::format("{}{}", &option == &from.options.front() ? " with " : ", ", option);
    }
    return printable(text) + "\n";
}

std::string portableText(const compare::Snapshot& comparison, const TextOptions& options)
{
    const auto& structure = comparison.structure();
    const auto& kept = *structure.kept;
    const auto width = static_cast<std::size_t>(std::max(options.width, 50));
    std::string tensors = kept.kept() == 0 ? std::string("none") : fmt::format("of {} pair{}", kept.kept(), kept.kept() == 1 ? "" : "s");
    if (kept.leftOut() > 0) {
        tensors += fmt::format("; those of {} differing pair{} are left out", kept.leftOut(), kept.leftOut() == 1 ? "" : "s");
    }
    std::string out = originText(kept) + "\n";
    out += fmt::format("  reference  {}\n", shortened(runText(structure.alignment.a), width - 13));
    out += fmt::format("  candidate  {}\n", shortened(runText(structure.alignment.b), width - 13));
    out += fmt::format("  verdict    {}\n", wrapped(printable(fmt::format("{}: {}", diagnose::name(comparison.outcome()->verdict.severity), verdictSentence(comparison))),
                                                    width, 13, 13));
    out += fmt::format("  pairs      {}\n  tensors    {}\n", comparison.pairs(), tensors);
    return out + fmt::format("\nforkpoint-cli compare FILE prints the whole report, forkpoint FILE shows it.\n");
}

std::string bundleText(const bundle::Bundle& bundle, const TextOptions& options)
{
    const auto width = static_cast<std::size_t>(std::max(options.width, 50));
    std::string out = fmt::format("{}\n\n", toned(shortened(printable(bundle.name()), width), Tone::Bold, options));
    out += fmt::format("  world size  {}\n  steps       {}\n", bundle.worldSize(), stepsText(bundle.steps()));
    const auto text = [](const nlohmann::json& object, const char* key) {
        const auto found = object.find(key);
        return found == object.end() || found->is_null() ? std::string() : found->is_string() ? found->get<std::string>() : found->dump();
    };
    for (const char* key : { "created", "command", "attempt" }) {
        if (const auto value = text(bundle.info(), key); !value.empty()) {
            out += fmt::format("  {}  {}\n", padded(key, 10), shortened(printable(value), width - 14));
        }
    }
    for (const auto& rank : bundle.ranks()) {
        std::map<std::pair<bundle::Phase, bundle::Kind>, std::size_t> counts;
        std::map<bundle::Detail, std::size_t> details;
        std::size_t withBytes = 0, notObserved = 0;
        for (const auto& record : rank.tensors) {
            ++counts[{ record.phase, record.kind }];
            withBytes += record.bytes || !bundle.isRecording() ? 1u : 0u; // files of tensors have every value
            ++details[record.detail];
            notObserved += record.notObserved.empty() ? 0u : 1u;
        }
        out += heading(fmt::format("Rank {}", rank.rank), options);
        const auto status = text(rank.info, "status");
        out += fmt::format("  status      {}\n", shortened(printable(status.empty() ? "unknown" : status), width - 14));
        if (!rank.complete && !rank.tensors.empty()) {
            const auto& last = *std::max_element(rank.tensors.begin(), rank.tensors.end(), [](const auto& x, const auto& y) { return x.order < y.order; });
            out += "  "
                + wrapped(fmt::format("the recording did not end regularly: the last tensor is {}/{} of step {}; what follows it is missing",
                                      bundle::name(last.phase), bundle::name(last.kind), last.step),
                          width, 2, 2)
                + "\n";
        }
        if (const auto error = text(rank.info, "error"); !error.empty()) {
            out += fmt::format("  error       {}\n", shortened(printable(error), width - 14));
        }
        if (const auto environment = rank.info.find("environment"); environment != rank.info.end() && environment->is_object()) {
            for (const char* key : { "torch", "python" }) {
                if (const auto value = text(*environment, key); !value.empty()) {
                    out += fmt::format("  {}  {}\n", padded(key, 10), shortened(printable(value), width - 14));
                }
            }
        }
        if (isNoiseRun(rank.info)) {
            out += "  noise       disturbed on purpose by one unit in the last place: a noise run\n";
        }
        for (const auto* key : { "selection", "triggers" }) {
            if (const auto found = rank.info.find(key); found != rank.info.end() && !found->empty()) {
                out += fmt::format("  {}  {}\n", padded(key, 10), shortened(printable(found->dump()), width - 14));
            }
        }
        out += fmt::format("  modules     {}\n  calls       {}\n  edges       {}\n  scalars     {}\n", rank.modules.size(), rank.calls.size(), rank.edges.size(),
                           rank.scalars.size());
        out += fmt::format("  tensors     {} ({} with bytes{})\n", rank.tensors.size(), withBytes,
                           notObserved > 0 ? fmt::format(", {} not observed", notObserved) : "");
        if (details.size() > 1 || (!details.empty() && details.begin()->first != bundle::Detail::Full)) {
            std::string kinds;
            for (const auto& [detail, count] : details) {
                kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, bundle::name(detail));
            }
            out += fmt::format("  detail      {}\n", kinds);
        }
        for (const auto& [what, count] : counts) {
            out += fmt::format("    {:6}  {}/{}\n", count, bundle::name(what.first), bundle::name(what.second));
        }
    }
    if (!bundle.problems().empty()) {
        out += heading("Problems", options);
        for (const auto& problem : bundle.problems()) {
            out += "  " + wrapped(printable(fmt::format("{}: {}", problem.where, problem.message)), width, 2, 4) + "\n";
        }
    }
    return out;
}

} // namespace forkpoint::report
