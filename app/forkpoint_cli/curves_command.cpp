// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "app/forkpoint_cli/commands.h"
#include "app/forkpoint_cli/console.h"
#include "core/report/curves_text.h"
#include "core/report/terminal.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <string>

namespace forkpoint::cli {

namespace {

struct Arguments {
    std::string a, b, colour = "auto";
    double tolerance = curves::kSeriesTolerance;
};

std::string namesOf(const import::SeriesFile& file)
{
    constexpr std::size_t kShown = 8;
    std::string out;
    std::size_t shown = 0;
    for (const auto& [name, series] : file.series) {
        if (shown++ < kShown) {
            out += (out.empty() ? "" : ", ") + report::printable(name);
        }
    }
    return shown > kShown ? out + ", ..." : out;
}

int compareCurves(const Arguments& arguments)
{
    const auto a = import::openSeries(arguments.a);
    if (!a) {
        return failed(a.error());
    }
    const auto b = import::openSeries(arguments.b);
    if (!b) {
        return failed(b.error());
    }
    const auto overlays = curves::overlay(*a, *b, arguments.tolerance);
    if (std::none_of(overlays.begin(), overlays.end(), [](const auto& it) { return it.common > 0; })) {
        return failed({ ErrorCode::Usage, fmt::format("no curve of one name has a step in common (reference: {}; candidate: {})", namesOf(*a),
            namesOf(*b)), {} });
    }
    print(report::curvesText(*a, *b, overlays, arguments.tolerance, textOptions(arguments.colour)));
    return std::any_of(overlays.begin(), overlays.end(), [](const auto& it) { return it.curve.onset.has_value(); }) ? kDiffers : kAgrees;
}

} // namespace

void addCurves(CLI::App& app, Run& run)
{
    auto* command = app.add_subcommand("curves", "Compare logged losses and other numbers: from which step do they part?");
    const auto arguments = std::make_shared<Arguments>();
    command->add_option("REFERENCE", arguments->a,
        "CSV, JSON lines, TensorBoard folder or file, trainer_state.json, text of a terminal, or bundle")->required();
    command->add_option("CANDIDATE", arguments->b, "the same of the candidate run")->required();
    command->add_option("--tolerance", arguments->tolerance,
        "relative difference from which values differ")->check(CLI::NonNegativeNumber)->capture_default_str();
    command->add_option("--color", arguments->colour, "colour of the text")->check(CLI::IsMember({ "auto", "always",
        "never" }))->capture_default_str();
    command->callback([arguments, &run] { run = [arguments] { return compareCurves(*arguments); }; });
}

} // namespace forkpoint::cli
