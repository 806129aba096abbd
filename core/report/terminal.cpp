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

/// Bytes of the UTF-8 sequence at the beginning of `text`; 0 if there is none (RFC 3629: no overlong forms, no surrogates).
std::size_t sequenceLength(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned>(static_cast<unsigned char>(text[i])) : 0u; };
    const auto within = [&](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
    const auto continued = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
            if (!within(i, 0x80, 0xBF)) {
                return false;
            }
        }
        return true;
    };
    const unsigned lead = byte(0);
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        return continued(1, 2) ? 2 : 0;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        return within(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && continued(2, 3) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        return within(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && continued(2, 4) ? 4 : 0;
    }
    return 0;
}

/// The code point if it overrides the direction or order of the text around it (U+200E-F, U+202A-E, U+2066-9) or ends the line (U+2028-9), else 0.
unsigned directionControl(std::string_view sequence)
{
    if (sequence.size() != 3 || sequence[0] != '\xE2') {
        return 0;
    }
    const unsigned point = 0x2000u | ((static_cast<unsigned>(sequence[1]) & 0x3Fu) << 6) | (static_cast<unsigned>(sequence[2]) & 0x3Fu);
    return point == 0x200E || point == 0x200F || (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) ? point : 0;
}

} // namespace

std::size_t columns(std::string_view text)
{
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !isContinuation(c); }));
}

std::string printable(std::string_view text)
{
    std::string out;
    while (!text.empty()) {
        const std::size_t length = sequenceLength(text);
        const auto bytes = text.substr(0, std::max<std::size_t>(length, 1));
        const auto first = static_cast<unsigned char>(bytes[0]);
        if (length == 0 || (length == 1 && (first < 0x20 || first == 0x7F))) {
            out += fmt::format("\\x{:02x}", first);
        } else if (length == 2 && first == 0xC2 && static_cast<unsigned char>(bytes[1]) < 0xA0) { // C1: a terminal may obey them as it does ESC
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[1]));
        } else if (const auto bidi = directionControl(bytes); bidi != 0) {
            out += fmt::format("\\u{:04x}", bidi);
        } else {
            out += bytes;
        }
        text.remove_prefix(bytes.size());
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

std::string wrapped(std::string_view text, std::size_t width, std::size_t first, std::size_t indent)
{
    const std::size_t room = width > indent ? width - indent : 1;
    std::string out;
    std::size_t column = first;
    bool lineHasWord = false;
    while (!text.empty()) {
        const auto space = text.find(' ');
        const auto word = shortened(text.substr(0, space), room);
        text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
        const std::size_t needed = columns(word) + (lineHasWord ? 1 : 0);
        if (column + needed > width && (lineHasWord || column > indent)) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (lineHasWord) {
            out += ' ';
            ++column;
        }
        out += word;
        column += columns(word);
        lineHasWord = true;
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
