// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "app/forkpoint_cli/commands.h"

#include <cstdio>
#include <string>

int main(int argc, char** argv)
{
    using namespace forkpoint::cli;
    CLI::App app { "Finds where two PyTorch runs fork.", "forkpoint-cli" };
    app.set_version_flag("--version", std::string("forkpoint-cli ") + FORKPOINT_VERSION);
    app.require_subcommand(1);
    app.footer("Exit status: 0 agrees, 1 differs (drift or worse), 2 usage, 3 unreadable input.\n"
               "forkpoint-cli COMMAND --help describes a command.");
    Run run;
    addRecord(app, run);
    addCompare(app, run);
    addInfo(app, run);
    addVerify(app, run);
    addRecorder(app, run);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& e) {
        return app.exit(e);
    } catch (const CLI::CallForVersion& e) {
        return app.exit(e);
    } catch (const CLI::ParseError& e) {
        std::fprintf(stderr, "forkpoint-cli: %s\n", e.what());
        std::fprintf(stderr, "forkpoint-cli --help says how it is used.\n");
        return kUsage;
    }
    return run();
}
