// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"

namespace forkpoint::align {

/// What is known of one side's step before planning.
struct StepCells {
    std::vector<std::size_t> ranks;     ///< indices of the ranks that recorded the step
    std::vector<std::int32_t> micros;   ///< micro-steps seen on any of them
    std::map<Cell, RowKeys> rows;
};

StepCells stepCells(const Side& side, std::int32_t step);

/// Decides which cells belong together: the finest grouping under which both sides hold the same rows; if there is none, rank by rank for
/// equal worlds (as far as both sides recorded them) and micro-step by micro-step for equal counts. `stepA` and `stepB` are the two runs' numbers of the step. `previous`
/// supplies the weights where the losses of this step agree under none.
StepPlan planStep(const Side& a, const Side& b, std::int32_t stepA, std::int32_t stepB, const StepCells& cellsA, const StepCells& cellsB,
                  const StepPlan* previous);

} // namespace forkpoint::align
