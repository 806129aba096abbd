// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/main_window.h"

#include "ui/curves/curves_view.h"
#include "ui/graph/graph_view.h"
#include "ui/heatmap/heatmap_view.h"
#include "ui/models/caption.h"
#include "ui/models/log_words.h"
#include "ui/models/pair_words.h"
#include "ui/models/text_table.h"
#include "ui/models/verdict_words.h"
#include "ui/window/choose_run.h"
#include "ui/window/context_view.h"
#include "ui/window/details_panel.h"
#include "ui/window/drop_overlay.h"
#include "ui/widgets/elided_label.h"
#include "ui/window/error_page.h"
#include "ui/window/findings_panel.h"
#include "ui/window/gate_strip.h"
#include "ui/window/language.h"
#include "ui/window/log_panel.h"
#include "ui/window/open_dialog.h"
#include "ui/window/pair_panel.h"
#include "ui/window/start_screen.h"
#include "ui/window/status_line.h"
#include "ui/window/verdict_bar.h"

#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDialogButtonBox>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QTabWidget>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace forkpoint::ui {

namespace {

const QString kThemeKey = QStringLiteral("theme");

QSplitter* splitter(Qt::Orientation orientation)
{
    auto* out = new QSplitter(orientation);
    out->setHandleWidth(1);
    out->setChildrenCollapsible(false);
    return out;
}

/// A hairline between two parts.
QWidget* rule()
{
    auto* line = new QWidget;
    line->setFixedHeight(1);
    line->setAutoFillBackground(true);
    line->setBackgroundRole(QPalette::Mid);
    return line;
}

QString themeName(ThemeChoice theme)
{
    return theme == ThemeChoice::Light ? QStringLiteral("light") : theme == ThemeChoice::Dark ? QStringLiteral("dark") : QStringLiteral("system");
}

} // namespace

MainWindow::MainWindow(Session& session, Look look, QWidget* parent)
    : QMainWindow(parent)
    , m_session(session)
    , m_look(std::move(look))
{
    setObjectName(QStringLiteral("forkpoint"));
    setAcceptDrops(true);
    setMinimumSize(1080, 660);
    resize(1440, 900);
    followSession();
    m_pages = new QStackedWidget;
    m_start = new StartScreen;
    m_error = new ErrorPage(session);
    buildWorkspace();
    m_pages->addWidget(m_start);
    m_pages->addWidget(m_error);
    m_pages->addWidget(m_workspace);
    setCentralWidget(m_pages);
    m_status = new StatusLine(session, languageTitle(m_look.language));
    setStatusBar(m_status);
    buildActions();
    m_overlay = new DropOverlay(this);

    connect(m_start, &StartScreen::compareRequested, this, &MainWindow::openRuns);
    connect(m_start, &StartScreen::portableRequested, this, &MainWindow::askForPortable);
    connect(m_start, &StartScreen::bothDropped, this, [this](const QString& a, const QString& b) { askForRuns({ a, b, {} }); });
    connect(m_error, &ErrorPage::openRequested, this,
            [this] { askForRuns(openRunPaths()); });
    connect(m_error, &ErrorPage::startRequested, this, [this] { m_session.close(); });
    connect(m_overlay, &DropOverlay::bothDropped, this, [this](const QString& a, const QString& b) { askForRuns({ a, b, {} }); });
    connect(m_overlay, &DropOverlay::dropped, this, [this](bool reference, const QString& path) {
        if (looksPortable(path)) {
            openRuns({ path, {}, {} });
        } else if (m_session.state() == Session::State::Empty) {
            m_start->setSide(reference, path);
        } else {
            openOneSide(reference ? RunChip::Role::Reference : RunChip::Role::Candidate, path);
        }
    });
    refreshPage();
    refreshActions();
    if (m_look.remember) {
        restoreLayout();
    }
}

MainWindow::~MainWindow()
{
    disconnect(&m_session, nullptr, this, nullptr);
    delete m_pages; // before the model that its lists show
}

/// The model is fed before any view is made, so that it is first in line of the session's signals.
void MainWindow::followSession()
{
    connect(&m_session, &Session::structureChanged, this, [this] { m_model.setComparison(m_session.comparison()); });
    const auto update = [this] {
        if (m_session.comparison()) {
            m_model.update(*m_session.comparison());
        }
    };
    connect(&m_session, &Session::resultsChanged, this, update);
    connect(&m_session, &Session::verdictReady, this, update);
    connect(&m_session, &Session::stateChanged, this, [this] {
        refreshPage();
        refreshActions();
    });
    connect(&m_session, &Session::structureChanged, this, [this] {
        refreshPage();
        if (m_session.comparison()) {
            m_pairs->table()->setFocus(); // the list was hidden while it was empty
        } else if (m_session.logs()) {
            m_curves->setFocus();
        }
    }, Qt::QueuedConnection);
    connect(&m_session, &Session::structureChanged, this, &MainWindow::arrangePanels);
    for (const auto signal : { &Session::pairSelected, &Session::stepSelected, &Session::gateSelected, &Session::verdictReady, &Session::resultsChanged }) {
        connect(&m_session, signal, this, &MainWindow::refreshActions);
    }
    connect(&m_session, &Session::verdictReady, this, [this] {
        if (m_look.remember) {
            rememberPair(absolute({ m_session.referencePath(), m_session.candidatePath(), m_session.noisePath() }));
        }
    });
}

void MainWindow::buildWorkspace()
{
    m_workspace = new QWidget;
    auto* rows = new QVBoxLayout(m_workspace);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    m_runBar = new RunBar(m_session);
    m_verdict = new VerdictBar(m_session);
    m_gates = new GateStrip(m_session);
    rows->addWidget(m_runBar);
    rows->addWidget(m_verdict);
    rows->addWidget(m_gates);

    m_columns = splitter(Qt::Horizontal);
    m_left = new QStackedWidget;
    auto* lists = new QWidget;
    auto* left = new QVBoxLayout(lists);
    left->setContentsMargins(0, 0, 0, 0);
    left->setSpacing(0);
    m_findings = new FindingsPanel(m_session);
    m_pairs = new PairPanel(m_session, m_model, PairPanel::Form::Narrow);
    left->addWidget(m_findings);
    left->addWidget(rule());
    left->addWidget(m_pairs, 1);
    m_logs = new LogPanel(m_session);
    m_left->addWidget(lists);
    m_left->addWidget(m_logs);
    m_left->setMinimumWidth(230);

    m_middle = splitter(Qt::Vertical);
    m_graph = new GraphView(m_session);
    m_tabs = new QTabWidget;
    m_tabs->setDocumentMode(true);
    m_tabs->tabBar()->setDrawBase(false);
    m_curves = new CurvesView(m_session);
    m_allPairs = new PairPanel(m_session, m_model, PairPanel::Form::Wide);
    m_context = new ContextView(m_session);
    m_coverage = new CoverageView(m_session);
    m_tabs->addTab(m_curves, tr("Curves"));
    m_tabs->addTab(m_allPairs, tr("Pairs"));
    m_tabs->addTab(m_context, tr("Context"));
    m_tabs->addTab(m_coverage, tr("Coverage"));
    m_middle->addWidget(m_graph);
    m_middle->addWidget(m_tabs);
    m_middle->setStretchFactor(0, 2);
    m_middle->setStretchFactor(1, 1);
    m_middle->setSizes({ 440, 320 });
    m_middle->setMinimumWidth(300);

    m_right = splitter(Qt::Vertical);
    m_heatmap = new HeatmapView(m_session);
    m_details = new DetailsPanel(m_session);
    m_right->addWidget(m_heatmap);
    m_right->addWidget(m_details);
    m_right->setStretchFactor(0, 2);
    m_right->setStretchFactor(1, 1);
    m_right->setSizes({ 560, 280 });
    m_right->setMinimumWidth(340);

    m_columns->addWidget(m_left);
    m_columns->addWidget(m_middle);
    m_columns->addWidget(m_right);
    m_columns->setStretchFactor(0, 0);
    m_columns->setStretchFactor(1, 1);
    m_columns->setStretchFactor(2, 0);
    rows->addWidget(rule());
    rows->addWidget(m_columns, 1);

    connect(m_columns, &QSplitter::splitterMoved, this, [this] { m_columnsMoved = true; });
    connect(m_runBar, &RunBar::openRequested, this, &MainWindow::openSide);
    connect(m_runBar, &RunBar::noiseRemoved, this, [this] { openRuns({ m_session.referencePath(), m_session.candidatePath(), {} }); });
    connect(m_runBar->swapButton(), &QToolButton::clicked, this, [this] { m_session.swapSides(); });
    connect(m_gates, &GateStrip::coverageRequested, this, [this] { m_tabs->setCurrentWidget(m_coverage); });
    connect(&m_session, &Session::gateSelected, this, [this] {
        if (m_session.selection().gate == diagnose::Gate::Environment) {
            m_tabs->setCurrentWidget(m_context); // the environment has no pairs
        }
    });
}

QAction* MainWindow::add(QMenu* menu, const QString& name, const QString& text, const QList<QKeySequence>& keys, std::function<void()> run)
{
    auto* action = menu->addAction(text);
    action->setObjectName(name);
    action->setShortcuts(keys);
    connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
    m_actions += action;
    return action;
}

void MainWindow::buildActions()
{
    auto* file = menuBar()->addMenu(tr("&File"));
    add(file, QStringLiteral("open"), tr("&Open two runs…"), { QKeySequence::Open },
        [this] { askForRuns(openRunPaths()); });
    add(file, QStringLiteral("open-portable"), tr("Open a portable comparison…"), { QKeySequence(QStringLiteral("Ctrl+Shift+O")) }, [this] { askForPortable(); });
    m_recentMenu = file->addMenu(tr("Open &recent"));
    m_samplesMenu = file->addMenu(tr("&Samples"));
    connect(file, &QMenu::aboutToShow, this, &MainWindow::fillOpenMenus);
    fillOpenMenus();
    add(file, QStringLiteral("swap"), tr("S&wap A and B"), { QKeySequence(QStringLiteral("Ctrl+Shift+S")) }, [this] { m_session.swapSides(); });
    add(file, QStringLiteral("close"), tr("&Close the runs"), { QKeySequence::Close }, [this] { m_session.close(); });
    file->addSeparator();
    add(file, QStringLiteral("copy-summary"), tr("Copy s&ummary"), { QKeySequence(QStringLiteral("Ctrl+Shift+C")) }, [this] {
        QApplication::clipboard()->setText(summary());
        m_status->showMessage(tr("The summary is on the clipboard."), 4000);
    });
    add(file, QStringLiteral("copy-picture"), tr("Copy &picture of the window"), { QKeySequence(QStringLiteral("Ctrl+Alt+C")) }, [this] {
        QApplication::clipboard()->setImage(picture());
        m_status->showMessage(tr("The picture is on the clipboard."), 4000);
    });
    add(file, QStringLiteral("screenshot"), tr("Save screens&hot…"), { QKeySequence(QStringLiteral("Ctrl+Alt+S")) }, [this] { saveScreenshot(); });
    file->addSeparator();
    add(file, QStringLiteral("quit"), tr("&Quit"), { QKeySequence(QStringLiteral("Ctrl+Q")) }, [this] { close(); });

    buildViewMenu(menuBar()->addMenu(tr("&View")));

    auto* go = menuBar()->addMenu(tr("&Go"));
    auto* next = add(go, QStringLiteral("next-divergence"), tr("&Next divergence"), { QKeySequence(Qt::Key_F8) }, [this] { m_session.goToDivergence(1); });
    add(go, QStringLiteral("previous-divergence"), tr("&Previous divergence"), { QKeySequence(Qt::SHIFT | Qt::Key_F8) }, [this] { m_session.goToDivergence(-1); });
    add(go, QStringLiteral("fork"), tr("&Fork point"), { QKeySequence(Qt::Key_F7) }, [this] { m_session.goToFork(); });
    go->addSeparator();
    add(go, QStringLiteral("next-step"), tr("Next &step"), { QKeySequence(QStringLiteral("Ctrl+PgDown")) }, [this] { m_runBar->goToStep(1); });
    add(go, QStringLiteral("previous-step"), tr("Pre&vious step"), { QKeySequence(QStringLiteral("Ctrl+PgUp")) }, [this] { m_runBar->goToStep(-1); });
    go->addSeparator();
    go->addAction(m_heatmap->goToAction());
    add(go, QStringLiteral("filter"), tr("F&ilter pairs"), { QKeySequence(QStringLiteral("Ctrl+L")) }, [this] {
        (m_pairs->isVisible() ? m_pairs : m_allPairs)->focusFilter();
    });
    add(go, QStringLiteral("all-gates"), tr("Show all &gates"), { QKeySequence(QStringLiteral("Ctrl+Shift+G")) }, [this] { m_session.selectGate(std::nullopt); });

    auto* help = menuBar()->addMenu(tr("&Help"));
    add(help, QStringLiteral("shortcuts"), tr("&Shortcuts"), { QKeySequence(Qt::Key_F1), QKeySequence(Qt::Key_Question) }, [this] { showShortcuts(); });
    add(help, QStringLiteral("about"), tr("&About Forkpoint"), {}, [this] { showAbout(); });

    next->setIconText(tr("Next divergence"));
    action(QStringLiteral("copy-summary"))->setIconText(tr("Copy summary"));
    m_verdict->addAction(next, true);
    m_verdict->addAction(action(QStringLiteral("copy-summary")), false);
    m_runBar->swapButton()->setText(tr("Swap"));
    m_runBar->swapButton()->setToolTip(tip(tr("Swap A and B: every difference changes its sign.")));
}

void MainWindow::buildViewMenu(QMenu* menu)
{
    m_panelGroup = new QActionGroup(this);
    const std::array<std::tuple<ShownPanel, const char*, QString, const char*>, 6> panels { {
        { ShownPanel::All, "view-all", tr("&All panels"), "Ctrl+0" },
        { ShownPanel::Graph, "view-graph", tr("Only the &graph"), "Ctrl+1" },
        { ShownPanel::Heatmap, "view-heatmap", tr("Only the &heatmap"), "Ctrl+2" },
        { ShownPanel::Curves, "view-curves", tr("Only the &curves"), "Ctrl+3" },
        { ShownPanel::Pairs, "view-pairs", tr("Only the &pairs"), "Ctrl+4" },
        { ShownPanel::Context, "view-context", tr("Only the c&ontext"), "Ctrl+5" },
    } };
    for (const auto& [panel, name, text, key] : panels) {
        auto* action = add(menu, QString::fromLatin1(name), text, { QKeySequence(QString::fromLatin1(key)) }, [this, shownPanel = panel] { showPanel(shownPanel); });
        action->setCheckable(true);
        action->setChecked(panel == ShownPanel::All);
        m_panelGroup->addAction(action);
    }
    menu->addSeparator();
    auto* theme = menu->addMenu(tr("&Theme"));
    auto* themes = new QActionGroup(this);
    for (const auto& [choice, text] : { std::pair(ThemeChoice::System, tr("&System")), std::pair(ThemeChoice::Light, tr("&Light")), std::pair(ThemeChoice::Dark, tr("&Dark")) }) {
        auto* action = add(theme, QStringLiteral("theme-") + themeName(choice), text, {}, [this, chosen = choice] { applyChosenTheme(chosen); });
        action->setCheckable(true);
        action->setChecked(choice == m_look.theme);
        themes->addAction(action);
    }
    auto* language = menu->addMenu(tr("&Language"));
    auto* languages = new QActionGroup(this);
    for (const auto* code : { "en", "zh_CN" }) {
        const QString chosen = QString::fromLatin1(code);
        auto* action = add(language, QStringLiteral("language-") + chosen, languageTitle(chosen), {}, [this, chosen] {
            rememberLanguage(chosen);
            m_status->showMessage(tr("The language changes when Forkpoint is started again."), 8000);
        });
        action->setCheckable(true);
        action->setChecked(chosen == m_look.language);
        languages->addAction(action);
    }
    language->addSeparator();
    auto* note = language->addAction(tr("Changes at the next start"));
    note->setEnabled(false);
}

QAction* MainWindow::action(const QString& name) const
{
    const auto found = std::find_if(m_actions.begin(), m_actions.end(), [&](const QAction* a) { return a->objectName() == name; });
    return found == m_actions.end() ? nullptr : *found;
}

void MainWindow::fillOpenMenus()
{
    m_recentMenu->clear();
    const auto label = [](QString text) { return text.replace(QLatin1Char('&'), QStringLiteral("&&")); };
    for (const auto& pair : recentPairs()) {
        const QString paths = pair.candidate.isEmpty() ? pair.reference : pair.reference + QLatin1Char('\n') + pair.candidate;
        m_recentMenu->addAction(label(titleOf(pair)), this, [this, pair] { openRuns(pair); })->setToolTip(tip(shown(paths.toStdString())));
    }
    m_recentMenu->setToolTipsVisible(true);
    m_recentMenu->setEnabled(!m_recentMenu->isEmpty());
    m_samplesMenu->clear();
    for (const auto& sample : samples()) {
        m_samplesMenu->addAction(label(sample.title), this, [this, runs = sample.runs] { openRuns(runs); });
    }
    m_samplesMenu->setEnabled(!m_samplesMenu->isEmpty());
}

void MainWindow::openRuns(const RunPair& runs) { m_session.open(runs.reference, runs.candidate, runs.noise); }

bool MainWindow::openSample(const QString& name)
{
    const auto all = samples();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Sample& s) { return s.name == name; });
    if (found == all.end()) {
        return false;
    }
    openRuns(found->runs);
    return true;
}

void MainWindow::askForRuns(const RunPair& start)
{
    OpenDialog dialog(start, this);
    if (dialog.exec() == QDialog::Accepted) {
        openRuns(dialog.runs());
    }
}

void MainWindow::askForPortable()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a portable comparison"), QFileInfo(m_session.referencePath()).absolutePath(),
                                                      tr("Portable comparisons (*.forkcmp);;All files (*)"));
    if (!path.isEmpty()) {
        openRuns({ path, {}, {} });
    }
}

/// The runs that are open; of a portable comparison those that it was made from, as they were called there.
RunPair MainWindow::openRunPaths() const
{
    if (!m_session.isPortable()) {
        return { m_session.referencePath(), m_session.candidatePath(), m_session.noisePath() };
    }
    const auto& comparison = m_session.comparison();
    if (!comparison || !comparison->structure().kept) {
        return {};
    }
    const auto& from = comparison->structure().kept->provenance();
    return { QString::fromStdString(from.a.path), QString::fromStdString(from.b.path), from.noise ? QString::fromStdString(from.noise->path) : QString() };
}

void MainWindow::openSide(RunChip::Role role)
{
    const QString title = role == RunChip::Role::Reference ? tr("The reference run")
        : role == RunChip::Role::Candidate                 ? tr("The candidate run")
                                                           : tr("The repeated reference run");
    const QString path = chooseRun(this, title, m_session.referencePath());
    if (!path.isEmpty()) {
        openOneSide(role, path);
    }
}

void MainWindow::openOneSide(RunChip::Role role, const QString& path)
{
    RunPair runs = openRunPaths();
    if (role == RunChip::Role::Reference) {
        runs = { path, runs.candidate, {} }; // the noise run repeats the old reference
    } else {
        (role == RunChip::Role::Candidate ? runs.candidate : runs.noise) = path;
    }
    if (m_session.isPortable()) {
        askForRuns(runs); // the other run may lie elsewhere, or not be here at all
    } else {
        openRuns(runs);
    }
}

void MainWindow::showPanel(ShownPanel panel)
{
    m_shown = panel;
    arrangePanels();
}

/// Shows what was asked for of what there is: logs have a list of curves and the curves.
void MainWindow::arrangePanels()
{
    const bool logs = m_session.logs() != nullptr;
    const bool all = m_shown == ShownPanel::All || (logs && m_shown != ShownPanel::Curves);
    const auto panel = logs ? ShownPanel::Curves : m_shown;
    m_gates->setVisible(m_session.hasOrder());
    m_left->setCurrentIndex(logs ? 1 : 0);
    m_left->setVisible(all);
    m_right->setVisible(!logs && (all || panel == ShownPanel::Heatmap));
    m_details->setVisible(all);
    m_middle->setVisible(panel != ShownPanel::Heatmap);
    m_graph->setVisible(!logs && (all || panel == ShownPanel::Graph));
    m_tabs->setVisible(panel != ShownPanel::Graph);
    m_tabs->tabBar()->setVisible(!logs && all);
    if (panel == ShownPanel::Curves) {
        m_tabs->setCurrentWidget(m_curves);
    } else if (panel == ShownPanel::Pairs) {
        m_tabs->setCurrentWidget(m_allPairs);
    } else if (panel == ShownPanel::Context) {
        m_tabs->setCurrentWidget(m_context);
    }
    for (auto* shownAction : m_panelGroup->actions()) {
        static const std::map<ShownPanel, QString> names { { ShownPanel::All, QStringLiteral("view-all") }, { ShownPanel::Graph, QStringLiteral("view-graph") },
            { ShownPanel::Heatmap, QStringLiteral("view-heatmap") }, { ShownPanel::Curves, QStringLiteral("view-curves") },
            { ShownPanel::Pairs, QStringLiteral("view-pairs") }, { ShownPanel::Context, QStringLiteral("view-context") } };
        shownAction->setChecked(shownAction->objectName() == names.at(all ? ShownPanel::All : panel));
    }
    spreadColumns();
}

bool MainWindow::isBusy() const { return m_session.jobs().running() > 0 || m_graph->isBusy() || m_curves->isBusy() || m_heatmap->isBusy(); }

QImage MainWindow::picture()
{
    const QStringList about = m_session.logs() ? QStringList { m_curves->scalar() } : QStringList { pairCaption(m_session), colouringCaption(m_session) };
    return withCaption(grab().toImage(), captionText(m_session, about));
}

QString MainWindow::summary() const
{
    if (m_session.logs()) {
        return logsSummary(*m_session.logs());
    }
    const auto& comparison = m_session.comparison();
    return comparison ? summaryText(*comparison, m_session.selection().pair) : QString();
}

void MainWindow::refreshPage()
{
    const auto state = m_session.state();
    QWidget* page = m_workspace;
    if (state == Session::State::Empty) {
        page = m_start;
    } else if (state == Session::State::Failed && !m_session.comparison()) {
        page = m_error;
    }
    if (page && m_pages->currentWidget() != page) {
        if (page == m_start) {
            m_start->refresh();
        }
        m_pages->setCurrentWidget(page);
        (page == m_workspace ? static_cast<QWidget*>(m_pairs->table()) : page)->setFocus();
    }
    const auto [a, b] = runNames(m_session);
    setWindowTitle(a.isEmpty() ? QStringLiteral("Forkpoint") : tr("%1 against %2 - Forkpoint").arg(a, b));
}

void MainWindow::refreshActions()
{
    if (m_actions.isEmpty()) {
        return;
    }
    const auto enable = [this](const char* name, bool on) { action(QString::fromLatin1(name))->setEnabled(on); };
    const bool open = m_session.state() != Session::State::Empty;
    const auto& comparison = m_session.comparison();
    const auto* outcome = comparison ? comparison->outcome() : nullptr;
    const auto steps = m_session.steps();
    enable("swap", open && !m_session.isPortable());
    enable("close", open);
    const bool logs = m_session.logs() != nullptr;
    enable("copy-summary", comparison || logs);
    enable("next-divergence", m_session.nextDivergence(1).has_value());
    enable("previous-divergence", m_session.nextDivergence(-1).has_value());
    enable("fork", outcome && outcome->verdict.fork);
    enable("next-step", !steps.empty() && m_session.selection().step < steps.back());
    enable("previous-step", !steps.empty() && m_session.selection().step > steps.front());
    enable("all-gates", m_session.selection().gate.has_value());
    enable("filter", comparison.has_value());
    for (const auto* view : { "view-graph", "view-heatmap", "view-pairs", "view-context" }) {
        enable(view, !logs);
    }
}

void MainWindow::applyChosenTheme(ThemeChoice theme)
{
    m_look.theme = theme;
    applyTheme(*qApp, theme);
    if (m_look.remember) {
        QSettings().setValue(kThemeKey, themeName(theme));
    }
}

void MainWindow::saveScreenshot()
{
    const QImage image = picture();
    const QString path = QFileDialog::getSaveFileName(this, tr("Save screenshot"), QStringLiteral("forkpoint.png"), tr("PNG picture (*.png)"));
    if (!path.isEmpty() && !image.save(path, "PNG")) {
        QMessageBox::warning(this, tr("Save screenshot"), tr("The picture could not be written to %1. Choose another folder.").arg(path));
    }
}

void MainWindow::showShortcuts()
{
    QDialog dialog(this);
    dialog.setObjectName(QStringLiteral("shortcuts"));
    dialog.setWindowTitle(tr("Shortcuts"));
    auto* layout = new QVBoxLayout(&dialog);
    auto* rows = new TextTable({ tr("key"), tr("in", "a view"), tr("action") }, {}, &dialog);
    std::vector<TextTable::Row> list;
    const auto addAll = [&list](const QList<QAction*>& actions, const QString& where) {
        for (const auto* each : actions) {
            const QString text = QString(each->text()).remove(QLatin1Char('&'));
            if (!each->shortcuts().isEmpty() && !text.isEmpty()) {
                list.push_back({ { QKeySequence::listToString(each->shortcuts(), QKeySequence::NativeText), where, text }, {}, false, {} });
            }
        }
    };
    addAll(m_actions, {});
    for (const auto& [view, name] : views()) {
        addAll(view->findChildren<QAction*>(), name);
    }
    rows->setRows(std::move(list));
    auto* table = new QTreeView;
    table->setModel(rows);
    table->setRootIsDecorated(false);
    table->setFrameShape(QFrame::NoFrame);
    table->setColumnWidth(0, 190);
    table->setColumnWidth(1, 90);
    layout->addWidget(table);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    layout->addWidget(buttons);
    dialog.resize(620, 620);
    dialog.exec();
}

std::vector<std::pair<QWidget*, QString>> MainWindow::views() const
{
    return { { m_graph, tr("graph") }, { m_curves, tr("curves") }, { m_heatmap, tr("heatmap") } };
}

void MainWindow::showAbout()
{
    QMessageBox box(this);
    box.setObjectName(QStringLiteral("about"));
    box.setWindowTitle(tr("About Forkpoint"));
    box.setTextFormat(Qt::PlainText);
    box.setText(tr("Forkpoint %1: finds where two PyTorch runs fork, and why.").arg(QStringLiteral(FORKPOINT_VERSION)));
    box.setInformativeText(tr("This program is free software under the GNU General Public License, version 3 or later, without any warranty. Its core, the "
                              "command line and the recorder are under the Apache License 2.0.\n\nIt uses Qt %1 (LGPL 3), QCustomPlot (GPL 3 or later), simdjson, "
                              "oneTBB and OpenSSL (Apache 2.0), nlohmann/json and fmt (MIT), CLI11, Zstandard and xxHash (BSD) and tl::expected (CC0).")
                               .arg(QString::fromLatin1(qVersion())));
    box.exec();
}

void MainWindow::saveLayout()
{
    QSettings settings;
    settings.setValue(QStringLiteral("geometry"), saveGeometry());
    if (m_columnsMoved) {
        settings.setValue(QStringLiteral("columns"), m_columns->saveState());
    }
    settings.setValue(QStringLiteral("middle"), m_middle->saveState());
}

void MainWindow::restoreLayout()
{
    const QSettings settings;
    restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray());
    m_columnsMoved = m_columns->restoreState(settings.value(QStringLiteral("columns")).toByteArray());
    m_middle->restoreState(settings.value(QStringLiteral("middle")).toByteArray());
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    const auto paths = droppedPaths(event->mimeData());
    if (paths.size() == 1 || paths.size() == 2) {
        m_overlay->setDropped(paths);
        m_overlay->setGeometry(rect());
        m_overlay->raise();
        m_overlay->show();
        event->acceptProposedAction();
    }
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (m_look.remember && m_shown == ShownPanel::All && !m_session.logs()) {
        saveLayout();
    }
    m_session.jobs().cancelAll();
    QMainWindow::closeEvent(event);
}

/// The columns grow with the window until somebody has moved one.
void MainWindow::spreadColumns()
{
    if (!m_columnsMoved) {
        const int left = m_session.logs() ? std::clamp(width() * 3 / 10, 390, 480) : std::clamp(width() / 5, 250, 400);
        const int right = std::clamp(width() * 3 / 10, 340, 560);
        m_columns->setSizes({ left, width() - left - right, right });
    }
}

void MainWindow::resizeEvent(QResizeEvent* event)
{
    QMainWindow::resizeEvent(event);
    spreadColumns();
    if (m_overlay) {
        m_overlay->setGeometry(rect());
    }
}

} // namespace forkpoint::ui
