// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/pair_statistics.h"

#include <cstdint>
#include <string_view>

// How bad is a difference? Bit-inequality is no alarm: a healthy split of a batch over two ranks changes half of all bits. The question is
// whether the error exceeds what rounding can make of it (DESIGN section 7).
namespace forkpoint::diagnose {

enum class Severity : std::uint8_t { Identical, Noise, Unmatched, Drift, Divergent, Invalid };
std::string_view name(Severity severity);

inline bool isAboveFloor(Severity severity) { return severity >= Severity::Drift; }

/// The estimated floor for values computed with unit roundoff u: 32 u for float32 and wider, 4 u for half types and narrower (their sums
/// run in a wider type). 0 for integers.
double estimatedFloor(double unitRoundoff);

/// What a difference is measured against, besides the two tensors themselves.
struct Scale {
    double norm = 0;    ///< S: lower bound of the 2-norm in the denominator; for gradients the module's largest rms times sqrt(n)
    double largest = 0; ///< lower bound of the largest magnitude, likewise
};

struct Judgement {
    double error = 0; ///< e = |B - A|_2 / max(|A|_2, |B|_2, S); infinite where the sides are invalid
    double floor = 0; ///< F
    double ratio = 0; ///< max(e / F, max|d| / (16 F amax)): up to 1 noise, up to 100 drift, above divergent
    Severity severity = Severity::Identical;
    bool structured = false; ///< within the floor by size, but a factor or a bias runs through it (z > 6): drift
};

/// `statistics` of the pair, the floor, the scale, and `measuredMaxAbs`: the largest |d| that a repeat of A showed where it raised the floor, 0
/// where the floor is estimated. A measured floor may be structured itself (another dropout mask), so structure alarms under an estimated
/// one only.
Judgement judge(const metrics::PairStatistics& statistics, double unitRoundoff, double floor, const Scale& scale, double measuredMaxAbs = 0);

} // namespace forkpoint::diagnose
