// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/comparison.h"

#include <cstddef>

namespace forkpoint::compare {

/// What became of the ready pairs: every one that the recorder observed counts in exactly one field.
struct PairCounts {
    std::size_t identical = 0;
    std::size_t noise = 0;       ///< within the floor
    std::size_t undecidable = 0; ///< above the floor, but may have grown from rounding
    std::size_t above = 0;       ///< above the floor, or not finite in different places
    std::size_t unreadable = 0;  ///< the bytes of one side could not be read
    std::size_t differing = 0;   ///< the recorded hashes differ; values that would say by how much are not there
    std::size_t unrelated = 0;   ///< the shapes of both sides cannot be related
    std::size_t onlyA = 0, onlyB = 0;
    std::size_t byDesign = 0; ///< of two ranks of one run: differ and may (diagnose::mayDiffer); compared, but in no field above

    std::size_t compared() const { return identical + noise + undecidable + above + byDesign; }
    std::size_t oneSided() const { return onlyA + onlyB; }
    bool complete() const { return unreadable + differing + unrelated + oneSided() == 0; } ///< nothing was left uncompared
};

PairCounts countPairs(const Snapshot& comparison);

/// What is known of what the fork was computed from.
enum class ForkEvidence {
    MustBeEqual,       ///< two ranks of one run: it must not differ, whatever it was computed from
    InputsAgree,       ///< Fork::after lists them
    InputsNotCompared, ///< recorded, but on one side only or unreadable
    InputsNotRecorded,
    FirstRecorded, ///< no pair comes before it
};
ForkEvidence forkEvidence(const Snapshot& comparison); ///< needs an outcome with a proven fork

} // namespace forkpoint::compare
