// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"

#include <optional>
#include <string>
#include <vector>

// Scalar series of two runs laid over each other.
namespace forkpoint::curves {

struct Point {
    std::int32_t step = 0; ///< in A's numbering
    double value = 0;
};

/// One scalar of both runs.
struct Overlay {
    std::string name;
    std::vector<Point> a, b; ///< ascending steps
    std::optional<std::int32_t> onset; ///< first step from which the runs differ; only for the loss of whole runs
    bool wholeRun = true; ///< false: a single rank's log, which sets no onset
    align::SideWeights weightsA, weightsB; ///< the loss: how ranks and micro-steps were combined
};

/// The loss of the whole (parts weighted as the alignment found them to add up) first, then every other scalar of the first rank, by name.
/// `lossFloor`: relative difference that rounding explains (diagnose's floor of the loss); the onset is the first step beyond 100 of it, or
/// with a non-finite value on one side only.
std::vector<Overlay> overlay(const align::Alignment& alignment, double lossFloor);

} // namespace forkpoint::curves
