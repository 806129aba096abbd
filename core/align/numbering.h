// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace forkpoint::align {

/// Well mixed bits of several numbers.
inline std::uint64_t mixed(std::uint64_t x)
{
    x = (x ^ (x >> 32)) * 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9ull;
    return x ^ (x >> 32);
}

/// Numbers distinct keys from 0 in the order in which they come. Ranks, steps and sides repeat each other in order, so the first guess is the key
/// after the one that came last: it lies in the cache, and a table of millions does not. One table of numbers beside the keys, because there are millions of them: a node
/// each, as std::unordered_map has, costs more than the keys. `Hash` must fill all of its 64 bits.
template <class Key, class Hash> class Numbering {
public:
    /// The number of `key`, and whether it is new.
    std::pair<std::uint32_t, bool> add(const Key& key)
    {
        if (m_next < m_keys.size() && m_keys[m_next] == key) {
            return { m_next++, false };
        }
        if (2 * (m_keys.size() + 1) > m_slots.size()) {
            grow(m_keys.size() + 1);
        }
        const std::uint64_t hash = Hash()(key);
        Slot& slot = m_slots[place(key, hash)];
        if (slot.number != kFree) {
            m_next = slot.number + 1;
            return { slot.number, false };
        }
        m_next = static_cast<std::uint32_t>(m_keys.size() + 1);
        slot = { static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(m_keys.size()) };
        m_keys.push_back(key);
        return { slot.number, true };
    }

    std::optional<std::uint32_t> find(const Key& key) const
    {
        const auto number = m_keys.empty() ? kFree : m_slots[place(key, Hash()(key))].number;
        return number == kFree ? std::nullopt : std::optional(number);
    }

    const std::vector<Key>& keys() const& { return m_keys; } ///< by number
    std::vector<Key> keys() && { return std::move(m_keys); }
    std::size_t size() const { return m_keys.size(); }

    void reserve(std::size_t keys)
    {
        m_keys.reserve(keys);
        if (2 * keys > m_slots.size()) {
            grow(keys);
        }
    }

private:
    static constexpr std::uint32_t kFree = ~std::uint32_t { 0 };
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t number = kFree;
    };

    /// Where the key is, or would be.
    std::size_t place(const Key& key, std::uint64_t hash) const
    {
        for (std::size_t i = hash & (m_slots.size() - 1);; i = (i + 1) & (m_slots.size() - 1)) {
            const Slot& slot = m_slots[i];
            if (slot.number == kFree || (slot.hash == static_cast<std::uint32_t>(hash >> 32) && m_keys[slot.number] == key)) {
                return i;
            }
        }
    }

    void grow(std::size_t keys)
    {
        m_slots.assign(std::bit_ceil(std::max<std::size_t>(16, 4 * keys)), {});
        for (std::size_t number = 0; number < m_keys.size(); ++number) {
            const std::uint64_t hash = Hash()(m_keys[number]);
            std::size_t i = hash & (m_slots.size() - 1);
            while (m_slots[i].number != kFree) {
                i = (i + 1) & (m_slots.size() - 1);
            }
            m_slots[i] = { static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(number) };
        }
    }

    std::vector<Key> m_keys;
    std::uint32_t m_next = 0;  ///< the number after the one that add() gave last
    std::vector<Slot> m_slots; ///< a power of two, at most half of them taken
};

} // namespace forkpoint::align
