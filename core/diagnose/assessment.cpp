// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnose/assessment.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace forkpoint::diagnose {

namespace {

using align::Pair;
using align::PairStatus;
using bundle::Kind;
using bundle::Phase;

constexpr double kNoiseMargin = 4;      ///< one repeat shows one sample of the noise: allow four times as much
constexpr double kPlausibleGrowth = 100; ///< by which an error of an earlier update may grow in one operation
constexpr std::int64_t kEnoughToTell = 64; ///< fewer elements may hold a narrow type's values by chance

/// Pairs whose error is measured against the largest of their kind in the module: some of them are zero in theory.
bool hasModuleScale(const bundle::Phase phase, Kind kind)
{
    return kind == Kind::Grad || (phase == Phase::Optimizer && (kind == Kind::OptimizerState || kind == Kind::Param));
}

/// Optimizer state that averages or adds up squared gradients: of Adam, RMSprop and Adadelta, Adagrad.
bool isOfSquares(const align::PairKey& key)
{
    const std::string_view slot = *key.slot, name = slot.substr(0, slot.find('@'));
    return key.kind == Kind::OptimizerState && (name == "exp_avg_sq" || name == "max_exp_avg_sq" || name == "square_avg" || name == "sum");
}

/// What becomes of a relative error of `from`: that of a square is twice that of what is squared.
double inheritedTimes(const align::PairKey& key, const align::PairKey& from) { return isOfSquares(key) && from.kind == Kind::Grad ? 2 : 1; }

double magnitude(const metrics::SideStatistics& side)
{
    return std::max(std::abs(side.min), std::abs(side.max));
}

/// A narrower type that holds all values of a side tells where they came from, unless they are one value: that may be a round number.
bool isEvidence(const metrics::SideStatistics& side)
{
    return side.narrowest && side.min != side.max;
}

/// The narrowest type that can have computed both sides: the declared one, or a narrower one that holds every value of both.
double ownRoundoff(const Pair& pair, const PairResult& result)
{
    double u = std::max(unitRoundoff(pair.dtypeA), unitRoundoff(pair.dtypeB));
    for (const auto& lane : result.lanes) {
        const auto& s = lane.statistics;
        if (!lane.ofUpdate && s.bitEqual != s.count && s.count >= kEnoughToTell && isEvidence(s.a) && isEvidence(s.b)) {
            u = std::max(u, std::min(unitRoundoff(*s.a.narrowest), unitRoundoff(*s.b.narrowest)));
        }
    }
    return u;
}

void takeWorst(PairResult& result)
{
    result.worst = 0;
    for (std::size_t i = 1; i < result.judgements.size(); ++i) {
        const auto& x = result.judgements[i];
        const auto& y = result.judgements[result.worst];
        if (x.severity > y.severity || (x.severity == y.severity && x.ratio > y.ratio)) {
            result.worst = i;
        }
    }
    const auto& worst = result.judgements[result.worst];
    result.severity = worst.severity;
    result.error = worst.error;
    result.floor = worst.floor;
    result.ratio = worst.ratio;
    result.structured = worst.structured;
}

} // namespace

Assessor::Assessor(const align::Alignment& alignment, const graph::PairInputs& inputs, const Measurer& measurer, const NoiseFloor* noise)
    : m_alignment(alignment)
    , m_inputs(inputs)
    , m_measurer(measurer)
    , m_noise(noise)
{
}

Scale Assessor::scaleOf(std::size_t pair, std::size_t first, std::size_t last, const std::vector<PairResult>& results) const
{
    Scale scale;
    const auto& key = m_alignment.pairs[pair].key;
    if (!hasModuleScale(key.phase, key.kind) || results[pair].lanes.empty()) {
        return scale;
    }
    double rms = 0;
    for (std::size_t i = first; i < last; ++i) {
        const auto& other = m_alignment.pairs[i].key;
        if (other.kind != key.kind || other.module != key.module || other.micro != key.micro || other.slot != key.slot) {
            continue;
        }
        for (const auto& lane : results[i].lanes) {
            const auto& s = lane.statistics;
            if (s.finite > 0) {
                rms = std::max(rms, std::max(s.normA, s.normB) / std::sqrt(static_cast<double>(s.finite)));
                scale.largest = std::max({ scale.largest, magnitude(s.a), magnitude(s.b) });
            }
        }
    }
    scale.norm = rms * std::sqrt(static_cast<double>(results[pair].lanes.front().statistics.finite));
    return scale;
}

double Assessor::roundoffOf(std::size_t pair, const std::vector<PairResult>& results) const
{
    double u = ownRoundoff(m_alignment.pairs[pair], results[pair]);
    if (u == 0) {
        return 0; // integers have no rounding to hide behind
    }
    const auto& key = m_alignment.pairs[pair].key;
    if (key.phase == Phase::Start || key.phase == Phase::Data) {
        return u;
    }
    for (const auto i : m_inputs.of[pair]) {
        if (i >= pair) {
            continue;
        }
        const auto& input = m_alignment.pairs[i];
        if (results[i].severity != Severity::Identical) { // equal inputs bring no error along
            u = std::max(u, results[i].unitRoundoff);
        } else if (key.phase == Phase::Backward && input.key.kind == Kind::GradOutput) { // autocast: computed in its type, and widened afterwards
            u = std::max(u, ownRoundoff(input, results[i]));
        }
    }
    return u;
}

void Assessor::judgeLanes(std::size_t pair, const Scale& scale, PairResult& result) const
{
    double floor = estimatedFloor(result.unitRoundoff);
    double measuredMaxAbs = 0;
    if (m_noise && result.unitRoundoff > 0) {
        if (const auto found = m_noise->find(m_alignment.pairs[pair].id); found != m_noise->end()) {
            if (const double measured = kNoiseMargin * found->second.error; measured > floor) {
                floor = measured;
                measuredMaxAbs = kNoiseMargin * found->second.maxAbs;
            }
        }
    }
    result.judgements.clear();
    for (const auto& lane : result.lanes) {
        double own = floor * (isOfSquares(m_alignment.pairs[pair].key) ? 2 : 1);
        if (lane.ofUpdate) {
            // A stored parameter is rounded at its own size: the update seen through it is only that exact.
            const double update = std::max({ lane.statistics.normA, lane.statistics.normB, scale.norm });
            own *= update > 0 ? 1 + lane.parameterNorm / update : 1;
        }
        result.judgements.push_back(judge(lane.statistics, result.unitRoundoff, own, scale, measuredMaxAbs));
        if (lane.wholeDiffers && result.judgements.back().severity == Severity::Identical) {
            result.judgements.back().severity = Severity::Noise; // equal samples of tensors that are not known to be equal
        }
    }
    takeWorst(result);
}

std::optional<std::size_t> Assessor::pairBefore(std::size_t pair) const
{
    // The one input of a start pair or of a state on entry is the same tensor after the previous update.
    const auto& key = m_alignment.pairs[pair].key;
    const bool carries = key.phase == Phase::Start || key.slot->ends_with("@before");
    if (!carries || m_inputs.of[pair].size() != 1 || m_inputs.of[pair][0] >= pair) {
        return std::nullopt;
    }
    return m_inputs.of[pair][0];
}

Result<void> Assessor::setApartIllConditioned(std::size_t pair, const Scale& scale, std::vector<PairResult>& results, std::stop_token stop) const
{
    const auto& p = m_alignment.pairs[pair];
    auto& result = results[pair];
    if (!isAboveFloor(result.severity) || result.severity == Severity::Invalid || !result.lanes[result.worst].ofUpdate) {
        return {};
    }
    double gradientNoise = 0;
    for (const auto i : m_inputs.of[pair]) {
        if (m_alignment.pairs[i].key.kind == Kind::Grad && i < pair && !results[i].judgements.empty()) {
            if (isAboveFloor(results[i].severity)) {
                return {}; // the gradients themselves differ: nothing here is decided by noise
            }
            const auto& key = m_alignment.pairs[i].key;
            double largest = 0; // of the module's gradients
            for (std::size_t j = pair; j-- > 0 && m_alignment.pairs[j].key.step == key.step;) {
                const auto& other = m_alignment.pairs[j].key;
                if (other.kind == Kind::Grad && other.phase == key.phase && other.module == key.module) {
                    for (const auto& lane : results[j].lanes) {
                        largest = std::max({ largest, magnitude(lane.statistics.a), magnitude(lane.statistics.b) });
                    }
                }
            }
            gradientNoise = 16 * estimatedFloor(results[i].unitRoundoff) * largest;
        }
    }
    if (gradientNoise <= 0) {
        return {};
    }
    PairResult trial = result;
    for (std::size_t lane = 0; lane < p.lanes.size(); ++lane) {
        if (!isAboveFloor(trial.judgements[lane].severity)) {
            continue;
        }
        auto again = m_measurer.measureWellConditioned(p.lanes[lane], gradientNoise, stop);
        if (!again) {
            return tl::unexpected(again.error());
        }
        if (!*again || (*again)->illConditioned == 0) {
            return {};
        }
        (*again)->plainError = trial.lanes[lane].plainError;
        (*again)->parameterNorm = trial.lanes[lane].parameterNorm;
        trial.lanes[lane] = std::move(**again);
    }
    judgeLanes(pair, scale, trial);
    if (isAboveFloor(trial.severity)) {
        return {};
    }
    if (trial.severity == Severity::Identical) {
        trial.severity = Severity::Noise; // of what was left; the rest differs
    }
    for (const auto& lane : trial.lanes) {
        trial.illConditioned += lane.illConditioned;
    }
    trial.note = fmt::format("{} elements counted apart: their gradient is within the noise, and the optimizer turns its sign into a full update",
                             trial.illConditioned);
    result = std::move(trial);
    return {};
}

void Assessor::followInputs(std::size_t pair, std::vector<PairResult>& results) const
{
    auto& result = results[pair];
    const auto& p = m_alignment.pairs[pair];
    double inheritable = 0;
    bool anyNoiseGrown = false, allAboveAreUndecidable = true;
    std::size_t parameters = 0, unknownParameters = 0;
    for (const auto i : m_inputs.of[pair]) {
        if (i >= pair) {
            continue;
        }
        const auto& from = m_alignment.pairs[i];
        if (from.key.phase == Phase::Start && from.key.kind == Kind::Param) {
            ++parameters;
            unknownParameters += from.status != PairStatus::Matched ? 1u : 0u;
        }
        const auto& input = results[i];
        if (input.lanes.empty()) {
            continue;
        }
        if (std::isfinite(input.error)) {
            result.inherited = std::max(result.inherited, inheritedTimes(p.key, from.key) * input.error);
        }
        inheritable = std::max(inheritable, inheritedTimes(p.key, from.key) * input.inheritable);
        anyNoiseGrown = anyNoiseGrown || input.undecidable || input.illConditioned > 0;
        allAboveAreUndecidable = allAboveAreUndecidable && (!isAboveFloor(input.severity) || input.undecidable);
    }
    result.added = std::isfinite(result.error) ? std::max(0.0, result.error - result.inherited) : result.error;
    result.inheritable = std::isfinite(result.error) ? result.error : 0;
    for (const auto& lane : result.lanes) {
        result.inheritable = std::max(result.inheritable, lane.plainError);
    }
    // After the first recorded update, what only grew from noise cannot be told from a defect without a measured floor at that step.
    const bool late = !m_alignment.steps.empty() && p.key.step > m_alignment.steps.front().step;
    const bool own = p.key.phase == Phase::Start || p.key.phase == Phase::Data;
    // That includes structure: parameters that were rounded apart act on all rows alike.
    // Nothing says how far apart what it was computed from is, or its parameters are: FSDP shows those of the whole model as one.
    const bool noParameters = parameters > 0 && unknownParameters == parameters;
    const bool ofUnknown = (m_inputs.of[pair].empty() || noParameters) && result.severity == Severity::Drift;
    if (late && !own && ofUnknown) {
        anyNoiseGrown = true;
        inheritable = std::numeric_limits<double>::infinity();
    }
    if (late && !own && isAboveFloor(result.severity) && result.severity != Severity::Invalid && allAboveAreUndecidable
        && std::isfinite(result.ratio) && result.error <= kPlausibleGrowth * inheritable && (anyNoiseGrown || result.severity == Severity::Drift)) {
        result.undecidable = true;
        result.severity = Severity::Noise;
        result.note = fmt::format("not decidable without a noise run from step {}: may have grown from the rounding of an earlier update", p.key.step);
    }
}

Result<void> Assessor::assess(std::size_t first, std::size_t last, std::vector<PairResult>& results, std::stop_token stop) const
{
    for (std::size_t i = first; i < last; ++i) {
        if (stop.stop_requested()) {
            return fail(ErrorCode::Cancelled, "cancelled while judging");
        }
        auto& result = results[i];
        const auto& pair = m_alignment.pairs[i];
        if (pair.status == PairStatus::Unrelated) {
            result.severity = Severity::Invalid;
            result.error = result.ratio = std::numeric_limits<double>::infinity();
            result.note = pair.note;
            continue;
        }
        if (result.lanes.empty()) {
            result.severity = Severity::Unmatched;
            if (result.note.empty()) {
                result.note = pair.note;
            }
            continue;
        }
        if (const auto before = pairBefore(i); before && !results[*before].lanes.empty()
            && m_measurer.isUnchangedSince(pair, m_alignment.pairs[*before].key.step)) {
            result = results[*before];
            result.unchanged = true;
            result.inherited = result.error;
            result.added = 0;
            continue;
        }
        result.unitRoundoff = roundoffOf(i, results);
        const Scale scale = scaleOf(i, first, last, results);
        judgeLanes(i, scale, result);
        if (auto done = setApartIllConditioned(i, scale, results, stop); !done) {
            return done;
        }
        followInputs(i, results);
    }
    return {};
}

} // namespace forkpoint::diagnose
