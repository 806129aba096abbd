// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/open_files.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace forkpoint::bundle {

/// The files of a run whose nodes had no disk in common: each left a bundle of its own ranks, and they lie in one folder. A rank's folder is
/// that of its part; bundle.json is that of the first part.
class JoinedFiles final : public BundleFiles {
public:
    /// `parts`: at least one, directly in `root`.
    JoinedFiles(std::filesystem::path root, std::vector<std::shared_ptr<BundleFiles>> parts);
    Result<std::vector<Entry>> entries(const std::filesystem::path& folder) const override; ///< of the root: of the first part
    Result<OpenFilePtr> open(const std::filesystem::path& folder, const std::string& name) override;

private:
    const std::shared_ptr<BundleFiles>* partOf(const std::filesystem::path& folder) const; ///< null if none has it

    std::vector<std::shared_ptr<BundleFiles>> m_parts;
};

} // namespace forkpoint::bundle
