// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/stage_numbers.h"

#include "core/align/names.h"
#include "core/bundle/sketch.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace forkpoint::align {

namespace {

using bundle::Kind;
using bundle::Phase;
using bundle::RankData;
using bundle::TensorRecord;

std::optional<std::int64_t> numberOf(std::string_view text)
{
    std::int64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return !text.empty() && error == std::errc() && end == text.data() + text.size() && out >= 0 && std::to_string(out) == text
        ? std::optional(out)
        : std::nullopt;
}

/// List -> the numbers of its children, for lists of modules that have nothing but numbered ones.
using Lists = std::map<std::string, std::set<std::int64_t>>;

/// 0, 1, ...
bool isFromZero(const std::set<std::int64_t>& numbers)
{
    return !numbers.empty() && *numbers.rbegin() + 1 == std::ssize(numbers);
}

Lists listsOf(const RankData& rank)
{
    Lists out;
    std::set<std::string> others; // with named children, too: numbers are names there
    for (const auto& module : rank.modules) {
        const auto path = normalisedPath(module.path);
        const auto dot = path.rfind('.');
        const auto parent = dot == std::string::npos ? std::string() : path.substr(0, dot);
        if (const auto number = numberOf(std::string_view(path).substr(dot + 1)); number && !path.empty()) {
            out[parent].insert(*number);
        } else if (!path.empty()) {
            others.insert(parent);
        }
    }
    std::erase_if(out, [&](const auto& list) { return others.contains(list.first); });
    return out;
}

/// By the normalised path of the module and the parameter's name.
using Weights = std::map<std::pair<std::string, std::string>, const TensorRecord*>;

/// What a rank has of one step: the weights with which it begins, what its models were given and what they made of it.
struct RankStep {
    Weights weights;
    std::vector<const TensorRecord*> given, made;

    RankStep(const RankData& rank, std::int32_t step)
    {
        for (const auto& record : rank.tensors) {
            if (record.step != step) {
                continue;
            }
            if (record.phase == Phase::Start && record.kind == Kind::Param) {
                weights.try_emplace({ normalisedPath(*record.module), *record.param }, &record);
            } else if (record.phase == Phase::Forward && isRoot(*record.module)
                && (record.kind == Kind::Input || record.kind == Kind::Output)) {
                (record.kind == Kind::Input ? given : made).push_back(&record);
            }
        }
    }

    bool handsOnTo(const RankStep& next) const
    {
        return std::any_of(made.begin(), made.end(), [&](const auto* x) {
            return std::any_of(
                next.given.begin(), next.given.end(), [&](const auto* y) { return bundle::sameBits(*x, *y).value_or(false); });
        });
    }

    bool hasWeightsOf(const RankStep& other) const
    {
        return weights.size() == other.weights.size()
            && std::equal(weights.begin(), weights.end(), other.weights.begin(),
                [](const auto& x, const auto& y) { return x.first == y.first && bundle::sameBits(*x.second, *y.second).value_or(false); });
    }
};

/// `path` with the number of the list's child that it is, or lies in, increased; wrappers may lie in between.
std::string moved(std::string_view path, const std::string& list, std::int64_t by)
{
    for (std::size_t begin = 0; begin <= path.size();) {
        const auto end = std::min(path.find('.', begin), path.size());
        const auto number = numberOf(path.substr(begin, end - begin));
        if (number && normalisedPath(path.substr(0, begin == 0 ? 0 : begin - 1)) == list) {
            return fmt::format("{}{}{}", path.substr(0, begin), *number + by, path.substr(end));
        }
        begin = end + 1;
    }
    return std::string(path);
}

/// Of all lists of one rank: by how much its numbers are to be increased.
using Offsets = std::map<std::string, std::int64_t>;

std::string moved(const std::string& path, const Offsets& offsets)
{
    for (const auto& [list, by] : offsets) {
        if (auto out = moved(path, list, by); out != path) {
            return out;
        }
    }
    return path;
}

class Renumbering {
public:
    explicit Renumbering(const Offsets& offsets)
        : m_offsets(offsets)
    {
    }

    std::shared_ptr<const RankData> copyOf(const RankData& rank)
    {
        auto out = std::make_shared<RankData>(rank);
        for (auto& module : out->modules) {
            module.path = name(module.path);
        }
        for (auto& call : out->calls) {
            call.module = name(call.module);
            if (call.parent) {
                call.parent = name(*call.parent);
            }
        }
        for (auto& edge : out->edges) {
            edge.from.module = name(edge.from.module);
            edge.to.module = name(edge.to.module);
        }
        for (auto& tied : out->ties) {
            for (auto& parameter : tied) {
                parameter = name(parameter);
            }
        }
        for (auto& record : out->tensors) {
            record.module = name(*record.module);
        }
        return out;
    }

private:
    bundle::SharedText name(const std::string& path)
    {
        const auto [at, isNew] = m_names.try_emplace(path);
        if (isNew) {
            at->second = bundle::SharedText(moved(path, m_offsets));
        }
        return at->second;
    }

    const Offsets& m_offsets;
    std::map<std::string, bundle::SharedText> m_names;
};

using RanksOfStages = std::vector<std::vector<std::size_t>>; ///< [stage][rank index]

bool handsOn(const std::vector<RankStep>& ranks, const std::vector<std::size_t>& from, const std::vector<std::size_t>& to)
{
    return std::any_of(from.begin(), from.end(),
        [&](std::size_t x) { return std::any_of(to.begin(), to.end(), [&](std::size_t y) { return ranks[x].handsOnTo(ranks[y]); }); });
}

/// Ranks that have the same weights are of one stage, unless one comes behind the other: layers may begin as copies of one another.
RanksOfStages stagesOfRanks(const std::vector<RankStep>& ranks)
{
    RanksOfStages out;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto before = std::find_if(out.rbegin(), out.rend(), [&](const auto& members) { return handsOn(ranks, members, { rank }); });
        const auto stage
            = std::find_if(before.base(), out.end(), [&](const auto& members) { return ranks[members.front()].hasWeightsOf(ranks[rank]); });
        (stage == out.end() ? out.emplace_back() : *stage).push_back(rank);
    }
    return out;
}

std::size_t sameWeights(const Weights& a, const Weights& b)
{
    return static_cast<std::size_t>(std::count_if(a.begin(), a.end(), [&](const auto& entry) {
        const auto other = b.find(entry.first);
        return other != b.end() && bundle::sameBits(*entry.second, *other->second).value_or(false);
    }));
}

/// The ranks of a side as stages, and the numbers that their layers would have if those of the earlier stages came first.
struct Numbered {
    RanksOfStages stages;
    std::vector<Weights> weights; ///< by stage
    std::map<std::string, std::vector<std::set<std::int64_t>>> lists; ///< list -> its children's own numbers, by stage
    std::vector<Offsets> offsets; ///< by stage
    std::map<std::string, std::int64_t> totals; ///< list -> how many children it has then
    bool chain = true; ///< each stage hands on to the next one; of one stage it is true

    Numbered(const Side& side, std::int32_t step)
    {
        std::vector<RankStep> ranks;
        for (const auto* rank : side.ranks) {
            ranks.emplace_back(*rank, step);
        }
        stages = stagesOfRanks(ranks);
        for (std::size_t s = 0; s < stages.size(); ++s) {
            for (auto& [list, numbers] : listsOf(*side.ranks[stages[s].front()])) {
                auto& ofStages = lists[list];
                ofStages.resize(stages.size());
                ofStages[s] = numbers;
            }
            weights.push_back(std::move(ranks[stages[s].front()].weights));
            chain = chain && (s == 0 || handsOn(ranks, stages[s - 1], stages[s]));
        }
        offsets.resize(stages.size());
        for (const auto& [list, ofStages] : lists) {
            number(list, ofStages);
        }
    }

    /// Gives the list on each stage the only number from which its weights are the whole's; false if there is none for some stage. `count`:
    /// of the whole's children.
    bool numberByWeights(const std::string& list, const Weights& whole, std::int64_t count)
    {
        auto found = offsets;
        for (std::size_t s = 0; s < stages.size(); ++s) {
            const auto size = std::ssize(lists.at(list)[s]);
            if (size == 0) {
                continue;
            }
            const auto own = ofList(weights[s], list);
            std::size_t best = 0, times = 0;
            for (std::int64_t by = 0; by + size <= count; ++by) {
                const auto same = sameWeights(withNumbers(own, list, by), whole);
                times = same > best ? 1 : same == best ? times + 1 : times;
                if (same > best) {
                    best = same;
                    found[s][list] = by;
                }
            }
            if (times != 1 || 2 * best <= own.size() || !isFromZero(lists.at(list)[s])) {
                return false;
            }
        }
        offsets = std::move(found);
        return true;
    }

    bool isWhole() const { return stages.size() == 1; }
    bool renumbers(const std::string& list) const
    {
        return std::any_of(offsets.begin(), offsets.end(), [&](const Offsets& own) { return own.contains(list) && own.at(list) > 0; });
    }

    /// Of all stages the weights of the list, with the numbers that they would be given or with their own; of several the first.
    Weights ofList(const std::string& list, bool asWhole) const
    {
        Weights out;
        for (std::size_t s = 0; s < stages.size(); ++s) {
            if (const auto by = offsets[s].find(list); by != offsets[s].end()) {
                out.merge(withNumbers(ofList(weights[s], list), list, asWhole ? by->second : 0));
            }
        }
        return out;
    }

private:
    static Weights ofList(const Weights& all, const std::string& list)
    {
        Weights out;
        std::copy_if(all.begin(), all.end(), std::inserter(out, out.end()),
            [&](const auto& w) { return moved(w.first.first, list, 1) != w.first.first; });
        return out;
    }

    static Weights withNumbers(const Weights& own, const std::string& list, std::int64_t by)
    {
        Weights out;
        for (const auto& [name, record] : own) {
            out.emplace(std::pair(moved(name.first, list, by), name.second), record);
        }
        return out;
    }

    /// Leaves a list out whose numbers are neither the whole's nor begin with 0 on every stage.
    void number(const std::string& list, const std::vector<std::set<std::int64_t>>& ofStages)
    {
        std::set<std::int64_t> all;
        std::int64_t count = 0;
        bool fromZero = true;
        for (const auto& numbers : ofStages) {
            all.insert(numbers.begin(), numbers.end());
            count += std::ssize(numbers);
            fromZero = fromZero && (numbers.empty() || isFromZero(numbers));
        }
        const bool asWhole = isFromZero(all) && std::ssize(all) == count;
        if (!asWhole && !fromZero) {
            return;
        }
        totals[list] = count;
        std::int64_t before = 0;
        for (std::size_t s = 0; s < ofStages.size(); ++s) {
            offsets[s].emplace(list, asWhole ? 0 : before);
            before += std::ssize(ofStages[s]);
        }
    }
};

/// The weights say so: most are the same with these numbers, and fewer with their own. Those that are one number throughout are the same
/// with both. Without weights, what the stages hand on.
bool agree(const Numbered& a, const Numbered& b, const std::string& list)
{
    const auto wholeA = a.ofList(list, true), wholeB = b.ofList(list, true);
    if (wholeA.empty() || wholeB.empty()) {
        return a.chain && b.chain; // none were recorded
    }
    const auto asWhole = sameWeights(wholeA, wholeB), asOwn = sameWeights(a.ofList(list, false), b.ofList(list, false));
    return asWhole > asOwn && 2 * asWhole > std::max(wholeA.size(), wholeB.size());
}

/// The two sides have as many ranks, and each rank the lists of the other side's: nothing could be gained.
bool haveSameLists(const Side& a, const Side& b)
{
    return std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(), b.ranks.end(),
        [](const auto* x, const auto* y) { return listsOf(*x) == listsOf(*y); });
}

/// Gives the ranks these numbers. Returns the lists concerned.
std::set<std::string> renumber(Side& side, const Numbered& numbered, const std::set<std::string>& lists)
{
    std::set<std::string> out;
    for (std::size_t s = 0; s < numbered.stages.size(); ++s) {
        Offsets own;
        for (const auto& [list, by] : numbered.offsets[s]) {
            if (by > 0 && lists.contains(list)) {
                own.emplace(list, by);
                out.insert(list);
            }
        }
        for (const auto rank : own.empty() ? std::vector<std::size_t>() : numbered.stages[s]) {
            side.copies.push_back(Renumbering(own).copyOf(*side.ranks[rank]));
            side.ranks[rank] = side.copies.back().get();
        }
    }
    return out;
}

} // namespace

std::vector<std::string> numberLayersAlike(Side& a, Side& b, std::int32_t stepA, std::int32_t stepB)
{
    std::vector<std::string> notes;
    if ((a.ranks.size() < 2 && b.ranks.size() < 2) || haveSameLists(a, b)) {
        return notes;
    }
    Numbered ofA(a, stepA), ofB(b, stepB);
    if (!(ofA.chain && ofB.chain) && !ofA.isWhole() && !ofB.isWhole()) {
        return notes; // tensor parallel ranks have other weights, too
    }
    std::set<std::string> lists;
    for (const auto& [list, ofStages] : ofA.lists) {
        if (!ofB.lists.contains(list)) {
            continue;
        }
        const auto countA = ofA.totals.find(list), countB = ofB.totals.find(list);
        const bool known = countA != ofA.totals.end() && countB != ofB.totals.end();
        const bool fits = known && countA->second == countB->second && agree(ofA, ofB, list);
        // A stage may be missing.
        const bool found = !fits && known && ofA.isWhole() != ofB.isWhole()
            && (ofA.isWhole() ? ofB.numberByWeights(list, ofA.weights.front(), countA->second)
                              : ofA.numberByWeights(list, ofB.weights.front(), countB->second));
        if (fits || found) {
            lists.insert(list);
        }
    }
    for (auto [side, numbered, which] : { std::tuple(&a, &ofA, "reference"), std::tuple(&b, &ofB, "candidate") }) {
        for (const auto& list : renumber(*side, *numbered, lists)) {
            notes.push_back(fmt::format("{}: each stage numbers {} from 0: compared are the numbers that they have in the whole model",
                which, list.empty() ? "its modules" : fmt::format("the modules of {}", list)));
        }
    }
    return notes;
}

} // namespace forkpoint::align
