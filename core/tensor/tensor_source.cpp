// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/tensor_source.h"

#include <algorithm>
#include <bit>
#include <new>

namespace forkpoint {

static_assert(std::endian::native == std::endian::little, "elements are used where they lie, and bundles are little-endian");

std::optional<std::int64_t> elementCount(const Shape& shape)
{
    std::int64_t product = 1;
    bool empty = false;
    for (const std::int64_t size : shape) {
        if (size < 0)
            return std::nullopt;
        if (size == 0)
            empty = true;
        else if (__builtin_mul_overflow(product, size, &product))
            return std::nullopt;
    }
    return empty ? 0 : product;
}

Box Box::whole(const Shape& shape)
{
    return {std::vector<std::int64_t>(shape.size(), 0), shape};
}

std::int64_t Box::elements() const
{
    return elementCount(extent).value_or(0);
}

std::span<std::byte> ReadBuffer::take(std::size_t bytes)
{
    constexpr std::size_t kAlignment = 64, kAddressable = std::size_t{1} << 47;
    if (bytes > kAddressable)
        throw std::bad_alloc(); // a claim that no machine can meet, and a sum with it may overflow
    m_content = {};
    if (m_capacity < bytes + kAlignment) {
        m_bytes.reset(); // the old contents need no copy
        m_capacity = 0;
        m_bytes = std::make_unique_for_overwrite<std::byte[]>(bytes + kAlignment);
        m_capacity = bytes + kAlignment;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(m_bytes.get());
    m_used = {m_bytes.get() + (kAlignment - address % kAlignment) % kAlignment, bytes};
    return m_used;
}

void ReadBuffer::remember(Content content)
{
    m_content = content;
}

std::optional<std::span<const std::byte>> ReadBuffer::recall(Content content) const
{
    if (content.owner == 0 || !(content == m_content))
        return std::nullopt;
    return m_used;
}

ReadBuffer& ReadBuffer::child(std::size_t index)
{
    while (m_children.size() <= index)
        m_children.push_back(std::make_unique<ReadBuffer>());
    return *m_children[index];
}

std::size_t ReadBuffer::capacity() const
{
    std::size_t bytes = m_capacity;
    for (const auto& child : m_children)
        bytes += child->capacity();
    return bytes;
}

std::vector<Box> TensorSource::preferredChunks(std::size_t targetBytes) const
{
    return contiguousChunks(shape(), itemSize(dtype()), targetBytes);
}

std::vector<Box> contiguousChunks(const Shape& shape, std::size_t itemSize, std::size_t targetBytes)
{
    const std::optional<std::int64_t> elements = elementCount(shape);
    if (!elements || *elements == 0)
        return {};
    if (shape.empty())
        return {Box{}};

    // Whole slices below `dim`, some indices along it, one index at a time above it.
    const auto target = static_cast<std::int64_t>(std::clamp<std::size_t>(targetBytes / itemSize, 1, std::size_t{1} << 62));
    std::size_t dim = shape.size() - 1;
    std::int64_t slice = 1;
    while (dim > 0 && slice <= target / shape[dim]) {
        slice *= shape[dim];
        --dim;
    }
    const std::int64_t step = std::min(shape[dim], std::max<std::int64_t>(1, target / slice));

    std::vector<Box> chunks;
    Box box{std::vector<std::int64_t>(shape.size(), 0), std::vector<std::int64_t>(shape.size(), 1)};
    for (std::size_t d = dim + 1; d < shape.size(); ++d)
        box.extent[d] = shape[d];
    while (true) {
        for (std::int64_t left = shape[dim]; left > 0; left -= box.extent[dim]) {
            box.start[dim] = shape[dim] - left;
            box.extent[dim] = std::min(step, left);
            chunks.push_back(box);
        }
        std::size_t d = dim;
        while (d > 0 && ++box.start[d - 1] == shape[d - 1])
            box.start[--d] = 0;
        if (d == 0)
            return chunks;
    }
}

} // namespace forkpoint
