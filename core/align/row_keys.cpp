// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/names.h"
#include "core/align/positions.h"
#include "core/align/rows.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

// What identifies the rows of a cell, read from its records.
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

using TensorsByCell = std::map<Cell, CellTensors>;
struct SampleTensors {
    TensorsByCell batches, inputs; ///< with the same tokens
};

SampleTensors sampleTensors(const Side& side, const StepRecords& records)
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
    SampleTensors out;
    for (const auto& [from, to] : { std::pair(&batches, &out.batches), std::pair(&inputs, &out.inputs) }) {
        for (auto& [cell, tensors] : *from) {
            (*to)[cell] = { std::move(tensors), tokens[cell] };
        }
    }
    return out;
}

std::int64_t leadingDim(const std::vector<const TensorRecord*>& tensors)
{
    const auto found = std::find_if(tensors.begin(), tensors.end(), [](const TensorRecord* t) { return !t->shape.empty() && t->shape[0] > 0; });
    return found == tensors.end() ? 0 : (*found)->shape[0];
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
    keys.rows = leadingDim(tensors);
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

/// True if ranks were given one batch, and the root of each was given some of its rows.
bool takesRowsOfItsOwn(const SampleTensors& tensors, const std::map<Cell, RowKeys>& ofBatches)
{
    bool shared = false;
    for (const auto& [cell, own] : tensors.batches) {
        const auto inputs = tensors.inputs.find(cell);
        const std::int64_t rows = leadingDim(own.batch), taken = inputs == tensors.inputs.end() ? 0 : leadingDim(inputs->second.batch);
        if (taken == 0 || taken >= rows || rows % taken != 0) {
            return false;
        }
        const auto first = ofBatches.find({ ofBatches.begin()->first.rank, cell.micro });
        shared = shared || (first != ofBatches.end() && first->first.rank != cell.rank && !first->second.content.empty()
                            && first->second.content == ofBatches.at(cell).content);
    }
    return shared;
}

} // namespace

std::map<Cell, RowKeys> rowKeys(const Side& side, const StepRecords& records)
{
    const auto tensors = sampleTensors(side, records);
    const auto keysOf = [&side](const TensorsByCell& byCell) {
        std::map<Cell, RowKeys> out;
        for (const auto& [cell, own] : byCell) {
            out.emplace(cell, keysOfCell(side, cell, own));
        }
        return out;
    };
    auto out = keysOf(tensors.batches.empty() ? tensors.inputs : tensors.batches);
    return takesRowsOfItsOwn(tensors, out) ? keysOf(tensors.inputs) : out;
}

} // namespace forkpoint::align
