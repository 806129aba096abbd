// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "app/forkpoint_cli/commands.h"
#include "app/forkpoint_cli/console.h"
#include "core/bundle/bundle.h"
#include "core/bundle/merge.h"
#include "core/bundle/problem_log.h"
#include "core/import/open_run.h"
#include "core/metrics/backend.h"
#include "core/portable/portable.h"
#include "core/report/terminal.h"
#include "core/report/text_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

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

struct MergeArguments {
    std::string out;
    std::vector<std::string> inputs;
    bool overwrite = false;
};

/// What was joined, in one line.
std::string mergedText(const bundle::Merged& merged)
{
    constexpr std::size_t kNamed = 16;
    std::string parts;
    for (std::size_t i = 0; i < std::min(merged.parts.size(), kNamed); ++i) {
        const auto& part = merged.parts[i];
        parts += fmt::format("{}{}: {}", i == 0 ? "" : "; ", part.path.string(), bundle::rangesText(part.ranks));
    }
    return fmt::format("{}: {} bundle{} joined, ranks {} of {} ({}{}), {}", merged.path.string(), merged.parts.size(), merged.parts.size() == 1 ? "" : "s",
                       bundle::rangesText(merged.ranks), merged.worldSize, parts, merged.parts.size() > kNamed ? "; ..." : "", sizeText(merged.bytes));
}

int joinBundles(const MergeArguments& arguments)
{
    const auto merged = [&] {
        ConsoleProgress progress; // gone from the terminal before anything is printed
        return bundle::mergeBundles(arguments.out, { arguments.inputs.begin(), arguments.inputs.end() }, { arguments.overwrite }, &progress);
    }();
    if (!merged) {
        return failed(merged.error());
    }
    for (const auto& problem : merged->problems) {
        print(report::printable(fmt::format("{}: {}", problem.where, problem.message)) + "\n");
    }
    print(report::printable(mergedText(*merged)) + "\n");
    return kAgrees;
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

void addMerge(CLI::App& app, Run& run)
{
    auto* command = app.add_subcommand("merge", "Make one bundle of those that nodes without a shared disk left, each with its own ranks.");
    const auto arguments = std::make_shared<MergeArguments>();
    command->add_option("OUT", arguments->out, "folder of the new bundle; .forkpoint is added to it")->required();
    command->add_option("IN", arguments->inputs, "bundles of one launch (folders, or ZIP archives of them), or a folder that holds them")->required();
    command->add_flag("--overwrite", arguments->overwrite, "replace the bundle that lies at OUT");
    command->footer("The inputs stay as they are. Ranks that are missing are said; the result is a valid bundle all the same, and OUT appears when it is complete.\n"
                    "Compare and the window also read a folder that holds the parts, without merging.");
    command->callback([arguments, &run] { run = [arguments] { return joinBundles(*arguments); }; });
}

} // namespace forkpoint::cli
