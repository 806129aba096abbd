// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/archive_files.h"

#include "core/bundle/problem_log.h"
#include "core/files/inflate.h"
#include "core/files/temporary_file.h"
#include "core/files/zip.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <set>
#include <zlib.h>

namespace forkpoint::bundle {

namespace fs = std::filesystem;
using files::BytesPtr;
using files::ZipEntry;

namespace {

constexpr std::uint64_t kInMemory = 32u << 20;                ///< unpacked size of an entry that is unpacked in memory
constexpr std::uint64_t kKeptInMemory = 256u << 20;           ///< of all files of tensors that are; the others go to disk
constexpr std::uint64_t kMaxUnpacked = std::uint64_t(64) << 30; ///< on disk, all entries together

tl::unexpected<Error> refused(ErrorCode code, const std::string& message, const fs::path& path)
{
    return fail(code, "ZIP archive: " + message, path.string());
}

/// Part of an archive, used where it lies.
class StoredFile final : public OpenFile {
public:
    StoredFile(OpenFilePtr archive, const ZipEntry& entry, std::string label)
        : OpenFile(entry.size, std::move(label))
        , m_archive(std::move(archive))
        , m_offset(entry.offset)
    {
    }
    std::uint64_t currentSize() const override
    {
        const std::uint64_t whole = m_archive->currentSize();
        return whole <= m_offset ? 0 : std::min(size(), whole - m_offset);
    }
    Result<void> readAt(std::uint64_t offset, std::span<std::byte> to) const override
    {
        if (offset > size() || to.size() > size() - offset)
            return fail(ErrorCode::Truncated, fmt::format("{} bytes from byte {} on are needed, but it has {}", to.size(), offset, size()), label());
        Result<void> done = m_archive->readAt(m_offset + offset, to);
        if (!done)
            done.error().where = label();
        return done;
    }

private:
    OpenFilePtr m_archive;
    std::uint64_t m_offset;
};

/// What was unpacked in memory.
class MemoryFile final : public OpenFile {
public:
    MemoryFile(std::vector<std::byte> bytes, std::string label)
        : OpenFile(bytes.size(), std::move(label))
        , m_bytes(std::move(bytes))
    {
    }
    std::uint64_t currentSize() const override { return m_bytes.size(); }
    Result<void> readAt(std::uint64_t offset, std::span<std::byte> to) const override
    {
        if (offset > size() || to.size() > size() - offset)
            return fail(ErrorCode::Truncated, fmt::format("{} bytes from byte {} on are needed, but it has {}", to.size(), offset, size()), label());
        std::copy_n(m_bytes.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
        return {};
    }

private:
    std::vector<std::byte> m_bytes;
};

class ArchiveFiles final : public BundleFiles {
public:
    /// `members`: by "rank00000/tensors.jsonl", the path below the bundle.
    ArchiveFiles(fs::path path, OpenFilePtr archive, std::map<std::string, ZipEntry> members)
        : BundleFiles(std::move(path))
        , m_archive(std::move(archive))
        , m_bytes(files::fileBytes(m_archive))
        , m_members(std::move(members))
    {
    }

    Result<std::vector<Entry>> entries(const fs::path& folder) const override
    {
        const std::string prefix = folder == root() ? std::string() : folder.filename().string() + "/";
        std::vector<Entry> found;
        std::set<std::string> folders;
        for (const auto& [path, entry] : m_members) {
            if (!path.starts_with(prefix))
                continue;
            const std::string name = path.substr(prefix.size());
            const std::size_t slash = name.find('/');
            if (slash == std::string::npos)
                found.push_back({name, Entry::Type::File});
            else if (folders.insert(name.substr(0, slash)).second)
                found.push_back({name.substr(0, slash), Entry::Type::Folder});
        }
        return found;
    }

    Result<OpenFilePtr> open(const fs::path& folder, const std::string& name) override
    {
        const std::string label = folder == root() ? name : folder.filename().string() + "/" + name;
        if (!isPlainName(name))
            return fail(ErrorCode::Corrupt, "is no plain file name; a bundle reads nothing outside its own folder", label);
        const auto member = m_members.find(label);
        if (member == m_members.end())
            return fail(ErrorCode::NotFound, "the file is missing", label);
        const ZipEntry& entry = member->second;
        if (!entry.deflated)
            return std::make_shared<StoredFile>(m_archive, entry, label);
        Unpacked& unpacked = slotOf(label);
        const std::lock_guard lock(unpacked.mutex); // another reader of the same entry waits for it
        if (OpenFilePtr kept = unpacked.file)
            return kept;
        // Tensors are read again and again; an index is read once, while the bundle is opened.
        const bool readOnce = !name.ends_with(".bin");
        const bool inMemory = entry.size <= kInMemory && (readOnce || takeMemory(entry.size));
        Result<OpenFilePtr> file = unpack(entry, label, inMemory);
        if (file && !(readOnce && inMemory))
            unpacked.file = *file;
        return file;
    }

private:
    struct Unpacked {
        std::mutex mutex;
        OpenFilePtr file;
    };

    Unpacked& slotOf(const std::string& label)
    {
        const std::lock_guard lock(m_mutex);
        return m_unpacked[label];
    }

    Result<OpenFilePtr> unpack(const ZipEntry& entry, const std::string& label, bool inMemory)
    {
        uLong checksum = crc32(0, nullptr, 0);
        const auto counted = [&checksum](std::span<const std::byte> piece) {
            checksum = crc32_z(checksum, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
        };
        const files::Deflated data{entry.offset, entry.stored, entry.size};
        const auto finished = [&](Result<void> done) -> Result<void> {
            if (!done)
                return fail(done.error().code, "in the ZIP archive: " + done.error().message, label);
            if (checksum != entry.checksum)
                return fail(ErrorCode::Corrupt, "in the ZIP archive: what it holds does not have its checksum. Copy the archive again", label);
            return {};
        };
        if (inMemory) {
            std::vector<std::byte> bytes;
            Result<void> done = finished(files::inflate(*m_bytes, data, [&](std::span<const std::byte> piece) -> Result<void> {
                counted(piece);
                bytes.insert(bytes.end(), piece.begin(), piece.end());
                return {};
            }));
            if (!done)
                return tl::unexpected(std::move(done.error()));
            return std::make_shared<MemoryFile>(std::move(bytes), label);
        }
        if (Result<void> taken = takeSpace(entry.size, label); !taken)
            return tl::unexpected(std::move(taken.error()));
        Result<files::TemporaryFile> file = files::TemporaryFile::create(label);
        if (!file)
            return tl::unexpected(std::move(file.error()));
        Result<void> done = finished(files::inflate(*m_bytes, data, [&](std::span<const std::byte> piece) {
            counted(piece);
            return file->append(piece);
        }));
        if (!done)
            return tl::unexpected(std::move(done.error()));
        return std::move(*file).finish();
    }

    bool takeMemory(std::uint64_t size)
    {
        const std::lock_guard lock(m_mutex);
        if (size > kKeptInMemory - m_inMemory)
            return false;
        m_inMemory += size;
        return true;
    }

    Result<void> takeSpace(std::uint64_t size, const std::string& label)
    {
        const std::lock_guard lock(m_mutex);
        if (size > kMaxUnpacked - m_onDisk) {
            return fail(ErrorCode::Unsupported,
                        fmt::format("is compressed in a ZIP archive, and more than {} GiB would have to be unpacked: unpack the archive and open "
                                    "the folder, or pack it without compression",
                                    kMaxUnpacked >> 30),
                        label);
        }
        m_onDisk += size;
        return {};
    }

    OpenFilePtr m_archive;
    BytesPtr m_bytes;
    std::map<std::string, ZipEntry> m_members;
    std::mutex m_mutex; ///< guards what follows
    std::map<std::string, Unpacked> m_unpacked;
    std::uint64_t m_onDisk = 0, m_inMemory = 0;
};

/// Why a name has no place in an archive of a bundle; empty if it has.
std::string nameProblem(std::string_view name)
{
    if (name.empty())
        return "is empty";
    if (name.front() == '/' || (name.size() > 1 && name[1] == ':'))
        return "is absolute";
    if (name.find('\\') != std::string_view::npos)
        return "has a backslash";
    if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
        return "has a control character";
    if (name.back() == '/')
        name.remove_suffix(1);
    for (std::size_t at = 0; at <= name.size();) {
        const std::size_t end = std::min(name.find('/', at), name.size());
        const std::string_view part = name.substr(at, end - at);
        if (part.empty() || part == "." || part == "..")
            return "leads out of the archive or nowhere";
        at = end + 1;
    }
    return {};
}

/// "runs/a.forkpoint/" in front of "rank00000/rank.json": where a bundle is if it has this file. nullopt for all other files.
std::optional<std::string> bundleOf(const std::string& name)
{
    constexpr auto kFiles = std::to_array<std::string_view>({"bundle.json", "rank.json", "tensors.jsonl"});
    const std::size_t slash = name.rfind('/');
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    if (std::find(kFiles.begin(), kFiles.end(), std::string_view(name).substr(begin)) == kFiles.end())
        return std::nullopt;
    if (begin == 0 || name.ends_with("/bundle.json"))
        return name.substr(0, begin);
    const std::size_t above = name.rfind('/', slash - 1);
    const std::size_t folder = slash == 0 || above == std::string::npos ? 0 : above + 1;
    return name.compare(folder, 4, "rank") == 0 ? name.substr(0, folder) : name.substr(0, begin);
}

struct Archive {
    OpenFilePtr file;
    std::vector<ZipEntry> entries;
};

Result<Archive> readArchive(const fs::path& path)
{
    Result<OpenFilePtr> file = files::openRegular(path, path.string());
    if (!file)
        return tl::unexpected(std::move(file.error()));
    Result<std::vector<ZipEntry>> entries = files::readZip(*files::fileBytes(*file));
    if (!entries)
        return tl::unexpected(std::move(entries.error()));
    return Archive{std::move(*file), std::move(*entries)};
}

} // namespace

bool isArchive(const fs::path& path)
{
    const auto file = files::openRegular(path, {});
    std::array<std::byte, 4> head{};
    return file && (*file)->size() >= head.size() && (*file)->readAt(0, head) && files::isZip(head);
}

bool isBundleArchive(const fs::path& path)
{
    if (!isArchive(path))
        return false;
    if (path.string().ends_with(".forkpoint.zip"))
        return true;
    const Result<Archive> archive = readArchive(path);
    return archive && std::any_of(archive->entries.begin(), archive->entries.end(), [](const ZipEntry& entry) { return bundleOf(entry.name).has_value(); });
}

Result<std::shared_ptr<BundleFiles>> openArchive(const fs::path& path)
{
    Result<Archive> archive = readArchive(path);
    if (!archive)
        return tl::unexpected(std::move(archive.error()));
    std::set<std::string_view> names;
    std::set<std::string> bundles;
    for (const ZipEntry& entry : archive->entries) {
        const std::string shown = shownText(entry.name);
        if (const std::string problem = nameProblem(entry.name); !problem.empty())
            return refused(ErrorCode::Corrupt, fmt::format("the name of entry \"{}\" {}", shown, problem), path);
        if (!names.insert(entry.name).second)
            return refused(ErrorCode::Corrupt, fmt::format("entry {} is there twice", shown), path);
        if (entry.name.starts_with("__MACOSX/"))
            continue; // what macOS adds: not the bundle's
        if (std::optional<std::string> bundle = bundleOf(entry.name))
            bundles.insert(std::move(*bundle));
    }
    if (bundles.empty()) {
        return refused(ErrorCode::NotABundle,
                       "it holds neither bundle.json nor a rank's folder: no Forkpoint bundle. Pack the folder NAME.forkpoint", path);
    }
    if (bundles.size() > 1) {
        return refused(ErrorCode::Unsupported,
                       fmt::format("it holds several bundles, {} and {}{}: unpack it and open one of them", shownText(*bundles.begin()),
                                   shownText(*std::next(bundles.begin())), bundles.size() > 2 ? " and more" : ""),
                       path);
    }
    const std::string& prefix = *bundles.begin();
    if (std::count(prefix.begin(), prefix.end(), '/') > 1) {
        return refused(ErrorCode::NotABundle,
                       fmt::format("its bundle is not at the top nor one folder down, but in {}: unpack it and open that", shownText(prefix)), path);
    }
    std::map<std::string, ZipEntry> members;
    for (ZipEntry& entry : archive->entries) {
        if (entry.name.starts_with(prefix) && !entry.name.ends_with('/')) {
            std::string name = entry.name.substr(prefix.size());
            members.emplace(std::move(name), std::move(entry));
        }
    }
    return std::make_shared<ArchiveFiles>(path, std::move(archive->file), std::move(members));
}

} // namespace forkpoint::bundle
