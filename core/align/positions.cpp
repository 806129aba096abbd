// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/positions.h"

#include "core/tensor/box_ranges.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forkpoint::align {

namespace {

bool hasPositions(const bundle::TensorRecord& record, std::int64_t rows, std::int64_t positions)
{
    return record.shape.size() >= 2 && record.shape[0] == rows && record.shape[1] == positions;
}

bool isMask(const bundle::TensorRecord& record)
{
    return record.shape.size() == 2 && isInteger(record.dtype) && record.slot->find("mask") != std::string::npos;
}

/// Rows of equal elements, compared as bytes.
class Elements {
public:
    Elements(const BatchTensor& tensor, std::int64_t positions)
        : m_bytes(tensor.bytes)
        , m_item(itemSize(tensor.record->dtype))
        , m_positions(static_cast<std::size_t>(positions))
    {
    }
    std::span<const std::byte> at(std::size_t row, std::size_t position) const
    {
        return std::span(m_bytes).subspan((row * m_positions + position) * m_item, m_item);
    }
    bool isZero(std::size_t row, std::size_t position) const
    {
        const auto bytes = at(row, position);
        return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte { 0 }; });
    }
    bool equal(std::size_t row, std::size_t x, std::size_t y) const { return std::ranges::equal(at(row, x), at(row, y)); }
    bool equalTo(std::size_t row, std::size_t position, std::span<const std::byte> value) const
    {
        return std::ranges::equal(at(row, position), value);
    }

private:
    const std::vector<std::byte>& m_bytes;
    std::size_t m_item, m_positions;
};

/// Marks as padding the runs of one value at one end of the rows, of which one at least is two long. False if there is none.
bool markRuns(std::vector<std::uint8_t>& kept, const Elements& elements, std::size_t rows, std::size_t positions, bool atEnd)
{
    const auto place = [&](std::size_t i) { return atEnd ? positions - 1 - i : i; };
    std::optional<std::span<const std::byte>> padding;
    for (std::size_t row = 0; row < rows && positions >= 2; ++row) {
        if (elements.equal(row, place(0), place(1))) {
            const auto value = elements.at(row, place(0));
            if (padding && !std::ranges::equal(*padding, value)) {
                return false; // two values: no padding, but content
            }
            padding = value;
        }
    }
    for (std::size_t row = 0; row < rows && padding; ++row) {
        for (std::size_t i = 0; i < positions && elements.equalTo(row, place(i), *padding); ++i) {
            kept[row * positions + place(i)] = 0;
        }
    }
    return padding.has_value();
}

class PositionMask : public TensorSource {
public:
    PositionMask(Shape shape, std::shared_ptr<const std::vector<std::uint8_t>> kept)
        : m_shape(std::move(shape))
        , m_kept(std::move(kept))
        , m_inner(*elementCount({ m_shape.begin() + 2, m_shape.end() }))
    {
    }
    DType dtype() const override { return DType::UInt8; }
    const Shape& shape() const override { return m_shape; }

    Result<std::span<const std::byte>> read(const Box& box, ReadBuffer& buffer) const override
    {
        if (auto ok = checkBox(m_shape, box); !ok) {
            return tl::unexpected(ok.error());
        }
        auto to = takeBytes(buffer, static_cast<std::size_t>(box.elements()));
        if (!to) {
            return tl::unexpected(to.error());
        }
        std::byte* out = to->data();
        RangeWalk walk(m_shape, box);
        FlatRange range;
        while (walk.next(range)) {
            for (std::int64_t at = range.offset; at < range.offset + range.count;) {
                const std::int64_t position = at / m_inner, last = std::min(range.offset + range.count, (position + 1) * m_inner);
                std::memset(out, (*m_kept)[static_cast<std::size_t>(position)], static_cast<std::size_t>(last - at));
                out += last - at;
                at = last;
            }
        }
        return *to;
    }

private:
    Shape m_shape;
    std::shared_ptr<const std::vector<std::uint8_t>> m_kept;
    std::int64_t m_inner; ///< elements of one position
};

class KeptOnly : public TensorSource {
public:
    KeptOnly(TensorSourcePtr source, TensorSourcePtr mask)
        : m_source(std::move(source))
        , m_mask(std::move(mask))
    {
    }
    DType dtype() const override { return m_source->dtype(); }
    const Shape& shape() const override { return m_source->shape(); }

    Result<std::span<const std::byte>> read(const Box& box, ReadBuffer& buffer) const override
    {
        const auto from = m_source->read(box, buffer.child(0)), mask = m_mask->read(box, buffer.child(1));
        if (!from || !mask) {
            return tl::unexpected(from ? mask.error() : from.error());
        }
        auto to = takeBytes(buffer, from->size());
        if (!to) {
            return to;
        }
        const std::size_t item = itemSize(dtype());
        for (std::size_t i = 0; i < mask->size(); ++i) {
            if ((*mask)[i] == std::byte { 0 }) {
                std::memset(to->data() + i * item, 0, item);
            } else {
                std::memcpy(to->data() + i * item, from->data() + i * item, item);
            }
        }
        return *to;
    }

private:
    TensorSourcePtr m_source, m_mask;
};

/// Rows of some cells one after the other, each stretched to a length.
std::optional<std::vector<std::uint8_t>> stretched(const std::map<Cell, RowKeys>& keys, const std::vector<Cell>& cells, std::size_t length,
                                                   bool padLeft)
{
    std::vector<std::uint8_t> out;
    for (const auto& cell : cells) {
        const auto& own = keys.at(cell);
        const auto positions = static_cast<std::size_t>(own.positions);
        if (own.kept.empty() || own.kept.size() != static_cast<std::size_t>(own.rows) * positions) {
            return std::nullopt;
        }
        for (std::size_t row = 0; row < static_cast<std::size_t>(own.rows); ++row) {
            const auto first = own.kept.begin() + static_cast<std::ptrdiff_t>(row * positions);
            out.insert(out.end(), padLeft ? length - positions : 0, 0);
            out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(positions));
            out.insert(out.end(), padLeft ? 0 : length - positions, 0);
        }
    }
    return out;
}

} // namespace

void findPadding(RowKeys& keys, const std::vector<BatchTensor>& tensors)
{
    const auto rows = static_cast<std::size_t>(keys.rows);
    const auto integers = std::find_if(tensors.begin(), tensors.end(), [&](const BatchTensor& t) {
        return t.record->shape.size() == 2 && t.record->shape[0] == keys.rows && t.record->shape[1] > 0 && isInteger(t.record->dtype);
    });
    if (integers == tensors.end()) {
        return;
    }
    keys.positions = integers->record->shape[1];
    const auto positions = static_cast<std::size_t>(keys.positions);
    keys.kept.assign(rows * positions, 1);
    const auto mask = std::find_if(tensors.begin(), tensors.end(), [&](const BatchTensor& t) {
        return isMask(*t.record) && hasPositions(*t.record, keys.rows, keys.positions);
    });
    if (mask != tensors.end()) {
        const Elements elements(*mask, keys.positions);
        for (std::size_t i = 0; i < keys.kept.size(); ++i) {
            keys.kept[i] = elements.isZero(i / positions, i % positions) ? 0 : 1;
        }
    } else {
        const Elements elements(*integers, keys.positions);
        if (!markRuns(keys.kept, elements, rows, positions, true)) {
            markRuns(keys.kept, elements, rows, positions, false);
        }
    }
    keys.unpadded.assign(rows, RowKey { 0, 0 });
    for (const auto& tensor : tensors) {
        if (!hasPositions(*tensor.record, keys.rows, keys.positions) || isMask(*tensor.record)) {
            continue;
        }
        const std::size_t perPosition = tensor.bytes.size() / (rows * positions);
        for (std::size_t row = 0; row < rows; ++row) {
            std::vector<std::byte> content;
            for (std::size_t position = 0; position < positions; ++position) {
                if (keys.kept[row * positions + position]) {
                    const auto from = tensor.bytes.begin() + static_cast<std::ptrdiff_t>((row * positions + position) * perPosition);
                    content.insert(content.end(), from, from + static_cast<std::ptrdiff_t>(perPosition));
                }
            }
            auto& key = keys.unpadded[row];
            const auto hash = XXH3_128bits_withSeed(content.data(), content.size(), key[0] ^ (key[1] * 0x9E3779B97F4A7C15ull));
            key = { hash.low64, hash.high64 };
        }
    }
}

Positions commonPositions(const std::map<Cell, RowKeys>& a, const std::vector<Cell>& cellsA, const std::map<Cell, RowKeys>& b,
                          const std::vector<Cell>& cellsB, const std::vector<std::int64_t>& order)
{
    std::set<std::int64_t> lengths;
    std::size_t before = 0, after = 0; // rows that are padded before their content, or after it
    for (const auto& [keys, cells] : { std::pair(&a, &cellsA), std::pair(&b, &cellsB) }) {
        for (const auto& cell : *cells) {
            const auto own = keys->find(cell);
            if (own == keys->end() || own->second.positions == 0) {
                return {};
            }
            const auto positions = static_cast<std::size_t>(own->second.positions);
            lengths.insert(own->second.positions);
            for (std::size_t first = 0; first + positions <= own->second.kept.size(); first += positions) {
                const bool begins = own->second.kept[first] != 0, ends = own->second.kept[first + positions - 1] != 0;
                before += !begins && ends ? 1u : 0u;
                after += begins && !ends ? 1u : 0u;
            }
        }
    }
    if (lengths.size() < 2) {
        return {};
    }
    Positions out;
    out.padLeft = before > after;
    const auto length = static_cast<std::size_t>(*lengths.rbegin());
    auto keptA = stretched(a, cellsA, length, out.padLeft);
    const auto keptB = stretched(b, cellsB, length, out.padLeft);
    if (!keptA || !keptB || keptA->size() != keptB->size() || (!order.empty() && order.size() * length != keptB->size())) {
        return {};
    }
    for (std::size_t i = 0; i < keptA->size(); ++i) {
        const std::size_t row = order.empty() ? i / length : static_cast<std::size_t>(order[i / length]);
        (*keptA)[i] = (*keptA)[i] && (*keptB)[row * length + i % length] ? 1 : 0;
    }
    out.length = *lengths.rbegin();
    out.kept = std::make_shared<const std::vector<std::uint8_t>>(std::move(*keptA));
    return out;
}

TensorSourcePtr keptMask(const Lane& lane)
{
    const auto& shape = lane.a.shape;
    const bool fits = lane.kept && shape.size() >= 2 && elementCount({ shape[0], shape[1] }) == std::ssize(*lane.kept)
        && elementCount(shape).value_or(0) > 0;
    return fits ? std::make_shared<PositionMask>(shape, lane.kept) : nullptr;
}

TensorSourcePtr keptOnly(TensorSourcePtr source, TensorSourcePtr mask)
{
    return source && mask && mask->shape() == source->shape() ? std::make_shared<KeptOnly>(std::move(source), std::move(mask)) : source;
}

} // namespace forkpoint::align
