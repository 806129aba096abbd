// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side.h"
#include "core/curves/compare_series.h"

#include <functional>
#include <optional>
#include <string>
#include <variant>

namespace forkpoint::compare {

/// What is compared, as people write it: RUN or RUN@RANK, files and folders of tensors, logs.
struct RunNames {
    std::string a, b;
    std::string noise; ///< the reference recorded again; empty: none
    import::OpenOptions files = {};
};

/// Runs or tensors, ready for compare().
struct OpenedRuns {
    align::Side a, b;
    std::optional<align::Side> noise;
};

using SideOpened = std::function<void(const align::Side&, bool isReference)>;

/// Opens both sides at a time. `opened` is told of each, from any thread, also where the other one fails. Fails as align::openSide does, with the
/// reference's error first.
Result<OpenedRuns> openRuns(const RunNames& names, const SideOpened& opened = {}, Progress* progress = nullptr, const std::stop_token& stop = {});

using Opened = std::variant<OpenedRuns, curves::SeriesComparison>;

/// The same by content: as runs or tensors if both are, else both as logs (one of them may be a recorded run). Fails as openRuns or
/// import::openSeries does for the side at fault; NotABundle if a side is neither (says why not either); Usage for a log against tensors, and for a
/// noise run beside logs.
Result<Opened> openRunsOrLogs(const RunNames& names, const SideOpened& opened = {}, Progress* progress = nullptr, const std::stop_token& stop = {});

} // namespace forkpoint::compare
