// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/curves/compare_series.h"

#include "core/bundle/problem_log.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace forkpoint::curves {

namespace {

std::string namesOf(const import::SeriesFile& file)
{
    constexpr std::size_t kShown = 8;
    std::string out;
    std::size_t shown = 0;
    for (const auto& [name, series] : file.series) {
        if (shown++ == kShown) {
            return out + ", ...";
        }
        out += (out.empty() ? "" : ", ") + bundle::shownText(name);
    }
    return out;
}

SeriesSource sourceOf(import::SeriesFile& file) { return { std::move(file.name), std::move(file.format), file.series.size(), std::move(file.notes) }; }

std::size_t count(const std::vector<SeriesOverlay>& overlays, bool (*which)(const SeriesOverlay&))
{
    return static_cast<std::size_t>(std::count_if(overlays.begin(), overlays.end(), which));
}

} // namespace

bool SeriesComparison::differs() const { return departing() > 0; }

std::size_t SeriesComparison::common() const
{
    return count(overlays, [](const SeriesOverlay& it) { return it.common > 0; });
}

std::size_t SeriesComparison::departing() const
{
    return count(overlays, [](const SeriesOverlay& it) { return it.curve.onset.has_value(); });
}

const SeriesOverlay& SeriesComparison::telling() const
{
    // By onset, then as they stand; curves that never depart come after all others, and those without a common step last.
    return *std::min_element(overlays.begin(), overlays.end(), [](const SeriesOverlay& x, const SeriesOverlay& y) {
        const auto key = [](const SeriesOverlay& it) { return std::tuple(!it.curve.onset, it.curve.onset.value_or(0), it.common == 0); };
        return key(x) < key(y);
    });
}

Result<SeriesComparison> compareSeries(import::SeriesFile a, import::SeriesFile b, double tolerance)
{
    SeriesComparison out;
    out.overlays = overlay(a, b, tolerance);
    out.tolerance = tolerance;
    if (out.common() == 0) {
        return fail(ErrorCode::Usage, fmt::format("no curve of one name has a step in common (reference: {}; candidate: {})", namesOf(a), namesOf(b)));
    }
    out.a = sourceOf(a);
    out.b = sourceOf(b);
    return out;
}

Result<SeriesComparison> compareSeries(const std::filesystem::path& pathA, const std::filesystem::path& pathB, double tolerance, std::stop_token stop)
{
    auto a = import::openSeries(pathA, stop);
    if (!a) {
        return tl::unexpected(a.error());
    }
    auto b = import::openSeries(pathB, stop);
    if (!b) {
        return tl::unexpected(b.error());
    }
    return compareSeries(std::move(*a), std::move(*b), tolerance);
}

} // namespace forkpoint::curves
