// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/rows.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

// With which weights the parts of a step (ranks, micro-steps) make up the whole, read off the loss (DESIGN section 5).
namespace forkpoint::align {

enum class Reduction { One, Replicated, Mean, Sum }; ///< One: there is a single part

struct SideWeights {
    Reduction ranks = Reduction::One;
    Reduction micros = Reduction::One;
    double weight = 1; ///< of every part, in local gradients and output gradients
    bool ofParts = false; ///< ranks that hold the same rows have other losses: each is the loss of a part of them, such as some of the positions
};

struct LossWeights {
    SideWeights a, b;
    bool agreed = true; ///< some reduction makes the losses agree; if not, the loss is a candidate for the fork
};

/// A side's losses, one row per micro-step, one column per rank; NaN where there is none.
using LossGrid = std::vector<std::vector<double>>;

/// The loss (root of backward) of every cell of a step, as recorded.
LossGrid lossGrid(const Side& side, std::int32_t step, const std::vector<std::size_t>& ranks, const std::vector<std::int32_t>& micros);

/// The pair of reductions whose totals agree best. Agreement is within 1e-3: a wrong weight is off by a factor of two or more, a
/// difference between the runs is for the loss pair to show. Where none agrees: `fallback` if given (what held in an earlier step), else
/// ranks by mean, micro-steps by sum. `undivided`: the grids are one of so many micro-steps each, and either side may divide its gradients by their number
/// later on, instead of the loss; schedules of pipelines do.
LossWeights lossWeights(const LossGrid& a, const LossGrid& b, const std::optional<LossWeights>& fallback = std::nullopt, std::size_t undivided = 1);

/// SideWeights::ofParts of a side. `sharers`: per column, the number of the group of ranks that hold the same rows. Losses differ if they do so by
/// more than 1e-5: rounding, which ranks that computed the same may differ by, is less.
bool areLossesOfParts(const LossGrid& grid, const std::vector<std::size_t>& sharers);

/// The loss of the whole under these weights.
double totalLoss(const LossGrid& grid, const SideWeights& weights);

} // namespace forkpoint::align
