// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/compare/rank_matrix.h"

#include "core/align/mesh.h"
#include "core/bundle/sketch.h"
#include "core/metrics/pair_statistics.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace forkpoint::compare {

namespace {

using align::Part;
using align::RunTensor;
using bundle::Kind;
using bundle::Phase;
using bundle::Placement;

constexpr std::size_t kMostMeasured = 16; ///< groups that are measured against each other; of more, each against the largest only

using Name = std::pair<std::string, std::string>; ///< module and parameter

/// Paths of modules whose parameters DistributedDataParallel keeps equal, without wrapper prefixes, with the ranks' number that say so.
std::set<std::string> wrappedModules(const align::Side& side)
{
    std::set<std::string> out;
    for (const auto* rank : side.ranks) {
        for (const auto& module : rank->modules) {
            if (module.wrapper.find("DistributedDataParallel") != std::string::npos) {
                out.insert(align::normalisedPath(module.path));
            }
        }
    }
    return out;
}

bool isBelow(const std::set<std::string>& wrapped, const std::string& module)
{
    return std::any_of(wrapped.begin(), wrapped.end(), [&](const std::string& path) {
        return path.empty() || module == path || (module.starts_with(path) && module.size() > path.size() && module[path.size()] == '.');
    });
}

/// State that training keeps equal on replicas: not the ranks' own gradients before the reduction.
bool isState(const align::PairKey& key)
{
    return key.kind == Kind::Param || key.kind == Kind::Buffer || key.kind == Kind::OptimizerState || key.kind == Kind::Scale
        || (key.kind == Kind::Grad && key.phase != Phase::Backward);
}

/// Parts that should be equal, and so in groups: all ranks of a replicated tensor, of a sharded one those that hold the same tile.
std::vector<std::vector<Part>> replicaSets(const std::vector<Part>& parts, const align::RankMesh& mesh)
{
    const auto shards = [](const Part& part) {
        return std::any_of(part.record->placement.begin(), part.record->placement.end(), [](const Placement& p) { return p.type != Placement::Type::Replicate; });
    };
    if (std::none_of(parts.begin(), parts.end(), shards)) {
        return { parts };
    }
    std::map<std::vector<std::int64_t>, std::vector<Part>> byPlace;
    for (const auto& part : parts) {
        const auto& record = *part.record;
        const bool partial = std::any_of(record.placement.begin(), record.placement.end(), [](const Placement& p) { return p.type == Placement::Type::Partial; });
        if (partial) {
            return {};
        }
        std::vector<std::int64_t> place = record.globalOffset;
        if (record.globalShape.empty()) { // the coordinates along the axes that shard
            place.clear();
            for (const auto& placement : record.placement) {
                const auto axis = std::find(mesh.axes.begin(), mesh.axes.end(), placement.axis);
                if (placement.type != Placement::Type::Replicate && axis == mesh.axes.end()) {
                    return {}; // which ranks share a piece is not known
                }
                if (placement.type != Placement::Type::Replicate) {
                    place.push_back(static_cast<std::int64_t>(mesh.coordinates[part.rankIndex][static_cast<std::size_t>(axis - mesh.axes.begin())]));
                }
            }
        }
        byPlace[std::move(place)].push_back(part);
    }
    std::vector<std::vector<Part>> out;
    for (auto& [place, set] : byPlace) {
        out.push_back(std::move(set));
    }
    return out;
}

bool isDeclared(const RunTensor& tensor)
{
    return std::all_of(tensor.parts.begin(), tensor.parts.end(), [](const Part& part) { return !part.record->placement.empty(); });
}

/// Equal bits on all ranks.
bool allEqual(const std::vector<Part>& parts)
{
    return std::all_of(parts.begin(), parts.end(), [&](const Part& p) { return bundle::sameBits(*p.record, *parts.front().record).value_or(false); });
}

/// One number throughout, as biases and the weights of norms begin, on every rank and in every layer.
bool isConstant(const bundle::TensorRecord& record)
{
    return record.stats && record.stats->min == record.stats->max;
}

/// Parameters that begin with values of their own, of which none is the same on all ranks: these hold other parts of a model under the same names, such
/// as stages that number their layers from 0.
bool holdOtherParameters(const std::vector<RunTensor>& tensors)
{
    bool other = false;
    for (const auto& tensor : tensors) {
        if (tensor.key.kind == Kind::Param && tensor.key.phase == Phase::Start && tensor.parts.size() > 1 && !isConstant(*tensor.parts.front().record)) {
            if (allEqual(tensor.parts)) {
                return false;
            }
            other = true;
        }
    }
    return other;
}

/// Parts of equal bits; nullopt if some cannot be told equal or not.
std::optional<std::vector<std::vector<Part>>> agreeing(const std::vector<Part>& set)
{
    std::vector<std::vector<Part>> groups;
    for (const auto& part : set) {
        bool placed = false;
        for (auto& group : groups) {
            const auto same = bundle::sameBits(*part.record, *group.front().record);
            if (!same && part.record->shape == group.front().record->shape) {
                return std::nullopt;
            }
            if (same.value_or(false)) {
                group.push_back(part);
                placed = true;
                break;
            }
        }
        if (!placed) {
            groups.push_back({ part });
        }
    }
    std::stable_sort(groups.begin(), groups.end(), [](const auto& x, const auto& y) { return x.size() > y.size(); });
    return groups;
}

std::optional<double> difference(const bundle::Bundle& bundle, const Part& x, const Part& y, std::stop_token stop)
{
    if (x.record->shape != y.record->shape) {
        return std::nullopt;
    }
    const auto a = bundle.source(*x.rank, *x.record), b = bundle.source(*y.rank, *y.record);
    if (!a || !b) {
        return std::nullopt;
    }
    metrics::MeasureOptions options;
    options.histograms = false;
    const auto measured = metrics::measure(**a, **b, options, stop);
    return measured ? std::optional(measured->relL2) : std::nullopt;
}

std::vector<int> rankNumbers(const std::vector<Part>& parts)
{
    std::vector<int> out;
    for (const auto& part : parts) {
        out.push_back(part.rank->rank);
    }
    return out;
}

/// Fills the differences of the groups and adds them to the matrix.
void measureGroups(RankMatrix& matrix, ReplicaTensor& tensor, const std::vector<std::vector<Part>>& groups, const align::Side& side, std::stop_token stop)
{
    const auto place = [&](int rank) { return static_cast<std::size_t>(std::lower_bound(matrix.ranks.begin(), matrix.ranks.end(), rank) - matrix.ranks.begin()); };
    tensor.difference.assign(groups.size(), std::vector<std::optional<double>>(groups.size()));
    for (std::size_t i = 0; i < groups.size(); ++i) {
        tensor.groups.push_back(rankNumbers(groups[i]));
        tensor.difference[i][i] = 0;
        for (std::size_t j = 0; j < i; ++j) {
            const bool measured = groups.size() <= kMostMeasured || j == 0;
            const auto apart = measured ? difference(*side.bundle, groups[i].front(), groups[j].front(), stop) : std::nullopt;
            tensor.difference[i][j] = tensor.difference[j][i] = apart;
            for (const int x : tensor.groups[i]) {
                for (const int y : tensor.groups[j]) {
                    for (const auto& [p, q] : { std::pair(place(x), place(y)), std::pair(place(y), place(x)) }) {
                        ++matrix.differ[p][q];
                        matrix.worst[p][q] = std::max(matrix.worst[p][q], apart.value_or(0));
                    }
                }
            }
        }
    }
}

} // namespace

std::string_view name(ReplicaReason reason)
{
    switch (reason) {
    case ReplicaReason::Declared:
        return "declared";
    case ReplicaReason::Wrapped:
        return "wrapped by DDP";
    case ReplicaReason::EqualAtFirst:
        break;
    }
    return "bit-equal at the first record";
}

Result<RankMatrix> rankMatrix(const align::Side& side, std::string_view pattern, Progress* progress, std::stop_token stop)
{
    if (side.ranks.size() < 2) {
        return fail(ErrorCode::Usage, "has one recorded rank: there is nothing to compare within it", side.label);
    }
    const auto tensors = align::tensorsOf(side, {});
    if (!tensors) {
        return tl::unexpected(tensors.error());
    }
    const auto wrapped = wrappedModules(side);
    const auto mesh = align::declaredMesh(side);
    RankMatrix out;
    for (const auto* rank : side.ranks) {
        out.ranks.push_back(rank->rank);
    }
    out.differ.assign(out.ranks.size(), std::vector<std::size_t>(out.ranks.size(), 0));
    out.worst.assign(out.ranks.size(), std::vector<double>(out.ranks.size(), 0));

    std::map<Name, ReplicaReason> replicas; // what a parameter is, its gradient and state are too
    std::set<Name> seen;                    // names whose first record was looked at
    const bool otherParameters = holdOtherParameters(*tensors);
    bool selected = false;
    for (std::size_t i = 0; i < tensors->size(); ++i) {
        const auto& tensor = (*tensors)[i];
        if (stop.stop_requested()) {
            return fail(ErrorCode::Cancelled, "cancelled while comparing ranks");
        }
        if (progress) {
            progress->report("ranks", static_cast<double>(i) / static_cast<double>(tensors->size()));
        }
        const Name name { tensor.key.module, tensor.key.param };
        const bool wanted = align::selects(pattern, tensor.key);
        selected = selected || wanted;
        if (tensor.parts.size() < 2) {
            continue;
        }
        const bool state = isState(tensor.key), declared = isDeclared(tensor);
        if (state && seen.insert(name).second && !declared) {
            if (isBelow(wrapped, tensor.key.module) && tensor.key.kind != Kind::Buffer) {
                replicas.emplace(name, ReplicaReason::Wrapped);
            } else if (allEqual(tensor.parts) && !(otherParameters && isConstant(*tensor.parts.front().record))) {
                replicas.emplace(name, ReplicaReason::EqualAtFirst);
            }
        }
        const auto known = replicas.find(name);
        const auto reason = declared ? std::optional(ReplicaReason::Declared) : state && known != replicas.end() ? std::optional(known->second) : std::nullopt;
        if (!wanted || !(state || declared)) {
            continue;
        }
        const auto sets = reason ? replicaSets(tensor.parts, mesh) : std::vector<std::vector<Part>>();
        if (std::none_of(sets.begin(), sets.end(), [](const auto& set) { return set.size() > 1; })) {
            ++out.others;
            continue;
        }
        ++out.tensors;
        ++out.byReason[static_cast<std::size_t>(*reason)];
        for (const auto& set : sets) {
            const auto groups = agreeing(set);
            out.unknown += groups ? 0u : 1u;
            if (groups && groups->size() > 1) {
                ReplicaTensor differing { align::pairId(tensor.key), *reason, {}, {} };
                measureGroups(out, differing, *groups, side, stop);
                out.differing.push_back(std::move(differing));
            }
        }
    }
    if (!selected) {
        return fail(ErrorCode::Usage, fmt::format("no tensor matches '{}'; patterns are matched with whole names or ids, * stands for any characters", pattern),
                    side.label);
    }
    return out;
}

} // namespace forkpoint::compare
