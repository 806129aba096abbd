// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "app/forkpoint_cli/console.h"

#include "app/forkpoint_cli/commands.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace forkpoint::cli {

namespace {

constexpr int kDefaultWidth = 100;

int terminalWidth()
{
    winsize size {};
    if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    if (const char* columns = std::getenv("COLUMNS")) {
        const int value = std::atoi(columns);
        return value > 0 && value < 10000 ? value : kDefaultWidth;
    }
    return kDefaultWidth;
}

} // namespace

report::TextOptions textOptions(std::string_view colour)
{
    report::TextOptions options;
    options.width = terminalWidth();
    const char* term = std::getenv("TERM");
    const char* noColour = std::getenv("NO_COLOR");
    const bool terminal = isatty(STDOUT_FILENO) != 0 && (!noColour || *noColour == '\0') && (!term || std::string_view(term) != "dumb");
    options.colour = colour == "always" || (colour == "auto" && terminal);
    return options;
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void complain(std::string_view text) { fmt::print(stderr, "forkpoint-cli: {}\n", text); }

int failed(const Error& error)
{
    complain(error.text());
    const bool asGiven = error.code == ErrorCode::Usage || error.code == ErrorCode::Exists || error.code == ErrorCode::WriteFailed;
    return asGiven ? kUsage : kUnreadable;
}

Error needsRun(std::string_view command, const std::string& path)
{
    return { ErrorCode::Usage,
             fmt::format("is a portable comparison, no run: it holds results and few tensors. Give {} the bundle of the run that it was made from", command), path };
}

ConsoleProgress::ConsoleProgress()
    : m_terminal(isatty(STDERR_FILENO) != 0)
{
}

ConsoleProgress::~ConsoleProgress()
{
    if (m_shown) {
        std::fputs("\r\x1b[K", stderr);
    }
}

void ConsoleProgress::report(std::string_view stage, double fraction)
{
    if (m_terminal) {
        fmt::print(stderr, "\r\x1b[K{} {:.0f} %", stage, 100 * fraction);
        std::fflush(stderr);
        m_shown = true;
    }
}

std::string sizeText(std::uint64_t bytes)
{
    const auto size = static_cast<double>(bytes);
    return bytes < 1'000'000 ? fmt::format("{:.0f} kB", std::max(size / 1e3, 1.0)) : fmt::format("{:.1f} MB", size / 1e6);
}

Result<void> writeParts(const std::string& path, const std::function<void(const TextSink&)>& produce)
{
    if (path == "-") {
        produce(print);
        return {};
    }
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (!file) {
        return fail(ErrorCode::WriteFailed, fmt::format("cannot be written: {}", std::strerror(errno)), path);
    }
    bool written = true;
    produce([&](std::string_view part) { written = written && std::fwrite(part.data(), 1, part.size(), file) == part.size(); });
    if (std::fclose(file) != 0 || !written) {
        return fail(ErrorCode::WriteFailed, "could not be written completely: is the disk full?", path);
    }
    return {};
}

Result<void> writeText(const std::string& path, std::string_view text)
{
    return writeParts(path, [text](const TextSink& write) { write(text); });
}

} // namespace forkpoint::cli
