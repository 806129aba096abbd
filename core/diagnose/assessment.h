// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnose/measurement.h"
#include "core/diagnose/severity.h"
#include "core/graph/pair_inputs.h"

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace forkpoint::diagnose {

/// What is known of one pair after measuring and judging it.
struct PairResult {
    Severity severity = Severity::Unmatched;
    double error = 0, floor = 0, ratio = 0; ///< of the worst lane
    double inherited = 0;      ///< largest error among the pair's inputs
    double added = 0;          ///< max(0, error - inherited): "new error here"
    double unitRoundoff = 0;   ///< of the narrowest type that computed it
    bool structured = false;   ///< small, but a factor or a bias runs through it
    bool unchanged = false;    ///< the same bytes as after the previous step's update: judged there
    bool differsInBits = false; ///< no lanes: the recorded hashes differ, by how much cannot be told
    bool undecidable = false;  ///< above the floor, but may have grown from noise of an earlier update: shown as noise, never the fork
    std::int64_t illConditioned = 0; ///< elements counted apart: noise-sized gradients decide their update
    double inheritable = 0;    ///< error that what is computed from it may show
    std::size_t worst = 0;     ///< index into lanes
    std::vector<LaneMeasurement> lanes;
    std::vector<Judgement> judgements; ///< per lane
    std::string note;          ///< why it was not compared, or a caveat

    const LaneMeasurement* worstLane() const { return lanes.empty() ? nullptr : &lanes[worst]; }
};

/// What a repeat of the reference showed, by pair id.
struct MeasuredNoise {
    double error = 0;
    double maxAbs = 0;
};
using NoiseFloor = std::unordered_map<std::string, MeasuredNoise>;

/// Judges pairs in order. Needs the results of a pair's inputs, and of its module for the scale of gradients: give it whole phases.
class Assessor {
public:
    /// `noise` may be null. All must outlive the assessor.
    Assessor(const align::Alignment& alignment, const graph::PairInputs& inputs, const Measurer& measurer, const NoiseFloor* noise);

    /// Judges the pairs [first, last), all of one step and phase, whose lanes were measured (empty where that failed, the note says why).
    /// `results` holds those of all earlier pairs and receives these.
    Result<void> assess(std::size_t first, std::size_t last, std::vector<PairResult>& results, std::stop_token stop) const;

private:
    Scale scaleOf(std::size_t pair, std::size_t first, std::size_t last, const std::vector<PairResult>& results) const;
    double roundoffOf(std::size_t pair, const std::vector<PairResult>& results) const;
    void judgeLanes(std::size_t pair, const Scale& scale, PairResult& result) const;
    Result<void> setApartIllConditioned(std::size_t pair, const Scale& scale, std::vector<PairResult>& results, std::stop_token stop) const;
    void followInputs(std::size_t pair, std::vector<PairResult>& results) const;
    std::optional<std::size_t> pairBefore(std::size_t pair) const;

    const align::Alignment& m_alignment;
    const graph::PairInputs& m_inputs;
    const Measurer& m_measurer;
    const NoiseFloor* m_noise;
};

} // namespace forkpoint::diagnose
