// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/files/bytes.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Compressed sections in one file, each with a checksum (FORKCMP.md section 2).
namespace forkpoint::portable {

inline constexpr std::uint32_t kMajor = 1, kMinor = 3;
inline constexpr std::uint64_t kHeaderBytes = 40, kEntryBytes = 32;
inline constexpr std::size_t kMaxSections = 1u << 20;

struct Section {
    std::uint64_t offset = 0;
    std::uint64_t stored = 0;   ///< bytes in the file, zstd
    std::uint64_t raw = 0;      ///< bytes when unpacked
    std::uint64_t checksum = 0; ///< XXH64 of the stored bytes
};

/// Writes beside the target and replaces it at the end; what is not finished leaves nothing behind.
class ContainerWriter {
public:
    /// WriteFailed; Exists if there is something at `path` that is no portable comparison.
    static Result<ContainerWriter> create(const std::filesystem::path& path);
    ContainerWriter(ContainerWriter&&) = default;
    ContainerWriter& operator=(ContainerWriter&&) = default;
    ~ContainerWriter();

    Result<std::size_t> add(std::span<const std::byte> raw); ///< packs it; returns its number
    Result<std::size_t> addPacked(std::span<const std::byte> packed, std::uint64_t raw); ///< made by pack()
    std::uint64_t size() const;                              ///< of the file, if it were finished now
    Result<void> finish();

private:
    ContainerWriter() = default;
    Error failure() const;

    std::filesystem::path m_path, m_temporary;
    std::unique_ptr<std::ofstream> m_out;
    std::uint64_t m_at = 0;
    std::vector<Section> m_sections;
};

/// One zstd frame. WriteFailed for want of memory.
Result<std::vector<std::byte>> pack(std::span<const std::byte> raw);

/// A container, opened. Safe to use from many threads.
class Container {
public:
    /// NotFound, Unreadable, NotABundle (it is something else), Unsupported (newer major version), Truncated, Corrupt.
    static Result<std::shared_ptr<const Container>> open(const std::filesystem::path& path);

    std::size_t sections() const { return m_sections.size(); }
    const Section& section(std::size_t number) const { return m_sections[number]; }
    const std::string& label() const { return m_file->label(); } ///< the path, for messages
    /// Unpacked. Corrupt if it is not what was written, or claims more than `most` bytes: their memory is taken before they are looked at.
    Result<std::vector<std::byte>> read(std::size_t number, std::uint64_t most) const;

private:
    files::BytesPtr m_file;
    std::vector<Section> m_sections;
};

/// True if the file begins like a container.
bool isContainer(const std::filesystem::path& path);

} // namespace forkpoint::portable
