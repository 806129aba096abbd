// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/series.h"

#include "core/bundle/archive_files.h"
#include "core/files/bytes.h"
#include "core/import/binary_kind.h"
#include "core/import/run_name.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <simdjson.h>

namespace forkpoint::import {

using namespace files;

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxText = 1u << 30;
constexpr std::string_view kWhatIsRead = "Read are CSV with a header, JSON lines, TensorBoard event files, trainer_state.json, text of a terminal with "
                                         "\"loss 2.31\", and recorded runs";

/// The place of the last digit of the shortest decimal that is this double: 0.01 for 2.25, 0 for whole numbers.
double lastDigit(double value)
{
    if (!std::isfinite(value) || value == std::floor(value)) { // a count is what it says, and 2 was no 2.4
        return 0;
    }
    const std::string text = fmt::format("{:e}", value); // six digits behind the point: enough to tell what was rounded
    const auto e = text.find('e');
    const auto digits = std::string_view(text).substr(0, e);
    const auto last = digits.find_last_not_of("0.");
    const auto point = digits.find('.');
    const int behind = last == std::string_view::npos || last < point ? 0 : static_cast<int>(last - point);
    return std::pow(10.0, std::stoi(text.substr(e + 1)) - behind);
}

/// Bare NaN, Infinity and -Infinity, which Python writes and JSON has not, as texts.
std::string withQuotedNonFinite(std::string_view text)
{
    std::string out;
    out.reserve(text.size() + 16);
    bool inText = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inText) {
            out += c;
            if (c == '\\' && i + 1 < text.size()) {
                out += text[++i];
            } else if (c == '"') {
                inText = false;
            }
            continue;
        }
        const auto rest = text.substr(i);
        std::string_view word;
        for (const std::string_view candidate : { "NaN", "-Infinity", "Infinity" }) {
            word = word.empty() && rest.starts_with(candidate) ? candidate : word;
        }
        if (!word.empty()) {
            out += fmt::format("\"{}\"", word);
            i += word.size() - 1;
            continue;
        }
        inText = c == '"';
        out += c;
    }
    return out;
}

std::optional<double> numberOf(simdjson::dom::element value)
{
    double number = 0;
    if (value.is_number() && value.get_double().get(number) == simdjson::SUCCESS) {
        return number;
    }
    std::int64_t integer = 0;
    if (value.get_int64().get(integer) == simdjson::SUCCESS) {
        return static_cast<double>(integer);
    }
    std::string_view text;
    if (value.get_string().get(text) == simdjson::SUCCESS) {
        return text == "NaN" || text == "nan"                     ? std::optional(std::numeric_limits<double>::quiet_NaN())
            : text == "Infinity" || text == "inf"                 ? std::optional(std::numeric_limits<double>::infinity())
            : text == "-Infinity" || text == "-inf"               ? std::optional(-std::numeric_limits<double>::infinity())
                                                                  : std::nullopt;
    }
    return std::nullopt;
}

/// Numbers of an object, those of inner objects as "outer/inner".
void flatten(simdjson::dom::object object, const std::string& prefix, int depth, std::vector<std::pair<std::string, double>>& out)
{
    for (const auto field : object) {
        const std::string name = prefix.empty() ? std::string(field.key) : fmt::format("{}/{}", prefix, field.key);
        simdjson::dom::object inner;
        if (field.value.get(inner) == simdjson::SUCCESS) {
            if (depth < 4) {
                flatten(inner, name, depth + 1, out);
            }
        } else if (const auto number = numberOf(field.value)) {
            out.emplace_back(name, *number);
        }
    }
}

Result<std::string> textOf(const fs::path& path)
{
    const auto file = FilePool::create()->file(path, path.string());
    if (!file) {
        return tl::unexpected(file.error());
    }
    if ((*file)->size() > kMaxText) {
        return fail(ErrorCode::Unsupported, fmt::format("has {} bytes; texts of at most {} are read: cut it", (*file)->size(), kMaxText),
            path.string());
    }
    const auto bytes = (*file)->copy(0, static_cast<std::size_t>((*file)->size()));
    if (!bytes) {
        return tl::unexpected(bytes.error());
    }
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

std::string_view firstLine(std::string_view text)
{
    const auto start = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    text.remove_prefix(start);
    return text.substr(0, std::min(text.find('\n'), text.size()));
}

/// A header of at least two names, and a second line with as many fields.
bool looksLikeCsv(std::string_view text)
{
    const auto header = firstLine(text);
    for (const char delimiter : { ',', ';', '\t' }) {
        const auto fields = std::count(header.begin(), header.end(), delimiter);
        if (fields == 0) {
            continue;
        }
        const auto rest = text.substr(static_cast<std::size_t>(header.data() + header.size() - text.data()));
        const auto second = firstLine(rest);
        return std::count(second.begin(), second.end(), delimiter) == fields && header.find_first_of("{}:|=") == std::string_view::npos;
    }
    return false;
}

Result<void> readText(std::string_view text, SeriesFile& out, const std::stop_token& stop)
{
    const auto first = firstLine(text);
    if (first.starts_with('{') && text.find("\"log_history\"") != std::string_view::npos) {
        return readTrainerState(text, out, stop);
    }
    if (first.starts_with("{\"") || first.starts_with("{ \"")) {
        readJsonLines(text, out, stop);
    } else if (looksLikeCsv(text)) {
        readCsv(text, out, stop);
    } else {
        readConsole(text, out, stop);
    }
    return {};
}

Result<void> readFile(const fs::path& path, SeriesFile& out, const std::stop_token& stop)
{
    const auto file = FilePool::create()->file(path, path.string());
    if (!file) {
        return tl::unexpected(file.error());
    }
    const auto head = (*file)->copy(0, static_cast<std::size_t>(std::min<std::uint64_t>((*file)->size(), kTextHead)));
    if (!head) {
        return tl::unexpected(head.error());
    }
    if (isEventFile({ reinterpret_cast<const char*>(head->data()), head->size() })) {
        return readEvents(path, {}, out, stop);
    }
    if (const auto kind = binaryKind(*head); !kind.empty()) {
        return fail(ErrorCode::NotABundle, fmt::format("is {}, no log. {}", kind, kWhatIsRead), path.string());
    }
    const auto text = textOf(path);
    return text ? readText(*text, out, stop) : tl::unexpected(text.error());
}

Result<void> readBundle(const RunName& name, SeriesFile& out, const std::stop_token& stop)
{
    const auto run = bundle::Bundle::open(name.path, nullptr, stop);
    if (!run) {
        return tl::unexpected(run.error());
    }
    out.format = "recorded run";
    std::vector<const bundle::RankData*> ranks;
    if (name.rank) {
        const auto chosen = recordedRank(**run, *name.rank);
        if (!chosen) {
            return tl::unexpected(chosen.error());
        }
        ranks = { *chosen };
    } else {
        for (const auto& rank : (*run)->ranks()) {
            ranks.push_back(&rank);
        }
    }
    if (!name.rank && (*run)->worldSize() > 1) {
        out.notes.push_back(fmt::format("numbers are the mean over {} of {} ranks; RUN@RANK shows those of one, and forkpoint-cli compare finds out how losses of "
                                        "ranks add up", ranks.size(), (*run)->worldSize()));
    }
    struct Mean {
        double sum = 0;
        int ranks = 0;
    };
    std::map<std::pair<std::string, std::int32_t>, Mean> means;
    for (const auto* rank : ranks) {
        std::set<std::pair<std::string, std::int32_t>> seen; // of several values of a step the first counts
        for (const auto& scalar : rank->scalars) {
            const std::pair key(scalar.name, scalar.step);
            if (seen.insert(key).second) {
                auto& mean = means[key];
                mean.sum += scalar.value;
                ++mean.ranks;
            }
        }
    }
    for (const auto& [key, mean] : means) {
        out.series[key.first].values.emplace(key.second, mean.sum / mean.ranks);
    }
    if (out.series.empty()) {
        return fail(ErrorCode::Usage, "is a recorded run without numbers by step: the recorder writes the loss when backward() runs; others are added with "
                                      "rec.scalar(NAME, VALUE)", name.path.string());
    }
    return {};
}

Result<void> readFolder(const fs::path& path, SeriesFile& out, const std::stop_token& stop)
{
    std::error_code ignored;
    if (fs::is_regular_file(path / "trainer_state.json", ignored)) {
        return readFile(path / "trainer_state.json", out, stop);
    }
    std::vector<std::pair<std::string, fs::path>> events; // in name order, which is time order: restarts of a run follow each other
    std::error_code error;
    for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
        if (entry.depth() >= 4) {
            entry.disable_recursion_pending();
        }
        if (entry->is_regular_file(ignored) && entry->path().filename().string().find("tfevents") != std::string::npos) {
            const auto folder = entry->path().parent_path().lexically_relative(path).generic_string();
            events.emplace_back(folder == "." ? std::string() : folder, entry->path());
        }
    }
    std::sort(events.begin(), events.end());
    for (const auto& [prefix, file] : events) {
        if (auto done = readEvents(file, prefix, out, stop); !done) {
            return done;
        }
    }
    if (!events.empty()) {
        return {};
    }
    auto done = readBundle({ path, std::nullopt }, out, stop);
    if (!done && done.error().code == ErrorCode::NotABundle) {
        return fail(ErrorCode::NotABundle,
                    "holds no loss curve: of folders, those with trainer_state.json, with TensorBoard event files and recorded runs are read",
                    path.string());
    }
    return done;
}

/// Whatever there is at the path; a bundle's name may lack its suffix, and name one rank.
Result<void> readPath(const fs::path& path, SeriesFile& out, const std::stop_token& stop)
{
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
        return readFolder(path, out, stop);
    }
    if (fs::exists(path, ignored) && !bundle::isBundleArchive(path)) {
        return readFile(path, out, stop);
    }
    const auto name = readRunName(path.string());
    auto done = name ? readBundle(*name, out, stop) : tl::unexpected(name.error());
    if (!done && done.error().code == ErrorCode::NotFound) {
        return fail(ErrorCode::NotFound, "there is no such file or folder", path.string());
    }
    return done;
}

/// Best first: "step" may begin again with each epoch.
constexpr auto kStepNames = std::to_array<std::string_view>({ "global_step", "trainer/global_step", "_step", "step", "Step", "iteration", "Iteration", "iter" });

/// How fast a run was, or when: never the same twice.
bool isClock(std::string_view name)
{
    constexpr auto kParts = std::to_array<std::string_view>({ "runtime", "timestamp", "wall_time", "Wall time", "per_second", "per_sec", "elapsed" });
    return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) { return name.find(part) != std::string_view::npos; })
        || name == "time"
        || name.ends_with("_time") || name.ends_with("/time");
}

} // namespace

bool isStepName(std::string_view name)
{
    return std::find(kStepNames.begin(), kStepNames.end(), name) != kStepNames.end();
}

void SeriesCollector::add(const std::vector<std::pair<std::string, double>>& record, std::optional<std::int64_t> step)
{
    constexpr std::size_t kMaxSeries = 10'000;
    std::size_t best = kStepNames.size();
    for (const auto& [name, value] : record) {
        const auto rank = static_cast<std::size_t>(std::find(kStepNames.begin(), kStepNames.end(), name) - kStepNames.begin());
        if (rank < best && std::isfinite(value) && std::abs(value) < 1e15) {
            best = rank;
            step = static_cast<std::int64_t>(value);
            m_cut += static_cast<double>(*step) == value ? 0u : 1u;
        }
    }
    const bool given = step.has_value();
    const std::int64_t at = step.value_or(m_counted);
    bool used = false;
    for (const auto& [name, value] : record) {
        if (isStepName(name) || isClock(name)) {
            continue;
        }
        used = true;
        if (at < 0 || at > std::numeric_limits<std::int32_t>::max() || (m_file.series.size() >= kMaxSeries && !m_file.series.contains(name))) {
            ++m_outside;
            continue;
        }
        auto& series = m_file.series[name];
        const auto [where, isNew] = series.values.try_emplace(static_cast<std::int32_t>(at), value);
        if (!isNew && !given) {
            ++m_taken;
            continue;
        }
        where->second = value;
        m_again += isNew ? 0u : 1u;
        if (const double digit = lastDigit(value); digit > 0) {
            series.resolution = series.resolution == 0 ? digit : std::min(series.resolution, digit);
        }
    }
    if (used && !given) {
        ++m_counted;
    }
}

void SeriesCollector::finish()
{
    if (m_counted > 0) {
        m_file.notes.push_back(fmt::format("{} records have no step: they are counted from 0", m_counted));
    }
    if (m_taken > 0) {
        m_file.notes.push_back(fmt::format("{} values of records without a step are left out: a value with that step is there", m_taken));
    }
    if (m_cut > 0) {
        m_file.notes.push_back(fmt::format("{} steps are no whole numbers: what is behind the point is left out", m_cut));
    }
    if (m_again > 0) {
        m_file.notes.push_back(fmt::format("{} values are of a step that was there before: the last one counts", m_again));
    }
    if (m_outside > 0) {
        m_file.notes.push_back(fmt::format("{} values are left out: a step outside 0 .. 2^31 - 1, or more than 10000 names", m_outside));
    }
}

void readJsonLines(std::string_view text, SeriesFile& out, const std::stop_token& stop)
{
    out.format = "JSON lines";
    SeriesCollector collector(out);
    simdjson::dom::parser parser;
    std::size_t bad = 0;
    while (!text.empty() && !stop.stop_requested()) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
            continue;
        }
        simdjson::dom::object object;
        if (parser.parse(withQuotedNonFinite(line)).get(object) != simdjson::SUCCESS) {
            ++bad;
            continue;
        }
        std::vector<std::pair<std::string, double>> record;
        flatten(object, {}, 0, record);
        collector.add(record);
    }
    if (bad > 0) {
        out.notes.push_back(fmt::format("{} lines are no JSON objects: left out", bad));
    }
    collector.finish();
}

Result<void> readTrainerState(std::string_view text, SeriesFile& out, const std::stop_token& stop)
{
    out.format = "trainer_state.json";
    simdjson::dom::parser parser;
    simdjson::dom::array history;
    const auto document = withQuotedNonFinite(text);
    if (const auto error = parser.parse(document)["log_history"].get(history); error != simdjson::SUCCESS) {
        return fail(ErrorCode::Corrupt, fmt::format("is no trainer_state.json ({}): was it cut?", simdjson::error_message(error)));
    }
    SeriesCollector collector(out);
    for (const auto entry : history) {
        if (stop.stop_requested()) {
            break;
        }
        simdjson::dom::object object;
        if (entry.get(object) == simdjson::SUCCESS) {
            std::vector<std::pair<std::string, double>> record;
            flatten(object, {}, 0, record);
            collector.add(record);
        }
    }
    collector.finish();
    return {};
}

Result<SeriesFile> openSeries(const fs::path& path, std::stop_token stop)
{
    SeriesFile out;
    out.name = (path.has_filename() ? path : path.parent_path()).filename().string();
    try {
        if (auto done = readPath(path, out, stop); !done) {
            auto error = std::move(done.error());
            error.where = error.where.empty() ? path.string() : error.where;
            return tl::unexpected(std::move(error));
        }
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::Unreadable, "there is not enough memory to read it", path.string());
    } catch (const std::exception& error) { // a folder that changes while it is listed
        return fail(ErrorCode::Unreadable, fmt::format("cannot be read: {}", error.what()), path.string());
    }
    if (stop.stop_requested()) {
        return fail(ErrorCode::Cancelled, "reading was cancelled", path.string());
    }
    if (out.series.empty()) {
        return fail(ErrorCode::NotABundle, fmt::format("holds no numbers by step. {}", kWhatIsRead), path.string());
    }
    return out;
}

} // namespace forkpoint::import
