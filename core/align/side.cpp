// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/side.h"

#include "core/import/run_name.h"

#include <fmt/format.h>

namespace forkpoint::align {

Side Side::whole(std::shared_ptr<const bundle::Bundle> bundle)
{
    Side side;
    side.label = bundle->name();
    for (const auto& rank : bundle->ranks()) {
        side.ranks.push_back(&rank);
    }
    side.bundle = std::move(bundle);
    return side;
}

Result<Side> Side::oneRank(std::shared_ptr<const bundle::Bundle> bundle, int rank)
{
    const auto data = import::recordedRank(*bundle, rank);
    if (!data) {
        return tl::unexpected(data.error());
    }
    Side side;
    side.label = fmt::format("{}@{}", bundle->name(), rank);
    side.ranks = { *data };
    side.bundle = std::move(bundle);
    return side;
}

Result<Side> openSide(std::string_view text, Progress* progress, std::stop_token stop, const import::OpenOptions& options)
{
    const auto name = import::readRunName(text);
    if (!name) {
        return tl::unexpected(name.error());
    }
    auto bundle = import::openRun(name->path, options, progress, stop);
    if (!bundle) {
        return tl::unexpected(bundle.error());
    }
    return name->rank ? Side::oneRank(std::move(*bundle), *name->rank) : Result<Side>(Side::whole(std::move(*bundle)));
}

} // namespace forkpoint::align
