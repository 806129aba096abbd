// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/stages.h"

#include "core/align/names.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_map>

namespace forkpoint::align {

namespace {

bool isBelow(std::string_view path, std::string_view parent)
{
    return parent.empty() ? !path.empty() : path.size() > parent.size() && path.starts_with(parent) && path[parent.size()] == '.';
}

/// What a rank called in its first recorded step, without wrappers, in order; and which of that had no parent.
struct Called {
    std::vector<std::string> modules, roots;
};

Called calledBy(const bundle::RankData& rank)
{
    Called out;
    std::set<std::string_view> seen;
    for (const auto& call : rank.calls) {
        if (call.step == rank.calls.front().step && !call.recompute && seen.insert(call.module).second) {
            out.modules.push_back(normalisedPath(call.module));
            if (!call.parent) {
                out.roots.push_back(out.modules.back());
            }
        }
    }
    return out;
}

/// The called modules that have parameters of their own and no such module below them, in the order of their calls.
std::vector<std::string> leaves(const bundle::RankData& rank, const Called& called)
{
    std::set<std::string> withParameters, parents;
    for (const auto& module : rank.modules) {
        if (!module.parameters.empty()) {
            withParameters.insert(normalisedPath(module.path));
        }
    }
    std::vector<std::string> out;
    std::copy_if(called.modules.begin(), called.modules.end(), std::back_inserter(out),
        [&](const std::string& m) { return withParameters.contains(m); });
    for (const auto& module : out) {
        for (auto dot = module.rfind('.'); dot != std::string::npos; dot = dot == 0 ? std::string::npos : module.rfind('.', dot - 1)) {
            parents.insert(module.substr(0, dot));
        }
        parents.insert(module.empty() ? "." : ""); // the root is above all others
    }
    std::erase_if(out, [&](const std::string& m) { return parents.contains(m); });
    return out;
}

const std::string* classOf(const bundle::RankData& rank, std::string_view path)
{
    const auto found = std::find_if(
        rank.modules.begin(), rank.modules.end(), [&](const auto& m) { return m.wrapper.empty() && normalisedPath(m.path) == path; });
    return found == rank.modules.end() ? nullptr : &found->className;
}

/// Without the root.
std::string below(std::string_view path, std::string_view root)
{
    return path == root ? std::string() : std::string(root.empty() ? path : path.substr(root.size() + 1));
}

/// The one of a rank's further models that the module lies in; empty: the first one.
template <class Roots> std::string rootOf(const Roots& roots, std::string_view module)
{
    const auto root = std::find_if(roots.begin(), roots.end(), [&](const std::string& r) { return module == r || isBelow(module, r); });
    return root == roots.end() ? std::string() : *root;
}

/// Which rank's part of the model has which modules. Of ranks as they come, so that the first rank is in group 0.
std::vector<std::size_t> groupsOf(const std::vector<std::vector<std::string>>& modules)
{
    std::vector<std::size_t> group(modules.size());
    std::iota(group.begin(), group.end(), std::size_t { 0 });
    const auto find = [&](std::size_t rank) {
        while (group[rank] != rank) {
            rank = group[rank] = group[group[rank]];
        }
        return rank;
    };
    std::unordered_map<std::string_view, std::size_t> firstWith;
    for (std::size_t rank = 0; rank < modules.size(); ++rank) {
        for (const auto& module : modules[rank]) {
            const auto x = find(rank), y = find(firstWith.try_emplace(module, rank).first->second);
            group[std::max(x, y)] = std::min(x, y);
        }
    }
    std::map<std::size_t, std::size_t> numbers;
    std::vector<std::size_t> out;
    for (std::size_t rank = 0; rank < modules.size(); ++rank) {
        out.push_back(numbers.try_emplace(find(rank), numbers.size()).first->second);
    }
    return out;
}

/// The further models of the ranks that have the class of the first one, and modules that it does not have: chunks of an interleaved
/// schedule.
std::vector<std::string> furtherRoots(
    const Side& side, const std::vector<Called>& called, const std::vector<std::vector<std::string>>& ownLeaves)
{
    std::set<std::string> roots, others;
    for (std::size_t r = 0; r < called.size(); ++r) {
        const auto* first = classOf(*side.ranks[r], "");
        for (const auto& root : called[r].roots) {
            const auto* own = classOf(*side.ranks[r], root);
            const bool sameClass = first && own && *first == *own;
            if (!root.empty()) {
                (sameClass ? roots : others).insert(root);
            }
        }
    }
    std::erase_if(roots, [&](const std::string& root) { return others.contains(root); });
    std::map<std::string, std::set<std::string>> rootsOf; // module in the whole -> models that have it
    for (const auto& modules : ownLeaves) {
        for (const auto& module : modules) {
            const auto root = rootOf(roots, module);
            rootsOf[below(module, root)].insert(root);
        }
    }
    for (const auto& [module, of] : rootsOf) {
        if (of.size() > 1) { // a teacher, or an average of the weights: no part of the model
            for (const auto& root : of) {
                roots.erase(root);
            }
        }
    }
    return { roots.begin(), roots.end() };
}

} // namespace

std::size_t Stages::count() const
{
    std::set<Stage> all;
    for (const auto& [module, stage] : ofModule) {
        all.insert(stage);
    }
    return all.size();
}

Stage Stages::of(std::size_t rankIndex, std::string_view module) const
{
    return { groups[rankIndex], rootOf(roots, module) };
}

std::string Stages::nameInWhole(std::string_view module) const
{
    return below(module, rootOf(roots, module));
}

std::size_t Stages::firstGroup() const
{
    const auto first = stageOfModule(*this, "").first;
    return first ? first->group : 0;
}

Stages stagesOf(const Side& side)
{
    Stages out;
    if (side.ranks.size() < 2) {
        return out;
    }
    std::vector<Called> called;
    std::vector<std::vector<std::string>> modules;
    for (const auto* rank : side.ranks) {
        called.push_back(calledBy(*rank));
        modules.push_back(leaves(*rank, called.back()));
        if (modules.back().empty()) {
            return {};
        }
    }
    out.groups = groupsOf(modules);
    if (*std::max_element(out.groups.begin(), out.groups.end()) == 0) {
        return {};
    }
    out.roots = furtherRoots(side, called, modules);
    for (std::size_t rank = 0; rank < modules.size(); ++rank) {
        for (const auto& module : modules[rank]) {
            const auto [at, isNew] = out.ofModule.try_emplace(out.nameInWhole(module), out.of(rank, module));
            if (at->second != out.of(rank, module)) {
                return {}; // two ranks' further models have the same modules
            }
        }
    }
    return out;
}

std::map<std::string, std::string> renamesOfStages(const Side& a, const Stages& stagesA, const Side& b, const Stages& stagesB)
{
    std::map<std::string, std::string> out;
    if (stagesA.roots.empty() && stagesB.roots.empty()) {
        return out;
    }
    std::map<std::string, std::string> inA; // by name in the whole
    for (const auto* rank : a.ranks) {
        for (const auto& module : rank->modules) {
            const auto path = normalisedPath(module.path);
            inA.try_emplace(stagesA.nameInWhole(path), path);
        }
    }
    for (const auto* rank : b.ranks) {
        for (const auto& module : rank->modules) {
            const auto path = normalisedPath(module.path), whole = stagesB.nameInWhole(path);
            const auto found = inA.find(whole);
            if (!whole.empty() && found != inA.end() && found->second != path) {
                out.emplace(path, found->second);
            }
        }
    }
    return out;
}

void orderStages(const Side& a, Stages& stagesA, const Side& b, Stages& stagesB, const std::map<std::string, std::string>& renames)
{
    const auto inA = [&](const std::string& module) { return stagesA.nameInWhole(renamed(renames, module)); };
    if (!stagesB.empty() && stagesA.empty()) {
        std::map<std::string, std::int64_t> calls;
        for (const auto& module : calledBy(*a.ranks.front()).modules) {
            calls.emplace(module, std::ssize(calls));
        }
        for (const auto& [module, stage] : stagesB.ofModule) {
            if (const auto at = calls.find(inA(module)); at != calls.end()) {
                stagesB.order.emplace(module, at->second);
            }
        }
    } else if (!stagesA.empty() && stagesB.empty()) {
        std::int64_t number = 0;
        for (const auto& module : calledBy(*b.ranks.front()).modules) {
            stagesA.order.emplace(inA(module), number++);
        }
    }
}

StageOfModule stageOfModule(const Stages& stages, std::string_view module)
{
    StageOfModule out;
    std::set<Stage> all;
    std::optional<std::int64_t> first, last;
    bool ordered = true;
    const std::string path = stages.nameInWhole(module);
    for (auto at = stages.ofModule.lower_bound(path); at != stages.ofModule.end() && at->first.starts_with(path); ++at) {
        if (at->first != path && !isBelow(at->first, path)) {
            continue;
        }
        all.insert(at->second);
        const auto order = stages.order.find(at->first);
        if (order == stages.order.end()) {
            ordered = false;
            continue;
        }
        if (!first || order->second < *first) {
            first = order->second;
            out.first = at->second;
        }
        if (!last || order->second > *last) {
            last = order->second;
            out.last = at->second;
        }
    }
    out.spread = all.size() > 1;
    if (all.size() == 1) {
        out.first = out.last = *all.begin();
    } else if (!ordered) {
        out.first = out.last = std::nullopt;
    }
    return out;
}

bool sameStages(const Side& a, const Stages& stagesA, const Side& b, const Stages& stagesB)
{
    const auto ranksOf = [](const Side& side, const Stages& stages) {
        std::map<std::string, std::pair<std::string, std::set<int>>> out;
        for (const auto& [module, stage] : stages.ofModule) {
            auto& [root, ranks] = out[module];
            root = stage.root;
            for (std::size_t rank = 0; rank < stages.groups.size(); ++rank) {
                if (stages.groups[rank] == stage.group) {
                    ranks.insert(side.ranks[rank]->rank);
                }
            }
        }
        return out;
    };
    return stagesA.empty() == stagesB.empty() && ranksOf(a, stagesA) == ranksOf(b, stagesB);
}

void shareRows(std::map<Cell, RowKeys>& rows, const Stages& stages)
{
    if (stages.empty()) {
        return;
    }
    std::map<std::size_t, std::vector<std::size_t>> members;
    for (std::size_t rank = 0; rank < stages.groups.size(); ++rank) {
        members[stages.groups[rank]].push_back(rank);
    }
    const auto hasRows = [&](const std::vector<std::size_t>& ranks) {
        return std::any_of(
            rows.begin(), rows.end(), [&](const auto& cell) { return std::count(ranks.begin(), ranks.end(), cell.first.rank) > 0; });
    };
    auto source = members.find(stages.firstGroup());
    if (!hasRows(source->second)) {
        source = std::find_if(members.begin(), members.end(), [&](const auto& m) { return hasRows(m.second); });
    }
    if (source == members.end()) {
        return;
    }
    const auto& first = source->second;
    std::map<Cell, RowKeys> out;
    for (const auto& [group, ranks] : members) {
        if (ranks.size() != first.size()) {
            return; // whose rows a rank has is not known
        }
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            for (auto at = rows.lower_bound({ first[i], std::numeric_limits<std::int32_t>::min() });
                 at != rows.end() && at->first.rank == first[i]; ++at) {
                out.emplace(Cell { ranks[i], at->first.micro }, at->second);
            }
        }
    }
    rows = std::move(out);
}

} // namespace forkpoint::align
