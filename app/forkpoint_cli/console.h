// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/report/text_report.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace forkpoint::cli {

/// Width and colour for standard output: the terminal's, else COLUMNS, else 100; colour on a terminal unless NO_COLOR is set or TERM is
/// "dumb". `colour` is "auto", "always" or "never".
report::TextOptions textOptions(std::string_view colour);

void print(std::string_view text);        ///< standard output
void complain(std::string_view text);     ///< standard error, with the program's name

/// Prints the error and gives the exit status that goes with it.
int failed(const Error& error);

/// The error of a command that needs a run and was given a portable comparison.
Error needsRun(std::string_view command, const std::string& path);

/// Progress on standard error, if that is a terminal.
class ConsoleProgress : public Progress {
public:
    ConsoleProgress();
    ~ConsoleProgress() override;
    void report(std::string_view stage, double fraction) override;

private:
    bool m_terminal = false;
    std::atomic<bool> m_shown = false;
};

/// A size on disk: "12 kB", "3.4 MB".
std::string sizeText(std::uint64_t bytes);

using TextSink = std::function<void(std::string_view)>;

/// Writes to a file, or to standard output for "-", what `produce` hands over, part by part. Fails with WriteFailed.
Result<void> writeParts(const std::string& path, const std::function<void(const TextSink&)>& produce);
Result<void> writeText(const std::string& path, std::string_view text);

} // namespace forkpoint::cli
