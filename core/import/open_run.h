// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/bundle/bundle.h"

#include <filesystem>
#include <stop_token>
#include <string>

namespace forkpoint::import {

struct OpenOptions {
    std::string pattern; ///< of file names, as NamePattern; empty: what readName understands
};

/// Opens whatever a user points at, by its content: a bundle, or one rank's folder of it; a single file of tensors; a folder of such files, up to
/// three levels deep. Files become a bundle in memory:
///
///   a dict by names (a state_dict, safetensors, npz)   start/param, keys joined by "."; "state_dict", "model" and the like on top are left out
///   one tensor, a list, {"layer", "tensor"}            forward/output of the layer, or of what the file is called
///   files called grad_...                              backward/grad
///
/// A folder's files have rank and step by their names; a single file is rank 0, step 0. Fails as Bundle::open does, and with Truncated, Corrupt
/// or Unsupported if a single file, or every file of a folder, cannot be read. Files of a folder that cannot be read are Problems.
Result<std::shared_ptr<const bundle::Bundle>> openRun(const std::filesystem::path& path, const OpenOptions& options = {}, Progress* progress = nullptr,
                                                      std::stop_token stop = {});

} // namespace forkpoint::import
