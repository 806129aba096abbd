// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/metrics/histogram.h"
#include "core/tensor/tensor_source.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

// One pass over a pair of tensors. A is the reference, B the candidate, d = B - A. Elements where either side is NaN or infinite are
// counted and left out of everything else ("finite pairs" below), so that they never hide another error.
//
// Arithmetic: d is formed in float for types up to float32 (narrow types are widened exactly first), in double for float64, in 128 bits for
// integers; products and sums are accumulated in double over fixed blocks that are combined in a fixed order, so that results do not depend
// on the number of threads. Complex elements are compared as their real and imaginary parts, counted as two elements. Pairs of different
// floating width are compared in the wider type, floating with integer in double. The error bound of the sums is stated in
// chunk_accumulator.h. No result is NaN, and only normRatio can be infinite: sums carry their own exponent (wide.h), and what exceeds
// double's range all the same (the norm of float64 data near 1e308) is given as double's largest number.
namespace forkpoint::metrics {

/// The element at which an extremum was found. Ties: the lowest flat index wins.
struct Extremum {
    double value = 0;        ///< the metric there
    std::int64_t index = -1; ///< row-major flat index in the pair's shape (complex: of the element); -1 if there is none
    double a = 0, b = 0;     ///< both values there

    bool operator==(const Extremum&) const = default;
};

/// One side, over its own finite elements.
struct SideStatistics {
    std::int64_t nan = 0, positiveInf = 0, negativeInf = 0;
    std::int64_t zeros = 0;
    double min = 0, max = 0, mean = 0, std = 0; ///< std: population (divisor n)
    double norm = 0;                            ///< 2-norm
    /// float32 whose low 13 mantissa bits are zero in every finite element, one of them not 0: came from a narrower type.
    bool lowBitsZero = false;
    /// The first of bfloat16, float16 that holds every finite element of a float32 side exactly; none if all of them are 0.
    std::optional<DType> narrowest;

    bool operator==(const SideStatistics&) const = default;
};

/// A pair of different floating types, after the wider side was rounded to the type of the other (narrower.h): what is left is more than the
/// rounding of the narrower type. The fields are those of PairStatistics.
struct NarrowerComparison {
    DType dtype = DType::Float32; ///< both sides now have this type
    std::int64_t finite = 0, bitEqual = 0, allcloseViolations = 0;
    Extremum maxAbs;
    double meanAbs = 0, relL2 = 0;
    Histogram ulpHistogram; ///< in steps of the narrower type

    bool operator==(const NarrowerComparison&) const = default;
};

/// Of |d| over finite pairs (percentiles.h says how they are defined).
struct Percentiles {
    double p50 = 0, p90 = 0, p99 = 0, p999 = 0; ///< p999: 99.9 %

    bool operator==(const Percentiles&) const = default;
};

struct PairStatistics {
    std::int64_t count = 0;       ///< elements (masked: those counted)
    std::int64_t finite = 0;      ///< finite on both sides
    SideStatistics a, b;
    std::int64_t nanBoth = 0, infBothEqual = 0; ///< coincidences: NaN on both; the same infinity on both
    std::int64_t bitEqual = 0;    ///< same bits (NaN payloads included); different widths: equal values after widening
    std::int64_t zeroMismatch = 0; ///< zero on one side only (among finite pairs)
    /// Not |d| <= atol + rtol * |a|, a the reference: torch.isclose(B, A), the threshold formed in double. NaN and unequal infinities
    /// violate.
    std::int64_t allcloseViolations = 0;

    Extremum maxAbs;   ///< |d|
    Extremum maxRel;   ///< |d| / max(|a|, |b|); 0/0 is 0
    double meanAbs = 0;
    double meanDiff = 0;  ///< bias, mean of d
    double rmse = 0;
    double diffNorm = 0;  ///< 2-norm of d
    double relL2 = 0;     ///< |d|_2 / max(|A|_2, |B|_2) over finite pairs; 0 if both are zero
    double relLinf = 0;   ///< max|d| / max(max|A|, max|B|)
    double cosine = 1;    ///< <A,B> / (|A| |B|); 1 if both are zero, 0 if one is
    double normRatio = 1; ///< |B| / |A|; 1 if both are zero, infinity if only A is
    double bestScale = 1; ///< s = <A,B> / <A,A>, the s that minimises |B - sA|; 1 if A is zero
    double scaleResidual = 0; ///< |B - sA| / |B|; 0 if B is zero. From residuals of blocks (ScaleFit), good to about 1e-15 |d| / |B|
    double normA = 0, normB = 0; ///< 2-norms over finite pairs

    // Is d unstructured? Under independent errors both are about N(0,1) (Wald statistic with heteroscedastic error estimate).
    double factorZ = 0; ///< <a,d> / sqrt(sum a^2 d^2)
    double biasZ = 0;   ///< sum d / sqrt(sum d^2)

    // Over finite pairs, on request; their zeros are the pairs with d = 0.
    Histogram absHistogram; ///< |d|; below 2^-126 and from 2^128 on share a bin each
    Histogram relHistogram; ///< |d| / max(|a|, |b|)
    Histogram ulpHistogram; ///< steps between a and b (ulp.h); integers: |d|

    std::optional<Percentiles> percentiles; ///< on request
    std::optional<NarrowerComparison> narrower; ///< if both sides are floating (or complex) and their types differ

    std::string_view backend; ///< name of the one that computed this

    bool operator==(const PairStatistics&) const = default;
};

struct MeasureOptions {
    double rtol = 1.3e-6, atol = 1e-5; ///< torch.testing.assert_close for float32; neither negative nor NaN
    int threads = 0;                   ///< at most this many; 0: as many as oneTBB gives
    bool histograms = true;            ///< form the histograms
    bool percentiles = false;          ///< find the percentiles of |d|, exactly: reads the pair up to four times more
    bool narrower = true;              ///< compare in the narrower type too, where types differ
};

/// Measures a pair of equal element counts (shapes may differ by a reshape; boxes are taken on A's chunks if shapes are equal, else both
/// are read flattened; indices are of A's shape). Fails with Usage if the counts differ, one side is complex and the other not, the
/// tolerances make no sense or the backend asked for does not exist; with the error of the first chunk that cannot be read; or with
/// Cancelled.
Result<PairStatistics> measure(const TensorSource& a, const TensorSource& b, const MeasureOptions& options = {}, std::stop_token stop = {});

/// As measure, counting only elements where mask(index) != 0; the mask is a bool or uint8 tensor of equal shape.
Result<PairStatistics> measureMasked(const TensorSource& a, const TensorSource& b, const TensorSource& mask, const MeasureOptions& options = {},
                                     std::stop_token stop = {});

} // namespace forkpoint::metrics
