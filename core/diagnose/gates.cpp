// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnose/gates.h"

#include "core/diagnose/assessment.h"

#include <algorithm>

namespace forkpoint::diagnose {

namespace {

using bundle::Kind;
using bundle::Phase;

void count(GateSummary& gate, const PairResult& result)
{
    gate.worst = std::max(gate.worst, result.severity);
    if (result.differsInBits) {
        ++gate.differing;
        return;
    }
    switch (result.severity) {
    case Severity::Identical:
        ++gate.identical;
        break;
    case Severity::Noise:
        ++gate.noise;
        break;
    case Severity::Unmatched:
        ++gate.unmatched;
        break;
    case Severity::Drift:
    case Severity::Divergent:
        ++gate.above;
        break;
    case Severity::Invalid:
        ++gate.invalid;
        break;
    }
}

} // namespace

std::string_view name(Gate gate)
{
    constexpr std::array<std::string_view, kGates> names
        = { "environment", "data", "weights", "forward", "loss", "backward", "reduce", "optimizer" };
    return names[static_cast<std::size_t>(gate)];
}

std::string_view name(GateState state)
{
    switch (state) {
    case GateState::Ok:
        return "ok";
    case GateState::Differs:
        return "differs";
    case GateState::Fork:
        return "fork";
    case GateState::NotCompared:
        return "not compared";
    case GateState::NotRecorded:
        break;
    }
    return "not recorded";
}

Gate gateOf(const align::PairKey& key)
{
    switch (key.phase) {
    case Phase::Start:
        return Gate::Weights;
    case Phase::Data:
        return Gate::Data;
    case Phase::Forward:
        return key.kind == Kind::Output && (key.module == "loss" || key.module->starts_with("loss#")) ? Gate::Loss : Gate::Forward;
    case Phase::Backward:
        return Gate::Backward;
    case Phase::Reduce:
        return Gate::Reduce;
    case Phase::Optimizer:
        break;
    }
    return Gate::Optimizer;
}

bool mayDiffer(const align::Alignment& alignment, const align::Pair& pair)
{
    if (!alignment.ranksOfOneRun) {
        return false;
    }
    const auto gate = gateOf(pair.key);
    if ((gate != Gate::Weights && gate != Gate::Reduce && gate != Gate::Optimizer) || pair.key.kind == Kind::Buffer) {
        return true;
    }
    const auto isSplit = [](const align::Assembly& assembly) {
        for (const auto& row : assembly.parts) {
            for (const auto& part : row) {
                if (part.record && std::any_of(part.record->placement.begin(), part.record->placement.end(),
                                               [](const auto& p) { return p.type != bundle::Placement::Type::Replicate; })) {
                    return true;
                }
            }
        }
        return false;
    };
    return std::any_of(pair.lanes.begin(), pair.lanes.end(), [&](const align::Lane& lane) { return isSplit(lane.a) || isSplit(lane.b); });
}

Gates summariseGates(const align::Alignment& alignment, std::span<const PairResult> results, const GateQuestion& question)
{
    Gates out;
    const auto& pairs = alignment.pairs;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (pairs[i].status == align::PairStatus::NotObserved || (question.step && pairs[i].key.step != *question.step)) {
            continue;
        }
        auto& gate = out[static_cast<std::size_t>(gateOf(pairs[i].key))];
        if (i < results.size()) {
            count(gate, results[i]);
        } else {
            ++gate.pending;
        }
    }
    for (auto& gate : out) {
        gate.state = gate.all() == 0        ? GateState::NotRecorded
            : gate.all() == gate.unmatched  ? GateState::NotCompared
            : gate.above + gate.invalid + gate.differing > 0 ? GateState::Differs
                                                             : GateState::Ok;
    }
    if (question.environmentDiffers) {
        auto& environment = out[static_cast<std::size_t>(Gate::Environment)];
        environment.state = *question.environmentDiffers > 0 ? GateState::Differs : GateState::Ok;
        environment.worst = *question.environmentDiffers > 0 ? Severity::Drift : Severity::Identical;
    }
    if (question.forkPair) {
        const auto& key = pairs[*question.forkPair].key;
        if (!question.step || key.step == *question.step) {
            out[static_cast<std::size_t>(gateOf(key))].state = GateState::Fork;
        }
    }
    return out;
}

} // namespace forkpoint::diagnose
