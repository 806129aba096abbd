// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnose/verdict.h"

#include <algorithm>

namespace forkpoint::diagnose {

namespace {

using align::PairStatus;
using bundle::Kind;
using bundle::Phase;

bool above(const PairResult& result) { return isAboveFloor(result.severity); }

/// Compared, and found equal up to rounding.
bool agrees(const PairResult& result) { return result.severity <= Severity::Noise; }

bool isOneSided(PairStatus status) { return status == PairStatus::OnlyA || status == PairStatus::OnlyB; }

class ForkFinder {
public:
    ForkFinder(const align::Alignment& alignment, const graph::PairInputs& inputs, const std::vector<PairResult>& results)
        : m_pairs(alignment.pairs)
        , m_inputs(inputs.of)
        , m_results(results)
    {
    }

    /// The first pair above the floor: all there is to say without an order of execution.
    std::optional<Fork> first() const
    {
        const auto found = std::find_if(m_results.begin(), m_results.end(), above);
        return found == m_results.end() ? std::nullopt : std::optional(Fork { static_cast<std::size_t>(found - m_results.begin()), {}, false });
    }

    std::optional<Fork> find() const
    {
        std::optional<std::size_t> firstAbove;
        for (std::size_t i = 0; i < m_pairs.size(); ++i) {
            if (!above(m_results[i])) {
                continue;
            }
            if (!firstAbove || isMereInput(*firstAbove)) {
                firstAbove = firstAbove && isMereInput(i) ? firstAbove : std::optional(i);
            }
            if (const auto culprit = oneSidedProducer(i)) {
                return forkAt(*culprit, true);
            }
            if (!isMereInput(i) && inputsAgree(i)) {
                return forkAt(i, true);
            }
        }
        return firstAbove ? std::optional(forkAt(*firstAbove, false)) : std::nullopt;
    }

private:
    /// An input that was made by something recorded is only a messenger.
    bool isMereInput(std::size_t i) const { return m_pairs[i].key.kind == Kind::Input && !m_inputs[i].empty(); }

    bool inputsAgree(std::size_t i) const
    {
        return std::none_of(m_inputs[i].begin(), m_inputs[i].end(), [&](std::size_t input) { return above(m_results[input]); });
    }

    /// A module that exists on one side only, whose output reaches this pair while everything else that does agrees.
    std::optional<std::size_t> oneSidedProducer(std::size_t i) const
    {
        for (const auto input : m_inputs[i]) {
            if (m_pairs[input].key.kind == Kind::Output && m_pairs[input].key.phase == Phase::Forward && isOneSided(m_pairs[input].status)
                && inputsAgree(input) && inputsAgree(i)) {
                return input;
            }
        }
        return std::nullopt;
    }

    Fork forkAt(std::size_t i, bool proven) const
    {
        Fork fork { i, {}, proven };
        for (const auto input : m_inputs[i]) {
            if (agrees(m_results[input])) {
                fork.after.push_back(input);
            }
        }
        return fork;
    }

    const std::vector<align::Pair>& m_pairs;
    const std::vector<std::vector<std::size_t>>& m_inputs;
    const std::vector<PairResult>& m_results;
};

void count(GateSummary& gate, const PairResult& result)
{
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
        return key.kind == Kind::Output && (key.module == "loss" || key.module.starts_with("loss#")) ? Gate::Loss : Gate::Forward;
    case Phase::Backward:
        return Gate::Backward;
    case Phase::Reduce:
        return Gate::Reduce;
    case Phase::Optimizer:
        break;
    }
    return Gate::Optimizer;
}

Verdict verdict(const align::Alignment& alignment, const graph::PairInputs& inputs, const std::vector<PairResult>& results,
                std::optional<std::size_t> environmentDiffers, bool measuredFloor)
{
    Verdict out;
    out.measuredFloor = measuredFloor;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const auto status = alignment.pairs[i].status;
        if (status == PairStatus::NotObserved) {
            continue;
        }
        out.severity = std::max(out.severity, results[i].severity);
        out.undecidable += results[i].undecidable ? 1u : 0u;
        out.pairs += isOneSided(status) ? 0u : 1u;
        count(out.gates[static_cast<std::size_t>(gateOf(alignment.pairs[i].key))], results[i]);
    }
    out.ordered = alignment.a.bundle->isRecording() && alignment.b.bundle->isRecording();
    const ForkFinder finder(alignment, inputs, results);
    out.fork = out.ordered ? finder.find() : finder.first();
    for (auto& gate : out.gates) {
        const std::size_t all = gate.identical + gate.noise + gate.above + gate.unmatched + gate.invalid;
        gate.state = all == 0          ? GateState::NotRecorded
            : all == gate.unmatched     ? GateState::NotCompared
            : gate.above + gate.invalid > 0 ? GateState::Differs
                                            : GateState::Ok;
    }
    if (environmentDiffers) {
        auto& environment = out.gates[static_cast<std::size_t>(Gate::Environment)];
        environment.state = *environmentDiffers > 0 ? GateState::Differs : GateState::Ok;
    }
    if (out.fork && out.ordered) {
        out.gates[static_cast<std::size_t>(gateOf(alignment.pairs[out.fork->pair].key))].state = GateState::Fork;
    }
    return out;
}

} // namespace forkpoint::diagnose
