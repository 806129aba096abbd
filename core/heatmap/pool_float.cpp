// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/pool.h"

namespace forkpoint::heatmap {

template void poolBlock(const SliceBlock&, const Slice&, unsigned, int, int, const Tolerance&, const CellPlanes<float>&, Counts&, Instructions);

} // namespace forkpoint::heatmap
