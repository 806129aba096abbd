// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/union_sample.h"

#include <map>
#include <set>
#include <tuple>

namespace forkpoint::test {

using bundle::Kind;
using bundle::Phase;

SampleRun::SampleRun()
    : m_rank(std::make_shared<bundle::RankData>())
{
}

void SampleRun::module(const std::string& path, const std::string& className, const std::vector<std::string>& parameters)
{
    m_rank->modules.push_back({ path, className, "", parameters, {} });
}

std::int32_t SampleRun::enter(const std::string& path)
{
    bundle::CallRecord record;
    record.module = path;
    record.order = m_order++;
    record.source = "model.py:" + std::to_string(record.order);
    record.call = m_calls[path]++;
    if (!m_open.empty()) {
        record.parent = m_open.back().path;
        record.parentCall = m_open.back().call;
    }
    m_open.push_back({ path, record.call });
    m_rank->calls.push_back(record);
    return record.call;
}

void SampleRun::leave() { m_open.pop_back(); }

std::int32_t SampleRun::call(const std::string& path)
{
    const auto number = enter(path);
    leave();
    return number;
}

void SampleRun::edge(const std::string& from, const std::string& to, std::int32_t fromCall, std::int32_t toCall, const std::string& toSlot)
{
    bundle::EdgeRecord record;
    record.from = { from, fromCall, "" };
    record.to = { to, toCall, toSlot };
    m_rank->edges.push_back(record);
}

void SampleRun::backward(const std::string& root)
{
    bundle::BackwardRecord record;
    record.root = root;
    record.order = m_order++;
    m_rank->backwards.push_back(record);
}

namespace {

/// `from`: what the block's input comes from. Returns nothing: what comes after takes the block's own output.
void addBlock(SampleRun& run, const std::string& path, const std::vector<std::string>& from)
{
    const auto into = [&](const std::vector<std::string>& producers, const std::string& to) {
        for (const auto& producer : producers) {
            run.edge(producer, to);
        }
    };
    const std::string attention = path + ".attention", mlp = path + ".mlp";
    run.module(path, "Block");
    run.module(path + ".norm1", "LayerNorm", { "weight", "bias" });
    run.module(attention, "Attention");
    for (const auto* name : { ".query", ".key", ".value", ".projection" }) {
        run.module(attention + name, "Linear", { "weight", "bias" });
    }
    run.module(path + ".norm2", "LayerNorm", { "weight", "bias" });
    run.module(mlp, "MLP");
    run.module(mlp + ".up", "Linear", { "weight", "bias" });
    run.module(mlp + ".act", "GELU");
    run.module(mlp + ".down", "Linear", { "weight", "bias" });

    run.enter(path);
    into(from, path);
    run.call(path + ".norm1");
    into(from, path + ".norm1");
    run.enter(attention);
    into({ path + ".norm1" }, attention);
    for (const auto* name : { ".query", ".key", ".value" }) {
        run.call(attention + name);
        into({ path + ".norm1" }, attention + name);
    }
    run.call(attention + ".projection");
    into({ attention + ".query", attention + ".key", attention + ".value" }, attention + ".projection");
    run.leave();
    run.call(path + ".norm2");
    into({ attention + ".projection", attention }, path + ".norm2");
    into(from, path + ".norm2"); // the residual
    run.enter(mlp);
    into({ path + ".norm2" }, mlp);
    run.call(mlp + ".up");
    into({ path + ".norm2" }, mlp + ".up");
    run.call(mlp + ".act");
    into({ mlp + ".up" }, mlp + ".act");
    run.call(mlp + ".down");
    into({ mlp + ".act" }, mlp + ".down");
    run.leave();
    run.leave();
}

} // namespace

SampleRun gpt(const GptShape& shape)
{
    SampleRun run;
    run.module("", "GPT");
    run.module("tokens", "Embedding", { "weight" });
    run.module("positions", "Embedding", { "weight" });
    run.module(shape.layers, "ModuleList");
    run.enter("");
    run.call("tokens");
    run.call("positions");
    std::vector<std::string> from { "tokens", "positions" };
    for (int i = 0; i < shape.blocks; ++i) {
        if (i == shape.extraBlock) {
            addBlock(run, shape.layers + ".extra", from);
            from = { shape.layers + ".extra" };
        }
        const std::string path = shape.layers + "." + std::to_string(i);
        addBlock(run, path, from);
        from = { path };
    }
    run.module("norm", "LayerNorm", { "weight", "bias" });
    run.module("head", "Linear", { "weight" });
    run.call("norm");
    run.edge(from.front(), "norm");
    run.call("head");
    run.edge("norm", "head");
    run.leave();
    run.backward();
    run.edge("head", "loss");
    run.edge("", "loss");
    return run;
}

namespace {

using CallKey = std::pair<std::string, std::int32_t>;

struct Names {
    std::set<CallKey> calls;
    std::set<std::pair<std::string, std::string>> parameters;
    std::set<std::string> roots;
};

Names namesOf(const bundle::RankData& rank, const std::map<std::string, std::string>& renames)
{
    Names out;
    const auto inA = [&](const std::string& path) { return align::renamed(renames, align::normalisedPath(path)); };
    for (const auto& call : rank.calls) {
        out.calls.emplace(inA(call.module), call.call);
    }
    for (const auto& module : rank.modules) {
        for (const auto& parameter : module.parameters) {
            out.parameters.emplace(inA(module.path), parameter);
        }
    }
    for (const auto& backward : rank.backwards) {
        out.roots.insert(backward.root);
    }
    return out;
}

class Pairs {
public:
    explicit Pairs(std::vector<align::Pair>& out) : m_out(out) {}

    void add(Phase phase, Kind kind, const std::string& module, const std::string& param, std::int32_t call, bool inA, bool inB)
    {
        align::Pair pair;
        pair.key.micro = bundle::hasMicro(phase) ? 0 : bundle::kNoMicro;
        pair.key.phase = phase;
        pair.key.kind = kind;
        pair.key.module = module;
        pair.key.param = param;
        pair.key.call = call;
        pair.id = align::pairId(pair.key);
        pair.status = inA && inB ? align::PairStatus::Matched : inA ? align::PairStatus::OnlyA : align::PairStatus::OnlyB;
        pair.rule = inA && inB ? align::Rule::Exact : align::Rule::None;
        m_out.push_back(std::move(pair));
    }

private:
    std::vector<align::Pair>& m_out;
};

} // namespace

align::Alignment aligned(const SampleRun& a, const SampleRun& b)
{
    align::Alignment out;
    out.a.ranks = { &a.rank() };
    out.b.ranks = { &b.rank() };
    out.renames = align::matchRenamedModules(a.rank().modules, b.rank().modules);
    align::StepPlan plan;
    plan.microsA = plan.microsB = { { 0 } };
    out.steps.push_back(plan);

    const auto namesA = namesOf(a.rank(), {}), namesB = namesOf(b.rank(), out.renames);
    std::vector<CallKey> calls;
    for (const auto& call : a.rank().calls) {
        calls.emplace_back(align::normalisedPath(call.module), call.call);
    }
    for (const auto& call : namesB.calls) {
        if (!namesA.calls.contains(call)) {
            calls.push_back(call);
        }
    }
    auto parameters = namesA.parameters;
    parameters.insert(namesB.parameters.begin(), namesB.parameters.end());
    auto roots = namesA.roots;
    roots.insert(namesB.roots.begin(), namesB.roots.end());

    Pairs pairs(out.pairs);
    const auto addParameters = [&](Phase phase, Kind kind) {
        for (const auto& key : parameters) {
            pairs.add(phase, kind, key.first, key.second, 0, namesA.parameters.contains(key), namesB.parameters.contains(key));
        }
    };
    addParameters(Phase::Start, Kind::Param);
    pairs.add(Phase::Data, Kind::Batch, "", "", 0, true, true);
    for (const auto& key : calls) {
        const bool inA = namesA.calls.contains(key), inB = namesB.calls.contains(key);
        pairs.add(Phase::Forward, Kind::Input, key.first, "", key.second, inA, inB);
        pairs.add(Phase::Forward, Kind::Output, key.first, "", key.second, inA, inB);
    }
    for (const auto& root : roots) {
        pairs.add(Phase::Forward, Kind::Output, root, "", 0, namesA.roots.contains(root), namesB.roots.contains(root));
    }
    for (auto key = calls.rbegin(); key != calls.rend(); ++key) {
        pairs.add(Phase::Backward, Kind::GradOutput, key->first, "", key->second, namesA.calls.contains(*key), namesB.calls.contains(*key));
    }
    addParameters(Phase::Reduce, Kind::Grad);
    addParameters(Phase::Optimizer, Kind::Param);
    return out;
}

} // namespace forkpoint::test
