// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/progress_steps.h"
#include "core/bundle/bundle.h"
#include "core/bundle/extent_source.h"
#include "core/bundle/json_document.h"
#include "core/bundle/line_reader.h"
#include "core/bundle/open_files.h"
#include "core/bundle/parse_lines.h"
#include "core/bundle/problem_log.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <simdjson.h>
#include <tbb/parallel_for.h>
#include <unordered_set>

// Opening a bundle. What can be wrong with the input splits in two: what makes the whole unreadable is an Error of open(), everything else
// is a Problem, and reading goes on with the next line, file or rank (FORMAT.md section 7). The content may come from a stranger: lengths
// are checked before they are used, memory is bounded by the size of the files, and no exception leaves this folder.
namespace forkpoint::bundle {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int kMajor = 1;
constexpr int kMinor = 1;
constexpr int kMaxWorld = 1 << 20; // beyond any cluster; keeps code that has an entry per rank from believing a lie
constexpr std::uint64_t kRankUnits = 1000; // progress of one rank

Error cancelled()
{
    return {ErrorCode::Cancelled, "reading was cancelled", {}};
}

std::string counted(std::uint64_t count, std::string_view noun)
{
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// "1, 3-5"
std::string rangesText(const std::vector<int>& numbers)
{
    constexpr std::size_t kShown = 20;
    std::string text;
    std::size_t shown = 0;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        if (shown++ == kShown)
            return text + ", ...";
        text += text.empty() ? "" : ", ";
        text += last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
        i = last + 1;
    }
    return text;
}

std::string textOf(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// An integer within [min, max], however it is stored.
std::optional<int> intOf(const json& value, int min, int max)
{
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        return number <= static_cast<std::uint64_t>(max) && static_cast<std::int64_t>(number) >= min
            ? std::optional(static_cast<int>(number))
            : std::nullopt;
    }
    if (value.is_number_integer()) {
        const auto number = value.get<std::int64_t>();
        return number >= min && number <= max ? std::optional(static_cast<int>(number)) : std::nullopt;
    }
    return std::nullopt;
}

/// The number of a folder "rank00012".
std::optional<int> rankOfFolder(const std::string& name)
{
    constexpr std::string_view kPrefix = "rank";
    if (name.size() < kPrefix.size() + 5 || name.compare(0, kPrefix.size(), kPrefix) != 0)
        return std::nullopt;
    int rank = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, rank);
    if (error != std::errc() || stop != end || rank < 0 || rank >= kMaxWorld)
        return std::nullopt;
    return rank;
}

bool looksLikeRank(const fs::path& folder)
{
    std::error_code ignored;
    return fs::exists(folder / "rank.json", ignored) || fs::exists(folder / "tensors.jsonl", ignored);
}

/// Checks `format` and `version` of bundle.json or rank.json. An error if the file must be refused; problems of keys that are missing.
Result<void> checkFormat(const json& document, std::string_view expected, const std::string& where, std::vector<Problem>& problems)
{
    const auto format = document.find("format");
    if (format == document.end() || !format->is_string()) {
        problems.push_back({Problem::Level::Warning, where, fmt::format("`format` is not \"{}\": read as if it were", expected)});
    } else if (format->get<std::string>() != expected) {
        return fail(ErrorCode::NotABundle,
                    fmt::format("`format` is \"{}\", not \"{}\": this file was written by another program",
                                shownText(format->get<std::string>()), expected),
                    where);
    }
    const auto version = document.find("version");
    std::optional<int> major, minor;
    if (version != document.end() && version->is_array() && version->size() == 2) {
        major = intOf((*version)[0], 0, std::numeric_limits<int>::max());
        minor = intOf((*version)[1], 0, std::numeric_limits<int>::max());
    }
    if (!major || !minor) {
        problems.push_back(
            {Problem::Level::Warning, where, fmt::format("`version` is not [major, minor]: read as version {}.{}", kMajor, kMinor)});
    } else if (*major > kMajor) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("was written in format version {}.{}, and this program reads up to {}: get a newer Forkpoint", *major,
                                *minor, kMajor),
                    where);
    } else if (*major == kMajor && *minor > kMinor) {
        problems.push_back(
            {Problem::Level::Note, where,
             fmt::format("was written in the newer format version {}.{}: what this program does not know is ignored", *major, *minor)});
    }
    return {};
}

/// Calls `parse(JsonFields&, line number)` for every line that is a JSON object, and reports the others. `position` gets the bytes read
/// so far, now and then.
template <class Parse>
Result<void> readLines(const std::shared_ptr<const OpenFile>& file, ProblemLog& log, const std::stop_token& stop,
                       const std::function<void(std::uint64_t)>& position, Parse parse)
{
    LineReader lines(file);
    simdjson::dom::parser parser;
    for (std::uint64_t count = 0;; ++count) {
        if (count % 256 == 0) {
            if (stop.stop_requested())
                return tl::unexpected(cancelled());
            position(lines.position());
        }
        const Result<LineReader::Event> event = lines.next();
        if (!event) {
            log.file(Problem::Level::Warning, event.error().message + "; what comes after it is missing");
            return {};
        }
        if (*event == LineReader::Event::End)
            return {};
        if (*event == LineReader::Event::Torn) {
            log.line(
                lines.number(), Problem::Level::Warning,
                "the last line is torn (it has no line end), because the recording was stopped or the file was cut while copying; it is "
                "ignored");
            return {};
        }
        if (*event == LineReader::Event::TooLong) {
            log.line(lines.number(), Problem::Level::Warning,
                     fmt::format("the line is longer than {} bytes; it is skipped", LineReader::kMaxLine));
            continue;
        }
        const std::string_view text = lines.text();
        simdjson::dom::object object;
        const simdjson::error_code error = parser.parse(text.data(), text.size(), false).get(object);
        if (error != simdjson::SUCCESS) {
            std::string problem = fmt::format("is not JSON ({})", simdjson::error_message(error));
            if (error == simdjson::INCORRECT_TYPE)
                problem = "is no JSON object";
            else if (error == simdjson::UTF8_ERROR)
                problem = "is not UTF-8";
            log.line(lines.number(), Problem::Level::Warning, problem + "; the line is skipped");
            continue;
        }
        JsonFields fields(object);
        parse(fields, lines.number());
        if (!fields.ok())
            log.line(lines.number(), Problem::Level::Warning, fields.problem() + "; the line is skipped");
    }
}

/// What one rank's folder gave.
struct RankResult {
    std::optional<RankData> data;
    std::optional<Error> refusal; ///< why there is no data
    std::vector<Problem> problems;
};

/// Reads one rank's folder.
class RankReader {
public:
    RankReader(OpenFiles& files, fs::path folder, std::string prefix, int rank, std::stop_token stop, ProgressSteps& progress)
        : m_files(files)
        , m_folder(std::move(folder))
        , m_prefix(std::move(prefix))
        , m_rank(rank)
        , m_stop(std::move(stop))
        , m_progress(progress)
    {
    }

    RankResult read()
    {
        try {
            if (Result<void> done = readAll(); !done) {
                m_result.refusal = std::move(done.error());
                m_result.data.reset();
            }
        } catch (const std::bad_alloc&) {
            m_result.refusal = Error{ErrorCode::Unreadable, "there is not enough memory to read this rank", m_prefix};
            m_result.data.reset();
        }
        m_progress.add(kRankUnits - m_reported);
        return std::move(m_result);
    }

private:
    Result<void> readAll()
    {
        RankData& data = m_result.data.emplace();
        data.folder = m_folder;
        data.rank = m_rank;
        if (Result<void> done = readInfo(data); !done)
            return done;

        const auto graph = open("graph.jsonl", Problem::Level::Note, "the modules and the data flow of this rank are unknown");
        const auto scalars = open("scalars.jsonl", Problem::Level::Note, "this rank has no loss curve");
        const auto tensors = open("tensors.jsonl", Problem::Level::Warning, "this rank has no tensors");
        for (const auto& file : {graph, scalars, tensors})
            m_totalBytes += file ? file->size() : 0;
        Result<void> done;
        if (graph)
            done = readGraph(graph, data);
        if (done && scalars)
            done = readScalars(scalars, data);
        if (done && tensors)
            done = readTensors(tensors, data);
        return done;
    }

    std::string where(const std::string& file) const { return m_prefix.empty() ? file : m_prefix + "/" + file; }

    void report(Problem::Level level, const std::string& file, std::string message)
    {
        m_result.problems.push_back({level, where(file), std::move(message)});
    }

    std::shared_ptr<const OpenFile> open(const std::string& name, Problem::Level level, std::string_view meaning)
    {
        auto file = m_files.open(m_folder, name);
        if (file)
            return *file;
        if (file.error().code != ErrorCode::NotFound)
            level = Problem::Level::Warning;
        report(level, name, fmt::format("{}: {}", file.error().message, meaning));
        return nullptr;
    }

    Result<void> readInfo(RankData& data)
    {
        data.info = json::object();
        const char* name = "rank.json";
        const auto file = open(name, Problem::Level::Warning, "the environment and configuration of this rank are unknown");
        if (!file)
            return {};
        Result<json> document = readDocument(*file);
        if (!document) {
            report(Problem::Level::Warning, name,
                   document.error().message + ": the environment and configuration of this rank are unknown");
            return {};
        }
        if (Result<void> ok = checkFormat(*document, "forkpoint-rank", where(name), m_result.problems); !ok)
            return ok;
        data.info = std::move(*document);

        const auto rank = data.info.find("rank");
        const std::optional<int> number = rank != data.info.end() ? intOf(*rank, 0, kMaxWorld - 1) : std::nullopt;
        if (m_rank < 0) {
            if (!number)
                report(Problem::Level::Warning, name, "`rank` is no rank number: read as rank 0");
            data.rank = number.value_or(0);
        } else if (number != m_rank) {
            report(Problem::Level::Warning, name,
                   fmt::format("`rank` is {}, but the folder is that of rank {}: read as rank {}",
                               number ? std::to_string(*number) : std::string("no rank number"), m_rank, m_rank));
        }

        const std::string status = textOf(data.info, "status");
        data.complete = status == "complete";
        if (status == "recording") {
            report(Problem::Level::Note, name,
                   "the recording has no end: the process still runs or was killed. What it wrote until then is here");
        } else if (status == "failed") {
            const std::string error = shownText(textOf(data.info, "error"));
            report(Problem::Level::Note, name,
                   fmt::format("the script failed while it was recorded{}{}", error.empty() ? "" : ": ", error));
        } else if (!data.complete) {
            report(Problem::Level::Warning, name, "`status` is neither recording, complete nor failed: how the recording ended is unknown");
        }
        return {};
    }

    std::function<void(std::uint64_t)> positions(const std::shared_ptr<const OpenFile>& file)
    {
        const std::uint64_t before = m_doneBytes;
        m_doneBytes += file->size();
        return [this, before](std::uint64_t position) {
            const double share = static_cast<double>(before + position) / static_cast<double>(std::max<std::uint64_t>(m_totalBytes, 1));
            const auto units = std::min(kRankUnits, static_cast<std::uint64_t>(share * static_cast<double>(kRankUnits)));
            if (units > m_reported) {
                m_progress.add(units - m_reported);
                m_reported = units;
            }
        };
    }

    Result<void> readGraph(const std::shared_ptr<const OpenFile>& file, RankData& data)
    {
        ProblemLog log(where("graph.jsonl"), m_result.problems);
        std::map<std::string, std::uint64_t> unknown;
        Result<void> done = readLines(file, log, m_stop, positions(file), [&](JsonFields& fields, std::uint64_t) {
            if (parseGraph(fields, data))
                return;
            const std::string type = shownText(fields.textOr("type", {}));
            ++unknown[unknown.size() < 8 || unknown.contains(type) ? type : "..."];
        });
        for (const auto& [type, count] : unknown)
            log.file(Problem::Level::Note,
                     fmt::format("{} of type \"{}\", which this version does not know: ignored", counted(count, "line"), type));
        log.finish();
        return done;
    }

    Result<void> readScalars(const std::shared_ptr<const OpenFile>& file, RankData& data)
    {
        ProblemLog log(where("scalars.jsonl"), m_result.problems);
        Result<void> done = readLines(file, log, m_stop, positions(file), [&](JsonFields& fields, std::uint64_t) {
            if (std::optional<ScalarRecord> scalar = parseScalar(fields))
                data.scalars.push_back(std::move(*scalar));
        });
        log.finish();
        return done;
    }

    /// What is known of a file of bytes, and which records lose theirs because of it: one problem per file, not per record.
    struct BinFile {
        std::optional<std::uint64_t> size;
        std::string problem; ///< why it cannot be used at all
        std::uint64_t lost = 0;
        std::uint64_t firstLine = 0;
        std::string firstProblem;
    };

    BinFile& binFile(std::map<std::string, BinFile>& bins, const std::string& name)
    {
        const auto [found, isNew] = bins.try_emplace(name);
        if (isNew) {
            if (auto file = m_files.open(m_folder, name))
                found->second.size = (*file)->size();
            else
                found->second.problem = file.error().message;
        }
        return found->second;
    }

    /// The claims were checked. A sketch that keeps every element is as good as the tensor.
    static void takeBytes(TensorLine& line)
    {
        line.record.bytes = std::move(line.claim);
        if (line.record.sketch) {
            line.record.sketch->bytes = std::move(line.sketchClaim);
            if (line.record.sketch->samples == elementCount(line.record.shape))
                line.record.bytes = line.record.sketch->bytes;
        }
    }

    Result<void> readTensors(const std::shared_ptr<const OpenFile>& file, RankData& data)
    {
        constexpr std::size_t kMaxBins = 4096; // a lie per record must not become an entry per record
        ProblemLog log(where("tensors.jsonl"), m_result.problems);
        std::map<std::string, BinFile> bins;
        std::unordered_set<std::int64_t> ids;
        Result<void> done = readLines(file, log, m_stop, positions(file), [&](JsonFields& fields, std::uint64_t number) {
            std::optional<TensorLine> line = parseTensor(fields);
            if (!line)
                return;
            if (!ids.insert(line->record.id).second) {
                fields.complain(fmt::format("`id` {} is there already", line->record.id));
                return;
            }
            if (!line->note.empty())
                log.line(number, Problem::Level::Warning, line->note);
            std::string problem = line->claimProblem;
            auto& claim = line->claim ? line->claim : line->sketchClaim;
            const Shape stored = line->claim ? line->record.shape : Shape{line->record.sketch ? line->record.sketch->samples : 0};
            if (problem.empty() && claim) {
                const std::string& name = claim->file;
                if (!isPlainName(name)) {
                    problem = "`file` is no plain file name: a bundle reads nothing outside its own folder";
                } else if (bins.size() >= kMaxBins && !bins.contains(name)) {
                    problem = "too many files of bytes";
                } else {
                    BinFile& bin = binFile(bins, name);
                    const std::string lie = extentProblem(*claim, line->record.dtype, stored, ~std::uint64_t{0});
                    if (!lie.empty()) {
                        problem = lie; // whatever the file holds
                    } else if (std::string lost
                               = bin.size ? extentProblem(*claim, line->record.dtype, stored, *bin.size) : bin.problem;
                               !lost.empty()) {
                        if (bin.lost++ == 0) {
                            bin.firstLine = number;
                            bin.firstProblem = std::move(lost);
                        }
                        claim.reset();
                    }
                }
            }
            if (!problem.empty())
                log.line(number, Problem::Level::Warning, problem + "; the tensor is read without its bytes");
            else
                takeBytes(*line);
            data.tensors.push_back(std::move(line->record));
        });
        log.finish();
        std::size_t shown = 0;
        for (const auto& [name, bin] : bins) {
            if (bin.lost == 0 || shown++ >= 50)
                continue;
            report(Problem::Level::Warning, name,
                   fmt::format("{} (needed by {}:{}); {} read without bytes, by digest and statistics only. Copy the file again if you can",
                               bin.firstProblem, where("tensors.jsonl"), bin.firstLine,
                               bin.lost == 1 ? std::string("1 tensor is") : fmt::format("{} tensors are", bin.lost)));
        }
        return done;
    }

    OpenFiles& m_files;
    fs::path m_folder;
    std::string m_prefix; ///< of file names in problems: "rank00001", or empty for a rank that was opened alone
    int m_rank; ///< by the folder's name; -1 if rank.json decides
    std::stop_token m_stop;
    ProgressSteps& m_progress;
    RankResult m_result;
    std::uint64_t m_totalBytes = 0;
    std::uint64_t m_doneBytes = 0;
    std::uint64_t m_reported = 0;
};

} // namespace

class BundleReader {
public:
    BundleReader(Progress* progress, std::stop_token stop)
        : m_progress(progress)
        , m_stop(std::move(stop))
        , m_bundle(std::make_shared<Bundle>())
    {
    }

    Result<std::shared_ptr<const Bundle>> open(const fs::path& path)
    {
        if (Result<void> found = find(path); !found)
            return tl::unexpected(std::move(found.error()));
        if (m_stop.stop_requested())
            return tl::unexpected(cancelled());
        m_bundle->m_files = std::make_shared<OpenFiles>(m_bundle->m_path);
        if (!m_single) {
            if (Result<void> done = readBundleInfo(); !done)
                return tl::unexpected(std::move(done.error()));
        }
        if (Result<void> done = readRanks(); !done)
            return tl::unexpected(std::move(done.error()));
        decideWorld();
        checkLaunch();
        return m_bundle;
    }

private:
    struct RankFolder {
        fs::path path;
        int rank = -1;
    };

    void report(Problem::Level level, std::string where, std::string message)
    {
        m_bundle->m_problems.push_back({level, std::move(where), std::move(message)});
    }

    /// Decides what `path` is: sets m_bundle->m_path, m_single, m_folders.
    Result<void> find(const fs::path& path)
    {
        if (path.empty())
            return fail(ErrorCode::Usage, "no path was given: name a folder that ends in .forkpoint");
        // "runs/ddp2/" and "runs/ddp2" are the same thing to the user.
        fs::path plain = path;
        while (!plain.has_filename() && plain.has_relative_path())
            plain = plain.parent_path();
        if (accept(plain))
            return {};
        fs::path suffixed = plain;
        suffixed += ".forkpoint";
        if (accept(suffixed))
            return {};
        return tl::unexpected(explain(plain));
    }

    bool accept(const fs::path& path)
    {
        std::error_code error;
        if (!fs::is_directory(path, error))
            return false;
        std::vector<RankFolder> folders;
        std::vector<Problem> problems;
        for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
            const std::string name = entry->path().filename().string();
            const std::optional<int> rank = rankOfFolder(name);
            std::error_code ignored;
            if (!rank)
                continue;
            if (entry->is_symlink(ignored))
                problems.push_back({Problem::Level::Warning, name, "is a link, which is not followed: this rank is not read"});
            else if (entry->is_directory(ignored))
                folders.push_back({entry->path(), *rank});
        }
        const bool single = folders.empty() && !fs::exists(path / "bundle.json", error) && looksLikeRank(path);
        if (folders.empty() && !single && !fs::exists(path / "bundle.json", error))
            return false;
        std::sort(folders.begin(), folders.end(),
                  [](const RankFolder& a, const RankFolder& b) { return a.rank != b.rank ? a.rank < b.rank : a.path < b.path; });
        for (std::size_t i = 1; i < folders.size();) {
            if (folders[i].rank != folders[i - 1].rank) {
                ++i;
                continue;
            }
            problems.push_back({Problem::Level::Warning, folders[i].path.filename().string(),
                                fmt::format("is a second folder of rank {}; it is not read", folders[i].rank)});
            folders.erase(folders.begin() + static_cast<std::ptrdiff_t>(i));
        }
        m_single = single;
        m_bundle->m_info = json::object();
        m_folders = single ? std::vector{RankFolder{path, -1}} : std::move(folders);
        m_bundle->m_path = path;
        m_bundle->m_problems = std::move(problems);
        return true;
    }

    /// Why there is no bundle at `path`, and what to do.
    static Error explain(const fs::path& path)
    {
        constexpr std::string_view kHow = "Record one with: forkpoint-cli record -o RUN -- COMMAND";
        const std::string shown = path.string();
        std::error_code error;
        const fs::file_status status = fs::status(path, error);
        if (status.type() == fs::file_type::not_found) {
            return {ErrorCode::NotFound,
                    fmt::format("{} does not exist, and neither does {}.forkpoint. Check the spelling; {}", shown, shown,
                                "a run is recorded with: forkpoint-cli record -o RUN -- COMMAND"),
                    {}};
        }
        if (error)
            return {ErrorCode::Unreadable, fmt::format("{} cannot be opened: {}", shown, error.message()), {}};
        if (status.type() != fs::file_type::directory) {
            return {ErrorCode::NotABundle,
                    fmt::format(
                        "{} is a file; a Forkpoint bundle is a folder NAME.forkpoint. If it is an archive of one, unpack it and open the "
                        "folder. {}",
                        shown, kHow),
                    {}};
        }
        std::size_t entries = 0;
        std::string inner;
        for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
            ++entries;
            if (inner.empty() && entry->path().extension() == ".forkpoint")
                inner = entry->path().filename().string();
        }
        if (error)
            return {ErrorCode::Unreadable, fmt::format("{} cannot be listed: {}", shown, error.message()), {}};
        if (!inner.empty()) {
            return {ErrorCode::NotABundle,
                    fmt::format("{} is a folder that holds a bundle, not a bundle itself. Open {}", shown, (path / inner).string()),
                    {}};
        }
        return {ErrorCode::NotABundle,
                fmt::format("{} is {} without bundle.json or rank folders: not a Forkpoint bundle. {}", shown,
                            entries == 0 ? "an empty folder," : "a folder", kHow),
                {}};
    }

    Result<void> readBundleInfo()
    {
        const std::string name = "bundle.json";
        auto file = m_bundle->m_files->open(m_bundle->m_path, name);
        if (!file) {
            const bool missing = file.error().code == ErrorCode::NotFound;
            report(missing ? Problem::Level::Note : Problem::Level::Warning, name,
                   file.error().message + ": the run is read from its ranks");
            return {};
        }
        Result<json> document = readDocument(**file);
        if (!document) {
            report(Problem::Level::Warning, name, document.error().message + ": the run is read from its ranks");
            return {};
        }
        if (Result<void> ok = checkFormat(*document, "forkpoint-bundle", name, m_bundle->m_problems); !ok)
            return fail(ok.error().code, ok.error().message, (m_bundle->m_path / name).string());
        m_bundle->m_info = std::move(*document);
        if (textOf(m_bundle->m_info, "name").empty())
            report(Problem::Level::Warning, name, "`name` is missing or not a string: the name is taken from the ranks or the folder");
        return {};
    }

    Result<void> readRanks()
    {
        if (m_folders.empty()) {
            return fail(
                ErrorCode::Corrupt,
                fmt::format("{} has a bundle.json but no rank folder: nothing was recorded. A process becomes a rank at its first training "
                            "forward or backward; did the script reach one?",
                            m_bundle->m_path.string()));
        }
        std::vector<RankResult> results(m_folders.size());
        ProgressSteps progress(m_progress, "read", kRankUnits * m_folders.size());
        tbb::parallel_for(std::size_t{0}, m_folders.size(), [&](std::size_t i) {
            const RankFolder& folder = m_folders[i];
            const std::string prefix = m_single ? std::string{} : folder.path.filename().string();
            results[i] = RankReader(*m_bundle->m_files, folder.path, prefix, folder.rank, m_stop, progress).read();
        });
        if (m_stop.stop_requested())
            return tl::unexpected(cancelled());

        std::optional<Error> firstRefusal;
        for (RankResult& result : results) {
            std::move(result.problems.begin(), result.problems.end(), std::back_inserter(m_bundle->m_problems));
            if (result.data) {
                m_bundle->m_ranks.push_back(std::move(*result.data));
                continue;
            }
            report(Problem::Level::Warning, result.refusal->where, result.refusal->message + "; this rank is not read");
            if (!firstRefusal)
                firstRefusal = std::move(result.refusal);
        }
        if (m_bundle->m_ranks.empty()) // with two bundles open, the file alone would not say whose it is
            return fail(firstRefusal->code, firstRefusal->message, (m_bundle->m_path / firstRefusal->where).string());
        progress.finish();
        return {};
    }

    /// Name, world size and, without bundle.json, the rest of what it says.
    void decideWorld()
    {
        const RankData& first = m_bundle->m_ranks.front();
        const int highest = m_bundle->m_ranks.back().rank;
        if (m_bundle->m_info.empty()) {
            for (const char* key : {"run_id", "attempt", "created", "command", "producer", "world_size"}) {
                if (first.info.contains(key))
                    m_bundle->m_info[key] = first.info[key];
            }
            if (const std::string run = textOf(first.info, "run"); !run.empty())
                m_bundle->m_info["name"] = run;
        }
        m_bundle->m_name = textOf(m_bundle->m_info, "name");
        if (m_bundle->m_name.empty())
            m_bundle->m_name = textOf(first.info, "run");
        if (m_bundle->m_name.empty())
            m_bundle->m_name = m_bundle->m_path.stem().string();

        const std::string source = m_single || !m_bundle->m_info.contains("format") ? "rank.json" : "bundle.json";
        const auto world = m_bundle->m_info.find("world_size");
        std::optional<int> size;
        if (world != m_bundle->m_info.end())
            size = intOf(*world, 1, kMaxWorld);
        m_bundle->m_worldSize = std::max(size.value_or(0), highest + 1);
        if (!size) {
            report(Problem::Level::Warning, source,
                   fmt::format("`world_size` is no number of ranks: read as {}, by the folders that are there", highest + 1));
        } else if (highest >= *size) {
            report(Problem::Level::Warning, source,
                   fmt::format("`world_size` is {}, but there is a rank {}: read as {}", *size, highest, highest + 1));
        }

        if (m_single) {
            if (m_bundle->m_worldSize > 1) {
                report(Problem::Level::Note, {},
                       fmt::format("one rank of {} was opened: rank {}. Open the bundle's folder to read all", m_bundle->m_worldSize,
                                   first.rank));
            }
            return;
        }
        std::vector<int> missing;
        for (int rank = 0; rank < m_bundle->m_worldSize; ++rank) {
            if (!m_bundle->rank(rank))
                missing.push_back(rank);
        }
        if (!missing.empty()) {
            report(Problem::Level::Warning, m_bundle->m_path.filename().string(),
                   fmt::format(
                       "{} of {} ranks are missing: {}. They were recorded elsewhere, not at all, or cannot be read; what they computed is "
                       "not compared",
                       missing.size(), m_bundle->m_worldSize, rangesText(missing)));
        }
    }

    /// Ranks of different launches in one folder would be compared as if they had trained together.
    void checkLaunch()
    {
        for (const RankData& rank : m_bundle->m_ranks) {
            for (const char* key : {"run_id", "attempt", "world_size"}) {
                const auto own = rank.info.find(key);
                const auto run = m_bundle->m_info.find(key);
                if (own == rank.info.end() || run == m_bundle->m_info.end() || *own == *run)
                    continue;
                const std::string where = m_single ? "rank.json" : rank.folder.filename().string() + "/rank.json";
                report(Problem::Level::Warning, where,
                       fmt::format("`{}` differs from that of the run: rank {} may belong to another launch", key, rank.rank));
            }
        }
    }

    Progress* m_progress;
    std::stop_token m_stop;
    std::shared_ptr<Bundle> m_bundle;
    bool m_single = false; ///< one rank's folder was opened
    std::vector<RankFolder> m_folders;
};

Result<std::shared_ptr<const Bundle>> Bundle::open(const std::filesystem::path& path, Progress* progress, std::stop_token stop)
{
    try {
        return BundleReader(progress, std::move(stop)).open(path);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::Unreadable, "there is not enough memory to read it", path.string());
    } catch (const std::exception& error) { // a file system that changes while it is listed
        return fail(ErrorCode::Unreadable, fmt::format("cannot be read: {}", error.what()), path.string());
    }
}

} // namespace forkpoint::bundle
