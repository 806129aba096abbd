// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/bundle.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What bundle.json and rank.json say in few words: which format and version, and single values.
namespace forkpoint::bundle {

inline constexpr int kMaxWorld = 1 << 20; ///< beyond any cluster; keeps code that has an entry per rank from believing a lie

/// The text of a key; empty if it is missing or no text.
std::string textOf(const nlohmann::json& object, const char* key);

/// An integer within [min, max], however it is stored.
std::optional<int> intOf(const nlohmann::json& value, int min, int max);

/// Checks `format` and `version` of bundle.json or rank.json. An error if the file must be refused; problems of keys that are missing.
Result<void> checkFormat(const nlohmann::json& document, std::string_view expected, const std::string& where, std::vector<Problem>& problems);

} // namespace forkpoint::bundle
