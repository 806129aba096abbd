// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/bundle/record.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

namespace forkpoint::bundle {

/// Writes one rank's folder of a bundle by the rules of FORMAT.md section 1: bytes first, then the record; equal bytes once; metadata by
/// temporary file and rename. Used by tests, and by whatever converts other people's dumps.
class RankWriter {
public:
    /// Creates `bundleFolder` if needed and `rankNNNNN` in it; fails with Exists if that rank is there already.
    static Result<RankWriter> create(const std::filesystem::path& bundleFolder, int rank);
    RankWriter(RankWriter&&) noexcept;
    RankWriter& operator=(RankWriter&&) noexcept;
    ~RankWriter();

    /// Appends a tensor. `record.id`, `digest`, `stats` and `bytes` are filled in here (id counts up); `bytes` must be elements x item
    /// size, or empty for a record without bytes, which keeps the `digest` and `stats` it came with (a digest is required unless
    /// `notObserved`). `record.bytes->codec`, `filter`, `frameSize`, if present, choose the storage. Complex tensors get no stats. Fails
    /// with Usage for a record that the format has no place for, WriteFailed; after WriteFailed nothing more is written.
    Result<void> tensor(TensorRecord record, std::span<const std::byte> bytes);
    Result<void> call(const CallRecord& call);
    Result<void> module(const ModuleRecord& module);
    Result<void> backward(const BackwardRecord& backward);
    Result<void> edge(const EdgeRecord& edge);
    Result<void> tie(const std::vector<std::string>& names);
    Result<void> scalar(const ScalarRecord& scalar);
    Result<void> info(const nlohmann::json& rankJson); ///< rank.json, replaced; `format`, `version`, `rank` are filled in if absent

private:
    struct State;
    explicit RankWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> m_state;
};

/// bundle.json, by temporary file and rename; `format` and `version` are filled in if absent.
Result<void> writeBundleInfo(const std::filesystem::path& bundleFolder, const nlohmann::json& info);

} // namespace forkpoint::bundle
