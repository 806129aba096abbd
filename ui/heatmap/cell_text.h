// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/pyramid.h"

#include <QFontMetrics>
#include <QString>

#include <cstdint>

namespace forkpoint::ui {

/// What a cell of one element says in a mode, with as many digits as fit `width` pixels; an ellipsis where not even one does. `value` and
/// `flags` as Pyramid::region gives them.
QString cellText(heatmap::Mode mode, double value, std::uint16_t flags, const QFontMetrics& metrics, int width);

} // namespace forkpoint::ui
