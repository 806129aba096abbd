// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/dtype.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace forkpoint {

using Shape = std::vector<std::int64_t>; ///< row-major; empty for a 0-d tensor, which has one element

/// Product of the sizes; nullopt on a negative size or when the product of those that are not 0 overflows int64 (so that strides fit too).
std::optional<std::int64_t> elementCount(const Shape& shape);

/// A half-open block of a tensor: `start[i] <= index[i] < start[i] + extent[i]`. Both have the tensor's rank.
struct Box {
    std::vector<std::int64_t> start;
    std::vector<std::int64_t> extent;

    static Box whole(const Shape& shape);
    std::int64_t elements() const; ///< 1 for a 0-d box; 0 if the extent is no valid shape
    bool operator==(const Box&) const = default;
};

/// Reusable memory for one thread's reads. A span returned by TensorSource::read may lie in it, and is valid until the next read with it.
class ReadBuffer {
public:
    /// What a buffer holds between reads, so that a source finds the frame that it decompressed last. Owners are unique numbers, never 0.
    struct Content {
        std::uint64_t owner = 0;
        std::uint64_t part = 0;
        bool operator==(const Content&) const = default;
    };

    std::span<std::byte> take(std::size_t bytes); ///< at least 64-byte aligned, contents undefined; what was remembered is forgotten
    ReadBuffer& child(std::size_t index);         ///< buffers for the sources below a composed one; the reference stays valid
    void remember(Content content);               ///< the bytes taken last hold this, complete
    std::optional<std::span<const std::byte>> recall(Content content) const; ///< those bytes, if they still hold it
    std::size_t capacity() const;                 ///< bytes of memory, with those of its children

private:
    std::unique_ptr<std::byte[]> m_bytes; ///< not filled: zeros would cost as much as a read
    std::size_t m_capacity = 0;
    std::span<std::byte> m_used;
    Content m_content;
    std::vector<std::unique_ptr<ReadBuffer>> m_children;
};

/// A tensor that can be read in blocks: bytes of a bundle, a concatenation of shards, a weighted sum, reordered rows. Metrics, heatmaps and
/// replay see nothing else, and nobody assembles a whole tensor. Immutable and safe to read from many threads, each with its own buffer.
class TensorSource {
public:
    virtual ~TensorSource() = default;
    virtual DType dtype() const = 0;
    virtual const Shape& shape() const = 0;

    /// The elements of `box` in row-major order, box.elements() * itemSize(dtype()) bytes, aligned to the item size. Points into memory of
    /// the source where the block is contiguous there, else into `buffer`. Fails with Usage if the box leaves the shape, Corrupt or
    /// Truncated if the bytes are bad, Unreadable if the system refuses them.
    virtual Result<std::span<const std::byte>> read(const Box& box, ReadBuffer& buffer) const = 0;

    /// Boxes that partition the tensor in row-major order, each contiguous in the flattened tensor, of about `targetBytes` (at least one
    /// element each; none for an empty tensor). Reading these in turn is the fast way through.
    virtual std::vector<Box> preferredChunks(std::size_t targetBytes = 1u << 20) const;
};

using TensorSourcePtr = std::shared_ptr<const TensorSource>;

/// The default partition used by preferredChunks.
std::vector<Box> contiguousChunks(const Shape& shape, std::size_t itemSize, std::size_t targetBytes);

} // namespace forkpoint
