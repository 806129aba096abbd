// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
//
// How long a frame of the heatmap of 8192 x 8192 elements takes at 1600 x 1000. Target: under 16 ms to pan, zoom and flip.
//
//     QT_QPA_PLATFORM=offscreen bench_ui_heatmap
#include "core/tensor/composed_sources.h"
#include "ui/heatmap/heatmap_canvas.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QElapsedTimer>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <functional>
#include <vector>

using namespace forkpoint;

namespace {

constexpr std::int64_t kSide = 8192;

TensorSourcePtr tensor(float factor)
{
    std::vector<std::byte> bytes(static_cast<std::size_t>(kSide * kSide) * sizeof(float));
    auto* values = reinterpret_cast<float*>(bytes.data());
    std::uint32_t bits = 1;
    for (std::int64_t i = 0; i < kSide * kSide; ++i) {
        bits = bits * 1664525u + 1013904223u;
        values[i] = (static_cast<float>(bits >> 8) / 8388608.0f - 1) * factor;
    }
    auto source = memorySource(DType::Float32, { kSide, kSide }, std::move(bytes));
    return source ? *source : nullptr;
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
    fmt::print("{:<44} wall: median {:7.2f} ms, best {:7.2f}   cpu: median {:7.2f} ms, best {:7.2f}\n", what, wall[wall.size() / 2], wall.front(),
               cpu[cpu.size() / 2], cpu.front());
}

} // namespace

int main(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    ui::applyTheme(app, ui::ThemeChoice::Light);
    const auto a = tensor(1), b = tensor(1.0001f);
    QElapsedTimer timer;
    timer.start();
    auto built = a && b ? heatmap::Pyramid::build(a, b, heatmap::overviewAxes(a->shape())) : fail(ErrorCode::Unreadable, "no tensors");
    if (!built) {
        fmt::print("{}\n", built.error().text());
        return 1;
    }
    fmt::print("building the pyramid (worker)                {:7.0f} ms\n", static_cast<double>(timer.nsecsElapsed()) / 1e6);
    timer.start();
    const auto histogram = heatmap::histogramOf(**built, heatmap::Mode::AbsDifference);
    fmt::print("histogram of |B - A| (worker)                {:7.0f} ms\n", static_cast<double>(timer.nsecsElapsed()) / 1e6);

    ui::JobRunner jobs;
    ui::HeatmapCanvas canvas(jobs, QStringLiteral("bench"));
    canvas.resize(1600, 1000);
    canvas.show();
    canvas.setPyramid(*built);
    heatmap::Style style;
    style.normalisation.range = { 0, 1e-4 };
    canvas.setLook(style);
    QCoreApplication::processEvents();
    // What a frame costs the UI thread: jobs that refine it are stopped, not waited for.
    const auto frame = [&] {
        canvas.repaint();
        jobs.cancelAll();
    };
    measure("whole, full repaint", [&] {
        style.normalisation.range.high *= 1.001;
        canvas.setLook(style);
        frame();
    });
    measure("nothing new, repaint of marks", frame);
    auto view = canvas.canvasView();
    view.fitted = false;
    for (const double elements : { 8.0, 4.0, 2.0, 1.0, 0.25, 0.02 }) {
        view.rowsPerPixel = view.columnsPerPixel = elements;
        measure(fmt::format("pan, {} elements to a pixel", elements).c_str(), [&] {
            view.row = 4096 + std::fmod(view.row + 7 * elements, 64.0);
            view.column = 4096 + std::fmod(view.column + 11 * elements, 64.0);
            canvas.setCanvasView(view);
            frame();
        });
    }
    view.rowsPerPixel = view.columnsPerPixel = 8;
    measure("zoom", [&] {
        view.rowsPerPixel = view.columnsPerPixel = view.rowsPerPixel / 1.3;
        if (view.rowsPerPixel < 0.05) {
            view.rowsPerPixel = view.columnsPerPixel = 8;
        }
        canvas.setCanvasView(view);
        frame();
    });
    canvas.fit();
    measure("flip", [&] {
        style.mode = style.mode == heatmap::Mode::A ? heatmap::Mode::B : heatmap::Mode::A;
        style.normalisation.range = { -1, 1 };
        canvas.setLook(style);
        frame();
    });
    return 0;
}
