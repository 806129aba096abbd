// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"
#include "core/diagnose/severity.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace forkpoint::diagnose {

struct PairResult;

/// The stations of a step, in order; also the order of suspicion.
enum class Gate : std::uint8_t { Environment, Data, Weights, Forward, Loss, Backward, Reduce, Optimizer };
inline constexpr std::size_t kGates = 8;
std::string_view name(Gate gate);
Gate gateOf(const align::PairKey& key);

/// Two ranks of one run get other data by design: only weights, reduced gradients and the optimizer must be equal on them, and of these
/// neither buffers (each rank has seen its own data) nor what is split over the ranks. False for any other two sides.
bool mayDiffer(const align::Alignment& alignment, const align::Pair& pair);

enum class GateState : std::uint8_t {
    Ok,          ///< every pair identical or within the floor
    Differs,     ///< something above the floor, or of another hash (environment: something recorded differs), but the fork lies elsewhere
    Fork,        ///< the fork lies here
    NotCompared, ///< recorded on one side only, or unreadable: nothing could be compared
    NotRecorded, ///< no pair
};
std::string_view name(GateState state);

/// Pairs by what they came to; above: drift and divergent; pending: no result yet.
struct GateSummary {
    GateState state = GateState::NotRecorded;
    Severity worst = Severity::Identical;
    std::size_t identical = 0, noise = 0, above = 0, unmatched = 0, invalid = 0, pending = 0;
    std::size_t differing = 0; ///< the recorded hashes differ; by how much cannot be told

    std::size_t all() const { return identical + noise + above + unmatched + invalid + pending + differing; }
};
using Gates = std::array<GateSummary, kGates>;

struct GateQuestion {
    std::optional<int> step;                       ///< in the reference's numbering; nullopt: all
    std::optional<std::size_t> forkPair;           ///< the gate of this pair, in its step, is the fork's
    std::optional<std::size_t> environmentDiffers; ///< unexpected entries that differ; nullopt: neither side recorded any
};

/// `results` are those of the first pairs; pairs without one are pending. A pair that was not observed counts nowhere.
Gates summariseGates(const align::Alignment& alignment, std::span<const PairResult> results, const GateQuestion& question);

} // namespace forkpoint::diagnose
