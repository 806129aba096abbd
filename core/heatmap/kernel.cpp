// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/kernel.h"

#include "core/metrics/element.h"
#include "core/metrics/ulp.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

namespace forkpoint::heatmap {

using namespace metrics; // the elements' types and arithmetic

namespace {

constexpr int kBlock = 128; ///< numbers handled at a time
constexpr int kPanel = 512; ///< columns whose extremes are kept
constexpr int kBlocks = kPanel / kBlock;
constexpr int kRows = 4; ///< rows handled at a time

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

/// Extremes of each column, over some rows.
template <class Real, int kColumns>
struct Extremes {
    alignas(64) Real minA[kColumns];
    alignas(64) Real maxA[kColumns];
    alignas(64) Real minB[kColumns];
    alignas(64) Real maxB[kColumns];
    alignas(64) Real minD[kColumns];
    alignas(64) Real maxD[kColumns];
    alignas(64) Real relative[kColumns];
    alignas(64) Distance<Real> ulp[kColumns];
};

/// What is known of up to kPanel columns. A block is written when its first rows come, not before.
template <class Real>
struct Panel {
    Extremes<Real, kPanel> extremes;
    alignas(64) std::uint32_t flags[kPanel]; ///< of columns; valid where `flagged`
    std::uint32_t blockFlags[kBlocks];       ///< that hold for every column of a block
    bool touched[kBlocks], flagged[kBlocks];
};

/// The same 128 columns of some rows, decoded. Pointers go to `numbers`, or into the tensor if that holds them as they are needed.
template <class Real>
struct Rows {
    const Real* a[kRows];
    const Real* b[kRows];
    const Order<Real>* orderA[kRows]; ///< only if the pair's types need it
    const Order<Real>* orderB[kRows];
    alignas(64) Real numbersA[kRows][kBlock];
    alignas(64) Real numbersB[kRows][kBlock];
    alignas(64) Order<Real> ordersA[kRows][kBlock];
    alignas(64) Order<Real> ordersB[kRows][kBlock];
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
FORKPOINT_INLINE Order<Real> orderOfReal(Real x)
{
    Order<Real> bits;
    std::memcpy(&bits, &x, sizeof bits);
    const Order<Real> sign = bits >> (sizeof bits * 8 - 1); // 0 or -1
    return (bits ^ (sign & std::numeric_limits<Order<Real>>::max())) - sign;
}

template <class Real>
FORKPOINT_INLINE Distance<Real> distanceOf(Order<Real> x, Order<Real> y)
{
    const Order<Real> low = x < y ? x : y;
    const Order<Real> high = x < y ? y : x;
    return static_cast<Distance<Real>>(high) - static_cast<Distance<Real>>(low);
}

template <class Real>
FORKPOINT_INLINE Real sizeOf(Real x) { return std::fabs(x); }

/// Bits of |x| from here on are infinity or NaN.
template <class Real>
constexpr Mask<Real> kInfinityBits = (Mask<Real>{2 * std::numeric_limits<Real>::max_exponent - 1} << (std::numeric_limits<Real>::digits - 1));

// ---- the loop over pairs that are all finite

constexpr bool isPair(unsigned planes) { return (planes & ~unsigned{kPlaneA | kPlaneB}) != 0; }
constexpr bool needsA(unsigned planes) { return isPair(planes) || (planes & kPlaneA) != 0; }
constexpr bool needsB(unsigned planes) { return isPair(planes) || (planes & kPlaneB) != 0; }
constexpr bool needsD(unsigned planes) { return (planes & (kPlaneDifference | kPlaneClass)) != 0; }

/// Where a loop leaves the extremes of its columns.
template <class Real>
struct Columns {
    Real *minA, *maxA, *minB, *maxB, *minD, *maxD, *relative;
    Distance<Real>* ulp;
};

template <class Real, int kColumns>
FORKPOINT_INLINE Columns<Real> columnsAt(Extremes<Real, kColumns>& extremes, int offset)
{
    return {extremes.minA + offset, extremes.maxA + offset, extremes.minB + offset, extremes.maxB + offset,
            extremes.minD + offset, extremes.maxD + offset, extremes.relative + offset, extremes.ulp + offset};
}

struct Findings {
    bool finite = true;         ///< all numbers; if not, the columns hold rubbish
    std::int64_t differing = 0; ///< pairs that differ, padding included
};

template <class V, class T>
FORKPOINT_INLINE void loadVector(V& to, const T* from) { std::memcpy(&to, from, sizeof to); }
template <class V, class T>
FORKPOINT_INLINE void storeVector(T* to, const V& from) { std::memcpy(to, &from, sizeof from); }
template <class V>
FORKPOINT_INLINE void lower(V& to, const V& x) { to = x < to ? x : to; }
template <class V>
FORKPOINT_INLINE void raise(V& to, const V& x) { to = x > to ? x : to; }

/// orderOfReal of every lane.
template <class Real>
FORKPOINT_INLINE void orderVector(Vector<Order<Real>>& to, const Vector<Real>& x)
{
    const auto bits = reinterpret_cast<Vector<Order<Real>>>(x);
    const Vector<Order<Real>> sign = bits >> static_cast<int>(sizeof(Real) * 8 - 1);
    to = (bits ^ (sign & std::numeric_limits<Order<Real>>::max())) - sign;
}

/// Extremes over kCount rows of each of 128 columns. kStoredOrder: orders are given and not made from the numbers; kIntegers: differences are
/// made from them too.
template <class Real, unsigned kPlanes, int kCount, bool kStoredOrder, bool kIntegers>
FORKPOINT_INLINE Findings extremesBody(const Rows<Real>& rows, const Columns<Real>& to)
{
    using V = Vector<Real>;
    using I = Vector<Mask<Real>>;
    using U = Vector<Distance<Real>>;
    constexpr Mask<Real> kMagnitude = std::numeric_limits<Mask<Real>>::max();
    const V infinity = V{} + kInfinite<Real>;
    I differing = {};
    I beyond = {};
    for (int i = 0; i < kBlock; i += kLanes<Real>) {
        V minA = infinity, maxA = -infinity, minB = infinity, maxB = -infinity, minD = {}, maxD = {}, relative = {};
        U ulp = {};
        I largest = {};
#pragma GCC unroll 4
        for (int r = 0; r < kCount; ++r) {
            V x = {}, y = {};
            if constexpr (needsA(kPlanes))
                loadVector(x, rows.a[r] + i);
            if constexpr (needsB(kPlanes))
                loadVector(y, rows.b[r] + i);
            if constexpr ((kPlanes & kPlaneA) != 0) {
                lower(minA, x);
                raise(maxA, x);
            }
            if constexpr ((kPlanes & kPlaneB) != 0) {
                lower(minB, y);
                raise(maxB, y);
            }
            if constexpr (!isPair(kPlanes)) {
                const I bits = reinterpret_cast<I>(needsA(kPlanes) ? x : y) & kMagnitude;
                raise(largest, bits);
                continue;
            }
            V d = y - x; // not finite if one of them is not
            if constexpr (kIntegers) {
                for (int lane = 0; lane < kLanes<Real>; ++lane)
                    d[lane] = static_cast<Real>(difference(static_cast<std::int64_t>(rows.orderA[r][i + lane]), static_cast<std::int64_t>(rows.orderB[r][i + lane])));
            }
            const I bits = reinterpret_cast<I>(d) & kMagnitude;
            raise(largest, bits);
            if constexpr (needsD(kPlanes)) {
                lower(minD, d);
                raise(maxD, d);
            }
            if constexpr ((kPlanes & kPlaneClass) != 0)
                differing -= d != 0; // true is -1
            if constexpr ((kPlanes & kPlaneRelative) != 0) {
                V size = reinterpret_cast<V>(reinterpret_cast<I>(x) & kMagnitude);
                const V other = reinterpret_cast<V>(reinterpret_cast<I>(y) & kMagnitude);
                raise(size, other);
                const V error = reinterpret_cast<V>(bits) / size; // 0/0 is NaN, which is not larger than anything
                raise(relative, error);
            }
            if constexpr ((kPlanes & kPlaneUlp) != 0) {
                Vector<Order<Real>> low, high;
                if constexpr (kStoredOrder) {
                    loadVector(low, rows.orderA[r] + i);
                    loadVector(high, rows.orderB[r] + i);
                } else {
                    orderVector<Real>(low, x);
                    orderVector<Real>(high, y);
                }
                const Vector<Order<Real>> first = low;
                lower(low, high);
                raise(high, first);
                const U distance = reinterpret_cast<U>(high) - reinterpret_cast<U>(low);
                raise(ulp, distance);
            }
        }
        beyond |= largest >= kInfinityBits<Real>;
        if constexpr ((kPlanes & kPlaneA) != 0) {
            storeVector(to.minA + i, minA);
            storeVector(to.maxA + i, maxA);
        }
        if constexpr ((kPlanes & kPlaneB) != 0) {
            storeVector(to.minB + i, minB);
            storeVector(to.maxB + i, maxB);
        }
        if constexpr (needsD(kPlanes)) {
            storeVector(to.minD + i, minD);
            storeVector(to.maxD + i, maxD);
        }
        if constexpr ((kPlanes & kPlaneRelative) != 0)
            storeVector(to.relative + i, relative);
        if constexpr ((kPlanes & kPlaneUlp) != 0)
            storeVector(to.ulp + i, ulp);
    }
    Findings found;
    for (int lane = 0; lane < kLanes<Real>; ++lane) {
        found.finite = found.finite && beyond[lane] == 0;
        found.differing += differing[lane];
    }
    return found;
}

template <class T>
FORKPOINT_INLINE void lowerInto(T* __restrict to, const T* __restrict from)
{
    for (int i = 0; i < kBlock; ++i)
        to[i] = from[i] < to[i] ? from[i] : to[i];
}

template <class T>
FORKPOINT_INLINE void higherInto(T* __restrict to, const T* __restrict from)
{
    for (int i = 0; i < kBlock; ++i)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

template <class Real, unsigned kPlanes>
FORKPOINT_INLINE void mergeBody(const Columns<Real>& to, const Columns<Real>& from)
{
    if constexpr ((kPlanes & kPlaneA) != 0) {
        lowerInto(to.minA, from.minA);
        higherInto(to.maxA, from.maxA);
    }
    if constexpr ((kPlanes & kPlaneB) != 0) {
        lowerInto(to.minB, from.minB);
        higherInto(to.maxB, from.maxB);
    }
    if constexpr (needsD(kPlanes)) {
        lowerInto(to.minD, from.minD);
        higherInto(to.maxD, from.maxD);
    }
    if constexpr ((kPlanes & kPlaneRelative) != 0)
        higherInto(to.relative, from.relative);
    if constexpr ((kPlanes & kPlaneUlp) != 0)
        higherInto(to.ulp, from.ulp);
}

/// Whether a difference lies outside [-limit, limit].
template <class Real>
FORKPOINT_INLINE bool anyBeyondBody(const Columns<Real>& columns, Real limit)
{
    Mask<Real> beyond = 0;
    for (int i = 0; i < kBlock; ++i)
        beyond |= ((columns.maxD[i] > limit) | (columns.minD[i] < -limit)) ? Mask<Real>{1} : Mask<Real>{0};
    return beyond != 0;
}

/// Marks pairs outside the tolerance and counts them, padding included.
template <class Real, bool kIntegers>
FORKPOINT_INLINE std::int64_t overBody(const Rows<Real>& rows, int r, const Tolerance& tolerance, std::uint32_t* __restrict flags)
{
    constexpr int kAtOnce = 32;
    const double rtol = tolerance.rtol;
    const double atol = tolerance.atol;
    std::int64_t count = 0;
    for (int begin = 0; begin < kBlock; begin += kAtOnce) {
        std::int64_t over[kAtOnce];
        for (int i = 0; i < kAtOnce; ++i) {
            const Real a = rows.a[r][begin + i];
            Real d = rows.b[r][begin + i] - a;
            if constexpr (kIntegers)
                d = static_cast<Real>(difference(static_cast<std::int64_t>(rows.orderA[r][begin + i]), static_cast<std::int64_t>(rows.orderB[r][begin + i])));
            const double size = sizeOf(static_cast<double>(d));
            const double limit = atol + rtol * sizeOf(static_cast<double>(a));
            over[i] = ((size > 0) & !(size <= limit)) ? 1 : 0;
        }
        for (int i = 0; i < kAtOnce; ++i) {
            flags[begin + i] |= static_cast<std::uint32_t>(over[i]) * kOver;
            count += over[i];
        }
    }
    return count;
}

// ---- one pair after the other

std::uint32_t specialFlags(double value, std::uint32_t nan, std::uint32_t positiveInf, std::uint32_t negativeInf)
{
    return std::isnan(value) ? nan : value > 0 ? positiveInf : negativeInf;
}

/// Extremes, flags and counts of rows in which something may not be finite.
template <class Real>
class CarefulRow {
public:
    CarefulRow(const Columns<Real>& columns, std::uint32_t* flags, unsigned planes, bool integers, const Tolerance& tolerance, Counts& counts)
        : m_columns(columns)
        , m_flags(flags)
        , m_planes(planes)
        , m_integers(integers)
        , m_tolerance(tolerance)
        , m_counts(counts)
    {
    }

    /// Exactly n pairs of row r.
    void add(const Rows<Real>& rows, int r, int n)
    {
        for (int i = 0; i < n; ++i) {
            std::uint32_t flags = 0;
            if ((m_planes & kPlaneA) != 0)
                flags |= side(rows.a[r][i], m_columns.minA[i], m_columns.maxA[i], kFiniteA, kNanA, kPositiveInfA, kNegativeInfA);
            if ((m_planes & kPlaneB) != 0)
                flags |= side(rows.b[r][i], m_columns.minB[i], m_columns.maxB[i], kFiniteB, kNanB, kPositiveInfB, kNegativeInfB);
            if (isPair(m_planes))
                flags |= pair(rows, r, i);
            m_flags[i] |= flags;
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

    std::uint32_t pair(const Rows<Real>& rows, int r, int i)
    {
        const Real a = rows.a[r][i];
        const Real b = rows.b[r][i];
        if (!isFiniteValue(a) || !isFiniteValue(b)) {
            if (a == b)
                return kEqualInf;
            return kDiffers | kOver | specialFlags(static_cast<double>(b) - static_cast<double>(a), kNanPair, kPositiveInfPair, kNegativeInfPair);
        }
        const Real plain = b - a;
        double exact = isFiniteValue(plain) ? static_cast<double>(plain) : difference(a, b);
        if (m_integers)
            exact = difference(static_cast<std::int64_t>(rows.orderA[r][i]), static_cast<std::int64_t>(rows.orderB[r][i]));
        const double largest = static_cast<double>(kLargest<Real>);
        const auto d = static_cast<Real>(std::clamp(exact, -largest, largest));
        m_columns.minD[i] = std::min(m_columns.minD[i], d);
        m_columns.maxD[i] = std::max(m_columns.maxD[i], d);
        if ((m_planes & kPlaneUlp) != 0) {
            const Distance<Real> distance = rows.orderA[r] != nullptr ? distanceOf<Real>(rows.orderA[r][i], rows.orderB[r][i])
                                                                     : distanceOf<Real>(orderOfReal(a), orderOfReal(b));
            m_columns.ulp[i] = std::max(m_columns.ulp[i], distance);
        }
        if (exact == 0)
            return kFinitePair;
        const Real size = std::max(sizeOf(a), sizeOf(b));
        const Real relative = isFiniteValue(plain) ? sizeOf(d) / size : static_cast<Real>(relativeError(a, b, exact));
        m_columns.relative[i] = std::max(m_columns.relative[i], relative);
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

    Columns<Real> m_columns;
    std::uint32_t* m_flags;
    unsigned m_planes;
    bool m_integers;
    const Tolerance& m_tolerance;
    Counts& m_counts;
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

/// Halves 128 values `times` times and puts what is left where it stays. -0 becomes 0: which of the two came first is no property of the data.
template <class Real, class T, class Combine>
FORKPOINT_INLINE void putBody(T* from, int times, std::int64_t n, bool first, Combine combine, Real* __restrict to)
{
    halvedBody(from, times, combine);
    if (first) {
        for (std::int64_t i = 0; i < n; ++i)
            to[i] = static_cast<Real>(from[i]) + Real{0};
    } else {
        for (std::int64_t i = 0; i < n; ++i)
            to[i] = combine(to[i], static_cast<Real>(static_cast<Real>(from[i]) + Real{0}));
    }
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
    template <class Real, unsigned kPlanes, bool kStoredOrder, bool kIntegers>
    static void pool(const Job<Real>& job, const Decoders<Real>& decode, const CellPlanes<Real>& cells)
    {
        poolBody<Real, kPlanes, kStoredOrder, kIntegers>(job, decode, cells);
    }
    template <class Real>
    static void combine(const CellPlanes<Real>& first, const CellPlanes<Real>& second, std::int64_t columns, bool halve,
                        const CellPlanes<Real>& to)
    {
        combineRowsBody<Real>(first, second, columns, halve, to);
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
    template <class Real>
    FORKPOINT_AVX2 static void combine(const CellPlanes<Real>& first, const CellPlanes<Real>& second, std::int64_t columns, bool halve,
                                                const CellPlanes<Real>& to)
    {
        combineRowsBody<Real>(first, second, columns, halve, to);
    }
};

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

template <class Real>
void combineRows(const CellPlanes<Real>& first, const CellPlanes<Real>& second, std::int64_t columns, bool halveColumns,
                 const CellPlanes<Real>& to, Instructions instructions)
{
    if (instructions == Instructions::Avx2)
        Avx2::combine<Real>(first, second, columns, halveColumns, to);
    else
        Portable::combine<Real>(first, second, columns, halveColumns, to);
}

template void poolBlock(const SliceBlock&, const Slice&, unsigned, int, int, const Tolerance&, const CellPlanes<float>&, Counts&,
                        Instructions);
template void poolBlock(const SliceBlock&, const Slice&, unsigned, int, int, const Tolerance&, const CellPlanes<double>&, Counts&,
                        Instructions);
template void combineRows(const CellPlanes<float>&, const CellPlanes<float>&, std::int64_t, bool, const CellPlanes<float>&, Instructions);
template void combineRows(const CellPlanes<double>&, const CellPlanes<double>&, std::int64_t, bool, const CellPlanes<double>&, Instructions);

} // namespace forkpoint::heatmap
