// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/metrics/cuda/border.h"

#include <filesystem>
#include <string>
#include <vector>

namespace forkpoint::metrics {

/// The module that computes on a GPU (cuda/border.h says how), ready for use. Stays loaded until the process ends.
struct CudaModule {
    const ForkpointCudaBorder* border = nullptr;
    std::string device; ///< "NVIDIA H200, compute capability 9.0, ..."
};

/// Where it may lie: beside the program, and in lib/forkpoint of an installation that has the program in bin.
std::vector<std::filesystem::path> cudaModulePlaces();

/// The first of `places` that exists, opened and checked. Fails with Unsupported: there is none, it cannot be loaded, it belongs to another
/// build, there is no driver, no device, or none that it is built for.
Result<CudaModule> loadCudaModule(const std::vector<std::filesystem::path>& places);

/// The same of a border that is there already.
Result<CudaModule> checkedCudaModule(const ForkpointCudaBorder& border);

} // namespace forkpoint::metrics
