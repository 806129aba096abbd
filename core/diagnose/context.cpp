// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnose/context.h"

#include "core/align/assembly.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

namespace forkpoint::diagnose {

namespace {

constexpr std::array<std::string_view, 5> kSections = { "environment", "flags", "config", "seeds", "code" };

/// Differ in healthy pairs by what they are: places, processes, the command line, and what a launcher and a split over ranks change. Whole
/// components of a key.
constexpr auto kExpected = std::to_array<std::string_view>(
    { "argv", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "SLURM_PROCID", "SLURM_NTASKS", "MASTER_ADDR", "MASTER_PORT",
      "NCCL_ASYNC_ERROR_HANDLING", "hostname", "pid", "PYTHONPATH", "world_size", "sampler_rank", "sampler_num_replicas", "sampler_num_samples" });
constexpr std::string_view kLauncherPrefix = "TORCHELASTIC_";

bool isExpected(std::string_view section, const std::string& key, bool onOneSideOnly)
{
    if ((section == "code" && key == "script") || (section == "seeds" && key == "initial")) {
        return true;
    }
    // One process has no data parallelism to configure. Two jobs that both have it should agree, and a hook that changes what is sent matters
    // always.
    if (section == "config" && key.starts_with("ddp.")) {
        return onOneSideOnly && !key.ends_with(".comm_hook");
    }
    for (std::string_view rest = key; !rest.empty();) {
        const auto dot = rest.find('.');
        const auto component = rest.substr(0, dot);
        if (component.starts_with(kLauncherPrefix) || std::find(kExpected.begin(), kExpected.end(), component) != kExpected.end()) {
            return true;
        }
        rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    }
    return false;
}

/// Leaves of a JSON value by dotted path; what is empty has none. Depth is bounded: bundles come from strangers.
void flatten(const nlohmann::json& value, const std::string& path, std::map<std::string, std::string>& out, int depth = 0)
{
    if (depth < 12 && (value.is_object() || value.is_array())) {
        std::size_t index = 0;
        for (const auto& [key, child] : value.items()) {
            const std::string name = value.is_array() ? std::to_string(index++) : key;
            flatten(child, path.empty() ? name : path + "." + name, out, depth + 1);
        }
        return;
    }
    out.emplace(path, value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

using Values = std::map<std::string, std::string>;

Values valuesOf(const bundle::RankData& rank, std::string_view section)
{
    Values out;
    if (const auto found = rank.info.find(std::string(section)); found != rank.info.end() && found->is_object()) {
        flatten(*found, "", out);
    }
    return out;
}

/// What every rank of a job should have alike; the rest depends on a rank's share of the data and of the model.
bool isSameOnAllRanks(std::string_view section, const std::string& key)
{
    return section == "flags" || (section == "config" && key.starts_with("optimizers."));
}

/// The values of the first rank; where another rank has another one although all should be alike, that too: "0.1, 0.2 on rank 1".
Values valuesOf(const align::Side& side, std::string_view section)
{
    auto out = valuesOf(*side.ranks.front(), section);
    std::map<std::string, std::map<std::string, std::vector<int>>> others; // by key and value: ranks
    const bool any = std::any_of(out.begin(), out.end(), [&](const auto& entry) { return isSameOnAllRanks(section, entry.first); });
    for (std::size_t r = 1; r < side.ranks.size() && any; ++r) {
        for (const auto& [key, value] : valuesOf(*side.ranks[r], section)) {
            const auto first = out.find(key);
            if (first != out.end() && first->second != value && isSameOnAllRanks(section, key)) {
                others[key][value].push_back(side.ranks[r]->rank);
            }
        }
    }
    for (const auto& [key, values] : others) {
        for (const auto& [value, ranks] : values) {
            out[key] += fmt::format(", {} on {}", value, align::rankList(ranks));
        }
    }
    return out;
}

} // namespace

std::optional<std::vector<ContextEntry>> contextEntries(const align::Side& a, const align::Side& b)
{
    if (a.ranks.empty() || b.ranks.empty()) {
        return std::nullopt;
    }
    std::vector<ContextEntry> out;
    bool recorded = false;
    const bool unreadable = a.ranks.front()->info.empty() || b.ranks.front()->info.empty();
    for (const auto section : kSections) {
        const auto has = [section](const align::Side& side) {
            const auto found = side.ranks.front()->info.find(std::string(section));
            return found != side.ranks.front()->info.end() && found->is_object();
        };
        recorded = recorded || has(a) || has(b);
        const auto left = valuesOf(a, section), right = valuesOf(b, section);
        std::map<std::string, std::pair<std::string, std::string>> both;
        for (const auto& [key, value] : left) {
            both[key].first = value;
        }
        for (const auto& [key, value] : right) {
            both[key].second = value;
        }
        for (const auto& [key, values] : both) {
            out.push_back({ std::string(section), key, values.first, values.second, unreadable || isExpected(section, key, values.first.empty() || values.second.empty()), unreadable });
        }
    }
    return recorded ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<std::vector<ContextEntry>> contextDifferences(const align::Side& a, const align::Side& b)
{
    auto entries = contextEntries(a, b);
    if (entries) {
        std::erase_if(*entries, [](const ContextEntry& e) { return !e.differs(); });
        std::stable_partition(entries->begin(), entries->end(), [](const ContextEntry& e) { return !e.expected; });
    }
    return entries;
}

std::optional<std::size_t> unexpectedDifferences(const std::optional<std::vector<ContextEntry>>& entries)
{
    if (!entries) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(std::count_if(entries->begin(), entries->end(), [](const ContextEntry& e) { return e.differs() && !e.expected; }));
}

} // namespace forkpoint::diagnose
