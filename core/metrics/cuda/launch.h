// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/cuda/block.h"

#include <cuda_runtime.h>

// The kernels. Kinds are compiled in two files, so that two compilers share the work.
namespace forkpoint::metrics::cuda {

/// What a run needs: the slot on the device, its segments there, and where results go.
struct Run {
    const std::byte* buffer;
    const Segment* segments;
    std::uint32_t count, tiles;
    ChunkAccumulator* partials;
    std::int64_t* histograms;
};

void launchFloats(Kind kind, const Run& run, cudaStream_t stream);   ///< kinds of one floating type up to float32
void launchOthers(Kind kind, const Run& run, cudaStream_t stream);   ///< the others

inline void launchTiles(Kind kind, const Run& run, cudaStream_t stream)
{
    const bool isFloat = kind == Kind::Float32 || kind == Kind::Float16 || kind == Kind::BFloat16 || kind == Kind::Float8E4M3FN
                         || kind == Kind::Float8E5M2;
    isFloat ? launchFloats(kind, run, stream) : launchOthers(kind, run, stream);
}

#if defined(__CUDACC__)

template <class Kind>
__global__ void __launch_bounds__(kThreads, 2) tileKernel(Run run)
{
    __shared__ Shared shared;
    DeviceBlock block(shared);
    runTile<Kind>(block, run.buffer, run.segments, run.count, blockIdx.x, run.partials, run.histograms);
}

template <class Kind>
void launchTilesOf(const Run& run, cudaStream_t stream)
{
    tileKernel<Kind><<<run.tiles, kThreads, 0, stream>>>(run);
}

#endif

} // namespace forkpoint::metrics::cuda
