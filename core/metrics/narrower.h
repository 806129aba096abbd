// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"

#include <cstddef>
#include <optional>
#include <span>

// A pair whose sides have different floating types: is the difference more than the rounding to the narrower one?
namespace forkpoint::metrics {

/// The one with fewer significant bits (bfloat16 against float16, float8_e5m2 against float8_e4m3fn), if both are floating, or both complex,
/// and they differ. Integers are exact in the wider type and are not rounded.
std::optional<DType> narrowerOf(DType a, DType b);

/// Rounds numbers of type `from` to `to`, to nearest and ties to even, in one step; beyond the range to infinity, or to NaN in
/// float8_e4m3fn, which has no infinity. NaN stays NaN. `from` must be floating or complex, `to` the same, and `out` hold as many elements.
void roundTo(DType from, std::span<const std::byte> bytes, DType to, std::span<std::byte> out);

} // namespace forkpoint::metrics
