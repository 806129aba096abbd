// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor_source.h"

namespace forkpoint {

/// The source seen through a frame of `shape`: its element 0 lies at `at` (one number per dim, which may be negative), what the frame does not
/// show is cut off, and what the source does not fill is zero. Cuts padding off and makes pieces of uneven length one size. Fails with Usage if
/// the numbers of dims differ or the frame is too large to be addressed.
Result<TensorSourcePtr> windowSource(TensorSourcePtr source, Shape shape, std::vector<std::int64_t> at);

} // namespace forkpoint
