// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/import/bytes.h"

#include <cstdint>
#include <string>
#include <vector>

// ZIP archives as torch.save and numpy.savez write them (APPNOTE.TXT 6.3). Only the central directory is believed: PyTorch writes local
// headers with zero sizes. Checksums are not looked at: PyTorch can be told to write wrong ones.
namespace forkpoint::import {

struct ZipEntry {
    std::string name;
    std::uint64_t offset = 0;     ///< of the data in the archive
    std::uint64_t stored = 0;     ///< bytes there
    std::uint64_t size = 0;       ///< bytes of content
    bool deflated = false;
};

/// True if the file begins as a ZIP archive does.
bool isZip(std::span<const std::byte> head);

/// The entries in the order of the directory. Every one lies in the file and none overlaps another. Truncated (no directory: the file was
/// cut), Corrupt, Unsupported (encrypted, split, another compression; names the entry).
Result<std::vector<ZipEntry>> readZip(const Bytes& archive);

/// An entry's content; unpacked on demand.
Result<BytesPtr> openEntry(const BytesPtr& archive, const ZipEntry& entry);

} // namespace forkpoint::import
