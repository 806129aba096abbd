// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "app/forkpoint_cli/commands.h"
#include "app/forkpoint_cli/console.h"
#include "app/forkpoint_cli/recorder_source.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace forkpoint::cli {

namespace {

namespace fs = std::filesystem;

struct Arguments {
    std::string out, steps, level = "module", runName, python;
    std::string modules, ranks, phases, like, every, budget, ring;
    std::vector<std::string> write, bands;
    bool overwrite = false, noise = false, plan = false;
};

/// What the recorder is told: its own options have the same names.
std::vector<std::string> recorderOptions(const Arguments& arguments)
{
    std::vector<std::string> words { "--out", arguments.out, "--level", arguments.level };
    for (const auto& [name, value] : { std::pair("--steps", &arguments.steps), std::pair("--name", &arguments.runName), std::pair("--modules", &arguments.modules),
                                       std::pair("--ranks", &arguments.ranks), std::pair("--phases", &arguments.phases), std::pair("--like", &arguments.like),
                                       std::pair("--every", &arguments.every), std::pair("--budget", &arguments.budget), std::pair("--ring", &arguments.ring) }) {
        if (!value->empty()) {
            words.push_back(fmt::format("{}={}", name, *value));
        }
    }
    for (const auto& rule : arguments.write) {
        words.push_back("--write=" + rule);
    }
    for (const auto& band : arguments.bands) {
        words.push_back("--band=" + band);
    }
    for (const auto& [name, given] : { std::pair("--overwrite", arguments.overwrite), std::pair("--noise", arguments.noise), std::pair("--plan", arguments.plan) }) {
        if (given) {
            words.emplace_back(name);
        }
    }
    return words;
}

/// Where the recorder is unpacked: the user's cache, which the nodes of a cluster usually share.
fs::path recorderFolder()
{
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) {
        return fs::path(cache) / "forkpoint";
    }
    if (const char* home = std::getenv("HOME"); home && *home) {
        return fs::path(home) / ".cache" / "forkpoint";
    }
    return fs::temp_directory_path() / fmt::format("forkpoint-{}", getuid());
}

Result<fs::path> unpackedRecorder()
{
    const fs::path folder = recorderFolder(), file = folder / fmt::format("forkpoint_recorder-{}.py", FORKPOINT_VERSION);
    std::error_code error;
    fs::create_directories(folder, error);
    std::ifstream existing(file, std::ios::binary);
    const std::string content { std::istreambuf_iterator<char>(existing), {} };
    if (content == recorderSource()) {
        return file;
    }
    std::string temporary = (folder / ".forkpoint_recorder-XXXXXX").string(); // not by process number: nodes may share a home
    const int made = ::mkstemp(temporary.data());
    if (made < 0) {
        return fail(ErrorCode::WriteFailed, fmt::format("cannot be written: {}", std::strerror(errno)), folder.string());
    }
    ::close(made);
    if (auto written = writeText(temporary, recorderSource()); !written) {
        return tl::unexpected(written.error());
    }
    fs::rename(temporary, file, error);
    if (error) {
        return fail(ErrorCode::WriteFailed, fmt::format("cannot be written: {}", error.message()), file.string());
    }
    return file;
}

int record(const Arguments& arguments, const std::vector<std::string>& command)
{
    if (command.empty()) {
        complain("what is to be recorded? Give the command after --: forkpoint-cli record -o RUN -- python3 train.py");
        return kUsage;
    }
    const auto recorder = unpackedRecorder();
    if (!recorder) {
        return failed(recorder.error());
    }
    const char* fromEnvironment = std::getenv("FORKPOINT_PYTHON");
    const std::string python = !arguments.python.empty() ? arguments.python : fromEnvironment && *fromEnvironment ? fromEnvironment : "python3";
    std::vector<std::string> words { python, recorder->string() };
    const auto options = recorderOptions(arguments);
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    std::vector<char*> pointers;
    for (auto& word : words) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    execvp(pointers[0], pointers.data()); // the recorder becomes this process: its exit status is the command's
    complain(fmt::format("{} cannot be started: {}. Name an interpreter with --python or FORKPOINT_PYTHON", python, std::strerror(errno)));
    return kUsage;
}

} // namespace

void addRecord(CLI::App& app, Run& run, const std::vector<std::string>& words)
{
    auto* command = app.add_subcommand("record", "Run a command and record the PyTorch training in it, without a change to the script.");
    const auto arguments = std::make_shared<Arguments>();
    command->add_option("-o,--out", arguments->out, "folder of the bundle; .forkpoint is added to it")->required();
    // One value each time: a list of values would swallow the command.
    const auto repeated = [command](const char* name, std::vector<std::string>& values, const char* text) {
        command->add_option(name, values, text)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    };
    command->add_option("--steps", arguments->steps,
                        "steps whose tensors are recorded: half-open ranges and single ones, such as 0:3,100; default: 0:3, or none with --ring or --every");
    command->add_option("--level", arguments->level, "module, or op: every operator of forward and backward too")->capture_default_str();
    command->add_option("--modules", arguments->modules, "only modules whose path this regular expression finds, and their parameters");
    command->add_option("--ranks", arguments->ranks, "only these ranks, such as 0,3 or 0:4");
    command->add_option("--phases", arguments->phases, "only these of start, data, forward, backward, reduce, optimizer; comma-separated");
    repeated("--write", arguments->write,
             "[PATTERN=]DETAIL: how much is written of matching tensors: full, sketch (statistics and up to 4096 elements), digest, fold, none. "
             "The last match counts; repeatable");
    command->add_option("--like", arguments->like, "record exactly the tensors, steps and details that another bundle has");
    command->add_option("--every", arguments->every, "also at every N-th step: folds of batch, parameters and reduced gradients");
    command->add_option("--budget", arguments->budget, "limit for all ranks together, such as 4GiB: what does not fit is sketched only, by name");
    command->add_option("--ring", arguments->ring,
                        "flight recorder: keep sketches of the last N steps, write them when a loss or gradient norm leaves its band, on SIGUSR1, on an exception");
    repeated("--band", arguments->bands, "NAME=LOW:HIGH: band of loss, grad_norm or another scalar for --ring; repeatable");
    command->add_flag("--plan", arguments->plan, "run two training steps, print what recording would take, and end; nothing is written");
    command->add_flag("--noise", arguments->noise, "disturb the training by one unit in the last place: a run for compare --noise, and for nothing else");
    command->add_option("--name", arguments->runName, "name of the run; default: the name of the folder");
    command->add_option("--python", arguments->python, "interpreter that starts the recorder; default: FORKPOINT_PYTHON, else python3");
    command->add_flag("--overwrite", arguments->overwrite, "replace an existing recording");
    command->footer("Write -- before the command:\n  forkpoint-cli record -o runs/ddp2 --steps 0:3 -- torchrun --nproc_per_node 2 train.py ARGS\n"
                    "The exit status is the command's.");
    command->callback([arguments, &words, &run] { run = [arguments, &words] { return record(*arguments, words); }; });
}

std::vector<std::string> recordedCommand(const CLI::App& app, std::vector<std::string>& words)
{
    if (words.empty() || words.front() != "record") {
        return {};
    }
    const auto* record = app.get_subcommand("record");
    auto next = words.begin() + 1;
    while (next != words.end() && next->starts_with('-') && *next != "--") {
        const bool attached = next->starts_with("--") ? next->find('=') != std::string::npos : next->size() > 2; // --steps=0:3, -oRUN
        const auto name = next->starts_with("--") ? next->substr(0, next->find('=')) : next->substr(0, 2);
        const auto* option = record->get_option_no_throw(name);
        if (!option) {
            words.erase(next + 1, words.end()); // the parser reports it
            return {};
        }
        next += !attached && option->get_expected_max() > 0 && words.end() - next > 1 ? 2 : 1;
    }
    const bool dashes = next != words.end() && *next == "--";
    std::vector<std::string> command(dashes ? next + 1 : next, words.end());
    words.erase(next, words.end());
    return command;
}

void addRecorder(CLI::App& app, Run& run)
{
    auto* command = app.add_subcommand("recorder", "Print the recorder, one Python file that needs nothing but PyTorch.");
    const auto folder = std::make_shared<std::string>();
    command->add_option("--write", *folder, "write forkpoint_recorder.py into this folder instead");
    command->callback([folder, &run] {
        run = [folder] {
            if (folder->empty()) {
                print(recorderSource());
                return kAgrees;
            }
            const auto file = fs::path(*folder) / "forkpoint_recorder.py";
            if (auto written = writeText(file.string(), recorderSource()); !written) {
                return failed(written.error());
            }
            print(fmt::format("wrote {}\n", file.string()));
            return kAgrees;
        };
    });
}

} // namespace forkpoint::cli
