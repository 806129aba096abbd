// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/rows.h"

#include "core/align/names.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
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

/// The tensors that say which samples a cell holds, by cell.
std::map<Cell, std::vector<const TensorRecord*>> sampleTensors(const Side& side, std::int32_t step)
{
    std::map<Cell, std::vector<const TensorRecord*>> batches, inputs;
    for (std::size_t r = 0; r < side.ranks.size(); ++r) {
        for (const auto& record : side.ranks[r]->tensors) {
            if (record.step != step || record.recompute || record.level != bundle::Level::Module) {
                continue;
            }
            if (record.phase == Phase::Data && record.kind == Kind::Batch) {
                batches[{ r, record.micro }].push_back(&record);
            } else if (record.phase == Phase::Forward && record.kind == Kind::Input && record.call == 0 && normalisedPath(record.module).empty()) {
                inputs[{ r, record.micro }].push_back(&record);
            }
        }
    }
    return batches.empty() ? inputs : batches;
}

RowKeys keysOfCell(const Side& side, const Cell& cell, const std::vector<const TensorRecord*>& tensors)
{
    RowKeys keys;
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
        content.resize(static_cast<std::size_t>(keys.rows), RowKey { 0, 0 });
        for (std::size_t row = 0; row < content.size(); ++row) {
            const auto part = bytes->subspan(row * stride, stride);
            own.push_back(hashOf(part, { 0, 0 }));
            content[row] = hashOf(part, content[row]);
        }
    }
    if (complete && !content.empty()) {
        keys.content = std::move(content);
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

bool isIdentity(const std::vector<std::int64_t>& order)
{
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] != static_cast<std::int64_t>(i)) {
            return false;
        }
    }
    return true;
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

std::map<Cell, RowKeys> rowKeys(const Side& side, std::int32_t step)
{
    std::map<Cell, RowKeys> out;
    for (const auto& [cell, tensors] : sampleTensors(side, step)) {
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
    for (std::size_t slot = 0; slot < 8; ++slot) { // inputs alone, labels alone: one of them may have been changed by the run
        notions.emplace_back(fmt::format("batch tensor {}", slot),
                             [slot](const RowKeys& k) { return slot < k.bySlot.size() ? &k.bySlot[slot] : nullptr; });
    }
    for (const auto& [by, select] : notions) {
        for (const bool replicatedA : { false, true }) {
            for (const bool replicatedB : { false, true }) {
                const auto rowsA = replicatedA ? replicatedRows(a, cellsA, select) : joined(a, cellsA, select);
                const auto rowsB = replicatedB ? replicatedRows(b, cellsB, select) : joined(b, cellsB, select);
                if (!rowsA || !rowsB) {
                    continue;
                }
                if (auto order = matching(*rowsA, *rowsB)) {
                    relation.matched = true;
                    relation.replicatedA = replicatedA;
                    relation.replicatedB = replicatedB;
                    relation.rowsA = relation.rowsB = static_cast<std::int64_t>(rowsA->size());
                    relation.by = by;
                    if (!isIdentity(*order)) {
                        relation.order = std::move(*order);
                    }
                    return relation;
                }
            }
        }
    }
    // Not the same rows. Whether a side's ranks share their rows still decides how its tensors are put together.
    const Selector content = notions[0].second;
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
