// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/visible_layout.h"

#include <span>
#include <string>
#include <vector>

// Layouts as text, so that a test can show what it expects: a cell is 8 x 16.
namespace forkpoint::test {

inline constexpr double kCellWidth = 8, kCellHeight = 16;

/// Gaps of whole cells: two rows between layers.
graph::LayoutOptions pictureOptions();
graph::FrameStyle pictureStyle();

/// A node whose picture is [name].
graph::LayoutNode pictureNode(const std::string& name, graph::Pin pin = graph::Pin::None);

/// Each line starts at a margin and has no blanks at its end; the picture starts and ends with a line break, as a raw string does.
std::string picture(const graph::LayeredLayout& layout, const std::vector<std::string>& names);
std::string picture(const graph::VisibleLayout& layout, const graph::VisibleGraph& graph, const std::vector<std::string>& names);

} // namespace forkpoint::test
