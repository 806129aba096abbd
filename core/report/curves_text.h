// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/curves/compare_series.h"
#include "core/report/text_report.h"

#include <string>

namespace forkpoint::report {

/// Two logs for a terminal: where each curve parts, how far they get apart, what one side only has, the notes.
std::string curvesText(const curves::SeriesComparison& comparison, const TextOptions& options);

} // namespace forkpoint::report
