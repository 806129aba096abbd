// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/portable/portable.h"

#include "core/portable/kept_lanes.h"
#include "core/portable/run_fields.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>

namespace forkpoint::portable {

namespace {

/// What the comparison itself may take in memory before it is looked at: this, or this many times its size in the file. Records are repetitive.
constexpr std::uint64_t kUsualSize = std::uint64_t { 256 } << 20, kMostRatio = 1000;

bool isSound(const metrics::Histogram& histogram)
{
    return histogram.first >= -4096 && histogram.first <= 4096 && histogram.counts.size() <= 4096
        && std::all_of(histogram.counts.begin(), histogram.counts.end(), [](std::int64_t n) { return n >= 0; });
}

bool isSound(const diagnose::LaneMeasurement& lane, std::int64_t elements)
{
    const auto& s = lane.statistics;
    for (const auto* extremum : { &s.maxAbs, &s.maxRel }) {
        if (extremum->index < -1 || extremum->index >= std::max<std::int64_t>(elements, 1)) {
            return false;
        }
    }
    return s.count >= 0 && isSound(s.absHistogram) && isSound(s.relHistogram) && isSound(s.ulpHistogram) && (!s.narrower || isSound(s.narrower->ulpHistogram));
}

/// Whether everything that refers to something else refers to what is there.
std::string check(const compare::Structure& structure, const std::vector<diagnose::PairResult>& results, const compare::Outcome& outcome)
{
    const auto& pairs = structure.alignment.pairs;
    const auto isPair = [&](std::size_t i) { return i < pairs.size(); };
    if (structure.inputs.of.size() != pairs.size() || results.size() != pairs.size()) {
        return "there are not as many results as pairs";
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto& result = results[i];
        const auto& lanes = pairs[i].lanes;
        if (!std::all_of(structure.inputs.of[i].begin(), structure.inputs.of[i].end(), isPair)) {
            return "a pair was computed from one that does not exist";
        }
        if (result.lanes.empty() ? !result.judgements.empty() || result.worst != 0
                                 : result.lanes.size() != lanes.size() || result.judgements.size() != lanes.size() || result.worst >= lanes.size()) {
            return "a pair has not as many results as tensors";
        }
        for (std::size_t lane = 0; lane < result.lanes.size(); ++lane) {
            if (!isSound(result.lanes[lane], elementCount(lanes[lane].a.shape).value_or(0))) {
                return "the numbers of a pair contradict its shape";
            }
        }
    }
    const auto& verdict = outcome.verdict;
    if ((verdict.fork && (!isPair(verdict.fork->pair) || !std::all_of(verdict.fork->after.begin(), verdict.fork->after.end(), isPair)))
        || (verdict.closest && !isPair(*verdict.closest))) {
        return "the verdict names a pair that does not exist";
    }
    return {};
}

} // namespace

Result<compare::Snapshot> load(const std::filesystem::path& path)
try {
    auto file = Container::open(path);
    if (!file) {
        return tl::unexpected(file.error());
    }
    const auto damaged = [&](const std::string& what) {
        return fail(ErrorCode::Corrupt, fmt::format("is damaged, or was not written by Forkpoint: {}", what), path.string());
    };
    const std::size_t last = (*file)->sections() - 1;
    if (last == 0) {
        return damaged("it has no list of tensors");
    }
    const auto text = (*file)->read(0, std::max(kUsualSize, (*file)->section(0).stored * kMostRatio));
    if (!text) {
        return tl::unexpected(text.error());
    }
    const auto tableText = (*file)->read(last, kUsualSize);
    if (!tableText) {
        return tl::unexpected(tableText.error());
    }

    FieldReader archive(*text);
    compare::Provenance provenance;
    compare::Structure structure;
    std::vector<diagnose::PairResult> results;
    compare::Outcome outcome;
    archive(provenance);
    structure.alignment.a = readSide(archive, path.string());
    structure.alignment.b = readSide(archive, path.string());
    archive.sides[0] = &structure.alignment.a;
    archive.sides[1] = &structure.alignment.b;
    archive(structure.alignment, structure, results, outcome);
    if (!archive.ok()) {
        return damaged(archive.problem());
    }
    if (const auto problem = check(structure, results, outcome); !problem.empty()) {
        return damaged(problem);
    }
    FieldReader tableArchive(*tableText);
    KeptTable table;
    tableArchive(table);
    if (!tableArchive.ok()) {
        return damaged(tableArchive.problem());
    }
    if (const auto problem = check(table, structure.alignment, (*file)->sections()); !problem.empty()) {
        return damaged(problem);
    }
    structure.kept = keptTensors(std::move(*file), std::move(provenance), std::move(table));
    const auto comparison = std::make_shared<compare::Comparison>(std::move(structure));
    comparison->results() = std::move(results);
    comparison->publish(comparison->results().size());
    comparison->finish(std::move(outcome));
    return comparison->snapshot();
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::Unreadable, "not enough memory to open it", path.string());
}

} // namespace forkpoint::portable
