// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/side.h"

#include "core/import/run_name.h"

#include <fmt/format.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <optional>

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

Result<std::pair<Side, Side>> openSides(std::string_view reference, std::string_view candidate, Progress* progress, std::stop_token stop,
                                        const import::OpenOptions& options)
{
    std::optional<Result<Side>> a, b;
    oneapi::tbb::parallel_invoke([&] { a = openSide(reference, progress, stop, options); }, [&] { b = openSide(candidate, progress, stop, options); });
    if (!*a) {
        return tl::unexpected(a->error());
    }
    if (!*b) {
        return tl::unexpected(b->error());
    }
    return std::pair(std::move(**a), std::move(**b));
}

} // namespace forkpoint::align
