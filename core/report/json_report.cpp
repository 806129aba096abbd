// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/json_report.h"

#include "core/report/sentence.h"
#include "core/report/unmatched.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <oneapi/tbb/parallel_for.h>

namespace forkpoint::report {

namespace {

using Json = nlohmann::ordered_json;
using align::PairStatus;

/// Not-finite numbers are strings (FORMAT.md section 1).
Json number(double value)
{
    if (std::isnan(value)) {
        return "NaN";
    }
    if (std::isinf(value)) {
        return value > 0 ? "Infinity" : "-Infinity";
    }
    return value;
}

void append(Json::object_t&) { }

template <class Value, class... Rest> void append(Json::object_t& to, const char* key, Value&& value, Rest&&... rest)
{
    to.emplace_back(key, std::forward<Value>(value));
    append(to, std::forward<Rest>(rest)...);
}

/// object(key, value, key, value, ...), for what there is once for every pair: an initializer list costs several allocations a member.
template <class... Members> Json object(Members&&... members)
{
    Json out = Json::object();
    auto& list = out.get_ref<Json::object_t&>();
    list.reserve(sizeof...(members) / 2);
    append(list, std::forward<Members>(members)...);
    return out;
}

Json extremum(const metrics::Extremum& e)
{
    return object("value", number(e.value), "index", e.index, "reference", number(e.a), "candidate", number(e.b));
}

Json sideJson(const metrics::SideStatistics& s)
{
    return object("min", number(s.min), "max", number(s.max), "mean", number(s.mean), "std", number(s.std), "norm", number(s.norm), "zeros", s.zeros,
                  "nan", s.nan, "positive_inf", s.positiveInf, "negative_inf", s.negativeInf);
}

Json histogramJson(const metrics::Histogram& h) { return object("zero", h.zero, "first_exponent", h.first, "counts", h.counts); }

Json narrowerJson(const metrics::NarrowerComparison& n)
{
    return object("dtype", name(n.dtype), "finite", n.finite, "bit_equal", n.bitEqual, "allclose_violations", n.allcloseViolations, "max_abs",
                  number(n.maxAbs.value), "mean_abs", number(n.meanAbs), "rel_l2", number(n.relL2), "ulp_histogram", histogramJson(n.ulpHistogram));
}

Json metricsJson(const diagnose::LaneMeasurement& lane)
{
    const auto& s = lane.statistics;
    const double equal = s.count > 0 ? static_cast<double>(s.bitEqual) / static_cast<double>(s.count) : 1.0;
    Json out = object("measured_on", lane.ofUpdate ? "update" : "value", "count", s.count, "max_abs", number(s.maxAbs.value), "max_rel",
                      number(s.maxRel.value), "mean_abs", number(s.meanAbs), "mean_diff", number(s.meanDiff), "rmse", number(s.rmse), "rel_l2",
                      number(s.relL2), "rel_linf", number(s.relLinf), "cosine", number(s.cosine), "norm_ratio", number(s.normRatio), "best_scale",
                      number(s.bestScale), "scale_residual", number(s.scaleResidual), "bit_equal_share", equal, "allclose_violations",
                      s.allcloseViolations, "zero_mismatch", s.zeroMismatch, "nan_both", s.nanBoth, "inf_both_equal", s.infBothEqual);
    if (lane.sampled > 0) {
        out["sampled"] = lane.sampled;
    }
    if (!lane.sameBytes) {
        out["max_abs_at"] = extremum(s.maxAbs);
        out["max_rel_at"] = extremum(s.maxRel);
        out["abs_histogram"] = histogramJson(s.absHistogram);
        out["rel_histogram"] = histogramJson(s.relHistogram);
        out["ulp_histogram"] = histogramJson(s.ulpHistogram);
    }
    if (s.percentiles) {
        const auto& p = *s.percentiles;
        out["abs_percentiles"] = { { "p50", number(p.p50) }, { "p90", number(p.p90) }, { "p99", number(p.p99) }, { "p99_9", number(p.p999) } };
    }
    if (s.narrower) {
        out["narrower"] = narrowerJson(*s.narrower);
    }
    out["reference"] = sideJson(s.a);
    out["candidate"] = sideJson(s.b);
    return out;
}

/// The id under the name `idKey`, and the keys that pairs and the fork share.
Json keyJson(const char* idKey, const align::Pair& pair)
{
    const auto& key = pair.key;
    Json out = object(idKey, pair.id, "step", key.step, "micro", std::max(key.micro, 0), "phase", bundle::name(key.phase), "kind",
                      bundle::name(key.kind), "module", *key.module, "name",
                      key.kind == bundle::Kind::Batch ? "batch" : align::joinName(key.module, key.param), "call", key.call);
    if (!key.slot.empty()) {
        out["slot"] = *key.slot;
    }
    return out;
}

Json pairJson(const compare::Snapshot& comparison, std::size_t index)
{
    const auto& pair = comparison.structure().alignment.pairs[index];
    const auto& result = comparison.result(index);
    Json out = keyJson("id", pair);
    out["rule"] = align::name(pair.rule);
    if (!pair.mappedBy.empty()) {
        out["mapped_by"] = *pair.mappedBy;
    }
    out["assembly"] = *pair.assembly;
    out["guess"] = pair.guess;
    out["severity"] = diagnose::name(result.severity);
    out["dtype"] = { name(pair.dtypeA), name(pair.dtypeB) };
    out["shape"] = { *pair.shapeA, *pair.shapeB };
    if (!pair.source.empty()) {
        out["source"] = *pair.source;
    }
    if (pair.status == PairStatus::NotObserved) {
        out["not_observed"] = *pair.note;
        return out;
    }
    if (const auto* lane = result.worstLane()) {
        out["error"] = number(result.error);
        out["floor"] = number(result.floor);
        out["ratio"] = number(result.ratio);
        out["inherited"] = number(result.inherited);
        out["added"] = number(result.added);
        out["structured"] = result.structured;
        out["unchanged"] = result.unchanged;
        out["undecidable"] = result.undecidable;
        out["ill_conditioned"] = result.illConditioned;
        out["metrics"] = metricsJson(*lane);
        if (result.lanes.size() > 1) {
            auto& ranks = out["ranks"] = Json::array();
            for (std::size_t i = 0; i < result.lanes.size(); ++i) {
                ranks.push_back({ { "rank", result.lanes[i].rank },
                                  { "severity", diagnose::name(result.judgements[i].severity) },
                                  { "error", number(result.judgements[i].error) },
                                  { "metrics", metricsJson(result.lanes[i]) } });
            }
        }
    }
    if (!result.note.empty()) {
        out["note"] = result.note;
    }
    return out;
}

Json runJson(const align::Side& side)
{
    std::vector<int> ranks;
    for (const auto* rank : side.ranks) {
        ranks.push_back(rank->rank);
    }
    return { { "name", side.label }, { "world_size", side.bundle->worldSize() }, { "ranks", ranks }, { "steps", side.bundle->steps() } };
}

Json forkJson(const compare::Snapshot& comparison, const diagnose::Fork& fork)
{
    const auto& pairs = comparison.structure().alignment.pairs;
    const auto& pair = pairs[fork.pair];
    Json out = keyJson("pair", pair);
    auto& after = out["after"] = Json::array();
    for (const auto i : fork.after) {
        after.push_back(pairs[i].id);
    }
    out["proven"] = fork.proven;
    out["source"] = pair.source.empty() ? Json(nullptr) : Json(*pair.source);
    return out;
}

Json gatesJson(const diagnose::Verdict& verdict)
{
    Json out = Json::array();
    for (std::size_t g = 0; g < diagnose::kGates; ++g) {
        const auto& gate = verdict.gates[g];
        out.push_back({ { "gate", diagnose::name(static_cast<diagnose::Gate>(g)) },
                        { "state", diagnose::name(gate.state) },
                        { "identical", gate.identical },
                        { "noise", gate.noise },
                        { "above_floor", gate.above },
                        { "unmatched", gate.unmatched },
                        { "invalid", gate.invalid },
                        { "differing", gate.differing } });
    }
    return out;
}

Json curvesJson(const std::vector<curves::Overlay>& curves)
{
    Json out = Json::array();
    const auto points = [](const std::vector<curves::Point>& series) {
        Json list = Json::array();
        for (const auto& point : series) {
            list.push_back({ point.step, number(point.value) });
        }
        return list;
    };
    for (const auto& curve : curves) {
        out.push_back({ { "name", curve.name },
                        { "onset_step", curve.onset ? Json(*curve.onset) : Json(nullptr) },
                        { "whole_run", curve.wholeRun },
                        { "reference", points(curve.a) },
                        { "candidate", points(curve.b) } });
    }
    return out;
}

Json contextJson(const std::vector<diagnose::ContextEntry>& entries)
{
    Json out = Json::array();
    for (const auto& e : entries) {
        out.push_back({ { "section", e.section }, { "key", e.key }, { "reference", e.a }, { "candidate", e.b }, { "expected", e.expected } });
    }
    return out;
}

Json coverageJson(const align::Alignment& alignment)
{
    Json out { { "calls_seen", 0 }, { "calls", 0 }, { "not_observed", Json::array() } };
    for (const auto& [key, side] : { std::pair("reference", &alignment.a), std::pair("candidate", &alignment.b) }) {
        const auto coverage = coverageOf(*side);
        out["calls_seen"] = out["calls_seen"].get<std::int64_t>() + std::max<std::int64_t>(coverage.callsSeen, 0);
        out["calls"] = out["calls"].get<std::int64_t>() + std::max<std::int64_t>(coverage.calls, 0);
        for (const auto& line : coverage.notObserved) {
            out["not_observed"].push_back(fmt::format("{}: {}", key, line));
        }
        out[key] = { { "calls_seen", coverage.callsSeen }, { "calls", coverage.calls }, { "incomplete_ranks", coverage.incompleteRanks } };
    }
    return out;
}

/// Valid UTF-8 whatever names hold. `indent`: spaces by level; -1: all in one line.
std::string text(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

/// Writes the members of one object in order, each as soon as it is there.
class ObjectText {
public:
    explicit ObjectText(const JsonSink& write)
        : m_write(write)
    {
    }

    void member(std::string_view key, const Json& value)
    {
        begin(key);
        std::string lines = text(value, 1);
        for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 2) {
            lines.insert(at + 1, 1, ' '); // one level deeper; strings hold no line break of their own
        }
        m_write(lines);
    }

    /// A list of `count` objects, one a line; make(i) is called by all processors.
    template <class Make> void list(std::string_view key, std::size_t count, const Make& make)
    {
        begin(key);
        m_write("[");
        constexpr std::size_t kBlock = 4096;
        std::vector<std::string> lines;
        for (std::size_t first = 0; first < count; first += kBlock) {
            lines.resize(std::min(kBlock, count - first));
            oneapi::tbb::parallel_for(std::size_t(0), lines.size(), [&](std::size_t i) { lines[i] = text(make(first + i), -1); });
            for (const auto& line : lines) {
                m_write(&line == &lines.front() && first == 0 ? "\n  " : ",\n  ");
                m_write(line);
            }
        }
        m_write(count > 0 ? "\n ]" : "]");
    }

    void end() { m_write("\n}\n"); }

private:
    void begin(std::string_view key)
    {
        m_write(fmt::format("{}\n \"{}\": ", m_isFirst ? "{" : ",", key));
        m_isFirst = false;
    }

    const JsonSink& m_write;
    bool m_isFirst = true;
};

Json runsJson(const compare::Structure& structure)
{
    Json out { { "reference", runJson(structure.alignment.a) }, { "candidate", runJson(structure.alignment.b) } };
    if (structure.noiseLabel) {
        out["noise"] = { { "name", *structure.noiseLabel }, { "pairs", structure.noisePairs }, { "above_estimated_floor", structure.noiseAbove } };
    }
    return out;
}

Json verdictJson(const compare::Snapshot& comparison)
{
    const auto& verdict = comparison.outcome()->verdict;
    return { { "severity", diagnose::name(verdict.severity) },
             { "sentence", verdictSentence(comparison) },
             { "tier", verdict.measuredFloor ? 2 : 1 },
             { "fork", verdict.fork ? forkJson(comparison, *verdict.fork) : Json(nullptr) },
             { "gates", gatesJson(verdict) },
             { "undecidable", verdict.undecidable } };
}

Json notesJson(const compare::Snapshot& comparison)
{
    const auto& alignment = comparison.structure().alignment;
    Json notes = Json::array();
    for (const auto& note : alignment.notes) {
        notes.push_back(note);
    }
    for (const auto& note : narrowNotes(comparison)) {
        notes.push_back(note);
    }
    for (const auto& plan : alignment.steps) {
        if (!plan.text.empty()) {
            notes.push_back(fmt::format("step {}: {}", plan.step, plan.text));
        }
    }
    for (const auto& [which, side] : { std::pair("reference", &alignment.a), std::pair("candidate", &alignment.b) }) {
        for (const auto& problem : side->bundle->problems()) {
            notes.push_back(fmt::format("{}: {}: {}", which, problem.where, problem.message));
        }
    }
    return notes;
}

} // namespace

void writeJson(const compare::Snapshot& comparison, const JsonSink& write)
{
    const auto& structure = comparison.structure();
    const auto& alignment = structure.alignment;
    const auto& outcome = *comparison.outcome();
    std::vector<std::size_t> matched;
    Json onlyA = Json::array(), onlyB = Json::array();
    for (std::size_t i = 0; i < alignment.pairs.size(); ++i) {
        const auto status = alignment.pairs[i].status;
        if (status == PairStatus::OnlyA || status == PairStatus::OnlyB) {
            (status == PairStatus::OnlyA ? onlyA : onlyB).push_back(alignment.pairs[i].id);
        } else {
            matched.push_back(i);
        }
    }
    ObjectText out(write);
    out.member("schema", "forkpoint-comparison/1");
    out.member("producer", { { "name", "forkpoint-cli" }, { "version", FORKPOINT_VERSION } });
    out.member("runs", runsJson(structure));
    out.member("verdict", verdictJson(comparison));
    out.member("findings", Json::array());
    out.list("pairs", matched.size(), [&](std::size_t i) { return pairJson(comparison, matched[i]); });
    out.member("unmatched", { { "reference", std::move(onlyA) }, { "candidate", std::move(onlyB) } });
    out.member("unmatched_details", unmatchedJson(alignment));
    out.member("curves", curvesJson(outcome.curves));
    out.member("coverage", coverageJson(alignment));
    out.member("context", structure.context ? contextJson(*structure.context) : Json(nullptr));
    out.member("backend", structure.backend);
    out.member("tolerance", { { "profile", "noise-floor" }, { "measured", outcome.verdict.measuredFloor } });
    out.member("notes", notesJson(comparison));
    out.end();
}

std::string jsonText(const compare::Snapshot& comparison)
{
    std::string out;
    writeJson(comparison, [&out](std::string_view part) { out += part; });
    return out;
}

} // namespace forkpoint::report
