// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/position_split.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <unordered_set>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forkpoint::align {

namespace {

using Tokens = std::span<const std::int64_t>;

/// Rows of several cells, one after the other.
struct Rows {
    std::int64_t positions = 0;
    std::vector<Tokens> rows;
};

const TokenMatrix* find(const RowKeys& keys, const std::string& name)
{
    const auto found = std::find_if(keys.tokens.begin(), keys.tokens.end(), [&](const TokenMatrix& m) { return m.name == name; });
    return found == keys.tokens.end() ? nullptr : &*found;
}

/// The rows of this matrix in all `cells`; none if a cell lacks it, or has other positions.
Rows rowsOf(const std::map<Cell, RowKeys>& keys, const std::vector<Cell>& cells, const std::string& name)
{
    Rows out;
    for (const auto& cell : cells) {
        const auto own = keys.find(cell);
        const auto* matrix = own == keys.end() ? nullptr : find(own->second, name);
        if (!matrix || (out.positions != 0 && matrix->positions != out.positions)) {
            return {};
        }
        out.positions = matrix->positions;
        const Tokens all = matrix->values;
        for (std::size_t at = 0; at < all.size(); at += static_cast<std::size_t>(out.positions)) {
            out.rows.push_back(all.subspan(at, static_cast<std::size_t>(out.positions)));
        }
    }
    return out;
}

std::uint64_t hashOf(Tokens tokens) { return XXH3_64bits(tokens.data(), tokens.size_bytes()); }

bool tellsRowsApart(const Rows& whole)
{
    std::set<std::uint64_t> seen;
    return std::all_of(whole.rows.begin(), whole.rows.end(), [&](Tokens row) { return seen.insert(hashOf(row)).second; });
}

/// Where the rows of one rank lie in the whole.
struct Found {
    std::vector<std::size_t> rows;   ///< per row of the rank
    std::vector<std::size_t> places; ///< per run of its positions
};

/// The rows of the whole cut into runs of positions, to find parts in.
class Runs {
public:
    Runs(const Rows& whole, std::size_t length)
        : m_length(length)
        , m_places(static_cast<std::size_t>(whole.positions) / length)
    {
        for (const auto& row : whole.rows) {
            auto& own = m_rows.emplace_back(hashesOf(row));
            for (std::size_t place = 0; place < m_places.size(); ++place) {
                m_places[place].insert(own[place]);
            }
            m_tellPlaces = m_tellPlaces || std::set<std::uint64_t>(own.begin(), own.end()).size() == own.size();
        }
    }

    std::size_t length() const { return m_length; }
    std::size_t places() const { return m_places.size(); }
    bool tellPlaces() const { return m_tellPlaces; } ///< in some row no run is there twice: it is no mask

    std::optional<Found> find(const Rows& part)
    {
        std::vector<std::vector<std::uint64_t>> rows;
        std::transform(part.rows.begin(), part.rows.end(), std::back_inserter(rows), [this](Tokens row) { return hashesOf(row); });
        Found out;
        for (std::size_t run = 0; run < static_cast<std::size_t>(part.positions) / m_length; ++run) {
            std::vector<std::size_t> possible; // where each of the rows may be
            for (std::size_t place = 0; place < places() && possible.size() < 2; ++place) {
                if (std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return m_places[place].contains(row[run]); })) {
                    possible.push_back(place);
                }
            }
            if (possible.size() != 1) {
                return std::nullopt; // it is nowhere, or as padding in several places
            }
            out.places.push_back(possible.front());
        }
        const auto& byRuns = rowsByRuns(out.places);
        std::map<const std::vector<std::size_t>*, std::size_t> taken; // rows that are alike are taken in turn
        for (const auto& row : rows) {
            const auto found = byRuns.find(row);
            if (found == byRuns.end() || taken[&found->second] == found->second.size()) {
                return std::nullopt;
            }
            out.rows.push_back(found->second[taken[&found->second]++]);
        }
        return out;
    }

private:
    using RowsByRuns = std::map<std::vector<std::uint64_t>, std::vector<std::size_t>>;

    /// The rows of the whole by what they have at these places.
    const RowsByRuns& rowsByRuns(const std::vector<std::size_t>& places)
    {
        const auto [at, added] = m_byRuns.try_emplace(places);
        for (std::size_t row = 0; row < m_rows.size() && added; ++row) {
            std::vector<std::uint64_t> there;
            std::transform(places.begin(), places.end(), std::back_inserter(there), [&](std::size_t place) { return m_rows[row][place]; });
            at->second[std::move(there)].push_back(row);
        }
        return at->second;
    }

    std::vector<std::uint64_t> hashesOf(Tokens row) const
    {
        std::vector<std::uint64_t> out;
        for (std::size_t at = 0; at + m_length <= row.size(); at += m_length) {
            out.push_back(hashOf(row.subspan(at, m_length)));
        }
        return out;
    }

    std::size_t m_length;
    bool m_tellPlaces = false;
    std::vector<std::vector<std::uint64_t>> m_rows;            ///< [row][place]
    std::vector<std::unordered_set<std::uint64_t>> m_places;   ///< [place]
    std::map<std::vector<std::size_t>, RowsByRuns> m_byRuns;   ///< by places
};

/// The order of positions, from the places of the parts in rank order; nullopt unless these are every place once.
std::optional<std::vector<std::int64_t>> orderOf(const std::vector<std::vector<std::size_t>>& parts, std::size_t places, std::size_t length)
{
    std::vector<std::int64_t> order(places * length, -1);
    std::int64_t next = 0;
    for (const auto& part : parts) {
        for (const auto place : part) {
            for (std::size_t i = 0; i < length; ++i) {
                auto& at = order[place * length + i];
                if (at != -1) {
                    return std::nullopt;
                }
                at = next++;
            }
        }
    }
    return static_cast<std::size_t>(next) == order.size() ? std::optional(std::move(order)) : std::nullopt;
}

std::optional<PositionSplit> splitOf(const Rows& whole, const std::map<Cell, RowKeys>& parts, const std::map<std::size_t, std::vector<Cell>>& byRank,
                                     const std::string& name, std::size_t length)
{
    Runs runs(whole, length);
    if (!runs.tellPlaces()) {
        return std::nullopt;
    }
    PositionSplit out;
    std::map<std::vector<std::size_t>, std::size_t> numbers; // of parts, by their places
    std::map<std::vector<std::size_t>, std::vector<std::vector<std::size_t>>> groups; // by the rows that ranks hold: their places, each once
    for (const auto& [rank, cells] : byRank) {
        const auto part = rowsOf(parts, cells, name);
        const auto own = part.positions > 0 && part.positions % static_cast<std::int64_t>(length) == 0 ? runs.find(part) : std::nullopt;
        if (!own) {
            return std::nullopt;
        }
        const auto number = numbers.try_emplace(own->places, numbers.size()).first->second;
        out.parts.resize(std::max(out.parts.size(), rank + 1), 0);
        out.parts[rank] = number;
        auto& places = groups[own->rows];
        if (std::find(places.begin(), places.end(), own->places) == places.end()) {
            places.push_back(own->places);
        }
        std::size_t row = 0;
        for (const auto& cell : cells) {
            for (std::int64_t i = 0; i < parts.at(cell).rows; ++i) {
                out.rows[cell].content.push_back({ own->rows[row++], 0 });
            }
        }
    }
    for (const auto& [rows, places] : groups) {
        auto order = orderOf(places, runs.places(), length);
        if (!order || (!out.order.empty() && out.order != *order)) {
            return std::nullopt;
        }
        out.order = std::move(*order);
    }
    return out;
}

/// Matrices of as many rows, the columns of one after those of another.
TokenMatrix sideBySide(const std::vector<const TokenMatrix*>& parts, std::int64_t rows)
{
    if (parts.size() == 1) {
        return *parts.front();
    }
    TokenMatrix out;
    for (const auto* part : parts) {
        out.name = part->name;
        out.positions += part->positions;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        for (const auto* part : parts) {
            const auto begin = part->values.begin() + static_cast<std::ptrdiff_t>(row * part->positions);
            out.values.insert(out.values.end(), begin, begin + static_cast<std::ptrdiff_t>(part->positions));
        }
    }
    return out;
}

/// How long the runs may be that `part` is cut into: the whole part, then 1/2, 1/4 and 1/8 of it. Single tokens repeat too much to know them by.
std::vector<std::size_t> runLengths(std::int64_t part, std::int64_t whole)
{
    std::vector<std::size_t> out;
    for (std::int64_t runs = 1; runs <= 8; runs *= 2) {
        const std::int64_t length = part / runs;
        if (part % runs == 0 && whole % length == 0 && (length > 1 || runs == 1)) {
            out.push_back(static_cast<std::size_t>(length));
        }
    }
    return out;
}

} // namespace

std::optional<PositionSplit> positionSplit(const std::map<Cell, RowKeys>& whole, const std::vector<Cell>& wholeCells,
                                           const std::map<Cell, RowKeys>& parts, const std::vector<Cell>& partCells)
{
    std::map<std::size_t, std::vector<Cell>> byRank;
    for (const auto& cell : partCells) {
        byRank[cell.rank].push_back(cell);
    }
    const auto first = wholeCells.empty() ? whole.end() : whole.find(wholeCells.front());
    if (byRank.size() < 2 || first == whole.end()) {
        return std::nullopt;
    }
    for (const auto& matrix : first->second.tokens) {
        const auto rows = rowsOf(whole, wholeCells, matrix.name), part = rowsOf(parts, byRank.begin()->second, matrix.name);
        if (rows.positions == 0 || part.positions == 0 || part.positions >= rows.positions || !tellsRowsApart(rows)) {
            continue;
        }
        for (const auto length : runLengths(part.positions, rows.positions)) {
            if (auto split = splitOf(rows, parts, byRank, matrix.name, length)) {
                return split;
            }
        }
    }
    return std::nullopt;
}

JoinedTokens joinedTokens(const std::map<Cell, RowKeys>& keys, const std::vector<Cell>& cells, const std::vector<std::size_t>& groups)
{
    JoinedTokens out;
    std::map<std::pair<std::size_t, std::int32_t>, std::vector<Cell>> shared; // by group and micro-step, ranks ascending
    for (const auto& cell : cells) {
        if (keys.contains(cell)) {
            shared[{ groups[cell.rank], cell.micro }].push_back(cell);
        }
    }
    for (const auto& [group, members] : shared) {
        const auto& first = keys.at(members.front());
        auto& own = out.keys[members.front()];
        own.rows = first.rows;
        auto matrices = first.tokens; // a module that was given fewer positions than another says where the model split them
        std::stable_sort(matrices.begin(), matrices.end(), [](const auto& x, const auto& y) { return x.positions < y.positions; });
        for (const auto& matrix : matrices) {
            std::vector<const TokenMatrix*> parts; // each once: ranks of tensor parallelism hold the same
            for (const auto& member : members) {
                const auto* part = find(keys.at(member), matrix.name);
                const bool fits = part && part->values.size() / static_cast<std::size_t>(part->positions) == static_cast<std::size_t>(own.rows);
                if (fits && std::none_of(parts.begin(), parts.end(), [&](const TokenMatrix* p) { return p->values == part->values; })) {
                    parts.push_back(part);
                }
            }
            out.split = out.split || parts.size() > 1;
            own.tokens.push_back(sideBySide(parts, own.rows));
        }
    }
    return out;
}

bool haveSameTokens(const std::map<Cell, RowKeys>& a, const std::vector<Cell>& cellsA, const std::map<Cell, RowKeys>& b, const std::vector<Cell>& cellsB)
{
    const auto first = cellsA.empty() ? a.end() : a.find(cellsA.front());
    if (first == a.end()) {
        return true;
    }
    const auto hashes = [](const Rows& rows) {
        std::multiset<std::uint64_t> out;
        std::transform(rows.rows.begin(), rows.rows.end(), std::inserter(out, out.end()), hashOf);
        return out;
    };
    return std::all_of(first->second.tokens.begin(), first->second.tokens.end(), [&](const TokenMatrix& matrix) {
        const auto ofA = rowsOf(a, cellsA, matrix.name), ofB = rowsOf(b, cellsB, matrix.name);
        return ofA.positions != ofB.positions || ofA.rows.size() != ofB.rows.size() || hashes(ofA) == hashes(ofB);
    });
}

} // namespace forkpoint::align
