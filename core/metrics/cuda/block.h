// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/cuda/thread_scan.h"

#include <memory>
#include <vector>

// A block of 256 threads, as what the kernels need of it: on the device, and in a loop on the host, which takes the same steps in the same
// order. Between two calls all threads have come together.
//
//   each(use)            use(thread, own) for every thread; `own` is its ChunkAccumulator and stays
//   fold()               every thread's own into that of thread 0, in a fixed order: within 32 by halves, then the eights one by one
//   first(use)           use(own) by thread 0
//   clear(), count(thread, place, n), flush(to)   counters of the block; flush adds them to `to`
namespace forkpoint::metrics::cuda {

inline constexpr int kWarp = 32, kWarps = kThreads / kWarp;

class HostBlock {
public:
    template <class Use>
    void each(const Use& use)
    {
        for (int thread = 0; thread < kThreads; ++thread)
            use(thread, m_own[static_cast<std::size_t>(thread)]);
    }

    void fold()
    {
        for (std::size_t warp = 0; warp < kThreads; warp += kWarp) {
            for (std::size_t half = kWarp / 2; half > 0; half /= 2) {
                for (std::size_t lane = 0; lane < half; ++lane)
                    m_own[warp + lane].combine(m_own[warp + lane + half]);
            }
        }
        for (std::size_t warp = kWarp; warp < kThreads; warp += kWarp)
            m_own[0].combine(m_own[warp]);
    }

    template <class Use>
    void first(const Use& use)
    {
        use(m_own[0]);
    }

    void clear() { m_counts.assign(kPlaces, 0); }
    void count(int, int place, unsigned n) { m_counts[static_cast<std::size_t>(place)] += n; }
    void flush(std::int64_t* to) const
    {
        for (std::size_t place = 0; place < kPlaces; ++place)
            to[place] += m_counts[place];
    }

private:
    std::vector<ChunkAccumulator> m_own = std::vector<ChunkAccumulator>(kThreads);
    std::vector<unsigned> m_counts = std::vector<unsigned>(kPlaces);
};

#if defined(__CUDACC__)

/// Shared memory of a block. Every warp counts for itself: neighbours often fall in one place, where they would wait for each other.
struct Shared {
    unsigned counts[kWarps][kPlaces];
    alignas(16) std::byte folded[kWarps][sizeof(ChunkAccumulator)];
};

class DeviceBlock {
public:
    __device__ explicit DeviceBlock(Shared& shared)
        : m_shared(shared)
        , m_thread(static_cast<int>(threadIdx.x))
    {
    }

    template <class Use>
    __device__ void each(const Use& use)
    {
        use(m_thread, m_own);
        __syncthreads();
    }

    __device__ __noinline__ void fold()
    {
        for (int half = kWarp / 2; half > 0; half /= 2) {
            const ChunkAccumulator other = shuffledDown(m_own, half);
            if (m_thread % kWarp < half)
                m_own.combine(other);
        }
        if (m_thread % kWarp == 0)
            memcpy(m_shared.folded[m_thread / kWarp], &m_own, sizeof m_own);
        __syncthreads();
        for (int warp = 1; m_thread == 0 && warp < kWarps; ++warp) {
            ChunkAccumulator other;
            memcpy(&other, m_shared.folded[warp], sizeof other);
            m_own.combine(other);
        }
        __syncthreads();
    }

    template <class Use>
    __device__ void first(const Use& use)
    {
        if (m_thread == 0)
            use(m_own);
    }

    __device__ void clear()
    {
        for (int place = m_thread; place < kWarps * kPlaces; place += kThreads)
            m_shared.counts[0][place] = 0;
        __syncthreads();
    }

    /// By name, since the compiler loses sight of where a reference points, and a general atomic is slower. Ordered by the barriers around it.
    __device__ void count(int thread, int place, unsigned n)
    {
        const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&m_shared.counts[thread / kWarp][place]));
        asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(n));
    }

    __device__ void flush(std::int64_t* to) const
    {
        for (int place = m_thread; place < kPlaces; place += kThreads) {
            unsigned n = 0;
            for (int warp = 0; warp < kWarps; ++warp)
                n += m_shared.counts[warp][place];
            if (n != 0)
                atomicAdd(reinterpret_cast<unsigned long long*>(to + place), static_cast<unsigned long long>(n));
        }
    }

private:
    /// That of the thread `by` lanes further.
    __device__ static ChunkAccumulator shuffledDown(const ChunkAccumulator& own, int by)
    {
        constexpr int kWords = sizeof(ChunkAccumulator) / sizeof(unsigned);
        static_assert(kWords * sizeof(unsigned) == sizeof(ChunkAccumulator));
        unsigned words[kWords];
        memcpy(words, &own, sizeof words);
#pragma unroll 4
        for (int i = 0; i < kWords; ++i)
            words[i] = __shfl_down_sync(0xffffffffu, words[i], static_cast<unsigned>(by));
        ChunkAccumulator other;
        memcpy(&other, words, sizeof words);
        return other;
    }

    Shared& m_shared;
    int m_thread;
    ChunkAccumulator m_own;
};

#endif

/// Number `tile` of a run: its result to its place in `partials`, its counts to the histograms of its entry. `segments`: those of the run.
template <class Kind, class Block>
FORKPOINT_HD void runTile(Block& block, const std::byte* buffer, const Segment* segments, std::uint32_t count, std::uint32_t tile,
                          ChunkAccumulator* partials, std::int64_t* histograms)
{
    std::uint32_t low = 0, high = count; // the last segment that begins at or before the tile
    while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (segments[middle].first_tile <= tile)
            low = middle;
        else
            high = middle;
    }
    const Segment segment = segments[low]; // a copy, which stays in registers
    const std::uint32_t inSegment = tile - segment.first_tile;
    block.clear();
    block.each([&](int thread, ChunkAccumulator& own) {
        ThreadScan<Kind> scan(buffer, segment, inSegment, thread);
        own = scan.run([&](int place) { block.count(thread, place, 1); });
        if (segment.histograms != 0 && scan.zeros() != 0)
            block.count(thread, kZeroPlace, static_cast<unsigned>(scan.zeros()));
    });
    if (segment.histograms != 0)
        block.flush(histograms + std::size_t{segment.entry} * kPlaces);
    block.fold();
    block.first([&](const ChunkAccumulator& own) { partials[segment.first_partial + inSegment] = own; });
}

/// The partial results of one entry to one: each thread takes a run of neighbours.
template <class Block>
FORKPOINT_HD void runReduction(Block& block, const ChunkAccumulator* partials, ForkpointCudaEntry entry, ChunkAccumulator& result)
{
    const std::uint32_t share = (entry.count + kThreads - 1) / kThreads;
    block.each([&](int thread, ChunkAccumulator& own) {
        own = {};
        const std::uint32_t begin = static_cast<std::uint32_t>(thread) * share;
        for (std::uint32_t i = begin; i < begin + share && i < entry.count; ++i)
            own.combine(partials[entry.first + i]);
    });
    block.fold();
    block.first([&](const ChunkAccumulator& own) { result = own; });
}

} // namespace forkpoint::metrics::cuda
