// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/record.h"

#include <cstddef>
#include <optional>
#include <span>

namespace forkpoint::bundle {

/// `stats` of FORMAT.md section 6, formed in double: min, max, mean and 2-norm of the finite elements (NaN if there is none), counts over
/// all. nullopt for complex types, whose elements have no order, and for an empty tensor.
std::optional<RecordedStats> statsOf(DType dtype, std::span<const std::byte> bytes);

} // namespace forkpoint::bundle
