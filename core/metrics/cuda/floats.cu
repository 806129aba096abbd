// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/cuda/launch.h"

namespace forkpoint::metrics::cuda {

void launchFloats(Kind kind, const Run& run, cudaStream_t stream)
{
    switch (kind) {
    case Kind::Float32:
        return launchTilesOf<OneType<float>>(run, stream);
    case Kind::Float16:
        return launchTilesOf<OneType<Float16Bits>>(run, stream);
    case Kind::BFloat16:
        return launchTilesOf<OneType<BFloat16Bits>>(run, stream);
    case Kind::Float8E4M3FN:
        return launchTilesOf<OneType<Float8E4M3FNBits>>(run, stream);
    default:
        return launchTilesOf<OneType<Float8E5M2Bits>>(run, stream);
    }
}

} // namespace forkpoint::metrics::cuda
