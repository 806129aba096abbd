// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/compare/compare.h"

#include "core/bundle/problem_log.h"
#include "core/metrics/backend.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <mutex>
#include <oneapi/tbb/parallel_for.h>

namespace forkpoint::compare {

namespace {

using diagnose::PairResult;

/// Measures the pairs [first, last) in parallel. Fails if it is cancelled, or if a GPU that was asked for fails: the pairs are not to blame.
Result<void> measurePairs(const align::Alignment& alignment, const diagnose::Measurer& measurer, std::size_t first, std::size_t last,
                          std::vector<PairResult>& results, std::stop_token stop)
{
    std::mutex mutex;
    std::optional<Error> device;
    std::atomic<bool> failed = false;
    oneapi::tbb::parallel_for(first, last, [&](std::size_t i) {
        const auto& pair = alignment.pairs[i];
        if (failed || stop.stop_requested() || pair.status != align::PairStatus::Matched) {
            return;
        }
        auto measured = measurer.measure(pair, stop);
        if (measured) {
            results[i].lanes = std::move(*measured);
        } else if (measured.error().code == ErrorCode::Device) {
            const std::lock_guard lock(mutex);
            device = measured.error();
            failed = true;
        } else {
            results[i].note = measured.error().text();
            results[i].differsInBits = measured.error().code == ErrorCode::NotFound && measurer.differsInBits(pair); // else: damaged
        }
    });
    if (device) {
        return tl::unexpected(*device);
    }
    return stop.stop_requested() ? Result<void>(fail(ErrorCode::Cancelled, "cancelled while measuring")) : Result<void>();
}

/// The end of the phase that begins at `first`.
std::size_t endOfPhase(const std::vector<align::Pair>& pairs, std::size_t first)
{
    std::size_t last = first;
    while (last < pairs.size() && pairs[last].key.step == pairs[first].key.step && pairs[last].key.phase == pairs[first].key.phase) {
        ++last;
    }
    return last;
}

struct Noise {
    diagnose::NoiseFloor floor;
    std::size_t above = 0;
    std::string doubt; ///< what was configured otherwise than in the reference
};

/// A repeat differs from the reference by rounding alone; with another configuration, what it differs by is no noise. Empty if nothing tells so.
std::string doubtIn(const align::Side& a, const align::Side& repeat)
{
    const auto differences = diagnose::contextDifferences(a, repeat);
    std::size_t others = 0;
    std::string first;
    for (const auto& entry : differences.value_or(std::vector<diagnose::ContextEntry>())) {
        if (entry.expected || entry.unreadable || (entry.section != "config" && entry.section != "flags")) {
            continue;
        }
        if (!first.empty()) {
            ++others;
            continue;
        }
        const auto shown = [](const std::string& value) { return value.empty() ? std::string("absent") : bundle::shownText(value); };
        first = fmt::format("{} {} is {}, in the reference {}", entry.section, bundle::shownText(entry.key), shown(entry.b), shown(entry.a));
    }
    if (first.empty()) {
        return first;
    }
    return fmt::format("the noise run {} is no repeat of the reference: {}{}. What comes of it is taken for noise all the same", repeat.label, first,
                       others > 0 ? fmt::format(", and {} more", others) : std::string());
}

Result<Noise> measureNoise(const align::Side& a, const align::Side& repeat, Progress* progress, std::stop_token stop)
{
    auto alignment = align::align(a, repeat, {}, progress, stop);
    if (!alignment) {
        return tl::unexpected(alignment.error());
    }
    const auto inputs = graph::pairInputs(*alignment);
    const diagnose::Measurer measurer(*alignment);
    const diagnose::Assessor assessor(*alignment, inputs, measurer, nullptr);
    std::vector<PairResult> results(alignment->pairs.size());
    for (std::size_t first = 0; first < results.size();) {
        const std::size_t last = endOfPhase(alignment->pairs, first);
        if (auto done = measurePairs(*alignment, measurer, first, last, results, stop); !done) {
            return tl::unexpected(done.error());
        }
        if (auto done = assessor.assess(first, last, results, stop); !done) {
            return tl::unexpected(done.error());
        }
        first = last;
    }
    Noise noise;
    noise.doubt = doubtIn(a, repeat);
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (const auto* lane = results[i].worstLane(); lane && std::isfinite(results[i].error)) {
            noise.floor[alignment->pairs[i].id] = { results[i].error, lane->statistics.maxAbs.value };
            noise.above += diagnose::isAboveFloor(results[i].severity) ? 1u : 0u;
        }
    }
    if (noise.floor.empty()) {
        return fail(ErrorCode::Usage, "has no tensor in common with the reference; a noise run is the reference recorded again", repeat.label);
    }
    return noise;
}

double lossFloor(const align::Alignment& alignment, const std::vector<PairResult>& results)
{
    double floor = diagnose::estimatedFloor(unitRoundoff(DType::Float32));
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (diagnose::gateOf(alignment.pairs[i].key) == diagnose::Gate::Loss) {
            floor = std::max(floor, results[i].floor);
        }
    }
    return floor;
}

} // namespace

Result<Snapshot> compare(align::Side a, align::Side b, Options options, Sink* sink, Progress* progress, std::stop_token stop)
{
    if (const auto backend = metrics::chosenBackend(); !backend) {
        return tl::unexpected(backend.error());
    }
    std::optional<Noise> noise;
    if (options.noise) {
        auto measured = measureNoise(a, *options.noise, progress, stop);
        if (!measured) {
            auto error = measured.error();
            error.message = fmt::format("noise run: {}", error.message);
            return tl::unexpected(error);
        }
        noise = std::move(*measured);
    }
    Structure structure;
    structure.context = diagnose::contextDifferences(a, b);
    structure.backend = std::string(metrics::activeBackend().name());
    if (options.noise) {
        structure.noiseLabel = options.noise->label;
        structure.noisePairs = noise->floor.size();
        structure.noiseAbove = noise->above;
    }
    auto alignment = align::align(std::move(a), std::move(b), options.align, progress, stop);
    if (!alignment) {
        return tl::unexpected(alignment.error());
    }
    structure.alignment = std::move(*alignment);
    if (noise && !noise->doubt.empty()) {
        structure.alignment.notes.push_back(noise->doubt);
    }
    structure.inputs = graph::pairInputs(structure.alignment);

    const auto comparison = std::make_shared<Comparison>(std::move(structure));
    const auto begun = comparison->snapshot();
    if (sink) {
        sink->onStructure(begun);
    }
    const auto& aligned = begun.structure().alignment;
    const auto& inputs = begun.structure().inputs;
    auto& results = comparison->results();
    const diagnose::Measurer measurer(aligned, options.measurer);
    const diagnose::Assessor assessor(aligned, inputs, measurer, noise ? &noise->floor : nullptr);
    Outcome outcome;
    for (std::size_t first = 0; first < results.size();) {
        const std::size_t last = endOfPhase(aligned.pairs, first);
        if (progress) {
            progress->report("measure", static_cast<double>(first) / static_cast<double>(results.size()));
        }
        if (auto done = measurePairs(aligned, measurer, first, last, results, stop); !done) {
            return tl::unexpected(done.error());
        }
        if (auto done = assessor.assess(first, last, results, stop); !done) {
            return tl::unexpected(done.error());
        }
        comparison->publish(last);
        if (sink) {
            sink->onResults(comparison->snapshot());
        }
        first = last;
    }
    if (progress) {
        progress->report("measure", 1);
    }
    const auto differing = diagnose::unexpectedDifferences(begun.structure().context);
    outcome.verdict = diagnose::verdict(aligned, inputs, results, differing, noise.has_value());
    outcome.curves = curves::overlay(aligned, lossFloor(aligned, results));
    comparison->finish(std::move(outcome));
    const auto done = comparison->snapshot();
    if (sink) {
        sink->onVerdict(done);
    }
    return done;
}

} // namespace forkpoint::compare
