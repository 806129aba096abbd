// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/kernel.h"

#include "core/heatmap/careful_rows.h"
#include "core/heatmap/decode.h"
#include "core/heatmap/finite_rows.h"
#include "core/heatmap/halving.h"
#include "core/metrics/ulp.h"

#include <algorithm>
#include <cmath>

namespace forkpoint::heatmap {

using namespace kernel;
using namespace metrics; // the elements' types and arithmetic

namespace {

/// How a pair of types is worked on.
enum class UlpKind : std::uint8_t { OfReal, OfStoredBits, OfIntegers };

UlpKind ulpKindOf(DType a, DType b)
{
    if (isInteger(a) && isInteger(b))
        return UlpKind::OfIntegers;
    return a == b && partSize(a) <= 2 ? UlpKind::OfStoredBits : UlpKind::OfReal;
}

/// A block of the pair on its way to cells.
template <class Real>
struct Job {
    const SliceBlock& block;
    const Slice& slice;
    int rowShift, columnShift;
    const Tolerance& tolerance;
    Counts& counts;
    bool directA, directB; ///< stored as the Real that is worked on
};

/// The decoders for a pair of types.
template <class Real>
struct Decoders {
    using Decode = void (*)(const std::byte*, std::int64_t, int, Real*);
    using DecodeOrder = void (*)(const std::byte*, std::int64_t, int, Order<Real>*);
    Decode a = nullptr, b = nullptr;
    DecodeOrder orderA = nullptr, orderB = nullptr; ///< null: from the decoded numbers
};

const std::byte* addressOf(const SliceSide& side, std::int64_t row, std::int64_t column)
{
    return side.bytes + (row * side.rowStride + column * side.columnStride) * static_cast<std::int64_t>(partSize(side.dtype));
}

/// Numbers of one row of a side, in place if they lie there as they are needed.
template <class Real>
const Real* numbersAt(const SliceSide& side, std::int64_t row, std::int64_t column, int n, bool direct, typename Decoders<Real>::Decode decode,
                      Real* buffer)
{
    const std::byte* const bytes = addressOf(side, row, column);
    if (direct && n == kBlock && side.columnStride == 1 && reinterpret_cast<std::uintptr_t>(bytes) % alignof(Real) == 0)
        return reinterpret_cast<const Real*>(bytes);
    decode(bytes, side.columnStride, n, buffer);
    return buffer;
}

template <class Real, unsigned kPlanes>
FORKPOINT_INLINE void clearBody(Panel<Real>& panel, int block)
{
    const Columns<Real> columns = columnsAt(panel.extremes, block * kBlock);
    if constexpr ((kPlanes & kPlaneA) != 0) {
        std::fill_n(columns.minA, kBlock, kInfinite<Real>);
        std::fill_n(columns.maxA, kBlock, -kInfinite<Real>);
    }
    if constexpr ((kPlanes & kPlaneB) != 0) {
        std::fill_n(columns.minB, kBlock, kInfinite<Real>);
        std::fill_n(columns.maxB, kBlock, -kInfinite<Real>);
    }
    if constexpr (isPair(kPlanes)) { // careful rows do not ask which of these are wanted
        std::fill_n(columns.minD, kBlock, Real{0});
        std::fill_n(columns.maxD, kBlock, Real{0});
        std::fill_n(columns.relative, kBlock, Real{0});
        std::fill_n(columns.ulp, kBlock, Distance<Real>{0});
    }
}

FORKPOINT_INLINE std::uint32_t* flagsOfBlock(std::uint32_t* flags, bool& used)
{
    if (!used)
        std::fill_n(flags, kBlock, 0u);
    used = true;
    return flags;
}

/// kCount rows from `row` on of up to 128 columns from `column` on, to a block of the panel.
template <class Real, unsigned kPlanes, int kCount, bool kStoredOrder, bool kIntegers>
FORKPOINT_INLINE void rowsBody(const Job<Real>& job, const Decoders<Real>& decode, std::int64_t row, std::int64_t column, int width, int block,
                               Panel<Real>& panel, Rows<Real>& rows, Extremes<Real, kBlock>& spare)
{
    const CellRect& rect = job.block.rect;
    int valid[kCount];
    bool plain = true; // a fold's last row is short
    for (int r = 0; r < kCount; ++r) {
        valid[r] = static_cast<int>(std::clamp<std::int64_t>(job.slice.columnsInRow(rect.row + row + r) - rect.column - column, 0, width));
        plain = plain && valid[r] == width;
        rows.orderA[r] = rows.orderB[r] = nullptr;
        if (valid[r] == 0)
            continue;
        if constexpr (needsA(kPlanes))
            rows.a[r] = numbersAt<Real>(job.block.a, row + r, column, valid[r], job.directA, decode.a, rows.numbersA[r]);
        if constexpr (needsB(kPlanes))
            rows.b[r] = numbersAt<Real>(job.block.b, row + r, column, valid[r], job.directB, decode.b, rows.numbersB[r]);
        if constexpr (isPair(kPlanes) && (kStoredOrder || kIntegers)) {
            decode.orderA(addressOf(job.block.a, row + r, column), job.block.a.columnStride, valid[r], rows.ordersA[r]);
            decode.orderB(addressOf(job.block.b, row + r, column), job.block.b.columnStride, valid[r], rows.ordersB[r]);
            rows.orderA[r] = rows.ordersA[r];
            rows.orderB[r] = rows.ordersB[r];
        }
        job.counts.elements += valid[r];
    }
    const Columns<Real> columns = columnsAt(panel.extremes, block * kBlock);
    std::uint32_t* const flags = panel.flags + block * kBlock;
    const bool fresh = !panel.touched[block];
    if (plain) {
        const Columns<Real> to = fresh ? columns : columnsAt(spare, 0);
        const Findings found = extremesBody<Real, kPlanes, kCount, kStoredOrder, kIntegers>(rows, to);
        plain = found.finite;
        if (plain) {
            const int padding = kBlock - width;
            if constexpr ((kPlanes & kPlaneClass) != 0) {
                job.counts.differing += found.differing;
                for (int r = 0; r < kCount && padding > 0; ++r)
                    job.counts.differing -= rows.a[r][kBlock - 1] != rows.b[r][kBlock - 1] ? padding : 0;
                // The largest number that is not above atol; no threshold is below atol, so nothing up to it is over. But an infinite rtol times 0
                // is NaN, and everything is over that.
                Real certain = static_cast<Real>(std::min(job.tolerance.atol, static_cast<double>(kLargest<Real>)));
                if (static_cast<double>(certain) > job.tolerance.atol)
                    certain = std::nextafter(certain, Real{0});
                if (std::isinf(job.tolerance.rtol) || anyBeyondBody(to, certain)) {
                    for (int r = 0; r < kCount; ++r) {
                        job.counts.over += overBody<Real, kIntegers>(rows, r, job.tolerance, flagsOfBlock(flags, panel.flagged[block]));
                        if (padding > 0) {
                            const Real a = rows.a[r][kBlock - 1];
                            const double d = kIntegers ? difference(static_cast<std::int64_t>(rows.orderA[r][kBlock - 1]),
                                                                    static_cast<std::int64_t>(rows.orderB[r][kBlock - 1]))
                                                       : static_cast<double>(rows.b[r][kBlock - 1] - a);
                            job.counts.over -= violatesTolerance(a, d, job.tolerance.rtol, job.tolerance.atol) ? padding : 0;
                        }
                    }
                }
            }
            if (!fresh)
                mergeBody<Real, kPlanes>(columns, to);
            if constexpr (isPair(kPlanes))
                job.counts.finitePairs += std::int64_t{kCount} * width;
            panel.blockFlags[block] |= ((kPlanes & kPlaneA) != 0 ? unsigned{kFiniteA} : 0u) | ((kPlanes & kPlaneB) != 0 ? unsigned{kFiniteB} : 0u) |
                                       (isPair(kPlanes) ? unsigned{kFinitePair} : 0u);
        }
    }
    if (!plain) {
        if (fresh)
            clearBody<Real, kPlanes>(panel, block);
        CarefulRow<Real> careful(columns, flagsOfBlock(flags, panel.flagged[block]), kPlanes, kIntegers, job.tolerance, job.counts);
        for (int r = 0; r < kCount; ++r)
            careful.add(rows, r, valid[r]);
    }
    panel.touched[block] = true;
}

template <class Real, unsigned kPlanes>
FORKPOINT_INLINE void storePanelBody(Panel<Real>& panel, std::int64_t column, int width, int columnShift, const CellPlanes<Real>& cells)
{
    const int halvings = std::min(columnShift, 7);
    for (int block = 0; block * kBlock < width; ++block) {
        const std::int64_t begin = column + block * kBlock;
        const std::int64_t at = begin >> columnShift;
        const bool first = (begin & ((std::int64_t{1} << columnShift) - 1)) == 0;
        const int columns = std::min(width - block * kBlock, kBlock);
        const std::int64_t n = (columns + (1 << halvings) - 1) >> halvings;
        const Columns<Real> from = columnsAt(panel.extremes, block * kBlock);
        if constexpr ((kPlanes & kPlaneA) != 0) {
            putBody(from.minA, halvings, n, first, Lower(), cells.minA + at);
            putBody(from.maxA, halvings, n, first, Higher(), cells.maxA + at);
        }
        if constexpr ((kPlanes & kPlaneB) != 0) {
            putBody(from.minB, halvings, n, first, Lower(), cells.minB + at);
            putBody(from.maxB, halvings, n, first, Higher(), cells.maxB + at);
        }
        if constexpr (needsD(kPlanes)) {
            halvedBody(from.minD, halvings, Lower());
            halvedBody(from.maxD, halvings, Higher());
            for (std::int64_t i = 0; i < n; ++i)
                from.maxD[i] = largerMagnitude(from.minD[i], from.maxD[i]);
        }
        if constexpr ((kPlanes & kPlaneDifference) != 0)
            putBody(from.maxD, 0, n, first, Larger(), cells.difference + at);
        if constexpr ((kPlanes & kPlaneRelative) != 0)
            putBody(from.relative, halvings, n, first, Higher(), cells.relative + at);
        if constexpr ((kPlanes & kPlaneUlp) != 0)
            putBody(from.ulp, halvings, n, first, Higher(), cells.ulp + at);
        std::uint32_t* const flags = flagsOfBlock(panel.flags + block * kBlock, panel.flagged[block]);
        halvedBody(flags, halvings, Either());
        const std::uint32_t all = panel.blockFlags[block];
        for (std::int64_t i = 0; i < n; ++i) {
            std::uint32_t sum = flags[i] | all;
            if constexpr ((kPlanes & kPlaneClass) != 0)
                sum |= from.maxD[i] != 0 ? unsigned{kDiffers} : 0u;
            cells.flags[at + i] = static_cast<std::uint16_t>(first ? sum : cells.flags[at + i] | sum);
        }
    }
}

template <class Real, unsigned kPlanes, bool kStoredOrder, bool kIntegers>
FORKPOINT_INLINE void poolBody(const Job<Real>& job, const Decoders<Real>& decode, const CellPlanes<Real>& cells)
{
    Panel<Real> panel;
    Rows<Real> rows;
    Extremes<Real, kBlock> spare;
    const CellRect& rect = job.block.rect;
    const std::int64_t cellRows = std::int64_t{1} << job.rowShift;
    for (std::int64_t top = 0; top < rect.rows; top += cellRows) {
        const CellPlanes<Real> to = cells.at(top >> job.rowShift, 0);
        const std::int64_t bottom = std::min(top + cellRows, rect.rows);
        for (std::int64_t column = 0; column < rect.columns; column += kPanel) {
            const int width = static_cast<int>(std::min<std::int64_t>(rect.columns - column, kPanel));
            std::fill_n(panel.blockFlags, kBlocks, 0u);
            std::fill_n(panel.touched, kBlocks, false);
            std::fill_n(panel.flagged, kBlocks, false);
            std::int64_t row = top;
            for (; row + kRows <= bottom; row += kRows) {
                for (int block = 0; block * kBlock < width; ++block)
                    rowsBody<Real, kPlanes, kRows, kStoredOrder, kIntegers>(job, decode, row, column + block * kBlock,
                                                                            std::min(width - block * kBlock, kBlock), block, panel, rows, spare);
            }
            for (; row < bottom; ++row) {
                for (int block = 0; block * kBlock < width; ++block)
                    rowsBody<Real, kPlanes, 1, kStoredOrder, kIntegers>(job, decode, row, column + block * kBlock,
                                                                        std::min(width - block * kBlock, kBlock), block, panel, rows, spare);
            }
            storePanelBody<Real, kPlanes>(panel, column, width, job.columnShift, to);
        }
    }
}

// ---- instruction sets

struct Portable {
    template <class Stored, class Real>
    static void decode(const std::byte* bytes, std::int64_t stride, int n, Real* to)
    {
        decodeBody<Stored, Real>(bytes, stride, n, to);
    }
    template <class Stored, class Real>
    static void order(const std::byte* bytes, std::int64_t stride, int n, Order<Real>* to)
    {
        orderBody<Stored, Real>(bytes, stride, n, to);
    }
    template <class Real, unsigned kPlanes, bool kStoredOrder, bool kIntegers>
    static void pool(const Job<Real>& job, const Decoders<Real>& decode, const CellPlanes<Real>& cells)
    {
        poolBody<Real, kPlanes, kStoredOrder, kIntegers>(job, decode, cells);
    }
};

struct Avx2 {
    template <class Stored, class Real>
    FORKPOINT_AVX2 static void decode(const std::byte* bytes, std::int64_t stride, int n, Real* to)
    {
        decodeBody<Stored, Real>(bytes, stride, n, to);
    }
    template <class Stored, class Real>
    FORKPOINT_AVX2 static void order(const std::byte* bytes, std::int64_t stride, int n, Order<Real>* to)
    {
        orderBody<Stored, Real>(bytes, stride, n, to);
    }
    template <class Real, unsigned kPlanes, bool kStoredOrder, bool kIntegers>
    FORKPOINT_AVX2 static void pool(const Job<Real>& job, const Decoders<Real>& decode, const CellPlanes<Real>& cells)
    {
        poolBody<Real, kPlanes, kStoredOrder, kIntegers>(job, decode, cells);
    }
};

template <class Isa, class Real>
Decoders<Real> decodersFor(DType a, DType b)
{
    const auto numbers = [](DType dtype) {
        return dispatch(dtype, [](auto stored) -> typename Decoders<Real>::Decode { return &Isa::template decode<decltype(stored), Real>; });
    };
    const auto order = [](DType dtype) {
        return dispatch(dtype, [](auto stored) -> typename Decoders<Real>::DecodeOrder {
            if constexpr (std::is_floating_point_v<decltype(stored)>)
                return nullptr;
            else
                return &Isa::template order<decltype(stored), Real>;
        });
    };
    Decoders<Real> decoders{numbers(a), numbers(b), nullptr, nullptr};
    if (ulpKindOf(a, b) != UlpKind::OfReal) {
        decoders.orderA = order(a);
        decoders.orderB = order(b);
    }
    return decoders;
}

template <class Isa, class Real, unsigned kPlanes>
void poolPlanes(const Job<Real>& job, const CellPlanes<Real>& cells)
{
    const DType a = job.block.a.dtype, b = job.block.b.dtype;
    const Decoders<Real> decode = decodersFor<Isa, Real>(a, b);
    const UlpKind kind = ulpKindOf(a, b);
    // What order has no part in is compiled once.
    constexpr bool kOrdered = (kPlanes & kPlaneUlp) != 0;
    constexpr bool kWide = std::is_same_v<Real, double>;
    if (isPair(kPlanes) && kWide && kind == UlpKind::OfIntegers)
        return Isa::template pool<Real, kPlanes, isPair(kPlanes) && kWide, isPair(kPlanes) && kWide>(job, decode, cells);
    if (kOrdered && !kWide && kind != UlpKind::OfReal)
        return Isa::template pool<Real, kPlanes, kOrdered && !kWide, false>(job, decode, cells);
    Isa::template pool<Real, kPlanes, false, false>(job, decode, cells);
}

template <class Isa, class Real>
void poolWith(const Job<Real>& job, unsigned planes, const CellPlanes<Real>& cells)
{
    switch (planes) {
    case kPlaneA:
        return poolPlanes<Isa, Real, kPlaneA>(job, cells);
    case kPlaneB:
        return poolPlanes<Isa, Real, kPlaneB>(job, cells);
    case kPlaneDifference:
        return poolPlanes<Isa, Real, kPlaneDifference>(job, cells);
    case kPlaneRelative:
        return poolPlanes<Isa, Real, kPlaneRelative>(job, cells);
    case kPlaneUlp:
        return poolPlanes<Isa, Real, kPlaneUlp>(job, cells);
    case kPlaneClass:
        return poolPlanes<Isa, Real, kPlaneClass>(job, cells);
    default:
        return poolPlanes<Isa, Real, kPlaneAll>(job, cells);
    }
}

} // namespace

Plane planeOf(Mode mode)
{
    switch (mode) {
    case Mode::A:
        return kPlaneA;
    case Mode::B:
        return kPlaneB;
    case Mode::Difference:
    case Mode::AbsDifference:
        return kPlaneDifference;
    case Mode::Relative:
        return kPlaneRelative;
    case Mode::Ulp:
        return kPlaneUlp;
    case Mode::OverTolerance:
        break;
    }
    return kPlaneClass;
}

Sides sidesOf(unsigned planes)
{
    return planes == kPlaneA ? Sides::A : planes == kPlaneB ? Sides::B : Sides::Both;
}

bool isWidePair(DType a, DType b)
{
    const Arithmetic arithmetic = arithmeticOf(a, b);
    return arithmetic == Arithmetic::Double || (arithmetic == Arithmetic::Integer && std::max(partSize(a), partSize(b)) > 2);
}

double numberOf(DType dtype, const std::byte* bytes)
{
    return dispatch(dtype, [bytes](auto stored) { return realOf<decltype(stored), double>(loadAt<decltype(stored)>(bytes, 0)); });
}

bool supported(Instructions instructions)
{
#if defined(FORKPOINT_HAVE_AVX2)
    if (instructions == Instructions::Avx2)
        return __builtin_cpu_supports("avx2") != 0;
#endif
    return instructions == Instructions::Portable;
}

Instructions bestInstructions()
{
    static const Instructions best = supported(Instructions::Avx2) ? Instructions::Avx2 : Instructions::Portable;
    return best;
}

template <class Real>
void poolBlock(const SliceBlock& block, const Slice& slice, unsigned planes, int rowShift, int columnShift, const Tolerance& tolerance,
               const CellPlanes<Real>& cells, Counts& counts, Instructions instructions)
{
    constexpr DType kStored = std::is_same_v<Real, float> ? DType::Float32 : DType::Float64;
    const Job<Real> job{block, slice, rowShift, columnShift, tolerance, counts, block.a.dtype == kStored, block.b.dtype == kStored};
    if (instructions == Instructions::Avx2)
        poolWith<Avx2, Real>(job, planes, cells);
    else
        poolWith<Portable, Real>(job, planes, cells);
}

template void poolBlock(const SliceBlock&, const Slice&, unsigned, int, int, const Tolerance&, const CellPlanes<float>&, Counts&,
                        Instructions);
template void poolBlock(const SliceBlock&, const Slice&, unsigned, int, int, const Tolerance&, const CellPlanes<double>&, Counts&,
                        Instructions);

} // namespace forkpoint::heatmap
