// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/near_misses.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace forkpoint::align {

namespace {

constexpr std::size_t kMostExamined = 64; ///< per way of being alike

bool inA(const Pair& pair) { return pair.status != PairStatus::OnlyB; }
bool inB(const Pair& pair) { return pair.status != PairStatus::OnlyA; }

std::string nameKey(const PairKey& key) { return fmt::format("{}/{}", key.step, joinName(key.module, key.param)); }

/// "q.weight" of "layers.0.attn.q.weight", "q" of a module.
std::string endKey(const PairKey& key)
{
    const std::string_view module = key.module;
    return fmt::format("{}/{}/{}", key.step, static_cast<int>(key.phase), joinName(module.substr(module.rfind('.') + 1), key.param));
}

std::string shapeKey(const PairKey& key, const Shape& shape)
{
    return fmt::format("{}/{}/{}/{}", key.step, static_cast<int>(key.phase), static_cast<int>(key.kind), fmt::join(shape, "x"));
}

std::vector<std::string_view> components(std::string_view name)
{
    std::vector<std::string_view> out;
    while (!name.empty()) {
        const auto dot = name.find('.');
        out.push_back(name.substr(0, dot));
        name = dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
    }
    return out;
}

/// How many components two names share, in order.
int alike(std::string_view x, std::string_view y)
{
    const auto a = components(x), b = components(y);
    std::vector<int> longest(b.size() + 1, 0); // common subsequence of what was seen of a and the first components of b
    for (const auto component : a) {
        int diagonal = 0;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const int before = longest[j + 1];
            longest[j + 1] = component == b[j] ? diagonal + 1 : std::max(longest[j + 1], longest[j]);
            diagonal = before;
        }
    }
    return longest.back();
}

/// How near; larger is nearer.
int nearness(const Pair& unmatched, const Shape& shape, const Pair& other, const Shape& otherShape)
{
    const auto& x = unmatched.key;
    const auto& y = other.key;
    int score = 4 * alike(joinName(x.module, x.param), joinName(y.module, y.param));
    score += x.phase == y.phase && x.kind == y.kind ? 6 : 0;
    score += shape == otherShape ? 5 : shape.size() == otherShape.size() ? 1 : 0;
    score += x.micro == y.micro ? 1 : 0;
    score += x.call == y.call ? 1 : 0;
    score += x.slot == y.slot ? 1 : 0;
    score -= other.status == PairStatus::Matched ? 2 : 0;
    return score;
}

std::string reason(const Pair& unmatched, const Shape& shape, const Pair& other, const Shape& otherShape, bool ofA)
{
    const auto& x = unmatched.key;
    const auto& y = other.key;
    if (x.kind != y.kind) {
        return fmt::format("other kind: {}, not {}", bundle::name(y.kind), bundle::name(x.kind));
    }
    if (x.phase != y.phase) {
        return fmt::format("other phase: {}, not {}", bundle::name(y.phase), bundle::name(x.phase));
    }
    if (other.status == PairStatus::Matched || other.status == PairStatus::Unrelated) {
        return fmt::format("taken: it is paired with {} of the {}{}", y.name(), ofA ? "reference" : "candidate",
                           y.call > 0 ? fmt::format(", call {}", y.call) : std::string());
    }
    if (other.status == PairStatus::NotObserved) {
        return fmt::format("not observed: {}", other.note);
    }
    if (shape != otherShape) {
        return fmt::format("other shape: [{}] against [{}]", fmt::join(otherShape, ", "), fmt::join(shape, ", "));
    }
    if (x.micro != y.micro) {
        return fmt::format("other micro-step: {}, not {}", y.micro, x.micro);
    }
    if (x.module == y.module && x.param == y.param) {
        return x.call != y.call ? fmt::format("other call: {}, not {}", y.call, x.call) : fmt::format("other slot: '{}', not '{}'", y.slot, x.slot);
    }
    return "other name, and no rule leads from one to the other; a mapping (--map) would";
}

} // namespace

NearMisses::NearMisses(const Alignment& alignment)
    : m_alignment(alignment)
{
    const auto isAlone = [](const Pair& pair) { return pair.status == PairStatus::OnlyA || pair.status == PairStatus::OnlyB; };
    if (std::none_of(alignment.pairs.begin(), alignment.pairs.end(), isAlone)) {
        return; // nobody will ask
    }
    for (std::uint32_t i = 0; i < alignment.pairs.size(); ++i) {
        const auto& pair = alignment.pairs[i];
        m_byName[nameKey(pair.key)].push_back(i);
        m_byEnd[endKey(pair.key)].push_back(i);
        if (isAlone(pair)) {
            m_byShape[shapeKey(pair.key, inA(pair) ? pair.shapeA : pair.shapeB)].push_back(i);
        }
    }
}

std::vector<NearMiss> NearMisses::of(std::size_t index, std::size_t most) const
{
    const auto& pair = m_alignment.pairs.at(index);
    const bool ofA = inA(pair);
    const auto& shape = ofA ? pair.shapeA : pair.shapeB;
    const auto shapeOfOther = [&](const Pair& other) -> const Shape& { return ofA ? other.shapeB : other.shapeA; };
    std::set<std::uint32_t> found;
    const auto look = [&](const auto& map, const std::string& key) {
        const auto at = map.find(key);
        std::size_t examined = 0;
        for (std::size_t i = 0; at != map.end() && i < at->second.size() && examined < kMostExamined; ++i) {
            const auto& other = m_alignment.pairs[at->second[i]];
            if (at->second[i] != index && (ofA ? inB(other) : inA(other))) {
                found.insert(at->second[i]);
                ++examined;
            }
        }
    };
    look(m_byName, nameKey(pair.key));
    look(m_byEnd, endKey(pair.key));
    look(m_byShape, shapeKey(pair.key, shape));
    std::vector<std::pair<int, std::uint32_t>> ranked;
    for (const auto other : found) {
        ranked.emplace_back(-nearness(pair, shape, m_alignment.pairs[other], shapeOfOther(m_alignment.pairs[other])), other);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<NearMiss> out;
    for (std::size_t i = 0; i < ranked.size() && out.size() < most; ++i) {
        const auto& other = m_alignment.pairs[ranked[i].second];
        out.push_back({ ranked[i].second, reason(pair, shape, other, shapeOfOther(other), ofA) });
    }
    return out;
}

} // namespace forkpoint::align
