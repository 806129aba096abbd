// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/bundle/open_files.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// bundle.json and rank.json: small documents, kept as they are.
namespace forkpoint::bundle {

/// A text as one JSON object. Corrupt (no JSON, not UTF-8, no object, nested too deep for code that walks it recursively), or Unreadable for
/// want of memory. `label` is for messages.
Result<nlohmann::json> parseDocument(std::string_view text, const std::string& label);

/// Reads a whole file as one JSON object. Corrupt as above or if it is larger than any such file should be, or as openFile.
Result<nlohmann::json> readDocument(const OpenFile& file);

/// Writes `document` to `path` by a temporary file beside it and a rename. Numbers that are not finite become strings. WriteFailed, Usage
/// if a text in it is not UTF-8.
Result<void> writeDocument(const std::filesystem::path& path, const nlohmann::json& document);

} // namespace forkpoint::bundle
