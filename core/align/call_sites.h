// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/names.h"
#include "core/align/numbering.h"
#include "core/align/side.h"

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::align {

/// Where each module call and backward of one side stands in the script, from the first rank that knows it.
class CallSites {
public:
    /// `renames`: modules of the side -> in the reference's terms.
    CallSites(const Side& side, const std::map<std::string, std::string>& renames);

    /// "train.py:41"; empty if it is not known. `step` in the run's own numbering, `micros` of the pair's micro group.
    bundle::SharedText of(const PairKey& key, std::int32_t step, const std::vector<std::vector<std::int32_t>>& micros) const;

private:
    struct Site {
        std::int32_t step, micro, call;
        std::string_view module; ///< in the reference's terms
        bool operator==(const Site&) const = default;
    };
    struct SiteHash {
        std::uint64_t operator()(const Site& site) const;
    };

    std::deque<std::string> m_modules; ///< what m_sites views
    Numbering<Site, SiteHash> m_sites;
    std::vector<bundle::SharedText> m_sources; ///< by number
};

} // namespace forkpoint::align
