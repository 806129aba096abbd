// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/decode.h"

#include <algorithm>
#include <cmath>

// One pair after the other, where something may not be finite.
namespace forkpoint::heatmap::kernel {

using namespace metrics; // the elements' types and arithmetic

inline std::uint32_t specialFlags(double value, std::uint32_t nan, std::uint32_t positiveInf, std::uint32_t negativeInf)
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

} // namespace forkpoint::heatmap::kernel
