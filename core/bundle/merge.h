// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/bundle/bundle.h"

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <vector>

// Nodes without a shared disk leave one bundle each, with the ranks that ran there. Opening the folder that holds them reads them as one run;
// this makes one bundle of them, to keep and to hand on.
namespace forkpoint::bundle {

struct MergeOptions {
    bool overwrite = false; ///< replace a bundle that lies at `out`
};

struct MergedPart {
    std::filesystem::path path;
    std::vector<int> ranks; ///< ascending
};

struct Merged {
    std::filesystem::path path;    ///< with its suffix
    std::vector<MergedPart> parts; ///< in the order in which they were named
    std::vector<int> ranks;        ///< ascending
    int worldSize = 0;             ///< as launched
    std::uint64_t bytes = 0;
    std::vector<Problem> problems; ///< what was no part of a bundle and stayed behind; then what a reader finds in the result, missing ranks among it
};

/// Copies the rank folders of `inputs` into one bundle at `out`.forkpoint. An input is a bundle (as for Bundle::open, an archive too) or a
/// folder of bundles. Everything is copied byte for byte, no link is followed, the inputs stay as they are; bundle.json is that of the first
/// input that has one. The result appears in one step when it is complete: a temporary folder beside it holds it until then.
///
/// Fails with Usage if two inputs have the same rank, are of different launches or do not say of which, or an input is one rank's folder;
/// Corrupt if something would be lost: a rank that the reader would not read, a link; Exists if something lies at `out` and is not to be
/// replaced, or is no bundle; WriteFailed; Cancelled; or as Bundle::open does. Then nothing has changed.
Result<Merged> mergeBundles(const std::filesystem::path& out, const std::vector<std::filesystem::path>& inputs, const MergeOptions& options = {},
                            Progress* progress = nullptr, std::stop_token stop = {});

} // namespace forkpoint::bundle
