// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/proper_layers.h"

// Step 4 of the layered layout: the order of the vertices within each layer.
namespace forkpoint::graph::layered {

/// Pairs of edge pieces that cross between neighbouring layers, attachment points included.
std::size_t countCrossings(const ProperGraph& graph);

/// Reorders each layer so that fewer edges cross; never makes it worse. Returns the number of crossings left.
std::size_t reduceCrossings(ProperGraph& graph, int sweeps, const std::stop_token& stop);

} // namespace forkpoint::graph::layered
