// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/align/side.h"
#include "core/compare/compare.h"
#include "tests/ui/graph_run.h"
#include "ui/graph/graph_painter.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QTemporaryDir>

#include <algorithm>
#include <fmt/format.h>
#include <functional>

// What the graph view of a 20,000-node union graph costs: layout, recolouring, and full repaints at several zooms. Argument: number of nodes.
using namespace forkpoint;

namespace {

double best(const std::function<void()>& run)
{
    double least = 1e9;
    for (int i = 0; i < 9; ++i) {
        QElapsedTimer timer;
        timer.start();
        run();
        least = std::min(least, static_cast<double>(timer.nsecsElapsed()) / 1e6);
    }
    return least;
}

} // namespace

int main(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    constexpr int kNodesPerBlock = 9;
    const int wanted = argc > 1 ? std::atoi(argv[1]) : 20000;
    const QTemporaryDir folder;
    const std::filesystem::path root(folder.path().toStdString());
    test::GraphShape shape;
    shape.blocks = wanted / kNodesPerBlock;
    test::GraphRun(root / "a.forkpoint", shape);
    shape.differsFrom = fmt::format("layers.{}.ff.up", shape.blocks / 2);
    shape.extra = "probe";
    test::GraphRun(root / "b.forkpoint", shape);
    const auto open = [&](const char* name) { return align::openSide((root / name).string()).value(); };
    const auto comparison = compare::compare(open("a.forkpoint"), open("b.forkpoint")).value();
    std::shared_ptr<const graph::UnionGraph> graph;
    fmt::print("union graph {:.1f} ms\n", best([&] {
        graph = std::make_shared<const graph::UnionGraph>(graph::unionGraph(comparison.structure().alignment, {}).value());
    }));
    ui::GraphMarks marks;
    fmt::print("recolouring {:.1f} ms\n", best([&] { marks = ui::graphMarks(*graph, comparison, diagnose::Gate::Forward, ui::ColourBy::Severity); }));
    const QFont font = QApplication::font();
    for (const bool expanded : { true, false }) {
        std::shared_ptr<const ui::GraphScene> scene;
        const double layout = best([&] {
            scene = ui::buildScene(graph, expanded ? graph::Expansion::all(*graph) : graph::Expansion::toDepth(*graph, 1), ui::LetterWidths(font)).value();
        });
        fmt::print("{}: {} items, {} segments, layout and index {:.1f} ms\n", expanded ? "all expanded" : "collapsed", scene->visible.items.size(),
                   scene->layout.segments.size(), layout);
        constexpr int kWidth = 1000, kHeight = 700;
        const double fit = std::min(kWidth / scene->layout.width, kHeight / scene->layout.height);
        for (const double scale : { fit, 0.02, 0.1, 0.2, 0.39, 0.41, 0.6, 1.0 }) {
            for (const int ratio : { 1, 2 }) {
                QImage image(kWidth * ratio, kHeight * ratio, QImage::Format_RGB32);
                image.setDevicePixelRatio(ratio);
                ui::GraphCamera camera;
                camera.scale = scale;
                const auto bounds = scene->bounds();
                camera.origin = bounds.center() - QPointF(kWidth, kHeight) / 2 / scale;
                const double frame = best([&] { ui::paintGraph(image, *scene, marks, camera, font); });
                fmt::print("  zoom {:.4f}{} at {}x: frame {:.2f} ms, {} items on screen\n", scale, scale == fit ? " (fit all)" : "", ratio, frame,
                           scene->items.touching(camera.toScene(QRectF(0, 0, kWidth, kHeight))).size());
            }
        }
    }
    return 0;
}
