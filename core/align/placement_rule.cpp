// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/placement_rule.h"

#include <charconv>
#include <fmt/format.h>

namespace forkpoint::align {

namespace {

std::optional<bundle::Placement> parsePlacement(std::string_view word)
{
    using Type = bundle::Placement::Type;
    bundle::Placement out;
    if (const auto at = word.find('@'); at != std::string_view::npos) {
        out.axis = word.substr(at + 1);
        word = word.substr(0, at);
        if (out.axis.empty()) {
            return std::nullopt;
        }
    }
    if (word == "replicate") {
        return out;
    }
    if (word == "partial" || word == "partial(sum)" || word == "partial(mean)") {
        out.type = Type::Partial;
        out.op = word == "partial(mean)" ? "mean" : "sum";
        return out;
    }
    if (!word.starts_with("shard(") || !word.ends_with(")")) {
        return std::nullopt;
    }
    out.type = Type::Shard;
    const auto digits = word.substr(6, word.size() - 7);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.dim);
    const bool fits = error == std::errc() && end == digits.data() + digits.size() && out.dim >= -16 && out.dim < 16;
    return fits ? std::optional(out) : std::nullopt;
}

} // namespace

bool globMatches(std::string_view pattern, std::string_view text)
{
    std::size_t p = 0, t = 0, star = std::string_view::npos, from = 0; // the last star, and where its text began
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool PlacementRule::matches(const PairKey& key, bool ofA) const
{
    if (!(ofA ? forA : forB)) {
        return false;
    }
    if (kind ? *kind != key.kind : !bundle::hasParam(key.kind)) {
        return false;
    }
    return globMatches(pattern, joinName(key.module, key.param)) || (bundle::hasParam(key.kind) && globMatches(pattern, key.module));
}

Result<PlacementRule> parsePlacementRule(std::string_view text)
{
    const auto wrong = [&](std::string_view what) {
        return fail(ErrorCode::Usage,
                    fmt::format("'{}' {}; write a placement as 'layers.*.qkv=shard(0)@tp', with replicate, shard(DIM), partial(sum) or "
                                "partial(mean), several by commas, an axis of the mesh behind @",
                                text, what));
    };
    PlacementRule rule;
    rule.text = text;
    const auto equals = text.rfind('=');
    if (equals == std::string_view::npos || equals == 0) {
        return wrong("has no pattern and placement with = between");
    }
    auto pattern = text.substr(0, equals);
    for (const auto& [prefix, a, b] : { std::tuple("reference:", true, false), std::tuple("candidate:", false, true) }) {
        if (pattern.starts_with(prefix)) {
            pattern.remove_prefix(std::string_view(prefix).size());
            rule.forA = a;
            rule.forB = b;
        }
    }
    if (const auto slash = pattern.rfind('/'); slash != std::string_view::npos) {
        rule.kind = bundle::kindFromName(pattern.substr(slash + 1));
        if (!rule.kind) {
            return wrong("names no kind of tensor behind /: output, grad_output, input, param, grad, ...");
        }
        pattern = pattern.substr(0, slash);
    }
    rule.pattern = pattern;
    auto rest = text.substr(equals + 1);
    while (true) {
        const auto comma = rest.find(',');
        const auto placement = parsePlacement(rest.substr(0, comma));
        if (!placement) {
            return wrong(fmt::format("has no placement '{}'", rest.substr(0, comma)));
        }
        rule.placement.push_back(*placement);
        if (comma == std::string_view::npos) {
            return rule;
        }
        rest = rest.substr(comma + 1);
    }
}

} // namespace forkpoint::align
