// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/bundle.h"
#include "core/import/open_run.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::align {

/// One side of a comparison: a whole run, or one rank of it.
struct Side {
    std::shared_ptr<const bundle::Bundle> bundle;
    std::vector<const bundle::RankData*> ranks; ///< ascending; the ones that were recorded
    std::string label;                          ///< run name, "ddp2@1" for one rank
    std::vector<std::shared_ptr<const bundle::RankData>> copies; ///< those of `ranks` whose modules were given other names than were recorded

    static Side whole(std::shared_ptr<const bundle::Bundle> bundle);
    /// Fails with Usage, naming the ranks there are.
    static Result<Side> oneRank(std::shared_ptr<const bundle::Bundle> bundle, int rank);
};

/// Opens RUN or RUN@RANK, where RUN is whatever import::openRun opens. A path that exists with its '@', as it stands or with the suffix of a
/// bundle, wins over a rank.
Result<Side> openSide(std::string_view text, Progress* progress = nullptr, std::stop_token stop = {}, const import::OpenOptions& options = {});

} // namespace forkpoint::align
