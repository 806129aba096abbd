// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "app/forkpoint_cli/commands.h"
#include "app/forkpoint_cli/console.h"
#include "core/report/curves_text.h"

#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <string>

namespace forkpoint::cli {

namespace {

struct Arguments {
    std::string a, b, colour = "auto";
    double tolerance = curves::kSeriesTolerance;
};

int compareCurves(const Arguments& arguments)
{
    if (!(arguments.tolerance >= 0) || !std::isfinite(arguments.tolerance)) {
        return failed({ ErrorCode::Usage, fmt::format("--tolerance must be a number of at least 0, not {}", arguments.tolerance), {} });
    }
    const auto comparison = curves::compareSeries(arguments.a, arguments.b, arguments.tolerance);
    if (!comparison) {
        return failed(comparison.error());
    }
    print(report::curvesText(*comparison, textOptions(arguments.colour)));
    return comparison->differs() ? kDiffers : kAgrees;
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
        "relative difference from which values differ")->capture_default_str();
    command->add_option("--color", arguments->colour, "colour of the text")->check(CLI::IsMember({ "auto", "always",
        "never" }))->capture_default_str();
    command->callback([arguments, &run] { run = [arguments] { return compareCurves(*arguments); }; });
}

} // namespace forkpoint::cli
