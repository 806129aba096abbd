// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace forkpoint::fuzz {

/// Bytes as a file in memory, for readers that want a path.
class TemporaryFile {
public:
    TemporaryFile(const std::uint8_t* data, std::size_t size)
        : m_descriptor(::memfd_create("input", MFD_CLOEXEC))
    {
        for (std::size_t written = 0; written < size;) {
            const auto n = ::write(m_descriptor, data + written, size - written);
            if (n <= 0)
                break;
            written += static_cast<std::size_t>(n);
        }
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { ::close(m_descriptor); }

    std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(m_descriptor); }

private:
    int m_descriptor;
};

} // namespace forkpoint::fuzz
