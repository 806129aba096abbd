// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/side_index.h"

#include "core/align/names.h"

#include <fmt/format.h>
#include <limits>
#include <string_view>
#include <unordered_map>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forkpoint::align {

namespace {

/// Names as they were recorded. The views are of records, which stay where they are.
struct RawName {
    std::string_view module, param;
    bool operator==(const RawName&) const = default;
};

struct RawNameHash {
    std::size_t operator()(const RawName& name) const
    {
        return XXH3_64bits_withSeed(name.param.data(), name.param.size(), XXH3_64bits(name.module.data(), name.module.size()));
    }
};

} // namespace

Result<SideIndex> indexOf(const Side& side)
{
    SideIndex out;
    std::unordered_map<RawName, std::uint32_t, RawNameHash> seen;
    std::map<RecordName, std::uint32_t> numbers;
    for (std::size_t r = 0; r < side.ranks.size(); ++r) {
        const auto& records = side.ranks[r]->tensors;
        if (records.size() > std::numeric_limits<std::uint32_t>::max()) {
            return fail(ErrorCode::Usage, fmt::format("rank {} has more than 4294967295 records", side.ranks[r]->rank), side.label);
        }
        auto& nameOf = out.nameOf.emplace_back();
        nameOf.reserve(records.size());
        std::vector<std::uint32_t>* ofStep = nullptr;
        std::int32_t step = 0;
        for (std::uint32_t i = 0; i < records.size(); ++i) {
            const auto& record = records[i];
            const auto [at, added] = seen.try_emplace(RawName { record.module, record.param }, 0);
            if (added) {
                RecordName name { normalisedPath(record.module), record.param };
                const auto [number, isNew] = numbers.try_emplace(name, static_cast<std::uint32_t>(out.names.size()));
                if (isNew) {
                    out.names.push_back(std::move(name));
                }
                at->second = number->second;
            }
            nameOf.push_back(at->second);
            if (!ofStep || record.step != step) {
                step = record.step;
                auto& perRank = out.steps[step];
                perRank.resize(side.ranks.size());
                ofStep = &perRank[r];
            }
            ofStep->push_back(i);
        }
    }
    return out;
}

} // namespace forkpoint::align
