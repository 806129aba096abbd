// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/graph/graph_canvas.h"
#include "ui/session/session.h"

#include <QTimer>
#include <QWidget>

class QBoxLayout;
class QLabel;
class QLineEdit;
class QToolButton;

namespace forkpoint::ui {

class Breadcrumbs;
class GraphLegend;
class GraphMinimap;
class PhaseSwitch;

/// The layer graph of the selected step, of both runs together, with its header, legend and minimap. Follows the session's selection and
/// results; layouts are made on a worker while the old picture stays.
class GraphView : public QWidget {
    Q_OBJECT
public:
    explicit GraphView(Session& session, QWidget* parent = nullptr);
    ~GraphView() override;

    bool isBusy() const; ///< a layout is being made, or results are not painted yet

    void expand(graph::NodeId node, bool expanded);
    void expandToFork();
    void collapseAll(); ///< below the root's children
    void expandAll();
    void focusSearch();
    QString caption() const; ///< one line that says what a picture of this view shows
    QImage picture();        ///< the view with its caption below, at the screen's scale

    // The parts, for tests.
    GraphCanvas& canvas() { return *m_canvas; }
    GraphMinimap& minimap() { return *m_minimap; }
    QLineEdit* searchField() const { return m_search; }
    QString searchCount() const;
    QString breadcrumbs() const;
    PhaseSwitch* phaseSwitch() const { return m_phases; }
    /// The phase that colours the graph: of the gate or the pair that was chosen last, or what its own switch was set to since. nullopt: all.
    std::optional<diagnose::Gate> phase() const { return m_phase; }
    int layoutsMade() const { return m_layouts; }
    std::shared_ptr<const GraphScene> scene() const { return m_canvas->scene(); }

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Built;
    struct Wish {
        std::optional<NodeName> anchor; ///< stays where it is on screen
        std::optional<std::size_t> reveal; ///< pair whose groups are to be expanded
        bool start = false;             ///< a new comparison: default expansion, view at the start
    };
    void buildHeader(QBoxLayout& rows);
    void followComparison();
    void followStep();
    void followPair();
    void followResults();
    void layOut(Wish wish);
    void receive(Built built);
    void followPhase(); ///< of the chosen gate or the selected pair
    void showPhase(std::optional<diagnose::Gate> phase);
    void recolour();
    void refreshMessage();
    void refreshLegend();
    void refreshFocus();
    void select(graph::NodeId node);
    void setWanted(graph::Expansion expansion, Wish wish);
    void search();
    void showCount(const QString& count);
    void goToMatch(int direction);
    void showMenu(graph::NodeId node, const QPoint& position);
    void placeMinimap();
    std::optional<graph::NodeId> nodeOfPair(std::size_t pair) const;
    std::optional<NodeName> nameOf(std::optional<graph::NodeId> node) const;
    int microOf(std::optional<std::size_t> pair) const;

    Session& m_session;
    const QString m_tag;
    GraphCanvas* m_canvas;
    GraphMinimap* m_minimap;
    GraphLegend* m_legend;
    Breadcrumbs* m_crumbs;
    PhaseSwitch* m_phases;
    QLineEdit* m_search;
    QLabel* m_count;
    QToolButton *m_fit = nullptr, *m_fork = nullptr, *m_collapse = nullptr, *m_map = nullptr;
    QTimer m_recolour; ///< gathers results that stream in
    std::optional<graph::Expansion> m_wanted; ///< of the scene's graph, or of a layout under way
    std::shared_ptr<const graph::UnionGraph> m_graph;
    bool m_graphStale = true; ///< m_graph is not that of the selected step and micro-step
    Wish m_wish;              ///< of the layout under way
    std::optional<diagnose::Gate> m_phase;
    int m_micro = 0;
    int m_layouts = 0;
    QString m_problem;        ///< why there is no layout
    std::vector<graph::NodeId> m_found;
    std::optional<std::size_t> m_foundAt;
    bool m_selecting = false; ///< the selection comes from here: it expands nothing
};

} // namespace forkpoint::ui
