// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/pair_inputs.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace forkpoint::graph {

namespace {

using align::Alignment;
using align::PairKey;
using bundle::Kind;
using bundle::kNoMicro;
using bundle::Phase;

using CallKey = std::tuple<std::int32_t, std::int32_t, Kind, std::string, std::int32_t>;    // step, micro, kind, module, call
using TensorKey = std::tuple<std::int32_t, Phase, Kind, std::string, std::string, std::string>; // step, phase, kind, module, param, slot

struct Endpoint {
    std::string module;
    std::int32_t call = 0;
    std::string slot;
    auto operator<=>(const Endpoint&) const = default;
};

struct Flow {
    std::map<Endpoint, std::set<Endpoint>> producers, consumers; ///< of an input port; of an output port
};

constexpr std::string_view kBeforeSuffix = "@before";

bool isLossRoot(const std::string& module)
{
    return module == "loss" || module.starts_with("loss#");
}

bool inSubtree(const std::string& module, const std::string& root)
{
    return root.empty() || module == root || (module.size() > root.size() && module.starts_with(root) && module[root.size()] == '.');
}

class Builder {
public:
    explicit Builder(const Alignment& alignment)
        : m_alignment(alignment)
    {
        for (PairIndex i = 0; i < alignment.pairs.size(); ++i) {
            const auto& k = alignment.pairs[i].key;
            m_byCall[{ k.step, k.micro, k.kind, k.module, k.call }].push_back(i);
            m_byTensor[{ k.step, k.phase, k.kind, k.module, k.param, k.slot }].push_back(i);
            if (k.kind == Kind::Batch) {
                m_batches[{ k.step, k.micro }].push_back(i);
            }
            if (k.phase == Phase::Start) {
                m_start[k.step].push_back(i);
            }
        }
        readTies(alignment.a, {});
        readTies(alignment.b, alignment.renames);
        for (std::size_t s = 0; s < alignment.steps.size(); ++s) {
            const auto& plan = alignment.steps[s];
            if (s > 0) {
                m_previousStep[plan.step] = alignment.steps[s - 1].step;
            }
            readFlow(alignment.a, plan.step, plan.step, plan.microsA, {});
            readFlow(alignment.b, plan.step + alignment.stepOffset, plan.step, plan.microsB, alignment.renames);
        }
    }

    PairInputs build() const
    {
        PairInputs out;
        out.of.resize(m_alignment.pairs.size());
        for (PairIndex i = 0; i < out.of.size(); ++i) {
            std::set<PairIndex> found;
            inputsOf(m_alignment.pairs[i].key, found);
            found.erase(i);
            out.of[i].assign(found.begin(), found.end());
        }
        return out;
    }

private:
    void readFlow(const align::Side& side, std::int32_t recordedStep, std::int32_t step, const std::vector<std::vector<std::int32_t>>& groups,
                  const std::map<std::string, std::string>& renames)
    {
        for (const auto* rank : side.ranks) {
            for (const auto& edge : rank->edges) {
                if (edge.step != recordedStep) {
                    continue;
                }
                for (std::size_t g = 0; g < groups.size(); ++g) {
                    if (std::find(groups[g].begin(), groups[g].end(), edge.micro) == groups[g].end()) {
                        continue;
                    }
                    const auto endpoint = [&](const bundle::Port& port) {
                        return Endpoint { align::renamed(renames, align::normalisedPath(port.module)), port.call, port.slot };
                    };
                    auto& flow = m_flow[{ step, static_cast<std::int32_t>(g) }];
                    flow.producers[endpoint(edge.to)].insert(endpoint(edge.from));
                    flow.consumers[endpoint(edge.from)].insert(endpoint(edge.to));
                }
            }
        }
    }

    /// A parameter known by several names is recorded under one: every module that has it computes with it.
    void readTies(const align::Side& side, const std::map<std::string, std::string>& renames)
    {
        for (const auto* rank : side.ranks) {
            for (const auto& names : rank->ties) {
                std::set<std::string> tied, modules;
                for (const auto& name : names) {
                    const auto dot = name.rfind('.');
                    const auto module = align::renamed(renames, align::normalisedPath(dot == std::string::npos ? "" : name.substr(0, dot)));
                    tied.insert(align::joinName(module, dot == std::string::npos ? name : name.substr(dot + 1)));
                    modules.insert(module);
                }
                for (const auto& name : tied) {
                    m_sharers[name].insert(modules.begin(), modules.end());
                }
            }
        }
    }

    /// The modules that compute with a parameter.
    std::set<std::string> modulesOf(const PairKey& key) const
    {
        const auto shared = m_sharers.find(align::joinName(key.module, key.param));
        auto out = shared == m_sharers.end() ? std::set<std::string>() : shared->second;
        out.insert(key.module);
        return out;
    }

    void addSubtreeState(std::set<PairIndex>& to, const PairKey& key) const
    {
        const auto start = m_start.find(key.step);
        if (start == m_start.end()) {
            return;
        }
        for (const auto i : start->second) {
            const auto& state = m_alignment.pairs[i].key;
            const auto shared = m_sharers.empty() ? m_sharers.end() : m_sharers.find(align::joinName(state.module, state.param));
            if (inSubtree(state.module, key.module)
                || (shared != m_sharers.end()
                    && std::any_of(shared->second.begin(), shared->second.end(), [&](const std::string& m) { return inSubtree(m, key.module); }))) {
                to.insert(i);
            }
        }
    }

    void addCall(std::set<PairIndex>& to, const PairKey& at, Kind kind, const std::string& module, std::int32_t call, Phase phase) const
    {
        const auto found = m_byCall.find({ at.step, at.micro, kind, module, call });
        if (found == m_byCall.end()) {
            return;
        }
        for (const auto i : found->second) {
            if (m_alignment.pairs[i].key.phase == phase) {
                to.insert(i);
            }
        }
    }

    void addPort(std::set<PairIndex>& to, const PairKey& at, Kind kind, Phase phase, const Endpoint& port) const
    {
        const auto found = m_byCall.find({ at.step, at.micro, kind, port.module, port.call });
        if (found == m_byCall.end()) {
            return;
        }
        std::set<PairIndex> exact, all;
        for (const auto i : found->second) {
            if (m_alignment.pairs[i].key.phase == phase) {
                all.insert(i);
                if (m_alignment.pairs[i].key.slot == port.slot) {
                    exact.insert(i);
                }
            }
        }
        to.merge(exact.empty() ? all : exact); // slots renamed by the ladder: any of the call
    }

    void addTensor(std::set<PairIndex>& to, std::int32_t step, Phase phase, Kind kind, const PairKey& like, const std::string& slot = {}) const
    {
        if (const auto found = m_byTensor.find({ step, phase, kind, like.module, like.param, slot }); found != m_byTensor.end()) {
            to.insert(found->second.begin(), found->second.end());
        }
    }

    /// The gradient that the optimizer used: after clipping if that was recorded, else as reduced.
    void addLastGradient(std::set<PairIndex>& to, const PairKey& key) const
    {
        const auto before = to.size();
        addTensor(to, key.step, Phase::Optimizer, Kind::Grad, key);
        if (to.size() == before) {
            addTensor(to, key.step, Phase::Reduce, Kind::Grad, key);
        }
    }

    void addStatesBefore(std::set<PairIndex>& to, const PairKey& key) const
    {
        const TensorKey first { key.step, Phase::Optimizer, Kind::OptimizerState, key.module, key.param, "" };
        for (auto at = m_byTensor.lower_bound(first); at != m_byTensor.end(); ++at) {
            const auto& [step, phase, kind, module, param, slot] = at->first;
            if (step != key.step || phase != Phase::Optimizer || kind != Kind::OptimizerState || module != key.module || param != key.param) {
                break;
            }
            if (slot.ends_with(kBeforeSuffix)) {
                to.insert(at->second.begin(), at->second.end());
            }
        }
    }

    void addPrevious(std::set<PairIndex>& to, const PairKey& key, Kind kind, const std::string& slot) const
    {
        if (const auto previous = m_previousStep.find(key.step); previous != m_previousStep.end()) {
            addTensor(to, previous->second, Phase::Optimizer, kind, key, slot);
        }
    }

    void addBatch(std::set<PairIndex>& to, const PairKey& key) const
    {
        if (const auto found = m_batches.find({ key.step, key.micro }); found != m_batches.end()) {
            to.insert(found->second.begin(), found->second.end());
        }
    }

    const std::set<Endpoint>* ports(const PairKey& key, bool producers) const
    {
        const auto flow = m_flow.find({ key.step, key.micro });
        if (flow == m_flow.end()) {
            return nullptr;
        }
        const auto& map = producers ? flow->second.producers : flow->second.consumers;
        const auto found = map.find({ key.module, key.call, key.slot });
        return found == map.end() ? nullptr : &found->second;
    }

    void forwardInputs(const PairKey& key, std::set<PairIndex>& to) const
    {
        if (key.kind == Kind::Input) {
            if (const auto* from = ports(key, true)) {
                for (const auto& port : *from) {
                    addPort(to, key, Kind::Output, Phase::Forward, port);
                }
            }
            if (to.empty()) {
                addBatch(to, key);
            }
            return;
        }
        if (isLossRoot(key.module)) {
            if (const auto* from = ports(key, true)) {
                for (const auto& port : *from) {
                    const auto before = to.size();
                    addPort(to, key, Kind::Output, Phase::Forward, port);
                    if (to.size() == before) { // what it made is the loss, and recorded as that
                        addCall(to, key, Kind::Input, port.module, port.call, Phase::Forward);
                    }
                }
            }
            if (to.empty()) {
                addCall(to, key, Kind::Output, "", 0, Phase::Forward);
            }
            addBatch(to, key);
            return;
        }
        addCall(to, key, Kind::Input, key.module, key.call, Phase::Forward);
        addSubtreeState(to, key);
    }

    void backwardInputs(const PairKey& key, std::set<PairIndex>& to) const
    {
        if (key.kind == Kind::GradOutput) {
            const auto* consumers = ports(key, false);
            if (!consumers) {
                addCall(to, key, Kind::Output, "loss", 0, Phase::Forward);
                return;
            }
            for (const auto& port : *consumers) {
                if (isLossRoot(port.module)) {
                    addCall(to, key, Kind::Output, port.module, port.call, Phase::Forward);
                } else {
                    addCall(to, key, Kind::GradOutput, port.module, port.call, Phase::Backward);
                    addCall(to, key, Kind::Input, port.module, port.call, Phase::Forward); // a derivative is taken where the call was made
                }
            }
            return;
        }
        if (key.kind == Kind::Grad) {
            for (const auto& module : modulesOf(key)) {
                addAllCalls(to, key, Kind::Input, module);
                addAllCalls(to, key, Kind::GradOutput, module);
            }
        } else if (key.kind == Kind::Input) {
            addCall(to, key, Kind::Input, key.module, key.call, Phase::Forward);
        } else if (key.kind == Kind::Output) {
            addCall(to, key, Kind::Input, key.module, key.call, Phase::Backward);
            if (to.empty()) {
                addCall(to, key, Kind::Input, key.module, key.call, Phase::Forward);
            }
            addSubtreeState(to, key);
        }
    }

    /// Of the micro-step, whatever the call's number and phase.
    void addAllCalls(std::set<PairIndex>& to, const PairKey& key, Kind kind, const std::string& module) const
    {
        for (auto at = m_byCall.lower_bound({ key.step, key.micro, kind, module, 0 }); at != m_byCall.end(); ++at) {
            const auto& [step, micro, atKind, atModule, call] = at->first;
            if (step != key.step || micro != key.micro || atKind != kind || atModule != module) {
                break;
            }
            to.insert(at->second.begin(), at->second.end());
        }
    }

    void optimizerInputs(const PairKey& key, std::set<PairIndex>& to) const
    {
        switch (key.kind) {
        case Kind::Grad:
            addTensor(to, key.step, Phase::Reduce, Kind::Grad, key);
            break;
        case Kind::OptimizerState:
            if (key.slot->ends_with(kBeforeSuffix)) {
                addPrevious(to, key, Kind::OptimizerState, key.slot->substr(0, key.slot.size() - kBeforeSuffix.size()));
                break;
            }
            addTensor(to, key.step, Phase::Optimizer, Kind::OptimizerState, key, *key.slot + std::string(kBeforeSuffix));
            addTensor(to, key.step, Phase::Start, Kind::Param, key);
            addLastGradient(to, key);
            break;
        case Kind::Buffer:
            addTensor(to, key.step, Phase::Start, Kind::Buffer, key);
            for (const auto& [call, pairs] : m_byCall) {
                if (std::get<0>(call) == key.step && std::get<2>(call) == Kind::Input && std::get<3>(call) == key.module) {
                    to.insert(pairs.begin(), pairs.end());
                }
            }
            break;
        default:
            addTensor(to, key.step, Phase::Start, Kind::Param, key);
            addLastGradient(to, key);
            addStatesBefore(to, key);
        }
    }

    void inputsOf(const PairKey& key, std::set<PairIndex>& to) const
    {
        switch (key.phase) {
        case Phase::Start:
            addPrevious(to, key, key.kind, "");
            break;
        case Phase::Data:
            break;
        case Phase::Forward:
            forwardInputs(key, to);
            break;
        case Phase::Backward:
            backwardInputs(key, to);
            break;
        case Phase::Reduce:
            addTensor(to, key.step, Phase::Backward, Kind::Grad, key);
            break;
        case Phase::Optimizer:
            optimizerInputs(key, to);
            break;
        }
    }

    const Alignment& m_alignment;
    std::map<CallKey, std::vector<PairIndex>> m_byCall;
    std::map<TensorKey, std::vector<PairIndex>> m_byTensor;
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<PairIndex>> m_batches;
    std::map<std::int32_t, std::vector<PairIndex>> m_start;
    std::map<std::int32_t, std::int32_t> m_previousStep;
    std::map<std::string, std::set<std::string>> m_sharers; ///< parameter by any of its names -> modules that have it
    std::map<std::pair<std::int32_t, std::int32_t>, Flow> m_flow;
};

} // namespace

PairInputs pairInputs(const align::Alignment& alignment)
{
    return Builder(alignment).build();
}

} // namespace forkpoint::graph
