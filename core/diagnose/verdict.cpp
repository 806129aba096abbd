// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnose/verdict.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace forkpoint::diagnose {

namespace {

using align::PairStatus;
using bundle::Kind;
using bundle::Phase;

/// Compared, and found equal up to rounding.
bool agrees(const PairResult& result) { return result.severity <= Severity::Noise; }

bool isOneSided(PairStatus status) { return status == PairStatus::OnlyA || status == PairStatus::OnlyB; }

class ForkFinder {
public:
    ForkFinder(const align::Alignment& alignment, const graph::PairInputs& inputs, const std::vector<PairResult>& results)
        : m_alignment(alignment)
        , m_pairs(alignment.pairs)
        , m_inputs(inputs.of)
        , m_results(results)
    {
        for (const auto& pair : m_pairs) {
            if (pair.key.phase == Phase::Forward && pair.key.kind == Kind::Output && !pair.key.module->empty()) {
                m_withOutput.insert(*pair.key.module);
            }
        }
    }

    /// The first pair above the floor: all there is to say without an order of execution.
    std::optional<Fork> first() const
    {
        for (std::size_t i = 0; i < m_pairs.size(); ++i) {
            if (above(i)) {
                return Fork { i, {}, false };
            }
        }
        return std::nullopt;
    }

    std::optional<Fork> find() const
    {
        std::optional<std::size_t> firstAbove;
        for (std::size_t i = 0; i < m_pairs.size(); ++i) {
            if (!above(i)) {
                continue;
            }
            if (!firstAbove || isMereInput(*firstAbove)) {
                firstAbove = firstAbove && isMereInput(i) ? firstAbove : std::optional(i);
            }
            if (const auto culprit = oneSidedProducer(i)) {
                return forkAt(*culprit, true);
            }
            if (!isMereInput(i) && inputsAgree(i) && (!m_inputs[i].empty() || mayHaveNoInputs(i))) {
                return forkAt(i, true);
            }
        }
        return firstAbove ? std::optional(forkAt(*firstAbove, false)) : std::nullopt;
    }

private:
    bool above(std::size_t i) const { return isAboveFloor(m_results[i].severity) && !mayDiffer(m_alignment, m_pairs[i]); }

    /// An input that was made by something recorded is only a messenger, unless all that made it was compared and agrees: then plain code between
    /// modules made the difference. Where that is the code of a module, it shows in the module's output.
    bool isMereInput(std::size_t i) const
    {
        const auto& from = m_inputs[i];
        return m_pairs[i].key.kind == Kind::Input && !from.empty()
            && (isWithinAModule(*m_pairs[i].key.module)
                || !std::all_of(from.begin(), from.end(), [&](std::size_t input) { return agrees(m_results[input]); }));
    }

    /// Other than the root.
    bool isWithinAModule(std::string_view path) const
    {
        for (auto dot = path.rfind('.'); dot != std::string_view::npos; dot = path.rfind('.')) {
            path = path.substr(0, dot);
            if (m_withOutput.contains(path)) {
                return true;
            }
        }
        return false;
    }

    /// What a run begins with, and what a module was given. Anything else was computed, from what was not recorded.
    bool mayHaveNoInputs(std::size_t i) const
    {
        const auto& key = m_pairs[i].key;
        return key.phase == Phase::Start || key.phase == Phase::Data || key.phase == Phase::Forward;
    }

    bool inputsAgree(std::size_t i) const
    {
        return std::none_of(m_inputs[i].begin(), m_inputs[i].end(), [&](std::size_t input) { return above(input); });
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

    const align::Alignment& m_alignment;
    const std::vector<align::Pair>& m_pairs;
    const std::vector<std::vector<std::size_t>>& m_inputs;
    const std::vector<PairResult>& m_results;
    std::unordered_set<std::string_view> m_withOutput; ///< modules whose outputs were recorded
};

} // namespace

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
        out.pairs += isOneSided(status) ? 0u : 1u;
        if (mayDiffer(alignment, alignment.pairs[i]) && results[i].severity != Severity::Unmatched) {
            continue;
        }
        out.severity = std::max(out.severity, results[i].severity);
        out.undecidable += results[i].undecidable ? 1u : 0u;
        if (results[i].severity == Severity::Noise && !results[i].undecidable && (!out.closest || results[i].ratio > results[*out.closest].ratio)) {
            out.closest = i;
        }
    }
    const auto recorded = [](const align::Side& side) { return !side.bundle || side.bundle->isRecording(); };
    out.ordered = recorded(alignment.a) && recorded(alignment.b);
    const ForkFinder finder(alignment, inputs, results);
    out.fork = out.ordered ? finder.find() : finder.first();
    out.gates = summariseGates(alignment, results, { {}, out.fork && out.ordered ? std::optional(out.fork->pair) : std::nullopt, environmentDiffers });
    return out;
}

} // namespace forkpoint::diagnose
