// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"
#include "core/align/stages.h"

namespace forkpoint::align {

/// What is known of one side's step before planning.
struct StepCells {
    std::vector<std::size_t> ranks;     ///< indices of the ranks that recorded the step
    std::vector<std::int32_t> micros;   ///< micro-steps seen on any of them
    std::map<Cell, RowKeys> rows;
};

/// `rowDim`: as of rowKeys.
StepCells stepCells(const Side& side, const StepRecords& records, std::size_t rowDim = 0);

/// Whether anything tells the side's rows apart: values, or sample ids.
bool knowsRows(const StepCells& cells);

/// Whether both sides hold the same rows in every group.
bool rowsMatch(const StepPlan& plan);

struct PlanSide {
    const Side& side;
    std::int32_t step = 0; ///< in the run's own numbering
    const StepCells& cells;
    const RankMesh& mesh;  ///< declared or given; empty: found by who holds the same rows
    const Stages& stages;
};

struct PlanHow {
    bool ofParts = true;    ///< as of relateRows
    bool joinRanks = false; ///< never rank by rank
};

/// Decides which cells belong together: the finest grouping under which both sides hold the same rows; if there is none, rank by rank for
/// equal worlds (as far as both sides recorded them) and micro-step by micro-step for equal counts. `previous` supplies the weights where the
/// losses of this step agree under none.
StepPlan planStep(const PlanSide& a, const PlanSide& b, const StepPlan* previous, const PlanHow& how = {});

} // namespace forkpoint::align
