// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/assembly.h"
#include "core/align/names.h"
#include "core/align/rows.h"
#include "core/align/weights.h"

#include <map>
#include <string>
#include <vector>

namespace forkpoint::align {

/// The cells of both sides that belong together: one rank against one, or all ranks against all; one micro-step against one, or all.
struct CellGroup {
    std::vector<std::size_t> ranksA, ranksB;   ///< indices into Side::ranks
    std::vector<std::int32_t> microsA, microsB;
    RowRelation rows;
    LossWeights weights;
};

/// One comparison of two tensors within a pair: rank by rank there is one lane per rank, for replicas one per distinct replica.
struct Lane {
    Assembly a, b;
    int rank = -1; ///< rank of B that the lane shows; -1 if it is an assembly of several
};

struct Relation {
    std::vector<Lane> lanes;   ///< empty if the shapes cannot be related
    bool guess = false;        ///< placement inferred from shapes and content, not declared
    bool needsAllOfA = false, needsAllOfB = false; ///< a rank that is missing leaves a hole: its part is a piece or a summand, not a replica
    std::string problem;       ///< why there are no lanes
    bool incomplete = false;   ///< a part was not recorded on some rank or micro-step
};

using PartGrid = std::vector<std::vector<Part>>; ///< [micro][rank]; a part without record is missing

/// Finds how the parts of both sides become tensors of one shape (DESIGN section 5, placement): as declared, else by trying. `rowsOfA`,
/// `rowsOfB`: row counts per cell.
Relation relate(const PairKey& key, const PartGrid& a, const PartGrid& b, const CellGroup& group, const std::map<Cell, RowKeys>& rowsOfA,
                const std::map<Cell, RowKeys>& rowsOfB);

} // namespace forkpoint::align
