// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "app/forkpoint_cli/commands.h"
#include "app/forkpoint_cli/console.h"
#include "core/align/side.h"
#include "core/compare/compare.h"
#include "core/metrics/backend.h"
#include "core/report/json_report.h"
#include "core/report/text_report.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::cli {

namespace {

struct Arguments {
    std::string a, b, noise, json, backend, pattern, map, failOn = "drift", colour = "auto";
    std::vector<std::string> placements, meshes;
    std::optional<int> stepOffset;
    bool readAll = false, percentiles = false;
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

int compareRuns(const Arguments& arguments)
{
    auto aligning = alignOptions(arguments);
    if (!aligning) {
        return failed(aligning.error());
    }
    if (!arguments.backend.empty()) {
        if (auto selected = metrics::selectBackend(arguments.backend); !selected) {
            return failed(selected.error());
        }
    }
    ConsoleProgress progress;
    const import::OpenOptions files { arguments.pattern };
    auto a = align::openSide(arguments.a, &progress, {}, files);
    if (!a) {
        return failed(a.error());
    }
    auto b = align::openSide(arguments.b, &progress, {}, files);
    if (!b) {
        return failed(b.error());
    }
    compare::Options options;
    options.align = std::move(*aligning);
    options.measurer = { arguments.readAll, arguments.percentiles };
    if (!arguments.noise.empty()) {
        auto noise = align::openSide(arguments.noise, &progress, {}, files);
        if (!noise) {
            return failed(noise.error());
        }
        options.noise = std::move(*noise);
    }
    auto comparison = compare::compare(std::move(*a), std::move(*b), std::move(options), nullptr, &progress);
    if (!comparison) {
        return failed(comparison.error());
    }
    if (arguments.json != "-") {
        print(report::textReport(*comparison, textOptions(arguments.colour)));
    }
    if (!arguments.json.empty()) {
        if (auto written = writeText(arguments.json, report::jsonText(*comparison)); !written) {
            return failed(written.error());
        }
    }
    return comparison->outcome()->verdict.severity >= threshold(arguments.failOn) ? kDiffers : kAgrees;
}

} // namespace

void addCompare(CLI::App& app, Run& run)
{
    auto* command = app.add_subcommand("compare", "Compare two recorded runs: where do they fork? Or two files or folders of tensors: what differs?");
    const auto arguments = std::make_shared<Arguments>();
    command->add_option("REFERENCE", arguments->a,
        "bundle of the reference run, RUN@0 for one rank of it; or a .pt, .safetensors, .npy or .npz file, or a folder of such")->required();
    command->add_option("CANDIDATE", arguments->b, "the same of the candidate run")->required();
    command->add_option("--noise", arguments->noise, "the reference run recorded again: measures the noise floor");
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
    command->add_option("--backend", arguments->backend, "compute metrics with this backend: simd or scalar");
    command->add_flag("--read-all", arguments->readAll, "read tensors too whose recorded digests are equal; else they count as identical unread");
    command->add_flag("--percentiles", arguments->percentiles, "find the exact percentiles of |d|, for --json; reads differing tensors several times");
    command->add_option("--fail-on", arguments->failOn, "severity from which the exit status is 1; unmatched counts tensors on one side only and tensors that could not be read")
        ->check(CLI::IsMember({ "unmatched", "drift", "divergent", "invalid" }))
        ->capture_default_str();
    command->add_option("--color", arguments->colour, "colour of the text")->check(CLI::IsMember({ "auto", "always",
        "never" }))->capture_default_str();
    command->callback([arguments, &run] { run = [arguments] { return compareRuns(*arguments); }; });
}

} // namespace forkpoint::cli
