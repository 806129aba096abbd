// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/backend.h"

namespace forkpoint::metrics {

/// Metrics on an NVIDIA GPU, through a module that is looked for when it is first asked about. The kernels, cuda/, share their arithmetic with
/// the scalar backend. The first device that the driver shows is used.
const Backend& cudaBackend();

} // namespace forkpoint::metrics
