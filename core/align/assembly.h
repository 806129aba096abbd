// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side.h"
#include "core/tensor/tensor_source.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

// How the parts of one side become the tensor that is compared.
namespace forkpoint::align {

/// One recorded tensor and where it was recorded.
struct Part {
    const bundle::RankData* rank = nullptr;
    const bundle::TensorRecord* record = nullptr;
    std::int32_t micro = 0;
    std::uint32_t rankIndex = 0; ///< of the rank in Side::ranks
    std::uint32_t piece = 0;     ///< which of several tensors that a mapping joins to one
    bool operator==(const Part&) const = default;
};

using PartGrid = std::vector<std::vector<Part>>; ///< [micro][rank]; a part without record is missing

/// The parts of one tensor, to be read only: [micro][rank]. A comparison has a million of these, and nearly all hold one part, which lies in place.
class PartRows {
public:
    PartRows() = default;
    PartRows(const Part& only) : m_only(only) { }
    PartRows(PartGrid rows)
    {
        if (rows.size() == 1 && rows.front().size() == 1) {
            m_only = rows.front().front();
        } else {
            m_rows = std::move(rows);
        }
    }

    std::size_t size() const { return m_only.record ? 1 : m_rows.size(); }
    bool empty() const { return size() == 0; }
    std::span<const Part> operator[](std::size_t row) const { return m_only.record ? std::span(&m_only, 1) : std::span<const Part>(m_rows[row]); }
    std::span<const Part> front() const { return (*this)[0]; }
    PartGrid grid() const { return m_only.record ? PartGrid { { m_only } } : *m_rows; }

    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::span<const Part>;
        using reference = value_type;
        using pointer = void;
        using difference_type = std::ptrdiff_t;
        std::span<const Part> operator*() const { return (*m_of)[m_row]; }
        Iterator& operator++()
        {
            ++m_row;
            return *this;
        }
        Iterator operator++(int) { return { m_of, m_row++ }; }
        bool operator==(const Iterator&) const = default;

    private:
        friend class PartRows;
        Iterator(const PartRows* of, std::size_t row) : m_of(of), m_row(row) { }
        const PartRows* m_of = nullptr;
        std::size_t m_row = 0;
    };
    Iterator begin() const { return { this, 0 }; }
    Iterator end() const { return { this, size() }; }

private:
    Part m_only; ///< without a record: it is m_rows that counts
    bundle::SharedValue<PartGrid> m_rows;
};

enum class Join : std::uint8_t {
    Single,    ///< there is one part
    Replicate, ///< every part is the whole; the lane takes one of them
    Concat,    ///< pieces along a dim
    Sum,       ///< weighted sum
};

/// How the parts along one axis are joined: an axis of the mesh (dp, tp), or the tensors that a mapping makes one of.
struct JoinLevel {
    Join join = Join::Concat; ///< Concat or Sum
    std::int64_t dim = 0;     ///< of a concatenation
    std::size_t size = 1;     ///< parts along the axis
    std::int64_t groups = 1;  ///< Concat: each part is cut into so many blocks along `dim`, and block i of every part lies before block i + 1 of any
    bool pieces = false;      ///< the axis is that of a mapping
    bool operator==(const JoinLevel&) const = default;
};

using SharedOrder = bundle::SharedValue<std::vector<std::int64_t>>;

/// One side of one lane: parts[micro][rank], joined over ranks first, then over micro-steps, then reordered. Where the ranks form a mesh of
/// several axes, a row of parts is row-major over `outer`, outermost first, and then over what `ranks` joins. What many lanes have in common is
/// shared.
struct Assembly {
    PartRows parts;
    bundle::SharedValue<std::vector<JoinLevel>> outer;
    Join ranks = Join::Single;
    Join micros = Join::Single;
    bool padLeft = false;            ///< `positions`: by zeros before a part, not after it
    std::uint8_t orderDim = 0;       ///< of `order`
    bool rowNumbers = false;         ///< integers that number the samples, as joined: they follow `order`, too
    std::uint8_t secondDim = 0;      ///< of `secondOrder`
    std::uint8_t microDim = 0;       ///< of a concatenation over micro-steps
    std::int32_t microBlocks = 1;    ///< ... each is cut into so many blocks, as JoinLevel::groups says
    DType dtype = DType::Float32;    ///< of the parts
    std::int64_t dim = 0;            ///< of a concatenation over ranks
    double weight = 1;               ///< of every part
    SharedOrder order;               ///< result sample i is sample order[i] of the joined tensor; empty: as it is
    std::int64_t samples = 0;        ///< number of samples that `order` permutes
    SharedOrder secondOrder;         ///< likewise for equal blocks along `secondDim`, after `order`: positions, or samples along another dim, too
    bundle::SharedShape shape;       ///< of the result; where the joined parts are longer (padding of the last ones), what lies beyond is cut off
    std::int64_t positions = 0;      ///< ranks padded to other lengths: every part is brought to this length along dim 1; 0: as they are

    /// The record if the whole is just that: one part, unscaled, in its own order.
    const bundle::TensorRecord* soleRecord() const;
};

/// The assembled tensor. Fails as Bundle::source does, or with Usage if the parts do not fit.
Result<TensorSourcePtr> open(const bundle::Bundle& bundle, const Assembly& assembly);

/// The parts, each opened by `openPart` and weighted, joined over ranks and then over micro-steps; not cut to shape and not reordered. `flat`: the
/// parts have one dimension, along which all of them are joined.
using OpenPart = std::function<Result<TensorSourcePtr>(const bundle::Bundle&, const Part&)>;
Result<TensorSourcePtr> openParts(const bundle::Bundle& bundle, const Assembly& assembly, bool flat, const OpenPart& openPart);

/// Shapes in the order of a row of parts, joined along these levels (outermost first); nullopt if they do not fit.
std::optional<Shape> joinedShape(std::vector<Shape> shapes, const std::vector<JoinLevel>& levels);

/// The levels over which a row of so many parts is joined: `outer` and then `ranks`.
std::vector<JoinLevel> joinLevels(const Assembly& assembly, std::size_t parts);

/// "ranks 0-1 concatenated along dim 0, rows reordered": the plan in words; empty for a single part taken as it is.
std::string describe(const Assembly& assembly);

/// "ranks 0-1", "rank 3", "ranks 0, 2-3".
std::string rankList(std::vector<int> ranks);

} // namespace forkpoint::align
