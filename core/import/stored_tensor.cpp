// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/stored_tensor.h"

#include "core/tensor/box_ranges.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace forkpoint::import {

namespace {

using View = Result<std::span<const std::byte>>;

constexpr std::size_t kMaxDims = 64;                      ///< numpy's limit is 64, PyTorch's too
constexpr std::int64_t kMaxRepeated = std::int64_t(1) << 32; ///< elements of a tensor that repeats its storage

void swapBytes(std::span<std::byte> bytes, std::size_t size)
{
    for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
        std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
    }
}

template <class T> void negateIntegers(std::span<std::byte> bytes)
{
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
        T value;
        std::memcpy(&value, bytes.data() + at, sizeof(T));
        value = static_cast<T>(T(0) - value); // unsigned: the most negative number stays what it is, as in PyTorch
        std::memcpy(bytes.data() + at, &value, sizeof(T));
    }
}

/// Flips the sign of the numbers of `size` bytes that begin at `first`, first + step, ...
void flipSigns(std::span<std::byte> bytes, std::size_t size, std::size_t first, std::size_t step)
{
    for (std::size_t at = first; at + size <= bytes.size(); at += step) {
        bytes[at + size - 1] ^= std::byte { 0x80 };
    }
}

void negate(std::span<std::byte> bytes, DType dtype)
{
    const std::size_t item = itemSize(dtype);
    if (isFloating(dtype) || isComplex(dtype)) {
        const std::size_t part = isComplex(dtype) ? item / 2 : item;
        flipSigns(bytes, part, 0, part);
    } else if (item == 8) {
        negateIntegers<std::uint64_t>(bytes);
    } else if (item == 4) {
        negateIntegers<std::uint32_t>(bytes);
    } else if (item == 2) {
        negateIntegers<std::uint16_t>(bytes);
    } else if (dtype != DType::Bool) {
        negateIntegers<std::uint8_t>(bytes);
    }
}

class StoredSource final : public TensorSource {
public:
    explicit StoredSource(StoredTensor tensor)
        : m_tensor(std::move(tensor))
        , m_item(itemSize(m_tensor.dtype))
        , m_dense(isDense())
        , m_asIs(!m_tensor.swapped && !m_tensor.conjugated && !m_tensor.negated)
    {
        if (auto afresh = m_tensor.bytes->afresh()) {
            m_tensor.bytes = std::move(afresh);
        }
    }
    DType dtype() const override { return m_tensor.dtype; }
    const Shape& shape() const override { return m_tensor.shape; }

    View read(const Box& box, ReadBuffer& buffer) const override
    {
        if (auto ok = checkBox(m_tensor.shape, box); !ok) {
            return tl::unexpected(std::move(ok.error()));
        }
        const std::int64_t elements = box.elements();
        if (elements == 0) {
            return std::span<const std::byte> {};
        }
        RangeWalk walk(m_tensor.shape, box);
        if (FlatRange range; m_dense && m_asIs && walk.count() == 1 && walk.next(range)) {
            View bytes = fetch(m_tensor.start + range.offset, range.count, buffer);
            if (!bytes || reinterpret_cast<std::uintptr_t>(bytes->data()) % m_item == 0) {
                return bytes;
            }
            auto aligned = takeBytes(buffer.child(1), bytes->size());
            if (!aligned) {
                return tl::unexpected(std::move(aligned.error()));
            }
            std::copy(bytes->begin(), bytes->end(), aligned->begin());
            return *aligned;
        }
        auto to = takeBytes(buffer, static_cast<std::size_t>(elements) * m_item);
        if (!to) {
            return tl::unexpected(std::move(to.error()));
        }
        if (auto done = gather(box.start, box.extent, *to, buffer.child(0)); !done) {
            return tl::unexpected(std::move(done.error()));
        }
        if (m_tensor.swapped) {
            swapBytes(*to, isComplex(m_tensor.dtype) ? m_item / 2 : m_item);
        }
        if (m_tensor.negated) {
            negate(*to, m_tensor.dtype);
        }
        if (m_tensor.conjugated) {
            flipSigns(*to, m_item / 2, m_item / 2, m_item);
        }
        return *to;
    }

private:
    bool isDense() const
    {
        const auto dense = rowMajorStrides(m_tensor.shape);
        for (std::size_t d = 0; d < dense.size(); ++d) {
            if (m_tensor.shape[d] != 1 && m_tensor.strides[d] != dense[d]) {
                return false;
            }
        }
        return true;
    }

    /// Elements of the storage, contiguous there.
    View fetch(std::int64_t first, std::int64_t count, ReadBuffer& buffer) const
    {
        return m_tensor.bytes->read(m_tensor.offset + static_cast<std::uint64_t>(first) * m_item, static_cast<std::size_t>(count) * m_item, buffer);
    }

    /// Copies a box, densely, into `to`. A box whose elements lie close together in the storage is fetched as one window; another one is cut in
    /// two along the dim that spreads it most.
    Result<void> gather(std::vector<std::int64_t> start, std::vector<std::int64_t> extent, std::span<std::byte> to, ReadBuffer& buffer) const
    {
        std::vector<std::int64_t> target(extent.size(), 1);
        for (std::size_t d = extent.size(); d-- > 1;) {
            target[d - 1] = target[d] * extent[d];
        }
        return gatherInto(start, extent, target, to.data(), buffer);
    }

    Result<void> gatherInto(const std::vector<std::int64_t>& start, const std::vector<std::int64_t>& extent, const std::vector<std::int64_t>& target,
                            std::byte* to, ReadBuffer& buffer) const
    {
        constexpr std::int64_t kNear = 64 << 10, kWindow = 4 << 20;
        std::int64_t first = m_tensor.start, spread = 0, elements = 1;
        std::size_t widest = 0;
        std::int64_t widestSpread = -1;
        for (std::size_t d = 0; d < extent.size(); ++d) {
            first += start[d] * m_tensor.strides[d];
            const std::int64_t own = (extent[d] - 1) * m_tensor.strides[d];
            spread += own;
            elements *= extent[d];
            if (extent[d] > 1 && own > widestSpread) {
                widest = d;
                widestSpread = own;
            }
        }
        const auto item = static_cast<std::int64_t>(m_item);
        const std::int64_t window = (spread + 1) * item;
        if (widestSpread > 0 && window > kNear && (window > kWindow || window / 8 > elements * item)) {
            auto lowExtent = extent, highExtent = extent, highStart = start;
            lowExtent[widest] = extent[widest] / 2;
            highExtent[widest] -= lowExtent[widest];
            highStart[widest] += lowExtent[widest];
            if (auto done = gatherInto(start, lowExtent, target, to, buffer); !done) {
                return done;
            }
            return gatherInto(highStart, highExtent, target, to + lowExtent[widest] * target[widest] * item, buffer);
        }
        View bytes = fetch(first, spread + 1, buffer);
        if (!bytes) {
            return tl::unexpected(std::move(bytes.error()));
        }
        const auto tail = extent.empty() ? std::int64_t(1) : extent.back();
        const auto step = extent.empty() ? std::int64_t(1) : m_tensor.strides.back();
        const std::size_t outer = extent.empty() ? 0 : extent.size() - 1;
        std::vector<std::int64_t> index(outer, 0);
        for (std::int64_t row = 0; row < elements / tail; ++row) {
            std::int64_t from = 0, at = 0;
            for (std::size_t d = 0; d < outer; ++d) {
                from += index[d] * m_tensor.strides[d];
                at += index[d] * target[d];
            }
            copyRow(bytes->data() + from * item, step, to + at * item, tail);
            for (std::size_t d = outer; d-- > 0;) {
                if (++index[d] < extent[d]) {
                    break;
                }
                index[d] = 0;
            }
        }
        return {};
    }

    void copyRow(const std::byte* from, std::int64_t step, std::byte* to, std::int64_t count) const
    {
        if (step == 1) {
            std::memcpy(to, from, static_cast<std::size_t>(count) * m_item);
            return;
        }
        const auto skip = step * static_cast<std::int64_t>(m_item);
        const auto copyAs = [&](auto size) {
            for (std::int64_t i = 0; i < count; ++i) {
                std::memcpy(to + static_cast<std::size_t>(i) * size(), from + i * skip, size());
            }
        };
        switch (m_item) {
        case 1:
            return copyAs(std::integral_constant<std::size_t, 1>());
        case 2:
            return copyAs(std::integral_constant<std::size_t, 2>());
        case 4:
            return copyAs(std::integral_constant<std::size_t, 4>());
        case 8:
            return copyAs(std::integral_constant<std::size_t, 8>());
        default:
            return copyAs(std::integral_constant<std::size_t, 16>());
        }
    }

    StoredTensor m_tensor;
    std::size_t m_item;
    bool m_dense, m_asIs;
};

} // namespace

std::vector<std::int64_t> rowMajorStrides(const Shape& shape)
{
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) {
        strides[d - 1] = strides[d] * std::max<std::int64_t>(shape[d], 1);
    }
    return strides;
}

std::string storedProblem(const StoredTensor& tensor)
{
    if (tensor.shape.size() > kMaxDims) {
        return fmt::format("{} dims are more than any tensor has", tensor.shape.size());
    }
    const auto elements = elementCount(tensor.shape);
    std::int64_t bytes = 0;
    if (!elements || __builtin_mul_overflow(*elements, static_cast<std::int64_t>(itemSize(tensor.dtype)), &bytes)) {
        return fmt::format("the shape {} has more elements than can be counted", shapeText(tensor.shape));
    }
    if (tensor.strides.size() != tensor.shape.size()) {
        return fmt::format("{} strides for {} dims", tensor.strides.size(), tensor.shape.size());
    }
    const std::uint64_t file = tensor.bytes->size();
    if (tensor.offset > file || tensor.storage > file - tensor.offset) {
        return fmt::format("its {} bytes at byte {} are not in the file, which ends at byte {}", tensor.storage, tensor.offset, file);
    }
    if (*elements == 0) {
        return {};
    }
    std::int64_t last = tensor.start;
    bool fits = tensor.start >= 0;
    for (std::size_t d = 0; fits && d < tensor.shape.size(); ++d) {
        std::int64_t reach = 0;
        fits = tensor.strides[d] >= 0 && !__builtin_mul_overflow(tensor.shape[d] - 1, tensor.strides[d], &reach) && !__builtin_add_overflow(last,
            reach, &last);
    }
    const std::uint64_t held = tensor.storage / itemSize(tensor.dtype);
    if (!fits || static_cast<std::uint64_t>(last) >= held) {
        return fmt::format("shape {} with strides {} from element {} leaves its storage of {} elements", shapeText(tensor.shape),
            shapeText(tensor.strides),
                           tensor.start, held);
    }
    if (static_cast<std::uint64_t>(*elements) > held && *elements > kMaxRepeated) {
        return fmt::format("shape {} repeats {} elements more often than can be meant", shapeText(tensor.shape), held);
    }
    return {};
}

TensorSourcePtr storedSource(StoredTensor tensor) { return std::make_shared<StoredSource>(std::move(tensor)); }

} // namespace forkpoint::import
