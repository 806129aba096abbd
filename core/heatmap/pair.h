// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/slice.h"

#include <functional>
#include <span>
#include <stop_token>

// A pair of tensors behind a slice: what the heatmap reads.
namespace forkpoint::heatmap {

/// The shape that a slice of this tensor is made of: its own, or with a last dim of 2 for the real and imaginary parts of complex elements.
Shape pictureShape(const TensorSource& source);

/// Two places of the same element of each side, for as long as the buffers it was read into live. Element (row, column) of the rectangle lies
/// at `bytes + (row * rowStride + column * columnStride) * item size`.
struct SliceSide {
    DType dtype = DType::Float32; ///< never complex
    const std::byte* bytes = nullptr; ///< null: this side was not asked for
    std::int64_t rowStride = 0, columnStride = 0; ///< in elements
};

struct SliceBlock {
    CellRect rect;
    SliceSide a, b;
};

enum class Sides : std::uint8_t { A, B, Both };

/// What one thread reads into.
struct SliceBuffers {
    ReadBuffer a, b;
};

class SlicedPair {
public:
    /// Sides of equal element count; B is seen in A's shape. Fails with Usage if the counts differ, one side is complex and the other not, or
    /// the axes do not fit pictureShape(*a).
    static Result<SlicedPair> make(TensorSourcePtr a, TensorSourcePtr b, SliceAxes axes);

    const Slice& slice() const { return m_slice; }
    DType dtypeA() const { return m_a->dtype(); } ///< of the parts, if the tensors are complex
    DType dtypeB() const { return m_b->dtype(); }

    /// The rectangle must lie on the picture. Cells that a fold's short last row lacks must not be looked at.
    Result<SliceBlock> read(const CellRect& rect, Sides sides, SliceBuffers& buffers) const;

    /// Splits `area` into rectangles of about `targetBytes` a side, larger than that only if a block of `rowStep` x `columnStep` cells is. They
    /// begin at multiples of these, are long where memory is contiguous, and come in the order of memory.
    std::vector<CellRect> blocks(const CellRect& area, std::int64_t rowStep, std::int64_t columnStep, std::size_t targetBytes) const;

private:
    SlicedPair(Slice slice, TensorSourcePtr a, TensorSourcePtr b);

    Slice m_slice;
    TensorSourcePtr m_a, m_b; ///< in the slice's merged shape
};

/// Runs work(index, buffers) for every index below `count`, on at most `threads` threads (0: as many as oneTBB gives). Stops early once one of
/// them fails or `stop` is triggered; returns the failure of the lowest index, else Cancelled, else nothing.
Result<void> forEachBlock(std::size_t count, int threads, const std::stop_token& stop,
                          const std::function<Result<void>(std::size_t, SliceBuffers&)>& work);

} // namespace forkpoint::heatmap
