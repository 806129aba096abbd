// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/open_run.h"

#include "core/base/progress_steps.h"
#include "core/bundle/archive_files.h"
#include "core/bundle/problem_log.h"
#include "core/import/file_contents.h"
#include "core/import/file_names.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <oneapi/tbb/parallel_for.h>
#include <numeric>
#include <set>
#include <unordered_set>

namespace forkpoint::import {

namespace {

namespace fs = std::filesystem;
using bundle::Kind;
using bundle::Phase;
using bundle::Problem;
using bundle::RankData;
using bundle::TensorRecord;

constexpr int kMaxLevels = 3;
constexpr std::size_t kMaxFiles = 2'000'000;

/// The tensors of the files, by rank and record id.
class FileSources final : public bundle::RecordSources {
public:
    std::map<int, std::vector<StoredTensor>> tensors; ///< indexed by TensorRecord::id

    Result<TensorSourcePtr> open(const RankData& rank, const TensorRecord& record) const override
    {
        return storedSource(tensors.at(rank.rank).at(static_cast<std::size_t>(record.id)));
    }
};

struct FoundFile {
    fs::path path;
    std::string relative; ///< below the folder
    FileName name;
    std::optional<FileContents> contents;
    std::optional<Error> refusal;
};

/// Names that people give to the dict around a state_dict, and that are no part of a tensor's name.
bool isWrapperKey(std::string_view key)
{
    constexpr auto kKeys = std::to_array<std::string_view>({ "state_dict", "model_state_dict", "model", "net" });
    return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

/// "model-00001-of-00002" -> "model": the parts of one file.
std::string withoutPartNumber(const std::string& name)
{
    const auto of = name.rfind("-of-");
    const auto dash = of == std::string::npos || of == 0 ? std::string::npos : name.rfind('-', of - 1);
    const auto isNumber = [](std::string_view digits) {
        return !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    const std::string_view text(name);
    if (dash == std::string::npos || !isNumber(text.substr(dash + 1, of - dash - 1)) || !isNumber(text.substr(of + 4))) {
        return name;
    }
    return name.substr(0, dash);
}

/// Splits at the last dot.
void setModuleAndParam(TensorRecord& record, const std::string& full)
{
    const auto dot = full.rfind('.');
    record.module = dot == std::string::npos ? std::string() : full.substr(0, dot);
    record.param = dot == std::string::npos ? full : full.substr(dot + 1);
}

class RunBuilder {
public:
    RunBuilder(fs::path path, bool isFolder)
        : m_path(std::move(path))
        , m_isFolder(isFolder)
    {
    }

    Result<std::shared_ptr<const bundle::Bundle>> build(std::vector<FoundFile> files, std::vector<Problem> problems)
    {
        m_problems = std::move(problems);
        m_manyNames = namesOfDicts(files).size() > 1;
        for (auto& file : files) {
            if (file.refusal) {
                m_problems.push_back({ Problem::Level::Warning, file.relative, file.refusal->message + "; this file is not read" });
            } else {
                add(file);
            }
        }
        if (m_ranks.empty()) {
            return nothing(files);
        }
        std::vector<RankData> ranks;
        for (auto& [number, rank] : m_ranks) {
            rank.rank = number;
            rank.folder = m_path / fmt::format("rank {}", number);
            rank.info = nlohmann::json::object();
            rank.complete = true;
            ranks.push_back(std::move(rank));
        }
        auto name = m_path.filename().string();
        if (name.empty() || name == "." || name == "..") { // "dumps/", "."
            const auto whole = fs::absolute(m_path).lexically_normal();
            name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
        }
        return bundle::Bundle::of({ m_path, std::move(name), std::move(ranks), std::move(m_problems), m_sources });
    }

private:
    /// Dicts of one name are the same thing on several ranks or steps; only several need it in front of their keys.
    std::set<std::string> namesOfDicts(const std::vector<FoundFile>& files) const
    {
        std::set<std::string> names;
        for (const auto& file : files) {
            if (file.contents && file.contents->named && !file.contents->tensors.empty()) {
                names.insert(withoutPartNumber(file.name.name));
            }
        }
        return names;
    }

    void add(FoundFile& file)
    {
        auto& contents = *file.contents;
        for (const auto& problem : contents.problems) {
            const std::string what = problem.where.empty() ? "the tensor" : problem.where;
            m_problems.push_back({ problem.level, file.relative, fmt::format("{} {}", what, problem.message) });
        }
        if (contents.refused > contents.problems.size()) {
            m_problems.push_back({ Problem::Level::Warning, file.relative, fmt::format("and {} more that are not read",
                contents.refused - contents.problems.size()) });
        }
        const int number = m_isFolder ? file.name.rank.value_or(0) : 0;
        for (auto& tensor : contents.tensors) {
            auto& rank = m_ranks[number];
            auto& sources = m_sources->tensors[number];
            TensorRecord record;
            record.id = static_cast<std::int64_t>(sources.size());
            record.order = record.id;
            record.step = m_isFolder ? file.name.step.value_or(0) : 0;
            nameRecord(file, contents, tensor.path, record);
            if (!m_seen.insert(fmt::format("{}|{}|{}|{}|{}|{}", number, record.step, static_cast<int>(record.kind), record.module, record.param,
                record.slot)).second) {
                m_problems.push_back({ Problem::Level::Warning, file.relative,
                                       fmt::format("{} is there already, from another file of the same rank and step: not read. Tell them apart with --pattern",
                                                   bundle::shownText(joined(tensor.path))) });
                continue;
            }
            record.dtype = tensor.where.dtype;
            record.shape = tensor.where.shape;
            record.globalShape = std::move(tensor.globalShape);
            record.placement = std::move(tensor.placement);
            rank.tensors.push_back(std::move(record));
            sources.push_back(std::move(tensor.where));
        }
    }

    /// Which tensor it is: see openRun.
    void nameRecord(const FoundFile& file, const FileContents& contents, const std::vector<std::string>& path, TensorRecord& record) const
    {
        if (contents.named) {
            const std::size_t wrapped = path.size() > 1 && isWrapperKey(path.front()) ? 1 : 0;
            std::string full = joined({ path.begin() + static_cast<std::ptrdiff_t>(wrapped), path.end() });
            if (m_isFolder && m_manyNames) {
                const auto prefix = withoutPartNumber(file.name.name);
                full = prefix.empty() ? full : prefix + "." + full;
            }
            record.phase = Phase::Start;
            record.kind = Kind::Param;
            setModuleAndParam(record, full);
            return;
        }
        // A single file is called what it likes: a.pt is compared with b.pt.
        const std::string name = contents.layer ? *contents.layer : m_isFolder ? file.name.name : std::string("tensor");
        std::vector<std::string> rest = path;
        if (contents.layer && !rest.empty() && rest.front() == "tensor") {
            rest.erase(rest.begin());
        }
        record.micro = 0;
        if (file.name.kind == Kind::Grad) {
            record.phase = Phase::Backward;
            record.kind = Kind::Grad;
            setModuleAndParam(record, name);
        } else {
            record.phase = Phase::Forward;
            record.kind = Kind::Output;
            record.module = name;
        }
        record.slot = joined(rest);
    }

    tl::unexpected<Error> nothing(const std::vector<FoundFile>& files) const
    {
        for (const auto& file : files) {
            if (file.refusal) {
                auto error = *file.refusal;
                error.where = m_isFolder ? (m_path / file.relative).string() : m_path.string();
                return tl::unexpected(std::move(error));
            }
        }
        const std::string first = m_problems.empty() ? std::string("it holds no tensor") : m_problems.front().message;
        return fail(ErrorCode::Unsupported, fmt::format("there is nothing to compare: {}", first), m_path.string());
    }

    fs::path m_path;
    bool m_isFolder;
    bool m_manyNames = false;
    std::map<int, RankData> m_ranks;
    std::shared_ptr<FileSources> m_sources = std::make_shared<FileSources>();
    std::vector<Problem> m_problems;
    std::unordered_set<std::string> m_seen;
};

/// The beginning of a file, to see what it is.
bool beginsAsTensorFile(const fs::path& path)
{
    std::array<char, 64> head {};
    std::ifstream in(path, std::ios::binary);
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    const auto got = static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0));
    return isTensorFile(std::as_bytes(std::span(head)).first(got));
}

bool hasTensorSuffix(const fs::path& path)
{
    const auto suffix = path.extension().string();
    constexpr auto kSuffixes = std::to_array<std::string_view>({ ".pt", ".pth", ".safetensors", ".npy", ".npz" });
    return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end();
}

std::vector<FoundFile> inNaturalOrder(std::vector<FoundFile> files)
{
    std::vector<std::size_t> order(files.size()); // files are large to swap
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return naturalLess(files[x].relative, files[y].relative); });
    std::vector<FoundFile> sorted;
    sorted.reserve(files.size());
    for (const std::size_t i : order) {
        sorted.push_back(std::move(files[i]));
    }
    return sorted;
}

/// Files below `folder` that look like tensors by their suffix; NotFound if there is none, so that the caller can say what a bundle needs.
Result<std::vector<FoundFile>> filesIn(const fs::path& folder, const OpenOptions& options, std::vector<Problem>& problems)
{
    std::optional<NamePattern> pattern;
    if (!options.pattern.empty()) {
        auto parsed = NamePattern::parse(options.pattern);
        if (!parsed) {
            return tl::unexpected(std::move(parsed.error()));
        }
        pattern = std::move(*parsed);
    }
    std::vector<FoundFile> files;
    std::size_t others = 0;
    const std::string prefix = (folder / "").native(); // of every path below it
    std::error_code error;
    for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        std::error_code ignored;
        const auto name = entry->path().filename().string();
        if (entry->is_directory(ignored)) {
            if (entry.depth() + 1 >= kMaxLevels || name.starts_with('.') || name.ends_with(".forkpoint")) {
                entry.disable_recursion_pending();
            }
            continue;
        }
        if (!entry->is_regular_file(ignored) || name.starts_with('.') || (!hasTensorSuffix(entry->path()) && !(pattern
            && beginsAsTensorFile(entry->path())))) {
            continue;
        }
        FoundFile file;
        file.path = entry->path();
        file.relative = file.path.native().substr(prefix.size());
        if (pattern) {
            auto matched = pattern->match(file.relative);
            if (!matched) {
                ++others;
                continue;
            }
            file.name = std::move(*matched);
        } else {
            file.name = readName(file.relative);
        }
        if (files.size() == kMaxFiles) {
            return fail(ErrorCode::Unsupported, fmt::format("holds more than {} files: compare one of its folders", kMaxFiles), folder.string());
        }
        files.push_back(std::move(file));
    }
    if (error) {
        return fail(ErrorCode::Unreadable, fmt::format("cannot be listed: {}", error.message()), folder.string());
    }
    if (others > 0 && files.empty()) {
        return fail(ErrorCode::Usage, fmt::format("none of its {} files matches the pattern '{}'", others, options.pattern), folder.string());
    }
    if (others > 0) {
        problems.push_back({ Problem::Level::Note, folder.filename().string(), fmt::format("{} files do not match the pattern: left out", others) });
    }
    if (files.empty()) {
        return fail(ErrorCode::NotFound, "holds no file of tensors", folder.string());
    }
    return inNaturalOrder(std::move(files));
}

bool isBundle(const fs::path& folder)
{
    std::error_code ignored;
    for (const char* name : { "bundle.json", "rank.json", "tensors.jsonl", "rank00000" }) {
        if (fs::exists(folder / name, ignored)) {
            return true;
        }
    }
    for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
        const auto name = entry->path().filename().string();
        if (name.ends_with(".forkpoint") || (name.size() == 9 && name.starts_with("rank0"))) {
            return true; // Bundle::open says which to open
        }
    }
    return false;
}

void readAll(std::vector<FoundFile>& files, Progress* progress, const std::stop_token& stop)
{
    const auto pool = FilePool::create();
    ProgressSteps steps(progress, "read", files.size());
    oneapi::tbb::parallel_for(std::size_t(0), files.size(), [&](std::size_t i) {
        auto& file = files[i];
        if (stop.stop_requested()) {
            return;
        }
        try {
            auto contents = pool->file(file.path, file.relative).and_then(readTensorFile);
            if (contents) {
                file.contents = std::move(*contents);
            } else {
                file.refusal = std::move(contents.error());
            }
        } catch (const std::bad_alloc&) {
            file.refusal = Error { ErrorCode::Unreadable, "there is not enough memory to read it", file.relative };
        }
        steps.add(1);
    });
    steps.finish();
}

Result<std::shared_ptr<const bundle::Bundle>> openFiles(const fs::path& path, bool isFolder, const OpenOptions& options, Progress* progress,
    const std::stop_token& stop)
{
    std::vector<FoundFile> files;
    std::vector<Problem> problems;
    if (isFolder) {
        auto found = filesIn(path, options, problems);
        if (!found) {
            return tl::unexpected(std::move(found.error()));
        }
        files = std::move(*found);
    } else {
        FoundFile file;
        file.path = path;
        file.relative = path.filename().string();
        file.name = readName(file.relative);
        files.push_back(std::move(file));
    }
    readAll(files, progress, stop);
    if (stop.stop_requested()) {
        return fail(ErrorCode::Cancelled, "reading was cancelled", path.string());
    }
    return RunBuilder(path, isFolder).build(std::move(files), std::move(problems));
}

} // namespace

Result<std::shared_ptr<const bundle::Bundle>> openRun(const fs::path& path, const OpenOptions& options, Progress* progress, std::stop_token stop)
{
    try {
        std::error_code ignored;
        if (fs::is_directory(path, ignored) ? isBundle(path) : !fs::exists(path, ignored) || bundle::isBundleArchive(path)) {
            return bundle::Bundle::open(path, progress, std::move(stop));
        }
        const bool isFolder = fs::is_directory(path, ignored);
        auto run = openFiles(path, isFolder, options, progress, stop);
        if (!run && run.error().code == ErrorCode::NotFound && isFolder) {
            return bundle::Bundle::open(path, progress, std::move(stop)); // says what it is instead
        }
        if (!run && !isFolder) {
            run.error().where = path.string();
        }
        return run;
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::Unreadable, "there is not enough memory to read it", path.string());
    } catch (const std::exception& error) { // a folder that changes while it is listed
        return fail(ErrorCode::Unreadable, fmt::format("cannot be read: {}", error.what()), path.string());
    }
}

} // namespace forkpoint::import
