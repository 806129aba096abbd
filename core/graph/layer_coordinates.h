// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/proper_layers.h"

#include <vector>

// Step 5 of the layered layout: where each vertex lies from left to right.
namespace forkpoint::graph::layered {

/// The middle of each vertex. Keeps the order of each layer and the gaps between neighbours; the leftmost extent is at 0.
std::vector<double> horizontalCoordinates(const ProperGraph& graph, double nodeGap, double laneGap, const std::stop_token& stop);

} // namespace forkpoint::graph::layered
