// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

// Bytes are read with pread and never mapped: a mapped file that shrinks, or sits on a network disk that fails, kills the process with
// SIGBUS, while pread returns an error that can be told to the user. The copy costs little, because readers ask for about a megabyte at a
// time and it stays in the processor's cache.
namespace forkpoint::files {

/// Something to read from at any place, whose size does not change while all is well. Safe to read from many threads.
class OpenFile {
public:
    virtual ~OpenFile() = default;
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    std::uint64_t size() const { return m_size; } ///< when it was opened
    const std::string& label() const { return m_label; } ///< "rank00000/tensors-0000.bin", for messages
    virtual std::uint64_t currentSize() const = 0; ///< now
    virtual Result<void> readAt(std::uint64_t offset, std::span<std::byte> to) const = 0; ///< Truncated if the file ends before, Unreadable

protected:
    OpenFile(std::uint64_t size, std::string label)
        : m_size(size)
        , m_label(std::move(label))
    {
    }

private:
    std::uint64_t m_size;
    std::string m_label;
};

using OpenFilePtr = std::shared_ptr<const OpenFile>;

/// A descriptor that closes itself.
struct Descriptor {
    int value = -1;
    explicit Descriptor(int descriptor)
        : value(descriptor)
    {
    }
    Descriptor(Descriptor&& other) noexcept
        : value(std::exchange(other.value, -1))
    {
    }
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor();
};

/// The file of a descriptor; Corrupt if it is a folder, a device or the like.
Result<OpenFilePtr> fileOf(Descriptor descriptor, std::string label);

/// Opens a regular file, following links. NotFound, Corrupt, Unreadable.
Result<OpenFilePtr> openRegular(const std::filesystem::path& path, std::string label);

/// Text of an errno.
std::string reason(int error);

} // namespace forkpoint::files
