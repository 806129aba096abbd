// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnose/assessment.h"
#include "core/diagnose/gates.h"

#include <optional>
#include <vector>

namespace forkpoint::diagnose {

/// Where the runs part: the first pair above the floor all of whose recorded inputs are within it.
struct Fork {
    std::size_t pair = 0;
    std::vector<std::size_t> after; ///< its recorded inputs, all in agreement, in order
    bool proven = true;             ///< false: no pair had all its inputs in agreement, and this is just the first above the floor
};

/// What the comparison comes to.
struct Verdict {
    Severity severity = Severity::Identical; ///< of the worst pair that must agree
    std::optional<Fork> fork;
    std::optional<std::size_t> closest; ///< of the pairs within the floor, and decidable, the one that comes closest to it; nullopt if all are identical
    Gates gates; ///< over all steps
    bool ordered = true;        ///< false: a side is plain files, which say nothing about execution; `fork` is the first difference in their order
    bool measuredFloor = false; ///< a repeat of the reference was given
    std::size_t undecidable = 0;
    std::size_t pairs = 0;      ///< pairs that exist on both sides
};

/// Of two ranks of one run only what must be equal on them can be the fork (mayDiffer in gates.h).
/// `environmentDiffers`: number of differing entries of environment and configuration; nullopt if neither was recorded.
Verdict verdict(const align::Alignment& alignment, const graph::PairInputs& inputs, const std::vector<PairResult>& results,
                std::optional<std::size_t> environmentDiffers, bool measuredFloor);

} // namespace forkpoint::diagnose
