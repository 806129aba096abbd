// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/align/alignment.h"
#include "core/curves/compare_series.h"
#include "ui/curves/curve_data.h"

#include <QString>
#include <QStringList>

// What the curves view says in words. Names out of bundles are plain text, never markup.
namespace forkpoint::ui {

/// How a side's value of a step was made of its ranks and micro-steps: "mean over 2 ranks".
QString combinationWords(const align::Side& side, const align::SideWeights& weights);

/// One line about what the curve is, and the long form for a tooltip (rich text, names escaped).
QString curveDefinition(const curves::Overlay& overlay, const align::Alignment& alignment);
QString curveDefinitionToolTip(const curves::Overlay& overlay, const align::Alignment& alignment);

// The same of a curve of two logs.
QString curveDefinition(const curves::SeriesOverlay& overlay, const curves::SeriesComparison& logs);
QString curveDefinitionToolTip(const curves::SeriesOverlay& overlay, const curves::SeriesComparison& logs);

/// What a reader must know to read the plot right: no onset, and of what.
QStringList onsetNotes(const curves::Overlay& overlay, const PlottedCurve& curve);
QStringList onsetNotes(const curves::SeriesOverlay& overlay, const curves::SeriesComparison& logs);

/// Likewise: what one side lacks, hidden points, gaps.
QStringList curveNotes(const curves::Overlay& overlay, const PlottedCurve& curve, const CurveOptions& options);

/// "A 2.315, B 2.401, B - A 0.086, relative 0.0358" at a step.
struct CurveReadout {
    std::int32_t step = 0;
    QString a, b, difference, relative; ///< values in words; empty where there is none
    QString text() const;
};
CurveReadout readoutAt(const curves::Overlay& overlay, std::int32_t step);

} // namespace forkpoint::ui
