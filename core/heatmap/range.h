// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/heatmap/pyramid.h"

#include <array>
#include <cstdint>
#include <stop_token>
#include <vector>

// Which values are worth a colour: the histogram under the range bar, and a range that fits most of it.
namespace forkpoint::heatmap {

/// Values by magnitude, on an axis of log2: eight bins to the octave, each an eighth of it in value (an edge is 2^o (1 + j/8)), so that a
/// bin is found from the bits of a number and holds values within 12.5 % of each other. To be shown on a logarithmic axis, and said so.
struct LogBins {
    static constexpr int kPerOctave = 8;

    std::int64_t first = 0;           ///< number of the first bin of `counts`; bin n begins at edge(n)
    std::vector<std::int64_t> counts; ///< empty if there are no values; first and last are not 0

    static double edge(std::int64_t bin); ///< 2^floor(bin / 8) * (1 + (bin mod 8) / 8), down to double's smallest numbers
    static std::int64_t binOf(double magnitude); ///< finite, not 0
    std::int64_t total() const;
    bool operator==(const LogBins&) const = default;
};

/// The values of one mode over all elements of a picture (level 0). Finite values only; the others are counted.
struct Histogram {
    Mode mode = Mode::AbsDifference;
    LogBins negative; ///< by magnitude; empty in modes that have no negative values
    LogBins positive;
    std::int64_t zeros = 0;
    std::int64_t nan = 0, positiveInf = 0, negativeInf = 0;
    std::array<std::int64_t, 3> classes{}; ///< OverTolerance only: pairs that are equal, within and over (NaN and Inf among the last)
    double min = 0, max = 0; ///< finite ones, exactly; 0 if there are none

    std::int64_t finite() const;
    bool operator==(const Histogram&) const = default;
};

/// One pass over the elements. Fails as the sources fail, or with Cancelled. Stage of the progress: "histogram".
Result<Histogram> histogramOf(const Pyramid& pyramid, Mode mode, std::stop_token stop = {}, Progress* progress = nullptr);

/// Of both, for a range that A and B share. Modes that differ: that of the first.
Histogram joined(const Histogram& x, const Histogram& y);

/// The finite value below which a share q of them lies, 0 <= q <= 1, interpolated within its bin and exact at 0 and 1. 0 if there are none.
double quantile(const Histogram& histogram, double q);
/// The same of magnitudes, over values other than 0: equal elements say nothing about the size of the differences.
double magnitudeQuantile(const Histogram& histogram, double q);

struct ValueRange {
    double low = 0, high = 1; ///< low < high

    bool operator==(const ValueRange&) const = default;
};

/// Finite values below and above a range. Exact where the range ends at an edge of a bin or beyond the extremes; in a bin that holds an end, values
/// are assumed to lie evenly, but never to be all inside while an extreme is outside.
struct OutsideCounts {
    std::int64_t below = 0, above = 0;
    bool belowExact = true, aboveExact = true;
};
OutsideCounts outside(const Histogram& histogram, const ValueRange& range);

enum class RangeScale : std::uint8_t { Linear, Log, SymLog };

/// A range for this mode and scale that single extremes do not stretch. NaN and infinities take no part.
///   A, B:                 p0.5 to p99.5; on a log scale of the positive values
///   B - A:                symmetric, +- p99.9 of the non-zero magnitudes
///   |B - A|, rel, ULP:    0 (log: p0.5 of the non-zero values) to p99.9 of the non-zero values
///   over tolerance:       0 to 2
/// Where that is empty it is widened so that low < high; without finite values it is 0 to 1 (log: 0.1 to 1).
ValueRange fittedRange(const Histogram& histogram, RangeScale scale);

} // namespace forkpoint::heatmap
