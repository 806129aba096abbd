// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "app/forkpoint_cli/commands.h"
#include "app/forkpoint_cli/console.h"
#include "core/align/side.h"
#include "core/compare/compare.h"
#include "core/compare/open_runs.h"
#include "core/compare/pair_counts.h"
#include "core/curves/compare_series.h"
#include "core/import/run_name.h"
#include "core/metrics/backend.h"
#include "core/portable/portable.h"
#include "core/report/json_report.h"
#include "core/report/terminal.h"
#include "core/report/text_report.h"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::cli {

namespace {

struct Arguments {
    std::string a, b, noise, out, json, backend, pattern, map, failOn = "drift", colour = "auto";
    std::uint64_t budget = portable::kUsualBudget;
    std::vector<std::string> placements, meshes;
    std::optional<int> stepOffset;
    bool readAll = false, percentiles = false;
    CLI::App* command = nullptr;
};

diagnose::Severity threshold(const std::string& word)
{
    using diagnose::Severity;
    return word == "unmatched" ? Severity::Unmatched : word == "divergent" ? Severity::Divergent : word == "invalid" ? Severity::Invalid
        : Severity::Drift;
}

/// --map, --step-offset, --placement, --mesh.
Result<align::AlignOptions> alignOptions(const Arguments& arguments)
{
    align::AlignOptions options;
    options.stepOffset = arguments.stepOffset;
    if (!arguments.map.empty()) {
        auto mapping = align::readMapping(arguments.map);
        if (!mapping) {
            return tl::unexpected(mapping.error());
        }
        options.mapping = std::move(*mapping);
    }
    for (const auto& text : arguments.placements) {
        auto rule = align::parsePlacementRule(text);
        if (!rule) {
            return tl::unexpected(rule.error());
        }
        options.placements.push_back(std::move(*rule));
    }
    for (std::string_view text : arguments.meshes) {
        const bool ofA = text.starts_with("reference:"), ofB = text.starts_with("candidate:");
        auto mesh = align::parseMeshShape(ofA || ofB ? text.substr(text.find(':') + 1) : text);
        if (!mesh) {
            return tl::unexpected(mesh.error());
        }
        (ofA ? options.meshA : options.meshB) = std::move(*mesh);
    }
    return options;
}

Result<compare::Snapshot> compareRuns(const Arguments& arguments, Progress& progress)
{
    auto aligning = alignOptions(arguments);
    if (!aligning) {
        return tl::unexpected(aligning.error());
    }
    if (!arguments.backend.empty()) {
        if (auto selected = metrics::selectBackend(arguments.backend); !selected) {
            return tl::unexpected(selected.error());
        }
    }
    auto runs = compare::openRuns({ arguments.a, arguments.b, arguments.noise, { arguments.pattern } }, {}, &progress);
    if (!runs) {
        auto error = runs.error();
        if (error.code == ErrorCode::NotABundle && curves::compareSeries(arguments.a, arguments.b)) {
            error.message += fmt::format(". As logs the two can be compared: forkpoint-cli curves {} {}", arguments.a, arguments.b);
        }
        return tl::unexpected(std::move(error));
    }
    if (runs->noise && runs->noise->bundle->path() == runs->b.bundle->path()) {
        return fail(ErrorCode::Usage, "is the candidate itself: a noise run is the reference recorded again", arguments.noise);
    }
    compare::Options options;
    options.align = std::move(*aligning);
    options.measurer = { arguments.readAll, arguments.percentiles };
    options.noise = std::move(runs->noise);
    return compare::compare(std::move(runs->a), std::move(runs->b), std::move(options), nullptr, &progress);
}

/// A comparison that was written with -o: the runs need not be there, and nothing can be measured again.
Result<compare::Snapshot> openPortable(const Arguments& arguments)
{
    for (const auto* option : { "--noise", "--output", "--budget", "--pattern", "--map", "--placement", "--mesh", "--step-offset", "--backend", "--read-all", "--percentiles" }) {
        if (arguments.command->count(option) > 0) {
            return fail(ErrorCode::Usage, fmt::format("{} needs the two runs; this is a comparison that was made already", option), arguments.a);
        }
    }
    return portable::load(arguments.a);
}

/// The options that shaped the comparison, as they were given.
std::vector<std::string> shapingOptions(const Arguments& arguments)
{
    std::vector<std::string> out;
    for (const auto* option : { "--noise", "--pattern", "--map", "--placement", "--mesh", "--step-offset", "--backend", "--read-all", "--percentiles" }) {
        for (const auto& value : arguments.command->count(option) > 0 ? arguments.command->get_option(option)->results() : std::vector<std::string>()) {
            const bool isFlag = arguments.command->get_option(option)->get_expected_max() == 0;
            out.push_back(isFlag ? option : fmt::format("{} {}", option, value));
        }
    }
    return out;
}

std::string savedText(const portable::Saved& saved, const std::string& path)
{
    const std::string tensors = saved.kept == 0 ? std::string("no tensors") : fmt::format("the tensors of {} differing pair{}", saved.kept, saved.kept == 1 ? "" : "s");
    std::string text = fmt::format("\nWrote {} ({}): opens without the runs, with {}", path, sizeText(saved.bytes), tensors);
    if (saved.pictures > 0) {
        text += fmt::format(", {} of them as overview{} without single elements", saved.pictures, saved.pictures == 1 ? "" : "s");
    }
    return text + (saved.leftOut > 0 ? fmt::format("; those of {} are left out\n", saved.leftOut) : "\n");
}

Result<std::string> writePortable(const Arguments& arguments, const compare::Snapshot& comparison, Progress& progress)
{
    portable::SaveOptions options;
    options.budget = arguments.budget;
    options.provenance.producer = std::string("forkpoint-cli ") + FORKPOINT_VERSION;
    options.provenance.options = shapingOptions(arguments);
    options.provenance.a.path = arguments.a;
    options.provenance.b.path = arguments.b;
    if (const auto& label = comparison.structure().noiseLabel) {
        options.provenance.noise = compare::Origin { *label, arguments.noise, {} };
    }
    const auto saved = portable::save(comparison, arguments.out, std::move(options), &progress);
    return saved ? Result<std::string>(savedText(*saved, arguments.out)) : tl::unexpected(saved.error());
}

/// What an output of this name would overwrite: one of the inputs, however it is spelt; empty if nothing.
std::string inputAt(const std::string& path, const Arguments& arguments)
{
    if (path.empty() || path == "-") {
        return {};
    }
    for (const auto& input : { arguments.a, arguments.b, arguments.noise, arguments.map }) {
        if (!input.empty() && import::liesIn(path, input)) {
            return input;
        }
    }
    return {};
}

/// What can be said before anything is read.
std::optional<Error> problemWith(const Arguments& arguments)
{
    const auto given = [&](const char* option) { return arguments.command->count(option) > 0; };
    for (const auto& [option, path] : { std::pair("--output", &arguments.out), std::pair("--json", &arguments.json) }) {
        if (given(option) && path->empty()) {
            return Error { ErrorCode::Usage, fmt::format("{} needs the name of a file", option), {} };
        }
        if (const auto input = inputAt(*path, arguments); !input.empty()) {
            return Error { ErrorCode::Usage, fmt::format("{} would overwrite what is read: give another name", option), input };
        }
    }
    if (arguments.out == "-") {
        return Error { ErrorCode::Usage, "a portable comparison is no text: give --output the name of a file", {} };
    }
    if (!arguments.out.empty() && arguments.out == arguments.json) {
        return Error { ErrorCode::Usage, "--output and --json name the same file", arguments.out };
    }
    const bool isMade = arguments.b.empty();
    std::error_code ignored;
    if (isMade && !std::filesystem::exists(arguments.a, ignored) && arguments.a.ends_with(".forkcmp")) {
        return Error { ErrorCode::NotFound, "there is no such file", arguments.a };
    }
    if (isMade && !portable::isPortable(arguments.a)) {
        return Error { ErrorCode::Usage, "a second run is missing; only a portable comparison, written with -o, stands for itself", arguments.a };
    }
    return std::nullopt;
}

int runCompare(const Arguments& arguments)
{
    const bool isMade = arguments.b.empty();
    if (const auto problem = problemWith(arguments)) {
        return failed(*problem);
    }
    for (const auto* side : { &arguments.a, &arguments.b }) {
        if (!isMade && portable::isPortable(*side)) {
            return failed({ ErrorCode::Usage, "is a portable comparison, no run: give it alone", *side });
        }
    }
    Result<std::string> written;
    auto comparison = [&]() -> Result<compare::Snapshot> {
        ConsoleProgress progress;
        auto made = isMade ? openPortable(arguments) : compareRuns(arguments, progress);
        if (made && !arguments.out.empty()) {
            written = writePortable(arguments, *made, progress);
        }
        return made;
    }();
    if (!comparison) {
        return failed(comparison.error());
    }
    if (arguments.json != "-") {
        print(report::textReport(*comparison, textOptions(arguments.colour)));
        if (const auto& kept = comparison->structure().kept) {
            print("\n" + report::originText(*kept));
        }
        print(written.value_or(std::string()));
    }
    const auto counts = compare::countPairs(*comparison);
    const bool differs = counts.differing > 0 // above the floor or not: nobody knows
        || comparison->outcome()->verdict.severity >= threshold(arguments.failOn);
    // The comparison was not in vain: all that can be written is written, and the verdict is said even where its report is not.
    std::vector<Error> unwritten;
    if (!arguments.json.empty()) {
        const auto produce = [&](const TextSink& write) { report::writeJson(*comparison, write); };
        if (auto done = writeParts(arguments.json, produce); !done) {
            unwritten.push_back(done.error());
        }
    }
    if (!written) {
        unwritten.push_back(written.error());
    }
    for (const auto& error : unwritten) {
        complain(fmt::format("{}. The comparison itself is done: the runs {} (exit status {})", error.text(), differs ? "differ" : "agree",
                             differs ? kDiffers : kAgrees));
    }
    if (!unwritten.empty()) {
        return kUsage;
    }
    return differs ? kDiffers : counts.compared() == 0 ? kUnreadable : kAgrees; // a check that compared nothing must not pass
}

} // namespace

void addCompare(CLI::App& app, Run& run)
{
    auto* command = app.add_subcommand("compare", "Compare two recorded runs: where do they fork? Or two files or folders of tensors: what differs?");
    const auto arguments = std::make_shared<Arguments>();
    arguments->command = command;
    command->add_option("REFERENCE", arguments->a,
        "bundle of the reference run, RUN@0 for one rank of it; or a .pt, .safetensors, .npy or .npz file, or a folder of such; or, alone, a portable "
        "comparison, reported again")->required();
    command->add_option("CANDIDATE", arguments->b, "the same of the candidate run");
    command->add_option("--noise", arguments->noise, "the reference run recorded again: measures the noise floor");
    command->add_option("-o,--output", arguments->out,
                        "also write a portable comparison (X.forkcmp): one file that opens without the runs, with the tensors of the fork and of the worst pairs");
    command->add_option("--budget", arguments->budget, "how large that file may become, as in 50MB")
        ->transform(CLI::AsSizeValue(true))
        ->transform(CLI::Validator([](std::string& text) { return text.starts_with('-') ? text + " is no size" : std::string(); }, "")) // the last one runs first
        ->default_str("50MB");
    command->add_option("--json", arguments->json, "write the result as JSON to a file; - for standard output, instead of the text");
    command->add_option("--pattern", arguments->pattern,
                        "names of the files in a folder, with {layer}, {rank}, {step} and *; default: as in hook_{layer}_rank{rank}.pt");
    command->add_option("--step-offset", arguments->stepOffset, "step n of the reference is compared with step n + OFFSET of the candidate");
    command->add_option("--map", arguments->map,
                        "JSON file that says which names of the candidate are which of the reference, and which tensors make up one: "
                        "resources/schema/forkpoint-map-1.md");
    command->add_option("--placement", arguments->placements,
                        "how ranks' tensors make up the whole, instead of what was recorded or guessed: [reference:|candidate:]PATTERN[/KIND]=PLACEMENT[@AXIS],..., as "
                        "'layers.*.qkv=shard(0)@tp'; placements are replicate, shard(DIM), partial(sum), partial(mean); may be given several times")
        ->allow_extra_args(false);
    command->add_option("--mesh", arguments->meshes,
                        "the candidate's ranks as a grid, the axis with the most distant ranks first, as dp=2,tp=4; reference:dp=2,tp=4 for the reference")
        ->allow_extra_args(false);
    command->add_option("--backend", arguments->backend, "compute metrics with this backend: simd, scalar or cuda (an NVIDIA GPU); \"info\" says which can run here");
    command->add_flag("--read-all", arguments->readAll, "read tensors too whose recorded digests are equal; else they count as identical unread");
    command->add_flag("--percentiles", arguments->percentiles, "find the exact percentiles of |d|, for --json; reads differing tensors several times");
    command->add_option("--fail-on", arguments->failOn, "severity from which the exit status is 1; unmatched counts tensors on one side only and tensors that could not be read")
        ->check(CLI::IsMember({ "unmatched", "drift", "divergent", "invalid" }))
        ->capture_default_str();
    command->add_option("--color", arguments->colour, "colour of the text")->check(CLI::IsMember({ "auto", "always",
        "never" }))->capture_default_str();
    command->callback([arguments, &run] { run = [arguments] { return runCompare(*arguments); }; });
}

} // namespace forkpoint::cli
