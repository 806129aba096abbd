// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/rows.h"

#include "core/align/position_split.h"
#include "core/align/positions.h"
#include "core/base/permutation.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

namespace forkpoint::align {

namespace {

using bundle::Kind;
using bundle::Phase;
using bundle::TensorRecord;

using Selector = std::function<const std::vector<RowKey>*(const RowKeys&)>;

/// The rows of `cells` one after the other; nullopt if a cell lacks them.
std::optional<std::vector<RowKey>> joined(const std::map<Cell, RowKeys>& keys, const std::vector<Cell>& cells, const Selector& select)
{
    std::vector<RowKey> out;
    for (const auto& cell : cells) {
        const auto found = keys.find(cell);
        const auto* rows = found == keys.end() ? nullptr : select(found->second);
        if (!rows || rows->empty()) {
            return std::nullopt;
        }
        out.insert(out.end(), rows->begin(), rows->end());
    }
    return out;
}

/// The rows that each rank of `cells` holds if all hold the same, else nullopt. nullopt for a single rank.
std::optional<std::vector<RowKey>> replicatedRows(const std::map<Cell, RowKeys>& keys, const std::vector<Cell>& cells, const Selector& select)
{
    std::map<std::size_t, std::vector<Cell>> byRank;
    for (const auto& cell : cells) {
        byRank[cell.rank].push_back(cell);
    }
    if (byRank.size() < 2) {
        return std::nullopt;
    }
    std::optional<std::vector<RowKey>> first;
    for (const auto& [rank, own] : byRank) {
        auto rows = joined(keys, own, select);
        if (!rows || (first && *rows != *first)) {
            return std::nullopt;
        }
        first = std::move(rows);
    }
    return first;
}

/// Ranks that hold the same rows, as RowRelation::sharersA numbers them; empty unless these are several groups of equal size, more than one each.
std::vector<std::size_t> sharingRanks(const std::map<Cell, RowKeys>& keys, const std::vector<Cell>& cells, const Selector& select)
{
    std::map<std::size_t, std::vector<Cell>> byRank;
    for (const auto& cell : cells) {
        byRank[cell.rank].push_back(cell);
    }
    std::map<std::vector<RowKey>, std::size_t> groups;
    std::map<std::size_t, std::size_t> sizes;
    std::vector<std::size_t> out;
    for (const auto& [rank, own] : byRank) {
        auto rows = joined(keys, own, select);
        if (!rows) {
            return {};
        }
        const auto number = groups.try_emplace(std::move(*rows), groups.size()).first->second;
        out.resize(std::max(out.size(), rank + 1), kNoGroup);
        out[rank] = number;
        ++sizes[number];
    }
    const bool even = std::all_of(sizes.begin(), sizes.end(), [&](const auto& s) { return s.second == sizes.begin()->second; });
    return even && sizes.size() > 1 && sizes.begin()->second > 1 ? out : std::vector<std::size_t>();
}

/// The cells of the first rank of each group.
std::vector<Cell> representatives(const std::vector<Cell>& cells, const std::vector<std::size_t>& group)
{
    std::map<std::size_t, std::size_t> first;
    for (const auto& cell : cells) {
        const auto [at, added] = first.try_emplace(group[cell.rank], cell.rank);
        at->second = std::min(at->second, cell.rank);
    }
    std::vector<Cell> out;
    std::copy_if(cells.begin(), cells.end(), std::back_inserter(out), [&](const Cell& cell) { return first.at(group[cell.rank]) == cell.rank; });
    return out;
}

/// Per rank index the number of the group whose rows count once: of ranks that all hold the same (`same`) or do so in groups; else each for itself.
std::vector<std::size_t> groupsOf(const std::vector<Cell>& cells, bool same, const std::vector<std::size_t>& sharers)
{
    if (!same && !sharers.empty()) {
        return sharers;
    }
    std::vector<std::size_t> out;
    for (const auto& cell : cells) {
        while (out.size() <= cell.rank) {
            out.push_back(same ? 0 : out.size());
        }
    }
    return out;
}

/// order with a[i] == b[order[i]], duplicates taken in turn; nullopt if the multisets differ.
std::optional<std::vector<std::int64_t>> matching(const std::vector<RowKey>& a, const std::vector<RowKey>& b)
{
    if (a.size() != b.size()) {
        return std::nullopt;
    }
    std::map<RowKey, std::vector<std::int64_t>> places;
    for (std::size_t i = b.size(); i-- > 0;) {
        places[b[i]].push_back(static_cast<std::int64_t>(i));
    }
    std::vector<std::int64_t> order;
    for (const auto& key : a) {
        const auto found = places.find(key);
        if (found == places.end() || found->second.empty()) {
            return std::nullopt;
        }
        order.push_back(found->second.back());
        found->second.pop_back();
    }
    return order;
}

/// True if the batches of some cells are longer than those of others.
bool haveOtherLengths(const std::map<Cell, RowKeys>& a, const std::vector<Cell>& cellsA, const std::map<Cell, RowKeys>& b,
                      const std::vector<Cell>& cellsB)
{
    std::set<std::int64_t> lengths;
    for (const auto& [keys, cells] : { std::pair(&a, &cellsA), std::pair(&b, &cellsB) }) {
        for (const auto& cell : *cells) {
            const auto found = keys->find(cell);
            lengths.insert(found == keys->end() ? 0 : found->second.positions);
        }
    }
    return lengths.size() > 1;
}

/// The rows of `cells`, taken one after the other, by their numbers.
std::map<Cell, RowKeys> numbered(const std::map<Cell, RowKeys>& keys, const std::vector<Cell>& cells)
{
    std::map<Cell, RowKeys> out;
    std::uint64_t number = 0;
    for (const auto& cell : cells) {
        for (std::int64_t row = 0; row < keys.at(cell).rows; ++row) {
            out[cell].content.push_back({ number++, 0 });
        }
    }
    return out;
}

std::int64_t rowCount(const std::map<Cell, RowKeys>& keys, const std::vector<Cell>& cells)
{
    std::int64_t rows = 0;
    for (const auto& cell : cells) {
        const auto found = keys.find(cell);
        rows += found == keys.end() ? 0 : found->second.rows;
    }
    return rows;
}

/// How the ranks of a side hold its rows: each its own; all the same; in groups that share.
enum class Hold { Own, Same, Groups };
struct Held {
    Hold how;
    std::vector<RowKey> rows;
    std::vector<std::size_t> sharers;
    bool isShared() const { return how != Hold::Own; }
};

const std::vector<RowKey>* contentOf(const RowKeys& keys) { return &keys.content; }

std::vector<Held> waysToHold(const std::map<Cell, RowKeys>& keys, const std::vector<Cell>& cells, const Selector& select, bool byId)
{
    std::vector<Held> out;
    if (auto own = joined(keys, cells, select)) {
        out.push_back({ Hold::Own, std::move(*own), {} });
    }
    // Ranks with the same ids and other content hold parts of these samples, such as some of their positions.
    const bool contentDecides = byId && joined(keys, cells, contentOf);
    if (auto same = replicatedRows(keys, cells, select)) {
        if (!contentDecides || replicatedRows(keys, cells, contentOf)) {
            out.push_back({ Hold::Same, std::move(*same), {} });
        }
    } else if (auto groups = sharingRanks(keys, cells, select);
               !groups.empty() && (!contentDecides || groups == sharingRanks(keys, cells, contentOf))) {
        auto rows = joined(keys, representatives(cells, groups), select);
        out.push_back({ Hold::Groups, rows.value_or(std::vector<RowKey>()), std::move(groups) });
    }
    return out;
}

/// Notes in `relation` the first ways in which both sides hold the same rows; false if there is none.
bool matchRows(RowRelation& relation, std::vector<Held> ofA, std::vector<Held> ofB)
{
    const bool bothShare = std::any_of(ofA.begin(), ofA.end(), std::mem_fn(&Held::isShared)) && std::any_of(ofB.begin(), ofB.end(), std::mem_fn(&Held::isShared));
    for (auto& heldA : ofA) {
        for (auto& heldB : ofB) {
            if (bothShare && !(heldA.isShared() && heldB.isShared())) {
                continue; // rows that the ranks of both sides hold several times are not so many rows
            }
            if (auto order = matching(heldA.rows, heldB.rows)) {
                relation.matched = true;
                relation.replicatedA = heldA.how == Hold::Same;
                relation.replicatedB = heldB.how == Hold::Same;
                relation.sharersA = std::move(heldA.sharers);
                relation.sharersB = std::move(heldB.sharers);
                relation.rowsA = relation.rowsB = static_cast<std::int64_t>(heldA.rows.size());
                if (!isIdentity(*order)) {
                    relation.order = std::move(*order);
                }
                return true;
            }
        }
    }
    return false;
}

/// Looks for ranks of either side that split positions. Where no rows were matched, `match` is given those that their tokens are of.
void findSplit(RowRelation& relation, const std::map<Cell, RowKeys>& a, const std::vector<Cell>& cellsA, const std::map<Cell, RowKeys>& b,
               const std::vector<Cell>& cellsB, const std::function<bool(const std::map<Cell, RowKeys>&, const std::map<Cell, RowKeys>&)>& match)
{
    const auto groupsA = groupsOf(cellsA, relation.replicatedA, relation.sharersA), groupsB = groupsOf(cellsB, relation.replicatedB, relation.sharersB);
    const auto wholeA = joinedTokens(a, cellsA, groupsA), wholeB = joinedTokens(b, cellsB, groupsB);
    for (const bool ofB : { true, false }) {
        const auto split = ofB ? positionSplit(wholeA.keys, representatives(cellsA, groupsA), b, cellsB)
                               : positionSplit(wholeB.keys, representatives(cellsB, groupsB), a, cellsA);
        if (!split) {
            continue;
        }
        if (!relation.matched) {
            if (!(ofB ? match(numbered(a, cellsA), split->rows) : match(split->rows, numbered(b, cellsB)))) {
                continue;
            }
            relation.by = "their tokens";
        }
        relation.splitA = !ofB || wholeA.split;
        relation.splitB = ofB || wholeB.split;
        relation.positionParts = split->parts;
        if (!isIdentity(split->order)) {
            relation.positionOrder = ofB ? split->order : inverseOf(split->order);
        }
        return;
    }
}

} // namespace

RowRelation relateRows(const std::map<Cell, RowKeys>& a, const std::vector<Cell>& cellsA, const std::map<Cell, RowKeys>& b,
                       const std::vector<Cell>& cellsB, bool ofParts)
{
    RowRelation relation;
    relation.rowsA = rowCount(a, cellsA);
    relation.rowsB = rowCount(b, cellsB);

    std::vector<std::pair<std::string, Selector>> notions = { { "content", contentOf },
                                                              { "sample id", [](const RowKeys& k) { return &k.ids; } } };
    if (haveOtherLengths(a, cellsA, b, cellsB)) {
        notions.insert(notions.begin() + 1, { "content without padding", [](const RowKeys& k) { return &k.unpadded; } });
    }
    for (std::size_t slot = 0; slot < 8; ++slot) { // inputs alone, labels alone: one of them may have been changed by the run
        notions.emplace_back(fmt::format("batch tensor {}", slot),
                             [slot](const RowKeys& k) { return slot < k.bySlot.size() ? &k.bySlot[slot] : nullptr; });
    }
    const auto match = [&](const std::map<Cell, RowKeys>& rowsA, const std::map<Cell, RowKeys>& rowsB, const Selector& select, bool byId) {
        return matchRows(relation, waysToHold(rowsA, cellsA, select, byId), waysToHold(rowsB, cellsB, select, byId));
    };
    for (const auto& [by, select] : notions) {
        if (match(a, b, select, by == "sample id")) {
            relation.by = by;
            relation.positions = commonPositions(a, representatives(cellsA, groupsOf(cellsA, relation.replicatedA, relation.sharersA)), b,
                                                 representatives(cellsB, groupsOf(cellsB, relation.replicatedB, relation.sharersB)), relation.order);
            break;
        }
    }
    if (relation.positions.length == 0 && (relation.matched || ofParts)) {
        findSplit(relation, a, cellsA, b, cellsB, [&](const auto& rowsA, const auto& rowsB) { return match(rowsA, rowsB, contentOf, false); });
    }
    relation.tokensDiffer = relation.matched && !relation.splitA && !relation.splitB && !haveSameTokens(a, cellsA, b, cellsB);
    if (relation.matched) {
        return relation;
    }
    // Not the same rows. Whether a side's ranks share their rows still decides how its tensors are put together.
    const auto ownA = replicatedRows(a, cellsA, contentOf), ownB = replicatedRows(b, cellsB, contentOf);
    const auto onlyOneRank = [](const std::vector<Cell>& cells) {
        return std::all_of(cells.begin(), cells.end(), [&](const Cell& c) { return c.rank == cells.front().rank; });
    };
    if (ownB && onlyOneRank(cellsA) && std::ssize(*ownB) == relation.rowsA) {
        relation.replicatedB = true;
        relation.rowsB = std::ssize(*ownB);
    }
    if (ownA && onlyOneRank(cellsB) && std::ssize(*ownA) == relation.rowsB) {
        relation.replicatedA = true;
        relation.rowsA = std::ssize(*ownA);
    }
    return relation;
}

} // namespace forkpoint::align
