// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/selection.h"

#include <map>

namespace forkpoint::align {

bool selects(std::string_view pattern, const PairKey& key)
{
    return pattern.empty() || globMatches(pattern, key.name()) || globMatches(pattern, pairId(key));
}

Result<std::vector<RunTensor>> tensorsOf(const Side& side, std::string_view pattern)
{
    const auto index = indexOf(side);
    if (!index) {
        return tl::unexpected(index.error());
    }
    std::vector<RunTensor> out;
    for (const auto& [step, records] : index->steps) {
        std::map<PairKey, std::size_t> numbers;
        for (std::uint32_t r = 0; r < side.ranks.size(); ++r) {
            for (const auto number : records[r]) {
                const auto& record = side.ranks[r]->tensors[number];
                if (!record.notObserved.empty()) {
                    continue;
                }
                const auto& name = index->names[index->nameOf[r][number]];
                PairKey key;
                key.step = step;
                key.micro = record.micro;
                key.phase = record.phase;
                key.kind = record.kind;
                key.level = record.level;
                key.module = name.module;
                key.param = name.param;
                key.call = record.call;
                key.slot = record.slot;
                if (!selects(pattern, key)) {
                    continue;
                }
                const auto [at, added] = numbers.try_emplace(key, out.size());
                if (added) {
                    out.push_back({ std::move(key), {} });
                }
                auto& parts = out[at->second].parts;
                if (parts.empty() || parts.back().rankIndex != r) {
                    parts.push_back({ side.ranks[r], &record, std::max(record.micro, 0), r });
                }
            }
        }
    }
    return out;
}

} // namespace forkpoint::align
