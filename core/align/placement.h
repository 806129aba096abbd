// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side_parts.h"

#include <optional>
#include <vector>

// The ways in which the parts of one side may become a whole.
namespace forkpoint::align {

struct Candidate {
    std::vector<Way> ways; ///< per axis
    Way micros;
    Shape shape;
    int cost = 0;

    bool joins(Join join) const;
    bool declared() const; ///< along some axis
    bool guessed() const;  ///< along some axis
};

/// Every shape that the parts can make up, each in the most natural way; with several ways of equal nature and shape all of them. With
/// doubtful rows the less natural ways, too, after them.
std::vector<Candidate> candidates(const PairKey& key, const SideParts& parts, const SideWeights& weights);

/// The leading dim may be samples in several ways, or none: each with several entries; or ranks lie along several axes, of which some deal samples.
bool hasDoubtfulRows(const PairKey& key, const SideParts& parts);

/// Shape of the parts of the first micro-step, joined along the axes; nullopt if they do not fit.
std::optional<Shape> joinedShape(const SideParts& parts, const std::vector<Way>& ways);

/// How many replicas of the whole there are, and the one with this number.
std::size_t laneCount(const SideParts& parts, const Candidate& candidate);
Assembly assemblyOf(const SideParts& parts, const Candidate& candidate, double weight, std::size_t lane);

/// True if the parts' bytes are known to be equal, row by row.
bool sameBytesOnRanks(const PartGrid& grid);

} // namespace forkpoint::align
