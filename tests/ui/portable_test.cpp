// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/portable/portable.h"
#include "tests/ui/window_fixture.h"
#include "ui/heatmap/element_panel.h"
#include "ui/heatmap/heatmap_view.h"
#include "ui/heatmap/slice_bar.h"
#include "ui/models/verdict_words.h"
#include "ui/window/context_view.h"
#include "ui/window/drop_overlay.h"
#include "ui/window/error_page.h"
#include "ui/window/known_runs.h"
#include "ui/window/pair_panel.h"
#include "ui/window/run_bar.h"
#include "ui/window/start_screen.h"
#include "ui/window/verdict_bar.h"

#include <QDropEvent>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QStackedWidget>
#include <QToolButton>
#include <QTreeView>

#include <filesystem>
#include <fstream>
#include <random>

// A comparison in one file, opened where its runs are not.
namespace forkpoint::test {
namespace {

using compare::KeptTensors;
using ui::Session;

class PortableWindowTest : public WindowFixture {
protected:
    QString file() const { return m_folder.filePath(QStringLiteral("halved.forkcmp")); }

    /// Writes two runs, compares them, saves that, and takes the runs away.
    void writeFile(std::uint64_t budget = portable::kUsualBudget)
    {
        NetOptions b;
        b.gradientScale = 0.5;
        writeNet(folder("single"));
        writeNet(folder("ddp"), b);
        save(budget);
    }

    void save(std::uint64_t budget)
    {
        auto a = align::openSide(folder("single").string()), c = align::openSide(folder("ddp").string());
        ASSERT_TRUE(a && c);
        const auto compared = compare::compare(std::move(*a), std::move(*c));
        ASSERT_TRUE(compared);
        m_verdict = ui::verdictDetail(*compared);
        portable::SaveOptions options;
        options.budget = budget;
        options.provenance.producer = "forkpoint-cli 9.9";
        options.provenance.a.path = "/cluster/single";
        options.provenance.b.path = "/cluster/ddp";
        const auto saved = portable::save(*compared, file().toStdString(), options);
        ASSERT_TRUE(saved) << saved.error().text();
        std::filesystem::remove_all(folder("single"));
        std::filesystem::remove_all(folder("ddp"));
    }

    void openFile()
    {
        m_session.open(file(), {});
        wait();
    }

    void wait()
    {
        ASSERT_TRUE(QTest::qWaitFor([&] { return m_session.state() == Session::State::Ready || m_session.state() == Session::State::Failed; }, 60000));
        QTest::qWait(10);
        waitUntilPainted();
    }

    std::optional<std::size_t> pairIn(KeptTensors::Form form) const
    {
        const auto& comparison = *m_session.comparison();
        for (std::size_t i = 0; i < comparison.pairs(); ++i) {
            if (comparison.structure().alignment.pairs[i].status == align::PairStatus::Matched && comparison.structure().kept->form(i, 0) == form) {
                return i;
            }
        }
        return std::nullopt;
    }

    static void drop(QWidget* target, const QPointF& at, const QString& path)
    {
        QMimeData data;
        data.setUrls({ QUrl::fromLocalFile(path) });
        QDragEnterEvent enter(at.toPoint(), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(target, &enter);
        QDropEvent event(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(target, &event);
    }

    QString m_verdict;
};

TEST_F(PortableWindowTest, OpensWithoutTheRuns)
{
    writeFile();
    auto& window = makeWindow();
    openFile();
    ASSERT_EQ(m_session.state(), Session::State::Ready) << m_session.error()->text();
    EXPECT_TRUE(m_session.isPortable());
    EXPECT_EQ(window.windowTitle(), QStringLiteral("single against ddp - Forkpoint"));
    EXPECT_EQ(window.verdictBar()->headline(), QStringLiteral("The runs fork at step 0 in the reduced gradients: gradient of fc1.weight."));
    EXPECT_EQ(ui::verdictDetail(*m_session.comparison()), m_verdict);
    EXPECT_EQ(2 * window.allPairs()->table()->model()->rowCount(), static_cast<int>(m_session.comparison()->pairs())); // those of one step of two
    EXPECT_EQ(selectedId(), "s0/reduce/grad/fc1.weight");
    // The fork's elements are there, all of them.
    EXPECT_EQ(window.heatmap()->emptyText(), QString());
    EXPECT_FALSE(window.heatmap()->elements().isHidden());
    EXPECT_TRUE(window.heatmap()->title().startsWith(QStringLiteral("fc1.weight | "))) << window.heatmap()->title().toStdString();
    m_session.pinElement(std::vector<std::int64_t> { 2, 5 });
    waitUntilPainted();
    EXPECT_TRUE(window.heatmap()->elements().pinnedText().contains(QStringLiteral("[2, 5]"))) << window.heatmap()->elements().pinnedText().toStdString();
    // It says what it is.
    const QString coverage = window.coverage()->text();
    for (const char* part : { "forkpoint-cli 9.9", "/cluster/single", "/cluster/ddp" }) {
        EXPECT_TRUE(coverage.contains(QLatin1String(part))) << coverage.toStdString();
    }
    EXPECT_TRUE(ui::coverageText(*m_session.comparison()).startsWith(QStringLiteral("portable, with"))) << ui::coverageText(*m_session.comparison()).toStdString();
    EXPECT_FALSE(window.runBar()->swapButton()->isEnabled());
    EXPECT_FALSE(window.action(QStringLiteral("swap"))->isEnabled());
    m_session.swapSides();
    EXPECT_EQ(m_session.referencePath(), file());
}

TEST_F(PortableWindowTest, SaysWhereTheElementsAreThatItLacks)
{
    writeFile();
    auto& window = makeWindow();
    openFile();
    const auto missing = pairIn(KeptTensors::Form::Nothing);
    ASSERT_TRUE(missing);
    m_session.selectPair(missing);
    waitUntilPainted();
    const QString text = window.heatmap()->emptyText();
    for (const char* part : { "not in this portable comparison", "A  single (/cluster/single)", "B  ddp (/cluster/ddp)" }) {
        EXPECT_TRUE(text.contains(QLatin1String(part))) << text.toStdString();
    }
    m_session.goToFork();
    waitUntilPainted();
    EXPECT_EQ(window.heatmap()->emptyText(), QString());
}

TEST_F(PortableWindowTest, ShowsAnOverviewOfWhatIsTooLarge)
{
    constexpr std::size_t kSide = 512;
    std::mt19937 random(1);
    std::vector<float> values(kSide * kSide);
    for (auto& value : values) {
        value = static_cast<float>(random()) * 1e-6f + 0.5f;
    }
    RunBuilder(folder("single")).tensor(0, bundle::Phase::Forward, bundle::Kind::Output, "fc", "", { kSide, kSide }, values);
    for (auto& value : values) {
        value += static_cast<float>(random()) * 1e-6f;
    }
    RunBuilder(folder("ddp")).tensor(0, bundle::Phase::Forward, bundle::Kind::Output, "fc", "", { kSide, kSide }, values);
    save(300'000);
    auto& window = makeWindow();
    window.showPanel(ui::ShownPanel::Heatmap);
    openFile();
    ASSERT_EQ(m_session.state(), Session::State::Ready);
    m_session.selectPair(pairIn(KeptTensors::Form::Picture));
    ASSERT_TRUE(m_session.selection().pair);
    waitUntilPainted();
    auto& heatmap = *window.heatmap();
    EXPECT_EQ(heatmap.emptyText(), QString());
    EXPECT_TRUE(heatmap.title().contains(QStringLiteral("overview, a cell is "))) << heatmap.title().toStdString();
    EXPECT_TRUE(heatmap.elements().isHidden());
    EXPECT_TRUE(heatmap.findChild<ui::SliceBar*>()->isHidden());
    for (const auto mode : heatmap::kModes) { // every mode, at every zoom
        heatmap.setMode(mode);
        waitUntilPainted();
        EXPECT_EQ(heatmap.emptyText(), QString());
    }
    heatmap.goToWorst();
    waitUntilPainted();
    ASSERT_TRUE(m_session.selection().element);
    for (int i = 0; i < 12; ++i) {
        heatmap.canvas().zoom(1.5);
    }
    waitUntilPainted();
    EXPECT_EQ(heatmap.emptyText(), QString());
    EXPECT_FALSE(heatmap.caption().isEmpty());
}

TEST_F(PortableWindowTest, IsDroppedAndRemembered)
{
    writeFile();
    auto& window = makeWindow({ QStringLiteral("en"), ui::ThemeChoice::Light, true });
    auto* start = window.startScreen();
    drop(start->zone(true), { 10, 10 }, file());
    wait();
    ASSERT_EQ(m_session.state(), Session::State::Ready);
    ASSERT_EQ(ui::recentPairs().size(), 1u);
    EXPECT_EQ(ui::recentPairs()[0], (ui::RunPair { file(), {}, {} }));
    EXPECT_EQ(ui::titleOf(ui::recentPairs()[0]), QStringLiteral("halved (portable)"));
    // On the whole window too, over what is open.
    QMimeData data;
    data.setUrls({ QUrl::fromLocalFile(file()) });
    QDragEnterEvent enter({ 200, 200 }, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &enter);
    EXPECT_TRUE(window.dropOverlay()->isVisible());
    window.dropOverlay()->grab();
    drop(window.dropOverlay(), { 1000, 100 }, file());
    EXPECT_EQ(m_session.state(), Session::State::Loading);
    wait();
    EXPECT_EQ(m_session.state(), Session::State::Ready);
    window.action(QStringLiteral("close"))->trigger();
    std::filesystem::remove(file().toStdString());
    EXPECT_TRUE(ui::recentPairs().empty());
    window.action(QStringLiteral("close"))->trigger();
}

TEST_F(PortableWindowTest, ADamagedFileIsExplained)
{
    writeFile();
    std::filesystem::resize_file(file().toStdString(), std::filesystem::file_size(file().toStdString()) - 100);
    auto& window = makeWindow();
    openFile();
    ASSERT_EQ(m_session.state(), Session::State::Failed);
    EXPECT_EQ(window.pages()->currentWidget(), window.errorPage());
    const QString text = window.errorPage()->text();
    EXPECT_TRUE(text.startsWith(QStringLiteral("The file ends too early"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("halved.forkcmp"))) << text.toStdString();
    std::ofstream(file().toStdString(), std::ios::trunc) << "something else";
    openFile();
    EXPECT_TRUE(window.errorPage()->text().startsWith(QStringLiteral("This is not a portable comparison")));
}

} // namespace
} // namespace forkpoint::test
