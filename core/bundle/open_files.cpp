// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/open_files.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace forkpoint::bundle {

namespace {

std::string reason(int error)
{
    return std::generic_category().message(error);
}

/// A descriptor that closes itself.
struct Descriptor {
    int value = -1;
    explicit Descriptor(int descriptor)
        : value(descriptor)
    {
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor()
    {
        if (value >= 0)
            ::close(value);
    }
    int release() { return std::exchange(value, -1); }
};

tl::unexpected<Error> openFailure(int error, const std::string& label)
{
    if (error == ENOENT)
        return fail(ErrorCode::NotFound, "the file is missing", label);
    if (error == ELOOP || error == ENOTDIR)
        return fail(ErrorCode::Corrupt, "is a link; links in a bundle are not followed", label);
    return fail(ErrorCode::Unreadable, fmt::format("cannot be opened: {}", reason(error)), label);
}

} // namespace

bool isPlainName(std::string_view name)
{
    if (name.empty() || name == "." || name.find("..") != std::string_view::npos || name.size() > 255)
        return false;
    return std::none_of(name.begin(), name.end(),
                        [](char c) { return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

OpenFile::OpenFile(int descriptor, std::uint64_t size, std::string label)
    : m_descriptor(descriptor)
    , m_size(size)
    , m_label(std::move(label))
{
}

OpenFile::~OpenFile()
{
    ::close(m_descriptor);
}

std::uint64_t OpenFile::currentSize() const
{
    struct stat info = {};
    if (::fstat(m_descriptor, &info) != 0 || info.st_size < 0)
        return 0;
    return static_cast<std::uint64_t>(info.st_size);
}

Result<void> OpenFile::readAt(std::uint64_t offset, std::span<std::byte> to) const
{
    std::size_t done = 0;
    while (done < to.size()) {
        const ssize_t got = ::pread(m_descriptor, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(ErrorCode::Unreadable, fmt::format("cannot be read at byte {}: {}", offset + done, reason(errno)), m_label);
        if (got == 0) {
            return fail(ErrorCode::Truncated,
                        fmt::format("ends at byte {}, {} bytes earlier than needed: it has shrunk since it was opened", offset + done,
                                    to.size() - done),
                        m_label);
        }
        done += static_cast<std::size_t>(got);
    }
    return {};
}

Result<std::shared_ptr<const OpenFile>> openFile(const std::filesystem::path& root, const std::filesystem::path& folder,
                                                 const std::string& name)
{
    const bool inRoot = folder == root;
    const std::string folderName = folder.filename().string();
    const std::string label = inRoot ? name : folderName + "/" + name;
    if (!isPlainName(name) || (!inRoot && !isPlainName(folderName)))
        return fail(ErrorCode::Corrupt, "is no plain file name; a bundle reads nothing outside its own folder", label);

    const Descriptor top(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (top.value < 0)
        return openFailure(errno, root.string());
    const Descriptor sub(inRoot ? -1 : ::openat(top.value, folderName.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inRoot && sub.value < 0)
        return openFailure(errno, folderName);
    // O_NONBLOCK: opening a named pipe must not wait for a writer.
    Descriptor file(::openat(inRoot ? top.value : sub.value, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.value < 0)
        return openFailure(errno, label);
    struct stat info = {};
    if (::fstat(file.value, &info) != 0)
        return openFailure(errno, label);
    if (!S_ISREG(info.st_mode))
        return fail(ErrorCode::Corrupt, S_ISDIR(info.st_mode) ? "is a folder, not a file" : "is no regular file", label);
    return std::make_shared<OpenFile>(file.release(), static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0)), label);
}

OpenFiles::OpenFiles(std::filesystem::path root, std::size_t limit)
    : m_root(std::move(root))
    , m_limit(std::max<std::size_t>(limit, 1))
{
}

Result<std::shared_ptr<const OpenFile>> OpenFiles::open(const std::filesystem::path& folder, const std::string& name)
{
    const std::lock_guard lock(m_mutex);
    const std::pair key(folder.string(), name);
    if (const auto found = m_entries.find(key); found != m_entries.end()) {
        found->second.lastUse = ++m_uses;
        return found->second.file;
    }
    auto file = openFile(m_root, folder, name);
    if (!file)
        return file;
    if (m_entries.size() >= m_limit) {
        m_entries.erase(std::min_element(m_entries.begin(), m_entries.end(),
                                         [](const auto& a, const auto& b) { return a.second.lastUse < b.second.lastUse; }));
    }
    m_entries[key] = {*file, ++m_uses};
    return file;
}

} // namespace forkpoint::bundle
