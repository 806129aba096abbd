// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/window_source.h"

#include "core/tensor/box_ranges.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace forkpoint {

namespace {

class WindowSource : public TensorSource {
public:
    WindowSource(TensorSourcePtr source, Shape shape, std::vector<std::int64_t> at)
        : m_source(std::move(source))
        , m_shape(std::move(shape))
        , m_at(std::move(at))
    {
    }
    DType dtype() const override { return m_source->dtype(); }
    const Shape& shape() const override { return m_shape; }

    Result<std::span<const std::byte>> read(const Box& box, ReadBuffer& buffer) const override
    {
        if (auto ok = checkBox(m_shape, box); !ok) {
            return tl::unexpected(ok.error());
        }
        Box inner = box; // the part of the box that the source fills, in its own coordinates
        std::vector<std::int64_t> place(box.start.size());
        bool empty = box.elements() == 0;
        for (std::size_t d = 0; d < m_shape.size(); ++d) {
            const std::int64_t first = std::max(box.start[d], m_at[d]);
            const std::int64_t last = std::min(box.start[d] + box.extent[d], m_at[d] + m_source->shape()[d]);
            empty = empty || last <= first;
            inner.start[d] = first - m_at[d];
            inner.extent[d] = std::max<std::int64_t>(0, last - first);
            place[d] = first - box.start[d];
        }
        if (!empty && inner.extent == box.extent) {
            return m_source->read(inner, buffer.child(0));
        }
        const std::size_t item = itemSize(dtype());
        auto to = takeBytes(buffer, static_cast<std::size_t>(box.elements()) * item);
        if (!to) {
            return tl::unexpected(to.error());
        }
        std::fill(to->begin(), to->end(), std::byte { 0 });
        if (!empty) {
            const auto bytes = m_source->read(inner, buffer.child(0));
            if (!bytes) {
                return bytes;
            }
            copyBlock(*bytes, inner.extent, *to, box.extent, place, item);
        }
        return *to;
    }

private:
    TensorSourcePtr m_source;
    Shape m_shape;
    std::vector<std::int64_t> m_at;
};

} // namespace

Result<TensorSourcePtr> windowSource(TensorSourcePtr source, Shape shape, std::vector<std::int64_t> at)
{
    if (!source || shape.size() != source->shape().size() || at.size() != shape.size()) {
        return fail(ErrorCode::Usage, fmt::format("a frame of shape {} does not fit a tensor of shape {}", shapeText(shape),
                                                  source ? shapeText(source->shape()) : std::string("none")));
    }
    const auto elements = elementCount(shape);
    constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;
    if (!elements || *elements > kFar / 16 || std::any_of(at.begin(), at.end(), [](std::int64_t x) { return x > kFar || x < -kFar; })) {
        return fail(ErrorCode::Usage, fmt::format("a frame of shape {} is larger than can be addressed", shapeText(shape)));
    }
    return std::make_shared<WindowSource>(std::move(source), std::move(shape), std::move(at));
}

} // namespace forkpoint
