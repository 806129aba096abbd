// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/bundle/record.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the name of a dumped file says: hook_layers.0_rank1.pt is the output of layers.0 on rank 1.
namespace forkpoint::import {

struct FileName {
    std::string name;                  ///< of the layer or of whatever the file is about; may be empty
    std::optional<int> rank, step;
    std::optional<bundle::Kind> kind;  ///< Output for hook_..., Grad for grad_...
};

/// A pattern that the user gave: text with {layer} (or {name}), {rank} (or {r}), {step}, and * for anything. One with a '/' is matched against
/// the path below the folder, others against the file's name; a suffix (.pt) may be left out.
class NamePattern {
public:
    /// Usage if it has an unknown or repeated field, or no end to one.
    static Result<NamePattern> parse(std::string_view text);

    /// nullopt if the path does not match: the file is not one that is meant.
    std::optional<FileName> match(std::string_view path) const;

private:
    struct Token {
        enum class Type { Text, Layer, Rank, Step, Any };
        Type type = Type::Text;
        std::string text;
    };
    bool matchFrom(std::size_t token, std::string_view rest, FileName& out, int& steps) const;
    std::vector<Token> m_tokens;
    bool m_wholePath = false, m_suffix = false;
};

/// What is understood without a pattern: rankN, stepN and iterN anywhere in the path, set apart from the name by '_', '-', '.', '=' or nothing;
/// hook_ and grad_ in front. The rest of the file's name, without its suffix, is the name.
FileName readName(std::string_view path);

/// Orders names as people do: layers.2 before layers.10.
bool naturalLess(std::string_view a, std::string_view b);

} // namespace forkpoint::import
