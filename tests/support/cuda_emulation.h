// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/cuda/border.h"

#include <cstddef>
#include <functional>
#include <string>

namespace forkpoint::test {

/// What happened at the border, and what shall happen.
struct EmulatedCuda {
    int lanes = 0, mostLanes = 0; ///< open ones
    int uploads = 0, launches = 0, finishes = 0;
    std::uint32_t mostEntries = 0; ///< in a finish
    /// Called with the name of every function, from any thread; a text is its failure.
    std::function<std::string(const std::string& function)> onCall;
};

/// A border without a GPU: the kernels' own text, run on the host one thread after the other. As a GPU would, it copies and computes late: when
/// a slot is waited for, or at the end, so that a slot that is filled too early gives wrong numbers. For one test at a time.
const ForkpointCudaBorder& emulatedCudaBorder();
/// Its record, cleared.
EmulatedCuda& freshEmulatedCuda();

} // namespace forkpoint::test
