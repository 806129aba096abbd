// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/diagnose/severity.h"
#include "core/diagnose/verdict.h"

#include <QColor>
#include <QFont>
#include <QIcon>
#include <QPalette>
#include <QString>

class QApplication;
class QPainter;
class QRectF;

namespace forkpoint::ui {

enum class ThemeChoice { System, Light, Dark };

/// The colours of the program. Severity always has a second cue (shape and word); A and B have fixed colours and line styles.
struct Theme {
    bool dark = false;
    QColor window, panel, raised, border, text, muted, accent, selection;
    QColor a, b;             ///< reference blue, candidate orange, everywhere
    QColor edge;             ///< of graphs
    QColor verdictGood, verdictWarn, verdictBad; ///< tint of the verdict bar

    static Theme light();
    static Theme darkTheme();
    static const Theme& current(); ///< as last applied

    QColor strong(diagnose::Severity severity) const; ///< marks and text
    QColor fill(diagnose::Severity severity) const;   ///< of graph nodes and cells, behind `text`
};

/// Applies palette, style and style sheet to the whole program; `System` follows the palette's lightness.
void applyTheme(QApplication& app, ThemeChoice choice);

/// The severity's shape: = identical, circle noise, hollow circle unmatched, diamond drift, triangle divergent, cross invalid.
void paintSeverity(QPainter& painter, const QRectF& box, diagnose::Severity severity, const QColor& colour);
QIcon severityIcon(diagnose::Severity severity);

QString severityWord(diagnose::Severity severity); ///< translated
QString gateWord(diagnose::Gate gate);             ///< translated
QString gateStateWord(diagnose::GateState state);  ///< translated

QFont monospace(const QFont& like); ///< for numbers in columns

/// Numbers as the window shows them: locale's decimal point, `digits` significant digits; NaN, inf as words.
QString number(double value, int digits = 4);

} // namespace forkpoint::ui
