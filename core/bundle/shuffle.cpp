// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/shuffle.h"

#include <algorithm>

namespace forkpoint::bundle {

void shuffle(std::span<const std::byte> from, std::span<std::byte> to, std::size_t itemSize)
{
    const std::size_t items = from.size() / itemSize;
    for (std::size_t b = 0; b < itemSize; ++b) {
        std::byte* group = to.data() + b * items;
        for (std::size_t i = 0; i < items; ++i)
            group[i] = from[i * itemSize + b];
    }
    std::copy(from.begin() + static_cast<std::ptrdiff_t>(items * itemSize), from.end(),
              to.begin() + static_cast<std::ptrdiff_t>(items * itemSize));
}

void unshuffle(std::span<const std::byte> from, std::span<std::byte> to, std::size_t itemSize)
{
    const std::size_t items = from.size() / itemSize;
    for (std::size_t b = 0; b < itemSize; ++b) {
        const std::byte* group = from.data() + b * items;
        for (std::size_t i = 0; i < items; ++i)
            to[i * itemSize + b] = group[i];
    }
    std::copy(from.begin() + static_cast<std::ptrdiff_t>(items * itemSize), from.end(),
              to.begin() + static_cast<std::ptrdiff_t>(items * itemSize));
}

} // namespace forkpoint::bundle
