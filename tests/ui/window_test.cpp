// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ui/window_fixture.h"

#include "ui/graph/graph_view.h"
#include "ui/models/caption.h"
#include "ui/heatmap/heatmap_view.h"
#include "ui/window/context_view.h"
#include "ui/window/details_panel.h"
#include "ui/window/drop_overlay.h"
#include "ui/window/error_page.h"
#include "ui/window/findings_panel.h"
#include "ui/window/gate_strip.h"
#include "ui/window/known_runs.h"
#include "ui/window/language.h"
#include "ui/window/open_dialog.h"
#include "ui/window/pair_panel.h"
#include "ui/window/start_screen.h"
#include "ui/window/status_line.h"
#include "ui/window/verdict_bar.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QScrollBar>
#include <QStackedWidget>
#include <QTabWidget>
#include <QToolButton>
#include <QTranslator>
#include <QTreeView>
#include <QUrl>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace forkpoint::test {
namespace {

using diagnose::Gate;
using diagnose::Severity;
using ui::MainWindow;
using ui::Session;

class WindowTest : public WindowFixture {
protected:
    void key(int code, Qt::KeyboardModifiers modifiers = Qt::NoModifier) { QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : m_window.get(), static_cast<Qt::Key>(code), modifiers); }
    static void click(QWidget* widget) { QTest::mouseClick(widget, Qt::LeftButton, {}, widget->rect().center()); }
    static void clickRow(QTreeView* table, int row)
    {
        const auto index = table->model()->index(row, ui::PairModel::Name);
        table->scrollTo(index);
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(index).center());
    }
    static QString currentName(QTreeView* table) { return table->currentIndex().siblingAtColumn(ui::PairModel::Name).data().toString(); }
    static void drop(QWidget* target, const QPointF& at, const QStringList& paths)
    {
        QMimeData data;
        QList<QUrl> urls;
        for (const auto& path : paths) {
            urls += QUrl::fromLocalFile(path);
        }
        data.setUrls(urls);
        QDragEnterEvent enter(at.toPoint(), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(target, &enter);
        QDropEvent event(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(target, &event);
    }
};

TEST_F(WindowTest, NamesTheForkAndSelectsIt)
{
    auto& window = openHalved();
    EXPECT_EQ(window.verdictBar()->headline(), QStringLiteral("The runs fork at step 0 in the reduced gradients: gradient of fc1.weight."));
    EXPECT_EQ(selectedId(), "s0/reduce/grad/fc1.weight");
    EXPECT_EQ(currentName(window.pairs()->table()), QStringLiteral("reduce / grad / fc1.weight"));
    EXPECT_EQ(currentName(window.allPairs()->table()), QStringLiteral("reduce / grad / fc1.weight"));
    EXPECT_TRUE(window.heatmap()->title().startsWith(QStringLiteral("fc1.weight | "))) << window.heatmap()->title().toStdString();
    EXPECT_GT(window.details()->metricTable()->model()->rowCount(), 10);
    const QString findings = window.findings()->text();
    EXPECT_TRUE(findings.contains(QStringLiteral("The first pair above the floor whose inputs agree:"))) << findings.toStdString();
    EXPECT_TRUE(findings.contains(QStringLiteral("reduce / fc1.weight"))) << findings.toStdString();
    EXPECT_TRUE(findings.contains(QStringLiteral("backward / fc1.weight"))) << findings.toStdString();
    EXPECT_TRUE(window.statusLine()->text().contains(QStringLiteral("28 pair"))) << window.statusLine()->text().toStdString();
    EXPECT_EQ(window.windowTitle(), QStringLiteral("single against ddp - Forkpoint"));
    waitUntilPainted();
}

/// Leaves of every tensor what `--write digest` writes; the fold is of no matter where digests are.
void keepDigestsOnly(const std::filesystem::path& bundle)
{
    const auto path = bundle / "rank00000" / "tensors.jsonl";
    std::ifstream in(path);
    std::string lines;
    for (std::string line; std::getline(in, line);) {
        auto record = nlohmann::json::parse(line);
        record.update({ { "detail", "digest" }, { "fold", "0000000000000000" }, { "file", nullptr }, { "offset", nullptr } });
        lines += record.dump() + "\n";
    }
    in.close();
    std::ofstream(path) << lines;
}

TEST_F(WindowTest, WhatOnlyHashesTellIsNotSaidToAgree)
{
    NetOptions b;
    b.gradientScale = 0.5;
    writeNet(folder("single"));
    writeNet(folder("ddp"), b);
    keepDigestsOnly(folder("ddp"));
    auto& window = makeWindow();
    open();
    EXPECT_TRUE(window.findings()->text().startsWith(QStringLiteral("Some tensors differ, and only hashes of them were recorded")))
        << window.findings()->text().toStdString();
    waitUntilPainted();
    ASSERT_EQ(window.graph()->phase(), std::nullopt);
    const auto& marks = window.graph()->canvas().marks();
    std::size_t differing = 0;
    for (const auto& mark : marks.nodes) {
        if (mark.severity == diagnose::Severity::Unmatched) {
            EXPECT_FALSE(mark.value && *mark.value == 0) << "0 times the floor is said of what was not compared";
            ++differing;
        }
    }
    EXPECT_GT(differing, 0u);
    open("ddp", "ddp");
    EXPECT_EQ(window.findings()->text(), QStringLiteral("Nothing to explain: no pair is above the floor."));
}

TEST_F(WindowTest, AStepThatWasChosenWhileLoadingStays)
{
    NetOptions b;
    b.gradientScale = 0.5;
    writeNet(folder("single"));
    writeNet(folder("ddp"), b);
    makeWindow();
    bool chosen = false;
    QObject::connect(&m_session, &Session::structureChanged, &m_session, [&] {
        if (m_session.comparison()) {
            m_session.selectStep(1);
            chosen = true;
        }
    });
    open();
    ASSERT_TRUE(chosen);
    EXPECT_EQ(m_session.selection().step, 1);
    EXPECT_FALSE(m_session.selection().pair);
}

TEST_F(WindowTest, WithoutAForkThePairClosestToTheFloorIsSelected)
{
    NetOptions b;
    b.gradientScale = 1 + 1e-7;
    writeNet(folder("single"));
    writeNet(folder("ddp"), b);
    auto& window = makeWindow();
    open();
    ASSERT_EQ(m_session.comparison()->outcome()->verdict.severity, Severity::Noise);
    EXPECT_EQ(m_session.selection().pair, m_session.comparison()->outcome()->verdict.closest);
    ASSERT_TRUE(m_session.selection().pair);
    waitUntilPainted();
    EXPECT_TRUE(window.heatmap()->emptyText().isEmpty()) << window.heatmap()->emptyText().toStdString();
}

TEST_F(WindowTest, F8WalksTheDivergences)
{
    auto& window = openHalved();
    key(Qt::Key_F8);
    EXPECT_EQ(selectedId(), "s0/reduce/grad/fc2.weight");
    key(Qt::Key_F8);
    EXPECT_EQ(selectedId(), "s0/optimizer/param/fc1.weight");
    EXPECT_EQ(currentName(window.pairs()->table()), QStringLiteral("optimizer / param / fc1.weight"));
    key(Qt::Key_F8, Qt::ShiftModifier);
    key(Qt::Key_F8, Qt::ShiftModifier);
    EXPECT_EQ(selectedId(), "s0/reduce/grad/fc1.weight");
    EXPECT_FALSE(window.action(QStringLiteral("previous-divergence"))->isEnabled());
    key(Qt::Key_F8, Qt::ShiftModifier); // none before: nothing happens
    EXPECT_EQ(selectedId(), "s0/reduce/grad/fc1.weight");
    for (int i = 0; i < 4; ++i) {
        key(Qt::Key_F8);
    }
    EXPECT_EQ(m_session.selection().step, 1); // the list and the step follow into the next step
    EXPECT_EQ(window.runBar()->stepBox()->currentText(), QStringLiteral("1"));
    key(Qt::Key_F7);
    EXPECT_EQ(selectedId(), "s0/reduce/grad/fc1.weight");
    EXPECT_EQ(m_session.selection().step, 0);
}

TEST_F(WindowTest, AGateShowsItsPhaseOnly)
{
    auto& window = openHalved();
    auto* table = window.pairs()->table();
    EXPECT_EQ(table->model()->rowCount(), 14);
    click(window.gates()->button(Gate::Loss));
    EXPECT_EQ(m_session.selection().gate, Gate::Loss);
    EXPECT_EQ(table->model()->rowCount(), 1);
    EXPECT_EQ(window.allPairs()->table()->model()->rowCount(), 1);
    EXPECT_EQ(selectedId(), "s0/reduce/grad/fc1.weight"); // hidden, but still what the other views show
    click(window.gates()->button(Gate::Backward));
    EXPECT_FALSE(window.gates()->button(Gate::Loss)->isChecked());
    EXPECT_EQ(table->model()->rowCount(), 2);
    click(window.gates()->button(Gate::Backward));
    EXPECT_FALSE(m_session.selection().gate);
    EXPECT_EQ(table->model()->rowCount(), 14);
    EXPECT_EQ(currentName(table), QStringLiteral("reduce / grad / fc1.weight"));

    window.gates()->button(Gate::Forward)->setFocus();
    key(Qt::Key_Right);
    EXPECT_TRUE(window.gates()->button(Gate::Loss)->hasFocus());
    key(Qt::Key_Left);
    key(Qt::Key_Space);
    EXPECT_EQ(m_session.selection().gate, Gate::Forward);
    window.action(QStringLiteral("all-gates"))->trigger();
    EXPECT_FALSE(m_session.selection().gate);
    click(window.gates()->button(Gate::Environment));
    EXPECT_EQ(window.tabs()->currentWidget(), window.context());
}

TEST_F(WindowTest, FilterByTyping)
{
    auto& window = openHalved();
    key(Qt::Key_L, Qt::ControlModifier);
    ASSERT_TRUE(window.pairs()->filterBox()->hasFocus());
    QTest::keyClicks(window.pairs()->filterBox(), QStringLiteral("fc2"));
    EXPECT_EQ(window.pairs()->table()->model()->rowCount(), 6);
    EXPECT_EQ(window.pairs()->countLabel()->text(), QStringLiteral("6 of 14"));
    EXPECT_EQ(selectedId(), "s0/reduce/grad/fc1.weight"); // filtering selects nothing else
    window.pairs()->filterBox()->clear();
    QTest::keyClicks(window.pairs()->filterBox(), QStringLiteral("/reduce.*fc[2]/"));
    EXPECT_EQ(window.pairs()->table()->model()->rowCount(), 1);
    key(Qt::Key_Return);
    EXPECT_TRUE(window.pairs()->table()->hasFocus());
    window.pairs()->filterBox()->setText(QStringLiteral("/(/"));
    EXPECT_TRUE(window.pairs()->table()->isHidden());
    window.pairs()->filterBox()->clear();
    EXPECT_EQ(window.pairs()->countLabel()->text(), QStringLiteral("14"));
    EXPECT_EQ(currentName(window.pairs()->table()), QStringLiteral("reduce / grad / fc1.weight"));
}

TEST_F(WindowTest, FilterBySeverity)
{
    auto& window = openHalved();
    auto* divergent = window.pairs()->severityButton(Severity::Divergent);
    EXPECT_EQ(divergent->count(), 4);
    click(divergent);
    EXPECT_EQ(window.pairs()->table()->model()->rowCount(), 4);
    click(window.pairs()->severityButton(Severity::Identical));
    EXPECT_EQ(window.pairs()->table()->model()->rowCount(), 14);
    click(divergent);
    EXPECT_EQ(window.pairs()->table()->model()->rowCount(), 10);
}

TEST_F(WindowTest, TheSelectionIsShared)
{
    auto& window = openHalved();
    clickRow(window.pairs()->table(), 4);
    EXPECT_EQ(selectedId(), "s0/forward/output/fc1");
    waitUntilPainted();
    EXPECT_TRUE(window.heatmap()->title().startsWith(QStringLiteral("fc1 | "))) << window.heatmap()->title().toStdString();
    EXPECT_TRUE(window.details()->notes().contains(QStringLiteral("Both runs use the same name."))) << window.details()->notes().toStdString();
    EXPECT_TRUE(window.details()->notes().contains(QStringLiteral("train.py:41"))) << window.details()->notes().toStdString();
    EXPECT_EQ(currentName(window.allPairs()->table()), QStringLiteral("forward / output / fc1"));
    window.allPairs()->table()->setFocus();
    key(Qt::Key_Down);
    EXPECT_EQ(selectedId(), "s0/forward/input/fc2");
    EXPECT_EQ(currentName(window.pairs()->table()), QStringLiteral("forward / input / fc2"));
    m_session.selectPair(std::nullopt);
    EXPECT_FALSE(window.pairs()->table()->currentIndex().isValid());
    EXPECT_TRUE(window.details()->notes().isEmpty());
}

TEST_F(WindowTest, Steps)
{
    auto& window = openHalved();
    key(Qt::Key_PageDown, Qt::ControlModifier);
    EXPECT_EQ(m_session.selection().step, 1);
    EXPECT_EQ(selectedId(), "s1/reduce/grad/fc1.weight"); // the same tensor
    EXPECT_EQ(window.pairs()->table()->model()->rowCount(), 14);
    EXPECT_FALSE(window.action(QStringLiteral("next-step"))->isEnabled());
    key(Qt::Key_PageUp, Qt::ControlModifier);
    EXPECT_EQ(m_session.selection().step, 0);
    window.runBar()->stepBox()->setFocus();
    key(Qt::Key_Down);
    EXPECT_EQ(m_session.selection().step, 1);
    window.runBar()->goToStep(-1);
    EXPECT_EQ(m_session.selection().step, 0);
    click(window.pairs()->allStepsBox());
    EXPECT_EQ(window.pairs()->table()->model()->rowCount(), 28);
}

TEST_F(WindowTest, ColourBy)
{
    auto& window = openHalved();
    window.runBar()->colourBox()->setFocus();
    key(Qt::Key_Down);
    EXPECT_EQ(m_session.colourBy(), ui::ColourBy::OutputError);
    EXPECT_TRUE(ui::colouringCaption(m_session).contains(QStringLiteral("output error")));
}

TEST_F(WindowTest, Swap)
{
    auto& window = openHalved();
    click(window.runBar()->swapButton());
    EXPECT_EQ(m_session.referencePath(), path("ddp"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_session.state() == Session::State::Ready; }, 60000));
    EXPECT_TRUE(window.verdictBar()->detail().contains(QStringLiteral("B = 2 × A"))) << window.verdictBar()->detail().toStdString();
    key(Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_EQ(m_session.referencePath(), path("single"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_session.state() == Session::State::Ready; }, 60000));
}

TEST_F(WindowTest, CancelKeepsTheWindow)
{
    writeNet(folder("single"));
    writeNet(folder("ddp"));
    auto& window = makeWindow();
    m_session.open(path("single"), path("ddp"));
    ASSERT_EQ(m_session.state(), Session::State::Loading);
    EXPECT_EQ(window.pages()->currentIndex(), 2);
    EXPECT_EQ(window.verdictBar()->headline(), QStringLiteral("Reading the runs…"));
    ASSERT_FALSE(window.statusLine()->cancelButton()->isHidden());
    click(window.statusLine()->cancelButton());
    EXPECT_EQ(m_session.state(), Session::State::Empty); // nothing was ready
    EXPECT_EQ(window.pages()->currentWidget(), window.startScreen());
    EXPECT_TRUE(window.statusLine()->cancelButton()->isHidden());
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_jobs.workersBusy() == 0; }, 30000));
    open();
    EXPECT_EQ(m_session.state(), Session::State::Ready);
}

TEST_F(WindowTest, CopySummary)
{
    auto& window = openHalved();
    key(Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
    const QString text = QApplication::clipboard()->text();
    EXPECT_EQ(text, window.summary());
    EXPECT_TRUE(text.contains(QStringLiteral("Mismatched elements: 32 / 32 (100.0%)"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("The runs fork at step 0"))) << text.toStdString();
}

TEST_F(WindowTest, PicturesCarryACaption)
{
    auto& window = openHalved();
    const auto image = window.picture();
    EXPECT_GT(image.height(), window.height());
    EXPECT_EQ(ui::captionText(m_session, { ui::pairCaption(m_session), ui::colouringCaption(m_session) }),
              QStringLiteral("A single, B ddp  ·  step 0  ·  reduce / grad / fc1.weight  ·  coloured by severity  ·  floor: estimated  ·  Forkpoint 0.1.0"));
    key(Qt::Key_C, Qt::ControlModifier | Qt::AltModifier);
    EXPECT_EQ(QApplication::clipboard()->image().size(), image.size());
}

TEST_F(WindowTest, EveryActionHasItsOwnKeyAndTheListNamesIt)
{
    auto& window = openHalved();
    std::set<QString> keys;
    QStringList expected;
    for (const auto* action : window.allActions()) {
        EXPECT_FALSE(action->text().isEmpty());
        EXPECT_FALSE(action->objectName().isEmpty());
        for (const auto& shortcut : action->shortcuts()) {
            EXPECT_TRUE(keys.insert(shortcut.toString()).second) << shortcut.toString().toStdString() << " is used twice";
        }
        if (!action->shortcuts().isEmpty()) {
            expected += QString(action->text()).remove(QLatin1Char('&'));
        }
    }
    QStringList listed;
    whenDialogOpens<QDialog>([&](QDialog& dialog) {
        const auto* model = dialog.findChild<QTreeView*>()->model();
        for (int row = 0; row < model->rowCount(); ++row) {
            listed += model->index(row, 2).data().toString();
        }
        dialog.reject();
    });
    key(Qt::Key_Question); // on an X server Qt itself tries the key with and without Shift
    EXPECT_EQ(listed.mid(0, expected.size()), expected);
    EXPECT_GT(expected.size(), 15);
    // Below them the keys of the views.
    EXPECT_TRUE(listed.contains(QStringLiteral("Copy picture of the graph")));
    EXPECT_TRUE(listed.contains(QStringLiteral("Next recorded step")));
}

TEST_F(WindowTest, AboutNamesTheLicences)
{
    auto& window = makeWindow();
    QString text;
    whenDialogOpens<QMessageBox>([&](QMessageBox& box) {
        text = box.text() + box.informativeText();
        box.reject();
    });
    window.action(QStringLiteral("about"))->trigger();
    for (const auto* word : { "General Public License", "Apache License 2.0", "Qt 6", "QCustomPlot", "Forkpoint 0.1.0" }) {
        EXPECT_TRUE(text.contains(QLatin1String(word))) << word;
    }
}

TEST_F(WindowTest, PanelsAlone)
{
    auto& window = openHalved();
    window.action(QStringLiteral("view-pairs"))->trigger();
    EXPECT_FALSE(window.pairs()->isVisible());
    EXPECT_TRUE(window.allPairs()->isVisible());
    EXPECT_FALSE(window.details()->isVisible());
    key(Qt::Key_5, Qt::ControlModifier);
    EXPECT_TRUE(window.context()->isVisible());
    key(Qt::Key_0, Qt::ControlModifier);
    EXPECT_TRUE(window.pairs()->isVisible());
    EXPECT_TRUE(window.details()->isVisible());
}

TEST_F(WindowTest, Themes)
{
    auto& window = openHalved();
    window.action(QStringLiteral("theme-dark"))->trigger();
    EXPECT_TRUE(ui::Theme::current().dark);
    QTest::qWait(10);
    const QColor dark = window.grab().toImage().pixelColor(5, window.height() / 2);
    EXPECT_LT(dark.lightness(), 80);
    window.action(QStringLiteral("theme-light"))->trigger();
    QTest::qWait(10);
    EXPECT_GT(window.grab().toImage().pixelColor(5, window.height() / 2).lightness(), 200);
}

TEST_F(WindowTest, ContextListsDifferencesAndFilters)
{
    NetOptions a, b;
    a.info = { { "environment", { { "torch", "2.1" }, { "python", "3.11" } } }, { "config", { { "lr", 0.1 } } } };
    b.info = { { "environment", { { "torch", "2.2" }, { "python", "3.11" } } }, { "config", { { "lr", 0.2 } } } };
    writeNet(folder("single"), a);
    writeNet(folder("ddp"), b);
    auto& window = makeWindow();
    open();
    auto* table = window.context()->table();
    EXPECT_EQ(table->model()->rowCount(), 2);
    window.tabs()->setCurrentWidget(window.context());
    QTest::keyClicks(window.context()->filterBox(), QStringLiteral("torch"));
    EXPECT_EQ(table->model()->rowCount(), 1);
    window.context()->filterBox()->clear();
    click(window.context()->equalBox());
    EXPECT_EQ(table->model()->rowCount(), 3);
    EXPECT_TRUE(window.gates()->button(Gate::Environment)->accessibleName().contains(QStringLiteral("differs")));
}

TEST_F(WindowTest, StartScreenOpensTwoRuns)
{
    writeNet(folder("single"));
    writeNet(folder("ddp"));
    auto& window = makeWindow({ QStringLiteral("en"), ui::ThemeChoice::Light, true });
    auto* start = window.startScreen();
    EXPECT_EQ(window.pages()->currentWidget(), start);
    EXPECT_FALSE(start->compareButton()->isEnabled());
    EXPECT_TRUE(start->command()->text().startsWith(QStringLiteral("forkpoint-cli record ")));
    drop(start->zone(false), { 10, 10 }, { path("ddp") });
    EXPECT_EQ(start->zone(false)->path(), path("ddp"));
    EXPECT_FALSE(start->compareButton()->isEnabled());
    drop(start->zone(true), { 10, 10 }, { path("single") });
    ASSERT_TRUE(start->compareButton()->isEnabled());
    click(start->compareButton());
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_session.state() == Session::State::Ready; }, 60000));
    EXPECT_EQ(m_session.referencePath(), path("single"));
    ASSERT_EQ(ui::recentPairs().size(), 1u);
    EXPECT_EQ(ui::recentPairs()[0].candidate, path("ddp"));
    window.action(QStringLiteral("close"))->trigger();
    EXPECT_EQ(window.pages()->currentWidget(), start);
    std::filesystem::remove_all(folder("ddp"));
    EXPECT_TRUE(ui::recentPairs().empty()); // gone from the disk
    writeNet(folder("ddp"));
    EXPECT_EQ(ui::recentPairs().size(), 1u); // and back: nothing was forgotten
    // Without the suffix, and one rank of it, as the command line takes them.
    const auto bare = [this](const char* name) { return path(name).chopped(static_cast<int>(QStringLiteral(".forkpoint").size())); };
    ui::rememberPair({ bare("single"), bare("ddp") + QStringLiteral("@0"), {} });
    ASSERT_EQ(ui::recentPairs().size(), 2u);
    EXPECT_EQ(ui::recentPairs()[0].reference, bare("single"));
}

TEST_F(WindowTest, DropsOnTheWindow)
{
    auto& window = openHalved();
    writeNet(folder("other"));
    drop(window.dropOverlay(), { window.width() * 0.75, 200 }, { path("other") });
    EXPECT_EQ(m_session.candidatePath(), path("other"));
    EXPECT_EQ(m_session.referencePath(), path("single"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_session.state() == Session::State::Ready; }, 60000));
    EXPECT_EQ(m_session.comparison()->outcome()->verdict.severity, Severity::Identical);

    // Two at once: the order is asked for first.
    whenDialogOpens<ui::OpenDialog>([&](ui::OpenDialog& dialog) {
        EXPECT_EQ(dialog.referenceBox()->text(), path("single"));
        EXPECT_EQ(dialog.candidateBox()->text(), path("ddp"));
        QTest::mouseClick(dialog.swapButton(), Qt::LeftButton);
        QTest::mouseClick(dialog.compareButton(), Qt::LeftButton);
    });
    drop(window.dropOverlay(), { 100, 200 }, { path("single"), path("ddp") });
    EXPECT_EQ(m_session.referencePath(), path("ddp"));
    EXPECT_EQ(m_session.candidatePath(), path("single"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_session.state() == Session::State::Ready; }, 60000));
}

TEST_F(WindowTest, Samples)
{
    writeNet(folder("sumloss-single"));
    writeNet(folder("sumloss-ddp2"));
    const auto found = ui::samplesIn(m_folder.path());
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].name, QStringLiteral("sumloss"));
    EXPECT_FALSE(makeWindow().openSample(QStringLiteral("no such sample")));
}

TEST_F(WindowTest, ErrorsSayWhatWhereAndWhatNext)
{
    writeNet(folder("single"));
    auto& window = makeWindow();
    open("single", "missing");
    ASSERT_EQ(m_session.state(), Session::State::Failed);
    ASSERT_EQ(window.pages()->currentWidget(), window.errorPage());
    QString text = window.errorPage()->text();
    EXPECT_TRUE(text.contains(QStringLiteral("missing"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("Check the path"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("A: single, 1 rank"))) << text.toStdString(); // what could be read
    EXPECT_TRUE(text.contains(QStringLiteral("B: no run and no tensors could be read"))) << text.toStdString();

    writeNet(folder("missing"));
    click(window.errorPage()->retryButton());
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_session.state() == Session::State::Ready; }, 60000));
    EXPECT_NE(window.pages()->currentWidget(), window.errorPage());

    // A table of things that are no bundle.
    std::ofstream(m_folder.filePath(QStringLiteral("file.forkpoint")).toStdString()) << "not a bundle";
    std::filesystem::create_directory(folder("empty"));
    std::filesystem::create_directory(folder("broken"));
    std::filesystem::create_directory(folder("broken") / "rank00000");
    std::ofstream(folder("broken") / "bundle.json") << "{ \"format\": ";
    for (const char* name : { "file", "empty", "broken" }) {
        open(name, "single");
        ASSERT_EQ(m_session.state(), Session::State::Failed) << name;
        text = window.errorPage()->text();
        EXPECT_EQ(window.pages()->currentWidget(), window.errorPage()) << name;
        EXPECT_TRUE(text.contains(QLatin1String(name))) << text.toStdString();
        EXPECT_TRUE(text.contains(QStringLiteral("B: single, 1 rank"))) << text.toStdString();
    }
}

TEST_F(WindowTest, NoStepInCommon)
{
    {
        RunBuilder a(folder("single")), b(folder("ddp"));
        a.tensor(0, bundle::Phase::Start, bundle::Kind::Param, "fc", "weight", { 2 }, { 1, 2 });
        b.tensor(5, bundle::Phase::Start, bundle::Kind::Param, "fc", "weight", { 2 }, { 1, 2 });
    }
    auto& window = makeWindow();
    open();
    ASSERT_EQ(m_session.state(), Session::State::Failed);
    EXPECT_TRUE(window.errorPage()->text().contains(QStringLiteral("steps 5"))) << window.errorPage()->text().toStdString();
}

TEST_F(WindowTest, HostileNamesAreText)
{
    NetOptions options;
    const std::string longName(500, 'x');
    options.layers = { longName, "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D", "<b>bold</b><img src=x>", "tab\there\nand \x01", "a&b %1 %2 %n", "over\xE2\x80\xAEride" };
    NetOptions other = options;
    other.gradientScale = 0.5;
    writeNet(folder("single"), options);
    writeNet(folder("ddp"), other);
    auto& window = makeWindow();
    open();
    ASSERT_EQ(m_session.state(), Session::State::Ready);
    EXPECT_LT(window.minimumSizeHint().width(), 1000); // a name must not stretch the window
    const auto* model = window.pairs()->table()->model();
    QStringList names;
    for (int row = 0; row < model->rowCount(); ++row) {
        const auto index = model->index(row, ui::PairModel::Name);
        names += index.data().toString();
        EXPECT_TRUE(index.data(Qt::ToolTipRole).toString().startsWith(QStringLiteral("<qt>")));
        EXPECT_FALSE(index.data(Qt::ToolTipRole).toString().contains(QStringLiteral("<img"))) << row;
    }
    const QString all = names.join(QLatin1Char(' '));
    EXPECT_TRUE(all.contains(QStringLiteral("<b>bold</b><img src=x>.weight")));
    EXPECT_TRUE(all.contains(QStringLiteral("tab␉here␊and ␁")));
    EXPECT_TRUE(all.contains(QStringLiteral("a&b %1 %2 %n.weight")));
    EXPECT_TRUE(all.contains(QStringLiteral("over\\u202eride")));
    for (std::size_t pair = 0; pair < m_session.comparison()->pairs(); ++pair) {
        m_session.selectPair(pair);
        EXPECT_FALSE(window.details()->notes().isEmpty());
        EXPECT_LT(window.minimumSizeHint().width(), 1000);
    }
    EXPECT_FALSE(window.picture().isNull());
    EXPECT_FALSE(window.summary().isEmpty());
}

TEST_F(WindowTest, NaNEverywhere)
{
    NetOptions a, b;
    a.change = [](float) { return std::nanf(""); };
    b.change = [](float) { return std::nanf(""); };
    writeNet(folder("single"), a);
    writeNet(folder("ddp"), b);
    auto& window = makeWindow();
    open();
    ASSERT_EQ(m_session.state(), Session::State::Ready);
    EXPECT_FALSE(window.verdictBar()->headline().isEmpty());
    b.change = {};
    writeNet(folder("finite"), b);
    open("single", "finite");
    ASSERT_EQ(m_session.state(), Session::State::Ready);
    EXPECT_EQ(m_session.comparison()->outcome()->verdict.severity, Severity::Invalid);
    EXPECT_GT(window.pairs()->severityButton(Severity::Invalid)->count(), 0);
    EXPECT_TRUE(window.verdictBar()->detail().contains(QStringLiteral("NaN"))) << window.verdictBar()->detail().toStdString();
}

TEST_F(WindowTest, SmallAndOddRuns)
{
    struct Case {
        const char* name;
        std::function<void(RunBuilder&)> fill;
    };
    using bundle::Kind;
    using bundle::Phase;
    const std::vector<Case> cases {
        { "one", [](RunBuilder& run) { run.tensor(0, Phase::Forward, Kind::Output, "fc", "", { 3 }, { 1, 2, 3 }); } },
        { "zero-d", [](RunBuilder& run) { run.tensor(0, Phase::Forward, Kind::Output, "fc", "", {}, { 1 }); } },
        { "none", [](RunBuilder& run) { run.tensor(0, Phase::Forward, Kind::Output, "fc", "", { 0, 4 }, {}); } },
    };
    auto& window = makeWindow();
    for (const auto& test : cases) {
        for (const char* side : { "-a", "-b" }) {
            RunBuilder run(folder((std::string(test.name) + side).c_str()));
            test.fill(run);
        }
        open((std::string(test.name) + "-a").c_str(), (std::string(test.name) + "-b").c_str());
        ASSERT_EQ(m_session.state(), Session::State::Ready) << test.name << (m_session.error() ? m_session.error()->text() : "");
        EXPECT_EQ(window.pairs()->table()->model()->rowCount(), 1) << test.name;
        clickRow(window.pairs()->table(), 0);
        waitUntilPainted();
        EXPECT_TRUE(window.heatmap()->title().startsWith(QStringLiteral("fc | "))) << window.heatmap()->title().toStdString();
        EXPECT_EQ(window.gates()->button(Gate::Loss)->accessibleName().trimmed(), QStringLiteral("loss: not recorded")) << test.name;
        EXPECT_FALSE(window.picture().isNull());
    }
    NetOptions bare;
    bare.loss = false;
    bare.calls = false;
    writeNet(folder("bare-a"), bare);
    writeNet(folder("bare-b"), bare);
    open("bare-a", "bare-b");
    EXPECT_EQ(m_session.state(), Session::State::Ready);
}

TEST_F(WindowTest, ATornBundleIsShownWithItsProblems)
{
    writeNet(folder("single"));
    writeNet(folder("ddp"));
    const auto index = folder("ddp") / "rank00000" / "tensors.jsonl";
    std::filesystem::resize_file(index, std::filesystem::file_size(index) - 20);
    auto& window = makeWindow();
    open();
    ASSERT_EQ(m_session.state(), Session::State::Ready);
    EXPECT_TRUE(window.coverage()->text().contains(QStringLiteral("tensors.jsonl"))) << window.coverage()->text().toStdString();
    EXPECT_GT(window.pairs()->severityButton(Severity::Unmatched)->count() + window.allPairs()->severityButton(Severity::Unmatched)->count(), -1);
}

TEST_F(WindowTest, RefreshKeepsThePlace)
{
    NetOptions many;
    many.layers.clear();
    for (int i = 0; i < 60; ++i) {
        many.layers.push_back("layer" + std::to_string(i));
    }
    writeNet(folder("single"), many);
    writeNet(folder("ddp"), many);
    auto& window = makeWindow();
    open();
    auto* bar = window.pairs()->table()->verticalScrollBar();
    bar->setValue(40);
    emit m_session.resultsChanged();
    QTest::qWait(10);
    EXPECT_EQ(bar->value(), 40);
    window.pairs()->severityButton(Severity::Identical)->setChecked(true); // passes everything, but rebuilds
    QTest::qWait(10);
    EXPECT_EQ(bar->value(), 40);
}

TEST_F(WindowTest, Chinese)
{
    const auto language = ui::installLanguage(*qApp, QStringLiteral("zh_CN"));
    EXPECT_EQ(language, QStringLiteral("zh_CN"));
    NetOptions b;
    b.gradientScale = 0.5;
    writeNet(folder("single"));
    writeNet(folder("ddp"), b);
    auto& window = makeWindow({ language, ui::ThemeChoice::Light, false });
    open();
    EXPECT_EQ(window.verdictBar()->headline(), QStringLiteral("两次运行在第 0 步归约后的梯度处分叉：fc1.weight 的梯度。"));
    EXPECT_EQ(window.gates()->button(Gate::Reduce)->text(), QStringLiteral("归约"));
    EXPECT_TRUE(window.statusLine()->text().contains(QStringLiteral("已比较 28 对"))) << window.statusLine()->text().toStdString();
    m_window.reset();
    for (auto* translator : qApp->findChildren<QTranslator*>()) {
        QApplication::removeTranslator(translator);
    }
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
}

} // namespace
} // namespace forkpoint::test
