// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/curves/plot_library.h"

namespace forkpoint::ui {

class CurvePlot;

/// What lies over the lines and changes with data, ranges or selection: onset, gaps, recorded steps, the selected step.
class PlotMarks : public QCPLayerable {
    Q_OBJECT
public:
    explicit PlotMarks(CurvePlot* plot);

protected:
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override;
    void draw(QCPPainter* painter) override;

private:
    void drawGaps(QCPPainter& painter) const;
    void drawOnset(QCPPainter& painter) const;
    void drawCursor(QCPPainter& painter) const;
    void drawRecordedSteps(QCPPainter& painter) const;
    void drawWords(QCPPainter& painter) const;

    CurvePlot& m_plot;
};

/// The line under the mouse. On a layer of its own, so that moving the mouse paints nothing else again.
class PlotCrosshair : public QCPLayerable {
    Q_OBJECT
public:
    explicit PlotCrosshair(CurvePlot* plot, const QString& layer);

protected:
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override;
    void draw(QCPPainter* painter) override;

private:
    CurvePlot& m_plot;
};

} // namespace forkpoint::ui
