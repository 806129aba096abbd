// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/unmatched.h"

#include "core/align/near_misses.h"
#include "core/report/terminal.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <vector>

namespace forkpoint::report {

namespace {

using align::Pair;
using align::PairStatus;

constexpr std::size_t kNames = 8; ///< shown as text

bool isAlone(const Pair& pair) { return pair.status == PairStatus::OnlyA || pair.status == PairStatus::OnlyB; }

/// Unmatched tensors of one name and kind on one side; the others happened in other steps, calls or micro-steps.
struct Named {
    std::size_t first = 0;
    std::size_t count = 0;
};

} // namespace

std::string unmatchedText(const compare::Snapshot& comparison, const TextOptions& options)
{
    const auto& alignment = comparison.structure().alignment;
    std::vector<Named> names;
    std::map<std::tuple<PairStatus, bundle::Phase, bundle::Kind, std::string, std::string>, std::size_t> seen;
    for (std::size_t i = 0; i < alignment.pairs.size(); ++i) {
        const auto& pair = alignment.pairs[i];
        if (!isAlone(pair)) {
            continue;
        }
        const auto [at, added] = seen.try_emplace({ pair.status, pair.key.phase, pair.key.kind, pair.key.name(), pair.key.slot }, names.size());
        if (added) {
            names.push_back({ i, 0 });
        }
        ++names[at->second].count;
    }
    if (names.empty()) {
        return {};
    }
    const align::NearMisses misses(alignment);
    const auto width = static_cast<std::size_t>(options.width);
    std::string out = "\n" + toned("Unmatched, with what came nearest on the other side", Tone::Bold, options) + "\n";
    for (std::size_t n = 0; n < std::min(names.size(), kNames); ++n) {
        const auto& pair = alignment.pairs[names[n].first];
        const std::string more = names[n].count > 1 ? fmt::format(" and {} more of it", names[n].count - 1) : std::string();
        out += "  " + wrapped(fmt::format("{} only: {}{}", pair.status == PairStatus::OnlyA ? "reference" : "candidate", printable(pair.id), more), width, 2, 4) + "\n";
        const auto near = misses.of(names[n].first, 2);
        for (const auto& miss : near) {
            out += "    " + wrapped(printable(fmt::format("{}: {}", alignment.pairs[miss.pair].id, miss.why)), width, 4, 6) + "\n";
        }
        if (near.empty()) {
            out += "    nothing alike on the other side\n";
        }
    }
    if (names.size() > kNames) {
        out += fmt::format("  ... {} more names: see --json\n", names.size() - kNames);
    }
    return out;
}

nlohmann::json unmatchedJson(const align::Alignment& alignment)
{
    auto out = nlohmann::json::array();
    const align::NearMisses misses(alignment);
    for (std::size_t i = 0; i < alignment.pairs.size(); ++i) {
        const auto& pair = alignment.pairs[i];
        if (!isAlone(pair)) {
            continue;
        }
        auto nearest = nlohmann::json::array();
        for (const auto& miss : misses.of(i)) {
            nearest.push_back({ { "pair", alignment.pairs[miss.pair].id }, { "why", miss.why } });
        }
        out.push_back({ { "id", pair.id }, { "side", pair.status == PairStatus::OnlyA ? "reference" : "candidate" }, { "nearest", std::move(nearest) } });
    }
    return out;
}

} // namespace forkpoint::report
