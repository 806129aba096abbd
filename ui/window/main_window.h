// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/models/pair_model.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/window/known_runs.h"
#include "ui/window/run_bar.h"

#include <QMainWindow>

#include <map>

class QActionGroup;
class QSplitter;
class QStackedWidget;
class QTabWidget;

namespace forkpoint::ui {

class ContextView;
class CoverageView;
class CurvesView;
class DetailsPanel;
class DropOverlay;
class ErrorPage;
class FindingsPanel;
class GateStrip;
class GraphView;
class HeatmapView;
class LogPanel;
class PairPanel;
class StartScreen;
class StatusLine;
class VerdictBar;

/// Which part of the workspace fills the window.
enum class ShownPanel { All, Graph, Heatmap, Curves, Pairs, Context };

/// The window: what is compared on top, the verdict, the gates, and the views below, which share one selection. Of two logs: list and curves.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    struct Look {
        QString language = QStringLiteral("en");
        ThemeChoice theme = ThemeChoice::System;
        bool remember = true; ///< layout, theme and pairs, for the next start; tests and screenshots leave no trace
    };
    MainWindow(Session& session, Look look, QWidget* parent = nullptr);

    ~MainWindow() override;

    void openRuns(const RunPair& runs);
    bool openSample(const QString& name); ///< false: there is none of that name
    void showPanel(ShownPanel panel);      ///< of logs there is only All (list and curves) and Curves
    bool isBusy() const;                   ///< a job runs, or a view has not painted its result yet
    QImage picture();                      ///< of the window, with its caption
    QString summary() const;               ///< what "Copy summary" copies

    // The parts, for tests.
    QAction* action(const QString& name) const; ///< "next-divergence"
    QList<QAction*> allActions() const { return m_actions; }
    RunBar* runBar() const { return m_runBar; }
    VerdictBar* verdictBar() const { return m_verdict; }
    GateStrip* gates() const { return m_gates; }
    PairPanel* pairs() const { return m_pairs; }
    PairPanel* allPairs() const { return m_allPairs; }
    LogPanel* logs() const { return m_logs; }
    FindingsPanel* findings() const { return m_findings; }
    DetailsPanel* details() const { return m_details; }
    ContextView* context() const { return m_context; }
    CoverageView* coverage() const { return m_coverage; }
    GraphView* graph() const { return m_graph; }
    CurvesView* curves() const { return m_curves; }
    HeatmapView* heatmap() const { return m_heatmap; }
    StartScreen* startScreen() const { return m_start; }
    ErrorPage* errorPage() const { return m_error; }
    StatusLine* statusLine() const { return m_status; }
    DropOverlay* dropOverlay() const { return m_overlay; }
    QTabWidget* tabs() const { return m_tabs; }
    QStackedWidget* pages() const { return m_pages; }

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void buildWorkspace();
    void buildActions();
    QAction* add(class QMenu* menu, const QString& name, const QString& text, const QList<QKeySequence>& keys, std::function<void()> run);
    void buildViewMenu(QMenu* menu);
    void followSession();
    void refreshPage();
    void refreshActions();
    void fillOpenMenus();
    void askForRuns(const RunPair& start);
    void askForPortable();
    RunPair openRunPaths() const;
    void openOneSide(RunChip::Role role, const QString& path);
    void openSide(RunChip::Role role);
    void applyChosenTheme(ThemeChoice theme);
    void saveScreenshot();
    std::vector<std::pair<QWidget*, QString>> views() const; ///< that have keys of their own
    void showShortcuts();
    void showAbout();
    void arrangePanels();
    void spreadColumns();
    void saveLayout();
    void restoreLayout();

    Session& m_session;
    Look m_look;
    PairModel m_model;
    QStackedWidget* m_pages = nullptr;
    StartScreen* m_start = nullptr;
    ErrorPage* m_error = nullptr;
    QWidget* m_workspace = nullptr;
    RunBar* m_runBar = nullptr;
    VerdictBar* m_verdict = nullptr;
    GateStrip* m_gates = nullptr;
    QStackedWidget* m_left = nullptr; ///< findings and pairs; of logs the list of curves
    LogPanel* m_logs = nullptr;
    QSplitter *m_columns = nullptr, *m_middle = nullptr, *m_right = nullptr;
    FindingsPanel* m_findings = nullptr;
    PairPanel *m_pairs = nullptr, *m_allPairs = nullptr;
    GraphView* m_graph = nullptr;
    QTabWidget* m_tabs = nullptr;
    CurvesView* m_curves = nullptr;
    HeatmapView* m_heatmap = nullptr;
    ContextView* m_context = nullptr;
    CoverageView* m_coverage = nullptr;
    DetailsPanel* m_details = nullptr;
    StatusLine* m_status = nullptr;
    DropOverlay* m_overlay = nullptr;
    QMenu *m_recentMenu = nullptr, *m_samplesMenu = nullptr;
    QActionGroup* m_panelGroup = nullptr;
    QList<QAction*> m_actions;
    bool m_columnsMoved = false;
    ShownPanel m_shown = ShownPanel::All;
};

} // namespace forkpoint::ui
