// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/files/open_file.h"
#include "core/tensor/tensor_source.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

// Bytes of other people's files. Small files are held in memory and used where they lie; large ones are read with pread as they are needed,
// never mapped: open_file.h says why.
namespace forkpoint::files {

/// Random access to a file, or to something unpacked from one. Immutable and safe to read from many threads.
class Bytes {
public:
    virtual ~Bytes() = default;
    virtual std::uint64_t size() const = 0;
    virtual const std::string& label() const = 0; ///< the file's name, for messages

    /// Bytes [offset, offset + size): where they lie in memory, or in `buffer`. Truncated if the range leaves the file, Unreadable, Corrupt.
    virtual Result<std::span<const std::byte>> read(std::uint64_t offset, std::size_t size, ReadBuffer& buffer) const = 0;

    /// For content that is unpacked as a whole when first read, and kept: the same, with nothing unpacked yet. Null for all others. Whoever
    /// reads it and forgets it gives the memory back.
    virtual std::shared_ptr<const Bytes> afresh() const { return nullptr; }

    /// The same as read, copied.
    Result<std::vector<std::byte>> copy(std::uint64_t offset, std::size_t size) const;
};

using BytesPtr = std::shared_ptr<const Bytes>;

/// Files of one run, opened on demand: the most recently used stay open, and small ones stay in memory as far as the budget goes.
class FilePool : public std::enable_shared_from_this<FilePool> {
public:
    static std::shared_ptr<FilePool> create();

    /// NotFound, Unreadable, Corrupt (a folder or a device). Links are followed: caches of model hubs consist of them.
    Result<BytesPtr> file(const std::filesystem::path& path, std::string label);

private:
    friend class PooledFile;
    FilePool() = default;
    Result<OpenFilePtr> open(const std::filesystem::path& path, const std::string& label);

    struct Entry {
        OpenFilePtr file;
        std::uint64_t lastUse = 0;
    };
    std::atomic<std::int64_t> m_memory { std::int64_t(512) << 20 }; ///< bytes of small files that may still be kept
    std::mutex m_mutex;                                              ///< guards what follows
    std::uint64_t m_uses = 0;
    std::unordered_map<std::string, Entry> m_open;
};

/// Bytes that were made, or are a text in a test.
BytesPtr memoryBytes(std::vector<std::byte> bytes, std::string label);

/// A file that is open already, and stays so.
BytesPtr fileBytes(OpenFilePtr file);

struct Deflated; // inflate.h

/// Compressed data of an archive, unpacked when first read, all at once. Fails as checkDeflated, and with Unsupported beyond 4 GiB.
Result<BytesPtr> inflatedBytes(BytesPtr archive, const Deflated& data);

} // namespace forkpoint::files
