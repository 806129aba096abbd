// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress_steps.h"
#include "core/bundle/bundle.h"
#include "core/bundle/open_files.h"
#include "core/bundle/read_lines.h"

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace forkpoint::bundle {

/// Where one rank's files lie.
struct RankPlace {
    std::filesystem::path folder;
    std::string prefix; ///< of file names in problems: "rank00001", or empty for a rank that was opened alone
    int rank = -1;      ///< by the folder's name; -1 if rank.json decides
};

/// What one rank's folder gave.
struct RankResult {
    std::optional<RankData> data;
    std::optional<Error> refusal; ///< why there is no data
    std::vector<Problem> problems;
};

inline constexpr std::uint64_t kRankUnits = 1000; ///< progress of one rank

/// Reads one rank's folder: all its metadata, and of the files of bytes their sizes. Safe to call for several ranks at once.
RankResult readRank(BundleFiles& files, LineContexts& contexts, const RankPlace& place, std::stop_token stop, ProgressSteps& progress);

} // namespace forkpoint::bundle
