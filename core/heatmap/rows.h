// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/data.h"

#include <memory>
#include <vector>

// A rectangle of one level in one mode, made ready to be walked row by row: stored levels lie in memory already, of the others the tiles are
// found or computed. What draws and what copies regions goes through here.
namespace forkpoint::heatmap {

/// One row of cells. `values` are of larger magnitude with their sign, 0 where nothing is finite; null in mode OverTolerance, where flags say all.
template <class Real>
struct RowValues {
    const Real* values = nullptr;
    const std::uint16_t* flags = nullptr;
};

/// Where a row is put together if it does not lie in one piece.
template <class Real>
struct RowScratch {
    std::vector<Real> values;
    std::vector<std::uint16_t> flags;
};

class RowReader {
public:
    /// The rectangle must lie on the level, and the pyramid must outlive the result.
    static Result<RowReader> prepare(const Pyramid& pyramid, int level, const CellRect& rect, Mode mode, Reads reads,
                                       const std::stop_token& stop);

    bool complete() const { return m_complete; }
    const Pyramid::Data& data() const { return *m_data; }

    /// A row within the rectangle, all of its columns. Real: double if the pyramid is wide, else float. Valid until the scratch is used again.
    template <class Real>
    RowValues<Real> row(std::int64_t row, RowScratch<Real>& scratch) const;

private:
    template <class Real>
    using Tiles = std::vector<std::shared_ptr<const Tile<Real>>>;

    RowReader() = default;
    template <class Real>
    Result<void> findTiles(const CellStore<Real>& store, Reads reads, const std::stop_token& stop);
    template <class Real>
    Result<void> computeTiles(const CellStore<Real>& store, Tiles<Real>& tiles, const std::stop_token& stop) const;
    template <class Real>
    const Tiles<Real>& tiles() const { return std::get<Tiles<Real>>(m_tiles); }

    const Pyramid::Data* m_data = nullptr;
    int m_level = 0;
    CellRect m_rect;
    unsigned m_plane = 0;
    bool m_complete = true;
    CellRect m_tileRect; ///< in tiles: those that the rectangle touches
    std::variant<Tiles<float>, Tiles<double>> m_tiles; ///< of these, row by row; null where there is none
};

} // namespace forkpoint::heatmap
