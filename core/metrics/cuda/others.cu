// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/cuda/launch.h"

namespace forkpoint::metrics::cuda {

void launchOthers(Kind kind, const Run& run, cudaStream_t stream)
{
    switch (kind) {
    case Kind::Float64:
        return launchTilesOf<OneType<double>>(run, stream);
    case Kind::Bool:
        return launchTilesOf<OneType<BoolByte>>(run, stream);
    case Kind::TwoSingle:
        return launchTilesOf<TwoTypes<float>>(run, stream);
    case Kind::TwoDouble:
        return launchTilesOf<TwoTypes<double>>(run, stream);
    default:
        return launchTilesOf<TwoTypes<std::int64_t>>(run, stream);
    }
}

} // namespace forkpoint::metrics::cuda
