// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/union_graph.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>

// Nodes are first collected as drafts, in whatever order they are met, then brought into pre-order. A draft's parent always has a shorter
// path that the draft's own path continues, so parents form a tree whatever a damaged bundle claims.
namespace forkpoint::graph {

namespace {

using align::Alignment;
using align::Pair;
using align::PairStatus;
using bundle::Kind;
using bundle::kNoMicro;
using bundle::Level;
using bundle::Phase;

using DraftId = std::uint32_t;
using NameId = std::uint32_t;
constexpr DraftId kNoDraft = UINT32_MAX;
constexpr std::size_t kCancelEvery = 1u << 14;

bool isLossName(std::string_view path) { return path == "loss" || path.starts_with("loss#"); }

/// Length of the path above the last component, 0 for a path of one component.
std::size_t parentLength(std::string_view path)
{
    const auto cut = path.find_last_of("./");
    return cut == std::string_view::npos ? 0 : cut;
}

bool isBelow(std::string_view path, std::string_view ancestor)
{
    if (ancestor.empty()) {
        return !path.empty();
    }
    return path.size() > ancestor.size() && path.starts_with(ancestor) && (path[ancestor.size()] == '.' || path[ancestor.size()] == '/');
}

Sides sidesOf(PairStatus status)
{
    return status == PairStatus::OnlyA ? Sides::A : status == PairStatus::OnlyB ? Sides::B : Sides::Both;
}

bool belongsToCall(const align::PairKey& key)
{
    return (key.phase == Phase::Forward || key.phase == Phase::Backward)
        && (key.kind == Kind::Input || key.kind == Kind::Output || key.kind == Kind::GradOutput);
}

struct Draft {
    NodeKind kind = NodeKind::Module;
    Sides sides = Sides::None;
    bool called = false;
    NameId name = 0;
    std::int32_t call = 0;
    DraftId parent = kNoDraft;
    DraftId caller = kNoDraft;
    std::int64_t place = 0; ///< among its siblings: first by place, then by turn
    std::int64_t turn = 0;
    std::string source;
    std::vector<NodePair> pairs;
    const bundle::RankData *rankA = nullptr, *rankB = nullptr; ///< the first of each side that calls it
};

/// Places of drafts that are not in the order of execution.
constexpr std::int64_t kFirst = -1;
constexpr std::int64_t kAfterCalls = std::int64_t(1) << 40;
constexpr std::int64_t kLast = std::int64_t(1) << 41;

/// One side's names, each normalised once.
class SideNames {
public:
    SideNames(std::unordered_map<std::string, NameId>& ids, std::vector<const std::string*>& names, const std::map<std::string, std::string>& renames)
        : m_ids(ids)
        , m_names(names)
        , m_renames(renames)
    {
    }

    NameId of(const std::string& recorded)
    {
        if (const auto found = m_known.find(recorded); found != m_known.end()) {
            return found->second;
        }
        const auto [at, added] = m_ids.emplace(align::renamed(m_renames, align::normalisedPath(recorded)), static_cast<NameId>(m_names.size()));
        if (added) {
            m_names.push_back(&at->first);
        }
        m_known.emplace(recorded, at->second);
        return at->second;
    }

private:
    std::unordered_map<std::string, NameId>& m_ids;
    std::vector<const std::string*>& m_names;
    const std::map<std::string, std::string>& m_renames;
    std::unordered_map<std::string, NameId> m_known;
};

class Builder {
public:
    Builder(const Alignment& alignment, const UnionOptions& options, std::stop_token stop)
        : m_alignment(alignment)
        , m_options(options)
        , m_stop(std::move(stop))
        , m_namesA(m_nameIds, m_names, m_noRenames)
        , m_namesB(m_nameIds, m_names, alignment.renames)
    {
    }

    Result<UnionGraph> build()
    {
        const auto plan = std::find_if(m_alignment.steps.begin(), m_alignment.steps.end(),
                                       [&](const align::StepPlan& p) { return p.step == m_options.step; });
        const auto micro = static_cast<std::size_t>(std::max(m_options.micro, 0));
        if (plan == m_alignment.steps.end() || m_options.micro < 0 || micro >= std::max(plan->microsA.size(), plan->microsB.size())) {
            return fail(ErrorCode::Usage, fmt::format("step {}, micro-step {} is not among the aligned ones", m_options.step, m_options.micro));
        }
        const std::vector<std::int32_t> none;
        const auto& microsA = micro < plan->microsA.size() ? plan->microsA[micro] : none;
        const auto& microsB = micro < plan->microsB.size() ? plan->microsB[micro] : none;
        reserve();
        readSide(m_alignment.a, Sides::A, plan->step, microsA, m_namesA);
        readSide(m_alignment.b, Sides::B, plan->step + m_alignment.stepOffset, microsB, m_namesB);
        if (cancelled()) {
            return stopped();
        }
        placeCalls();
        readEdges(m_alignment.a, Sides::A, plan->step, microsA, m_namesA);
        readEdges(m_alignment.b, Sides::B, plan->step + m_alignment.stepOffset, microsB, m_namesB);
        readPairs();
        if (cancelled()) {
            return stopped();
        }
        findParents();
        if (m_options.containers) {
            addContainers();
        }
        if (m_options.parameters) {
            addParameters();
        }
        auto graph = assemble();
        if (cancelled()) {
            return stopped();
        }
        return graph;
    }

private:
    struct DraftEdge {
        DraftId from = 0, to = 0;
        Sides sides = Sides::None;
        EdgeKind kind = EdgeKind::Recorded;
        bool direct = false;
        const std::string *fromSlot = nullptr, *toSlot = nullptr;
    };

    /// A slot that B names differently: node, whether it is an input, A's name.
    using RenamedSlot = std::tuple<std::uint32_t, bool, std::string>;

    static tl::unexpected<Error> stopped() { return fail(ErrorCode::Cancelled, "cancelled while building the graph"); }
    bool cancelled() const { return m_stop.stop_requested(); }
    bool cancelledAt(std::size_t i) const { return i % kCancelEvery == kCancelEvery - 1 && cancelled(); }

    const std::string& nameOf(DraftId id) const { return *m_names[m_drafts[id].name]; }
    static std::uint64_t keyOf(NameId name, std::int32_t call) { return (static_cast<std::uint64_t>(name) << 32) | static_cast<std::uint32_t>(call); }

    DraftId lookUp(NameId name, std::int32_t call) const
    {
        const auto found = m_byKey.find(keyOf(name, call));
        return found == m_byKey.end() ? kNoDraft : found->second;
    }

    std::optional<NameId> knownName(const std::string& name) const
    {
        const auto found = m_nameIds.find(name);
        return found == m_nameIds.end() ? std::nullopt : std::optional(found->second);
    }

    DraftId add(NameId name, std::int32_t call)
    {
        const auto id = static_cast<DraftId>(m_drafts.size());
        Draft draft;
        draft.name = name;
        draft.call = call;
        draft.place = kAfterCalls;
        draft.turn = id;
        m_drafts.push_back(std::move(draft));
        m_byKey.emplace(keyOf(name, call), id);
        if (name >= m_callsOfName.size()) {
            m_callsOfName.resize(std::max<std::size_t>(m_names.size(), name + 1));
        }
        m_callsOfName[name].push_back(id);
        return id;
    }

    /// A node that is named somewhere although no call of it was recorded.
    DraftId ensure(NameId name, std::int32_t call, Sides sides, bool operatorLevel = false)
    {
        DraftId id = lookUp(name, call);
        if (id == kNoDraft) {
            id = add(name, call);
            auto& draft = m_drafts[id];
            draft.kind = isLossName(*m_names[name]) ? NodeKind::Loss : operatorLevel ? NodeKind::Operator : NodeKind::Module;
            draft.place = draft.kind == NodeKind::Loss ? kLast : kAfterCalls;
        }
        if (!m_drafts[id].called) {
            m_drafts[id].sides = m_drafts[id].sides | sides;
        }
        return id;
    }

    static bool contains(const std::vector<std::int32_t>& micros, std::int32_t micro)
    {
        return std::find(micros.begin(), micros.end(), micro) != micros.end();
    }

    void readSide(const align::Side& side, Sides which, std::int32_t step, const std::vector<std::int32_t>& micros, SideNames& names)
    {
        for (const auto* rank : side.ranks) {
            if (cancelled()) {
                return;
            }
            std::vector<const bundle::CallRecord*> calls;
            for (const auto& call : rank->calls) {
                if (call.step == step && !call.recompute && contains(micros, call.micro)) {
                    calls.push_back(&call);
                }
            }
            std::stable_sort(calls.begin(), calls.end(), [](const auto* x, const auto* y) {
                return std::tie(x->micro, x->order) < std::tie(y->micro, y->order);
            });
            readCalls(calls, which, *rank, names);
            for (const auto& backward : rank->backwards) {
                if (backward.step == step && contains(micros, backward.micro)) {
                    const auto id = ensure(names.of(backward.root), 0, which);
                    auto& draft = m_drafts[id];
                    draft.kind = NodeKind::Loss;
                    draft.place = kLast;
                    draft.parent = kNoDraft;
                    draft.sides = draft.sides | which;
                    draft.source = draft.source.empty() ? backward.source : draft.source;
                }
            }
            auto& classes = which == Sides::A ? m_classesA : m_classesB;
            for (const auto& module : rank->modules) {
                classes[names.of(module.path)] = &module.className; // of a wrapper and what it wraps, the inner one comes later
            }
        }
    }

    void reserve()
    {
        std::size_t calls = 0, edges = 0;
        for (const auto* side : { &m_alignment.a, &m_alignment.b }) {
            for (const auto* rank : side->ranks) {
                calls = std::max(calls, rank->calls.size());
                edges += rank->edges.size();
            }
        }
        const auto steps = std::max<std::size_t>(m_alignment.steps.size(), 1);
        m_nameIds.reserve(2 * calls / steps);
        m_byKey.reserve(2 * calls / steps);
        m_edges.reserve(edges / steps);
    }

    /// Adds what is new to the order of execution after its neighbour.
    void readCalls(const std::vector<const bundle::CallRecord*>& calls, Sides which, const bundle::RankData& rank, SideNames& names)
    {
        DraftId previous = kNoDraft;
        std::int32_t micro = 0;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            if (cancelledAt(i)) {
                return;
            }
            const auto& record = *calls[i];
            if (i == 0 || record.micro != micro) {
                previous = kNoDraft;
                micro = record.micro;
            }
            const auto name = names.of(record.module);
            auto id = lookUp(name, record.call);
            if (id == kNoDraft || !m_drafts[id].called) {
                if (id == kNoDraft) {
                    id = add(name, record.call);
                }
                auto& draft = m_drafts[id];
                // Only callers that were seen running: so following callers ends, whatever a damaged bundle claims.
                const auto caller = record.parent ? lookUp(names.of(*record.parent), record.parentCall) : kNoDraft;
                draft.caller = caller != kNoDraft && m_drafts[caller].called ? caller : kNoDraft;
                draft.called = true;
                m_next.resize(m_drafts.size(), kNoDraft);
                auto& link = previous == kNoDraft ? m_head : m_next[previous];
                m_next[id] = link;
                link = id;
            }
            auto& draft = m_drafts[id];
            draft.sides = draft.sides | which;
            auto& caller = which == Sides::A ? draft.rankA : draft.rankB;
            caller = caller ? caller : &rank;
            if (draft.source.empty()) {
                draft.source = record.source;
            }
            previous = id;
        }
    }

    void placeCalls()
    {
        std::int64_t place = 0;
        for (DraftId id = m_head; id != kNoDraft; id = m_next[id]) {
            if (m_drafts[id].kind != NodeKind::Loss) {
                m_drafts[id].place = place++;
            }
        }
    }

    void readEdges(const align::Side& side, Sides which, std::int32_t step, const std::vector<std::int32_t>& micros, SideNames& names)
    {
        for (const auto* rank : side.ranks) {
            for (std::size_t i = 0; i < rank->edges.size(); ++i) {
                if (cancelledAt(i)) {
                    return;
                }
                const auto& edge = rank->edges[i];
                if (edge.step != step || !contains(micros, edge.micro)) {
                    continue;
                }
                DraftEdge draft;
                draft.from = ensure(names.of(edge.from.module), edge.from.call, which);
                draft.to = ensure(names.of(edge.to.module), edge.to.call, which);
                draft.sides = which;
                draft.direct = edge.direct;
                draft.fromSlot = &edge.from.slot;
                draft.toSlot = &edge.to.slot;
                m_edges.push_back(draft);
            }
        }
    }

    void readPairs()
    {
        for (PairIndex i = 0; i < m_alignment.pairs.size(); ++i) {
            if (cancelledAt(i)) {
                return;
            }
            const Pair& pair = m_alignment.pairs[i];
            const auto& key = pair.key;
            if (key.step != m_options.step || (key.micro != kNoMicro && key.micro != m_options.micro)) {
                continue;
            }
            const NodePair entry { i, roleOf(key) };
            if (key.kind == Kind::Batch) {
                if (m_batch == kNoDraft) {
                    m_batch = add(m_namesA.of("\nbatch"), 0); // no module path
                    m_drafts[m_batch].kind = NodeKind::Batch;
                    m_drafts[m_batch].place = kFirst;
                }
                m_drafts[m_batch].sides = m_drafts[m_batch].sides | sidesOf(pair.status);
                m_drafts[m_batch].pairs.push_back(entry);
                continue;
            }
            const auto name = nameInA(key.module);
            if (belongsToCall(key)) {
                const auto id = ensure(name, key.call, sidesOf(pair.status), key.level == Level::Op);
                m_drafts[id].pairs.push_back(entry);
                if (pair.rule == align::Rule::SlotOrder && key.phase == Phase::Forward) {
                    m_renamedSlots.emplace_back(id, key.kind == Kind::Input, key.slot);
                }
                continue;
            }
            if (name >= m_callsOfName.size() || m_callsOfName[name].empty()) {
                if (key.param.empty()) {
                    continue; // belongs to no module: a loss scale
                }
                ensure(name, 0, sidesOf(pair.status));
            }
            for (const auto id : m_callsOfName[name]) {
                if (!m_drafts[id].called) {
                    m_drafts[id].sides = m_drafts[id].sides | sidesOf(pair.status);
                }
                m_drafts[id].pairs.push_back(entry);
            }
        }
    }

    /// Pairs have normalised names already.
    NameId nameInA(const std::string& normalised)
    {
        if (!m_lastName.empty() && m_lastName == normalised) { // neighbours among the pairs often have the same module
            return m_lastId;
        }
        if (const auto known = m_nameIds.find(normalised); known != m_nameIds.end()) {
            m_lastName = normalised;
            return m_lastId = known->second;
        }
        const auto [at, added] = m_nameIds.emplace(normalised, static_cast<NameId>(m_names.size()));
        if (added) {
            m_names.push_back(&at->first);
        }
        return at->second;
    }

    void findParents()
    {
        for (DraftId id = 0; id < m_drafts.size(); ++id) {
            auto& draft = m_drafts[id];
            if (draft.kind == NodeKind::Batch || draft.kind == NodeKind::Loss) {
                continue;
            }
            const std::string& path = nameOf(id);
            if (draft.called) {
                DraftId running = draft.caller;
                while (running != kNoDraft && !(isBelow(path, nameOf(running)) && m_drafts[running].kind == NodeKind::Module)) {
                    running = m_drafts[running].caller;
                }
                draft.parent = running;
                continue;
            }
            for (std::size_t length = path.size(); length > 0 && draft.parent == kNoDraft;) {
                length = parentLength(std::string_view(path).substr(0, length));
                if (const auto name = knownName(path.substr(0, length))) {
                    DraftId above = lookUp(*name, draft.call);
                    above = above == kNoDraft ? lookUp(*name, 0) : above;
                    if (above != kNoDraft && m_drafts[above].kind == NodeKind::Module) {
                        draft.parent = above;
                    }
                }
            }
        }
    }

    void addContainers()
    {
        std::map<std::pair<DraftId, std::string>, DraftId> containers;
        const auto modules = static_cast<DraftId>(m_drafts.size());
        for (DraftId id = 0; id < modules; ++id) {
            if (m_drafts[id].kind == NodeKind::Batch || m_drafts[id].kind == NodeKind::Loss) {
                continue;
            }
            const std::string path = nameOf(id);
            const DraftId owner = m_drafts[id].parent;
            const std::size_t ownerLength = owner == kNoDraft ? 0 : nameOf(owner).size();
            std::vector<std::size_t> lengths;
            for (auto length = parentLength(path); length > ownerLength; length = parentLength(std::string_view(path).substr(0, length))) {
                lengths.push_back(length);
            }
            DraftId above = owner;
            for (auto length = lengths.rbegin(); length != lengths.rend(); ++length) {
                const auto [at, added] = containers.emplace(std::pair(owner, path.substr(0, *length)), static_cast<DraftId>(m_drafts.size()));
                if (added) {
                    Draft container;
                    container.kind = NodeKind::Container;
                    container.name = nameInA(at->first.second);
                    container.parent = above;
                    container.place = m_drafts[id].place;
                    container.turn = m_drafts[id].turn;
                    m_drafts.push_back(std::move(container));
                }
                auto& container = m_drafts[at->second];
                container.sides = container.sides | m_drafts[id].sides;
                if (std::tie(m_drafts[id].place, m_drafts[id].turn) < std::tie(container.place, container.turn)) {
                    container.place = m_drafts[id].place;
                    container.turn = m_drafts[id].turn;
                }
                above = at->second;
            }
            m_drafts[id].parent = above;
        }
        dissolveSmallContainers(modules);
    }

    void dissolveSmallContainers(DraftId firstContainer)
    {
        std::vector<std::uint32_t> children(m_drafts.size(), 0);
        for (const auto& draft : m_drafts) {
            if (draft.parent != kNoDraft) {
                ++children[draft.parent];
            }
        }
        for (auto& draft : m_drafts) {
            while (draft.parent != kNoDraft && draft.parent >= firstContainer && children[draft.parent] < 2) {
                draft.parent = m_drafts[draft.parent].parent; // it had one child, this one: the number of children above stays
            }
        }
        for (DraftId id = firstContainer; id < m_drafts.size(); ++id) {
            m_dropped.resize(m_drafts.size(), false);
            m_dropped[id] = children[id] < 2;
        }
    }

    void addParameters()
    {
        std::map<std::pair<NameId, std::string>, DraftId> parameters; // owner and name
        for (PairIndex i = 0; i < m_alignment.pairs.size(); ++i) {
            const auto& key = m_alignment.pairs[i].key;
            if (key.step != m_options.step || key.param.empty() || (key.micro != kNoMicro && key.micro != m_options.micro)) {
                continue;
            }
            const auto name = nameInA(key.module);
            if (name >= m_callsOfName.size() || m_callsOfName[name].empty()) {
                continue;
            }
            const auto [at, added] = parameters.emplace(std::pair(name, key.param), static_cast<DraftId>(m_drafts.size()));
            if (added) {
                const auto& consumer = m_drafts[m_callsOfName[name].front()];
                Draft draft;
                draft.kind = NodeKind::Parameter;
                draft.name = nameInA(align::joinName(key.module, key.param));
                draft.parent = consumer.parent;
                draft.place = consumer.place;
                draft.turn = std::int64_t(at->second) - kLast; // before its consumer
                m_drafts.push_back(std::move(draft));
                for (const auto id : m_callsOfName[name]) {
                    addParameterEdge(at->second, id);
                }
            }
            auto& draft = m_drafts[at->second];
            draft.sides = draft.sides | sidesOf(m_alignment.pairs[i].status);
            draft.pairs.push_back({ i, roleOf(key) });
        }
        for (const auto* side : { &m_alignment.a, &m_alignment.b }) {
            auto& names = side == &m_alignment.a ? m_namesA : m_namesB;
            for (const auto* rank : side->ranks) {
                addTies(rank->ties, names, parameters);
            }
        }
        if (!m_dropped.empty()) {
            m_dropped.resize(m_drafts.size(), false);
        }
    }

    void addTies(const std::vector<std::vector<std::string>>& ties, SideNames& names, const std::map<std::pair<NameId, std::string>, DraftId>& parameters)
    {
        const auto split = [&](const std::string& full) {
            const auto dot = full.rfind('.');
            return dot == std::string::npos ? std::pair(names.of(std::string()), full) : std::pair(names.of(full.substr(0, dot)), full.substr(dot + 1));
        };
        for (const auto& tie : ties) {
            // Recorded under one of its names.
            const auto recorded = std::find_if(tie.begin(), tie.end(), [&](const std::string& name) { return parameters.contains(split(name)); });
            for (auto other = tie.begin(); other != tie.end() && recorded != tie.end(); ++other) {
                const auto name = split(*other).first;
                if (other == recorded || name >= m_callsOfName.size()) {
                    continue;
                }
                for (const auto id : m_callsOfName[name]) {
                    addParameterEdge(parameters.at(split(*recorded)), id);
                }
            }
        }
    }

    void addParameterEdge(DraftId parameter, DraftId consumer)
    {
        DraftEdge edge;
        edge.from = parameter;
        edge.to = consumer;
        edge.kind = EdgeKind::Parameter;
        edge.sides = m_drafts[consumer].sides;
        m_edges.push_back(edge);
    }

    /// Calls with recorded inputs that nothing recorded reaches get them from the batch, as far as anyone can tell (as in pairInputs).
    void addBatchEdges()
    {
        std::vector<std::uint8_t> reached(m_drafts.size(), 0);
        for (const auto& edge : m_edges) {
            reached[edge.to] = static_cast<std::uint8_t>(reached[edge.to] | (edge.kind == EdgeKind::Recorded ? 1 : 0));
        }
        for (DraftId id = 0; id < m_drafts.size(); ++id) {
            const auto& draft = m_drafts[id];
            const bool hasInput = std::any_of(draft.pairs.begin(), draft.pairs.end(), [](const NodePair& p) { return p.role == PairRole::Input; });
            if (hasInput && !reached[id]) {
                DraftEdge edge;
                edge.from = m_batch;
                edge.to = id;
                edge.kind = EdgeKind::Batch;
                edge.sides = draft.sides;
                m_edges.push_back(edge);
            }
        }
    }

    /// Drafts in pre-order.
    std::vector<DraftId> preOrder() const
    {
        std::vector<DraftId> byPlace;
        for (DraftId id = 0; id < m_drafts.size(); ++id) {
            if (m_dropped.empty() || !m_dropped[id]) {
                byPlace.push_back(id);
            }
        }
        std::sort(byPlace.begin(), byPlace.end(), [&](DraftId x, DraftId y) {
            const auto &a = m_drafts[x], &b = m_drafts[y];
            return std::tie(a.place, a.turn, x) < std::tie(b.place, b.turn, y);
        });
        // Children of one parent are linked in this order; a parent without a place among them is found through its link.
        std::vector<DraftId> firstChild(m_drafts.size() + 1, kNoDraft), sibling(m_drafts.size(), kNoDraft);
        const auto slot = [&](DraftId parent) -> DraftId& { return firstChild[parent == kNoDraft ? m_drafts.size() : parent]; };
        for (auto id = byPlace.rbegin(); id != byPlace.rend(); ++id) {
            auto& first = slot(m_drafts[*id].parent);
            sibling[*id] = first;
            first = *id;
        }
        std::vector<DraftId> order, stack;
        for (DraftId at = slot(kNoDraft); at != kNoDraft || !stack.empty();) {
            if (at == kNoDraft) {
                at = sibling[stack.back()];
                stack.pop_back();
                continue;
            }
            order.push_back(at);
            stack.push_back(at);
            at = firstChild[at];
        }
        return order;
    }

    UnionGraph assemble()
    {
        if (m_options.batchEdges && m_batch != kNoDraft) {
            addBatchEdges();
        }
        UnionGraph graph;
        graph.step = m_options.step;
        graph.micro = m_options.micro;
        const auto order = preOrder();
        std::vector<NodeId> numbers(m_drafts.size(), kNoNode);
        graph.nodes.resize(order.size());
        for (NodeId i = 0; i < order.size(); ++i) {
            numbers[order[i]] = i;
        }
        graph.pairsBegin.reserve(order.size() + 1);
        for (NodeId i = 0; i < order.size(); ++i) {
            fillNode(graph, i, order[i], numbers);
        }
        graph.pairsBegin.push_back(static_cast<std::uint32_t>(graph.pairs.size()));
        for (auto i = static_cast<NodeId>(order.size()); i-- > 0;) {
            auto& node = graph.nodes[i];
            node.end = std::max(node.end, i + 1);
            if (node.parent != kNoNode) {
                graph.nodes[node.parent].end = std::max(graph.nodes[node.parent].end, node.end);
            }
        }
        std::sort(graph.nodeOfPair.begin(), graph.nodeOfPair.end());
        fillEdges(graph, numbers);
        return graph;
    }

    void fillNode(UnionGraph& graph, NodeId number, DraftId id, const std::vector<NodeId>& numbers)
    {
        auto& draft = m_drafts[id];
        auto& node = graph.nodes[number];
        node.kind = draft.kind;
        node.sides = draft.sides;
        node.call = draft.call;
        node.parent = draft.parent == kNoDraft ? kNoNode : numbers[draft.parent];
        node.called = draft.called || draft.kind == NodeKind::Loss || draft.kind == NodeKind::Batch;
        node.path = draft.kind == NodeKind::Batch ? "batch" : nameOf(id);
        node.source = draft.source;
        const auto classIn = [&](const std::unordered_map<NameId, const std::string*>& classes) {
            const auto found = classes.find(draft.name);
            return found == classes.end() ? std::string() : *found->second;
        };
        if (draft.kind == NodeKind::Module || draft.kind == NodeKind::Container) {
            node.classA = classIn(m_classesA);
            node.classB = classIn(m_classesB);
        }
        graph.pairsBegin.push_back(static_cast<std::uint32_t>(graph.pairs.size()));
        graph.pairs.insert(graph.pairs.end(), draft.pairs.begin(), draft.pairs.end());
        for (const auto& pair : draft.pairs) {
            graph.nodeOfPair.emplace_back(pair.pair, number);
        }
    }

    void fillEdges(UnionGraph& graph, const std::vector<NodeId>& numbers)
    {
        static const std::string kNoSlot;
        for (auto& slot : m_renamedSlots) {
            std::get<0>(slot) = numbers[std::get<0>(slot)];
        }
        std::sort(m_renamedSlots.begin(), m_renamedSlots.end());
        for (auto& edge : m_edges) {
            edge.sides = edge.sides | betweenRanks(m_drafts[edge.from], m_drafts[edge.to]);
            edge.from = numbers[edge.from];
            edge.to = numbers[edge.to];
            edge.fromSlot = edge.fromSlot ? edge.fromSlot : &kNoSlot;
            edge.toSlot = edge.toSlot ? edge.toSlot : &kNoSlot;
        }
        std::sort(m_edges.begin(), m_edges.end(), [](const DraftEdge& x, const DraftEdge& y) {
            return std::tie(x.from, x.to, x.kind, *x.fromSlot, *x.toSlot) < std::tie(y.from, y.to, y.kind, *y.fromSlot, *y.toSlot);
        });
        std::size_t firstOfPair = 0; // among graph.edges: the first edge between the same two nodes
        for (std::size_t i = 0; i < m_edges.size();) {
            const auto& first = m_edges[i];
            Edge edge { first.from, first.to, Sides::None, first.kind, false, *first.fromSlot, *first.toSlot };
            for (; i < m_edges.size() && std::tie(m_edges[i].from, m_edges[i].to, m_edges[i].kind) == std::tie(edge.from, edge.to, edge.kind)
                 && *m_edges[i].fromSlot == edge.fromSlot && *m_edges[i].toSlot == edge.toSlot;
                 ++i) {
                edge.sides = edge.sides | m_edges[i].sides;
                edge.direct = edge.direct || m_edges[i].direct;
            }
            if (graph.edges.empty() || graph.edges.back().from != edge.from || graph.edges.back().to != edge.to) {
                matchSlotsInOrder(graph.edges, firstOfPair);
                firstOfPair = graph.edges.size();
            }
            graph.edges.push_back(std::move(edge));
        }
        matchSlotsInOrder(graph.edges, firstOfPair);
        indexEdges(graph);
    }

    /// Where one rank calls the one and another rank the other, a stage of a pipeline sends to the next one, which no recorder sees.
    static Sides betweenRanks(const Draft& from, const Draft& to)
    {
        const auto isSent = [](const auto* x, const auto* y) { return x && y && x != y; };
        return (isSent(from.rankA, to.rankA) ? Sides::A : Sides::None) | (isSent(from.rankB, to.rankB) ? Sides::B : Sides::None);
    }

    bool isRenamed(NodeId node, bool input, const std::string& slot) const
    {
        return std::binary_search(m_renamedSlots.begin(), m_renamedSlots.end(), RenamedSlot(node, input, slot));
    }

    /// Two runs may name a slot differently (position against keyword). Where the ladder matched such tensors in order, the edges at them
    /// follow. Looks at the edges from `first` on.
    void matchSlotsInOrder(std::vector<Edge>& edges, std::size_t first) const
    {
        for (std::size_t a = first; a < edges.size() && !m_renamedSlots.empty(); ++a) {
            if (edges[a].kind != EdgeKind::Recorded || edges[a].sides != Sides::A) {
                continue;
            }
            const bool from = isRenamed(edges[a].from, false, edges[a].fromSlot), to = isRenamed(edges[a].to, true, edges[a].toSlot);
            for (std::size_t b = first; b < edges.size(); ++b) {
                if (edges[b].kind == EdgeKind::Recorded && edges[b].sides == Sides::B && (from || edges[b].fromSlot == edges[a].fromSlot)
                    && (to || edges[b].toSlot == edges[a].toSlot)) {
                    edges[a].sides = Sides::Both;
                    edges[a].direct = edges[a].direct || edges[b].direct;
                    edges.erase(edges.begin() + static_cast<std::ptrdiff_t>(b));
                    a -= b < a ? 1 : 0;
                    break;
                }
            }
        }
    }

    static void indexEdges(UnionGraph& graph)
    {
        const auto nodes = graph.nodes.size();
        graph.outBegin.assign(nodes + 1, 0);
        graph.inBegin.assign(nodes + 1, 0);
        for (const auto& edge : graph.edges) {
            ++graph.outBegin[edge.from + 1];
            ++graph.inBegin[edge.to + 1];
        }
        std::partial_sum(graph.outBegin.begin(), graph.outBegin.end(), graph.outBegin.begin());
        std::partial_sum(graph.inBegin.begin(), graph.inBegin.end(), graph.inBegin.begin());
        graph.incoming.resize(graph.edges.size());
        auto next = graph.inBegin;
        for (EdgeId id = 0; id < graph.edges.size(); ++id) {
            graph.incoming[next[graph.edges[id].to]++] = id;
        }
    }

    const Alignment& m_alignment;
    const UnionOptions& m_options;
    std::stop_token m_stop;
    std::map<std::string, std::string> m_noRenames;
    std::unordered_map<std::string, NameId> m_nameIds; ///< looked up, never iterated: its order shows nowhere
    std::vector<const std::string*> m_names;
    SideNames m_namesA, m_namesB;
    std::unordered_map<std::uint64_t, DraftId> m_byKey;
    std::unordered_map<NameId, const std::string*> m_classesA, m_classesB;
    std::vector<std::vector<DraftId>> m_callsOfName;
    std::vector<Draft> m_drafts;
    std::vector<bool> m_dropped; ///< containers that hold too little; empty if there are none
    std::vector<DraftId> m_next; ///< order of execution
    DraftId m_head = kNoDraft;
    DraftId m_batch = kNoDraft;
    std::vector<RenamedSlot> m_renamedSlots;
    std::vector<DraftEdge> m_edges;
    std::string m_lastName;
    NameId m_lastId = 0;
};

} // namespace

PairRole roleOf(const align::PairKey& key)
{
    if (key.kind == Kind::Batch) {
        return PairRole::Batch;
    }
    switch (key.phase) {
    case Phase::Start:
        return key.kind == Kind::Param || key.kind == Kind::Buffer ? PairRole::StartState : PairRole::Other;
    case Phase::Data:
        return PairRole::Other;
    case Phase::Forward:
        return key.kind == Kind::Input ? PairRole::Input : key.kind == Kind::Output ? PairRole::Output : PairRole::Other;
    case Phase::Backward:
        switch (key.kind) {
        case Kind::GradOutput:
            return PairRole::GradOutput;
        case Kind::Grad:
            return PairRole::LocalGrad;
        case Kind::Input:
        case Kind::Output:
            return PairRole::Recomputed;
        default:
            return PairRole::Other;
        }
    case Phase::Reduce:
        return key.kind == Kind::Grad ? PairRole::ReducedGrad : PairRole::Other;
    case Phase::Optimizer:
        switch (key.kind) {
        case Kind::Grad:
            return PairRole::UpdateGrad;
        case Kind::Param:
        case Kind::Buffer:
            return PairRole::EndState;
        case Kind::OptimizerState:
            return PairRole::OptimizerState;
        default:
            return PairRole::Other;
        }
    }
    return PairRole::Other;
}

RoleSet RoleSet::ofPhase(Phase phase)
{
    switch (phase) {
    case Phase::Start:
        return { PairRole::StartState };
    case Phase::Data:
        return { PairRole::Batch };
    case Phase::Forward:
        return { PairRole::Batch, PairRole::Input, PairRole::Output };
    case Phase::Backward:
        return { PairRole::GradOutput, PairRole::LocalGrad, PairRole::Recomputed };
    case Phase::Reduce:
        return { PairRole::ReducedGrad };
    case Phase::Optimizer:
        return { PairRole::UpdateGrad, PairRole::EndState, PairRole::OptimizerState };
    }
    return {};
}

NodeId UnionGraph::find(std::string_view path, std::int32_t call) const
{
    for (NodeId id = 0; id < nodes.size(); ++id) {
        if (nodes[id].call == call && nodes[id].path == path) {
            return id;
        }
    }
    return kNoNode;
}

std::vector<NodeId> UnionGraph::nodesOf(PairIndex pair) const
{
    std::vector<NodeId> out;
    for (auto at = std::lower_bound(nodeOfPair.begin(), nodeOfPair.end(), std::pair(pair, NodeId(0))); at != nodeOfPair.end() && at->first == pair; ++at) {
        out.push_back(at->second);
    }
    return out;
}

std::string UnionGraph::label(NodeId id) const
{
    const auto& node = nodes[id];
    std::string_view shown = node.path;
    for (NodeId above = node.parent; above != kNoNode; above = nodes[above].parent) {
        if (isBelow(shown, nodes[above].path)) {
            shown.remove_prefix(nodes[above].path.empty() ? 0 : nodes[above].path.size() + 1);
            break;
        }
    }
    const std::string name = shown.empty() ? "(root)" : std::string(shown);
    return node.call > 0 ? fmt::format("{} #{}", name, node.call) : name;
}

Result<UnionGraph> unionGraph(const align::Alignment& alignment, const UnionOptions& options, std::stop_token stop)
{
    return Builder(alignment, options, std::move(stop)).build();
}

} // namespace forkpoint::graph
