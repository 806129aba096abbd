// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/selection.h"
#include "core/base/progress.h"

#include <array>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

// Rank against rank within one run: tensors that should be replicas, and who disagrees.
namespace forkpoint::compare {

/// Why a tensor counts as a replica: never for its name and shape alone (local experts, pipeline stages).
enum class ReplicaReason { Declared, Wrapped, EqualAtFirst };
std::string_view name(ReplicaReason reason); ///< "declared", "wrapped by DDP", "bit-equal at the first record"

/// A tensor that should be the same on some ranks.
struct ReplicaTensor {
    std::string id;
    ReplicaReason reason = ReplicaReason::Declared;
    std::vector<std::vector<int>> groups; ///< of ranks that hold equal bits, the largest first; one group: all agree
    /// [i][j]: relative L2 difference of groups i and j; nullopt: only digests were recorded, or it could not be read
    std::vector<std::vector<std::optional<double>>> difference;
};

struct RankMatrix {
    std::vector<int> ranks;
    std::size_t tensors = 0;                ///< that should be replicas
    std::array<std::size_t, 3> byReason {}; ///< of these, in the order of ReplicaReason
    std::size_t others = 0;                 ///< on several ranks, but nothing says that they should be equal
    std::size_t unknown = 0;                ///< should be replicas, but neither digest nor fold was recorded
    std::vector<ReplicaTensor> differing;   ///< in execution order
    /// [i][j], symmetric, by index into `ranks`: tensors in which the two differ, and the largest relative L2 difference that was measured.
    std::vector<std::vector<std::size_t>> differ;
    std::vector<std::vector<double>> worst;
};

/// Of parameters, buffers, optimizer state, gradients from the reduction on, and of whatever is declared to be replicated. `pattern` as
/// align::selects. Equal digests are equal tensors; where they differ the difference is measured. Fails with Cancelled, Usage if nothing is selected
/// or the run has one rank only, or as align::tensorsOf.
Result<RankMatrix> rankMatrix(const align::Side& side, std::string_view pattern, Progress* progress = nullptr, std::stop_token stop = {});

} // namespace forkpoint::compare
