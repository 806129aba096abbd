// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/pyramid.h"
#include "core/heatmap/render.h"
#include "ui/session/session.h"

#include <QString>

#include <optional>

// What the heatmap says.
namespace forkpoint::ui {

QString modeWord(heatmap::Mode mode);       ///< on its button
QString modeName(heatmap::Mode mode);       ///< in captions
QString modeDefinition(heatmap::Mode mode, const heatmap::PyramidOptions& options); ///< exact
QString colourMapWord(heatmap::ColourMap map);
QString scaleWord(heatmap::RangeScale scale);
QString rangeText(const heatmap::Normalisation& range);          ///< "1e-6 to 0.044, log"
QString indexText(const std::vector<std::int64_t>& index);       ///< "[3, 17]", "scalar" for none
QString axesText(const Shape& shape, const heatmap::SliceAxes& axes); ///< "rows dim 0, columns dim 1, dim 2 at 5"

/// Why there is nothing to show of the selected pair, and what to do; empty if its tensors can be opened.
QString whyNothing(const Session& session);
QString whyUnreadable(const Error& error);

/// A range as text for the clipboard, and back; C numbers, so that it can be pasted anywhere. nullopt: no range.
QString rangeToText(const heatmap::ValueRange& range);
std::optional<heatmap::ValueRange> rangeFromText(const QString& text);

/// An index or a flat index as typed: "12, 77", "[12 77]", "1613". nullopt and `problem` in words if it is none of the shape's.
std::optional<std::vector<std::int64_t>> indexFromText(const QString& text, const Shape& shape, QString& problem);

} // namespace forkpoint::ui
