// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/kept_tensors.h"
#include "core/curves/overlay.h"
#include "core/diagnose/context.h"
#include "core/diagnose/verdict.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace forkpoint::compare {

/// What is known before anything is measured. Immutable.
struct Structure {
    align::Alignment alignment;
    graph::PairInputs inputs;
    std::optional<std::vector<diagnose::ContextEntry>> context;
    std::string backend;                      ///< of the metrics
    std::optional<std::string> noiseLabel;    ///< the repeat that measured the floor
    std::size_t noisePairs = 0;               ///< pairs whose floor it measured
    std::size_t noiseAbove = 0;               ///< of these, how many exceed the estimated floor: a repeat of a deterministic run has none
    std::shared_ptr<const KeptTensors> kept;  ///< opened from a file: the tensors that it holds, in place of those in the bundles; else null
};

/// What is known when everything is measured. Immutable.
struct Outcome {
    diagnose::Verdict verdict;
    std::vector<curves::Overlay> curves;
};

class Comparison;

/// A consistent view: the first `ready` pairs have results that will never change. Cheap to copy; safe on any thread.
class Snapshot {
public:
    const Structure& structure() const;
    std::size_t pairs() const { return structure().alignment.pairs.size(); }
    std::size_t ready() const { return m_ready; }
    const diagnose::PairResult& result(std::size_t pair) const; ///< pair < ready()
    std::span<const diagnose::PairResult> results() const;      ///< the ready ones

    // Columns over the ready pairs.
    std::span<const diagnose::Severity> severities() const;
    std::span<const double> errors() const;
    std::span<const double> added() const;

    const Outcome* outcome() const { return m_outcome.get(); } ///< nullptr until the verdict

private:
    friend class Comparison;
    std::shared_ptr<const Comparison> m_comparison;
    std::size_t m_ready = 0;
    std::shared_ptr<const Outcome> m_outcome;
};

/// The results of one comparison: columnar, append-only, one writer, any number of readers who hold snapshots. Results become ready in pair
/// order, which is execution order.
class Comparison : public std::enable_shared_from_this<Comparison> {
public:
    explicit Comparison(Structure structure);
    Snapshot snapshot() const;

    // For the writer only.
    std::vector<diagnose::PairResult>& results() { return m_results; }
    void publish(std::size_t ready); ///< results before `ready` are final
    void finish(Outcome outcome);

private:
    friend class Snapshot;
    Structure m_structure;
    std::vector<diagnose::PairResult> m_results; ///< one per pair from the start: never moves
    std::vector<diagnose::Severity> m_severities;
    std::vector<double> m_errors, m_added;
    std::atomic<std::size_t> m_ready { 0 };
    mutable std::mutex m_mutex; ///< guards m_outcome
    std::shared_ptr<const Outcome> m_outcome;
};

} // namespace forkpoint::compare
