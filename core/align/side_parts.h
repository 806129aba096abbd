// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/assembly.h"
#include "core/align/mapping_file.h"
#include "core/align/mesh.h"
#include "core/align/names.h"
#include "core/align/rows.h"
#include "core/align/weights.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

// The parts of one side of a pair, and the axes of ranks along which they lie.
namespace forkpoint::align {

/// How the parts along one axis are joined, and how natural that is: 0 is what such a tensor usually is, less is declared, more is less likely.
struct Way {
    Join join = Join::Single;
    std::int64_t dim = 0;
    int cost = 0;
    bool declared = false;
    std::int64_t blocks = 1;
    std::optional<double> weight = {}; ///< of a declared partial sum or mean, whatever the loss says
};

/// One axis of a side's parts: ranks of a mesh, or the tensors of a many-to-one pair.
struct PartAxis {
    std::string name = {}; ///< of the mesh's axis; empty if not known
    std::size_t size = 1;
    bool sameRows = false; ///< the parts along it hold the same samples
    bool pieces = false;   ///< the tensors that a mapping joins
    std::optional<Way> fixed = {}; ///< declared
};

/// What is known of the ranks of a side.
struct SideKnowledge {
    const RankMesh& mesh;
    const SideWeights& weights;
    bool replicated = false;                              ///< all ranks hold the same samples
    const std::vector<std::size_t>* sharers = nullptr;    ///< per rank index: the number of the group of ranks that hold the same samples
    const std::map<Cell, RowKeys>& rows;
    const std::vector<bundle::Placement>* given = nullptr; ///< by the user, instead of what was recorded
    const JoinRule* pieces = nullptr;                     ///< the side has the parts of this rule
    std::int64_t positions = 0;                           ///< padded to other lengths: to what dim 1 is brought
};

/// The parts of one side that there are, in the order of their axes.
struct SideParts {
    PartGrid grid;              ///< [micro][column]; columns are row-major over the axes, except that rows may be shorter with a single axis
    std::vector<PartAxis> axes; ///< outermost first; none if there is one part
    bool incomplete = false;    ///< a part was not recorded in some micro-step or on some rank
    bool rowLed = false;        ///< the leading dim of every part may be its samples, with equally many entries of each
    bool rowsSecond = false;    ///< the second dim of every part is as long as it has samples: sequences that come first
    std::int64_t rows = 0;      ///< samples of each part, if all have as many; else 0
    std::int64_t perRow = 0;    ///< `rowLed`: entries of each sample; else 0
    bool flattened = false;     ///< `perRow` may count positions: it is a multiple of those that the tokens have, or these are not known
    bool sameRows = false;      ///< along all axes of ranks
    bool given = false;         ///< the user said how: nothing else is tried
    std::int64_t positions = 0; ///< every part is brought to this length along dim 1; 0: as they are
    std::string problem;        ///< why they cannot be put together

    std::vector<Shape> shapes() const; ///< of the first row, as recorded
};

SideParts sideParts(const PairKey& key, const PartGrid& grid, const SideKnowledge& knowledge);

bool isActivation(bundle::Kind kind);
bool isLocalGradient(const PairKey& key);
bool isLoss(const PairKey& key);

} // namespace forkpoint::align
