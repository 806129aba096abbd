// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "app/forkpoint_cli/commands.h"
#include "app/forkpoint_cli/console.h"
#include "core/bundle/bundle.h"
#include "core/import/open_run.h"
#include "core/metrics/backend.h"
#include "core/portable/portable.h"
#include "core/report/terminal.h"
#include "core/report/text_report.h"

#include <fmt/format.h>
#include <memory>
#include <string>

namespace forkpoint::cli {

namespace {

/// What this program computes with.
std::string programText()
{
    std::string text = fmt::format("forkpoint-cli {}\n\nBackends of the metrics, for compare --backend\n", FORKPOINT_VERSION);
    const metrics::Backend& active = metrics::activeBackend();
    for (const metrics::Backend* backend : metrics::backends()) {
        text += backend->supported()
            ? fmt::format("  {:<7} {}{}\n", backend->name(), backend->description(), backend == &active ? "; used unless another is asked for" : "")
            : fmt::format("  {:<7} not here: {}\n", backend->name(), backend->whyNot());
    }
    return text;
}

} // namespace

void addInfo(CLI::App& app, Run& run)
{
    auto* command = app.add_subcommand("info", "Say what a bundle, a portable comparison, a file of tensors or a folder of such files holds; or, without one, what this program computes with.");
    const auto path = std::make_shared<std::string>();
    command->add_option("RUN", *path, "bundle (a folder, or a ZIP archive of one), portable comparison, file or folder of files");
    command->callback([path, &run] {
        run = [path] {
            if (path->empty()) {
                print(programText());
                return kAgrees;
            }
            if (portable::isPortable(*path)) {
                const auto comparison = portable::load(*path);
                if (!comparison) {
                    return failed(comparison.error());
                }
                print(report::portableText(*comparison, textOptions("auto")));
                return kAgrees;
            }
            const auto bundle = import::openRun(*path);
            if (!bundle) {
                return failed(bundle.error());
            }
            print(report::bundleText(**bundle, textOptions("auto")));
            return kAgrees;
        };
    });
}

void addVerify(CLI::App& app, Run& run)
{
    auto* command = app.add_subcommand("verify", "Read a bundle completely and check every digest. Exit status 1 if something is damaged.");
    const auto path = std::make_shared<std::string>();
    command->add_option("RUN", *path, "bundle: a folder, or a ZIP archive of one")->required();
    command->callback([path, &run] {
        run = [path] {
            if (portable::isPortable(*path)) {
                return failed(needsRun("verify", *path));
            }
            ConsoleProgress progress;
            const auto bundle = bundle::Bundle::open(*path, &progress);
            if (!bundle) {
                return failed(bundle.error());
            }
            const auto report = bundle::verify(**bundle, &progress);
            if (!report) {
                return failed(report.error());
            }
            bool damaged = false;
            for (const auto& problem : report->problems) {
                damaged = damaged || problem.level == bundle::Problem::Level::Warning;
                print(report::printable(fmt::format("{}: {}", problem.where, problem.message)) + "\n");
            }
            print(fmt::format("{}: {} tensors, {} checked against their digests, {} bytes: {}\n", report::printable((*bundle)->name()), report->tensors,
                              report->checked, report->bytes, damaged ? "damaged" : "tensor bytes undamaged"));
            return damaged ? kDiffers : kAgrees;
        };
    });
}

} // namespace forkpoint::cli
