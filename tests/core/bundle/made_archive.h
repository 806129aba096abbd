// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/bundle/bundle_files.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>
#include <zlib.h>

// ZIP archives made by hand, so that they can lie.
namespace forkpoint::bundle::test {

inline std::string little(std::uint64_t value, std::size_t size)
{
    std::string out;
    for (std::size_t i = 0; i < size; ++i)
        out += static_cast<char>(i < sizeof value ? value >> (8 * i) & 0xff : 0);
    return out;
}

/// Raw deflate data, as in a ZIP archive.
inline std::string deflated(const std::string& content)
{
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(deflateBound(&stream, content.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

struct MadeEntry {
    std::string name, content;
    unsigned method = 0;
    unsigned flags = 0;
    std::optional<std::uint64_t> size, stored, offset, checksum; ///< if they are to lie
};

/// `wide`: every size and offset in the fields that ZIP64 added.
inline std::string zipOf(const std::vector<MadeEntry>& entries, bool wide = false)
{
    std::string out, directory;
    for (const MadeEntry& e : entries) {
        const std::string data = e.method == 8 ? deflated(e.content) : e.content;
        const std::uint64_t at = e.offset.value_or(out.size());
        const std::uint64_t size = e.size.value_or(e.content.size());
        const std::uint64_t stored = e.stored.value_or(data.size());
        const auto checksum = e.checksum.value_or(crc32_z(0, reinterpret_cast<const Bytef*>(e.content.data()), e.content.size()));
        const std::string extra = wide ? little(1, 2) + little(24, 2) + little(size, 8) + little(stored, 8) + little(at, 8) : std::string();
        const auto narrow = [wide](std::uint64_t value) { return little(wide ? 0xffffffff : value, 4); };
        out += little(0x04034b50, 4) + little(20, 2) + little(e.flags, 2) + little(e.method, 2) + little(0, 4) + little(checksum, 4)
            + little(stored, 4) + little(size, 4) + little(e.name.size(), 2) + little(0, 2) + e.name + data;
        directory += little(0x02014b50, 4) + little(20, 2) + little(20, 2) + little(e.flags, 2) + little(e.method, 2) + little(0, 4)
            + little(checksum, 4) + narrow(stored) + narrow(size) + little(e.name.size(), 2) + little(extra.size(), 2) + little(0, 10) + narrow(at)
            + e.name + extra;
    }
    const std::uint64_t at = out.size();
    out += directory;
    if (wide) {
        const std::uint64_t endAt = out.size();
        out += little(0x06064b50, 4) + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) + little(entries.size(), 8)
            + little(entries.size(), 8) + little(directory.size(), 8) + little(at, 8);
        out += little(0x07064b50, 4) + little(0, 4) + little(endAt, 8) + little(1, 4);
        return out + little(0x06054b50, 4) + little(0, 4) + little(0xffff, 2) + little(0xffff, 2) + little(0xffffffff, 4) + little(0xffffffff, 4)
            + little(0, 2);
    }
    return out + little(0x06054b50, 4) + little(0, 4) + little(entries.size(), 2) + little(entries.size(), 2) + little(directory.size(), 4)
        + little(at, 4) + little(0, 2);
}

/// The files below `folder`, in the order of their names, each called `prefix` and its path.
inline std::vector<MadeEntry> entriesOf(const fs::path& folder, const std::string& prefix, unsigned method)
{
    std::vector<MadeEntry> entries;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file())
            entries.push_back({prefix + entry.path().lexically_relative(folder).generic_string(), readText(entry.path()), method, 0, {}, {}, {}, {}});
    }
    std::sort(entries.begin(), entries.end(), [](const MadeEntry& a, const MadeEntry& b) { return a.name < b.name; });
    return entries;
}

} // namespace forkpoint::bundle::test
