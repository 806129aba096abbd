// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/names.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::align {

/// What the user says of the placement of tensors, instead of what was recorded or would be guessed.
struct PlacementRule {
    std::string text;                  ///< as given
    bool forA = true, forB = true;
    std::string pattern;               ///< over whole names; * stands for any characters, ? for one
    std::optional<bundle::Kind> kind;  ///< nullopt: parameters and buffers, their gradients and optimizer state
    std::vector<bundle::Placement> placement;

    /// `name` is joinName(module, param); a pattern that matches the module of a parameter is about the parameter too.
    bool matches(const PairKey& key, bool ofA) const;
};

/// [reference:|candidate:]PATTERN[/KIND]=PLACEMENT[@AXIS][,PLACEMENT[@AXIS]...], where a placement is replicate, shard(DIM), partial(sum) or
/// partial(mean). Fails with Usage, saying what is wrong.
Result<PlacementRule> parsePlacementRule(std::string_view text);

/// True if `pattern` with * and ? matches all of `text`.
bool globMatches(std::string_view pattern, std::string_view text);

} // namespace forkpoint::align
