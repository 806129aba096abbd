// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/rows.h"

#include "core/align/names.h"
#include "core/align/position_split.h"
#include "core/align/positions.h"
#include "core/base/permutation.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forkpoint::align {

namespace {

using bundle::Kind;
using bundle::Phase;
using bundle::TensorRecord;

RowKey hashOf(std::span<const std::byte> bytes, RowKey seed)
{
    const auto h = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed[0] ^ (seed[1] * 0x9E3779B97F4A7C15ull));
    return { h.low64, h.high64 };
}

constexpr std::size_t kMostMatrices = 8; ///< of tokens, in a cell

/// The tensors that say which samples a cell holds, and where in them its positions are.
struct CellTensors {
    std::vector<const TensorRecord*> batch;
    std::vector<const TensorRecord*> tokens;
};

bool mayBeTokens(const TensorRecord& record)
{
    return record.shape.size() == 2 && (record.dtype == DType::Int64 || record.dtype == DType::Int32);
}

std::map<Cell, CellTensors> sampleTensors(const Side& side, const StepRecords& records)
{
    std::map<Cell, std::vector<const TensorRecord*>> batches, inputs, tokens;
    for (std::size_t r = 0; r < side.ranks.size(); ++r) {
        for (const auto number : records[r]) {
            const auto& record = side.ranks[r]->tensors[number];
            if (record.recompute || record.level != bundle::Level::Module) {
                continue;
            }
            const Cell cell { r, record.micro };
            const bool isBatch = record.phase == Phase::Data && record.kind == Kind::Batch;
            const bool isInput = record.phase == Phase::Forward && record.kind == Kind::Input && record.call == 0;
            if (isBatch) {
                batches[cell].push_back(&record);
            } else if (isInput && isRoot(record.module)) {
                inputs[cell].push_back(&record);
            }
            if ((isBatch || isInput) && mayBeTokens(record)) {
                tokens[cell].push_back(&record);
            }
        }
    }
    std::map<Cell, CellTensors> out;
    for (auto& [cell, tensors] : batches.empty() ? inputs : batches) {
        out[cell] = { std::move(tensors), std::move(tokens[cell]) };
    }
    return out;
}

TokenMatrix matrixOf(const TensorRecord& record, std::span<const std::byte> bytes)
{
    TokenMatrix out { fmt::format("{}/{}/{}", name(record.phase), normalisedPath(record.module), record.slot), record.shape[1], {} };
    const std::size_t item = itemSize(record.dtype);
    for (std::size_t at = 0; at < bytes.size(); at += item) {
        if (record.dtype == DType::Int64) {
            std::memcpy(&out.values.emplace_back(), bytes.data() + at, item);
        } else {
            std::int32_t value = 0;
            std::memcpy(&value, bytes.data() + at, item);
            out.values.push_back(value);
        }
    }
    return out;
}

RowKeys keysOfCell(const Side& side, const Cell& cell, const CellTensors& cellTensors)
{
    RowKeys keys;
    const auto& tensors = cellTensors.batch;
    for (const auto* t : tensors) {
        if (!t->shape.empty() && t->shape[0] > 0) {
            keys.rows = t->shape[0];
            break;
        }
    }
    if (keys.rows == 0) {
        return keys;
    }
    std::vector<RowKey> content; // made once bytes have proved that there are so many rows: a shape is only a claim
    bool complete = true;
    std::vector<BatchTensor> read; // what has positions, to find padding in
    ReadBuffer buffer;
    for (const auto* t : tensors) {
        if (t->shape.empty() || t->shape[0] != keys.rows) {
            continue; // one value for the whole batch says nothing of its rows
        }
        if (std::ssize(t->sampleIds) == keys.rows && keys.ids.empty()) {
            for (const auto id : t->sampleIds) {
                keys.ids.push_back({ static_cast<std::uint64_t>(id), 0 });
            }
        }
        auto& own = keys.bySlot.emplace_back(); // stays empty if unreadable, so that the n-th is the n-th on both sides
        const auto source = side.bundle->source(*side.ranks[cell.rank], *t);
        const auto bytes = source ? (*source)->read(Box::whole(t->shape), buffer) : tl::unexpected(source.error());
        const std::size_t stride = bytes ? bytes->size() / static_cast<std::size_t>(keys.rows) : 0;
        if (stride == 0) {
            complete = complete && bytes.has_value();
            continue;
        }
        if (t->shape.size() >= 2) {
            read.push_back({ t, { bytes->begin(), bytes->end() } });
        }
        content.resize(static_cast<std::size_t>(keys.rows), RowKey { 0, 0 });
        for (std::size_t row = 0; row < content.size(); ++row) {
            const auto part = bytes->subspan(row * stride, stride);
            own.push_back(hashOf(part, { 0, 0 }));
            content[row] = hashOf(part, content[row]);
        }
    }
    if (complete && !content.empty()) {
        keys.content = std::move(content);
        findPadding(keys, read);
    }
    for (const auto* t : cellTensors.tokens) {
        if (t->shape[0] != keys.rows || t->shape[1] == 0 || keys.tokens.size() == kMostMatrices) {
            continue;
        }
        const auto source = side.bundle->source(*side.ranks[cell.rank], *t);
        if (const auto bytes = source ? (*source)->read(Box::whole(t->shape), buffer) : tl::unexpected(source.error())) {
            keys.tokens.push_back(matrixOf(*t, *bytes));
        }
    }
    return keys;
}

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

/// The cells whose rows count: of ranks that all hold the same (`same`) or do so in groups, one each.
std::vector<Cell> countedOnce(const std::vector<Cell>& cells, bool same, const std::vector<std::size_t>& sharers)
{
    if (!same && sharers.empty()) {
        return cells;
    }
    std::size_t ranks = 0;
    for (const auto& cell : cells) {
        ranks = std::max(ranks, cell.rank + 1);
    }
    return representatives(cells, same ? std::vector<std::size_t>(ranks, 0) : sharers);
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

} // namespace

std::map<Cell, RowKeys> rowKeys(const Side& side, const StepRecords& records)
{
    std::map<Cell, RowKeys> out;
    for (const auto& [cell, tensors] : sampleTensors(side, records)) {
        out.emplace(cell, keysOfCell(side, cell, tensors));
    }
    return out;
}

RowRelation relateRows(const std::map<Cell, RowKeys>& a, const std::vector<Cell>& cellsA, const std::map<Cell, RowKeys>& b,
                       const std::vector<Cell>& cellsB)
{
    RowRelation relation;
    relation.rowsA = rowCount(a, cellsA);
    relation.rowsB = rowCount(b, cellsB);

    std::vector<std::pair<std::string, Selector>> notions = { { "content", [](const RowKeys& k) { return &k.content; } },
                                                              { "sample id", [](const RowKeys& k) { return &k.ids; } } };
    if (haveOtherLengths(a, cellsA, b, cellsB)) {
        notions.insert(notions.begin() + 1, { "content without padding", [](const RowKeys& k) { return &k.unpadded; } });
    }
    for (std::size_t slot = 0; slot < 8; ++slot) { // inputs alone, labels alone: one of them may have been changed by the run
        notions.emplace_back(fmt::format("batch tensor {}", slot),
                             [slot](const RowKeys& k) { return slot < k.bySlot.size() ? &k.bySlot[slot] : nullptr; });
    }
    // How the ranks of a side hold its rows: each its own; all the same; in groups that share.
    enum class Hold { Own, Same, Groups };
    struct Held {
        Hold how;
        std::vector<RowKey> rows;
        std::vector<std::size_t> sharers;
    };
    const Selector content = notions[0].second;
    const auto ways = [&content](const std::map<Cell, RowKeys>& keys, const std::vector<Cell>& cells, const Selector& select, bool byId) {
        std::vector<Held> out;
        if (auto own = joined(keys, cells, select)) {
            out.push_back({ Hold::Own, std::move(*own), {} });
        }
        // Ranks with the same ids and other content hold parts of these samples, such as some of their positions.
        const bool contentDecides = byId && joined(keys, cells, content);
        if (auto same = replicatedRows(keys, cells, select)) {
            if (!contentDecides || replicatedRows(keys, cells, content)) {
                out.push_back({ Hold::Same, std::move(*same), {} });
            }
        } else if (auto groups = sharingRanks(keys, cells, select);
                   !groups.empty() && (!contentDecides || groups == sharingRanks(keys, cells, content))) {
            auto rows = joined(keys, representatives(cells, groups), select);
            out.push_back({ Hold::Groups, rows.value_or(std::vector<RowKey>()), std::move(groups) });
        }
        return out;
    };
    const auto match = [&](const std::map<Cell, RowKeys>& rowsA, const std::map<Cell, RowKeys>& rowsB, const Selector& select, bool byId) {
        auto ofA = ways(rowsA, cellsA, select, byId), ofB = ways(rowsB, cellsB, select, byId);
        for (auto& heldA : ofA) {
            for (auto& heldB : ofB) {
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
    };
    for (const auto& [by, select] : notions) {
        if (match(a, b, select, by == "sample id")) {
            relation.by = by;
            relation.positions = commonPositions(a, countedOnce(cellsA, relation.replicatedA, relation.sharersA), b,
                                                 countedOnce(cellsB, relation.replicatedB, relation.sharersB), relation.order);
            break;
        }
    }
    if (relation.positions.length == 0) {
        for (const bool ofB : { true, false }) {
            const auto split = ofB ? positionSplit(a, cellsA, b, cellsB) : positionSplit(b, cellsB, a, cellsA);
            if (!split) {
                continue;
            }
            if (!relation.matched) {
                const auto rowsA = ofB ? numbered(a, cellsA) : split->rows, rowsB = ofB ? split->rows : numbered(b, cellsB);
                if (!match(rowsA, rowsB, content, false)) {
                    continue;
                }
                relation.by = "their tokens";
            }
            (ofB ? relation.splitB : relation.splitA) = true;
            if (!isIdentity(split->order)) {
                relation.positionOrder = ofB ? split->order : inverseOf(split->order);
            }
            break;
        }
    }
    if (relation.matched) {
        return relation;
    }
    // Not the same rows. Whether a side's ranks share their rows still decides how its tensors are put together.
    const auto ownA = replicatedRows(a, cellsA, content), ownB = replicatedRows(b, cellsB, content);
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
