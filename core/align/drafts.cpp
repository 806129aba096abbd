// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/drafts.h"

#include "core/align/names.h"

#include "core/bundle/sketch.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forkpoint::align {

namespace {

using bundle::hasMicro;
using bundle::Kind;
using bundle::kNoMicro;
using bundle::Phase;
using bundle::TensorRecord;

constexpr std::size_t kPhases = static_cast<std::size_t>(Phase::Optimizer) + 1;

struct DraftKeyHash {
    std::uint64_t operator()(const DraftKey& key) const
    {
        const auto both = [](std::uint32_t high, std::uint32_t low) { return (std::uint64_t { high } << 32) | low; };
        const auto wide = [](auto value) { return static_cast<std::uint32_t>(value); };
        const auto kinds = wide(key.phase) | wide(key.kind) << 8 | wide(key.level) << 16;
        return mixed(mixed(both(key.name, key.slot)) ^ both(wide(key.micro), wide(key.call)) ^ (std::uint64_t { kinds } << 40));
    }
};

using Numbers = Numbering<DraftKey, DraftKeyHash>;

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

/// A rank's record, and the number of its draft.
struct Collected {
    Part part;
    std::uint32_t draft = 0;
};

/// Numbers the drafts of one side's records, rank by rank, and makes those that are new.
std::vector<Collected> collect(const CollectSide& from, bool isA, const MappedNames& names, StepDrafts& out, Numbers& numbers)
{
    std::vector<Collected> collected;
    const auto groups = groupOfMicro(from.microGroups);
    const auto records = from.index.steps.find(from.recordedStep);
    if (records == from.index.steps.end()) {
        return collected;
    }
    std::size_t count = 0;
    for (const auto& ofRank : records->second) {
        count += ofRank.size();
    }
    collected.reserve(count);
    for (std::uint32_t r = 0; r < from.side.ranks.size(); ++r) {
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
            key.slot = record.slot.empty() ? 0 : out.slots.add(record.slot).first;
            const ExactPair* call = nullptr;
            for (const auto* pair : mapped.calls) {
                const auto& asked = pair->candidate;
                const bool same = asked.call.value_or(record.call) == record.call && asked.slot.value_or(record.slot) == record.slot;
                const auto target = same ? names.ids.find(splitName(pair->reference.name, !record.param.empty())) : std::nullopt;
                if (target) {
                    key.name = *target;
                    key.call = pair->reference.call.value_or(key.call);
                    key.slot = pair->reference.slot ? out.slots.add(*pair->reference.slot).first : key.slot;
                    call = pair;
                }
            }
            const auto [draftNumber, isNew] = numbers.add(key);
            if (isNew) {
                out.drafts.emplace_back().key = key;
            }
            auto& draft = out.drafts[draftNumber];
            draft.call = call ? call : draft.call;
            if (!record.notObserved.empty()) {
                draft.notObserved = &record.notObserved;
            }
            auto& first = isA ? draft.mappedA : draft.mappedB;
            first = first ? first : &mapped;
            collected.push_back({ { from.side.ranks[r], &record, micro, r, static_cast<std::uint32_t>(mapped.piece) }, draftNumber });
        }
    }
    return collected;
}

/// Puts the parts of each draft side by side.
void distribute(const std::vector<Collected>& collected, std::vector<Draft>& drafts, std::vector<Part>& parts, std::span<const Part> Draft::*side)
{
    std::vector<std::size_t> next(drafts.size() + 1);
    for (const auto& it : collected) {
        ++next[it.draft + 1];
    }
    parts.resize(collected.size());
    for (std::size_t i = 0; i < drafts.size(); ++i) {
        drafts[i].*side = std::span(parts).subspan(next[i], next[i + 1]);
        next[i + 1] += next[i];
    }
    for (const auto& it : collected) {
        parts[next[it.draft]++] = it.part;
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
            target.b = other.b;
            target.mappedB = other.mappedB;
            target.bySlotOrder = true;
            target.notObserved = target.notObserved ? target.notObserved : other.notObserved;
            other.dropped = true;
            other.b = {};
        }
    }
}

/// Keeps, of each draft of one side, the parts of the stage whose tensor of the module is that of the whole model. Where none is, there is nothing to
/// compare.
void keepStages(const Stages& stages, std::vector<Draft>& drafts, std::vector<Part>& parts, std::span<const Part> Draft::*side,
                std::span<const Part> Draft::*other)
{
    static const bundle::SharedText why = "the module is spread over the stages of a pipeline, and which of them has what the whole model has there is not "
                                          "known, or was not recorded";
    if (stages.empty()) {
        return;
    }
    std::map<std::string, StageOfModule> known;
    for (auto& draft : drafts) {
        auto& own = draft.*side;
        if (own.empty()) {
            continue;
        }
        const auto [at, isNew] = known.try_emplace(*own.front().record->module);
        if (isNew) {
            at->second = stageOfModule(stages, normalisedPath(at->first));
        }
        const auto& of = at->second;
        const auto kind = draft.key.kind;
        const bool inOrOut = kind == Kind::Input || kind == Kind::Output || kind == Kind::GradOutput;
        if (of.spread && !inOrOut) {
            continue; // a parameter of its own: every stage that has it has a copy
        }
        const auto& kept = kind == Kind::Input ? of.first : of.last;
        const std::span<Part> all(parts.data() + (own.data() - parts.data()), own.size());
        const auto end = std::stable_partition(all.begin(), all.end(), [&](const Part& part) {
            return kept && *kept == stages.of(part.rankIndex, normalisedPath(*part.record->module));
        });
        const auto count = static_cast<std::size_t>(end - all.begin());
        if (of.spread && (count == 0 || (draft.*other).empty())) {
            draft.notObserved = &why;
        } else if (count > 0) {
            own = own.first(count);
        }
    }
}

/// One side ties parameters that lie on other stages of the other side: there each has the gradient of its own use, and here it has that of both.
void setTiedApart(const CollectSide& whole, const Stages& stages, std::vector<Draft>& drafts, const MappedNames& names)
{
    static const bundle::SharedText why = "the parameter is tied to one on another stage of the pipeline: its gradient is that of all its uses in one process, "
                                          "and their sum comes with the reduction in the pipeline";
    if (stages.empty() || !whole.stages.empty()) {
        return;
    }
    std::vector<std::uint32_t> apart; // names
    for (const auto& tied : whole.side.ranks.front()->ties) {
        std::vector<Stage> holders;
        std::vector<std::uint32_t> ids;
        for (const auto& parameter : tied) {
            auto name = splitName(parameter, true);
            name.module = normalisedPath(*name.module);
            const auto holder = stageOfModule(stages, *name.module).first;
            holders.insert(holders.end(), holder ? 1 : 0, holder.value_or(Stage()));
            if (const auto id = names.ids.find(name)) {
                ids.push_back(*id);
            }
        }
        if (std::any_of(holders.begin(), holders.end(), [&](const Stage& stage) { return stage != holders.front(); })) {
            apart.insert(apart.end(), ids.begin(), ids.end());
        }
    }
    for (auto& draft : drafts) {
        const bool isLocal = draft.key.phase == Phase::Backward && draft.key.kind == Kind::Grad;
        if (isLocal && !draft.a.empty() && !draft.b.empty() && std::find(apart.begin(), apart.end(), draft.key.name) != apart.end()) {
            draft.notObserved = &why;
        }
    }
}

/// The module returns what it was given: nn.Identity, dropout in evaluation, what gathers from all ranks where there is one. nullopt: not known.
std::optional<bool> handsOn(std::span<const Part> output, std::span<const Part> input)
{
    bool known = true;
    const bool alike = std::equal(output.begin(), output.end(), input.begin(), input.end(), [&](const Part& made, const Part& given) {
        const bool comparable = made.rank == given.rank && made.micro == given.micro && made.record->shape == given.record->shape;
        const auto same = comparable ? bundle::sameBits(*made.record, *given.record) : false;
        known = known && same;
        return same.value_or(true);
    });
    return alike && !known ? std::nullopt : std::optional(alike);
}

/// The gradient of an output that is the input, too, is that of all that was computed from either. Where only one side's is, the two are not the same
/// quantity.
void setApartHandedOn(std::vector<Draft>& drafts, const Numbers& numbers)
{
    static const bundle::SharedText why[] = {
        "the reference hands the input of this module on: its gradient is that of all that uses the input, the candidate's is not",
        "the candidate hands the input of this module on: its gradient is that of all that uses the input, the reference's is not",
    };
    for (auto& draft : drafts) {
        if (draft.key.kind != Kind::GradOutput || draft.a.empty() || draft.b.empty() || draft.notObserved) {
            continue;
        }
        DraftKey key = draft.key;
        key.phase = Phase::Forward;
        key.kind = Kind::Output;
        const auto output = numbers.find(key);
        key.kind = Kind::Input;
        key.slot = 0;
        const auto input = numbers.find(key);
        if (!output || !input) {
            continue;
        }
        const auto &made = drafts[*output], &given = drafts[*input];
        if (!made.a.empty() && !made.b.empty() && !given.a.empty() && !given.b.empty()) {
            const auto inA = handsOn(made.a, given.a), inB = handsOn(made.b, given.b);
            draft.notObserved = !inA || !inB || inA == inB ? nullptr : &why[*inA ? 0 : 1];
        }
    }
}

/// Execution order of a draft on one side: that of its first record in the lowest rank.
std::int64_t orderOn(std::span<const Part> parts)
{
    std::int64_t best = parts.front().record->order;
    for (const auto& part : parts) {
        if (part.rankIndex != parts.front().rankIndex) {
            break;
        }
        best = std::min(best, part.record->order);
    }
    return best;
}

/// The drafts that a side has, by phase and then in its order.
std::vector<std::uint32_t> sideOrder(const std::vector<Draft>& drafts, bool ofA)
{
    struct Place {
        std::int64_t order;
        std::uint32_t draft;
        auto operator<=>(const Place&) const = default;
    };
    std::array<std::vector<Place>, kPhases> phases;
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < drafts.size(); ++i) {
        const auto& parts = ofA ? drafts[i].a : drafts[i].b;
        if (!drafts[i].dropped && !parts.empty()) {
            phases[static_cast<std::size_t>(drafts[i].key.phase)].push_back({ orderOn(parts), i });
            ++count;
        }
    }
    std::vector<std::uint32_t> out;
    out.reserve(count);
    for (auto& places : phases) {
        if (!std::is_sorted(places.begin(), places.end())) { // files are in the order of execution, as a rule
            std::sort(places.begin(), places.end());
        }
        for (const auto& place : places) {
            out.push_back(place.draft);
        }
    }
    return out;
}

} // namespace

std::uint64_t TextHash::operator()(const bundle::SharedText& text) const { return XXH3_64bits(text->data(), text->size()); }

StepDrafts draftsOfStep(const CollectSide& a, const CollectSide& b, const MappedNames& names)
{
    StepDrafts out;
    out.slots.add({}); // number 0
    std::size_t most = 0; // records of the rank that has the most: ranks have the same ones, as a rule
    for (const auto* from : { &a, &b }) {
        if (const auto records = from->index.steps.find(from->recordedStep); records != from->index.steps.end()) {
            for (const auto& own : records->second) {
                most = std::max(most, own.size());
            }
        }
    }
    Numbers numbers;
    numbers.reserve(most);
    out.drafts.reserve(most);
    const auto ofA = collect(a, true, names, out, numbers), ofB = collect(b, false, names, out, numbers);
    distribute(ofA, out.drafts, out.partsA, &Draft::a);
    distribute(ofB, out.drafts, out.partsB, &Draft::b);
    keepStages(a.stages, out.drafts, out.partsA, &Draft::a, &Draft::b);
    keepStages(b.stages, out.drafts, out.partsB, &Draft::b, &Draft::a);
    setTiedApart(a, b.stages, out.drafts, names);
    setTiedApart(b, a.stages, out.drafts, names);
    matchSlotsInOrder(out.drafts);
    setApartHandedOn(out.drafts, numbers);
    return out;
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

PairKey pairKey(const DraftKey& key, std::int32_t step, const MappedNames& names, const StepDrafts& drafts)
{
    const auto& name = names.ids.keys()[key.name];
    return { step, key.micro, key.phase, key.kind, key.level, name.module, name.param, key.call, drafts.slots.keys()[key.slot] };
}

} // namespace forkpoint::align
