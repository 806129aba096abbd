// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Published colour maps as 256 sRGB colours 0xRRGGBB, from low to high. Data, not code; both were given to the public domain (CC0).
namespace forkpoint::heatmap {

/// N. J. Smith, S. van der Walt, E. Firing: viridis, 2015.
extern const std::uint32_t kViridis[256];
/// J. R. Nunez, C. R. Anderton, R. S. Renslow: Optimizing colormaps with consideration for color vision deficiency to enable accurate
/// interpretation of scientific data, PLoS ONE 13(7), 2018, doi:10.1371/journal.pone.0199239.
extern const std::uint32_t kCividis[256];

} // namespace forkpoint::heatmap
