// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/session/session.h"

#include <QImage>
#include <QString>
#include <QWidget>

#include <cstdint>
#include <optional>
#include <vector>

class QComboBox;
class QLabel;
class QSlider;
class QStackedWidget;
class QToolButton;
class QAction;

namespace forkpoint::ui {

class CurveLegend;
class CurvePlot;
struct CurveOptions;
struct PlottedCurve;

/// Scalars of both runs, or of two logs, over the steps: A and B overlaid, B - A below, the onset of divergence, and the recorded steps as marks
/// that select. Follows the session's step and scalar; left and right on the focused plot move through the recorded steps, of logs through all.
class CurvesView : public QWidget {
    Q_OBJECT
public:
    explicit CurvesView(Session& session, QWidget* parent = nullptr);
    ~CurvesView() override;

    bool isBusy() const; ///< a long series is being made ready; what is shown is older than what was asked for

    QString scalar() const; ///< the one shown; empty if there is none
    QString readout() const; ///< at the crosshair, else at the session's step; in words
    QString notes() const; ///< below the plot
    QString emptyText() const; ///< shown in place of the plot; empty if the plot is shown
    QString caption() const; ///< one line that says what a picture of this view shows
    QImage picture(); ///< the view with its caption below, at the screen's scale
    CurvePlot& plot() { return *m_plot; }

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void buildControls();
    void retranslate();
    void applyTheme();
    void onStructureChanged();
    void refresh(); ///< takes over what the session has; ranges stay unless it is another comparison
    void fillScalars();
    void showScalar();
    void rebuild(); ///< makes the shown series ready, on a worker if it is long
    void take(PlottedCurve curve, const CurveOptions& options);
    void updateEmpty();
    void updateReadout();
    void updateSmoothingLabel();
    void updateWords();
    void updateStepActions();
    void moveStep(int direction);
    void onHovered(double step);
    void showCrosshair(std::int32_t step);
    void copyPicture();

    Session::Curve overlay() const; ///< the one shown
    const curves::SeriesOverlay* logged() const;
    std::int32_t readStep() const; ///< of the readout
    CurveOptions options() const;

    Session& m_session;
    std::vector<Session::Curve> m_curves; ///< in the order of the list
    bool m_fitPending = true;
    bool m_fitValuesPending = false;
    std::optional<std::int32_t> m_crosshair;

    QComboBox* m_scalars = nullptr;
    QLabel* m_definition = nullptr;
    QToolButton* m_logValues = nullptr;
    QToolButton* m_logDifference = nullptr;
    QLabel* m_smoothingTitle = nullptr;
    QSlider* m_smoothing = nullptr;
    QLabel* m_smoothingLabel = nullptr;
    QToolButton* m_fit = nullptr;
    CurveLegend* m_legend = nullptr;
    CurvePlot* m_plot = nullptr;
    QLabel* m_notes = nullptr;
    QLabel* m_empty = nullptr;
    QStackedWidget* m_pages = nullptr;
    QAction* m_previousAction = nullptr;
    QAction* m_nextAction = nullptr;
    QAction* m_fitAction = nullptr;
    QAction* m_zoomInAction = nullptr;
    QAction* m_zoomOutAction = nullptr;
    QAction* m_copyAction = nullptr;
};

} // namespace forkpoint::ui
