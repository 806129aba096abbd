// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/pair_statistics.h"

#include "core/metrics/chunk_accumulator.h"

#include <limits>

namespace forkpoint::metrics {
namespace {

/// x / y, 0 for 0/0; `y` is 0 only where `x` is.
double ratio(Wide x, Wide y) { return isZero(y) ? 0 : toDouble(x / y); }

/// Sum of (d - slope * a)^2. From the sums where little cancels, which is exact for blocks of any magnitude; else from the fit.
Wide residualOf(const ChunkAccumulator& sums)
{
    if (isZero(sums.aa))
        return sums.dd;
    const Wide direct = sums.dd - sums.ad * sums.ad / sums.aa;
    return direct < sums.dd * wide(1.0 / 16) ? sums.fit.residual : direct;
}

SideStatistics finishedSide(const SideAccumulator& side, Wide pairedSquares, DType dtype)
{
    SideStatistics result;
    result.nan = side.nan;
    result.positiveInf = side.positiveInf;
    result.negativeInf = side.negativeInf;
    result.zeros = side.zeros;
    if (side.moments.n == 0)
        return result;
    result.min = side.min + 0.0; // -0 becomes 0: which of the two came first is no property of the data
    result.max = side.max + 0.0;
    result.mean = toDouble(side.moments.mean);
    result.std = toDouble(root(side.moments.deviation / wide(static_cast<double>(side.moments.n))));
    result.norm = toDouble(root(pairedSquares + side.aloneSquares));
    if (dtype == DType::Float32 && side.zeros < side.moments.n) {
        result.lowBitsZero = side.low13Clear;
        if (side.bfloat16Exact)
            result.narrowest = DType::BFloat16;
        else if (side.float16Exact)
            result.narrowest = DType::Float16;
    }
    return result;
}

Extremum finishedExtremum(const ExtremumAccumulator& found)
{
    return found.index < 0 ? Extremum{} : Extremum{found.value, found.index, found.a, found.b};
}

} // namespace

PairStatistics finished(const ChunkAccumulator& sums, const HistogramAccumulator& histograms, DType dtypeA, DType dtypeB)
{
    PairStatistics result;
    result.count = sums.count;
    result.finite = sums.finite;
    result.a = finishedSide(sums.a, sums.aa, dtypeA);
    result.b = finishedSide(sums.b, sums.bb, dtypeB);
    result.nanBoth = sums.nanBoth;
    result.infBothEqual = sums.infBothEqual;
    result.bitEqual = sums.bitEqual;
    result.zeroMismatch = sums.zeroMismatch;
    result.allcloseViolations = sums.allcloseViolations;
    result.maxAbs = finishedExtremum(sums.maxAbs);
    result.maxRel = finishedExtremum(sums.maxRel);
    result.absHistogram = finishedHistogram(histograms.zero, histograms.absolute, kAbsoluteFirst);
    result.relHistogram = finishedHistogram(histograms.zero, histograms.relative, kRelativeFirst);
    result.ulpHistogram = finishedHistogram(histograms.zero, histograms.ulp, kUlpFirst);
    if (sums.finite == 0)
        return result;

    const Wide n = wide(static_cast<double>(sums.finite));
    const Wide normA = root(sums.aa);
    const Wide normB = root(sums.bb);
    const Wide normD = root(sums.dd);
    result.meanAbs = toDouble(sums.absD / n);
    result.meanDiff = toDouble(sums.d / n);
    result.rmse = toDouble(root(sums.dd / n));
    result.diffNorm = toDouble(normD);
    result.normA = toDouble(normA);
    result.normB = toDouble(normB);
    result.relL2 = ratio(normD, normA < normB ? normB : normA);
    result.relLinf = ratio(wide(sums.maxAbs.value), wide(sums.largest));

    const bool zeroA = isZero(normA);
    const bool zeroB = isZero(normB);
    if (zeroA || zeroB) {
        result.cosine = zeroA && zeroB ? 1 : 0;
        if (zeroA != zeroB)
            result.normRatio = zeroA ? std::numeric_limits<double>::infinity() : 0;
    } else {
        // Equal sides have cosine 1 exactly; otherwise rounding may pass 1 by a few units in the last place.
        const double cosine = isZero(sums.dd) ? 1 : toDouble(sums.ab / normA / normB);
        result.cosine = cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
        result.normRatio = toDouble(normB / normA);
    }
    if (!zeroA)
        result.bestScale = toDouble(sums.ab / sums.aa);
    if (!zeroB)
        result.scaleResidual = toDouble(root(residualOf(sums)) / normB);
    result.factorZ = ratio(sums.ad, root(sums.aadd));
    result.biasZ = ratio(sums.d, normD);
    return result;
}

} // namespace forkpoint::metrics
