// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/side_index.h"

#include "core/align/names.h"
#include "core/align/numbering.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <oneapi/tbb/parallel_for.h>
#include <string_view>
#include <unordered_map>
#define XXH_INLINE_ALL
#include <xxhash.h>

// Ranks by themselves and side by side, each with numbers of its own for the names that it uses; then these numbers become those of the side.
namespace forkpoint::align {

namespace {

std::uint64_t hashOf(std::string_view module, std::string_view param)
{
    return XXH3_64bits_withSeed(param.data(), param.size(), XXH3_64bits(module.data(), module.size()));
}

/// Names as they were recorded. The views are of records, which stay where they are.
struct RawName {
    std::string_view module, param;
    bool operator==(const RawName&) const = default;
};

struct RawNameHash {
    std::uint64_t operator()(const RawName& name) const { return hashOf(name.module, name.param); }
};

struct RankIndex {
    std::vector<const bundle::TensorRecord*> names; ///< by the rank's own number: the first record of that name
    std::vector<std::uint32_t> nameOf;              ///< per record: the rank's own number
    std::map<std::int32_t, std::vector<std::uint32_t>> steps;
};

RankIndex indexOf(const bundle::RankData& rank)
{
    RankIndex out;
    Numbering<RawName, RawNameHash> seen;
    out.nameOf.reserve(rank.tensors.size());
    std::vector<std::uint32_t>* ofStep = nullptr;
    std::int32_t step = 0;
    for (std::uint32_t i = 0; i < rank.tensors.size(); ++i) {
        const auto& record = rank.tensors[i];
        const auto [number, isNew] = seen.add({ record.module, record.param });
        if (isNew) {
            out.names.push_back(&record);
        }
        out.nameOf.push_back(number);
        if (!ofStep || record.step != step) {
            step = record.step;
            ofStep = &out.steps[step];
        }
        ofStep->push_back(i);
    }
    return out;
}

/// Shared with the record where it has no wrapper prefix.
RecordName nameOf(const bundle::TensorRecord& record)
{
    auto module = normalisedPath(record.module);
    return { record.module == module ? record.module : bundle::SharedText(std::move(module)), record.param };
}

/// Both modules, whose names only differ in wrappers, have the parameter in one step: a child that is called as a wrapper's, beside what is its
/// parent's own. (A model that is wrapped in the course of a run has another name afterwards.)
bool haveAStepInCommon(const bundle::RankData& rank, const bundle::SharedText& param, const bundle::SharedText& first, const bundle::SharedText& second)
{
    std::set<std::int32_t> steps;
    for (const auto& record : rank.tensors) {
        if (record.param == param && record.module == first) {
            steps.insert(record.step);
        }
    }
    return std::any_of(rank.tensors.begin(), rank.tensors.end(),
                       [&](const auto& record) { return record.param == param && record.module == second && steps.contains(record.step); });
}

/// The path of such a child: without the wrappers around its parent.
std::string childName(std::string_view path)
{
    const auto dot = path.rfind('.');
    const auto parent = dot == std::string_view::npos ? std::string() : normalisedPath(path.substr(0, dot));
    return joinName(parent, path.substr(dot + 1)); // npos + 1 is 0
}

} // namespace

std::uint64_t RecordNameHash::operator()(const RecordName& name) const { return hashOf(name.module, name.param); }

Result<SideIndex> indexOf(const Side& side)
{
    for (const auto* rank : side.ranks) {
        if (rank->tensors.size() > std::numeric_limits<std::uint32_t>::max()) {
            return fail(ErrorCode::Usage, fmt::format("rank {} has more than 4294967295 records", rank->rank), side.label);
        }
    }
    std::vector<RankIndex> ranks(side.ranks.size());
    oneapi::tbb::parallel_for(std::size_t { 0 }, ranks.size(), [&](std::size_t r) { ranks[r] = indexOf(*side.ranks[r]); });

    SideIndex out;
    Numbering<RecordName, RecordNameHash> numbers;
    out.nameOf.resize(ranks.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        std::vector<std::uint32_t> ofSide; // the side's number by the rank's own
        ofSide.reserve(ranks[r].names.size());
        std::unordered_map<std::uint32_t, const bundle::SharedText*> owners; // of parameters and the like: the module as it was recorded
        for (const auto* record : ranks[r].names) {
            auto number = numbers.add(nameOf(*record)).first;
            const auto& owner = *owners.try_emplace(number, &record->module).first->second;
            if (!record->param.empty() && owner != record->module && haveAStepInCommon(*side.ranks[r], record->param, owner, record->module)) {
                number = numbers.add({ bundle::SharedText(childName(record->module)), record->param }).first;
            }
            ofSide.push_back(number);
        }
        for (auto& number : ranks[r].nameOf) {
            number = ofSide[number];
        }
        out.nameOf[r] = std::move(ranks[r].nameOf);
        for (auto& [step, records] : ranks[r].steps) {
            auto& perRank = out.steps[step];
            perRank.resize(ranks.size());
            perRank[r] = std::move(records);
        }
    }
    out.names = std::move(numbers).keys();
    return out;
}

} // namespace forkpoint::align
