// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
//
// How long the curves of two runs of a million steps take to draw. Target: under 15 ms for a full repaint of two curves.
//
//     QT_QPA_PLATFORM=offscreen bench_ui_curves
#include "ui/curves/curve_plot.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QElapsedTimer>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <functional>
#include <random>
#include <vector>

using namespace forkpoint;

namespace {

curves::Overlay noisyLosses(int steps)
{
    std::mt19937 bits(1);
    std::normal_distribution<double> noise(0, 0.1);
    curves::Overlay out;
    out.name = "loss";
    for (int step = 0; step < steps; ++step) {
        const double trend = 2 + 3 * std::exp(-5.0 * step / steps);
        out.a.push_back({ step, trend + noise(bits) });
        out.b.push_back({ step, trend + noise(bits) });
    }
    return out;
}

void measure(const char* what, const std::function<void()>& work)
{
    std::vector<double> wall, cpu;
    for (int i = 0; i < 21; ++i) {
        QElapsedTimer timer;
        timer.start();
        const std::clock_t begun = std::clock(); // of all threads: on a busy machine the wall clock says little
        work();
        cpu.push_back(1e3 * static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC);
        wall.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
    }
    std::sort(wall.begin(), wall.end());
    std::sort(cpu.begin(), cpu.end());
    fmt::print("{:<44} wall: median {:7.2f} ms, best {:7.2f}   cpu: median {:7.2f} ms, best {:7.2f}\n", what, wall[wall.size() / 2],
        wall.front(), cpu[cpu.size() / 2], cpu.front());
}

} // namespace

int main(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    ui::applyTheme(app, ui::ThemeChoice::Light);
    const auto overlay = noisyLosses(1'000'000);
    ui::CurvePlot plot;
    plot.resize(1000, 500);
    plot.show();
    const auto show = [&](const curves::Overlay& curve, const ui::CurveOptions& options) {
        plot.setCurve(ui::plotted(curve, options), QStringLiteral("loss"), options);
        plot.fit();
        plot.replot();
        QCoreApplication::processEvents();
    };
    const auto replot = [&] { plot.replot(QCustomPlot::rpImmediateRefresh); };

    curves::Overlay apart = overlay; // no common step: two curves and no difference
    for (auto& point : apart.b) {
        point.step += 1'000'000;
    }
    show(apart, {});
    measure("two curves of 1M points, full repaint", replot);
    show(overlay, {});
    measure("the same and their difference", replot);
    ui::CurveOptions smoothed;
    smoothed.smoothing = 0.99;
    show(overlay, smoothed);
    measure("all three smoothed, raw lines below", replot);
    ui::CurveOptions barely;
    barely.smoothing = 0.2;
    show(overlay, barely);
    measure("barely smoothed", replot);
    ui::CurveOptions log;
    log.logValues = log.logDifference = true;
    show(overlay, log);
    measure("log axes", replot);
    show(overlay, {});
    measure("zoomed to 1000 points", [&] {
        plot.stepAxis()->setRange(500'000, 501'000);
        replot();
    });
    int step = 0;
    measure("crosshair moves", [&] {
        step += 60;
        plot.setCrosshair(500'000 + step, 2.0, 2.1);
        plot.repaint();
    });
    measure("making 1M points ready (worker)", [&] { ui::plotted(overlay, smoothed); });
    return 0;
}
