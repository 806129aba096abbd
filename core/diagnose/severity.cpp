// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnose/severity.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace forkpoint::diagnose {

namespace {

constexpr double kHalfTypes = 1.0 / (1 << 20); ///< unit roundoffs above this belong to half types and narrower
constexpr double kDrift = 100;                 ///< floors up to which a difference is drift
constexpr double kElementMargin = 16;          ///< a single element may err by this many floors of the largest magnitude
constexpr double kSignificant = 6;             ///< z beyond which an effect is no chance
constexpr double kEffectMargin = 8;            ///< and it must exceed this many roundoffs: a rounded constant is a factor too
constexpr std::int64_t kEnoughElements = 32;   ///< z is normal only for many

/// A factor or a bias that unstructured rounding would not show.
bool isStructured(const metrics::PairStatistics& s, double unitRoundoff)
{
    if (s.finite < kEnoughElements) {
        return false;
    }
    const double smallest = kEffectMargin * unitRoundoff;
    const double rms = std::max(s.normA, s.normB) / std::sqrt(static_cast<double>(s.finite));
    const bool factor = std::abs(s.factorZ) > kSignificant && std::abs(s.bestScale - 1) > smallest;
    const bool bias = std::abs(s.biasZ) > kSignificant && std::abs(s.meanDiff) > smallest * rms;
    return factor || bias;
}

/// A difference well above the floor that one factor explains to within it: no rounding does that, however wide the floor of a half type is.
bool isAFactor(const metrics::PairStatistics& s, double error, double floor, double norm)
{
    return s.finite >= kEnoughElements && error > kEffectMargin * floor && s.scaleResidual * s.normB <= floor * norm;
}

} // namespace

std::string_view name(Severity severity)
{
    switch (severity) {
    case Severity::Identical:
        return "identical";
    case Severity::Noise:
        return "noise";
    case Severity::Unmatched:
        return "unmatched";
    case Severity::Drift:
        return "drift";
    case Severity::Divergent:
        return "divergent";
    case Severity::Invalid:
        return "invalid";
    }
    return "invalid";
}

double estimatedFloor(double unitRoundoff)
{
    return unitRoundoff > kHalfTypes ? 4 * unitRoundoff : 32 * unitRoundoff;
}

Judgement judge(const metrics::PairStatistics& s, double unitRoundoff, double floor, const Scale& scale, double measuredMaxAbs)
{
    Judgement out;
    out.floor = floor;
    const std::int64_t unequalNonFinite = s.count - s.finite - s.nanBoth - s.infBothEqual;
    if (unequalNonFinite > 0) {
        out.error = out.ratio = std::numeric_limits<double>::infinity();
        out.severity = Severity::Invalid;
        return out;
    }
    if (s.bitEqual == s.count || s.diffNorm == 0) {
        // -0 against 0 and NaN payloads differ in bits and in nothing else
        out.severity = s.bitEqual == s.count ? Severity::Identical : Severity::Noise;
        return out;
    }
    const double norm = std::max({ s.normA, s.normB, scale.norm });
    out.error = norm > 0 ? s.diffNorm / norm : 0;
    if (floor <= 0) {
        out.ratio = std::numeric_limits<double>::infinity();
        out.severity = Severity::Divergent;
        return out;
    }
    const auto magnitude = [](const metrics::SideStatistics& side) { return std::max(std::abs(side.min), std::abs(side.max)); };
    const double largest = std::max({ magnitude(s.a), magnitude(s.b), scale.largest });
    const double elementLimit = std::max(kElementMargin * floor * largest, measuredMaxAbs);
    out.ratio = std::max(out.error / floor, elementLimit > 0 ? s.maxAbs.value / elementLimit : 0);
    if (out.ratio > kDrift || isAFactor(s, out.error, floor, norm)) {
        out.severity = Severity::Divergent;
    } else if (out.ratio > 1) {
        out.severity = Severity::Drift;
    } else {
        out.structured = measuredMaxAbs == 0 && isStructured(s, unitRoundoff);
        out.severity = out.structured ? Severity::Drift : Severity::Noise;
    }
    return out;
}

} // namespace forkpoint::diagnose
