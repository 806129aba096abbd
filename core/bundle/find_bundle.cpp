// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/find_bundle.h"

#include "core/bundle/archive_files.h"
#include "core/bundle/format_check.h"
#include "core/bundle/joined_files.h"
#include "core/bundle/json_document.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace forkpoint::bundle {

namespace fs = std::filesystem;

namespace {

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

/// What the files are; nullopt if they are no bundle's.
Result<std::optional<FoundBundle>> accept(std::shared_ptr<BundleFiles> files)
{
    const Result<std::vector<BundleFiles::Entry>> entries = files->entries(files->root());
    if (!entries)
        return tl::unexpected(entries.error());
    const fs::path& root = files->root();
    FoundBundle found;
    found.files = files;
    std::vector<RankPlace>& folders = found.ranks;
    bool hasInfo = false, hasRank = false;
    for (const auto& [name, type] : *entries) {
        hasInfo = hasInfo || name == "bundle.json";
        hasRank = hasRank || name == "rank.json" || name == "tensors.jsonl";
        const std::optional<int> rank = rankOfFolder(name);
        if (!rank)
            continue;
        if (type == BundleFiles::Entry::Type::Link)
            found.problems.push_back({Problem::Level::Warning, name, "is a link, which is not followed: this rank is not read"});
        else if (type == BundleFiles::Entry::Type::Folder)
            folders.push_back({root / name, name, *rank});
    }
    found.single = folders.empty() && !hasInfo && hasRank;
    if (folders.empty() && !found.single && !hasInfo)
        return std::nullopt;
    std::sort(folders.begin(), folders.end(),
              [](const RankPlace& a, const RankPlace& b) { return a.rank != b.rank ? a.rank < b.rank : a.folder < b.folder; });
    for (std::size_t i = 1; i < folders.size();) {
        if (folders[i].rank != folders[i - 1].rank) {
            ++i;
            continue;
        }
        found.problems.push_back({Problem::Level::Warning, folders[i].prefix,
                            fmt::format("is a second folder of rank {}; it is not read", folders[i].rank)});
        folders.erase(folders.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (found.single)
        folders = {RankPlace{root, {}, -1}};
    return found;
}

} // namespace

std::string launchOf(const FoundBundle& part)
{
    if (part.ranks.empty())
        return {};
    for (const auto& [folder, name] : {std::pair{part.files->root(), "bundle.json"}, std::pair{part.ranks.front().folder, "rank.json"}}) {
        const Result<OpenFilePtr> file = part.files->open(folder, name);
        const Result<nlohmann::json> info = file ? readDocument(**file) : tl::unexpected(file.error());
        if (!info || textOf(*info, "run_id").empty())
            continue;
        return fmt::format("{} {}", textOf(*info, "run_id"), info->value("attempt", nlohmann::json(0)).dump());
    }
    return {};
}

std::vector<std::string> bundlesIn(const fs::path& folder)
{
    const Result<std::vector<BundleFiles::Entry>> entries = OpenFiles(folder).entries(folder);
    std::vector<std::string> names;
    for (const auto& [name, type] : entries.value_or(std::vector<BundleFiles::Entry>())) {
        if ((type == BundleFiles::Entry::Type::Folder && name.ends_with(".forkpoint"))
            || (type == BundleFiles::Entry::Type::File && name.ends_with(".forkpoint.zip")))
            names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

Result<std::optional<FoundBundle>> bundleAt(const fs::path& path)
{
    std::error_code error;
    if (fs::is_directory(path, error))
        return accept(std::make_shared<OpenFiles>(path));
    if (!isArchive(path))
        return std::nullopt;
    return openArchive(path).and_then(accept);
}

namespace {

/// The bundles in a folder as one run, if there are several and all are of the same launch: nodes without a shared disk leave one each.
Result<std::optional<FoundBundle>> acceptParts(const fs::path& path)
{
    constexpr std::size_t kMaxParts = 4096;
    const std::vector<std::string> names = bundlesIn(path);
    if (names.size() < 2 || names.size() > kMaxParts)
        return std::nullopt;
    FoundBundle joined;
    std::vector<std::shared_ptr<BundleFiles>> parts;
    std::map<int, std::string> partOfRank;
    std::string launch;
    for (const std::string& name : names) {
        Result<std::optional<FoundBundle>> part = bundleAt(path / name);
        if (!part || !*part || (*part)->single || (*part)->ranks.empty())
            return std::nullopt;
        const std::string own = launchOf(**part);
        if (own.empty() || (!launch.empty() && own != launch))
            return std::nullopt;
        launch = own;
        for (Problem& problem : (*part)->problems)
            joined.problems.push_back({problem.level, name + "/" + problem.where, std::move(problem.message)});
        for (RankPlace& rank : (*part)->ranks) {
            rank.prefix = name + "/" + rank.prefix;
            const auto [first, isNew] = partOfRank.emplace(rank.rank, rank.prefix);
            if (isNew)
                joined.ranks.push_back(std::move(rank));
            else
                joined.problems.push_back({Problem::Level::Warning, rank.prefix,
                                           fmt::format("is a second folder of rank {}, which is read from {}; it is not read", rank.rank, first->second)});
        }
        parts.push_back((*part)->files);
    }
    std::sort(joined.ranks.begin(), joined.ranks.end(), [](const RankPlace& a, const RankPlace& b) { return a.rank < b.rank; });
    joined.files = std::make_shared<JoinedFiles>(path, std::move(parts));
    return joined;
}

Result<std::optional<FoundBundle>> acceptPath(const fs::path& path)
{
    Result<std::optional<FoundBundle>> found = bundleAt(path);
    std::error_code error;
    if ((found && *found) || !fs::is_directory(path, error))
        return found;
    return acceptParts(path); // and a folder that cannot be listed is explained
}

/// Why there is no bundle at `path`, and what to do.
Error explain(const fs::path& path)
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
                    "{} is a file; a Forkpoint bundle is a folder NAME.forkpoint, or a ZIP archive of one. Of another kind of archive, "
                    "unpack it and open the folder. {}",
                    shown, kHow),
                {}};
    }
    std::size_t entries = 0, bundles = 0;
    std::string inner;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
        ++entries;
        if (entry->path().extension() != ".forkpoint")
            continue;
        ++bundles;
        if (inner.empty() || entry->path().filename().string() < inner)
            inner = entry->path().filename().string();
    }
    if (error)
        return {ErrorCode::Unreadable, fmt::format("{} cannot be listed: {}", shown, error.message()), {}};
    if (bundles > 1) {
        return {ErrorCode::NotABundle,
                fmt::format("{} is a folder that holds several bundles of different launches. Open one of them, {} for instance", shown,
                            (path / inner).string()),
                {}};
    }
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

} // namespace

Result<FoundBundle> findBundle(const fs::path& path)
{
    if (path.empty())
        return fail(ErrorCode::Usage, "no path was given: name a folder that ends in .forkpoint");
    // "runs/ddp2/" and "runs/ddp2" are the same thing to the user.
    fs::path plain = path;
    while (!plain.has_filename() && plain.has_relative_path())
        plain = plain.parent_path();
    for (const char* suffix : {"", ".forkpoint", ".forkpoint.zip"}) {
        Result<std::optional<FoundBundle>> found = acceptPath(plain.string() + suffix);
        if (!found)
            return tl::unexpected(std::move(found.error()));
        if (*found)
            return std::move(**found);
    }
    return tl::unexpected(explain(plain));
}

} // namespace forkpoint::bundle
