// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/files/bytes.h"

#include <cstdint>
#include <string>
#include <vector>

// ZIP archives (APPNOTE.TXT 6.3), as torch.save, numpy.savez, and people who pack a bundle write them. Only the central directory is believed: PyTorch writes local
// headers with zero sizes. Checksums are for the caller to look at: PyTorch can be told to write wrong ones.
namespace forkpoint::files {

struct ZipEntry {
    std::string name;
    std::uint64_t offset = 0;     ///< of the data in the archive
    std::uint64_t stored = 0;     ///< bytes there
    std::uint64_t size = 0;       ///< bytes of content
    std::uint32_t checksum = 0;   ///< CRC-32 of the content, as claimed
    bool deflated = false;
};

/// True if the file begins as a ZIP archive does.
bool isZip(std::span<const std::byte> head);

/// The entries in the order of the directory. Every one lies in the file and none overlaps another. Truncated (no directory: the file was
/// cut), Corrupt, Unsupported (encrypted, split, another compression; names the entry).
Result<std::vector<ZipEntry>> readZip(const Bytes& archive);

/// An entry's content; unpacked on demand.
Result<BytesPtr> openEntry(const BytesPtr& archive, const ZipEntry& entry);

} // namespace forkpoint::files
