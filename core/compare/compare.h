// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/compare/comparison.h"
#include "core/diagnose/measurement.h"

#include <optional>
#include <stop_token>

namespace forkpoint::compare {

struct Options {
    align::AlignOptions align;
    std::optional<align::Side> noise; ///< a repeat of A: measures the floor
    diagnose::MeasurerOptions measurer = {};
};

/// Told of every stage, on the thread that calls compare(). All may do nothing.
class Sink {
public:
    virtual ~Sink() = default;
    virtual void onStructure(const Snapshot&) { } ///< the pairs are known, all pending
    virtual void onResults(const Snapshot&) { }   ///< a phase of a step is ready
    virtual void onVerdict(const Snapshot&) { }   ///< done
};

/// Compares two runs: aligns, measures every pair in execution order, judges it, finds the fork. Streams into the sink, which may be null.
/// Fails as align() does, or Cancelled (within one chunk of 1 MiB per thread); a pair whose bytes cannot be read is no failure: it is
/// unmatched, and its note says why.
Result<Snapshot> compare(align::Side a, align::Side b, Options options = {}, Sink* sink = nullptr, Progress* progress = nullptr,
                         std::stop_token stop = {});

} // namespace forkpoint::compare
