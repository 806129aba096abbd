// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/chunk_walk.h"
#include "core/metrics/pair_statistics.h"

namespace forkpoint::metrics {

/// Percentiles of |d| over the finite pairs: exact, however many there are, in memory that does not depend on their number. The p-th is the
/// smallest |d| that at least p % of the pairs do not exceed (nearest rank). All 0 if no pair is finite. Reads both sides up to four times:
/// |d| as a double is an integer of 64 bits in the same order, each reading settles 16 of them, and the search ends early where all that is
/// wanted is settled. Fails as the walk does.
Result<Percentiles> absolutePercentiles(const ChunkWalk& walk, int threads, const std::stop_token& stop);

} // namespace forkpoint::metrics
