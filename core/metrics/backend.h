// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/pair_statistics.h"

#include <cstddef>
#include <span>
#include <string>
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

inline constexpr std::size_t kChunkBytes = 1u << 20; ///< of A, for backends that have no other wish

/// A way to compute the element pass.
class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;        ///< "scalar"
    virtual std::string_view description() const = 0; ///< for `info` and reports
    virtual bool supported() const = 0;               ///< on this machine, now
    virtual std::string whyNot() const { return {}; } ///< why it is not supported; empty if it is
    virtual std::size_t chunkBytes() const { return kChunkBytes; } ///< of A: what it likes to be given at once
    /// Adds the elements of one chunk. `a` and `b` hold equally many elements of their dtype, complex both or neither, at any alignment;
    /// `firstIndex` is the flat index of the first. `mask` is empty, or has one byte per element: those with 0 are not looked at. `histograms`
    /// may be null; else they are counted too. Fails with Device if a GPU fails, and then leaves half-finished results. May be called by any
    /// number of threads.
    virtual Result<void> accumulate(std::span<const std::byte> a, DType dtypeA, std::span<const std::byte> b, DType dtypeB,
                                    std::span<const std::byte> mask, std::int64_t firstIndex, const MeasureOptions& options,
                                    ChunkAccumulator& into, HistogramAccumulator* histograms) const = 0;
};

/// All there are. The first supported one is used unless another is asked for; `cuda` comes last and so has to be asked for. Tensors lie in
/// host memory, and to hand them to a GPU they are copied to pinned memory first: that alone moves as many bytes through the processor as
/// `simd` needs to have the result.
std::vector<const Backend*> backends();

/// The backend that measure() uses: the one set by selectBackend, else FORKPOINT_BACKEND, else the first supported one. Fails with Usage,
/// naming those that exist, if the environment names none of them or one that is not supported here; measure() then fails in the same
/// words, since a wish that is silently ignored makes a test of that backend worthless.
Result<const Backend*> chosenBackend();
/// The same for those who only report it: the first supported one instead of a failure.
const Backend& activeBackend();
/// Forces one for all later calls; an empty name returns the choice to the environment. Fails as chosenBackend does, changing nothing.
Result<void> selectBackend(std::string_view name);

} // namespace forkpoint::metrics
