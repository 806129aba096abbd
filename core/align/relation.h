// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/assembly.h"
#include "core/align/placement.h"
#include "core/align/placement_rule.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace forkpoint::align {

/// The cells of both sides that belong together: one rank against one, or all ranks against all; one micro-step against one, or all.
struct CellGroup {
    std::vector<std::size_t> ranksA, ranksB;   ///< indices into Side::ranks
    std::vector<std::int32_t> microsA, microsB;
    RowRelation rows;
    LossWeights weights;
    RankMesh meshA, meshB; ///< declared, or found by who holds the same rows
};

/// One comparison of two tensors within a pair: rank by rank there is one lane per rank, for replicas one per distinct replica.
struct Lane {
    Assembly a, b;
    int rank = -1; ///< rank of B that the lane shows; -1 if it is an assembly of several
    std::shared_ptr<const std::vector<std::uint8_t>> kept; ///< sides padded to other lengths: [samples][positions], 0 where nothing is compared
};

struct Relation {
    std::vector<Lane> lanes;   ///< empty if the shapes cannot be related
    bool guess = false;        ///< placement inferred from shapes and content, not declared
    bool verified = false;     ///< several ways fitted the shapes, and the content decided
    bool needsAllOfA = false, needsAllOfB = false; ///< a rank that is missing leaves a hole: its part is a piece or a summand, not a replica
    std::string problem;       ///< why there are no lanes
    bool notObserved = false;  ///< ... and that is no difference: what belongs where was not recorded
    bool incomplete = false;   ///< a part was not recorded on some rank or micro-step
};

/// One side of a pair within a group of cells.
struct RelationSide {
    const bundle::Bundle& bundle;
    const PartGrid& grid; ///< [micro][piece and rank]
    const std::map<Cell, RowKeys>& rows;
    const PlacementRule* given = nullptr; ///< by the user
    const JoinRule* pieces = nullptr;
};

/// Finds how the parts of both sides become tensors of one shape (DESIGN section 5, placement): as declared, else by trying. Where several ways fit
/// as well, a few elements are read to decide.
Relation relate(const PairKey& key, const RelationSide& a, const RelationSide& b, const CellGroup& group);

/// The most frequent case, and the only one of most runs: one part against one of its shape, in its own order. nullopt: ask relate().
std::optional<Lane> oneAgainstOne(const Part& a, const Part& b, const CellGroup& group);

} // namespace forkpoint::align
