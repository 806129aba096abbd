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
    std::string out, steps = "0:3", level = "module", runName, python;
    bool overwrite = false;
};

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
    const fs::path temporary = folder / fmt::format(".forkpoint_recorder-{}.tmp", getpid());
    if (auto written = writeText(temporary.string(), recorderSource()); !written) {
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
    std::vector<std::string> words { python, recorder->string(), "--out", arguments.out, "--steps", arguments.steps, "--level", arguments.level };
    if (!arguments.runName.empty()) {
        words.insert(words.end(), { "--name", arguments.runName });
    }
    if (arguments.overwrite) {
        words.emplace_back("--overwrite");
    }
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
    command->add_option("--steps", arguments->steps, "half-open range of the steps whose tensors are recorded")->capture_default_str();
    command->add_option("--level", arguments->level, "what is recorded: module")->capture_default_str();
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
