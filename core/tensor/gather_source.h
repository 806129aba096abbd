// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor_source.h"

#include <cstdint>
#include <vector>

namespace forkpoint {

/// Elements of a source at row-major flat indices, as a tensor of one dimension. Fails with Usage if an index leaves the source. Reads
/// element by element: for thousands of them, not for millions.
Result<TensorSourcePtr> gatherSource(TensorSourcePtr source, std::vector<std::int64_t> indices);

} // namespace forkpoint
