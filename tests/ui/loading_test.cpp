// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ui/window_fixture.h"

#include "ui/window/pair_panel.h"
#include "ui/window/verdict_bar.h"

#include <QElapsedTimer>
#include <QLineEdit>
#include <QTreeView>

#include <ctime>

// A large bundle must not block the window. Prints what it measures; the budget is 50 ms.
namespace forkpoint::test {
namespace {

double threadMilliseconds()
{
    timespec t {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

/// The longest time between two turns of the event loop, by the clock and by what this thread computed: on a machine that is shared, the
/// clock also counts the others.
class Watchdog : public QObject {
public:
    Watchdog()
    {
        m_wall.start();
        m_cpu = threadMilliseconds();
        startTimer(0);
    }
    double longestWall = 0, longestCpu = 0;

protected:
    void timerEvent(QTimerEvent*) override
    {
        const double cpu = threadMilliseconds();
        longestWall = std::max(longestWall, 1e-6 * static_cast<double>(m_wall.nsecsElapsed()));
        longestCpu = std::max(longestCpu, cpu - m_cpu);
        m_wall.restart();
        m_cpu = cpu;
    }

private:
    QElapsedTimer m_wall;
    double m_cpu = 0;
};

void writeLarge(const std::filesystem::path& folder, int pairs, float scale)
{
    using bundle::Kind;
    using bundle::Phase;
    RunBuilder run(folder);
    const int each = pairs / 5;
    const auto name = [](int i) { return "blocks." + std::to_string(i / 8) + ".part" + std::to_string(i % 8); };
    const auto fill = [&](Phase phase, Kind kind, const char* param, float factor) {
        for (int i = 0; i < each; ++i) {
            run.tensor(0, phase, kind, name(i), param, { 2, 2 }, { factor, 0.5f * factor + static_cast<float>(i), 2, 1 });
        }
    };
    fill(Phase::Start, Kind::Param, "weight", 1);
    fill(Phase::Forward, Kind::Output, "", 1);
    fill(Phase::Backward, Kind::Grad, "weight", 1);
    fill(Phase::Reduce, Kind::Grad, "weight", scale);
    fill(Phase::Optimizer, Kind::Param, "weight", scale);
}

class LoadingTest : public WindowFixture { };

TEST_F(LoadingTest, TenThousandPairsNeverBlockTheWindow)
{
    constexpr int kPairs = 10000;
    writeLarge(folder("single"), kPairs, 1);
    writeLarge(folder("ddp"), kPairs, 0.5f);
    auto& window = makeWindow();
    {
        Watchdog watchdog;
        QElapsedTimer timer;
        timer.start();
        open();
        ASSERT_EQ(m_session.state(), ui::Session::State::Ready);
        std::printf("loading %d pairs: %lld ms; event loop blocked at most %.1f ms (own work %.1f ms; budget 50 ms)\n", kPairs,
                    static_cast<long long>(timer.elapsed()), watchdog.longestWall, watchdog.longestCpu);
    }
    EXPECT_EQ(m_session.comparison()->pairs(), static_cast<std::size_t>(kPairs));
    EXPECT_EQ(window.pairs()->table()->model()->rowCount(), kPairs);
    {
        Watchdog watchdog;
        QTest::keyClicks(window.pairs()->filterBox(), QStringLiteral("part3.w"), Qt::NoModifier, 5);
        std::printf("filtering: blocked at most %.1f ms (own work %.1f ms)\n", watchdog.longestWall, watchdog.longestCpu);
        EXPECT_EQ(window.pairs()->table()->model()->rowCount(), kPairs / 8 / 5 * 4);
        window.pairs()->filterBox()->clear();
    }
    {
        Watchdog watchdog;
        for (int i = 0; i < 20; ++i) {
            QTest::keyClick(&window, Qt::Key_F8, Qt::NoModifier, 5);
        }
        std::printf("F8: blocked at most %.1f ms (own work %.1f ms)\n", watchdog.longestWall, watchdog.longestCpu);
    }
    {
        Watchdog watchdog;
        window.allPairs()->table()->sortByColumn(ui::PairModel::Ratio, Qt::DescendingOrder);
        QTest::qWait(30);
        std::printf("sorting: blocked at most %.1f ms (own work %.1f ms)\n", watchdog.longestWall, watchdog.longestCpu);
    }
    {
        Watchdog watchdog;
        m_session.close();
        QTest::qWait(30);
        std::printf("closing: blocked at most %.1f ms (own work %.1f ms)\n", watchdog.longestWall, watchdog.longestCpu);
    }
}

} // namespace
} // namespace forkpoint::test
