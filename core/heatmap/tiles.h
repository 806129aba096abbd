// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/slice.h"

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

// What was computed of the levels that are not stored, for as long as there is room.
namespace forkpoint::heatmap {

/// Cells of one level in one plane, row by row.
template <class Real>
struct Tile {
    CellRect rect;
    std::vector<Real> values; ///< one per cell: of larger magnitude, 0 if none is finite; empty for kPlaneClass
    std::vector<std::uint16_t> flags;

    std::size_t bytes() const { return sizeof *this + values.size() * sizeof(Real) + flags.size() * sizeof(std::uint16_t); }
};

struct TileKey {
    unsigned plane = 0;
    int level = 0;
    std::int64_t row = 0, column = 0; ///< in tiles
    bool operator==(const TileKey&) const = default;
};

/// Forgets what was not asked for the longest when it grows beyond its budget. Safe to use from many threads; a tile that is in use stays
/// valid when forgotten.
template <class Real>
class TileCache {
public:
    using TilePtr = std::shared_ptr<const Tile<Real>>;

    explicit TileCache(std::size_t budget)
        : m_budget(budget)
    {
    }

    TilePtr find(const TileKey& key)
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_places.find(key);
        if (found == m_places.end())
            return nullptr;
        m_entries.splice(m_entries.begin(), m_entries, found->second);
        return found->second->tile;
    }

    void insert(const TileKey& key, TilePtr tile)
    {
        const std::lock_guard lock(m_mutex);
        if (m_places.contains(key)) // another thread was faster; both are the same
            return;
        m_bytes += tile->bytes();
        m_entries.push_front({key, std::move(tile)});
        m_places.emplace(key, m_entries.begin());
        while (m_bytes > m_budget) {
            m_bytes -= m_entries.back().tile->bytes();
            m_places.erase(m_entries.back().key);
            m_entries.pop_back();
        }
    }

    std::size_t bytes() const
    {
        const std::lock_guard lock(m_mutex);
        return m_bytes;
    }

private:
    struct Entry {
        TileKey key;
        TilePtr tile;
    };
    struct Hash {
        std::size_t operator()(const TileKey& key) const
        {
            std::uint64_t hash = key.plane;
            for (const std::uint64_t part : {static_cast<std::uint64_t>(key.level), static_cast<std::uint64_t>(key.row),
                                             static_cast<std::uint64_t>(key.column)})
                hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
            return static_cast<std::size_t>(hash ^ hash >> 32);
        }
    };

    mutable std::mutex m_mutex;
    std::size_t m_budget;
    std::size_t m_bytes = 0;
    std::list<Entry> m_entries; ///< the last used first
    std::unordered_map<TileKey, typename std::list<Entry>::iterator, Hash> m_places;
};

} // namespace forkpoint::heatmap
