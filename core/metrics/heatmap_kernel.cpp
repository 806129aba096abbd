// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/heatmap_kernel.h"

#include "core/metrics/element.h"
#include "core/metrics/heatmap_ulp.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

// Functions whose name ends in Body hold the loops, and are inlined into one copy per instruction set (Isa).
#define FORKPOINT_INLINE [[gnu::always_inline]] inline

namespace forkpoint::metrics {
namespace {

constexpr int kBlock = 128; ///< numbers handled at a time
constexpr int kPanel = 512; ///< columns whose extremes are kept
constexpr int kBlocks = kPanel / kBlock;

template <class Real>
constexpr Real kLargest = std::numeric_limits<Real>::max();
template <class Real>
constexpr Real kInfinite = std::numeric_limits<Real>::infinity();

/// Place of a number in the order of its type, wide enough for every type that is worked on in Real.
template <class Real>
using Order = std::conditional_t<std::is_same_v<Real, float>, std::int32_t, std::int64_t>;
template <class Real>
using Distance = std::make_unsigned_t<Order<Real>>;
/// An integer as wide as Real, for vectors that hold both.
template <class Real>
using Mask = Order<Real>;

/// How a pair of types is worked on.
enum class UlpKind : std::uint8_t { OfReal, OfStoredBits, OfIntegers };

UlpKind ulpKindOf(DType a, DType b)
{
    if (isInteger(a) && isInteger(b))
        return UlpKind::OfIntegers;
    return a == b && partSize(a) <= 2 ? UlpKind::OfStoredBits : UlpKind::OfReal;
}

/// Extremes of up to kPanel columns.
template <class Real>
struct Panel {
    alignas(64) Real minA[kPanel];
    alignas(64) Real maxA[kPanel];
    alignas(64) Real minB[kPanel];
    alignas(64) Real maxB[kPanel];
    alignas(64) Real minD[kPanel];
    alignas(64) Real maxD[kPanel];
    alignas(64) Real relative[kPanel];
    alignas(64) Distance<Real> ulp[kPanel];
    alignas(64) Mask<Real> flags[kPanel];
    std::uint32_t blockFlags[kBlocks]; ///< that hold for every column of a block
};

/// Numbers of one row.
template <class Real>
struct Row {
    alignas(64) Real a[kBlock];
    alignas(64) Real b[kBlock];
    alignas(64) Real d[kBlock];
    alignas(64) Order<Real> orderA[kBlock];
    alignas(64) Order<Real> orderB[kBlock];
    alignas(64) Distance<Real> distance[kBlock];
};

// ---- decoding

template <class Stored>
FORKPOINT_INLINE Stored loadAt(const std::byte* bytes, std::int64_t index)
{
    Stored value;
    std::memcpy(&value, bytes + static_cast<std::size_t>(index) * sizeof(Stored), sizeof(Stored));
    return value;
}

/// The same value as widened(), without branches so that it vectorises.
FORKPOINT_INLINE float floatOf(Float16Bits x)
{
    const std::uint32_t sign = (x.bits & 0x8000u) << 16;
    const std::uint32_t magnitude = x.bits & 0x7fffu;
    const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
    std::uint32_t subnormalBits;
    std::memcpy(&subnormalBits, &subnormal, sizeof subnormalBits);
    std::uint32_t bits = (magnitude << 13) + (112u << 23);
    bits = magnitude >= 0x7c00u ? 0x7f800000u | (magnitude & 0x3ffu) << 13 : bits;
    bits = magnitude < 0x400u ? subnormalBits : bits;
    return floatOfBits(sign | bits);
}
FORKPOINT_INLINE float floatOf(Float8E5M2Bits x) { return floatOf(Float16Bits{static_cast<std::uint16_t>(x.bits << 8)}); }
FORKPOINT_INLINE float floatOf(Float8E4M3FNBits x)
{
    const std::uint32_t sign = (x.bits & 0x80u) << 24;
    const std::uint32_t magnitude = x.bits & 0x7fu;
    const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-9f;
    std::uint32_t subnormalBits;
    std::memcpy(&subnormalBits, &subnormal, sizeof subnormalBits);
    std::uint32_t bits = (magnitude << 20) + (120u << 23);
    bits = magnitude == 0x7fu ? 0x7ff00000u : bits;
    bits = magnitude < 0x08u ? subnormalBits : bits;
    return floatOfBits(sign | bits);
}

template <class Stored, class Real>
FORKPOINT_INLINE Real realOf(Stored stored)
{
    if constexpr (std::is_same_v<Stored, Float16Bits> || std::is_same_v<Stored, Float8E5M2Bits> || std::is_same_v<Stored, Float8E4M3FNBits>)
        return static_cast<Real>(floatOf(stored));
    else if constexpr (std::is_same_v<Stored, BFloat16Bits>)
        return static_cast<Real>(floatOfBits(std::uint32_t{stored.bits} << 16));
    else if constexpr (std::is_same_v<Stored, BoolByte>)
        return static_cast<Real>(stored.bits != 0 ? 1 : 0);
    else if constexpr (std::is_integral_v<Stored> && sizeof(Stored) < sizeof(std::int32_t))
        return static_cast<Real>(static_cast<std::int32_t>(stored));
    else
        return static_cast<Real>(stored);
}

template <class Stored, class Real>
FORKPOINT_INLINE void decodeBody(const std::byte* bytes, std::int64_t stride, int n, Real* __restrict to)
{
    if (stride == 1 && n == kBlock) {
        for (int i = 0; i < kBlock; ++i)
            to[i] = realOf<Stored, Real>(loadAt<Stored>(bytes, i));
        return;
    }
    for (int i = 0; i < n; ++i)
        to[i] = realOf<Stored, Real>(loadAt<Stored>(bytes, i * stride));
    for (int i = n; i < kBlock; ++i) // the last number again: an extreme does not mind
        to[i] = to[n - 1];
}

/// The place in its own order of a number of at most 16 bits, or of an integer.
template <class Stored, class Real>
FORKPOINT_INLINE Order<Real> orderOf(Stored stored)
{
    if constexpr (std::is_same_v<Stored, BoolByte>) {
        return stored.bits != 0 ? 1 : 0;
    } else if constexpr (std::is_integral_v<Stored>) {
        return static_cast<Order<Real>>(stored);
    } else {
        using Bits = std::conditional_t<sizeof(Stored) == 1, std::uint8_t, std::uint16_t>;
        constexpr std::int32_t kSign = sizeof(Stored) == 1 ? 0x80 : 0x8000;
        Bits bits;
        std::memcpy(&bits, &stored, sizeof bits);
        const std::int32_t magnitude = bits & (kSign - 1);
        return (bits & kSign) != 0 ? -magnitude : magnitude;
    }
}

template <class Stored, class Real>
FORKPOINT_INLINE void orderBody(const std::byte* bytes, std::int64_t stride, int n, Order<Real>* __restrict to)
{
    if (stride == 1 && n == kBlock) {
        for (int i = 0; i < kBlock; ++i)
            to[i] = orderOf<Stored, Real>(loadAt<Stored>(bytes, i));
        return;
    }
    for (int i = 0; i < n; ++i)
        to[i] = orderOf<Stored, Real>(loadAt<Stored>(bytes, i * stride));
    for (int i = n; i < kBlock; ++i)
        to[i] = to[n - 1];
}

template <class Real>
FORKPOINT_INLINE void orderOfRealsBody(const Real* __restrict from, Order<Real>* __restrict to)
{
    for (int i = 0; i < kBlock; ++i) {
        Order<Real> bits;
        std::memcpy(&bits, from + i, sizeof bits);
        to[i] = bits < 0 ? std::numeric_limits<Order<Real>>::min() - bits : bits;
    }
}

// ---- the loops over pairs that are all finite

template <class Real>
FORKPOINT_INLINE void subtractBody(const Real* __restrict a, const Real* __restrict b, Real* __restrict d)
{
    for (int i = 0; i < kBlock; ++i)
        d[i] = b[i] - a[i];
}

template <class Real>
FORKPOINT_INLINE Real sizeOf(Real x) { return x < 0 ? -x : x; } // of -0 it is -0, which compares as 0

/// Whether one of them is larger in size than `limit`, or NaN.
template <class Real>
FORKPOINT_INLINE bool anyBeyondBody(const Real* __restrict x, Real limit)
{
    Mask<Real> beyond = 0;
    for (int i = 0; i < kBlock; ++i)
        beyond |= ((x[i] <= limit) & (x[i] >= -limit)) ? Mask<Real>{0} : Mask<Real>{1};
    return beyond != 0;
}

template <class Real>
FORKPOINT_INLINE void extremesBody(const Real* __restrict x, Real* __restrict low, Real* __restrict high)
{
    for (int i = 0; i < kBlock; ++i) {
        low[i] = x[i] < low[i] ? x[i] : low[i];
        high[i] = x[i] > high[i] ? x[i] : high[i];
    }
}

template <class Real>
FORKPOINT_INLINE void relativeBody(const Real* __restrict a, const Real* __restrict b, const Real* __restrict d, Real* __restrict relative)
{
    for (int i = 0; i < kBlock; ++i) {
        const Real size = sizeOf(a[i]) > sizeOf(b[i]) ? sizeOf(a[i]) : sizeOf(b[i]);
        const Real error = sizeOf(d[i]) / size; // 0/0 is NaN, which is not larger than anything
        relative[i] = error > relative[i] ? error : relative[i];
    }
}

template <class Real>
FORKPOINT_INLINE void distancesBody(const Order<Real>* __restrict a, const Order<Real>* __restrict b, Distance<Real>* __restrict to)
{
    for (int i = 0; i < kBlock; ++i) {
        const auto x = static_cast<Distance<Real>>(a[i]);
        const auto y = static_cast<Distance<Real>>(b[i]);
        to[i] = a[i] > b[i] ? x - y : y - x;
    }
}

template <class Real>
FORKPOINT_INLINE void ulpBody(const Distance<Real>* __restrict distance, Distance<Real>* __restrict ulp)
{
    for (int i = 0; i < kBlock; ++i)
        ulp[i] = distance[i] > ulp[i] ? distance[i] : ulp[i];
}

/// Marks what differs, and counts it among the first n.
template <class Real>
FORKPOINT_INLINE std::int64_t differsBody(const Real* __restrict d, int n, Mask<Real>* __restrict flags)
{
    Mask<Real> count = 0;
    for (int i = 0; i < kBlock; ++i) {
        flags[i] |= d[i] != 0 ? Mask<Real>{kDiffers} : Mask<Real>{0};
        count += d[i] != 0 ? Mask<Real>{1} : Mask<Real>{0};
    }
    return static_cast<std::int64_t>(count) - (d[kBlock - 1] != 0 ? kBlock - n : 0);
}

template <class Real>
FORKPOINT_INLINE std::int64_t overBody(const Real* __restrict a, const Real* __restrict d, int n, const Tolerance& tolerance,
                                       Mask<Real>* __restrict flags)
{
    const double rtol = tolerance.rtol;
    const double atol = tolerance.atol;
    std::int64_t count = 0;
    for (int begin = 0; begin < kBlock; begin += 32) {
        std::int64_t over[32];
        for (int i = 0; i < 32; ++i) {
            const double size = sizeOf(static_cast<double>(d[begin + i]));
            const double limit = atol + rtol * sizeOf(static_cast<double>(a[begin + i]));
            over[i] = ((size > 0) & !(size <= limit)) ? 1 : 0;
        }
        for (int i = 0; i < 32; ++i) {
            flags[begin + i] |= static_cast<Mask<Real>>(over[i] * kOver);
            count += over[i];
        }
    }
    return count - (violatesTolerance(a[kBlock - 1], d[kBlock - 1], rtol, atol) ? kBlock - n : 0);
}

// ---- one pair after the other

std::uint32_t specialFlags(double value, std::uint32_t nan, std::uint32_t positiveInf, std::uint32_t negativeInf)
{
    return std::isnan(value) ? nan : value > 0 ? positiveInf : negativeInf;
}

template <class Real>
class CarefulRow {
public:
    CarefulRow(Panel<Real>& panel, unsigned planes, const Tolerance& tolerance, HeatmapCounts& counts)
        : m_panel(panel)
        , m_planes(planes)
        , m_tolerance(tolerance)
        , m_counts(counts)
    {
    }

    /// Exactly n pairs from column `offset` of the panel on.
    void add(const Row<Real>& row, int n, int offset)
    {
        for (int i = 0; i < n; ++i) {
            std::uint32_t flags = 0;
            if ((m_planes & kPlaneA) != 0)
                flags |= side(row.a[i], m_panel.minA[offset + i], m_panel.maxA[offset + i], kFiniteA, kNanA, kPositiveInfA, kNegativeInfA);
            if ((m_planes & kPlaneB) != 0)
                flags |= side(row.b[i], m_panel.minB[offset + i], m_panel.maxB[offset + i], kFiniteB, kNanB, kPositiveInfB, kNegativeInfB);
            if ((m_planes & ~unsigned{kPlaneA | kPlaneB}) != 0)
                flags |= pair(row, i, offset + i);
            m_panel.flags[offset + i] |= static_cast<Mask<Real>>(flags);
            count(flags);
        }
    }

private:
    static std::uint32_t side(Real x, Real& low, Real& high, std::uint32_t finite, std::uint32_t nan, std::uint32_t positiveInf,
                              std::uint32_t negativeInf)
    {
        if (!isFiniteValue(x))
            return specialFlags(x, nan, positiveInf, negativeInf);
        low = x < low ? x : low;
        high = x > high ? x : high;
        return finite;
    }

    std::uint32_t pair(const Row<Real>& row, int i, int column)
    {
        const Real a = row.a[i];
        const Real b = row.b[i];
        if (!isFiniteValue(a) || !isFiniteValue(b)) {
            if (a == b)
                return kEqualInf;
            return kDiffers | kOver | specialFlags(static_cast<double>(b) - static_cast<double>(a), kNanPair, kPositiveInfPair, kNegativeInfPair);
        }
        const double exact = isFiniteValue(row.d[i]) ? static_cast<double>(row.d[i]) : difference(a, b);
        const double largest = static_cast<double>(kLargest<Real>);
        const auto d = static_cast<Real>(std::clamp(exact, -largest, largest));
        m_panel.minD[column] = std::min(m_panel.minD[column], d);
        m_panel.maxD[column] = std::max(m_panel.maxD[column], d);
        m_panel.ulp[column] = std::max(m_panel.ulp[column], row.distance[i]);
        if (exact == 0)
            return kFinitePair;
        const Real size = std::max(sizeOf(a), sizeOf(b));
        const Real relative = isFiniteValue(row.d[i]) ? sizeOf(row.d[i]) / size : static_cast<Real>(relativeError(a, b, exact));
        m_panel.relative[column] = std::max(m_panel.relative[column], relative);
        return kFinitePair | kDiffers | (violatesTolerance(a, exact, m_tolerance.rtol, m_tolerance.atol) ? unsigned{kOver} : 0u);
    }

    void count(std::uint32_t flags)
    {
        const auto has = [flags](std::uint32_t flag) { return (flags & flag) != 0; };
        m_counts.finitePairs += has(kFinitePair);
        m_counts.nanA += has(kNanA);
        m_counts.positiveInfA += has(kPositiveInfA);
        m_counts.negativeInfA += has(kNegativeInfA);
        m_counts.nanB += has(kNanB);
        m_counts.positiveInfB += has(kPositiveInfB);
        m_counts.negativeInfB += has(kNegativeInfB);
        m_counts.nanPairs += has(kNanPair);
        m_counts.equalInf += has(kEqualInf);
        m_counts.differing += has(kDiffers);
        m_counts.over += has(kOver);
    }

    Panel<Real>& m_panel;
    unsigned m_planes;
    const Tolerance& m_tolerance;
    HeatmapCounts& m_counts;
};

// ---- from columns to cells

template <int kTo, class T, class Combine>
FORKPOINT_INLINE void halveBody(T* values, Combine combine)
{
    T half[kTo];
    for (int i = 0; i < kTo; ++i)
        half[i] = combine(values[2 * i], values[2 * i + 1]);
    for (int i = 0; i < kTo; ++i)
        values[i] = half[i];
}

/// Halves 128 values `times` times, at most to one.
template <class T, class Combine>
FORKPOINT_INLINE void halvedBody(T* values, int times, Combine combine)
{
    if (times > 0)
        halveBody<64>(values, combine);
    if (times > 1)
        halveBody<32>(values, combine);
    if (times > 2)
        halveBody<16>(values, combine);
    if (times > 3)
        halveBody<8>(values, combine);
    if (times > 4)
        halveBody<4>(values, combine);
    if (times > 5)
        halveBody<2>(values, combine);
    if (times > 6)
        halveBody<1>(values, combine);
}

struct Lower {
    template <class T>
    FORKPOINT_INLINE T operator()(T x, T y) const { return y < x ? y : x; }
};
struct Higher {
    template <class T>
    FORKPOINT_INLINE T operator()(T x, T y) const { return y > x ? y : x; }
};
struct Either {
    template <class T>
    FORKPOINT_INLINE T operator()(T x, T y) const { return static_cast<T>(x | y); }
};
struct Larger {
    template <class T>
    FORKPOINT_INLINE T operator()(T x, T y) const
    {
        const T low = Lower()(x, y);
        const T high = Higher()(x, y);
        return largerMagnitude(low, high);
    }
};

/// Numbers to where they stay. -0 becomes 0: which of the two came first is no property of the data.
template <class Real, class T, class Combine>
FORKPOINT_INLINE void storeBody(const T* from, std::int64_t n, bool first, Combine combine, Real* to)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const Real value = static_cast<Real>(from[i]) + Real{0};
        to[i] = first ? value : combine(to[i], value);
    }
}

/// One row of cells being made from a block of the pair.
template <class Real>
struct Job {
    const SliceBlock& block;
    const HeatmapSlice& slice;
    int rowShift, columnShift;
    const Tolerance& tolerance;
    HeatmapCounts& counts;
};

/// The decoders for a pair of types.
template <class Real>
struct Decoders {
    using Decode = void (*)(const std::byte*, std::int64_t, int, Real*);
    using DecodeOrder = void (*)(const std::byte*, std::int64_t, int, Order<Real>*);
    Decode a = nullptr, b = nullptr;
    DecodeOrder orderA = nullptr, orderB = nullptr; ///< null: from the decoded numbers
};

template <class Real, unsigned kPlanes>
FORKPOINT_INLINE void panelRowBody(const Job<Real>& job, const Decoders<Real>& decode, bool exactIntegers, std::int64_t row,
                                   std::int64_t column, int width, Panel<Real>& panel, Row<Real>& work)
{
    constexpr bool kPair = (kPlanes & ~unsigned{kPlaneA | kPlaneB}) != 0;
    constexpr bool kNeedA = kPair || (kPlanes & kPlaneA) != 0;
    constexpr bool kNeedB = kPair || (kPlanes & kPlaneB) != 0;
    constexpr Real kMax = kLargest<Real>;
    const CellRect& rect = job.block.rect;
    // A fold's last row is short.
    const std::int64_t inRow = job.slice.columnsInRow(rect.row + row) - rect.column - column;
    const int valid = static_cast<int>(std::clamp<std::int64_t>(inRow, 0, width));
    const auto address = [&](const SliceSide& side, std::int64_t at) {
        return side.bytes + (row * side.rowStride + at * side.columnStride) * static_cast<std::int64_t>(partSize(side.dtype));
    };
    for (int offset = 0; offset < valid; offset += kBlock) {
        const int n = std::min(valid - offset, kBlock);
        const bool ragged = n < std::min(width - offset, kBlock);
        if constexpr (kNeedA)
            decode.a(address(job.block.a, column + offset), job.block.a.columnStride, n, work.a);
        if constexpr (kNeedB)
            decode.b(address(job.block.b, column + offset), job.block.b.columnStride, n, work.b);
        if constexpr (kPair && ((kPlanes & kPlaneUlp) != 0 || std::is_same_v<Real, double>)) {
            if (decode.orderA != nullptr) {
                decode.orderA(address(job.block.a, column + offset), job.block.a.columnStride, n, work.orderA);
                decode.orderB(address(job.block.b, column + offset), job.block.b.columnStride, n, work.orderB);
            } else if constexpr ((kPlanes & kPlaneUlp) != 0) {
                orderOfRealsBody<Real>(work.a, work.orderA);
                orderOfRealsBody<Real>(work.b, work.orderB);
            }
            if constexpr ((kPlanes & kPlaneUlp) != 0)
                distancesBody<Real>(work.orderA, work.orderB, work.distance);
        }
        bool plain = !ragged;
        if constexpr (kPair) {
            if (std::is_same_v<Real, double> && exactIntegers) {
                for (int i = 0; i < kBlock; ++i)
                    work.d[i] = static_cast<Real>(difference(static_cast<std::int64_t>(work.orderA[i]), static_cast<std::int64_t>(work.orderB[i])));
            } else {
                subtractBody<Real>(work.a, work.b, work.d);
            }
            plain = plain && !anyBeyondBody<Real>(work.d, kMax); // NaN and infinities leave no finite difference
        } else if constexpr (kNeedA) {
            plain = plain && !anyBeyondBody<Real>(work.a, kMax);
            if constexpr (kNeedB)
                plain = plain && !anyBeyondBody<Real>(work.b, kMax);
        } else {
            plain = plain && !anyBeyondBody<Real>(work.b, kMax);
        }
        job.counts.elements += n;
        if (!plain) {
            CarefulRow<Real>(panel, kPlanes, job.tolerance, job.counts).add(work, n, offset);
            continue;
        }
        if constexpr ((kPlanes & kPlaneA) != 0)
            extremesBody<Real>(work.a, panel.minA + offset, panel.maxA + offset);
        if constexpr ((kPlanes & kPlaneB) != 0)
            extremesBody<Real>(work.b, panel.minB + offset, panel.maxB + offset);
        if constexpr ((kPlanes & kPlaneDifference) != 0)
            extremesBody<Real>(work.d, panel.minD + offset, panel.maxD + offset);
        if constexpr ((kPlanes & kPlaneRelative) != 0)
            relativeBody<Real>(work.a, work.b, work.d, panel.relative + offset);
        if constexpr ((kPlanes & kPlaneUlp) != 0)
            ulpBody<Real>(work.distance, panel.ulp + offset);
        if constexpr ((kPlanes & kPlaneClass) != 0) {
            job.counts.differing += differsBody<Real>(work.d, n, panel.flags + offset);
            // A float at or below atol; with the threshold never below atol, nothing under it is over.
            Real certain = static_cast<Real>(std::min(job.tolerance.atol, static_cast<double>(kMax)));
            if (static_cast<double>(certain) > job.tolerance.atol)
                certain = std::nextafter(certain, Real{0});
            if (anyBeyondBody<Real>(work.d, certain))
                job.counts.over += overBody<Real>(work.a, work.d, n, job.tolerance, panel.flags + offset);
        }
        if constexpr (kPair)
            job.counts.finitePairs += n;
        panel.blockFlags[offset / kBlock] |= ((kPlanes & kPlaneA) != 0 ? unsigned{kFiniteA} : 0u) |
                                             ((kPlanes & kPlaneB) != 0 ? unsigned{kFiniteB} : 0u) | (kPair ? unsigned{kFinitePair} : 0u);
    }
}

template <class Real, unsigned kPlanes>
FORKPOINT_INLINE void storePanelBody(Panel<Real>& panel, std::int64_t column, int width, int columnShift, const CellPlanes<Real>& cells)
{
    const int halvings = std::min(columnShift, 7);
    for (int offset = 0; offset < width; offset += kBlock) {
        const std::int64_t at = (column + offset) >> columnShift;
        const bool first = ((column + offset) & ((std::int64_t{1} << columnShift) - 1)) == 0;
        const int columns = std::min(width - offset, kBlock);
        const std::int64_t n = (columns + (1 << halvings) - 1) >> halvings;
        const auto put = [&](auto* from, auto combine, Real* to) {
            halvedBody(from + offset, halvings, combine);
            storeBody<Real>(from + offset, n, first, combine, to + at);
        };
        if constexpr ((kPlanes & kPlaneA) != 0) {
            put(panel.minA, Lower(), cells.minA);
            put(panel.maxA, Higher(), cells.maxA);
        }
        if constexpr ((kPlanes & kPlaneB) != 0) {
            put(panel.minB, Lower(), cells.minB);
            put(panel.maxB, Higher(), cells.maxB);
        }
        if constexpr ((kPlanes & kPlaneDifference) != 0) {
            for (int i = 0; i < kBlock; ++i)
                panel.maxD[offset + i] = largerMagnitude(panel.minD[offset + i], panel.maxD[offset + i]);
            put(panel.maxD, Larger(), cells.difference);
        }
        if constexpr ((kPlanes & kPlaneRelative) != 0)
            put(panel.relative, Higher(), cells.relative);
        if constexpr ((kPlanes & kPlaneUlp) != 0)
            put(panel.ulp, Higher(), cells.ulp);
        halvedBody(panel.flags + offset, halvings, Either());
        const std::uint32_t all = panel.blockFlags[offset / kBlock];
        for (std::int64_t i = 0; i < n; ++i) {
            const auto flags = static_cast<std::uint16_t>(static_cast<std::uint32_t>(panel.flags[offset + i]) | all);
            cells.flags[at + i] = static_cast<std::uint16_t>(first ? flags : cells.flags[at + i] | flags);
        }
    }
}

template <class Real, unsigned kPlanes>
FORKPOINT_INLINE void clearBody(Panel<Real>& panel)
{
    if constexpr ((kPlanes & kPlaneA) != 0) {
        std::fill_n(panel.minA, kPanel, kInfinite<Real>);
        std::fill_n(panel.maxA, kPanel, -kInfinite<Real>);
    }
    if constexpr ((kPlanes & kPlaneB) != 0) {
        std::fill_n(panel.minB, kPanel, kInfinite<Real>);
        std::fill_n(panel.maxB, kPanel, -kInfinite<Real>);
    }
    // Those of the pair's quantities that are not asked for are written by careful rows all the same.
    if constexpr ((kPlanes & ~unsigned{kPlaneA | kPlaneB}) != 0) {
        std::fill_n(panel.minD, kPanel, Real{0});
        std::fill_n(panel.maxD, kPanel, Real{0});
        std::fill_n(panel.relative, kPanel, Real{0});
        std::fill_n(panel.ulp, kPanel, Distance<Real>{0});
    }
    std::fill_n(panel.flags, kPanel, Mask<Real>{0});
    std::fill_n(panel.blockFlags, kBlocks, 0u);
}

template <class Real, unsigned kPlanes>
FORKPOINT_INLINE void poolBody(const Job<Real>& job, const Decoders<Real>& decode, bool exactIntegers, const CellPlanes<Real>& cells)
{
    Panel<Real> panel;
    Row<Real> work;
    std::fill_n(work.distance, kBlock, Distance<Real>{0});
    const CellRect& rect = job.block.rect;
    const std::int64_t cellRows = std::int64_t{1} << job.rowShift;
    for (std::int64_t top = 0; top < rect.rows; top += cellRows) {
        const CellPlanes<Real> to = cells.at(top >> job.rowShift, 0);
        const std::int64_t bottom = std::min(top + cellRows, rect.rows);
        for (std::int64_t column = 0; column < rect.columns; column += kPanel) {
            const int width = static_cast<int>(std::min<std::int64_t>(rect.columns - column, kPanel));
            clearBody<Real, kPlanes>(panel);
            for (std::int64_t row = top; row < bottom; ++row)
                panelRowBody<Real, kPlanes>(job, decode, exactIntegers, row, column, width, panel, work);
            storePanelBody<Real, kPlanes>(panel, column, width, job.columnShift, to);
        }
    }
}

/// Combines cells column by column and then by neighbours, for one quantity.
template <class T, class Combine>
FORKPOINT_INLINE void combineBody(const T* first, const T* second, std::int64_t columns, bool halve, Combine combine, T* to)
{
    alignas(64) T both[kBlock];
    for (std::int64_t column = 0; column < columns; column += kBlock) {
        const auto n = static_cast<int>(std::min<std::int64_t>(columns - column, kBlock));
        if (n == kBlock) {
            for (int i = 0; i < kBlock; ++i)
                both[i] = combine(first[column + i], second[column + i]);
        } else {
            for (int i = 0; i < n; ++i)
                both[i] = combine(first[column + i], second[column + i]);
            for (int i = n; i < kBlock; ++i)
                both[i] = both[n - 1];
        }
        if (halve)
            halveBody<kBlock / 2>(both, combine);
        std::copy_n(both, halve ? (n + 1) / 2 : n, to + (halve ? column / 2 : column));
    }
}

template <class Real>
FORKPOINT_INLINE void combineRowsBody(const CellPlanes<Real>& first, const CellPlanes<Real>& second, std::int64_t columns, bool halve,
                                      const CellPlanes<Real>& to)
{
    if (to.minA != nullptr) {
        combineBody(first.minA, second.minA, columns, halve, Lower(), to.minA);
        combineBody(first.maxA, second.maxA, columns, halve, Higher(), to.maxA);
        combineBody(first.minB, second.minB, columns, halve, Lower(), to.minB);
        combineBody(first.maxB, second.maxB, columns, halve, Higher(), to.maxB);
        combineBody(first.difference, second.difference, columns, halve, Larger(), to.difference);
        combineBody(first.relative, second.relative, columns, halve, Higher(), to.relative);
        combineBody(first.ulp, second.ulp, columns, halve, Higher(), to.ulp);
    }
    combineBody(first.flags, second.flags, columns, halve, Either(), to.flags);
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
    template <class Real, unsigned kPlanes>
    static void pool(const Job<Real>& job, const Decoders<Real>& decode, bool exactIntegers, const CellPlanes<Real>& cells)
    {
        poolBody<Real, kPlanes>(job, decode, exactIntegers, cells);
    }
    template <class Real>
    static void combine(const CellPlanes<Real>& first, const CellPlanes<Real>& second, std::int64_t columns, bool halve,
                        const CellPlanes<Real>& to)
    {
        combineRowsBody<Real>(first, second, columns, halve, to);
    }
};

#if defined(__x86_64__) && defined(__GNUC__)
#define FORKPOINT_HAVE_AVX2 1
struct Avx2 {
    template <class Stored, class Real>
    [[gnu::target("avx2")]] static void decode(const std::byte* bytes, std::int64_t stride, int n, Real* to)
    {
        decodeBody<Stored, Real>(bytes, stride, n, to);
    }
    template <class Stored, class Real>
    [[gnu::target("avx2")]] static void order(const std::byte* bytes, std::int64_t stride, int n, Order<Real>* to)
    {
        orderBody<Stored, Real>(bytes, stride, n, to);
    }
    template <class Real, unsigned kPlanes>
    [[gnu::target("avx2")]] static void pool(const Job<Real>& job, const Decoders<Real>& decode, bool exactIntegers,
                                             const CellPlanes<Real>& cells)
    {
        poolBody<Real, kPlanes>(job, decode, exactIntegers, cells);
    }
    template <class Real>
    [[gnu::target("avx2")]] static void combine(const CellPlanes<Real>& first, const CellPlanes<Real>& second, std::int64_t columns, bool halve,
                                                const CellPlanes<Real>& to)
    {
        combineRowsBody<Real>(first, second, columns, halve, to);
    }
};
#else
using Avx2 = Portable;
#endif

/// Calls with(Stored()) for the type as stored. Complex types do not come here.
template <class With>
auto dispatch(DType dtype, With with)
{
    switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
        return with(double{});
    case DType::Float32:
    case DType::Complex64:
        return with(float{});
    case DType::Float16:
        return with(Float16Bits{});
    case DType::BFloat16:
        return with(BFloat16Bits{});
    case DType::Float8E4M3FN:
        return with(Float8E4M3FNBits{});
    case DType::Float8E5M2:
        return with(Float8E5M2Bits{});
    case DType::Int64:
        return with(std::int64_t{});
    case DType::Int32:
        return with(std::int32_t{});
    case DType::Int16:
        return with(std::int16_t{});
    case DType::Int8:
        return with(std::int8_t{});
    case DType::UInt8:
        return with(std::uint8_t{});
    case DType::Bool:
        break;
    }
    return with(BoolByte{});
}

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

template <class Isa, class Real>
void poolWith(const Job<Real>& job, unsigned planes, const CellPlanes<Real>& cells)
{
    const DType a = job.block.a.dtype, b = job.block.b.dtype;
    const Decoders<Real> decode = decodersFor<Isa, Real>(a, b);
    const bool exactIntegers = ulpKindOf(a, b) == UlpKind::OfIntegers;
    switch (planes) {
    case kPlaneA:
        return Isa::template pool<Real, kPlaneA>(job, decode, exactIntegers, cells);
    case kPlaneB:
        return Isa::template pool<Real, kPlaneB>(job, decode, exactIntegers, cells);
    case kPlaneDifference:
        return Isa::template pool<Real, kPlaneDifference>(job, decode, exactIntegers, cells);
    case kPlaneRelative:
        return Isa::template pool<Real, kPlaneRelative>(job, decode, exactIntegers, cells);
    case kPlaneUlp:
        return Isa::template pool<Real, kPlaneUlp>(job, decode, exactIntegers, cells);
    case kPlaneClass:
        return Isa::template pool<Real, kPlaneClass>(job, decode, exactIntegers, cells);
    default:
        return Isa::template pool<Real, kPlaneAll>(job, decode, exactIntegers, cells);
    }
}

} // namespace

HeatmapPlane planeOf(HeatmapMode mode)
{
    switch (mode) {
    case HeatmapMode::A:
        return kPlaneA;
    case HeatmapMode::B:
        return kPlaneB;
    case HeatmapMode::Difference:
    case HeatmapMode::AbsDifference:
        return kPlaneDifference;
    case HeatmapMode::Relative:
        return kPlaneRelative;
    case HeatmapMode::Ulp:
        return kPlaneUlp;
    case HeatmapMode::OverTolerance:
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
void poolBlock(const SliceBlock& block, const HeatmapSlice& slice, unsigned planes, int rowShift, int columnShift, const Tolerance& tolerance,
               const CellPlanes<Real>& cells, HeatmapCounts& counts, Instructions instructions)
{
    const Job<Real> job{block, slice, rowShift, columnShift, tolerance, counts};
    if (instructions == Instructions::Avx2)
        poolWith<Avx2, Real>(job, planes, cells);
    else
        poolWith<Portable, Real>(job, planes, cells);
}

template <class Real>
void combineRows(const CellPlanes<Real>& first, const CellPlanes<Real>& second, std::int64_t columns, bool halveColumns,
                 const CellPlanes<Real>& to, Instructions instructions)
{
    if (instructions == Instructions::Avx2)
        Avx2::combine<Real>(first, second, columns, halveColumns, to);
    else
        Portable::combine<Real>(first, second, columns, halveColumns, to);
}

template void poolBlock(const SliceBlock&, const HeatmapSlice&, unsigned, int, int, const Tolerance&, const CellPlanes<float>&, HeatmapCounts&,
                        Instructions);
template void poolBlock(const SliceBlock&, const HeatmapSlice&, unsigned, int, int, const Tolerance&, const CellPlanes<double>&, HeatmapCounts&,
                        Instructions);
template void combineRows(const CellPlanes<float>&, const CellPlanes<float>&, std::int64_t, bool, const CellPlanes<float>&, Instructions);
template void combineRows(const CellPlanes<double>&, const CellPlanes<double>&, std::int64_t, bool, const CellPlanes<double>&, Instructions);

} // namespace forkpoint::metrics
