// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

// One function per subcommand: it declares its arguments and sets `run` to what happens when it was chosen. Exit status: 0 agrees,
// 1 differs, 2 usage, 3 unreadable input.
namespace forkpoint::cli {

inline constexpr int kAgrees = 0, kDiffers = 1, kUsage = 2, kUnreadable = 3;

using Run = std::function<int()>;

void addRecord(CLI::App& app, Run& run);
void addRecorder(CLI::App& app, Run& run);
void addInfo(CLI::App& app, Run& run);
void addVerify(CLI::App& app, Run& run);
void addCompare(CLI::App& app, Run& run);

} // namespace forkpoint::cli
