// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/merge.h"

#include "core/base/progress_steps.h"
#include "core/bundle/find_bundle.h"
#include "core/bundle/format_check.h"
#include "core/bundle/json_document.h"
#include "core/bundle/problem_log.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

namespace forkpoint::bundle {

namespace fs = std::filesystem;
using Entry = BundleFiles::Entry;

namespace {

constexpr const char* kInfo = "bundle.json";

struct Part {
    fs::path path;
    FoundBundle found;
    bool hasInfo = false; ///< a bundle.json that can be read
};

/// One file on its way into the result.
struct FileCopy {
    BundleFiles* files = nullptr;
    fs::path folder;
    std::string name;
    fs::path to; ///< below the result
};

tl::unexpected<Error> cannotWrite(const fs::path& path, const std::string& why)
{
    return fail(ErrorCode::WriteFailed, fmt::format("cannot be written: {}", why), path.string());
}

/// A folder that is gone with this object, whatever is in it.
class TemporaryFolder {
public:
    static Result<TemporaryFolder> create(const fs::path& parent, const std::string& prefix)
    {
        std::string path = (parent / (prefix + "XXXXXX")).string();
        if (!::mkdtemp(path.data()))
            return cannotWrite(parent, files::reason(errno));
        return TemporaryFolder(path);
    }
    TemporaryFolder(TemporaryFolder&& other) noexcept
        : m_path(std::exchange(other.m_path, {}))
    {
    }
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder()
    {
        std::error_code ignored;
        if (!m_path.empty())
            fs::remove_all(m_path, ignored);
    }
    const fs::path& path() const { return m_path; }

private:
    explicit TemporaryFolder(fs::path path)
        : m_path(std::move(path))
    {
    }
    fs::path m_path;
};

/// Without a separator at the end.
fs::path plain(fs::path path)
{
    while (!path.has_filename() && path.has_relative_path())
        path = path.parent_path();
    return path;
}

/// Where the result goes, if it may.
Result<fs::path> targetOf(const fs::path& out, bool overwrite)
{
    fs::path target = plain(out);
    if (!target.has_filename() || target.filename() == "." || target.filename() == "..")
        return fail(ErrorCode::Usage, "is no name for a bundle", out.string());
    if (target.extension() == ".zip")
        return fail(ErrorCode::Usage, "what is merged becomes a folder, not an archive: name it without .zip, and pack it afterwards", out.string());
    if (target.extension() != ".forkpoint")
        target += ".forkpoint";
    std::error_code error;
    if (fs::symlink_status(target, error).type() == fs::file_type::not_found)
        return target;
    if (!overwrite)
        return fail(ErrorCode::Exists, "is there already: give another name, or --overwrite to replace it", target.string());
    const Result<std::optional<FoundBundle>> found = bundleAt(target);
    if (!fs::is_directory(target, error) || !found || !*found || (*found)->single)
        return fail(ErrorCode::Exists, "is there already and is no bundle, so that it is not replaced: give another name", target.string());
    return target;
}

/// The bundles that were named, those in folders of bundles one by one; the result of a former merge is none of them.
Result<std::vector<fs::path>> pathsOf(const std::vector<fs::path>& inputs, const fs::path& target)
{
    std::vector<fs::path> paths;
    for (const fs::path& input : inputs) {
        const fs::path path = plain(input);
        std::error_code error;
        const Result<std::optional<FoundBundle>> bundle = bundleAt(path);
        const bool isBundle = bundle && *bundle;
        const std::vector<std::string> names = isBundle || !fs::is_directory(path, error) ? std::vector<std::string>() : bundlesIn(path);
        for (const std::string& name : names) {
            if (!fs::equivalent(path / name, target, error))
                paths.push_back(path / name);
        }
        if (!names.empty())
            continue;
        if (fs::equivalent(path, target, error))
            return fail(ErrorCode::Usage, "is where the result would go: inputs stay as they are. Give the result another name, first", target.string());
        paths.push_back(path); // and opening it says what it is
    }
    if (paths.empty())
        return fail(ErrorCode::Usage, "there is nothing to merge: name bundles, or a folder that holds them");
    return paths;
}

/// Opens an input, and refuses it if something in it would be lost.
Result<Part> partAt(const fs::path& path)
{
    Result<FoundBundle> found = findBundle(path);
    if (!found)
        return tl::unexpected(std::move(found.error()));
    if (found->single)
        return fail(ErrorCode::Usage, "is the folder of one rank: name the bundle that it lies in", path.string());
    if (found->ranks.empty())
        return fail(ErrorCode::Corrupt, "has no rank folder: nothing was recorded there. Leave it out", path.string());
    if (!found->problems.empty()) {
        const Problem& first = found->problems.front();
        return fail(ErrorCode::Corrupt, fmt::format("{} {}. Merging would lose it: put it right or remove it", shownText(first.where), first.message), path.string());
    }
    Part part{path, std::move(*found), false};
    const fs::path& root = part.found.files->root();
    const Result<OpenFilePtr> file = part.found.files->open(root, kInfo);
    const Result<nlohmann::json> info = file ? readDocument(**file) : tl::unexpected(file.error());
    if (info) {
        std::vector<Problem> ignored; // the result's reader reports them
        if (Result<void> ok = checkFormat(*info, "forkpoint-bundle", kInfo, ignored); !ok)
            return fail(ok.error().code, ok.error().message, (path / kInfo).string());
        part.hasInfo = true;
    }
    return part;
}

/// Are these the parts of one launch?
Result<void> checkTogether(const std::vector<Part>& parts)
{
    std::map<int, const Part*> partOfRank;
    const std::string launch = launchOf(parts.front().found);
    for (const Part& part : parts) {
        const std::string own = launchOf(part.found);
        if (own.empty() && parts.size() > 1) {
            return fail(ErrorCode::Usage,
                        "says in neither bundle.json nor rank.json which launch it is of (run_id), so that it cannot be merged with others", part.path.string());
        }
        if (own != launch) {
            return fail(ErrorCode::Usage,
                        fmt::format("is of another launch than {} (run_id and attempt {}, not {}): only the parts of one launch make a run", parts.front().path.string(),
                                    shownText(own), shownText(launch)),
                        part.path.string());
        }
        for (const RankPlace& rank : part.found.ranks) {
            if (const auto [first, isNew] = partOfRank.emplace(rank.rank, &part); !isNew) {
                const fs::path& other = first->second->path;
                return fail(ErrorCode::Usage,
                            other == part.path ? std::string("is named twice")
                                               : fmt::format("has rank {}, and so has {}: each rank is recorded once. Leave out the one that is not of this run",
                                                             rank.rank, other.string()),
                            part.path.string());
            }
        }
    }
    return {};
}

/// A bundle that is replaced may be an earlier result, but not the only place of a rank.
Result<void> checkReplaced(const fs::path& target, const std::vector<Part>& parts)
{
    const Result<std::optional<FoundBundle>> old = bundleAt(target);
    if (!old || !*old || launchOf(**old).empty() || launchOf(**old) != launchOf(parts.front().found))
        return {};
    std::vector<int> lost;
    for (const RankPlace& rank : (*old)->ranks) {
        const auto has = [&](const Part& part) {
            return std::any_of(part.found.ranks.begin(), part.found.ranks.end(), [&](const RankPlace& other) { return other.rank == rank.rank; });
        };
        if (std::none_of(parts.begin(), parts.end(), has))
            lost.push_back(rank.rank);
    }
    if (lost.empty())
        return {};
    return fail(ErrorCode::Usage,
                fmt::format("holds what the inputs do not: rank {} of this launch. It would be lost; give the result another name, and name this bundle as an input",
                            rangesText(lost)),
                target.string());
}

/// What is to be copied of a part. Indexes come before what they point to: of a recording that still runs, a record that is copied has its bytes.
Result<void> plan(const Part& part, std::vector<FileCopy>& copies, std::vector<Problem>& problems)
{
    BundleFiles& files = *part.found.files;
    const auto leftOut = [&](const std::string& name) {
        problems.push_back({Problem::Level::Note, (part.path / shownText(name)).string(), "is no part of a bundle: not copied"});
    };
    const Result<std::vector<Entry>> top = files.entries(files.root());
    if (!top)
        return tl::unexpected(top.error());
    for (const auto& [name, type] : *top) {
        const bool isRank = std::any_of(part.found.ranks.begin(), part.found.ranks.end(), [&, &name = name](const RankPlace& rank) { return rank.prefix == name; });
        if (!isRank && name != kInfo)
            leftOut(name);
    }
    for (const RankPlace& rank : part.found.ranks) {
        Result<std::vector<Entry>> entries = files.entries(rank.folder);
        if (!entries)
            return tl::unexpected(std::move(entries.error()));
        std::sort(entries->begin(), entries->end(), [](const Entry& a, const Entry& b) {
            return std::pair(a.name.ends_with(".bin"), a.name) < std::pair(b.name.ends_with(".bin"), b.name);
        });
        for (const auto& [name, type] : *entries) {
            if (type == Entry::Type::Link) {
                return fail(ErrorCode::Corrupt, "is a link, which is not followed: put the file itself there", (part.path / rank.prefix / shownText(name)).string());
            }
            if (type == Entry::Type::Folder || !isPlainName(name))
                leftOut(rank.prefix + "/" + name);
            else
                copies.push_back({&files, rank.folder, name, fs::path(fmt::format("rank{:05}", rank.rank)) / name});
        }
    }
    return {};
}

/// Returns the bytes of the file.
Result<std::uint64_t> copyFile(const FileCopy& copy, const fs::path& to, const std::stop_token& stop)
{
    constexpr std::uint64_t kPiece = 4u << 20;
    const Result<OpenFilePtr> file = copy.files->open(copy.folder, copy.name);
    if (!file)
        return fail(file.error().code, file.error().message, (copy.files->root() / file.error().where).string());
    std::ofstream out(to, std::ios::binary | std::ios::trunc);
    std::vector<std::byte> buffer;
    const std::uint64_t size = (*file)->size();
    for (std::uint64_t at = 0; at < size; at += buffer.size()) {
        if (stop.stop_requested())
            return fail(ErrorCode::Cancelled, "merging was cancelled");
        buffer.resize(static_cast<std::size_t>(std::min(kPiece, size - at)));
        if (Result<void> read = (*file)->readAt(at, buffer); !read)
            return fail(read.error().code, read.error().message, (copy.files->root() / read.error().where).string());
        if (!out.write(reinterpret_cast<const char*>(buffer.data()), static_cast<std::streamsize>(buffer.size())))
            break;
    }
    out.close();
    if (!out)
        return cannotWrite(to, files::reason(errno == 0 ? EIO : errno));
    return size;
}

/// Puts `made` at `target`; what was there is in `aside` afterwards.
Result<void> putInPlace(const fs::path& made, const fs::path& target, const fs::path& aside)
{
    std::error_code error;
    const bool replaces = fs::symlink_status(target, error).type() != fs::file_type::not_found;
    if (replaces)
        fs::rename(target, aside, error);
    if (replaces && error)
        return cannotWrite(target, error.message());
    fs::rename(made, target, error);
    if (!error)
        return {};
    std::error_code ignored;
    if (replaces)
        fs::rename(aside, target, ignored);
    return cannotWrite(target, error.message());
}

Result<Merged> mergeParts(const fs::path& target, const std::vector<Part>& parts, Progress* progress, const std::stop_token& stop)
{
    Merged merged;
    merged.path = target;
    std::vector<FileCopy> copies;
    const auto withInfo = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return part.hasInfo; });
    if (withInfo != parts.end())
        copies.push_back({withInfo->found.files.get(), withInfo->found.files->root(), kInfo, kInfo});
    for (const Part& part : parts) {
        MergedPart& told = merged.parts.emplace_back(MergedPart{part.path, {}});
        for (const RankPlace& rank : part.found.ranks)
            told.ranks.push_back(rank.rank);
        merged.ranks.insert(merged.ranks.end(), told.ranks.begin(), told.ranks.end());
        if (Result<void> planned = plan(part, copies, merged.problems); !planned)
            return tl::unexpected(std::move(planned.error()));
    }
    std::sort(merged.ranks.begin(), merged.ranks.end());

    const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
    std::error_code error;
    fs::create_directories(parent, error);
    if (error)
        return cannotWrite(parent, error.message());
    const Result<TemporaryFolder> temporary = TemporaryFolder::create(parent, fmt::format(".{}.merging-", target.filename().string()));
    if (!temporary)
        return tl::unexpected(temporary.error());
    const fs::path made = temporary->path() / target.filename(); // messages about the result name it
    for (const int rank : merged.ranks)
        fs::create_directories(made / fmt::format("rank{:05}", rank), error);
    ProgressSteps steps(progress, "merge", copies.size());
    for (const FileCopy& copy : copies) {
        const Result<std::uint64_t> size = copyFile(copy, made / copy.to, stop);
        if (!size)
            return tl::unexpected(size.error());
        merged.bytes += *size;
        steps.add(1);
    }
    steps.finish();
    const auto bundle = Bundle::open(made, progress, stop);
    if (!bundle)
        return fail(bundle.error().code, bundle.error().message, target.string());
    merged.worldSize = (*bundle)->worldSize();
    merged.problems.insert(merged.problems.end(), (*bundle)->problems().begin(), (*bundle)->problems().end());
    if (Result<void> put = putInPlace(made, target, temporary->path() / "replaced"); !put)
        return tl::unexpected(std::move(put.error()));
    return merged;
}

} // namespace

Result<Merged> mergeBundles(const fs::path& out, const std::vector<fs::path>& inputs, const MergeOptions& options, Progress* progress, std::stop_token stop)
{
    try {
        const Result<fs::path> target = targetOf(out, options.overwrite);
        if (!target)
            return tl::unexpected(target.error());
        const Result<std::vector<fs::path>> paths = pathsOf(inputs, *target);
        if (!paths)
            return tl::unexpected(paths.error());
        std::vector<Part> parts;
        for (const fs::path& path : *paths) {
            Result<Part> part = partAt(path);
            if (!part)
                return tl::unexpected(std::move(part.error()));
            parts.push_back(std::move(*part));
        }
        if (Result<void> together = checkTogether(parts); !together)
            return tl::unexpected(std::move(together.error()));
        if (Result<void> replaced = checkReplaced(*target, parts); !replaced)
            return tl::unexpected(std::move(replaced.error()));
        return mergeParts(*target, parts, progress, stop);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::Unreadable, "there is not enough memory to merge", out.string());
    } catch (const std::exception& error) { // a file system that changes while it is listed
        return fail(ErrorCode::Unreadable, fmt::format("cannot be merged: {}", error.what()), out.string());
    }
}

} // namespace forkpoint::bundle
