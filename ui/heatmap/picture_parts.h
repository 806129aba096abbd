// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/slice.h"
#include "ui/heatmap/heatmap_canvas.h"
#include "ui/heatmap/part_map.h"

namespace forkpoint::ui {

/// A side's parts as they lie on a slice. Parts along a dim that is not on the picture, or of a line that is folded, have no place on it;
/// so have those of an inner dim of a merged axis where that would give more than 512 lines.
std::vector<PartLines> partLines(const align::Assembly& assembly, const heatmap::Slice& slice, bool ofB);

} // namespace forkpoint::ui
