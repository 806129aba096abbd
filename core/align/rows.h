// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side_index.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

// Which sample is in which row. A sampler deals rows to ranks in turn, so that concatenating in rank order is wrong; rows are therefore
// matched by what they are, never by where they stand.
namespace forkpoint::align {

/// A rank and a micro-step of one side: one local batch.
struct Cell {
    std::size_t rank = 0; ///< index into Side::ranks
    std::int32_t micro = 0;
    auto operator<=>(const Cell&) const = default;
};

/// A matrix of integers whose rows are those of the batch, such as the ids of tokens: as the script or a module was given it.
struct TokenMatrix {
    std::string name;                   ///< of the tensor, the same on both sides
    std::int64_t positions = 0;         ///< columns
    std::vector<std::int64_t> values;   ///< [rows][positions]
};

/// The identity of one row under several notions, best first; empty where a notion is not available.
using RowKey = std::array<std::uint64_t, 2>;
struct RowKeys {
    std::int64_t rows = 0;                ///< of the batch, along its leading dim or the second one; 0 if unknown
    std::vector<RowKey> content;          ///< hash over the row in every batch tensor
    std::vector<RowKey> ids;              ///< sample ids
    std::vector<std::vector<RowKey>> bySlot; ///< hash over the row in each batch tensor alone
    std::int64_t positions = 0;           ///< dim 1 of the batch's tensors of integers; 0 if there is none
    std::vector<std::uint8_t> kept;       ///< [rows][positions]: 1 where the row has content, 0 where it is padded; empty if unknown
    std::vector<RowKey> unpadded;         ///< hash over what is kept of the row in every batch tensor
    std::vector<TokenMatrix> tokens;      ///< by which a part of the positions is known, in the order in which they were recorded; for planning only
    std::int64_t tokenPositions = 0;      ///< the fewest that one of `tokens` has; 0 if there is none
    bool ofLongerBatch = false;           ///< these are the rows that the root was given of a batch that lasts for several micro-steps
};

/// Row keys of every cell of a step, from its batch records, else from the root's inputs; also from these where the script gives all ranks, or
/// several micro-steps, one batch and takes from it other rows in each. `records`: those of the step. `rowDim`: 1 for batches in which sequences come first.
std::map<Cell, RowKeys> rowKeys(const Side& side, const StepRecords& records, std::size_t rowDim = 0);

/// Where the cells of the two sides are padded to other lengths: what all of them have, and keep.
struct Positions {
    std::int64_t length = 0;  ///< the longest; 0: all have one length, and nothing is to be done
    bool padLeft = false;     ///< shorter ones are padded before their content
    std::shared_ptr<const std::vector<std::uint8_t>> kept; ///< [row of A][length]: 1 where both sides have content
};

inline constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1); ///< of a rank that has no rows

/// How the rows of B lie to those of A, both taken micro-step by micro-step, within one rank by rank.
struct RowRelation {
    bool matched = false;            ///< both sides hold the same rows, each as often
    bool replicatedA = false, replicatedB = false; ///< every rank of the side holds the same rows: they count once
    /// Ranks hold the same rows in groups, each of which counts once: per rank index the group's number; else empty.
    std::vector<std::size_t> sharersA, sharersB;
    bundle::SharedValue<std::vector<std::int64_t>> order; ///< row i of A is row order[i] of B; empty: the same order, or not matched
    std::int64_t rowsA = 0, rowsB = 0;
    std::string by;                  ///< "content", "sample id", "batch tensor 1", "their tokens"; empty if not matched
    Positions positions;             ///< rows of other lengths
    bool splitA = false, splitB = false; ///< ranks of the side that share rows hold some of their positions each
    bool tokensDiffer = false;       ///< the batches are the same rows, but what the modules were given of them is not
    /// `splitA` or `splitB`: position i of A is position positionOrder[i] of B, the parts of ranks joined in rank order; empty: the same order.
    bundle::SharedValue<std::vector<std::int64_t>> positionOrder;
    std::vector<std::size_t> positionParts; ///< per rank index of B (of A, if only that is split): which part of the positions it holds
};

/// `cellsA`, `cellsB`: the cells to be joined, in joining order (micro-step by micro-step, within one rank by rank). `ofParts`: rows that are not the
/// same are matched by the tokens that a rank has of them.
RowRelation relateRows(const std::map<Cell, RowKeys>& a, const std::vector<Cell>& cellsA, const std::map<Cell, RowKeys>& b,
                       const std::vector<Cell>& cellsB, bool ofParts = true);

} // namespace forkpoint::align
