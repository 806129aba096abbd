// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/permutation.h"

namespace forkpoint {

std::vector<std::int64_t> inverseOf(std::span<const std::int64_t> order)
{
    std::vector<std::int64_t> inverse(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    return inverse;
}

bool isIdentity(std::span<const std::int64_t> order)
{
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] != static_cast<std::int64_t>(i)) {
            return false;
        }
    }
    return true;
}

} // namespace forkpoint
