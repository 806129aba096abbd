// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/bundle.h"
#include "core/compare/comparison.h"

#include <string>

namespace forkpoint::report {

struct TextOptions {
    int width = 100;      ///< columns; long names are shortened in the middle
    bool colour = false;  ///< ANSI escapes
    int around = 6;       ///< pairs shown before and after the fork
};

/// The finished comparison for a terminal: verdict, runs, coverage, gates, the fork with its numbers, the pairs around it in execution
/// order, differences of configuration and environment, notes.
std::string textReport(const compare::Snapshot& comparison, const TextOptions& options);

/// What a bundle holds: `info`.
std::string bundleText(const bundle::Bundle& bundle, const TextOptions& options);

/// Where a portable comparison comes from, in one line.
std::string originText(const compare::KeptTensors& kept);

/// What a portable comparison holds, in a few lines; `comparison` was opened from one (Structure::kept).
std::string portableText(const compare::Snapshot& comparison, const TextOptions& options);

} // namespace forkpoint::report
