// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/rows.h"

#include <map>
#include <optional>
#include <vector>

// Context and sequence parallelism that a script does by itself: every rank computes some of the positions of its rows, and nothing declares which. It
// is read off the tokens, of which the other side has whole rows.
namespace forkpoint::align {

/// Which part of the whole's rows the ranks of the other side hold.
struct PositionSplit {
    std::map<Cell, RowKeys> rows;    ///< of every cell with a part the `content`, for each of its rows {number of the row in the whole, 0}
    std::vector<std::size_t> parts;  ///< per rank index, which part of the positions it holds; ranks that hold the same have one number
    std::vector<std::int64_t> order; ///< position i of the whole is position order[i] of the parts joined in rank order; never empty
};

/// Finds the split by the first matrix of tokens that both sides have and that tells rows apart; nullopt if no rank has fewer positions than the
/// whole, or if their parts do not make it up. A part may be several runs of positions (the zigzag that balances causal attention), each 1/2, 1/4 or
/// 1/8 of it long. All ranks that share rows must split them alike. `wholeCells`, `partCells` as in relateRows.
std::optional<PositionSplit> positionSplit(const std::map<Cell, RowKeys>& whole, const std::vector<Cell>& wholeCells,
                                           const std::map<Cell, RowKeys>& parts, const std::vector<Cell>& partCells);

/// The tokens of ranks that share rows, the parts of each rank joined in rank order: keys of the first rank of each group. `groups`: per rank index.
struct JoinedTokens {
    std::map<Cell, RowKeys> keys; ///< nothing but the tokens
    bool split = false;           ///< some ranks that share rows have other tokens of them
};
JoinedTokens joinedTokens(const std::map<Cell, RowKeys>& keys, const std::vector<Cell>& cells, const std::vector<std::size_t>& groups);

/// False if a matrix of tokens that both sides have, with as many rows and positions, does not have the same rows.
bool haveSameTokens(const std::map<Cell, RowKeys>& a, const std::vector<Cell>& cellsA, const std::map<Cell, RowKeys>& b, const std::vector<Cell>& cellsB);

} // namespace forkpoint::align
