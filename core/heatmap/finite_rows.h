// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/decode.h"

// The loop that nearly all elements go through: rows of pairs that are all finite. It finds out if they are not.
namespace forkpoint::heatmap::kernel {

using namespace metrics; // the elements' types and arithmetic

/// Bits of |x| from here on are infinity or NaN.
template <class Real>
constexpr Mask<Real> kInfinityBits = (Mask<Real>{2 * std::numeric_limits<Real>::max_exponent - 1} << (std::numeric_limits<Real>::digits - 1));

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

} // namespace forkpoint::heatmap::kernel
