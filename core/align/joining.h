// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/relation.h"

#include <optional>
#include <vector>

// From the ways in which the parts of each side fit together to the lanes that are compared.
namespace forkpoint::align {

/// Where the samples lie in a tensor of several of them: along `dim`; `inner`: in blocks of one entry each, a block for every position.
struct RowPlace {
    std::int64_t dim = 0;
    bool inner = false;
    bool operator==(const RowPlace&) const = default;
};

/// A way for each side, which give both one shape. `rows`: where B's samples are brought to A's order; nullopt: nowhere. `rowsToo`: another dim
/// along which they are, as in what relates every sample to every other one. `rowNumbers`: as Assembly has it.
struct Choice {
    Candidate a, b;
    std::optional<RowPlace> rows = {};
    std::optional<std::int64_t> rowsToo = {};
    bool rowNumbers = false;
    bundle::SharedValue<std::vector<std::int64_t>> looseRows = {}; ///< row i of A is this one of B, by content
    int cost = 0;
};

/// Does what is joined have the side's samples there, each whole?
bool hasRows(const SideParts& parts, const Candidate& candidate, const RowPlace& place);

/// Does every part have the samples of all ranks along `dim`, gathered in the order of the ranks?
bool hasGatheredRows(const SideParts& parts, const Candidate& candidate, std::int64_t dim);

/// A pair whose parts are known, and whose choices are judged.
struct Joining {
    const PairKey& key;
    const CellGroup& group;
    const SideParts& a;
    const SideParts& b;

    /// What fits, the most natural first. Less natural ones only with doubtful rows, or where nothing says which of several places the samples have.
    std::vector<Choice> choices(const std::vector<Candidate>& ofA, const std::vector<Candidate>& ofB) const;

    std::size_t laneCount(const Choice& choice) const;

    /// The lane with this number; what tells one lane from the others (rank, what is compared of it) is not filled in.
    Lane lane(const Choice& choice, const LossWeights& weights, std::size_t number) const;

    /// The parts follow one another along dim 0, rank by rank, in batches of another order, and there are not so many rows of each sample: tokens
    /// that were sent to an expert.
    bool hasLooseRows(const Choice& choice) const;

    /// Adds the choice for every place that its samples may have.
    void addPlaces(std::vector<Choice>& to, Choice choice) const;

private:
    bool mayNumberRows(const Choice& choice) const;
    void addGathered(std::vector<Choice>& to, const Choice& choice, bool dealt) const;
    void orderRows(Assembly& of, const Choice& choice) const;
    void orderPositions(Assembly& of, const Choice& choice) const;
};

/// Brings the choice to the front whose sides are alike, by a few of their elements. A less natural one only if the natural one does not fit and it
/// does. True if the elements decided: there was more than one choice as natural, or a less natural one was taken.
bool chooseByContent(std::vector<Choice>& choices, const Joining& pair, const bundle::Bundle& bundleA, const bundle::Bundle& bundleB);

enum class LooseRows : std::uint8_t {
    InOrder, ///< alike as they lie, or rows that have no partners
    Matched, ///< the choice has the order
    Unknown, ///< not alike as they lie, and nothing that rows can be told apart by
};

/// Finds which loose row of one side is which of the other.
LooseRows matchLooseRows(Choice& choice, const Joining& pair, const bundle::Bundle& bundleA, const bundle::Bundle& bundleB);

} // namespace forkpoint::align
