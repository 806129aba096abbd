// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/columns.h"

#include <cstdint>

// From columns to cells: neighbours combined by halves.
namespace forkpoint::heatmap::kernel {

using namespace metrics; // the elements' types and arithmetic

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

} // namespace forkpoint::heatmap::kernel
