// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/bundle.h"
#include "core/bundle/open_files.h"
#include "core/bundle/rank_reader.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace forkpoint::bundle {

/// What lies at a path that somebody named.
struct FoundBundle {
    std::shared_ptr<BundleFiles> files; ///< whose root is the path
    bool single = false; ///< one rank's files, not a bundle's
    std::vector<RankPlace> ranks; ///< ascending
    std::vector<Problem> problems; ///< folders that are not read
};

/// Decides what `path`, `path`.forkpoint or `path`.forkpoint.zip is. Fails as Bundle::open does, and says what was found instead.
Result<FoundBundle> findBundle(const std::filesystem::path& path);

/// The bundle that is `path` itself, a folder or an archive; nullopt if it is something else, such as a folder of bundles. Fails as reading an
/// archive does.
Result<std::optional<FoundBundle>> bundleAt(const std::filesystem::path& path);

/// Names of what is called like a bundle (NAME.forkpoint, NAME.forkpoint.zip) in a folder, ascending; none if it cannot be listed.
std::vector<std::string> bundlesIn(const std::filesystem::path& folder);

/// What tells a bundle's launch from any other, run_id and attempt; empty if neither bundle.json nor the first rank says it.
std::string launchOf(const FoundBundle& part);

} // namespace forkpoint::bundle
