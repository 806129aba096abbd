// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a user says of names that the ladder cannot match by itself: resources/schema/forkpoint-map-1.md describes the file.
namespace forkpoint::align {

/// NAME[#CALL][:SLOT], written as in a pair id: / # : @ % within names are percent-encoded.
struct TensorName {
    std::string name; ///< of a module, with everything below it, or of a parameter
    std::optional<std::int32_t> call;
    std::optional<std::string> slot;
    bool operator==(const TensorName&) const = default;
};

/// The first match of the pattern in a candidate's name is replaced; \1 to \9 stand for its groups.
struct NameRule {
    std::string candidate; ///< RE2 pattern
    std::string reference; ///< replacement
    int line = 0;          ///< in the file, 1-based; 0 if it was not read from one
};

struct ExactPair {
    TensorName reference, candidate;
    int line = 0;
};

/// Several tensors of one side make up one of the other, joined along a dim.
struct JoinRule {
    bool wholeInCandidate = true;
    std::string whole;              ///< RE2 pattern over the names of the side that has the whole
    std::vector<std::string> parts; ///< what the match becomes in the names of the parts, in order; at least two
    std::optional<std::int64_t> dim; ///< negative: from the end; nullopt: 0 of parameters and what belongs to them, the last of outputs
    std::int64_t blocks = 1;        ///< the whole consists of so many blocks along the dim, each with its share of every part
    int line = 0;
};

struct Mapping {
    std::string file; ///< as shown to the user
    std::optional<std::int32_t> stepOffset;
    std::vector<NameRule> names;  ///< the first that matches a name counts
    std::vector<ExactPair> pairs; ///< stronger than names; the longest that matches counts
    std::vector<JoinRule> joins;  ///< stronger than both
};

/// Fails with Corrupt (no JSON, with line and column) or Usage (an unknown or missing key, a wrong type, an invalid pattern, a name given twice);
/// the message names the key and its line.
Result<Mapping> parseMapping(std::string_view text, std::string file);

/// Fails as parseMapping, with NotFound or Unreadable, or with Usage for what is no mapping file by its size (4 MiB at most).
Result<Mapping> readMapping(const std::filesystem::path& path);

/// The file's text: parseMapping of it gives the same mapping, but for line numbers.
std::string mappingText(const Mapping& mapping);

/// Fails with Usage and the key's name without a file.
Result<TensorName> parseTensorName(std::string_view text);
std::string tensorNameText(const TensorName& name);

} // namespace forkpoint::align
