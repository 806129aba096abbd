// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/wide.h"

// What a backend makes of one chunk. Plain data without pointers, so that a GPU can write it and a test can compare it. A backend may form
// it in any order it likes, as long as it always takes the same one; what is reported is then a function of the data and of the chunks
// alone.
namespace forkpoint::metrics {

/// Mean and sum of squared deviations of n numbers, merged without cancellation (Chan, Golub, LeVeque: Updating formulae and a pairwise
/// algorithm for computing sample variances, 1979). Constant data gives exactly 0 deviation; the standard deviation is off by at most about
/// u |mean| beyond the bound for sums below, u = 2^-53.
struct Moments {
    std::int64_t n = 0;
    Wide mean;
    Wide deviation; ///< sum of (x - mean)^2

    FORKPOINT_HD_RARE void combine(const Moments& next)
    {
        if (next.n == 0)
            return;
        if (n == 0) {
            *this = next;
            return;
        }
        const auto total = static_cast<double>(n + next.n);
        const double share = static_cast<double>(next.n) / total;
        const Wide step = next.mean - mean;
        mean = mean + step * wide(share);
        deviation = deviation + next.deviation + step * step * wide(static_cast<double>(n) * share);
        n += next.n;
    }
};

/// The line d = slope * a fitted by least squares, with what it leaves over: sum of (d - slope * a)^2. The textbook form <d,d> -
/// <a,d>^2/<a,a> loses everything below 1e-8 |d| to cancellation; this one is formed like the variance above, from residuals of each block
/// and the spread of the blocks' slopes, and reaches about 1e-15 |d|. With d = B - A, slope = s - 1 and d - slope * a = B - s * A.
struct ScaleFit {
    Wide weight; ///< <a,a>
    Wide slope;
    Wide residual;

    FORKPOINT_HD_RARE void combine(const ScaleFit& next)
    {
        residual = residual + next.residual;
        if (isZero(next.weight))
            return;
        if (isZero(weight)) {
            weight = next.weight;
            slope = next.slope;
            return;
        }
        const Wide total = weight + next.weight;
        const Wide share = next.weight / total;
        const Wide step = next.slope - slope;
        // From the slope of more weight: where a is tiny and d is not, the other one is huge, and would take all digits along.
        slope = weight < next.weight ? next.slope - step * (weight / total) : slope + step * share;
        residual = residual + step * step * weight * share;
        weight = total;
    }
};

/// The largest value seen so far and where; the lowest index among equals, in whatever order they come.
struct ExtremumAccumulator {
    double value = -1;
    std::int64_t index = -1;
    double a = 0, b = 0;

    FORKPOINT_HD_RARE void combine(const ExtremumAccumulator& next)
    {
        if (next.index >= 0 && (next.value > value || (next.value == value && next.index < index)))
            *this = next;
    }
};

/// One side over its own finite numbers.
struct SideAccumulator {
    std::int64_t nan = 0, positiveInf = 0, negativeInf = 0, zeros = 0;
    double min = DBL_MAX, max = -DBL_MAX; ///< these until there is a finite number
    Moments moments;
    Wide aloneSquares; ///< squares of finite numbers whose partner is not finite; the others are in aa, bb
    bool low13Clear = true, bfloat16Exact = true, float16Exact = true; ///< float32 only: so far, for every finite number

    FORKPOINT_HD_RARE void combine(const SideAccumulator& next)
    {
        nan += next.nan;
        positiveInf += next.positiveInf;
        negativeInf += next.negativeInf;
        zeros += next.zeros;
        min = next.min < min ? next.min : min;
        max = next.max > max ? next.max : max;
        moments.combine(next.moments);
        aloneSquares = aloneSquares + next.aloneSquares;
        low13Clear = low13Clear && next.low13Clear;
        bfloat16Exact = bfloat16Exact && next.bfloat16Exact;
        float16Exact = float16Exact && next.float16Exact;
    }
};

/// Counters, extrema and sums over the pairs of a chunk; complex elements are two pairs. Sums are over pairs finite on both sides.
///
/// Error of a sum of n terms t: with blocks of at most 1024 numbers, one addition after the other at worst (the scalar backend: 256 in 8
/// lanes, 35 deep; simd: 1024 in 2 to 8 lanes; cuda: 256 by each thread, threads in halves), then blocks one by one within a chunk, then chunks
/// one by one, at most
/// (1024 + blocks per chunk + chunks) u sum|t| with u = 2^-53, plus the rounding of each term: below
/// 1e-12 sum|t| for 10^9 float32 elements in chunks of 1 MiB, and in practice far less (errors grow like the root of that count). Products
/// of numbers up to float32 are exact in double; d itself carries the one rounding of its subtraction.
struct ChunkAccumulator {
    std::int64_t count = 0, finite = 0, nanBoth = 0, infBothEqual = 0, bitEqual = 0, zeroMismatch = 0, allcloseViolations = 0;
    SideAccumulator a, b;
    ExtremumAccumulator maxAbs, maxRel;
    double largest = 0; ///< max(|a|, |b|)
    Wide aa, bb, ab, ad, dd;
    Wide d, absD;
    Wide aadd; ///< a^2 d^2
    ScaleFit fit;

    /// Appends the accumulator of the chunk that follows. Exact for counters and extrema; sums depend on the order, so callers keep it.
    FORKPOINT_HD_RARE void combine(const ChunkAccumulator& next)
    {
        count += next.count;
        finite += next.finite;
        nanBoth += next.nanBoth;
        infBothEqual += next.infBothEqual;
        bitEqual += next.bitEqual;
        zeroMismatch += next.zeroMismatch;
        allcloseViolations += next.allcloseViolations;
        a.combine(next.a);
        b.combine(next.b);
        maxAbs.combine(next.maxAbs);
        maxRel.combine(next.maxRel);
        largest = next.largest > largest ? next.largest : largest;
        aa = aa + next.aa;
        bb = bb + next.bb;
        ab = ab + next.ab;
        ad = ad + next.ad;
        dd = dd + next.dd;
        d = d + next.d;
        absD = absD + next.absD;
        aadd = aadd + next.aadd;
        fit.combine(next.fit);
    }
};

struct HistogramAccumulator;
struct PairStatistics;

/// The statistics of everything combined into `sums` and `histograms`, which came from sides of these types.
PairStatistics finished(const ChunkAccumulator& sums, const HistogramAccumulator& histograms, DType dtypeA, DType dtypeB);

} // namespace forkpoint::metrics
