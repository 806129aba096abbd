// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor_source.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace forkpoint::align {

/// Which row of `b` is which row of `a`, by what they hold: entry i is the row of `b` that is nearest to row i of `a`, each once. For rows whose
/// order follows from the batch in a way that was not recorded, such as tokens that a router sent to an expert.
/// Both of one shape [n, features], floating. Distances are those of 8 random projections (Johnson and Lindenstrauss), so rows that differ by rounding
/// find each other, also in bfloat16. nullopt: too large, not readable, or
/// elements that are not finite.
std::optional<std::vector<std::int64_t>> nearestRows(const TensorSourcePtr& a, const TensorSourcePtr& b);

} // namespace forkpoint::align
