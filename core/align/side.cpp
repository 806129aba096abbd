// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/side.h"

#include <charconv>
#include <filesystem>
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
    const auto* data = bundle->rank(rank);
    if (!data) {
        std::string known;
        for (const auto& r : bundle->ranks()) {
            known += fmt::format("{}{}", known.empty() ? "" : ", ", r.rank);
        }
        return fail(ErrorCode::Usage, fmt::format("no rank {} in this run; recorded ranks: {}", rank, known), bundle->path().string());
    }
    Side side;
    side.label = fmt::format("{}@{}", bundle->name(), rank);
    side.ranks = { data };
    side.bundle = std::move(bundle);
    return side;
}

Result<Side> openSide(std::string_view text, Progress* progress, std::stop_token stop, const import::OpenOptions& options)
{
    std::error_code ignored;
    const auto exists = [&](const std::string& path) { return std::filesystem::exists(std::filesystem::path(path), ignored); };
    const auto at = text.rfind('@');
    int rank = -1;
    if (at != std::string_view::npos && at > 0 && !exists(std::string(text)) && !exists(std::string(text) + ".forkpoint")) {
        const auto digits = text.substr(at + 1);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
        if (error != std::errc() || end != digits.data() + digits.size() || rank < 0) {
            return fail(ErrorCode::Usage, fmt::format("'{}' is no rank; write RUN@0 to compare one rank of a run", digits), std::string(text));
        }
        text = text.substr(0, at);
    }
    auto bundle = import::openRun(std::filesystem::path(text), options, progress, stop);
    if (!bundle) {
        return tl::unexpected(bundle.error());
    }
    return rank < 0 ? Result<Side>(Side::whole(std::move(*bundle))) : Side::oneRank(std::move(*bundle), rank);
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
