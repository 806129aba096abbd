// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/shuffle.h"

#include <algorithm>
#include <array>
#include <hwy/highway.h>

namespace forkpoint::bundle {

namespace {

namespace hn = hwy::HWY_NAMESPACE;

const std::uint8_t* at(std::span<const std::byte> bytes, std::size_t offset) { return reinterpret_cast<const std::uint8_t*>(bytes.data() + offset); }
std::uint8_t* at(std::span<std::byte> bytes, std::size_t offset) { return reinterpret_cast<std::uint8_t*>(bytes.data() + offset); }

/// Puts items of 2, 4 or 8 bytes together again, a vector of items at a time; returns how many. The vectors are those that every machine of the
/// kind has: memory is slower than they are.
template <std::size_t Size>
std::size_t unshuffleVectors(std::span<const std::byte> from, std::span<std::byte> to)
{
    const hn::ScalableTag<std::uint8_t> bytes;
    const std::size_t items = from.size() / Size, step = hn::Lanes(bytes);
    std::size_t i = 0;
    for (; i + step <= items; i += step) {
        const auto part = [&](std::size_t b) { return hn::LoadU(bytes, at(from, b * items + i)); };
        if constexpr (Size == 2) {
            hn::StoreInterleaved2(part(0), part(1), bytes, at(to, i * Size));
        } else if constexpr (Size == 4) {
            hn::StoreInterleaved4(part(0), part(1), part(2), part(3), bytes, at(to, i * Size));
        } else {
            // Pairs of bytes first, then four pairs to an item.
            const hn::Repartition<std::uint16_t, decltype(bytes)> pairs;
            std::array<std::array<std::uint16_t, HWY_MAX_BYTES>, 4> halves;
            for (std::size_t k = 0; k < 4; ++k)
                hn::StoreInterleaved2(part(2 * k), part(2 * k + 1), bytes, reinterpret_cast<std::uint8_t*>(halves[k].data()));
            for (std::size_t half = 0; half < 2; ++half) {
                const auto quarter = [&](std::size_t k) { return hn::LoadU(pairs, halves[k].data() + half * (step / 2)); };
                auto* out = reinterpret_cast<std::uint16_t*>(at(to, i * Size)) + half * (step / 2) * 4;
                hn::StoreInterleaved4(quarter(0), quarter(1), quarter(2), quarter(3), pairs, out);
            }
        }
    }
    return i;
}

} // namespace

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
    const std::size_t done = itemSize == 2 ? unshuffleVectors<2>(from, to)
        : itemSize == 4                    ? unshuffleVectors<4>(from, to)
        : itemSize == 8                    ? unshuffleVectors<8>(from, to)
                                           : 0;
    for (std::size_t b = 0; b < itemSize; ++b) {
        const std::byte* group = from.data() + b * items;
        for (std::size_t i = done; i < items; ++i)
            to[i * itemSize + b] = group[i];
    }
    std::copy(from.begin() + static_cast<std::ptrdiff_t>(items * itemSize), from.end(),
              to.begin() + static_cast<std::ptrdiff_t>(items * itemSize));
}

} // namespace forkpoint::bundle
