// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/assembly.h"
#include "core/align/names.h"
#include "core/align/placement_rule.h"
#include "core/align/side_index.h"

#include <string_view>
#include <vector>

// The tensors of one run by name, each with its parts on every rank.
namespace forkpoint::align {

/// What one tensor of a run has on its ranks: what would be one side of a pair, micro-steps apart.
struct RunTensor {
    PairKey key;             ///< micro: the micro-step
    std::vector<Part> parts; ///< rank by rank; of a wrapper and what it wraps the first
};

/// True if the pattern (* and ?) matches the tensor's whole name or its id; an empty one matches everything.
bool selects(std::string_view pattern, const PairKey& key);

/// The selected tensors that were observed, by step, then in the order in which the first rank that has them recorded them. Fails as indexOf().
Result<std::vector<RunTensor>> tensorsOf(const Side& side, std::string_view pattern);

} // namespace forkpoint::align
