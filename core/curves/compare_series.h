// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/curves/series_overlay.h"

#include <stop_token>

// Two logs laid over each other: what `forkpoint-cli curves` prints and the window shows where no run was recorded.
namespace forkpoint::curves {

/// Where the numbers of one side came from. The numbers themselves are in the overlays.
struct SeriesSource {
    std::string name;               ///< of the file or folder
    std::string format;             ///< "CSV", "TensorBoard events", ...
    std::size_t curves = 0;
    std::vector<std::string> notes; ///< what was left out or had to be guessed
};

struct SeriesComparison {
    SeriesSource a, b;
    std::vector<SeriesOverlay> overlays; ///< losses first, then by name; at least one has a common step
    double tolerance = kSeriesTolerance;

    bool differs() const;
    std::size_t common() const;    ///< curves with a common step
    std::size_t departing() const; ///< of these, those that differ

    /// The curve that a sentence is about: the one that departs first (of equal onsets the one that stands first, so a loss); if none departs, the
    /// first with a common step.
    const SeriesOverlay& telling() const;
};

/// Lays two logs over each other. Usage if no curve of one name has a common step; says which curves there are.
Result<SeriesComparison> compareSeries(import::SeriesFile a, import::SeriesFile b, double tolerance = kSeriesTolerance);

/// The same of files: fails as import::openSeries does, too.
Result<SeriesComparison> compareSeries(const std::filesystem::path& a, const std::filesystem::path& b, double tolerance = kSeriesTolerance,
                                       std::stop_token stop = {});

} // namespace forkpoint::curves
