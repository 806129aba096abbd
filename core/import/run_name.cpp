// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/run_name.h"

#include <charconv>
#include <fmt/format.h>

namespace forkpoint::import {

namespace fs = std::filesystem;

Result<RunName> readRunName(std::string_view text)
{
    std::error_code ignored;
    const auto exists = [&](const std::string& path) { return fs::exists(fs::path(path), ignored); };
    const auto at = text.rfind('@');
    if (at == std::string_view::npos || at == 0 || exists(std::string(text)) || exists(std::string(text) + ".forkpoint")) {
        return RunName { fs::path(text), std::nullopt };
    }
    int rank = -1;
    const auto digits = text.substr(at + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (error != std::errc() || end != digits.data() + digits.size() || rank < 0) {
        return fail(ErrorCode::Usage, fmt::format("'{}' is no rank; write RUN@0 to compare one rank of a run", digits), std::string(text));
    }
    return RunName { fs::path(text.substr(0, at)), rank };
}

bool liesIn(const fs::path& output, std::string_view input)
{
    const auto name = readRunName(input);
    if (!name || output.empty()) {
        return false;
    }
    std::error_code error;
    const auto real = [&](const fs::path& path) { return fs::weakly_canonical(path, error); };
    const fs::path place = real(output);
    for (fs::path run : { name->path, fs::path(name->path.string() + ".forkpoint") }) {
        if (!fs::exists(run, error)) {
            continue;
        }
        if (fs::equivalent(output, run, error)) { // also by a second link to the file
            return true;
        }
        run = real(run);
        for (fs::path above = place; above.has_relative_path(); above = above.parent_path()) {
            if (above == run) {
                return true;
            }
        }
    }
    return false;
}

Result<const bundle::RankData*> recordedRank(const bundle::Bundle& run, int rank)
{
    if (const auto* data = run.rank(rank)) {
        return data;
    }
    std::string known;
    for (const auto& r : run.ranks()) {
        known += fmt::format("{}{}", known.empty() ? "" : ", ", r.rank);
    }
    return fail(ErrorCode::Usage, fmt::format("no rank {} in this run; recorded ranks: {}", rank, known), run.path().string());
}

} // namespace forkpoint::import
