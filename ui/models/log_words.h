// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/curves/compare_series.h"
#include "core/diagnose/severity.h"
#include "ui/models/text_table.h"

#include <QString>
#include <QStringList>

// What two logs come to, in the user's language: the window's `forkpoint-cli curves`.
namespace forkpoint::ui {

/// How loudly it is said: divergent if a curve departs, else noise, or identical if every value is equal.
diagnose::Severity severityOf(const curves::SeriesComparison& logs);
diagnose::Severity severityOf(const curves::SeriesOverlay& curve); ///< unmatched without a common step

QString logsHeadline(const curves::SeriesComparison& logs); ///< one sentence: which curve departs first, or that all agree
QString logsDetail(const curves::SeriesComparison& logs);   ///< the numbers behind it
QString toleranceText(const curves::SeriesComparison& logs); ///< "tolerance 0.00019 or the last written digit"
QString commonCurvesText(const curves::SeriesComparison& logs); ///< "2 of 3 common curves depart"

/// One curve in a sentence.
QString curveSentence(const curves::SeriesOverlay& curve);

/// curve, step from which it departs, largest relative difference, common steps; a row per overlay, in their order.
std::vector<TextTable::Row> curveRows(const curves::SeriesComparison& logs);

QStringList readerNotes(const curves::SeriesComparison& logs); ///< what the readers left out or guessed, each with the side

/// Both logs, the sentence, a line per curve and the notes. For the clipboard: plain text.
QString logsSummary(const curves::SeriesComparison& logs);

} // namespace forkpoint::ui
