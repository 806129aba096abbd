// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/bundle.h"
#include "core/bundle/open_files.h"
#include "core/bundle/rank_reader.h"

#include <filesystem>
#include <memory>
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

} // namespace forkpoint::bundle
