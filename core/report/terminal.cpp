// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/terminal.h"

#include <algorithm>
#include <fmt/format.h>

namespace forkpoint::report {

namespace {

bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

/// Byte position of column `column`, or the end.
std::size_t byteAt(std::string_view text, std::size_t column)
{
    std::size_t seen = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!isContinuation(text[i]) && seen++ == column) {
            return i;
        }
    }
    return text.size();
}

} // namespace

std::size_t columns(std::string_view text)
{
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !isContinuation(c); }));
}

std::string printable(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        const auto u = static_cast<unsigned char>(c);
        if (u < 0x20 || u == 0x7F) {
            out += fmt::format("\\x{:02x}", u);
        } else {
            out += c;
        }
    }
    return out;
}

std::string shortened(std::string_view text, std::size_t width)
{
    const std::size_t have = columns(text);
    if (have <= width) {
        return std::string(text);
    }
    if (width < 5) {
        return std::string(text.substr(0, byteAt(text, width)));
    }
    const std::size_t head = (width - 3) / 2, tail = width - 3 - head;
    return fmt::format("{}...{}", text.substr(0, byteAt(text, head)), text.substr(byteAt(text, have - tail)));
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t taken, std::size_t indent)
{
    std::string out;
    std::size_t column = taken;
    bool lineStart = true;
    while (!text.empty()) {
        const auto space = text.find(' ');
        const auto word = text.substr(0, space);
        text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
        if (!lineStart && column + 1 + columns(word) > width) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (!lineStart) {
            out += ' ';
            ++column;
        }
        lineStart = false;
        out += word;
        column += columns(word);
    }
    return out;
}

std::string padded(std::string_view text, std::size_t width)
{
    const std::size_t have = columns(text);
    return std::string(text) + std::string(have < width ? width - have : 0, ' ');
}

std::string toned(std::string_view text, Tone tone, const TextOptions& options)
{
    if (!options.colour || tone == Tone::Plain) {
        return std::string(text);
    }
    const auto code = [tone] {
        switch (tone) {
        case Tone::Bold:
            return "1";
        case Tone::Dim:
            return "2";
        case Tone::Good:
            return "32";
        case Tone::Warn:
            return "33";
        case Tone::Bad:
            return "1;31";
        case Tone::Plain:
            break;
        }
        return "0";
    };
    return fmt::format("\x1b[{}m{}\x1b[0m", code(), text);
}

Tone toneOf(diagnose::Severity severity)
{
    switch (severity) {
    case diagnose::Severity::Identical:
    case diagnose::Severity::Noise:
        return Tone::Good;
    case diagnose::Severity::Unmatched:
    case diagnose::Severity::Drift:
        return Tone::Warn;
    case diagnose::Severity::Divergent:
    case diagnose::Severity::Invalid:
        break;
    }
    return Tone::Bad;
}

} // namespace forkpoint::report
