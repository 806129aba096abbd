// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/curves/series_overlay.h"
#include "core/report/text_report.h"

#include <string>
#include <vector>

namespace forkpoint::report {

/// Two files of logged numbers for a terminal: where each curve parts, how far they get apart, what one side only has, the notes.
std::string curvesText(const import::SeriesFile& a, const import::SeriesFile& b, const std::vector<curves::SeriesOverlay>& overlays, double tolerance,
                       const TextOptions& options);

} // namespace forkpoint::report
