// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/element.h"

#include <cfloat>

namespace forkpoint::metrics {

/// A number m * 2^e: double's precision with a range that sums of squares of float64 values cannot leave. The square of 1e200 is no double,
/// and neither is that of 1e-200, but a norm, a cosine or a relative error made of them is. x86 has an 80-bit type for this; GPUs and
/// other processors do not, so the exponent is carried beside the number instead.
///
/// While m stays in [2^-200, 2^200], e is 0 and every operation is double's own. Beyond, powers of two are moved into e, which is exact:
/// results are those of double arithmetic with an unbounded exponent, and repeat on every machine.
struct Wide {
    double m = 0;
    std::int32_t e = 0;
};

/// m * 2^e, of an m that is far from 1.
FORKPOINT_HD_RARE inline Wide wideFromFar(double m, std::int32_t e)
{
    if (m == 0)
        return {};
    int shift = 0;
    const double fraction = std::frexp(m, &shift);
    return {fraction, e + shift};
}

/// m * 2^e, with the exponent moved out of m if m is far from 1. `m` must be finite.
FORKPOINT_HD inline Wide wide(double m, std::int32_t e = 0)
{
    const double size = std::fabs(m);
    if (size >= 0x1p-200 && size <= 0x1p200)
        return {m, e};
    return wideFromFar(m, e);
}

/// Of two exponents.
FORKPOINT_HD_RARE inline Wide sumOfFar(Wide x, Wide y)
{
    if (x.m == 0)
        return y;
    if (y.m == 0)
        return x;
    // On the exponent of the larger one, where the smaller may underflow: then it is below 2^-800 of the sum.
    if (std::ilogb(x.m) + x.e < std::ilogb(y.m) + y.e) {
        const Wide larger = y;
        y = x;
        x = larger;
    }
    return wide(x.m + std::ldexp(y.m, y.e - x.e), x.e);
}

FORKPOINT_HD inline Wide operator+(Wide x, Wide y) { return x.e == y.e ? wide(x.m + y.m, x.e) : sumOfFar(x, y); }

FORKPOINT_HD inline Wide operator-(Wide x) { return {-x.m, x.e}; }
FORKPOINT_HD inline Wide operator-(Wide x, Wide y) { return x + -y; }
FORKPOINT_HD inline Wide operator*(Wide x, Wide y) { return wide(x.m * y.m, x.e + y.e); }
/// `y` must not be zero.
FORKPOINT_HD inline Wide operator/(Wide x, Wide y) { return wide(x.m / y.m, x.e - y.e); }

FORKPOINT_HD inline bool isZero(Wide x) { return x.m == 0; }
FORKPOINT_HD inline bool operator<(Wide x, Wide y) { return (x - y).m < 0; }

/// Square root; 0 for a negative number, which only rounding can have made.
FORKPOINT_HD inline Wide root(Wide x)
{
    if (!(x.m > 0))
        return {};
    if (x.e % 2 != 0)
        return {std::sqrt(2 * x.m), (x.e - 1) / 2};
    return {std::sqrt(x.m), x.e / 2};
}

/// The nearest double; beyond double's range its largest finite number, so that no result is infinite that is not.
FORKPOINT_HD inline double toDouble(Wide x)
{
    const double value = std::ldexp(x.m, x.e);
    if (value > DBL_MAX)
        return DBL_MAX;
    if (value < -DBL_MAX)
        return -DBL_MAX;
    return value;
}

} // namespace forkpoint::metrics
