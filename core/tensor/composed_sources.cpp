// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/composed_sources.h"

#include "core/tensor/box_ranges.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace forkpoint {

namespace {

using Bytes = Result<std::span<const std::byte>>;

// Parts have a buffer each, so that each keeps the frame it decompressed last while rows are dealt out in turn. Beyond this many they
// share: a thousand ranks must not mean a thousand frames in memory per thread.
constexpr std::size_t kPartBuffers = 64;

/// Bytes of a tensor, if they can be addressed.
std::optional<std::size_t> byteCount(DType dtype, const Shape& shape)
{
    std::int64_t bytes = 0;
    const std::optional<std::int64_t> elements = elementCount(shape);
    if (!elements || __builtin_mul_overflow(*elements, static_cast<std::int64_t>(itemSize(dtype)), &bytes))
        return std::nullopt;
    return static_cast<std::size_t>(bytes);
}

std::size_t boxBytes(const Box& box, DType dtype)
{
    return static_cast<std::size_t>(box.elements()) * itemSize(dtype);
}

class MemorySource final : public TensorSource {
public:
    MemorySource(DType dtype, Shape shape, std::vector<std::byte> bytes)
        : m_dtype(dtype)
        , m_shape(std::move(shape))
        , m_bytes(std::move(bytes))
    {
    }
    DType dtype() const override { return m_dtype; }
    const Shape& shape() const override { return m_shape; }

    Bytes read(const Box& box, ReadBuffer& buffer) const override
    {
        if (Result<void> ok = checkBox(m_shape, box); !ok)
            return tl::unexpected(std::move(ok.error()));
        const std::size_t item = itemSize(m_dtype);
        const std::span<const std::byte> all(m_bytes);
        RangeWalk walk(m_shape, box);
        if (walk.count() == 0)
            return std::span<const std::byte>{};
        FlatRange range;
        if (walk.count() == 1 && walk.next(range))
            return all.subspan(static_cast<std::size_t>(range.offset) * item, static_cast<std::size_t>(range.count) * item);
        auto to = takeBytes(buffer, boxBytes(box, m_dtype));
        if (!to)
            return tl::unexpected(std::move(to.error()));
        std::byte* target = to->data();
        while (walk.next(range)) {
            const std::size_t size = static_cast<std::size_t>(range.count) * item;
            std::memcpy(target, all.data() + static_cast<std::size_t>(range.offset) * item, size);
            target += size;
        }
        return *to;
    }

private:
    DType m_dtype;
    Shape m_shape;
    std::vector<std::byte> m_bytes;
};

class ConcatSource final : public TensorSource {
public:
    ConcatSource(std::vector<TensorSourcePtr> parts, std::size_t dim, Shape shape)
        : m_parts(std::move(parts))
        , m_dim(dim)
        , m_shape(std::move(shape))
    {
        std::int64_t end = 0;
        for (const TensorSourcePtr& part : m_parts)
            m_ends.push_back(end += part->shape()[m_dim]);
    }
    DType dtype() const override { return m_parts.front()->dtype(); }
    const Shape& shape() const override { return m_shape; }

    Bytes read(const Box& box, ReadBuffer& buffer) const override
    {
        if (Result<void> ok = checkBox(m_shape, box); !ok)
            return tl::unexpected(std::move(ok.error()));
        if (box.elements() == 0)
            return std::span<const std::byte>{};
        const std::int64_t begin = box.start[m_dim];
        const std::int64_t end = begin + box.extent[m_dim];
        auto part = static_cast<std::size_t>(std::upper_bound(m_ends.begin(), m_ends.end(), begin) - m_ends.begin());

        std::span<std::byte> to;
        for (std::int64_t at = begin; at < end; ++part) {
            const std::int64_t partBegin = m_ends[part] - m_parts[part]->shape()[m_dim];
            const std::int64_t stop = std::min(end, m_ends[part]);
            if (stop == at)
                continue; // an empty part
            Box piece = box;
            piece.start[m_dim] = at - partBegin;
            piece.extent[m_dim] = stop - at;
            Bytes bytes = m_parts[part]->read(piece, buffer.child(part % kPartBuffers));
            if (!bytes || (at == begin && stop == end))
                return bytes; // within one part: nothing to join
            if (to.empty()) {
                auto taken = takeBytes(buffer, boxBytes(box, dtype()));
                if (!taken)
                    return tl::unexpected(std::move(taken.error()));
                to = *taken;
            }
            std::vector<std::int64_t> where(m_shape.size(), 0);
            where[m_dim] = at - begin;
            copyBlock(*bytes, piece.extent, to, box.extent, where, itemSize(dtype()));
            at = stop;
        }
        return to;
    }

private:
    std::vector<TensorSourcePtr> m_parts;
    std::size_t m_dim;
    Shape m_shape;
    std::vector<std::int64_t> m_ends; // of each part along m_dim
};

class RowMapSource final : public TensorSource {
public:
    RowMapSource(TensorSourcePtr source, std::vector<std::int64_t> order, std::int64_t rowsPerSample, std::size_t dim)
        : m_source(std::move(source))
        , m_order(std::move(order))
        , m_rowsPerSample(rowsPerSample)
        , m_dim(dim)
    {
    }
    DType dtype() const override { return m_source->dtype(); }
    const Shape& shape() const override { return m_source->shape(); }

    Bytes read(const Box& box, ReadBuffer& buffer) const override
    {
        if (Result<void> ok = checkBox(shape(), box); !ok)
            return tl::unexpected(std::move(ok.error()));
        const std::size_t total = boxBytes(box, dtype());
        if (total == 0)
            return std::span<const std::byte>{};

        // Pieces of samples, read in the order in which they lie in the source: neighbours there are fetched together and a compressed
        // frame is opened once, however the rows are scattered here.
        struct Piece {
            std::int64_t from, to, rows;
        };
        std::vector<Piece> pieces;
        const std::int64_t begin = box.start[m_dim], extent = box.extent[m_dim];
        for (std::int64_t row = begin; row < begin + extent;) {
            const std::int64_t within = row % m_rowsPerSample;
            const std::int64_t rows = std::min(m_rowsPerSample - within, begin + extent - row);
            pieces.push_back({m_order[static_cast<std::size_t>(row / m_rowsPerSample)] * m_rowsPerSample + within, row - begin, rows});
            row += rows;
        }
        std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.from < b.from; });

        // `dim` lies once in each of so many blocks.
        std::size_t blocks = 1;
        for (std::size_t d = 0; d < m_dim; ++d) {
            blocks *= static_cast<std::size_t>(box.extent[d]);
        }
        const std::size_t blockBytes = total / blocks, rowBytes = blockBytes / static_cast<std::size_t>(extent);
        std::span<std::byte> to;
        for (std::size_t first = 0; first < pieces.size();) {
            std::size_t last = first + 1;
            bool inOrder = true;
            std::int64_t end = pieces[first].from + pieces[first].rows;
            while (last < pieces.size() && pieces[last].from == end) {
                inOrder = inOrder && pieces[last].to == pieces[last - 1].to + pieces[last - 1].rows;
                end += pieces[last++].rows;
            }
            Box block = box;
            block.start[m_dim] = pieces[first].from;
            block.extent[m_dim] = end - pieces[first].from;
            Bytes bytes = m_source->read(block, buffer.child(0));
            if (!bytes || (last - first == pieces.size() && inOrder))
                return bytes; // all rows are neighbours in the source, in this order
            if (to.empty()) {
                auto taken = takeBytes(buffer, total);
                if (!taken)
                    return tl::unexpected(std::move(taken.error()));
                to = *taken;
            }
            const std::size_t fetched = bytes->size() / blocks;
            for (std::size_t from = 0; first < last; ++first) {
                const std::size_t size = static_cast<std::size_t>(pieces[first].rows) * rowBytes;
                const std::size_t at = static_cast<std::size_t>(pieces[first].to) * rowBytes;
                for (std::size_t i = 0; i < blocks; ++i) {
                    std::memcpy(to.data() + i * blockBytes + at, bytes->data() + i * fetched + from, size);
                }
                from += size;
            }
        }
        return to;
    }

private:
    TensorSourcePtr m_source;
    std::vector<std::int64_t> m_order;
    std::int64_t m_rowsPerSample;
    std::size_t m_dim;
};

/// sums[i] += weight * element i of `bytes`. The product and the sum are rounded to double each, in the order of the parts.
template <class Load> void accumulate(std::span<double> sums, double weight, Load load)
{
    for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] += weight * load(i);
}

template <class T> T loadAs(const std::byte* bytes, std::size_t index)
{
    T value;
    std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
    return value;
}

void accumulateBytes(std::span<double> sums, double weight, DType dtype, const std::byte* bytes)
{
    switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
        return accumulate(sums, weight, [bytes](std::size_t i) { return loadAs<double>(bytes, i); });
    case DType::Float32:
    case DType::Complex64:
        return accumulate(sums, weight, [bytes](std::size_t i) { return static_cast<double>(loadAs<float>(bytes, i)); });
    case DType::Float16:
        return accumulate(sums, weight,
                          [bytes](std::size_t i) { return static_cast<double>(fromFloat16(loadAs<std::uint16_t>(bytes, i))); });
    case DType::BFloat16:
        return accumulate(sums, weight,
                          [bytes](std::size_t i) { return static_cast<double>(fromBFloat16(loadAs<std::uint16_t>(bytes, i))); });
    case DType::Float8E4M3FN:
        return accumulate(sums, weight,
                          [bytes](std::size_t i) { return static_cast<double>(fromFloat8E4M3FN(loadAs<std::uint8_t>(bytes, i))); });
    case DType::Float8E5M2:
        return accumulate(sums, weight,
                          [bytes](std::size_t i) { return static_cast<double>(fromFloat8E5M2(loadAs<std::uint8_t>(bytes, i))); });
    case DType::Int64:
    case DType::Int32:
    case DType::Int16:
    case DType::Int8:
    case DType::UInt8:
    case DType::Bool:
        return; // refused by the factory
    }
}

class WeightedSumSource final : public TensorSource {
public:
    WeightedSumSource(std::vector<TensorSourcePtr> parts, std::vector<double> weights, DType dtype)
        : m_parts(std::move(parts))
        , m_weights(std::move(weights))
        , m_dtype(dtype)
    {
    }
    DType dtype() const override { return m_dtype; }
    const Shape& shape() const override { return m_parts.front()->shape(); }

    Bytes read(const Box& box, ReadBuffer& buffer) const override
    {
        if (Result<void> ok = checkBox(shape(), box); !ok)
            return tl::unexpected(std::move(ok.error()));
        const std::size_t total = boxBytes(box, m_dtype);
        const std::size_t scalars = static_cast<std::size_t>(box.elements()) * (isComplex(m_dtype) ? 2 : 1);
        if (scalars == 0)
            return std::span<const std::byte>{};
        auto sumBytes = takeBytes(buffer.child(0), scalars * sizeof(double));
        if (!sumBytes)
            return tl::unexpected(std::move(sumBytes.error()));
        const std::span<double> sums(reinterpret_cast<double*>(sumBytes->data()), scalars);
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::size_t i = 0; i < m_parts.size(); ++i) {
            Bytes bytes = m_parts[i]->read(box, buffer.child(1 + i % kPartBuffers));
            if (!bytes)
                return bytes;
            accumulateBytes(sums, m_weights[i], m_parts[i]->dtype(), bytes->data());
        }
        if (total == sumBytes->size())
            return *sumBytes;
        auto to = takeBytes(buffer, total);
        if (!to)
            return tl::unexpected(std::move(to.error()));
        for (std::size_t i = 0; i < scalars; ++i) {
            const float rounded = static_cast<float>(sums[i]);
            std::memcpy(to->data() + i * sizeof(float), &rounded, sizeof(float));
        }
        return *to;
    }

private:
    std::vector<TensorSourcePtr> m_parts;
    std::vector<double> m_weights;
    DType m_dtype;
};

class RenumberedSource final : public TensorSource {
public:
    RenumberedSource(TensorSourcePtr source, std::vector<std::int64_t> numbers)
        : m_source(std::move(source))
        , m_numbers(std::move(numbers))
    {
    }
    DType dtype() const override { return m_source->dtype(); }
    const Shape& shape() const override { return m_source->shape(); }

    Bytes read(const Box& box, ReadBuffer& buffer) const override
    {
        const Bytes old = m_source->read(box, buffer.child(0));
        if (!old || old->empty())
            return old;
        auto to = takeBytes(buffer, old->size());
        if (!to)
            return tl::unexpected(std::move(to.error()));
        if (dtype() == DType::Int32) {
            renumber<std::int32_t>(*old, *to);
        } else {
            renumber<std::int64_t>(*old, *to);
        }
        return *to;
    }

private:
    template <class T> void renumber(std::span<const std::byte> from, std::span<std::byte> to) const
    {
        for (std::size_t at = 0; at < from.size(); at += sizeof(T)) {
            T value {};
            std::memcpy(&value, from.data() + at, sizeof(T));
            if (value >= 0 && static_cast<std::size_t>(value) < m_numbers.size())
                value = static_cast<T>(m_numbers[static_cast<std::size_t>(value)]);
            std::memcpy(to.data() + at, &value, sizeof(T));
        }
    }

    TensorSourcePtr m_source;
    std::vector<std::int64_t> m_numbers;
};

class ReshapedSource final : public TensorSource {
public:
    ReshapedSource(TensorSourcePtr source, Shape shape)
        : m_source(std::move(source))
        , m_shape(std::move(shape))
    {
    }
    DType dtype() const override { return m_source->dtype(); }
    const Shape& shape() const override { return m_shape; }

    Bytes read(const Box& box, ReadBuffer& buffer) const override
    {
        if (Result<void> ok = checkBox(m_shape, box); !ok)
            return tl::unexpected(std::move(ok.error()));
        RangeWalk walk(m_shape, box);
        if (walk.count() == 0)
            return std::span<const std::byte>{};
        FlatRange range;
        if (walk.count() == 1 && walk.next(range))
            return readRange(range, buffer);
        auto to = takeBytes(buffer, boxBytes(box, dtype()));
        if (!to)
            return tl::unexpected(std::move(to.error()));
        ReadBuffer& window = buffer.child(1);
        Result<void> done = gatherRanges(walk, itemSize(dtype()), *to, [&](FlatRange piece) { return readRange(piece, window); });
        if (!done)
            return tl::unexpected(std::move(done.error()));
        return *to;
    }

private:
    Bytes readRange(FlatRange range, ReadBuffer& buffer) const
    {
        const std::vector<Box> boxes = boxesOfRange(m_source->shape(), range);
        if (boxes.size() == 1)
            return m_source->read(boxes.front(), buffer.child(0));
        auto to = takeBytes(buffer, static_cast<std::size_t>(range.count) * itemSize(dtype()));
        if (!to)
            return tl::unexpected(std::move(to.error()));
        std::byte* target = to->data();
        for (const Box& box : boxes) {
            Bytes bytes = m_source->read(box, buffer.child(0));
            if (!bytes)
                return bytes;
            std::memcpy(target, bytes->data(), bytes->size());
            target += bytes->size();
        }
        return *to;
    }

    TensorSourcePtr m_source;
    Shape m_shape;
};

std::string tooLarge(const Shape& shape)
{
    return fmt::format("a tensor of shape {} has more bytes than can be addressed", shapeText(shape));
}

} // namespace

Result<TensorSourcePtr> memorySource(DType dtype, Shape shape, std::vector<std::byte> bytes)
{
    const std::optional<std::size_t> expected = byteCount(dtype, shape);
    if (!expected)
        return fail(ErrorCode::Usage, tooLarge(shape));
    if (*expected != bytes.size()) {
        return fail(
            ErrorCode::Usage,
            fmt::format("a {} tensor of shape {} has {} bytes, but {} were given", name(dtype), shapeText(shape), *expected, bytes.size()));
    }
    return std::make_shared<MemorySource>(dtype, std::move(shape), std::move(bytes));
}

Result<TensorSourcePtr> concatSource(std::vector<TensorSourcePtr> parts, std::int64_t dim)
{
    if (parts.empty() || std::find(parts.begin(), parts.end(), nullptr) != parts.end())
        return fail(ErrorCode::Usage, "nothing to join: there is no part, or one of the parts is missing");
    Shape shape = parts.front()->shape();
    if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size()))
        return fail(ErrorCode::Usage, fmt::format("tensors of shape {} cannot be joined along dimension {}", shapeText(shape), dim));
    const auto d = static_cast<std::size_t>(dim);
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (parts[i]->dtype() != parts.front()->dtype()) {
            return fail(ErrorCode::Usage,
                        fmt::format("parts to join have different types: part 0 is {}, part {} is {}", name(parts.front()->dtype()), i,
                                    name(parts[i]->dtype())));
        }
        Shape same = parts[i]->shape();
        if (same.size() == shape.size())
            same[d] = shape[d];
        if (same != shape) {
            return fail(ErrorCode::Usage,
                        fmt::format("parts to join along dimension {} do not fit: part 0 has shape {}, part {} has {}", dim,
                                    shapeText(parts.front()->shape()), i, shapeText(parts[i]->shape())));
        }
        if (__builtin_add_overflow(shape[d], parts[i]->shape()[d], &shape[d]))
            return fail(ErrorCode::Usage, fmt::format("the parts joined along dimension {} are larger than can be addressed", dim));
    }
    if (!byteCount(parts.front()->dtype(), shape))
        return fail(ErrorCode::Usage, tooLarge(shape));
    return std::make_shared<ConcatSource>(std::move(parts), d, std::move(shape));
}

Result<TensorSourcePtr> rowMapSource(TensorSourcePtr source, std::vector<std::int64_t> order, std::int64_t rowsPerSample, std::size_t dim)
{
    if (!source)
        return fail(ErrorCode::Usage, "no tensor to reorder");
    const Shape& shape = source->shape();
    if (dim >= shape.size() || rowsPerSample <= 0 || shape[dim] % rowsPerSample != 0
        || shape[dim] / rowsPerSample != static_cast<std::int64_t>(order.size())) {
        return fail(ErrorCode::Usage, fmt::format("a tensor of shape {} does not have {} samples of {} rows along dimension {}", shapeText(shape),
                                                  order.size(), rowsPerSample, dim));
    }
    std::vector<bool> seen(order.size(), false);
    for (const std::int64_t sample : order) {
        if (sample < 0 || sample >= static_cast<std::int64_t>(order.size()) || seen[static_cast<std::size_t>(sample)]) {
            return fail(ErrorCode::Usage,
                        fmt::format("the order of rows is no permutation of 0 .. {}: sample {} is out of range or there twice",
                                    static_cast<std::int64_t>(order.size()) - 1, sample));
        }
        seen[static_cast<std::size_t>(sample)] = true;
    }
    return std::make_shared<RowMapSource>(std::move(source), std::move(order), rowsPerSample, dim);
}

Result<TensorSourcePtr> weightedSumSource(std::vector<TensorSourcePtr> parts, std::vector<double> weights)
{
    if (parts.empty() || std::find(parts.begin(), parts.end(), nullptr) != parts.end())
        return fail(ErrorCode::Usage, "nothing to sum: there is no part, or one of the parts is missing");
    if (parts.size() != weights.size())
        return fail(ErrorCode::Usage, fmt::format("{} parts to sum, but {} weights", parts.size(), weights.size()));
    const Shape& shape = parts.front()->shape();
    const bool complex = isComplex(parts.front()->dtype());
    bool wide = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const DType dtype = parts[i]->dtype();
        if (isInteger(dtype) || isComplex(dtype) != complex) {
            return fail(ErrorCode::Usage,
                        fmt::format("a sum needs floating-point parts, all real or all complex: part 0 is {}, part {} is {}",
                                    name(parts.front()->dtype()), i, name(dtype)));
        }
        if (parts[i]->shape() != shape) {
            return fail(ErrorCode::Usage,
                        fmt::format("parts to sum have different shapes: part 0 has {}, part {} has {}", shapeText(shape), i,
                                    shapeText(parts[i]->shape())));
        }
        wide = wide || dtype == DType::Float64 || dtype == DType::Complex128;
    }
    const DType dtype = complex ? (wide ? DType::Complex128 : DType::Complex64) : (wide ? DType::Float64 : DType::Float32);
    if (!byteCount(DType::Complex128, shape)) // the sums are doubles, two for a complex element
        return fail(ErrorCode::Usage, tooLarge(shape));
    return std::make_shared<WeightedSumSource>(std::move(parts), std::move(weights), dtype);
}

Result<TensorSourcePtr> renumberedSource(TensorSourcePtr source, std::vector<std::int64_t> numbers)
{
    if (!source)
        return fail(ErrorCode::Usage, "no tensor to renumber");
    if (source->dtype() != DType::Int32 && source->dtype() != DType::Int64)
        return fail(ErrorCode::Usage, fmt::format("only int32 and int64 are numbers of entries, not {}", name(source->dtype())));
    return std::make_shared<RenumberedSource>(std::move(source), std::move(numbers));
}

Result<TensorSourcePtr> reshapedSource(TensorSourcePtr source, Shape shape)
{
    if (!source)
        return fail(ErrorCode::Usage, "no tensor to reshape");
    const std::optional<std::int64_t> elements = elementCount(shape);
    if (!elements || elements != elementCount(source->shape())) {
        return fail(ErrorCode::Usage,
                    fmt::format("a tensor of shape {} cannot be read with shape {}: the number of elements differs",
                                shapeText(source->shape()), shapeText(shape)));
    }
    return std::make_shared<ReshapedSource>(std::move(source), std::move(shape));
}

} // namespace forkpoint
