// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ui/window_fixture.h"

#include "core/portable/portable.h"
#include "ui/curves/curve_plot.h"
#include "ui/curves/curves_view.h"
#include "ui/graph/graph_view.h"
#include "ui/heatmap/heatmap_view.h"
#include "ui/window/error_page.h"
#include "ui/window/gate_strip.h"
#include "ui/window/known_runs.h"
#include "ui/window/log_panel.h"
#include "ui/window/open_dialog.h"
#include "ui/window/pair_panel.h"
#include "ui/window/start_screen.h"
#include "ui/window/status_line.h"
#include "ui/window/verdict_bar.h"

#include <QClipboard>
#include <QComboBox>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTabBar>
#include <QTabWidget>
#include <QToolButton>
#include <QTreeView>
#include <QUrl>

#include <fmt/format.h>
#include <fstream>

// Two logs in the window: CSV, TensorBoard, trainer_state.json, text of a terminal, and a recorded run beside a log.
namespace forkpoint::test {
namespace {

using ui::Session;
using Role = ui::RunChip::Role;

const QString kLoss = QStringLiteral(FORKPOINT_TEST_DATA "/loss/");

class LogsTest : public WindowFixture {
protected:
    void openPaths(const QString& a, const QString& b, const QString& noise = {})
    {
        m_session.open(a, b, noise);
        settle();
    }
    void settle()
    {
        ASSERT_TRUE(QTest::qWaitFor([&] { return m_session.state() == Session::State::Ready || m_session.state() == Session::State::Failed; }, 60000));
        QTest::qWait(10); // what was queued for after the verdict
    }
    ui::MainWindow& openCsv()
    {
        auto& window = makeWindow();
        openPaths(kLoss + "loss_A.csv", kLoss + "loss_B.csv");
        EXPECT_EQ(m_session.state(), Session::State::Ready) << (m_session.error() ? m_session.error()->text() : "");
        return window;
    }
    QString write(const char* name, const std::string& text)
    {
        const QString path = m_folder.filePath(QString::fromLatin1(name));
        std::ofstream(path.toStdString(), std::ios::binary) << text;
        return path;
    }
    static QStringList column(const ui::MainWindow& window, int at)
    {
        QStringList out;
        const auto* rows = window.logs()->table()->model();
        for (int row = 0; row < rows->rowCount(); ++row) {
            out += rows->index(row, at).data().toString();
        }
        return out;
    }
};

TEST_F(LogsTest, TheCurvesStandAlone)
{
    auto& window = openCsv();
    EXPECT_FALSE(m_session.comparison());
    ASSERT_TRUE(m_session.logs());
    EXPECT_TRUE(window.curves()->isVisible());
    EXPECT_TRUE(window.logs()->isVisible());
    EXPECT_TRUE(window.verdictBar()->isVisible());
    for (const QWidget* part : { static_cast<QWidget*>(window.graph()), static_cast<QWidget*>(window.heatmap()), static_cast<QWidget*>(window.pairs()),
                                 static_cast<QWidget*>(window.gates()), static_cast<QWidget*>(window.runBar()->stepBox()),
                                 static_cast<QWidget*>(window.runBar()->chip(Role::Noise)), static_cast<QWidget*>(window.tabs()->tabBar()) }) {
        EXPECT_FALSE(part->isVisible()) << part->metaObject()->className();
    }
    EXPECT_EQ(window.windowTitle(), QStringLiteral("loss_A.csv against loss_B.csv - Forkpoint"));
    EXPECT_TRUE(window.runBar()->chip(Role::Reference)->accessibleName().contains(QStringLiteral("loss_A.csv CSV")));

    // Runs bring the other panels back.
    writeNet(folder("single"));
    open("single", "single");
    EXPECT_FALSE(m_session.logs());
    EXPECT_FALSE(window.logs()->isVisible());
    EXPECT_TRUE(window.graph()->isVisible());
    EXPECT_TRUE(window.pairs()->isVisible());
    EXPECT_TRUE(window.gates()->isVisible());
    EXPECT_TRUE(window.tabs()->tabBar()->isVisible());
    EXPECT_TRUE(window.runBar()->stepBox()->isVisible());
    EXPECT_TRUE(window.action(QStringLiteral("view-graph"))->isEnabled());
}

TEST_F(LogsTest, TheSentenceSaysWhatTheCommandLineSays)
{
    auto& window = openCsv();
    EXPECT_EQ(window.verdictBar()->headline(), QStringLiteral("grad_norm departs first, at step 0: A 0.7517711, B 0.7519602."));
    EXPECT_EQ(window.verdictBar()->detail(), QStringLiteral("grad_norm: largest relative difference 0.00296 at step 14, over 40 common step(s). loss agrees. "
                                                            "1 of 3 common curves depart."));
    EXPECT_EQ(column(window, 0), QStringList({ QStringLiteral("loss"), QStringLiteral("grad_norm"), QStringLiteral("lr") }));
    EXPECT_EQ(column(window, 1), QStringList({ QStringLiteral("–"), QStringLiteral("0"), QStringLiteral("–") }));
    EXPECT_EQ(column(window, 3), QStringList({ QStringLiteral("40"), QStringLiteral("40"), QStringLiteral("40") }));
    EXPECT_TRUE(window.statusLine()->text().contains(QStringLiteral("tolerance 0.00019 or the last written digit"))) << window.statusLine()->text().toStdString();
    openPaths(kLoss + "loss_A.jsonl", kLoss + "tb_A");
    EXPECT_EQ(window.verdictBar()->headline(), QStringLiteral("All 2 common curves agree."));
    EXPECT_TRUE(window.logs()->notes().isEmpty());
    openPaths(kLoss + "hf_A", kLoss + "hf_B");
    EXPECT_TRUE(window.verdictBar()->headline().startsWith(QStringLiteral("learning_rate departs first, at step 1")));
    EXPECT_TRUE(window.verdictBar()->detail().contains(QStringLiteral("loss departs at step 2."))) << window.verdictBar()->detail().toStdString();
    EXPECT_EQ(window.logs()->notes(), QStringLiteral("A: 3 values are of a step that was there before: the last one counts\n"
                                                     "B: 3 values are of a step that was there before: the last one counts"));
}

TEST_F(LogsTest, OneCurveAndValuesThatAreNotFinite)
{
    auto& window = makeWindow();
    const auto a = write("a.csv", "step,loss\n0,2\n1,1.5\n2,1.25\n3,1.125\n"), b = write("b.csv", "step,loss\n0,2\n1,1.5\n2,nan\n3,inf\n");
    openPaths(a, a);
    EXPECT_EQ(window.verdictBar()->headline(), QStringLiteral("loss agrees over 4 common step(s)."));
    openPaths(a, b);
    EXPECT_EQ(window.verdictBar()->headline(), QStringLiteral("loss departs at step 2: A 1.25, B NaN."));
    EXPECT_TRUE(window.verdictBar()->detail().startsWith(QStringLiteral("loss: no difference of finite values"))) << window.verdictBar()->detail().toStdString();
    EXPECT_TRUE(window.curves()->notes().contains(QStringLiteral("B: 1 NaN, 1 Inf"))) << window.curves()->notes().toStdString();
    EXPECT_EQ(window.curves()->plot().onsetLabel(), QStringLiteral("onset: step 2"));
    EXPECT_EQ(window.curves()->readout(), QStringLiteral("step 2: A 1.25, B NaN, B - A NaN"));
}

TEST_F(LogsTest, ListAndPlotShareTheScalar)
{
    auto& window = openCsv();
    auto* table = window.logs()->table();
    EXPECT_EQ(window.curves()->scalar(), QStringLiteral("grad_norm")) << "what the sentence is about";
    EXPECT_EQ(table->currentIndex().row(), 1);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(table->model()->index(2, 0)).center());
    EXPECT_EQ(window.curves()->scalar(), QStringLiteral("lr"));
    auto* box = window.curves()->findChild<QComboBox*>(QStringLiteral("scalars"));
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Home);
    EXPECT_EQ(window.curves()->scalar(), QStringLiteral("loss"));
    EXPECT_EQ(table->currentIndex().row(), 0);
    EXPECT_EQ(table->selectionModel()->selectedRows().size(), 1);
    // Who looks at the loss looks at the loss of the next logs.
    openPaths(kLoss + "hf_A", kLoss + "hf_B");
    EXPECT_EQ(window.curves()->scalar(), QStringLiteral("loss"));
    EXPECT_EQ(table->currentIndex().row(), 1);
}

TEST_F(LogsTest, ArrowsReadStepByStep)
{
    auto& window = openCsv();
    auto& plot = window.curves()->plot();
    EXPECT_TRUE(plot.hasFocus());
    EXPECT_TRUE(window.curves()->readout().startsWith(QStringLiteral("step 0: A 0.751771")));
    QTest::keyClick(&plot, Qt::Key_Right);
    QTest::keyClick(&plot, Qt::Key_Right);
    EXPECT_TRUE(window.curves()->readout().startsWith(QStringLiteral("step 2:"))) << window.curves()->readout().toStdString();
    QTest::keyClick(&plot, Qt::Key_Left);
    EXPECT_TRUE(window.curves()->readout().startsWith(QStringLiteral("step 1:"))) << window.curves()->readout().toStdString();
    for (int i = 0; i < 50; ++i) {
        QTest::keyClick(&plot, Qt::Key_Right);
    }
    EXPECT_TRUE(window.curves()->readout().startsWith(QStringLiteral("step 39:"))) << "it stays at the end";
}

TEST_F(LogsTest, ACurveOfOneSideOnly)
{
    auto& window = makeWindow();
    openPaths(write("a.csv", "step,loss,acc\n0,2,1\n1,1.5,1\n"), write("b.jsonl", "{\"step\": 0, \"train/loss\": 2.0}\n{\"step\": 1, \"train/loss\": 1.5}\n"));
    ASSERT_EQ(m_session.state(), Session::State::Ready) << m_session.error()->text();
    EXPECT_EQ(column(window, 0), QStringList({ QStringLiteral("loss"), QStringLiteral("acc") }));
    EXPECT_EQ(column(window, 3), QStringList({ QStringLiteral("2"), QStringLiteral("only in A") }));
    EXPECT_EQ(window.curves()->findChild<QLabel*>(QStringLiteral("definition"))->text(), QStringLiteral("in B: train/loss"));
    m_session.selectCurve(QStringLiteral("acc"));
    EXPECT_TRUE(window.curves()->notes().contains(QStringLiteral("B does not have this scalar"))) << window.curves()->notes().toStdString();
    EXPECT_TRUE(window.runBar()->chip(Role::Candidate)->accessibleName().contains(QStringLiteral("b.jsonl JSON lines")));
}

TEST_F(LogsTest, ARecordedRunAgainstALog)
{
    writeNet(folder("single"));
    auto& window = makeWindow();
    const auto log = write("train.log", "step 0 loss 2.0000\nstep 1 loss 1.0000\n");
    for (const bool swapped : { false, true }) {
        openPaths(swapped ? log : path("single"), swapped ? path("single") : log);
        ASSERT_EQ(m_session.state(), Session::State::Ready) << m_session.error()->text();
        EXPECT_TRUE(m_session.logs());
        EXPECT_EQ(window.verdictBar()->headline(), QStringLiteral("loss agrees over 2 common step(s)."));
        EXPECT_TRUE(window.runBar()->chip(swapped ? Role::Candidate : Role::Reference)->accessibleName().contains(QStringLiteral("recorded run")));
    }
}

TEST_F(LogsTest, WhatMakesNoSenseIsDisabledAndTheRestWorks)
{
    auto& window = openCsv();
    for (const char* name : { "next-divergence", "previous-divergence", "fork", "next-step", "previous-step", "filter", "all-gates", "view-graph", "view-heatmap",
                              "view-pairs", "view-context" }) {
        EXPECT_FALSE(window.action(QString::fromLatin1(name))->isEnabled()) << name;
    }
    for (const char* name : { "open", "swap", "close", "copy-summary", "copy-picture", "screenshot", "view-all", "view-curves" }) {
        EXPECT_TRUE(window.action(QString::fromLatin1(name))->isEnabled()) << name;
    }
    window.action(QStringLiteral("copy-summary"))->trigger();
    const QString summary = QApplication::clipboard()->text();
    EXPECT_TRUE(summary.startsWith(QStringLiteral("grad_norm departs first, at step 0"))) << summary.toStdString();
    EXPECT_TRUE(summary.contains(QStringLiteral("\nA: loss_A.csv (CSV, 3 curve(s))\n"))) << summary.toStdString();
    EXPECT_TRUE(summary.contains(QStringLiteral("\nlr: agrees, equal over 40 common step(s)"))) << summary.toStdString();
    window.action(QStringLiteral("view-curves"))->trigger();
    EXPECT_FALSE(window.logs()->isVisible());
    EXPECT_TRUE(window.curves()->isVisible());
    EXPECT_TRUE(window.action(QStringLiteral("view-curves"))->isChecked());
    window.action(QStringLiteral("view-all"))->trigger();
    EXPECT_TRUE(window.logs()->isVisible());
    EXPECT_TRUE(window.action(QStringLiteral("view-all"))->isChecked());
    window.action(QStringLiteral("copy-picture"))->trigger();
    EXPECT_GT(QApplication::clipboard()->image().height(), window.height()) << "with its caption";
    EXPECT_TRUE(window.curves()->caption().startsWith(
        QStringLiteral("A loss_A.csv, B loss_B.csv  ·  grad_norm  ·  tolerance 0.00019 or the last written digit  ·  Forkpoint ")))
        << window.curves()->caption().toStdString();
    window.action(QStringLiteral("swap"))->trigger();
    settle();
    EXPECT_EQ(m_session.logs()->a.name, "loss_B.csv");
    window.action(QStringLiteral("close"))->trigger();
    EXPECT_EQ(m_session.state(), Session::State::Empty);
    EXPECT_FALSE(m_session.logs());
    EXPECT_EQ(window.pages()->currentWidget(), window.startScreen());
}

TEST_F(LogsTest, ViewsThatLogsDoNotHaveShowTheWhole)
{
    auto& window = makeWindow();
    window.showPanel(ui::ShownPanel::Graph);
    openPaths(kLoss + "loss_A.csv", kLoss + "loss_B.csv");
    EXPECT_TRUE(window.curves()->isVisible());
    EXPECT_TRUE(window.logs()->isVisible());
    EXPECT_FALSE(window.graph()->isVisible());
    EXPECT_TRUE(window.action(QStringLiteral("view-all"))->isChecked());
    m_session.close();
    writeNet(folder("single"));
    open("single", "single");
    EXPECT_TRUE(window.graph()->isVisible()) << "what was asked for";
    EXPECT_FALSE(window.pairs()->isVisible());
}

TEST_F(LogsTest, DroppedOpenedAndRemembered)
{
    auto& window = makeWindow({ QStringLiteral("en"), ui::ThemeChoice::Light, true });
    for (const bool reference : { true, false }) {
        auto* zone = window.startScreen()->zone(reference);
        QMimeData data;
        data.setUrls({ QUrl::fromLocalFile(kLoss + (reference ? "loss_A.csv" : "loss_B.csv")) });
        QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(zone, &enter);
        QDropEvent event({ 10, 10 }, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(zone, &event);
    }
    QTest::mouseClick(window.startScreen()->compareButton(), Qt::LeftButton);
    settle();
    EXPECT_TRUE(m_session.logs());
    ASSERT_EQ(ui::recentPairs().size(), 1u);
    EXPECT_EQ(ui::titleOf(ui::recentPairs()[0]), QStringLiteral("loss_A against loss_B"));
    EXPECT_EQ(ui::recentPairs()[0].candidate, kLoss + "loss_B.csv");
    // The dialog, with two files dropped on the window.
    whenDialogOpens<ui::OpenDialog>([&](ui::OpenDialog& dialog) {
        EXPECT_EQ(dialog.runs().candidate, kLoss + "hf_B");
        QTest::mouseClick(dialog.compareButton(), Qt::LeftButton);
    });
    emit window.startScreen()->bothDropped(kLoss + "hf_A", kLoss + "hf_B");
    settle();
    EXPECT_EQ(m_session.logs()->a.format, "trainer_state.json");
    EXPECT_EQ(ui::recentPairs().size(), 2u);
}

TEST_F(LogsTest, ErrorsSayWhichFileAndWhy)
{
    writeNet(folder("single"));
    auto& window = makeWindow();
    const QString tensors = QStringLiteral(FORKPOINT_TEST_DATA "/plain/checkpoint_A_single/model.pt");
    const struct {
        QString a, b;
        ErrorCode code;
        QStringList parts;
    } cases[] {
        { kLoss + "loss_A.csv", tensors, ErrorCode::Usage, { QStringLiteral("loss_A.csv is a log (CSV) and"), QStringLiteral("model.pt holds tensors"), QStringLiteral("Open two logs") } },
        { kLoss + "loss_A.csv", m_folder.filePath(QStringLiteral("gone.csv")), ErrorCode::NotFound, { QStringLiteral("gone.csv") } },
        { kLoss + "loss_A.csv", write("prose.txt", "Nothing happened today.\n"), ErrorCode::NotABundle, { QStringLiteral("prose.txt"), QStringLiteral(".safetensors"), QStringLiteral("CSV with a header") } },
        { kLoss + "loss_A.csv", write("x.csv", "step,other\n1,2\n"), ErrorCode::Usage, { QStringLiteral("no curve of one name has a step in common"), QStringLiteral("other") } },
        { kLoss + "loss_A.csv", write("cut.json", "{\"log_history\": [{\"loss\": 1"), ErrorCode::Corrupt, { QStringLiteral("cut.json"), QStringLiteral("was it cut?") } },
    };
    for (const auto& each : cases) {
        openPaths(each.a, each.b);
        ASSERT_EQ(m_session.state(), Session::State::Failed) << each.b.toStdString();
        EXPECT_EQ(m_session.error()->code, each.code) << m_session.error()->text();
        EXPECT_EQ(window.pages()->currentWidget(), window.errorPage());
        for (const auto& part : each.parts) {
            EXPECT_TRUE(window.errorPage()->text().contains(part)) << window.errorPage()->text().toStdString();
        }
        EXPECT_FALSE(m_session.logs());
    }
    openPaths(kLoss + "loss_A.csv", kLoss + "loss_B.csv", path("single"));
    EXPECT_EQ(m_session.error()->code, ErrorCode::Usage) << "a noise run";
}

TEST_F(LogsTest, AMillionLinesAreReadOffTheUiThread)
{
    const auto lines = [](double factor) {
        std::string text = "step,loss\n";
        for (int step = 0; step < 1'000'000; ++step) {
            fmt::format_to(std::back_inserter(text), "{},{:.6g}\n", step, (step == 900'000 ? factor : 1) / (1 + 1e-5 * step));
        }
        return text;
    };
    const auto a = write("a.csv", lines(1)), b = write("b.csv", lines(2));
    auto& window = makeWindow();
    m_session.open(a, b);
    EXPECT_EQ(m_session.state(), Session::State::Loading) << "open() does not wait";
    settle();
    ASSERT_EQ(m_session.state(), Session::State::Ready);
    waitUntilPainted();
    EXPECT_EQ(window.curves()->plot().graph("a")->dataCount(), 1'000'000);
    EXPECT_TRUE(window.verdictBar()->headline().startsWith(QStringLiteral("loss departs at step 900,000"))) << window.verdictBar()->headline().toStdString();
    // While the worker prepares another smoothing, the logs may be closed: it keeps what it reads.
    m_session.selectCurve(QStringLiteral("loss"));
    m_session.close();
    waitUntilPainted();
    // Loading can be stopped.
    m_session.open(a, b);
    m_session.cancel();
    EXPECT_EQ(m_session.state(), Session::State::Empty);
    EXPECT_TRUE(QTest::qWaitFor([&] { return m_jobs.workersBusy() == 0; }, 30000));
}

TEST_F(LogsTest, HostileNamesAreText)
{
    auto& window = makeWindow();
    const std::string name = "<b>lo\x1bss</b>\xe2\x80\xae%1" + std::string(300, 'x');
    openPaths(write("a.csv", "step," + name + "\n0,1\n1,2\n"), write("b.csv", "step," + name + "\n0,1\n1,9\n"));
    ASSERT_EQ(m_session.state(), Session::State::Ready) << m_session.error()->text();
    EXPECT_FALSE(window.verdictBar()->headline().contains(QChar(0x202e)));
    EXPECT_TRUE(window.verdictBar()->headline().contains(QStringLiteral("<b>lo"))) << "shown as it is";
    EXPECT_LT(window.verdictBar()->headline().size(), 200);
    EXPECT_TRUE(window.verdictBar()->headline().contains(QStringLiteral("at step 1: A 2, B 9"))) << window.verdictBar()->headline().toStdString();
    EXPECT_FALSE(window.summary().contains(QChar(0x202e)));
}

} // namespace
} // namespace forkpoint::test
