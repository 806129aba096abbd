// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

// One function per subcommand: it declares its arguments and sets `run` to what happens when it was chosen. Exit status: 0 agrees,
// 1 differs, 2 usage, 3 unreadable input.
namespace forkpoint::cli {

inline constexpr int kAgrees = 0, kDiffers = 1, kUsage = 2, kUnreadable = 3;

using Run = std::function<int()>;

/// `command` is what recordedCommand() cut off; it is read when the subcommand runs.
void addRecord(CLI::App& app, Run& run, const std::vector<std::string>& command);

/// Cuts the command that is to be recorded off the words of the command line, where the subcommand is `record`: what follows --, or what begins
/// with the first word that is no option of record. CLI11 never sees it, so that every word arrives as it is.
std::vector<std::string> recordedCommand(const CLI::App& app, std::vector<std::string>& words);
void addRecorder(CLI::App& app, Run& run);
void addInfo(CLI::App& app, Run& run);
void addVerify(CLI::App& app, Run& run);
void addMerge(CLI::App& app, Run& run);
void addCompare(CLI::App& app, Run& run);
void addCurves(CLI::App& app, Run& run);
void addRanks(CLI::App& app, Run& run);
void addExtract(CLI::App& app, Run& run);

} // namespace forkpoint::cli
