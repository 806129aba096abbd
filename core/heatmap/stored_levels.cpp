// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
//
// A pyramid without its tensors: what of it can be taken along, and made a pyramid again elsewhere.
#include "core/heatmap/level_store.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace forkpoint::heatmap {

namespace {

constexpr std::size_t kMostCells = std::size_t{1} << 32;

/// Stands for a tensor whose elements are elsewhere.
class AbsentSource final : public TensorSource {
public:
    AbsentSource(DType dtype, Shape shape)
        : m_dtype(dtype)
        , m_shape(std::move(shape))
    {
    }
    DType dtype() const override { return m_dtype; }
    const Shape& shape() const override { return m_shape; }
    Result<std::span<const std::byte>> read(const Box&, ReadBuffer&) const override
    {
        return fail(ErrorCode::NotFound, "only an overview of this tensor was kept, without its elements");
    }

private:
    DType m_dtype;
    Shape m_shape;
};

/// What drawing relies on: no NaN; infinity only as the minimum and minus infinity as the maximum of no value.
template <class Real>
bool holdsOnlyCells(const CellPlanes<Real>& planes, std::size_t cells)
{
    const auto all = [cells](const Real* plane, auto good) { return std::all_of(plane, plane + cells, good); };
    const auto low = [](Real v) { return std::isfinite(v) || v > 0; };
    const auto high = [](Real v) { return std::isfinite(v) || v < 0; };
    const auto finite = [](Real v) { return std::isfinite(v); };
    return all(planes.minA, low) && all(planes.minB, low) && all(planes.maxA, high) && all(planes.maxB, high) && all(planes.difference, finite)
        && all(planes.relative, finite) && all(planes.ulp, finite);
}

Error damaged(std::string_view what) { return {ErrorCode::Corrupt, fmt::format("the overview of a tensor is damaged: {}", what), {}}; }

Result<SlicedPair> slicedPair(const StoredLevels& stored)
{
    if (isComplex(stored.dtypeA) || isComplex(stored.dtypeB) || !elementCount(stored.shape))
        return tl::unexpected(damaged("its type or shape is none"));
    return SlicedPair::make(std::make_shared<AbsentSource>(stored.dtypeA, stored.shape), std::make_shared<AbsentSource>(stored.dtypeB, stored.shape), stored.axes);
}

template <class Real>
StoredSizes sizesOf(std::size_t cells)
{
    return {kPlanes * cells * sizeof(Real), cells * sizeof(std::uint16_t), sizeof(Real)};
}

} // namespace

Result<StoredSizes> storedSizes(const StoredLevels& stored)
{
    const auto pair = slicedPair(stored);
    if (!pair)
        return tl::unexpected(damaged(pair.error().message));
    const auto levels = levelShapes(pair->slice());
    if (stored.first < 0 || static_cast<std::size_t>(stored.first) >= levels.size())
        return tl::unexpected(damaged("it begins at a level that there is not"));
    for (std::size_t level = static_cast<std::size_t>(stored.first); level < levels.size(); ++level) {
        if (static_cast<std::size_t>(levels[level].rows) > kMostCells / static_cast<std::size_t>(levels[level].columns))
            return tl::unexpected(damaged("it is larger than any that is kept"));
    }
    const std::size_t cells = cellsFrom(levels, stored.first);
    return isWidePair(stored.dtypeA, stored.dtypeB) ? sizesOf<double>(cells) : sizesOf<float>(cells);
}

StoredLevels Pyramid::stored() const
{
    StoredLevels out{slice().shape(), slice().axes(), dtypeA(), dtypeB(), options().rtol, options().atol, counts(), firstStoredLevel(), {}, {}};
    std::visit([&]<class Real>(const CellStore<Real>& store) {
        const std::size_t cells = cellsFrom(m_data->levels, m_data->firstStored);
        const StoredSizes sizes = sizesOf<Real>(cells);
        out.values.resize(sizes.values);
        out.flags.resize(sizes.flags);
        if (cells > 0) {
            std::memcpy(out.values.data(), store.values.get(), sizes.values);
            std::memcpy(out.flags.data(), store.flags.get(), sizes.flags);
        }
    }, m_data->store);
    return out;
}

Result<std::shared_ptr<const Pyramid>> Pyramid::restored(StoredLevels stored)
try {
    const auto sizes = storedSizes(stored);
    if (!sizes)
        return tl::unexpected(sizes.error());
    if (stored.values.size() != sizes->values || stored.flags.size() != sizes->flags)
        return tl::unexpected(damaged("its levels are not of the size that its shape says"));
    if (!(stored.rtol >= 0) || !(stored.atol >= 0))
        return tl::unexpected(damaged("its tolerance is none"));
    auto pair = slicedPair(stored);
    PyramidOptions options;
    options.rtol = stored.rtol;
    options.atol = stored.atol;
    auto data = std::make_unique<Data>(Data{std::move(*pair), options, stored.counts, {}, stored.first, sizes->values + sizes->flags, false, {}});
    data->levels = levelShapes(data->pair.slice());
    const auto fill = [&]<class Real>(CellStore<Real> store) {
        std::memcpy(store.values.get(), stored.values.data(), sizes->values);
        std::memcpy(store.flags.get(), stored.flags.data(), sizes->flags);
        bool sound = true;
        for (std::size_t level = static_cast<std::size_t>(stored.first); level < data->levels.size(); ++level)
            sound = sound && holdsOnlyCells(store.levels[level], static_cast<std::size_t>(data->levels[level].whole().cells()));
        data->store = std::move(store);
        return sound;
    };
    const bool sound = isWidePair(stored.dtypeA, stored.dtypeB) ? fill(allocated<double>(data->levels, stored.first, options.cacheBudget))
                                                                : fill(allocated<float>(data->levels, stored.first, options.cacheBudget));
    if (!sound)
        return tl::unexpected(damaged("a cell holds what is no value"));
    return std::shared_ptr<const Pyramid>(new Pyramid(std::move(data)));
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::Unreadable, "not enough memory for the overview of a tensor");
}

bool Pyramid::readable() const { return m_data->readable; }

} // namespace forkpoint::heatmap
