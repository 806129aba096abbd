// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/pair_statistics.h"

#include <span>

namespace forkpoint::metrics {

/// Partial result of one chunk; what backends produce and `PairStatistics` is finished from. Combining is done in chunk order by the caller,
/// never by a backend, so that every backend and thread count gives the same result.
struct ChunkAccumulator; // core/metrics/chunk_accumulator.h

/// A way to compute the element pass.
class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;        ///< "scalar"
    virtual std::string_view description() const = 0; ///< for `info` and reports
    virtual bool supported() const = 0;               ///< on this machine, now
    /// Adds the elements of one chunk. `a` and `b` hold equally many elements of their dtype; `firstIndex` is the flat index of the first.
    virtual void accumulate(std::span<const std::byte> a, DType dtypeA, std::span<const std::byte> b, DType dtypeB,
                            std::span<const std::byte> mask, std::int64_t firstIndex, const MeasureOptions& options,
                            ChunkAccumulator& into) const = 0;
};

std::vector<const Backend*> backends(); ///< all compiled in, best first

/// The backend that measure() uses: the one set by selectBackend, else FORKPOINT_BACKEND, else the best supported one.
const Backend& activeBackend();
/// Fails with Usage, naming those that exist, if there is none of that name or it is not supported here.
Result<void> selectBackend(std::string_view name);

} // namespace forkpoint::metrics
