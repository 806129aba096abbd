// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/call_sites.h"

#include "core/bundle/value_pool.h"

#include <unordered_map>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forkpoint::align {

std::uint64_t CallSites::SiteHash::operator()(const Site& site) const
{
    const auto wide = [](std::int32_t number) { return static_cast<std::uint64_t>(number); };
    const auto numbers = wide(site.step) << 32 ^ wide(site.micro) << 16 ^ wide(site.call);
    return XXH3_64bits_withSeed(site.module.data(), site.module.size(), numbers);
}

CallSites::CallSites(const Side& side, const std::map<std::string, std::string>& renames)
{
    bundle::ValuePool sources;
    std::unordered_map<std::string_view, std::string_view> known;
    const auto inTermsOfA = [&](const std::string& module) {
        const auto [at, isNew] = known.try_emplace(module);
        if (isNew) {
            at->second = m_modules.emplace_back(renamed(renames, normalisedPath(module)));
        }
        return at->second;
    };
    const auto add = [&](const Site& site, const std::string& source) {
        if (m_sites.add(site).second) {
            m_sources.push_back(sources.text(source));
        }
    };
    for (const auto* rank : side.ranks) {
        for (const auto& call : rank->calls) {
            if (!call.recompute && !call.source.empty()) {
                add({ call.step, call.micro, call.call, inTermsOfA(call.module) }, call.source);
            }
        }
        for (const auto& backward : rank->backwards) {
            if (!backward.source.empty()) {
                add({ backward.step, backward.micro, 0, backward.root }, backward.source);
            }
        }
    }
}

bundle::SharedText CallSites::of(const PairKey& key, std::int32_t step, const std::vector<std::vector<std::int32_t>>& micros) const
{
    const bool ofCall = key.phase == bundle::Phase::Forward || key.phase == bundle::Phase::Backward;
    if (!ofCall || key.micro < 0 || static_cast<std::size_t>(key.micro) >= micros.size()) {
        return {};
    }
    for (const auto micro : micros[static_cast<std::size_t>(key.micro)]) {
        if (const auto site = m_sites.find({ step, micro, key.call, key.module })) {
            return m_sources[*site];
        }
    }
    return {};
}

} // namespace forkpoint::align
