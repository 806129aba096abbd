// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/drafts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace forkpoint::align {

namespace {

using bundle::hasMicro;
using bundle::Kind;
using bundle::kNoMicro;
using bundle::Phase;
using bundle::TensorRecord;

struct DraftKeyHash {
    std::size_t operator()(const DraftKey& key) const
    {
        const auto mixed = [](std::uint64_t x) {
            x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15ull;
            return x ^ (x >> 29);
        };
        const auto both = [](std::uint32_t high, std::uint32_t low) { return (std::uint64_t { high } << 32) | low; };
        const auto kinds = static_cast<std::uint32_t>(key.phase) | static_cast<std::uint32_t>(key.kind) << 8 | static_cast<std::uint32_t>(key.level) << 16;
        return mixed(mixed(both(key.name, key.slot)) ^ both(static_cast<std::uint32_t>(key.micro), static_cast<std::uint32_t>(key.call)) ^ (std::uint64_t { kinds } << 40));
    }
};

using Numbers = std::unordered_map<DraftKey, std::uint32_t, DraftKeyHash>;

/// micro-step -> the group that it belongs to.
std::map<std::int32_t, std::int32_t> groupOfMicro(const std::vector<std::vector<std::int32_t>>& groups)
{
    std::map<std::int32_t, std::int32_t> out;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (const auto micro : groups[g]) {
            out.emplace(micro, static_cast<std::int32_t>(g));
        }
    }
    return out;
}

void collect(const CollectSide& from, bool isA, const MappedNames& names, TextNumbers& slots, std::vector<Draft>& drafts, Numbers& numbers)
{
    const auto groups = groupOfMicro(from.microGroups);
    const auto records = from.index.steps.find(from.recordedStep);
    if (records == from.index.steps.end()) {
        return;
    }
    for (std::size_t r = 0; r < from.side.ranks.size(); ++r) {
        for (const auto number : records->second[r]) {
            const auto& record = from.side.ranks[r]->tensors[number];
            const auto& mapped = from.names[from.index.nameOf[r][number]];
            DraftKey key;
            std::int32_t micro = 0;
            key.micro = kNoMicro;
            if (hasMicro(record.phase)) {
                micro = std::max(record.micro, 0);
                const auto group = groups.find(micro);
                if (group == groups.end()) {
                    continue;
                }
                key.micro = group->second;
            }
            key.phase = record.phase;
            key.kind = record.kind;
            key.level = record.level;
            key.name = mapped.id;
            key.call = record.call;
            key.slot = slots.number(record.slot);
            const ExactPair* call = nullptr;
            for (const auto* pair : mapped.calls) {
                const bool same = pair->candidate.call.value_or(record.call) == record.call && pair->candidate.slot.value_or(record.slot) == record.slot;
                const auto target = same ? names.ids.find(splitName(pair->reference.name, !record.param.empty())) : names.ids.end();
                if (target != names.ids.end()) {
                    key.name = target->second;
                    key.call = pair->reference.call.value_or(key.call);
                    key.slot = pair->reference.slot ? slots.number(*pair->reference.slot) : key.slot;
                    call = pair;
                }
            }
            const auto [at, added] = numbers.try_emplace(key, static_cast<std::uint32_t>(drafts.size()));
            if (added) {
                drafts.emplace_back().key = key;
            }
            auto& draft = drafts[at->second];
            draft.call = call ? call : draft.call;
            if (!record.notObserved.empty()) {
                draft.notObserved = &*record.notObserved;
            }
            auto& parts = isA ? draft.a : draft.b;
            if (parts.empty()) {
                (isA ? draft.mappedA : draft.mappedB) = &mapped;
            }
            parts.push_back({ from.side.ranks[r], &record, micro, r, mapped.piece });
        }
    }
}

/// Inputs and outputs of one call whose slots are named differently: pair what is left in order, where the shapes allow it.
void matchSlotsInOrder(std::vector<Draft>& drafts)
{
    struct Loose {
        std::vector<std::uint32_t> a, b;
    };
    std::unordered_map<DraftKey, Loose, DraftKeyHash> byCall;
    for (std::uint32_t i = 0; i < drafts.size(); ++i) {
        const auto& draft = drafts[i];
        const auto kind = draft.key.kind;
        if (draft.a.empty() == draft.b.empty() || (kind != Kind::Input && kind != Kind::Output && kind != Kind::GradOutput && kind != Kind::Batch)) {
            continue;
        }
        DraftKey call = draft.key;
        call.slot = 0;
        (draft.b.empty() ? byCall[call].a : byCall[call].b).push_back(i);
    }
    for (auto& [call, loose] : byCall) {
        if (loose.a.size() != loose.b.size()) {
            continue;
        }
        const auto orderA = [&](std::uint32_t i) { return drafts[i].a.front().record->order; };
        const auto orderB = [&](std::uint32_t i) { return drafts[i].b.front().record->order; };
        std::sort(loose.a.begin(), loose.a.end(), [&](auto x, auto y) { return orderA(x) < orderA(y); });
        std::sort(loose.b.begin(), loose.b.end(), [&](auto x, auto y) { return orderB(x) < orderB(y); });
        for (std::size_t i = 0; i < loose.a.size(); ++i) {
            auto& target = drafts[loose.a[i]];
            auto& other = drafts[loose.b[i]];
            const auto* recordA = target.a.front().record;
            const auto* recordB = other.b.front().record;
            if (recordA->shape.size() != recordB->shape.size() || isInteger(recordA->dtype) != isInteger(recordB->dtype)) {
                continue;
            }
            target.b = std::move(other.b);
            target.mappedB = other.mappedB;
            target.bySlotOrder = true;
            target.notObserved = target.notObserved ? target.notObserved : other.notObserved;
            other.dropped = true;
            other.b.clear();
        }
    }
}

/// Execution order of a draft on one side: that of its first record in the lowest rank.
std::int64_t orderOn(const std::vector<Part>& parts)
{
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    std::size_t bestRank = std::numeric_limits<std::size_t>::max();
    for (const auto& part : parts) {
        if (part.rankIndex < bestRank || (part.rankIndex == bestRank && part.record->order < best)) {
            bestRank = part.rankIndex;
            best = part.record->order;
        }
    }
    return best;
}

/// The drafts that a side has, by phase and then in its order.
std::vector<std::uint32_t> sideOrder(const std::vector<Draft>& drafts, bool ofA)
{
    std::vector<std::tuple<Phase, std::int64_t, std::uint32_t>> sorted;
    for (std::uint32_t i = 0; i < drafts.size(); ++i) {
        const auto& parts = ofA ? drafts[i].a : drafts[i].b;
        if (!drafts[i].dropped && !parts.empty()) {
            sorted.emplace_back(drafts[i].key.phase, orderOn(parts), i);
        }
    }
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::uint32_t> out;
    out.reserve(sorted.size());
    for (const auto& entry : sorted) {
        out.push_back(std::get<2>(entry));
    }
    return out;
}

} // namespace

std::uint32_t TextNumbers::number(std::string_view text)
{
    const auto [at, added] = m_numbers.try_emplace(text, static_cast<std::uint32_t>(m_texts.size()));
    if (added) {
        m_texts.push_back(text);
    }
    return at->second;
}

std::vector<Draft> draftsOfStep(const CollectSide& a, const CollectSide& b, const MappedNames& names, TextNumbers& slots)
{
    std::vector<Draft> drafts;
    Numbers numbers;
    std::size_t most = 0; // records of the rank that has the most: ranks have the same ones, as a rule
    for (const auto* from : { &a, &b }) {
        if (const auto records = from->index.steps.find(from->recordedStep); records != from->index.steps.end()) {
            for (const auto& own : records->second) {
                most = std::max(most, own.size());
            }
        }
    }
    drafts.reserve(most);
    numbers.reserve(most);
    collect(a, true, names, slots, drafts, numbers);
    collect(b, false, names, slots, drafts, numbers);
    matchSlotsInOrder(drafts);
    return drafts;
}

std::vector<std::uint32_t> displayOrder(const std::vector<Draft>& drafts)
{
    const auto inA = sideOrder(drafts, true);
    const bool onlyB = std::any_of(drafts.begin(), drafts.end(), [](const Draft& d) { return !d.dropped && d.a.empty(); });
    if (!onlyB) {
        return inA;
    }
    const auto phase = [&](std::uint32_t i) { return drafts[i].key.phase; };
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> followers; // neighbour in A -> what B has after it
    std::map<Phase, std::vector<std::uint32_t>> leaders;                     // before the first matched pair of a phase
    std::optional<std::uint32_t> neighbour;
    for (const auto draft : sideOrder(drafts, false)) {
        if (!drafts[draft].a.empty()) {
            neighbour = draft;
        } else if (neighbour && phase(*neighbour) == phase(draft)) {
            followers[*neighbour].push_back(draft);
        } else {
            leaders[phase(draft)].push_back(draft);
        }
    }
    std::vector<std::uint32_t> out;
    for (const auto draft : inA) {
        for (auto leader = leaders.begin(); leader != leaders.end() && leader->first <= phase(draft); leader = leaders.erase(leader)) {
            out.insert(out.end(), leader->second.begin(), leader->second.end());
        }
        out.push_back(draft);
        if (const auto found = followers.find(draft); found != followers.end()) {
            out.insert(out.end(), found->second.begin(), found->second.end());
        }
    }
    for (const auto& [where, rest] : leaders) {
        out.insert(out.end(), rest.begin(), rest.end());
    }
    return out;
}

PairKey pairKey(const DraftKey& key, std::int32_t step, const MappedNames& names, const TextNumbers& slots)
{
    PairKey out;
    out.step = step;
    out.micro = key.micro;
    out.phase = key.phase;
    out.kind = key.kind;
    out.level = key.level;
    out.module = names.names[key.name].module;
    out.param = names.names[key.name].param;
    out.call = key.call;
    out.slot = slots.text(key.slot);
    return out;
}

} // namespace forkpoint::align
