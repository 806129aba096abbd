// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/series.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <limits>
#include <optional>

// Numbers out of tables and out of what a training script printed.
namespace forkpoint::import {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isNameCharacter(char c) { return isLetter(c) || isDigit(c) || c == '_' || c == '/' || c == '.' || c == '-'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

/// A number at the start of `text`, also nan and inf; how many characters it takes, 0 if there is none.
std::size_t numberAt(std::string_view text, double& value)
{
    std::size_t sign = 0;
    if (text.starts_with('-') || text.starts_with('+')) {
        sign = 1;
    }
    for (const std::string_view word : { "infinity", "nan", "inf" }) {
        const auto part = text.substr(std::min(sign, text.size()), word.size());
        if (part.size() == word.size() && std::equal(part.begin(), part.end(), word.begin(), [](char x, char y) { return lower(x) == y; })
            && (text.size() == sign + word.size() || !isNameCharacter(text[sign + word.size()]))) {
            const double magnitude = word == "nan" ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
            value = text.starts_with('-') ? -magnitude : magnitude;
            return sign + word.size();
        }
    }
    const std::size_t plus = text.starts_with('+') ? 1 : 0;
    if (text.size() <= sign || (!isDigit(text[sign]) && text[sign] != '.')) {
        return 0;
    }
    const auto [end, error] = std::from_chars(text.data() + plus, text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) {
        value = 0;
    } else if (error != std::errc()) {
        return 0;
    }
    return static_cast<std::size_t>(end - text.data());
}

std::optional<double> wholeNumber(std::string_view text)
{
    while (!text.empty() && (text.front() == ' ' || text.front() == '"')) {
        text.remove_prefix(1);
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == '"' || text.back() == '\r')) {
        text.remove_suffix(1);
    }
    double value = 0;
    return !text.empty() && numberAt(text, value) == text.size() ? std::optional(value) : std::nullopt;
}

std::vector<std::string_view> fieldsOf(std::string_view line, char delimiter)
{
    std::vector<std::string_view> out;
    bool quoted = false;
    std::size_t from = 0;
    for (std::size_t i = 0; i <= line.size(); ++i) {
        if (i == line.size() || (line[i] == delimiter && !quoted)) {
            out.push_back(line.substr(from, i - from));
            from = i + 1;
        } else if (line[i] == '"') {
            quoted = !quoted;
        }
    }
    return out;
}

/// Without what moves the cursor or colours: CSI and OSC sequences, and other escapes (ECMA-48).
std::string withoutEscapes(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\x1b') {
            out += text[i];
            continue;
        }
        if (++i >= text.size()) {
            break;
        }
        if (text[i] == '[') {
            while (++i < text.size() && (text[i] < 0x40 || text[i] > 0x7e)) { }
        } else if (text[i] == ']') {
            while (++i < text.size() && text[i] != '\a' && text[i] != '\x1b' && text[i] != '\n') { }
        }
    }
    return out;
}

/// Takes "[rank0]:", "[default0]:" or "0: " (srun --label) off a line.
std::optional<int> takeRank(std::string_view& line)
{
    const auto number = [](std::string_view digits) {
        int value = -1;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error == std::errc() && end == digits.data() + digits.size() ? value : -1;
    };
    auto rest = line;
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    for (const std::string_view word : { "[rank", "[default" }) {
        if (!rest.starts_with(word)) {
            continue;
        }
        const auto end = rest.find(']');
        const int rank = end == std::string_view::npos ? -1 : number(rest.substr(word.size(), end - word.size()));
        if (rank >= 0) {
            line = rest.substr(end + 1);
            if (line.starts_with(':')) {
                line.remove_prefix(1);
            }
            return rank;
        }
    }
    const auto colon = rest.find(": ");
    if (colon != std::string_view::npos && colon > 0 && colon <= 6) {
        if (const int rank = number(rest.substr(0, colon)); rank >= 0) {
            line = rest.substr(colon + 2);
            return rank;
        }
    }
    return std::nullopt;
}

/// A name whose number may stand behind it without ':' or '='.
bool isMetricWord(std::string_view name)
{
    constexpr auto kParts = std::to_array<std::string_view>({ "loss", "norm", "lr", "acc", "ppl", "perplexity", "step", "iter", "epoch" });
    std::string small;
    for (const char c : name) {
        small += lower(c);
    }
    return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
        return part.size() > 3 ? small.find(part) != std::string::npos : small == part || small.ends_with("_" + std::string(part))
            || small.ends_with("/" + std::string(part));
    });
}

/// The step that a progress bar shows: "| 5/40 [00:01<".
std::optional<std::int64_t> barStep(std::string_view line)
{
    for (auto at = line.find('/'); at != std::string_view::npos; at = line.find('/', at + 1)) {
        std::size_t from = at, end = at + 1;
        while (from > 0 && isDigit(line[from - 1])) {
            --from;
        }
        while (end < line.size() && isDigit(line[end])) {
            ++end;
        }
        if (from < at && end > at + 1 && line.substr(end).starts_with(" [")) {
            std::int64_t value = 0;
            if (std::from_chars(line.data() + from, line.data() + at, value).ec == std::errc()) {
                return value;
            }
        }
    }
    return std::nullopt;
}

/// Names with numbers behind them, in the order of the line.
std::vector<std::pair<std::string, double>> numbersIn(std::string_view line)
{
    std::vector<std::pair<std::string, double>> out;
    std::size_t at = 0;
    while (at < line.size()) {
        if (!isLetter(line[at]) && line[at] != '_') {
            // What is no name is passed over, with the letters that belong to it: "149.78it/s" has no "it".
            const bool number = isDigit(line[at]);
            ++at;
            while (number && at < line.size() && isNameCharacter(line[at])) {
                ++at;
            }
            continue;
        }
        const std::size_t from = at;
        while (at < line.size() && isNameCharacter(line[at])) {
            ++at;
        }
        auto name = line.substr(from, at - from);
        while (!name.empty() && (name.back() == '.' || name.back() == '-' || name.back() == '/')) {
            name.remove_suffix(1);
        }
        std::size_t next = at;
        bool sign = false;
        while (next < line.size() && (line[next] == ' ' || line[next] == '\t' || line[next] == ':' || line[next] == '=' || line[next] == '\''
            || line[next] == '"')) {
            sign = sign || line[next] == ':' || line[next] == '=';
            ++next;
        }
        if (line.substr(next).starts_with("tensor(")) {
            next += 7;
        }
        double value = 0;
        const std::size_t length = next == at ? 0 : numberAt(line.substr(next), value);
        if (length == 0 || name.empty() || (!sign && !isMetricWord(name))) {
            continue;
        }
        const std::size_t end = next + length;
        if (end < line.size() && (isLetter(line[end]) || line[end] == '_' || line[end] == ':' || line[end] == '%')) {
            at = end; // "10:32", "5it", "50%": a time, a rate, a share
            continue;
        }
        out.emplace_back(std::string(name), value);
        at = end;
    }
    return out;
}

} // namespace

void readCsv(std::string_view text, SeriesFile& out, const std::stop_token& stop)
{
    out.format = "CSV";
    SeriesCollector collector(out);
    std::vector<std::string> names;
    char delimiter = ',';
    std::size_t ragged = 0;
    const auto all = text;
    while (!text.empty() && !stop.stop_requested()) {
        const auto end = std::min(text.find('\n'), text.size());
        auto line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        if (line.find_first_not_of(" \t") == std::string_view::npos) {
            continue;
        }
        if (names.empty()) {
            delimiter = line.find(',') != std::string_view::npos ? ',' : line.find(';') != std::string_view::npos ? ';' : '\t';
            if (line.starts_with("\xef\xbb\xbf")) {
                line.remove_prefix(3); // a byte order mark
            }
            const auto fields = fieldsOf(line, delimiter);
            const auto isNumber = [](std::string_view field) { return wholeNumber(field).has_value(); };
            if (std::all_of(fields.begin(), fields.end(), isNumber)) { // no header: this is a record already
                for (std::size_t column = 1; column <= fields.size(); ++column) {
                    names.push_back(fmt::format("column {}", column));
                }
                out.notes.push_back("the first line has numbers only and names no column: columns are numbered");
                text = all;
                continue;
            }
            for (auto field : fields) {
                while (!field.empty() && (field.front() == ' ' || field.front() == '"')) {
                    field.remove_prefix(1);
                }
                while (!field.empty() && (field.back() == ' ' || field.back() == '"')) {
                    field.remove_suffix(1);
                }
                names.push_back(field.empty() ? fmt::format("column {}", names.size() + 1) : std::string(field)); // pandas leaves its index without a name
            }
            continue;
        }
        const auto fields = fieldsOf(line, delimiter);
        ragged += fields.size() == names.size() ? 0u : 1u;
        std::vector<std::pair<std::string, double>> record;
        for (std::size_t i = 0; i < std::min(fields.size(), names.size()); ++i) {
            if (const auto value = wholeNumber(fields[i])) {
                record.emplace_back(names[i], *value);
            }
        }
        collector.add(record);
    }
    if (ragged > 0) {
        out.notes.push_back(fmt::format("{} lines have more or fewer fields than the header", ragged));
    }
    collector.finish();
}

void readConsole(std::string_view text, SeriesFile& out, const std::stop_token& stop)
{
    out.format = "text";
    const std::string plain = withoutEscapes(text);
    std::string_view rest = plain;
    struct Line {
        std::optional<int> rank;
        std::string_view text;
    };
    std::vector<Line> lines;
    std::optional<int> lowest;
    bool several = false;
    while (!rest.empty() && !stop.stop_requested()) {
        const auto end = std::min(rest.find_first_of("\r\n"), rest.size());
        Line line { std::nullopt, rest.substr(0, end) };
        rest.remove_prefix(std::min(end + 1, rest.size()));
        line.rank = takeRank(line.text);
        if (line.rank) {
            several = several || (lowest && *lowest != *line.rank);
            lowest = lowest ? std::min(*lowest, *line.rank) : line.rank;
        }
        if (!line.text.empty()) {
            lines.push_back(line);
        }
    }
    SeriesCollector collector(out);
    for (const auto& line : lines) {
        if (stop.stop_requested()) {
            break;
        }
        if (line.rank && *line.rank != *lowest) {
            continue;
        }
        auto record = numbersIn(line.text);
        if (!record.empty()) {
            collector.add(record, barStep(line.text));
        }
    }
    collector.finish();
    // One number of a kind is a setting or a remark, not a curve.
    std::erase_if(out.series, [](const auto& entry) { return entry.second.values.size() < 2 && entry.first.find("loss") == std::string::npos; });
    if (several) {
        out.notes.push_back(fmt::format("of several ranks' lines those of rank {} count", *lowest));
    }
}

} // namespace forkpoint::import
