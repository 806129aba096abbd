// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/names.h"
#include "core/align/positions.h"
#include "core/align/rows.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>
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

/// Rows of the first tensor that has any along this dim. Images and the like do not begin with a sequence.
std::int64_t lengthOf(const std::vector<const TensorRecord*>& tensors, std::size_t dim)
{
    const auto found = std::find_if(tensors.begin(), tensors.end(), [dim](const TensorRecord* t) {
        return dim < t->shape.size() && t->shape[dim] > 0 && (dim == 0 || t->shape.size() <= 3);
    });
    return found == tensors.end() ? 0 : (*found)->shape[dim];
}

/// A tensor's bytes with its second dim first.
std::vector<std::byte> transposed(std::span<const std::byte> bytes, const Shape& shape)
{
    const auto first = static_cast<std::size_t>(shape[0]), second = static_cast<std::size_t>(shape[1]);
    const std::size_t stride = bytes.size() / std::max<std::size_t>(1, first * second);
    std::vector<std::byte> out;
    out.reserve(bytes.size());
    for (std::size_t j = 0; j < second; ++j) {
        for (std::size_t i = 0; i < first; ++i) {
            const auto part = bytes.subspan((i * second + j) * stride, stride);
            out.insert(out.end(), part.begin(), part.end());
        }
    }
    return out;
}

/// `bytes`: row by row.
TokenMatrix matrixOf(const TensorRecord& record, std::span<const std::byte> bytes, std::int64_t positions)
{
    TokenMatrix out { fmt::format("{}/{}/{}", name(record.phase), normalisedPath(record.module), record.slot), positions, {} };
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

RowKeys keysOfCell(const Side& side, const Cell& cell, const CellTensors& cellTensors, std::size_t rowDim)
{
    RowKeys keys;
    const auto& tensors = cellTensors.batch;
    keys.rows = lengthOf(tensors, rowDim);
    if (keys.rows == 0) {
        return keys;
    }
    std::vector<RowKey> content; // made once bytes have proved that there are so many rows: a shape is only a claim
    bool complete = true;
    std::vector<BatchTensor> read; // what has positions, to find padding in
    ReadBuffer buffer;
    for (const auto* t : tensors) {
        const std::size_t dim = t->shape.size() == 1 ? 0 : rowDim; // labels have one dim
        if (t->shape.empty() || t->shape[dim] != keys.rows) {
            continue; // one value for the whole batch says nothing of its rows
        }
        if (std::ssize(t->sampleIds) == keys.rows && keys.ids.empty()) {
            for (const auto id : t->sampleIds) {
                keys.ids.push_back({ static_cast<std::uint64_t>(id), 0 });
            }
        }
        auto& own = keys.bySlot.emplace_back(); // stays empty if unreadable, so that the n-th is the n-th on both sides
        const auto source = side.bundle->source(*side.ranks[cell.rank], *t);
        auto bytes = source ? (*source)->read(Box::whole(t->shape), buffer) : tl::unexpected(source.error());
        std::vector<std::byte> rowsFirst;
        if (bytes && dim == 1) {
            rowsFirst = transposed(*bytes, t->shape);
            bytes = rowsFirst;
        }
        const std::size_t stride = bytes ? bytes->size() / static_cast<std::size_t>(keys.rows) : 0;
        if (stride == 0) {
            complete = complete && bytes.has_value();
            continue;
        }
        if (t->shape.size() >= 2 && dim == 0) {
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
        const bool rowsSecond = t->shape[rowDim] != keys.rows ? rowDim == 0 : rowDim == 1; // a model may turn its batch over
        if (t->shape[rowsSecond ? 1 : 0] != keys.rows || t->shape[rowsSecond ? 0 : 1] == 0 || keys.tokens.size() == kMostMatrices) {
            continue;
        }
        const auto source = side.bundle->source(*side.ranks[cell.rank], *t);
        const auto bytes = source ? (*source)->read(Box::whole(t->shape), buffer) : tl::unexpected(source.error());
        if (!bytes) {
            continue;
        }
        const std::int64_t positions = t->shape[rowsSecond ? 0 : 1];
        keys.tokens.push_back(rowsSecond ? matrixOf(*t, transposed(*bytes, t->shape), positions) : matrixOf(*t, *bytes, positions));
        keys.tokenPositions = keys.tokenPositions == 0 ? positions : std::min(keys.tokenPositions, positions);
    }
    return keys;
}

/// Whether a rank has the same rows as the first one, in some micro-step.
bool anyShares(const std::map<Cell, RowKeys>& keys)
{
    return std::any_of(keys.begin(), keys.end(), [&](const auto& entry) {
        const auto first = keys.find({ keys.begin()->first.rank, entry.first.micro });
        return first != keys.end() && first->first.rank != entry.first.rank && !first->second.content.empty()
            && first->second.content == entry.second.content;
    });
}

/// Whether a rank has one batch for several micro-steps: it is recorded in each that uses it, or in the first one.
bool lastsForSeveral(const SampleTensors& tensors, const std::map<Cell, RowKeys>& keys)
{
    return std::any_of(tensors.inputs.begin(), tensors.inputs.end(), [&](const auto& entry) {
        const auto own = keys.find(entry.first), before = keys.lower_bound({ entry.first.rank, std::numeric_limits<std::int32_t>::min() });
        const bool isFirst = before == keys.end() || before->first >= entry.first;
        return !isFirst && (own == keys.end() || (!own->second.content.empty() && own->second.content == before->second.content));
    });
}

/// True if the root of each rank was given fewer rows than its batch has.
bool takesSomeRows(const SampleTensors& tensors, std::size_t rowDim)
{
    return !tensors.batches.empty() && std::all_of(tensors.batches.begin(), tensors.batches.end(), [&](const auto& entry) {
        const auto inputs = tensors.inputs.find(entry.first);
        const std::int64_t rows = lengthOf(entry.second.batch, rowDim), taken = inputs == tensors.inputs.end() ? 0 : lengthOf(inputs->second.batch, rowDim);
        return taken > 0 && taken < rows && rows % taken == 0;
    });
}

} // namespace

std::map<Cell, RowKeys> rowKeys(const Side& side, const StepRecords& records, std::size_t rowDim)
{
    const auto tensors = sampleTensors(side, records);
    const auto keysOf = [&](const TensorsByCell& byCell) {
        std::map<Cell, RowKeys> out;
        for (const auto& [cell, own] : byCell) {
            out.emplace(cell, keysOfCell(side, cell, own, rowDim));
        }
        return out;
    };
    auto out = keysOf(tensors.batches.empty() ? tensors.inputs : tensors.batches);
    if (!takesSomeRows(tensors, rowDim)) {
        return out;
    }
    const bool longer = lastsForSeveral(tensors, out);
    if (longer || anyShares(out)) {
        if (auto taken = keysOf(tensors.inputs); longer || !anyShares(taken)) {
            for (auto& [cell, keys] : taken) {
                keys.ofLongerBatch = longer;
            }
            return taken;
        }
    }
    return out;
}

} // namespace forkpoint::align
