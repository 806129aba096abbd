// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QTest>

#include <algorithm>
#include <fmt/format.h>
#include <vector>

// What a user waits for: from the start to a painted window with both runs compared, and from a selection to all views painted. Arguments: two
// bundles, else the sample of a summed loss. The window is painted off screen, in software, as `QWidget::grab` would.
using namespace forkpoint;

namespace {

bool waitUntilPainted(ui::MainWindow& window)
{
    return QTest::qWaitFor([&] { return !window.isBusy(); }, 60000);
}

double milliseconds(const QElapsedTimer& timer) { return static_cast<double>(timer.nsecsElapsed()) / 1e6; }

} // namespace

int main(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QElapsedTimer start;
    start.start();
    QApplication app(argc, argv);
    const bool given = argc > 2;
    const QString samples = QStringLiteral(FORKPOINT_SAMPLES);
    ui::applyTheme(app, ui::ThemeChoice::Light);
    ui::JobRunner jobs;
    ui::Session session(jobs);
    ui::MainWindow window(session, { QStringLiteral("en"), ui::ThemeChoice::Light, false });
    window.resize(1600, 1000);
    window.openRuns(given ? ui::RunPair { QString::fromLocal8Bit(argv[1]), QString::fromLocal8Bit(argv[2]), {} }
                          : ui::RunPair { samples + QStringLiteral("/sumloss-single.forkpoint"), samples + QStringLiteral("/sumloss-ddp2.forkpoint"), {} });
    window.show();
    if (!QTest::qWaitFor([&] { return session.state() == ui::Session::State::Ready || session.state() == ui::Session::State::Failed; }, 60000)
        || session.state() == ui::Session::State::Failed || !waitUntilPainted(window)) {
        fmt::print(stderr, "the runs could not be compared\n");
        return 1;
    }
    window.grab();
    fmt::print("start to painted window: {:.0f} ms ({} pairs)\n", milliseconds(start), session.comparison()->pairs());

    std::vector<double> times;
    session.goToFork();
    waitUntilPainted(window);
    for (int i = 0; i < 40 && session.nextDivergence(1); ++i) {
        QElapsedTimer timer;
        timer.start();
        session.goToDivergence(1);
        while (window.isBusy()) {
            QApplication::processEvents(QEventLoop::AllEvents, 1);
        }
        window.grab();
        times.push_back(milliseconds(timer));
    }
    std::sort(times.begin(), times.end());
    if (!times.empty()) {
        fmt::print("selection to all views painted, {} times: median {:.1f} ms, largest {:.1f} ms (a grab of the whole window included)\n", times.size(),
                   times[times.size() / 2], times.back());
    }
    return 0;
}
