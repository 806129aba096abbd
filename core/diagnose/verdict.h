// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnose/assessment.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::diagnose {

/// Where the runs part: the first pair above the floor all of whose recorded inputs are within it.
struct Fork {
    std::size_t pair = 0;
    std::vector<std::size_t> after; ///< its recorded inputs, all in agreement, in order
    bool proven = true;             ///< false: no pair had all its inputs in agreement, and this is just the first above the floor
};

/// The stations of a step, in order; also the order of suspicion.
enum class Gate : std::uint8_t { Environment, Data, Weights, Forward, Loss, Backward, Reduce, Optimizer };
inline constexpr std::size_t kGates = 8;
std::string_view name(Gate gate);
Gate gateOf(const align::PairKey& key);

enum class GateState : std::uint8_t {
    Ok,          ///< every pair identical or within the floor
    Differs,     ///< something above the floor (environment: something recorded differs), but the fork lies elsewhere
    Fork,        ///< the fork lies here
    NotCompared, ///< recorded on one side only, or unreadable: nothing could be compared
    NotRecorded, ///< no pair
};
std::string_view name(GateState state);

struct GateSummary {
    GateState state = GateState::NotRecorded;
    std::size_t identical = 0, noise = 0, above = 0, unmatched = 0, invalid = 0; ///< pairs; above: drift and divergent
};

/// What the comparison comes to.
struct Verdict {
    Severity severity = Severity::Identical; ///< of the worst pair
    std::optional<Fork> fork;
    std::array<GateSummary, kGates> gates;
    bool ordered = true;        ///< false: a side is plain files, which say nothing about execution; `fork` is the first difference in their order
    bool measuredFloor = false; ///< a repeat of the reference was given
    std::size_t undecidable = 0;
    std::size_t pairs = 0;      ///< pairs that exist on both sides
};

/// `environmentDiffers`: number of differing entries of environment and configuration; nullopt if neither was recorded.
Verdict verdict(const align::Alignment& alignment, const graph::PairInputs& inputs, const std::vector<PairResult>& results,
                std::optional<std::size_t> environmentDiffers, bool measuredFloor);

} // namespace forkpoint::diagnose
