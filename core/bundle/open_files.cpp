// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/open_files.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <system_error>

namespace forkpoint::bundle {

namespace {

using files::Descriptor;
using files::reason;

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

Result<OpenFilePtr> openFile(const std::filesystem::path& root, const std::filesystem::path& folder,
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
    return files::fileOf(std::move(file), label);
}

OpenFiles::OpenFiles(std::filesystem::path root, std::size_t limit)
    : BundleFiles(std::move(root))
    , m_limit(std::max<std::size_t>(limit, 1))
{
}

Result<std::vector<BundleFiles::Entry>> OpenFiles::entries(const std::filesystem::path& folder) const
{
    std::vector<Entry> found;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        std::error_code ignored;
        const bool isLink = entry->is_symlink(ignored);
        found.push_back({entry->path().filename().string(),
                         isLink ? Entry::Type::Link : entry->is_directory(ignored) ? Entry::Type::Folder : Entry::Type::File});
    }
    if (error)
        return fail(ErrorCode::Unreadable, fmt::format("cannot be listed: {}", error.message()), folder.string());
    return found;
}

Result<OpenFilePtr> OpenFiles::open(const std::filesystem::path& folder, const std::string& name)
{
    const std::lock_guard lock(m_mutex);
    if (const auto found = m_opened.find(std::pair<std::string_view, std::string_view>(folder.native(), name)); found != m_opened.end()) {
        found->second.lastUse = ++m_uses;
        return found->second.file;
    }
    auto file = openFile(root(), folder, name);
    if (!file)
        return file;
    if (m_opened.size() >= m_limit) {
        m_opened.erase(std::min_element(m_opened.begin(), m_opened.end(),
                                         [](const auto& a, const auto& b) { return a.second.lastUse < b.second.lastUse; }));
    }
    m_opened[{folder.native(), name}] = {*file, ++m_uses};
    return file;
}

} // namespace forkpoint::bundle
