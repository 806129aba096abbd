// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side.h"

#include <array>
#include <cstdint>
#include <map>
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

/// The identity of one row under several notions, best first; empty where a notion is not available.
using RowKey = std::array<std::uint64_t, 2>;
struct RowKeys {
    std::int64_t rows = 0;                ///< leading dim of the batch; 0 if unknown
    std::vector<RowKey> content;          ///< hash over the row in every batch tensor
    std::vector<RowKey> ids;              ///< sample ids
    std::vector<std::vector<RowKey>> bySlot; ///< hash over the row in each batch tensor alone
};

/// Row keys of every cell of a step, from its batch records, else from the root's inputs.
std::map<Cell, RowKeys> rowKeys(const Side& side, std::int32_t step);

/// How the rows of B lie to those of A, both taken micro-step by micro-step, within one rank by rank.
struct RowRelation {
    bool matched = false;            ///< both sides hold the same rows, each as often
    bool replicatedA = false, replicatedB = false; ///< every rank of the side holds the same rows: they count once
    std::vector<std::int64_t> order; ///< row i of A is row order[i] of B; empty: the same order, or not matched
    std::int64_t rowsA = 0, rowsB = 0;
    std::string by;                  ///< "content", "sample id", "batch tensor 1"; empty if not matched
};

/// `cellsA`, `cellsB`: the cells to be joined, in joining order (micro-step by micro-step, within one rank by rank).
RowRelation relateRows(const std::map<Cell, RowKeys>& a, const std::vector<Cell>& cellsA, const std::map<Cell, RowKeys>& b,
                       const std::vector<Cell>& cellsB);

} // namespace forkpoint::align
