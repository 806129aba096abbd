// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

// Files of a bundle, opened so that a bundle from a stranger reaches nothing outside its folder.
//
// Bytes are read with pread and never mapped: a mapped file that shrinks, or sits on a network disk that fails, kills the process with
// SIGBUS, while pread returns an error that can be told to the user. The copy costs little, because readers ask for about a megabyte at a
// time and it stays in the processor's cache.
namespace forkpoint::bundle {

/// True for a name that FORMAT.md section 1 allows: not empty, no separators, no "..", no control characters.
bool isPlainName(std::string_view name);

/// A regular file, open for reading. Safe to read from many threads.
class OpenFile {
public:
    explicit OpenFile(int descriptor, std::uint64_t size, std::string label);
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile();

    std::uint64_t size() const { return m_size; } ///< when it was opened
    std::uint64_t currentSize() const; ///< now
    const std::string& label() const { return m_label; } ///< "rank00000/tensors-0000.bin", for messages
    Result<void> readAt(std::uint64_t offset, std::span<std::byte> to) const; ///< Truncated if the file ends before, Unreadable

private:
    int m_descriptor;
    std::uint64_t m_size;
    std::string m_label;
};

/// Opens `folder`/`name` without following a link in the folder's last part (unless the folder is `root` itself, which the user named) or
/// in the name. NotFound, Corrupt (a link, a folder, a device), Unreadable.
Result<std::shared_ptr<const OpenFile>> openFile(const std::filesystem::path& root, const std::filesystem::path& folder,
                                                 const std::string& name);

/// Files kept open between reads, the most recently used ones only: a run of a thousand ranks has more files than a process may open.
class OpenFiles {
public:
    explicit OpenFiles(std::filesystem::path root, std::size_t limit = 128);
    Result<std::shared_ptr<const OpenFile>> open(const std::filesystem::path& folder, const std::string& name);

private:
    struct Entry {
        std::shared_ptr<const OpenFile> file;
        std::uint64_t lastUse = 0;
    };
    std::filesystem::path m_root;
    std::size_t m_limit;
    std::mutex m_mutex;
    std::uint64_t m_uses = 0;
    std::map<std::pair<std::string, std::string>, Entry> m_entries;
};

} // namespace forkpoint::bundle
