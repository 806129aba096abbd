// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace forkpoint {

/// `order` holds every number from 0 to its size less one, once: entry i of the result is entry order[i] of what is permuted.
std::vector<std::int64_t> inverseOf(std::span<const std::int64_t> order);
bool isIdentity(std::span<const std::int64_t> order);

} // namespace forkpoint
