// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/gather_source.h"

#include "core/tensor/box_ranges.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace forkpoint {

namespace {

class GatherSource final : public TensorSource {
public:
    GatherSource(TensorSourcePtr source, std::vector<std::int64_t> indices)
        : m_source(std::move(source))
        , m_indices(std::move(indices))
        , m_shape { std::ssize(m_indices) }
    {
    }
    DType dtype() const override { return m_source->dtype(); }
    const Shape& shape() const override { return m_shape; }

    Result<std::span<const std::byte>> read(const Box& box, ReadBuffer& buffer) const override
    {
        if (Result<void> ok = checkBox(m_shape, box); !ok) {
            return tl::unexpected(std::move(ok.error()));
        }
        const std::size_t item = itemSize(dtype());
        const auto first = static_cast<std::size_t>(box.start[0]), count = static_cast<std::size_t>(box.extent[0]);
        const auto out = buffer.take(count * item);
        const Shape& shape = m_source->shape();
        Box one { Shape(shape.size(), 0), Shape(shape.size(), 1) };
        for (std::size_t i = 0; i < count; ++i) {
            std::int64_t rest = m_indices[first + i];
            for (std::size_t d = shape.size(); d-- > 0;) {
                one.start[d] = rest % shape[d];
                rest /= shape[d];
            }
            const auto bytes = m_source->read(one, buffer.child(0));
            if (!bytes) {
                return bytes;
            }
            std::memcpy(out.data() + i * item, bytes->data(), item);
        }
        return std::span<const std::byte>(out.data(), count * item);
    }

private:
    TensorSourcePtr m_source;
    std::vector<std::int64_t> m_indices;
    Shape m_shape;
};

} // namespace

Result<TensorSourcePtr> gatherSource(TensorSourcePtr source, std::vector<std::int64_t> indices)
{
    const auto count = elementCount(source->shape()).value_or(0);
    if (std::any_of(indices.begin(), indices.end(), [count](std::int64_t i) { return i < 0 || i >= count; })) {
        return fail(ErrorCode::Usage, fmt::format("an element to gather lies outside the {} elements of the tensor", count));
    }
    return std::make_shared<GatherSource>(std::move(source), std::move(indices));
}

} // namespace forkpoint
