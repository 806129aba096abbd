// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/mapping_file.h"
#include "core/align/placement_rule.h"
#include "core/align/relation.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forkpoint::align {

/// Which rule of the ladder made the pair.
enum class Rule : std::uint8_t {
    Mapped,     ///< the user's mapping
    Exact,      ///< equal names
    Normalised, ///< equal without wrapper prefixes
    ClassOrder, ///< same class and parameters, in order, under a matched parent
    SlotOrder,  ///< same module and call; the slots are named differently (position against keyword)
    None,       ///< unmatched
};
std::string_view name(Rule rule);

enum class PairStatus : std::uint8_t {
    Matched,
    OnlyA,
    OnlyB,
    Unrelated,   ///< matched by name, but the shapes cannot be related
    NotObserved, ///< the recorder could not see it on one side
};

/// There may be a million: what many of them have in common is shared.
struct Pair {
    PairKey key;
    std::string id;
    Rule rule = Rule::None;
    PairStatus status = PairStatus::Matched;
    bool guess = false;   ///< placement inferred
    DType dtypeA = DType::Float32, dtypeB = DType::Float32;
    std::vector<Lane> lanes;
    bundle::SharedText assembly; ///< the plan in words
    bundle::SharedText note;     ///< why unrelated, unmatched or not observed; or a caveat
    bundle::SharedShape shapeA, shapeB; ///< of the compared wholes; of the first part where there is none
    bundle::SharedText source;   ///< "train.py:41" of the call, empty if unknown
    bundle::SharedText mappedBy; ///< rule Mapped: "map.json, line 12"
};

/// How one step's cells were put together.
struct StepPlan {
    std::int32_t step = 0;
    std::vector<CellGroup> groups;          ///< one per rank group and micro group
    std::vector<std::vector<std::int32_t>> microsA, microsB; ///< per micro group
    bool rankByRank = false;
    bool microByMicro = false;
    std::string text; ///< "rank by rank", "all ranks joined; rows matched by content", ...
};

struct AlignOptions {
    std::optional<std::int32_t> stepOffset = {}; ///< step n of A against step n + offset of B; nullopt: the mapping's, else 0
    Mapping mapping = {};                    ///< names that the ladder cannot match by itself
    std::vector<PlacementRule> placements = {}; ///< instead of what was recorded or would be guessed; the last that matches counts
    MeshShape meshA = {}, meshB = {};        ///< instead of the recorded coordinates; empty: as recorded
};

/// The pairs of two runs, in order: step; phase; execution order in A's first rank; what only B has after its neighbour.
struct Alignment {
    Side a, b;
    std::int32_t stepOffset = 0;
    std::vector<Pair> pairs;
    std::vector<StepPlan> steps;
    std::map<std::string, std::string> renames; ///< module of B -> module of A, where the ladder matched by class
    std::vector<std::string> notes;             ///< steps on one side only, missing ranks, ...
    /// A and B are one rank each, and not the same, of one run: their data differ by design, their weights must not.
    std::optional<std::pair<int, int>> ranksOfOneRun;
    std::size_t stepsOnlyA = 0, stepsOnlyB = 0; ///< steps recorded on one side only
};

/// Fails with Cancelled, or Usage if the sides have no recorded step in common, the mapping makes two tensors one (mapNames), or a mesh does not fit.
Result<Alignment> align(Side a, Side b, const AlignOptions& options = {}, Progress* progress = nullptr, std::stop_token stop = {});

} // namespace forkpoint::align
