// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/metrics/chunk_accumulator.h"
#include "core/metrics/cuda/border.h"
#include "core/metrics/pair_statistics.h"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace forkpoint::metrics {

/// What Backend::accumulate is asked for.
struct CudaRequest {
    std::span<const std::byte> a, b, mask;
    DType dtypeA, dtypeB;
    std::int64_t firstIndex;
    const MeasureOptions& options;
    ChunkAccumulator& into;
    HistogramAccumulator* histograms;
};

/// One lane of border.h with its memory. For one thread at a time.
class CudaLane {
public:
    struct Room {
        std::size_t slotBytes = std::size_t{8} << 20; ///< of both sides and the mask; holds at least one tile of any type
        std::uint32_t partials = 1024, entries = 256;
    };

    static Result<std::unique_ptr<CudaLane>> open(const ForkpointCudaBorder& border, const Room& room);
    ~CudaLane();
    CudaLane(const CudaLane&) = delete;
    CudaLane& operator=(const CudaLane&) = delete;

    /// A request of any size, in slices: while one is read and packed, the one before is copied and computed.
    Result<void> stream(const CudaRequest& request);
    /// Several in one upload, one launch for each kind of types, one reduction. They must fit the room.
    Result<void> together(std::span<const CudaRequest* const> requests);

private:
    CudaLane(const ForkpointCudaBorder& border, const Room& room);
    template <class Function, class... Arguments>
    Result<void> call(const char* what, Function function, Arguments... arguments);
    Result<void> finish(std::span<const ForkpointCudaEntry> entries, std::span<const CudaRequest* const> requests);

    const ForkpointCudaBorder& m_border;
    Room m_room;
    ForkpointCudaLane* m_lane = nullptr;
    void* m_slots[2] = {};
    std::vector<ChunkAccumulator> m_results;
    std::vector<HistogramAccumulator> m_histograms;
};

/// Hands requests of any number of threads to lanes. Large ones have a lane of their own, so that one thread's reading overlaps another
/// one's copying too. Small ones that come while a launch is under way go into the next one together.
class CudaPipeline {
public:
    struct Limits {
        CudaLane::Room room;
        std::size_t lanes = 8;                          ///< at most; a further thread waits
        std::size_t smallBytes = std::size_t{256} << 10; ///< of both sides: up to this, requests share a launch
    };

    explicit CudaPipeline(const ForkpointCudaBorder& border);
    CudaPipeline(const ForkpointCudaBorder& border, const Limits& limits);

    /// Blocks until the result is added. Fails with Device in the driver's words; `into` is then to be thrown away. Results do not depend on
    /// what else is under way.
    Result<void> accumulate(const CudaRequest& request);

    std::size_t waiting() const; ///< small requests that no launch has taken yet

private:
    struct Small;

    Result<std::unique_ptr<CudaLane>> takeLane();
    void giveBack(std::unique_ptr<CudaLane> lane, bool usable);
    Result<void> shareLaunch(const CudaRequest& request);
    std::vector<Small*> nextLaunch(); ///< those at the front that fit together; the lock is held

    const ForkpointCudaBorder& m_border;
    Limits m_limits;
    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::vector<std::unique_ptr<CudaLane>> m_free;
    std::size_t m_open = 0;       ///< lanes there are, free or not
    std::vector<Small*> m_small;  ///< in the order they came
    bool m_launching = false;     ///< a thread is busy with a launch of small ones
};

} // namespace forkpoint::metrics
