// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/curves/curve_data.h"

#include <QString>

#include <optional>
#include <vector>

namespace forkpoint::ui {

/// The plot of one scalar: A and B above, their difference below, one step axis. Shows what it is given and reports where the mouse is;
/// knows no session. Wheel zooms the steps around the mouse (Ctrl or over a value axis: the values), drag moves, double click fits.
class CurvePlot : public QCustomPlot {
    Q_OBJECT
public:
    explicit CurvePlot(QWidget* parent = nullptr);

    void setCurve(PlottedCurve curve, const QString& name, const CurveOptions& options); ///< ranges stay
    void setOnset(std::optional<std::int32_t> onset);
    void setRecordedSteps(std::vector<int> steps);
    void setCursorStep(std::optional<int> step); ///< of the shared selection
    void setCrosshair(std::optional<std::int32_t> step, std::optional<double> a = {}, std::optional<double> b = {});

    void fit(); ///< all steps and all values
    void fitValues(); ///< all values, steps as they are
    void fitDifference(); ///< only the values of the lower plot
    void zoomSteps(double factor); ///< about the middle
    bool showsSteps() const; ///< some of the curve lies in the visible range of steps

    void applyTheme();
    void retranslate();
    QColor differenceColour() const; ///< neutral until there is an onset: a difference is no alarm by itself

    const PlottedCurve& curve() const { return m_curve; }
    QCPAxis* stepAxis() const { return m_lower->axis(QCPAxis::atBottom); }
    QCPAxis* valueAxis() const { return m_upper->axis(QCPAxis::atLeft); }
    QCPAxis* differenceAxis() const { return m_lower->axis(QCPAxis::atLeft); }
    QRect valuesRect() const { return m_upper->rect(); }
    QRect differenceRect() const { return m_lower->rect(); }
    QRect stepLane() const; ///< where the recorded steps are marked, below the step axis
    QString onsetLabel() const { return m_onsetLabel; } ///< as drawn; empty without onset
    const QCPGraph* graph(const char* name) const; ///< "a", "b", "difference", each also with "-smooth"

signals:
    void hovered(double step); ///< the mouse is over a plot
    void hoverLeft();
    void stepClicked(int step);

protected:
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    friend class PlotMarks;
    friend class PlotCrosshair;
    struct Line {
        QCPGraph* raw = nullptr;
        QCPGraph* smooth = nullptr;
    };

    QCPGraph* addLine(QCPAxisRect* rect, const char* name);
    void assign(Line line, const PlottedLine& shown);
    void styleLine(const Line& line, const QColor& colour, Qt::PenStyle style, QCPScatterStyle::ScatterShape marker);
    void prepareReplot(); ///< pens, markers and tickers that depend on what is visible
    void limitSteps();
    std::optional<int> recordedStepAt(const QPoint& position) const;
    void updateOnsetLabel();

    QCPAxisRect* m_upper = nullptr;
    QCPAxisRect* m_lower = nullptr;
    Line m_a, m_b, m_difference;
    QCPLayer* m_crosshairLayer = nullptr;

    PlottedCurve m_curve;
    CurveOptions m_options;
    QString m_name;
    std::vector<int> m_recorded; ///< ascending
    std::optional<std::int32_t> m_onset;
    QString m_onsetLabel;
    std::optional<int> m_cursor, m_hoveredRecorded;
    std::optional<std::int32_t> m_crosshair;
    std::optional<double> m_crosshairA, m_crosshairB;
    bool m_pressedInLane = false;
    bool m_showFocus = false;
    bool m_limiting = false;
};

} // namespace forkpoint::ui
