// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/curves/overlay.h"
#include "core/import/series.h"

#include <optional>
#include <vector>

namespace forkpoint::curves {

/// Two logged curves of one name, and how far they are apart where both have a value.
struct SeriesOverlay {
    Overlay curve;                     ///< onset: the first common step that differs
    std::string nameB;                 ///< of the curve in B, where it is another one
    std::size_t common = 0;            ///< steps on both sides
    double largest = 0;                ///< largest relative difference |b - a| / max(|a|, |b|) over these, of finite values
    std::optional<std::int32_t> at;    ///< its step
};

/// The relative difference that is taken for one unless the user says otherwise: 100 times the rounding floor of float32, as for recorded losses.
inline constexpr double kSeriesTolerance = 1.9e-4;

/// The value at exactly this step.
std::optional<double> valueAt(const std::vector<Point>& points, std::int32_t step);

/// All curves of both files, losses first, then by name. Names are equal, or their last parts are and nothing else has it: "train/loss" is "loss",
/// and the name is A's. Values differ if |b - a| exceeds `tolerance` of the larger one and one unit in the last
/// digit that each side wrote, or if one only is finite.
std::vector<SeriesOverlay> overlay(const import::SeriesFile& a, const import::SeriesFile& b, double tolerance = kSeriesTolerance);

} // namespace forkpoint::curves
