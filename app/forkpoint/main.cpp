// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/known_runs.h"
#include "ui/window/launch.h"

#include <CLI/CLI.hpp>
#include <QApplication>

#include <cstdio>
#include <map>
#include <string>

namespace {

using namespace forkpoint::ui;

struct Arguments {
    std::vector<std::string> runs;
    std::string noise, sample, select, screenshot, size, language;
    std::optional<int> step;
    ShownPanel panel = ShownPanel::All;
    double scale = 0;
    std::optional<ThemeChoice> theme;
};

const std::map<std::string, ShownPanel> kPanels { { "all", ShownPanel::All }, { "graph", ShownPanel::Graph }, { "heatmap", ShownPanel::Heatmap },
    { "curves", ShownPanel::Curves }, { "pairs", ShownPanel::Pairs }, { "context", ShownPanel::Context } };
const std::map<std::string, ThemeChoice> kThemes { { "light", ThemeChoice::Light }, { "dark", ThemeChoice::Dark }, { "system", ThemeChoice::System } };

std::string checkSize(const std::string& text)
{
    int width = 0, height = 0;
    char rest = 0;
    const bool good = std::sscanf(text.c_str(), "%5dx%5d%c", &width, &height, &rest) == 2 && width >= 200 && height >= 200 && width <= 16384 && height <= 16384;
    return good ? std::string() : "must be like 1440x900, from 200x200 to 16384x16384";
}

void describe(CLI::App& app, Arguments& arguments)
{
    app.set_version_flag("--version", std::string("forkpoint ") + FORKPOINT_VERSION);
    app.add_option("RUN", arguments.runs, "reference and candidate: bundles or RUN@RANK, tensors, logs; or, alone, a portable comparison (X.forkcmp)")->expected(0, 2);
    app.add_option("--noise", arguments.noise, "the reference run recorded again: measures the noise floor");
    app.add_option("--sample", arguments.sample, "open a built-in sample, such as sumloss");
    app.add_option("--step", arguments.step, "select this step");
    app.add_option("--select", arguments.select, "select the pair with this id");
    app.add_option("--screenshot", arguments.screenshot, "write a PNG of the window once everything is compared and painted, and exit");
    app.add_option("--view", arguments.panel, "all, graph, heatmap, curves, pairs or context")->transform(CLI::CheckedTransformer(kPanels).description(""));
    app.add_option("--size", arguments.size, "of the window, WxH")->check(checkSize);
    app.add_option("--scale", arguments.scale, "device pixels per unit")->check(CLI::Range(0.5, 8.0));
    app.add_option("--theme", arguments.theme, "light, dark or system")->transform(CLI::CheckedTransformer(kThemes).description(""));
    app.add_option("--lang", arguments.language, "en or zh_CN")->check(CLI::IsMember({ "en", "zh_CN" }));
}

/// One line, and where to read more.
int usage(const std::string& message)
{
    std::fprintf(stderr, "forkpoint: %s (forkpoint --help says more)\n", message.c_str());
    return kUsage;
}

QString text(const std::string& argument) { return QString::fromLocal8Bit(argument.c_str()); }

Launch launchOf(const Arguments& arguments)
{
    Launch request;
    if (!arguments.runs.empty()) {
        request.runs = { text(arguments.runs[0]), arguments.runs.size() == 2 ? text(arguments.runs[1]) : QString(), text(arguments.noise) };
    }
    request.sample = text(arguments.sample);
    request.step = arguments.step;
    request.select = text(arguments.select);
    request.screenshot = text(arguments.screenshot);
    request.panel = arguments.panel;
    request.theme = arguments.theme;
    request.language = text(arguments.language);
    if (int width = 0, height = 0; std::sscanf(arguments.size.c_str(), "%dx%d", &width, &height) == 2) {
        request.size = { width, height };
    }
    return request;
}

} // namespace

int main(int argc, char** argv)
{
    Arguments arguments;
    CLI::App app { "Shows where two PyTorch runs fork, and why.", "forkpoint" };
    describe(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& e) {
        return app.exit(e);
    } catch (const CLI::CallForVersion& e) {
        return app.exit(e);
    } catch (const CLI::ParseError& e) {
        return usage(e.what());
    }
    if (arguments.runs.size() == 1 && !looksPortable(text(arguments.runs[0]))) {
        return usage("one run is not enough: give the reference and the candidate, a portable comparison (X.forkcmp), or none");
    }
    if (!arguments.runs.empty() && !arguments.sample.empty()) {
        return usage("--sample opens its own runs: give either it or two runs");
    }
    if (arguments.runs.size() < 2 && !arguments.noise.empty()) {
        return usage("--noise needs the two runs");
    }
    // A picture needs no display, and must not depend on one.
    if (!arguments.screenshot.empty() && qEnvironmentVariableIsEmpty("QT_LOGGING_RULES")) {
        qputenv("QT_LOGGING_RULES", "default.warning=false"); // Qt's remarks on a machine without a desktop are no news of the picture
    }
    if (!arguments.screenshot.empty() && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) {
        qputenv("QT_QPA_PLATFORM", "offscreen");
    }
    if (arguments.scale > 0) {
        qputenv("QT_SCALE_FACTOR", QByteArray::number(arguments.scale));
    }
    QApplication program(argc, argv);
    QApplication::setApplicationName(QStringLiteral("forkpoint"));
    QApplication::setOrganizationName(QStringLiteral("forkpoint"));
    QApplication::setApplicationVersion(QStringLiteral(FORKPOINT_VERSION));
    return launch(program, launchOf(arguments));
}
