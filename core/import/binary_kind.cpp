// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/binary_kind.h"

#include "core/files/zip.h"
#include "core/import/file_contents.h"

#include <algorithm>
#include <array>
#include <utility>

namespace forkpoint::import {

namespace {

using namespace std::string_view_literals;

/// What people choose by mistake in a folder of logs. Prefixes as the formats' own documents give them; the longer one first.
constexpr auto kPrefixes = std::to_array<std::pair<std::string_view, std::string_view>>({
    { kPortableMagic, "a portable comparison" },
    { "\x1f\x8b"sv, "a gzip file" },
    { "\x28\xb5\x2f\xfd"sv, "a zstd file" },
    { "\xfd" "7zXZ"sv, "an xz file" },
    { "BZh"sv, "a bzip2 file" },
    { "\x89PNG"sv, "a PNG picture" },
    { "\xff\xd8\xff"sv, "a JPEG picture" },
    { "%PDF-"sv, "a PDF document" },
    { "SQLite format 3"sv, "an SQLite database" },
    { "\x7f" "ELF"sv, "a program or library" },
    { "\x89HDF"sv, "an HDF5 file" },
    { "PAR1"sv, "a Parquet file" },
    { "\xff\xfe"sv, "UTF-16 text" },
    { "\xfe\xff"sv, "UTF-16 text" },
});

/// Control characters that no text has; escapes, bells and backspaces belong to a terminal.
bool isStrange(unsigned char c) { return c < 0x07 || (c > 0x0d && c < 0x20 && c != 0x1b) || c == 0x7f; }

} // namespace

std::string_view binaryKind(std::span<const std::byte> head)
{
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    for (const auto& [prefix, name] : kPrefixes) {
        if (text.starts_with(prefix)) {
            return name;
        }
    }
    if (isTensorFile(head)) {
        return files::isZip(head) ? "a ZIP archive or a file of torch.save" : "a file of tensors";
    }
    if (text.starts_with('\x80')) {
        return "a pickle";
    }
    const auto strange = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return isStrange(static_cast<unsigned char>(c)); }));
    return text.find('\0') != std::string_view::npos || strange * 20 > text.size() ? "binary data" : "";
}

} // namespace forkpoint::import
