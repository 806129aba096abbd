// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/compare/open_runs.h"

#include <array>
#include <fmt/format.h>
#include <oneapi/tbb/parallel_invoke.h>

namespace forkpoint::compare {

namespace {

/// One side, tried as a run or tensors first and as a log where that may help.
struct Tried {
    const std::string& name;
    Result<align::Side> run = fail(ErrorCode::NotABundle, {});
    Result<import::SeriesFile> log = fail(ErrorCode::NotABundle, {});
};

template <class T> bool isSomethingElse(const Result<T>& result) { return !result && result.error().code == ErrorCode::NotABundle; }

/// Why the two are no logs that can be compared; nullopt if they are.
std::optional<Error> refusal(const std::array<Tried, 2>& sides)
{
    for (const auto& side : sides) {
        if (!side.run && isSomethingElse(side.log)) {
            return Error { ErrorCode::NotABundle, fmt::format("is neither a run nor tensors ({}), and no log either ({})", side.run.error().message,
                side.log.error().message), side.name };
        }
        if (!side.run && !side.log) {
            return side.log.error();
        }
    }
    for (const auto& side : sides) { // one is a log; the other one may be a run
        if (isSomethingElse(side.log)) {
            const auto& other = &side == &sides[0] ? sides[1] : sides[0];
            return Error { ErrorCode::Usage, fmt::format("{} is a log ({}) and {} holds tensors: they have nothing in common to compare. Open two logs, a log "
                "and a recorded run, or the tensors of both runs", other.name, other.log->format, side.name), {} };
        }
        if (!side.log) {
            return side.log.error();
        }
    }
    return std::nullopt;
}

Result<Opened> openLogs(std::array<Tried, 2> sides, const std::string& noise, const std::stop_token& stop)
{
    for (auto& side : sides) {
        side.log = import::openSeries(side.name, stop);
    }
    if (auto error = refusal(sides)) {
        return tl::unexpected(std::move(*error));
    }
    if (!noise.empty()) {
        return fail(ErrorCode::Usage, "a noise run measures the rounding of tensors: logs are compared without one", noise);
    }
    return curves::compareSeries(std::move(*sides[0].log), std::move(*sides[1].log)).map([](auto&& both) { return Opened(std::move(both)); });
}

std::array<Tried, 2> tryRuns(const RunNames& names, const SideOpened& opened, Progress* progress, const std::stop_token& stop)
{
    const auto open = [&](const std::string& name, bool isReference) {
        auto side = align::openSide(name, progress, stop, names.files);
        if (side && opened) {
            opened(*side, isReference);
        }
        return side;
    };
    std::array<Tried, 2> sides { { { names.a }, { names.b } } };
    // Listing folders and naming tensors keep one processor busy for each.
    oneapi::tbb::parallel_invoke([&] { sides[0].run = open(names.a, true); }, [&] { sides[1].run = open(names.b, false); });
    return sides;
}

/// The two sides, of which both are runs, and the noise run.
Result<OpenedRuns> withNoise(std::array<Tried, 2> sides, const RunNames& names, Progress* progress, const std::stop_token& stop)
{
    OpenedRuns runs { std::move(*sides[0].run), std::move(*sides[1].run), std::nullopt };
    if (!names.noise.empty()) {
        auto noise = align::openSide(names.noise, progress, stop, names.files);
        if (!noise) {
            return tl::unexpected(noise.error());
        }
        runs.noise = std::move(*noise);
    }
    return runs;
}

} // namespace

Result<OpenedRuns> openRuns(const RunNames& names, const SideOpened& opened, Progress* progress, const std::stop_token& stop)
{
    auto sides = tryRuns(names, opened, progress, stop);
    for (const auto& side : sides) {
        if (!side.run) {
            return tl::unexpected(side.run.error());
        }
    }
    return withNoise(std::move(sides), names, progress, stop);
}

Result<Opened> openRunsOrLogs(const RunNames& names, const SideOpened& opened, Progress* progress, const std::stop_token& stop)
{
    auto sides = tryRuns(names, opened, progress, stop);
    for (const auto& side : sides) {
        if (!side.run && !isSomethingElse(side.run)) {
            return tl::unexpected(side.run.error());
        }
    }
    if (!sides[0].run || !sides[1].run) {
        return openLogs(std::move(sides), names.noise, stop);
    }
    return withNoise(std::move(sides), names, progress, stop).map([](auto&& runs) { return Opened(std::move(runs)); });
}

} // namespace forkpoint::compare
