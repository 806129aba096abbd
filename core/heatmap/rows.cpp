// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/rows.h"

#include <algorithm>

namespace forkpoint::heatmap {
namespace {

// Cells of a tile along memory and across it: reading a few long rows costs less than reading many short ones.
constexpr std::int64_t kTileAlong = 1024;
constexpr std::int64_t kTileAcross = 64;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

struct TileSize {
    std::int64_t rows = kTileAcross, columns = kTileAlong;
};

TileSize tileSize(const Slice& slice)
{
    return slice.transposed() ? TileSize{kTileAlong, kTileAcross} : TileSize{};
}

CellRect rectOfTile(std::int64_t row, std::int64_t column, TileSize size, const LevelShape& level)
{
    CellRect rect{row * size.rows, column * size.columns, 0, 0};
    rect.rows = std::min(size.rows, level.rows - rect.row);
    rect.columns = std::min(size.columns, level.columns - rect.column);
    return rect;
}

/// The one value that stands for a cell whose values lie between these; 0 if there is none.
template <class Real>
void pickLarger(const Real* low, const Real* high, std::int64_t n, Real* to)
{
    constexpr std::int64_t kAtOnce = 64;
    const auto pick = [](Real least, Real most) { return least > most ? Real{0} : largerMagnitude(least, most); };
    std::int64_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce) {
        for (std::int64_t j = 0; j < kAtOnce; ++j)
            to[i + j] = pick(low[i + j], high[i + j]);
    }
    for (; i < n; ++i)
        to[i] = pick(low[i], high[i]);
}

/// The stored cells of part of a row, in place or through `scratch` from `at` on.
template <class Real>
RowValues<Real> storedRow(const CellPlanes<Real>& planes, unsigned plane, std::int64_t row, std::int64_t column, std::int64_t n,
                          std::vector<Real>& scratch)
{
    const CellPlanes<Real> at = planes.at(row, column);
    switch (plane) {
    case kPlaneA:
    case kPlaneB:
        scratch.resize(static_cast<std::size_t>(n));
        pickLarger(plane == kPlaneA ? at.minA : at.minB, plane == kPlaneA ? at.maxA : at.maxB, n, scratch.data());
        return {scratch.data(), at.flags};
    case kPlaneDifference:
        return {at.difference, at.flags};
    case kPlaneRelative:
        return {at.relative, at.flags};
    case kPlaneUlp:
        return {at.ulp, at.flags};
    default:
        return {nullptr, at.flags};
    }
}

/// Missing tiles next to each other, computed together.
template <class Real>
struct Run {
    CellRect rect;
    std::vector<Real> low, high; ///< planes A and B; the others use `high` only
    std::vector<std::uint16_t> flags;

    explicit Run(const CellRect& cells, unsigned plane)
        : rect(cells)
        , flags(static_cast<std::size_t>(cells.cells()))
    {
        if (plane == kPlaneA || plane == kPlaneB)
            low.resize(flags.size());
        if (plane != kPlaneClass)
            high.resize(flags.size());
    }

    CellPlanes<Real> planes(unsigned plane)
    {
        CellPlanes<Real> result;
        result.flags = flags.data();
        result.stride = rect.columns;
        switch (plane) {
        case kPlaneA:
            result.minA = low.data();
            result.maxA = high.data();
            break;
        case kPlaneB:
            result.minB = low.data();
            result.maxB = high.data();
            break;
        case kPlaneDifference:
            result.difference = high.data();
            break;
        case kPlaneRelative:
            result.relative = high.data();
            break;
        case kPlaneUlp:
            result.ulp = high.data();
            break;
        default:
            break;
        }
        return result;
    }

    std::shared_ptr<const Tile<Real>> tile(const CellRect& cells) const
    {
        auto result = std::make_shared<Tile<Real>>();
        result->rect = cells;
        result->flags.resize(static_cast<std::size_t>(cells.cells()));
        if (!high.empty())
            result->values.resize(result->flags.size());
        for (std::int64_t row = 0; row < cells.rows; ++row) {
            const auto from = (cells.row - rect.row + row) * rect.columns + cells.column - rect.column;
            const auto to = row * cells.columns;
            std::copy_n(flags.data() + from, cells.columns, result->flags.data() + to);
            if (!low.empty())
                pickLarger(low.data() + from, high.data() + from, cells.columns, result->values.data() + to);
            else if (!high.empty())
                std::copy_n(high.data() + from, cells.columns, result->values.data() + to);
        }
        return result;
    }
};

} // namespace

CellRect elementsUnder(const LevelShape& level, const CellRect& rect, const Slice& slice)
{
    CellRect under{rect.row << level.rowShift, rect.column << level.columnShift, 0, 0};
    under.rows = std::min(slice.rows(), (rect.row + rect.rows) << level.rowShift) - under.row;
    under.columns = std::min(slice.columns(), (rect.column + rect.columns) << level.columnShift) - under.column;
    return under;
}

Result<RowReader> RowReader::prepare(const Pyramid& pyramid, int level, const CellRect& rect, Mode mode, Reads reads,
                                         const std::stop_token& stop)
{
    RowReader rows;
    rows.m_data = &pyramid.data();
    rows.m_level = level;
    rows.m_rect = rect;
    rows.m_plane = planeOf(mode);
    if (level >= rows.m_data->firstStored || rect.cells() == 0)
        return rows;
    const Result<void> found = std::visit([&](const auto& store) { return rows.findTiles(store, reads, stop); }, rows.m_data->store);
    if (!found)
        return tl::unexpected<Error>(found.error());
    return rows;
}

template <class Real>
Result<void> RowReader::findTiles(const CellStore<Real>& store, Reads reads, const std::stop_token& stop)
{
    const TileSize size = tileSize(m_data->pair.slice());
    m_tileRect = {m_rect.row / size.rows, m_rect.column / size.columns, 0, 0};
    m_tileRect.rows = (m_rect.row + m_rect.rows - 1) / size.rows + 1 - m_tileRect.row;
    m_tileRect.columns = (m_rect.column + m_rect.columns - 1) / size.columns + 1 - m_tileRect.column;
    Tiles<Real> found(static_cast<std::size_t>(m_tileRect.cells()));
    bool all = true;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto place = static_cast<std::int64_t>(i);
        found[i] = store.tiles->find({m_plane, m_level, m_tileRect.row + place / m_tileRect.columns, m_tileRect.column + place % m_tileRect.columns});
        all = all && found[i] != nullptr;
    }
    if (!all && reads == Reads::Allowed) {
        if (Result<void> done = computeTiles(store, found, stop); !done)
            return done;
        all = true;
    }
    m_complete = all;
    m_tiles = std::move(found);
    return {};
}

template <class Real>
Result<void> RowReader::computeTiles(const CellStore<Real>& store, Tiles<Real>& tiles, const std::stop_token& stop) const
{
    const Slice& slice = m_data->pair.slice();
    const LevelShape& shape = m_data->shape(m_level);
    const TileSize size = tileSize(slice);
    const bool alongColumns = slice.transposed();
    const std::int64_t across = alongColumns ? m_tileRect.columns : m_tileRect.rows;
    const std::int64_t along = alongColumns ? m_tileRect.rows : m_tileRect.columns;
    const auto placeOf = [&](std::int64_t line, std::int64_t i) {
        return static_cast<std::size_t>(alongColumns ? i * m_tileRect.columns + line : line * m_tileRect.columns + i);
    };
    const auto rectOf = [&](std::size_t place) {
        const auto i = static_cast<std::int64_t>(place);
        return rectOfTile(m_tileRect.row + i / m_tileRect.columns, m_tileRect.column + i % m_tileRect.columns, size, shape);
    };

    std::vector<Run<Real>> runs;
    std::vector<std::size_t> runOfTile(tiles.size());
    for (std::int64_t line = 0; line < across; ++line) {
        for (std::int64_t i = 0; i < along; ++i) {
            if (tiles[placeOf(line, i)] != nullptr)
                continue;
            CellRect rect = rectOf(placeOf(line, i));
            runOfTile[placeOf(line, i)] = runs.size();
            for (; i + 1 < along && tiles[placeOf(line, i + 1)] == nullptr; ++i) {
                const CellRect next = rectOf(placeOf(line, i + 1));
                runOfTile[placeOf(line, i + 1)] = runs.size();
                rect.rows = next.row + next.rows - rect.row;
                rect.columns = next.column + next.columns - rect.column;
            }
            runs.emplace_back(rect, m_plane);
        }
    }

    struct Piece {
        std::size_t run;
        CellRect elements;
    };
    std::vector<Piece> pieces;
    for (std::size_t run = 0; run < runs.size(); ++run) {
        for (const CellRect& elements : m_data->pair.blocks(elementsUnder(shape, runs[run].rect, slice), std::int64_t{1} << shape.rowShift,
                                                            std::int64_t{1} << shape.columnShift, kBlockBytes))
            pieces.push_back({run, elements});
    }
    const auto work = [&](std::size_t index, SliceBuffers& buffers) -> Result<void> {
        const Piece& piece = pieces[index];
        Run<Real>& run = runs[piece.run];
        const auto block = m_data->pair.read(piece.elements, sidesOf(m_plane), buffers);
        if (!block)
            return tl::unexpected<Error>(block.error());
        Counts unused;
        poolBlock<Real>(*block, slice, m_plane, shape.rowShift, shape.columnShift, m_data->tolerance(),
                        run.planes(m_plane).at((piece.elements.row >> shape.rowShift) - run.rect.row,
                                               (piece.elements.column >> shape.columnShift) - run.rect.column),
                        unused, bestInstructions());
        return {};
    };
    if (Result<void> done = forEachBlock(pieces.size(), m_data->options.threads, stop, work); !done)
        return done;

    for (std::size_t place = 0; place < tiles.size(); ++place) {
        if (tiles[place] != nullptr)
            continue;
        const CellRect rect = rectOf(place);
        tiles[place] = runs[runOfTile[place]].tile(rect);
        store.tiles->insert({m_plane, m_level, rect.row / size.rows, rect.column / size.columns}, tiles[place]);
    }
    return {};
}

template <class Real>
RowValues<Real> RowReader::row(std::int64_t row, RowScratch<Real>& scratch) const
{
    const auto& store = std::get<CellStore<Real>>(m_data->store);
    if (m_level >= m_data->firstStored)
        return storedRow(store.levels[static_cast<std::size_t>(m_level)], m_plane, row, m_rect.column, m_rect.columns, scratch.values);

    const TileSize size = tileSize(m_data->pair.slice());
    const Tiles<Real>& all = tiles<Real>();
    scratch.flags.resize(static_cast<std::size_t>(m_rect.columns));
    if (m_plane != kPlaneClass)
        scratch.values.resize(scratch.flags.size());
    const std::int64_t end = m_rect.column + m_rect.columns;
    for (std::int64_t column = m_rect.column, next = 0; column < end; column = next) {
        next = std::min((column / size.columns + 1) * size.columns, end);
        const std::int64_t n = next - column;
        std::uint16_t* flags = scratch.flags.data() + (column - m_rect.column);
        Real* values = scratch.values.data() + (column - m_rect.column);
        const auto place = static_cast<std::size_t>((row / size.rows - m_tileRect.row) * m_tileRect.columns + column / size.columns - m_tileRect.column);
        if (const Tile<Real>* tile = all[place].get()) {
            const std::int64_t from = (row - tile->rect.row) * tile->rect.columns + column - tile->rect.column;
            if (n == m_rect.columns) // all in one tile
                return {m_plane == kPlaneClass ? nullptr : tile->values.data() + from, tile->flags.data() + from};
            std::copy_n(tile->flags.data() + from, n, flags);
            if (m_plane != kPlaneClass)
                std::copy_n(tile->values.data() + from, n, values);
            continue;
        }
        // From the first stored level, each of its cells standing for all that it was made from.
        const LevelShape& here = m_data->shape(m_level);
        const LevelShape& coarse = m_data->shape(m_data->firstStored);
        const int shift = coarse.columnShift - here.columnShift;
        const std::int64_t first = column >> shift;
        std::vector<Real> picked;
        const RowValues<Real> from = storedRow(store.levels[static_cast<std::size_t>(m_data->firstStored)], m_plane,
                                               row >> (coarse.rowShift - here.rowShift), first, ((next - 1) >> shift) - first + 1, picked);
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t at = ((column + i) >> shift) - first;
            flags[i] = from.flags[at];
            if (m_plane != kPlaneClass)
                values[i] = from.values[at];
        }
    }
    return {m_plane == kPlaneClass ? nullptr : scratch.values.data(), scratch.flags.data()};
}

template RowValues<float> RowReader::row(std::int64_t, RowScratch<float>&) const;
template RowValues<double> RowReader::row(std::int64_t, RowScratch<double>&) const;

} // namespace forkpoint::heatmap
