// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/comparison.h"

#include <string>
#include <vector>

namespace forkpoint::report {

/// The verdict in one English sentence, for the terminal and the JSON report; the window has its own, translated. The comparison must
/// have its outcome.
std::string verdictSentence(const compare::Snapshot& comparison);

/// "relative error 0.5, 2.6e+05 times the floor; candidate = 0.5 x reference up to 3e-08": what was measured on a pair, in words.
std::string pairNumbers(const compare::Snapshot& comparison, std::size_t pair);

/// What was seen and what was not: "reference 214 of 214 module calls, candidate 428 of 428; 3 tensors not observed".
std::string coverageSentence(const compare::Snapshot& comparison);

/// One side's coverage as its ranks recorded it; -1 where no rank said.
struct Coverage {
    std::int64_t calls = -1, callsSeen = -1;
    std::vector<std::string> notObserved; ///< "WHAT: WHY", each once
    std::size_t incompleteRanks = 0;      ///< recording did not end regularly
};
Coverage coverageOf(const align::Side& side);

/// What float32 tensors hold that came from a narrower type: `.float()` before saving adds no digits. One sentence per side and type; only for
/// plain files, whose writers convert before they save.
std::vector<std::string> narrowNotes(const compare::Snapshot& comparison);

} // namespace forkpoint::report
