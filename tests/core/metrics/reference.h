// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/pair_statistics.h"
#include "tests/support/test_tensor.h"

namespace forkpoint::test {

using namespace metrics;


/// The same statistics by the definitions in pair_statistics.h: one loop over the elements, sums in 80-bit floating point, second passes
/// for variance and residual. Shares no code with core/metrics. `mask` may be null.
PairStatistics referenceStatistics(const TestTensor& a, const TestTensor& b, const TestTensor* mask, const MeasureOptions& options);

/// The tensor in a narrower floating type: nearest, ties to even, beyond the range infinite (float8_e4m3fn: NaN).
TestTensor referenceRounded(const TestTensor& tensor, DType to);

/// Counters and extrema must be equal, sums within `tolerance` times the sum of the sizes of their terms. The default is the bound of
/// chunk_accumulator.h for 700 blocks and chunks together, with room for the reference's own rounding.
void expectAgrees(const PairStatistics& got, const PairStatistics& reference, double tolerance = 1e-13);

/// Everything in it as bits, for tests of repeatability.
std::vector<std::uint64_t> bitsOf(const PairStatistics& statistics);

/// Fails if anything in it is NaN.
void expectNoNan(const PairStatistics& statistics);

} // namespace forkpoint::test
