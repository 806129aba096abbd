// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/cuda/border.h"

#include <cstdio>
#include <cuda_runtime.h>

namespace forkpoint::metrics::cuda {

/// 0, or 1 and the failure in words, with which the driver's memory of it is cleared too.
inline int checked(cudaError_t status, const char* what, char* error)
{
    if (status == cudaSuccess)
        return 0;
    cudaGetLastError();
    std::snprintf(error, FORKPOINT_CUDA_ERROR_SIZE, "%.100s: %.100s (%.40s)", what, cudaGetErrorString(status), cudaGetErrorName(status));
    return 1;
}

} // namespace forkpoint::metrics::cuda

#define FORKPOINT_CUDA_TRY(call)                                                  \
    do {                                                                          \
        if (::forkpoint::metrics::cuda::checked((call), #call, error) != 0)       \
            return 1;                                                             \
    } while (false)
