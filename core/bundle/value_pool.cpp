// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/value_pool.h"

#include <xxhash.h>

namespace forkpoint::bundle {

std::size_t hashOf(std::string_view text)
{
    return XXH3_64bits(text.data(), text.size());
}

std::size_t hashOf(std::span<const std::int64_t> numbers)
{
    return XXH3_64bits(numbers.data(), numbers.size_bytes());
}

std::size_t hashOf(std::span<const Placement> placements)
{
    std::size_t hash = placements.size();
    for (const Placement& placement : placements) {
        const std::size_t parts[] = {hash, hashOf(placement.axis), static_cast<std::size_t>(placement.type),
                                     static_cast<std::size_t>(placement.dim), hashOf(placement.op)};
        hash = XXH3_64bits(parts, sizeof parts);
    }
    return hash;
}

} // namespace forkpoint::bundle
