// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "app/forkpoint_cli/commands.h"
#include "app/forkpoint_cli/console.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace {

using namespace forkpoint::cli;

/// One line: what is wrong with the command line, and where to look.
std::string usageError(const CLI::App& app, const CLI::ParseError& error)
{
    const auto words = app.remaining(true); // what no command and no option took
    const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.starts_with('-'); });
    if (const auto chosen = app.get_subcommands(); !chosen.empty()) {
        const auto name = chosen.front()->get_name();
        const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) && !words.empty();
        const auto problem = !extras  ? std::string(error.what())
            : option != words.end() ? fmt::format("{} has no option {}", name, *option)
                                    : fmt::format("{} takes no further argument '{}'", name, words.front());
        return fmt::format("{}; forkpoint-cli {} --help says how it is used", problem, name);
    }
    std::vector<std::string> names;
    for (const auto* command : app.get_subcommands({})) {
        names.push_back(command->get_name());
    }
    const auto problem = words.empty() ? std::string("a command is missing")
        : option == words.begin()      ? fmt::format("there is no option {}", *option)
                                       : fmt::format("there is no command '{}'", words.front());
    return fmt::format("{}; commands: {}. forkpoint-cli --help describes them", problem, fmt::join(names, ", "));
}

} // namespace

int main(int argc, char** argv)
{
    CLI::App app { "Finds where two PyTorch runs fork.", "forkpoint-cli" };
    app.set_version_flag("--version", std::string("forkpoint-cli ") + FORKPOINT_VERSION);
    app.require_subcommand(1);
    app.footer("Exit status: 0 agrees, 1 differs (drift or worse), 2 usage or output that cannot be written, 3 unreadable input.\n"
               "forkpoint-cli COMMAND --help describes a command.");
    Run run;
    std::vector<std::string> recorded;
    addRecord(app, run, recorded);
    addCompare(app, run);
    addCurves(app, run);
    addRanks(app, run);
    addExtract(app, run);
    addInfo(app, run);
    addVerify(app, run);
    addMerge(app, run);
    addRecorder(app, run);
    try {
        std::vector<std::string> words(argv + 1, argv + argc);
        recorded = recordedCommand(app, words);
        std::reverse(words.begin(), words.end()); // as CLI11 takes them
        app.parse(std::move(words));
    } catch (const CLI::CallForHelp& e) {
        return app.exit(e);
    } catch (const CLI::CallForVersion& e) {
        return app.exit(e);
    } catch (const CLI::ParseError& e) {
        complain(usageError(app, e));
        return kUsage;
    }
    try {
        return run();
    } catch (const std::exception& e) { // core returns its errors; this is the library's, for want of memory above all
        complain(fmt::format("this takes more than the machine has: {}", e.what()));
        return kUnreadable;
    }
}
