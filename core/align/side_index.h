// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side.h"

#include <cstdint>
#include <map>
#include <vector>

// The records of one side by step and by name, looked at once: runs have millions of them.
namespace forkpoint::align {

/// A module and a parameter in it, without wrapper prefixes.
struct RecordName {
    bundle::SharedText module, param;
    auto operator<=>(const RecordName&) const = default;
};

struct RecordNameHash {
    std::uint64_t operator()(const RecordName& name) const;
};

/// The records of one step, rank by rank as in Side::ranks: numbers in RankData::tensors, ascending.
using StepRecords = std::vector<std::vector<std::uint32_t>>;

struct SideIndex {
    std::vector<RecordName> names;                  ///< distinct, in order of appearance
    std::vector<std::vector<std::uint32_t>> nameOf; ///< [rank][record]: number in `names`
    std::map<std::int32_t, StepRecords> steps;
};

/// Fails with Usage where a rank has more records than can be numbered (2^32).
Result<SideIndex> indexOf(const Side& side);

} // namespace forkpoint::align
