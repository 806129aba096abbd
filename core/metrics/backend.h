// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/pair_statistics.h"

#include <span>
#include <string_view>
#include <vector>

namespace forkpoint::metrics {

// The contract of every backend. Over backends, instruction sets, numbers of threads and runs, these are equal bit for bit: counts, extrema
// with their indices and values (ties: the lowest index), minima and maxima, histograms. Over ways of cutting into chunks as well. Sums, and
// what is made of them (means, norms, cosine, scale), lie within the bound of chunk_accumulator.h of the exact ones; their last bits may
// differ between backends and instruction sets, and repeat on one machine with any number of threads, since chunks are combined in order.

/// Partial result of one chunk; what backends produce and `PairStatistics` is finished from. Combining is done in chunk order by the
/// caller, never by a backend, so that every backend and thread count gives the same result.
struct ChunkAccumulator;     // core/metrics/chunk_accumulator.h
struct HistogramAccumulator; // core/metrics/histogram.h

/// A way to compute the element pass.
class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;        ///< "scalar"
    virtual std::string_view description() const = 0; ///< for `info` and reports
    virtual bool supported() const = 0;               ///< on this machine, now
    /// Adds the elements of one chunk. `a` and `b` hold equally many elements of their dtype, complex both or neither, at any alignment;
    /// `firstIndex` is the flat index of the first. `mask` is empty, or has one byte per element: those with 0 are not looked at. `histograms`
    /// may be null; else they are counted too.
    virtual void accumulate(std::span<const std::byte> a, DType dtypeA, std::span<const std::byte> b, DType dtypeB,
                            std::span<const std::byte> mask, std::int64_t firstIndex, const MeasureOptions& options,
                            ChunkAccumulator& into, HistogramAccumulator* histograms) const = 0;
};

std::vector<const Backend*> backends(); ///< all compiled in, best first

/// The backend that measure() uses: the one set by selectBackend, else FORKPOINT_BACKEND, else the best supported one. Fails with Usage,
/// naming those that exist, if the environment names none of them or one that is not supported here; measure() then fails in the same
/// words, since a wish that is silently ignored makes a test of that backend worthless.
Result<const Backend*> chosenBackend();
/// The same for those who only report it: the best supported one instead of a failure.
const Backend& activeBackend();
/// Forces one for all later calls; an empty name returns the choice to the environment. Fails as chosenBackend does, changing nothing.
Result<void> selectBackend(std::string_view name);

} // namespace forkpoint::metrics
