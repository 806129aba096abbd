// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/bundle.h"

#include <filesystem>
#include <optional>
#include <string_view>

namespace forkpoint::import {

/// RUN, or RUN@RANK for one rank of it.
struct RunName {
    std::filesystem::path path;
    std::optional<int> rank;
};

/// Takes RUN@RANK apart. A path that exists with its '@', as it stands or with the suffix of a bundle, wins over a rank. Usage if what stands
/// behind the '@' is no number.
Result<RunName> readRunName(std::string_view text);

/// True if `output` is what `input` names (RUN, RUN@RANK, a file), or lies in it: writing there would change what is read.
bool liesIn(const std::filesystem::path& output, std::string_view input);

/// The records of one rank; Usage, naming the ranks there are.
Result<const bundle::RankData*> recordedRank(const bundle::Bundle& run, int rank);

} // namespace forkpoint::import
