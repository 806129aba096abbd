// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "app/forkpoint_cli/commands.h"
#include "app/forkpoint_cli/console.h"
#include "core/align/side.h"
#include "core/compare/extract.h"
#include "core/compare/rank_matrix.h"
#include "core/portable/portable.h"
#include "core/report/ranks_report.h"
#include "core/report/terminal.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <string>

// What looks at the tensors of one run.
namespace forkpoint::cli {

namespace {

constexpr std::size_t kRefused = 20; ///< named; of more the number is said

struct RanksArguments {
    std::string run, select, json, colour = "auto";
};

int compareRanks(const RanksArguments& arguments)
{
    if (portable::isPortable(arguments.run)) {
        return failed(needsRun("ranks", arguments.run));
    }
    ConsoleProgress progress;
    const auto side = align::openSide(arguments.run, &progress);
    if (!side) {
        return failed(side.error());
    }
    const auto matrix = compare::rankMatrix(*side, arguments.select, &progress);
    if (!matrix) {
        return failed(matrix.error());
    }
    if (arguments.json != "-") {
        print(report::ranksText(*matrix, *side, textOptions(arguments.colour)));
    }
    if (!arguments.json.empty()) {
        const auto text = report::ranksJson(*matrix, *side).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
        if (auto written = writeText(arguments.json, text); !written) {
            return failed(written.error());
        }
    }
    return matrix->differing.empty() ? kAgrees : kDiffers;
}

struct ExtractArguments {
    std::string run, select, out, format = "npy";
    bool perRank = false;
};

int extractTensors(const ExtractArguments& arguments)
{
    if (portable::isPortable(arguments.run)) {
        return failed(needsRun("extract", arguments.run));
    }
    ConsoleProgress progress;
    const auto side = align::openSide(arguments.run, &progress);
    if (!side) {
        return failed(side.error());
    }
    compare::ExtractOptions options;
    options.pattern = arguments.select;
    options.folder = arguments.out;
    options.format = arguments.format == "npy" ? compare::ExtractFormat::Npy : compare::ExtractFormat::Safetensors;
    options.perRank = arguments.perRank;
    const auto done = compare::extract(*side, options, &progress);
    if (!done) {
        return failed(done.error());
    }
    print(fmt::format("{}: {} tensor{} written{}\n", report::printable(arguments.out), done->written, done->written == 1 ? "" : "s",
                      done->apart > 0 ? fmt::format(", {} of them as ranks' parts", done->apart) : std::string()));
    for (std::size_t i = 0; i < std::min(done->refused.size(), kRefused); ++i) {
        complain("not written: " + report::printable(done->refused[i]));
    }
    if (done->refused.size() > kRefused) {
        complain(fmt::format("not written: {} more", done->refused.size() - kRefused));
    }
    return done->refused.empty() ? kAgrees : kUnreadable;
}

} // namespace

void addRanks(CLI::App& app, Run& run)
{
    auto* command = app.add_subcommand("ranks", "Compare the ranks of one run: do tensors that should be equal on them agree? Exit status 1 if some do not.");
    const auto arguments = std::make_shared<RanksArguments>();
    command->add_option("RUN", arguments->run, "bundle of several ranks")->required();
    command->add_option("--select", arguments->select, "only tensors whose whole name or id matches this pattern; * stands for any characters, ? for one");
    command->add_option("--json", arguments->json, "write the result as JSON to a file; - for standard output, instead of the text");
    command->add_option("--color", arguments->colour, "colour of the text")->check(CLI::IsMember({ "auto", "always", "never" }))->capture_default_str();
    command->callback([arguments, &run] { run = [arguments] { return compareRanks(*arguments); }; });
}

void addExtract(CLI::App& app, Run& run)
{
    auto* command = app.add_subcommand("extract", "Write tensors of a run as files that other programs read. Exit status 3 if some were selected and have no values.");
    const auto arguments = std::make_shared<ExtractArguments>();
    command->add_option("RUN", arguments->run, "bundle, RUN@0 for one rank of it")->required();
    command->add_option("--select", arguments->select, "only tensors whose whole name or id matches this pattern; * stands for any characters, ? for one");
    command->add_option("-o,--out", arguments->out, "folder to write into; nothing in it is overwritten")->required();
    command->add_option("--format", arguments->format, "npy: one file per tensor; safetensors: one file, tensors.safetensors")
        ->check(CLI::IsMember({ "npy", "safetensors" }))
        ->capture_default_str();
    command->add_flag("--per-rank", arguments->perRank, "every rank's part by itself, also where it is known how they make up the whole");
    command->callback([arguments, &run] { run = [arguments] { return extractTensors(*arguments); }; });
}

} // namespace forkpoint::cli
