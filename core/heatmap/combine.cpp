// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/halving.h"

#include <algorithm>

// From each level to the next.
namespace forkpoint::heatmap {

using namespace kernel;

namespace {

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

template <class Real>
FORKPOINT_AVX2 void combineRowsAvx2(const CellPlanes<Real>& first, const CellPlanes<Real>& second, std::int64_t columns, bool halve,
                                    const CellPlanes<Real>& to)
{
    combineRowsBody<Real>(first, second, columns, halve, to);
}

} // namespace

template <class Real>
void combineRows(const CellPlanes<Real>& first, const CellPlanes<Real>& second, std::int64_t columns, bool halveColumns,
                 const CellPlanes<Real>& to, Instructions instructions)
{
    if (instructions == Instructions::Avx2)
        combineRowsAvx2<Real>(first, second, columns, halveColumns, to);
    else
        combineRowsBody<Real>(first, second, columns, halveColumns, to);
}

template void combineRows(const CellPlanes<float>&, const CellPlanes<float>&, std::int64_t, bool, const CellPlanes<float>&, Instructions);
template void combineRows(const CellPlanes<double>&, const CellPlanes<double>&, std::int64_t, bool, const CellPlanes<double>&, Instructions);

} // namespace forkpoint::heatmap
