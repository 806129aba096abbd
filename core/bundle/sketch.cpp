// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/sketch.h"

#include <array>
#include <cstring>

namespace forkpoint::bundle {

namespace {

constexpr std::uint64_t kBlock = 1u << 16; // words that share a factor

const std::array<std::uint64_t, kBlock>& blockWeights()
{
    static const auto weights = [] {
        std::array<std::uint64_t, kBlock> out {};
        for (std::uint64_t j = 0; j < kBlock; ++j) {
            out[j] = splitMix64(j) | 1;
        }
        return out;
    }();
    return weights;
}

std::uint64_t weight(std::uint64_t word)
{
    return blockWeights()[word % kBlock] * (splitMix64((std::uint64_t { 1 } << 32) + word / kBlock) | 1);
}

/// The k-th word of an element: a signed integer of the element's size, or its 32-bit parts. Unsigned arithmetic wraps as the sum does.
template <class Word> std::uint64_t wordAt(const std::byte* bytes)
{
    Word word;
    std::memcpy(&word, bytes, sizeof(Word));
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(word));
}

std::uint64_t wordAt(const std::byte* bytes, std::size_t size)
{
    return size == 1 ? wordAt<std::int8_t>(bytes) : size == 2 ? wordAt<std::int16_t>(bytes) : wordAt<std::int32_t>(bytes);
}

/// Global index of each element of a row-major walk through a piece.
class Walk {
public:
    Walk(const Shape& shape, const Shape& whole, const Shape& offset)
        : m_shape(shape)
        , m_place(shape.size(), 0)
        , m_strides(shape.size(), 1)
    {
        for (std::size_t d = shape.size(); d-- > 1;) {
            m_strides[d - 1] = m_strides[d] * whole[d];
        }
        for (std::size_t d = 0; d < offset.size(); ++d) {
            m_index += offset[d] * m_strides[d];
        }
    }
    std::int64_t index() const { return m_index; }
    void next()
    {
        for (std::size_t d = m_shape.size(); d-- > 0;) {
            m_index += m_strides[d];
            if (++m_place[d] < m_shape[d]) {
                return;
            }
            m_index -= m_strides[d] * m_shape[d];
            m_place[d] = 0;
        }
    }

private:
    const Shape& m_shape;
    Shape m_place, m_strides;
    std::int64_t m_index = 0;
};

const Shape& wholeOf(const TensorRecord& record)
{
    return record.globalShape.empty() ? record.shape : record.globalShape;
}

} // namespace

std::uint64_t splitMix64(std::uint64_t number)
{
    number += 0x9E3779B97F4A7C15u;
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
    return number ^ (number >> 31);
}

std::vector<std::int64_t> samplePositions(std::int64_t count)
{
    std::vector<std::int64_t> out;
    if (count <= kSamples) {
        for (std::int64_t i = 0; i < count; ++i) {
            out.push_back(i);
        }
        return out;
    }
    const auto begin = [quotient = count / kSamples, rest = count % kSamples](std::int64_t k) { return k * quotient + k * rest / kSamples; };
    out.reserve(kSamples);
    for (std::int64_t k = 0; k < kSamples; ++k) {
        const auto width = static_cast<std::uint64_t>(begin(k + 1) - begin(k));
        out.push_back(begin(k) + static_cast<std::int64_t>(splitMix64(static_cast<std::uint64_t>(k)) % width));
    }
    return out;
}

std::vector<std::int64_t> sampleIndices(const TensorRecord& record)
{
    const Shape& whole = wholeOf(record);
    const std::vector<std::int64_t> positions = samplePositions(elementCount(whole).value_or(0));
    if (whole == *record.shape) {
        return positions;
    }
    const Shape offset = record.globalOffset.empty() ? Shape(whole.size(), 0) : *record.globalOffset;
    std::vector<std::int64_t> out;
    for (const std::int64_t position : positions) {
        std::int64_t rest = position, local = 0, stride = 1;
        bool inside = true;
        for (std::size_t d = whole.size(); d-- > 0 && inside;) {
            const std::int64_t place = rest % whole[d] - offset[d];
            rest /= whole[d];
            inside = place >= 0 && place < record.shape[d];
            local += place * stride;
            stride *= record.shape[d];
        }
        if (inside) {
            out.push_back(local);
        }
    }
    return out;
}

std::int64_t sampleCount(const TensorRecord& record)
{
    const Shape& whole = wholeOf(record);
    return whole == *record.shape ? std::min(elementCount(whole).value_or(0), kSamples) : std::ssize(sampleIndices(record));
}

Result<std::uint64_t> foldOf(const TensorSource& source, const TensorRecord& record, std::stop_token stop)
{
    const std::size_t item = itemSize(source.dtype()), word = item < 4 ? item : 4, words = item / word;
    Walk walk(record.shape, wholeOf(record), record.globalOffset);
    std::uint64_t fold = 0;
    ReadBuffer buffer;
    for (const Box& box : source.preferredChunks()) {
        if (stop.stop_requested()) {
            return fail(ErrorCode::Cancelled, "cancelled while folding");
        }
        const auto bytes = source.read(box, buffer);
        if (!bytes) {
            return tl::unexpected(bytes.error());
        }
        for (std::size_t at = 0; at < bytes->size(); at += item, walk.next()) {
            const auto first = static_cast<std::uint64_t>(walk.index()) * words;
            for (std::size_t k = 0; k < words; ++k) {
                fold += weight(first + k) * wordAt(bytes->data() + at + k * word, word);
            }
        }
    }
    return fold;
}

std::optional<bool> sameBits(const TensorRecord& a, const TensorRecord& b)
{
    if (a.dtype != b.dtype || a.shape != b.shape) {
        return std::nullopt;
    }
    if (a.digest && b.digest) {
        return *a.digest == *b.digest;
    }
    const bool samePlace = wholeOf(a) == wholeOf(b) && a.globalOffset == b.globalOffset;
    return a.fold && b.fold && samePlace ? std::optional(*a.fold == *b.fold) : std::nullopt;
}

} // namespace forkpoint::bundle
