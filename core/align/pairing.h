// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/drafts.h"
#include "core/align/step_plan.h"
#include "core/bundle/value_pool.h"

#include <string>
#include <tbb/enumerable_thread_specific.h>

namespace forkpoint::align {

/// Equal values are one in memory, as far as one thread made them.
using ValuePools = tbb::enumerable_thread_specific<bundle::ValuePool>;

/// What the pairs of a step have in common.
struct StepContext {
    const Side& a;
    const Side& b;
    const StepPlan& plan;
    const StepCells& cellsA;
    const StepCells& cellsB;
    const AlignOptions& options;
    std::string shortA, shortB; ///< the ranks that a side has of the step, in words, if some are missing that count; else empty
    ValuePools& pools;
};

/// Puts the parts of a draft together: they become wholes, the wholes lanes. Without source.
Pair relatePair(const Draft& draft, PairKey key, const StepContext& context);

} // namespace forkpoint::align
