// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/files/zip.h"

#include "core/files/inflate.h"
#include "core/files/little_endian.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <optional>

namespace forkpoint::files {

namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr std::uint64_t kMaxDirectory = 1u << 30;

struct Directory {
    std::uint64_t entries = 0, offset = 0, size = 0;
};

tl::unexpected<Error> corrupt(const Bytes& archive, std::string message)
{
    return fail(ErrorCode::Corrupt, "ZIP archive: " + message, archive.label());
}

/// Finds the end record: it is the last thing in the file, but for a comment of at most 65535 bytes.
Result<Directory> findDirectory(const Bytes& archive)
{
    const std::uint64_t size = archive.size();
    const auto tailSize = static_cast<std::size_t>(std::min<std::uint64_t>(size, kEndSize + 0xffff));
    auto tail = archive.copy(size - tailSize, tailSize);
    if (!tail) {
        return tl::unexpected(std::move(tail.error()));
    }
    for (std::size_t back = kEndSize; back <= tailSize; ++back) {
        const std::span<const std::byte> end = std::span(*tail).subspan(tailSize - back);
        if (le32(end, 0) != kEnd || le16(end, 20) + kEndSize != back) {
            continue;
        }
        if (le16(end, 4) != 0 && le16(end, 4) != 0xffff) {
            return fail(ErrorCode::Unsupported, "ZIP archive: it is split into several files; join them first", archive.label());
        }
        Directory directory { le16(end, 10), le32(end, 16), le32(end, 12) };
        const std::uint64_t endAt = size - back;
        const bool wide = directory.entries == 0xffff || directory.offset == 0xffffffff || directory.size == 0xffffffff;
        if (wide && endAt >= kLocatorSize) {
            auto locator = archive.copy(endAt - kLocatorSize, kLocatorSize);
            if (!locator) {
                return tl::unexpected(std::move(locator.error()));
            }
            if (le32(*locator, 0) == kLocator64) {
                const std::uint64_t at = le64(*locator, 8);
                if (at > size || size - at < kEnd64Size) {
                    return corrupt(archive, fmt::format("the end record at byte {} is not in the file", at));
                }
                auto end64 = archive.copy(at, kEnd64Size);
                if (!end64) {
                    return tl::unexpected(std::move(end64.error()));
                }
                if (le32(*end64, 0) != kEnd64) {
                    return corrupt(archive, fmt::format("there is no end record at byte {}", at));
                }
                directory = { le64(*end64, 32), le64(*end64, 48), le64(*end64, 40) };
            }
        }
        if (directory.offset > endAt || directory.size > endAt - directory.offset) {
            return corrupt(archive, fmt::format("the directory of {} bytes at byte {} does not fit in the file", directory.size, directory.offset));
        }
        if (directory.size > kMaxDirectory || directory.entries > directory.size / kCentralSize) {
            return corrupt(archive, fmt::format("a directory of {} bytes cannot list {} entries", directory.size, directory.entries));
        }
        return directory;
    }
    return fail(ErrorCode::Truncated,
        "ZIP archive without its directory, which stands at the end: the file was cut, or is still being written. Copy it again",
                archive.label());
}

/// Sizes and offset that did not fit into 32 bits (APPNOTE 4.5.3); the fields are there for those that are all ones only, in this order.
bool widen(std::span<const std::byte> extra, ZipEntry& entry, std::uint64_t& localAt)
{
    for (std::size_t at = 0; at + 4 <= extra.size();) {
        const std::size_t size = le16(extra, at + 2);
        if (size > extra.size() - at - 4) {
            return false;
        }
        if (le16(extra, at) == 1) {
            std::span<const std::byte> field = extra.subspan(at + 4, size);
            for (std::uint64_t* value : { &entry.size, &entry.stored, &localAt }) {
                if (*value == 0xffffffff) {
                    if (field.size() < 8) {
                        return false;
                    }
                    *value = le64(field, 0);
                    field = field.subspan(8);
                }
            }
            return true;
        }
        at += 4 + size;
    }
    return true;
}

} // namespace

bool isZip(std::span<const std::byte> head)
{
    return head.size() >= 4 && (le32(head, 0) == kLocal || le32(head, 0) == kEnd);
}

Result<std::vector<ZipEntry>> readZip(const Bytes& archive)
{
    const auto directory = findDirectory(archive);
    if (!directory) {
        return tl::unexpected(directory.error());
    }
    auto bytes = archive.copy(directory->offset, static_cast<std::size_t>(directory->size));
    if (!bytes) {
        return tl::unexpected(std::move(bytes.error()));
    }
    std::vector<ZipEntry> entries;
    std::vector<std::uint64_t> starts; // of the local headers
    std::span<const std::byte> rest(*bytes);
    for (std::uint64_t i = 0; i < directory->entries; ++i) {
        if (rest.size() < kCentralSize || le32(rest, 0) != kCentral) {
            return corrupt(archive, fmt::format("the directory ends after {} of {} entries", i, directory->entries));
        }
        const std::size_t nameSize = le16(rest, 28), extraSize = le16(rest, 30), commentSize = le16(rest, 32);
        const std::size_t whole = kCentralSize + nameSize + extraSize + commentSize;
        if (rest.size() < whole) {
            return corrupt(archive, fmt::format("entry {} of the directory is cut", i));
        }
        ZipEntry entry;
        entry.name.assign(reinterpret_cast<const char*>(rest.data()) + kCentralSize, nameSize);
        entry.checksum = le32(rest, 16);
        entry.stored = le32(rest, 20);
        entry.size = le32(rest, 24);
        std::uint64_t localAt = le32(rest, 42);
        const unsigned flags = le16(rest, 8), method = le16(rest, 10);
        if (!widen(rest.subspan(kCentralSize + nameSize, extraSize), entry, localAt)) {
            return corrupt(archive, fmt::format("entry {}: its sizes are cut", entry.name));
        }
        rest = rest.subspan(whole);
        if ((flags & 1u) != 0) {
            return fail(ErrorCode::Unsupported, fmt::format("ZIP archive: entry {} is encrypted; unpack it first", entry.name), archive.label());
        }
        if (method != 0 && method != 8) {
            return fail(ErrorCode::Unsupported,
                fmt::format("ZIP archive: entry {} is compressed by method {}; only stored and deflated ones are read", entry.name, method),
                        archive.label());
        }
        entry.deflated = method == 8;
        if (!entry.deflated && entry.stored != entry.size) {
            return corrupt(archive, fmt::format("entry {}: {} stored bytes for {} bytes of content", entry.name, entry.stored, entry.size));
        }
        if (localAt > archive.size() || archive.size() - localAt < kLocalSize) {
            return corrupt(archive, fmt::format("entry {} begins at byte {}, outside the file", entry.name, localAt));
        }
        ReadBuffer buffer;
        auto local = archive.read(localAt, kLocalSize, buffer);
        if (!local) {
            return tl::unexpected(std::move(local.error()));
        }
        if (le32(*local, 0) != kLocal) {
            return corrupt(archive, fmt::format("there is no entry at byte {}, where {} should be", localAt, entry.name));
        }
        entry.offset = localAt + kLocalSize + le16(*local, 26) + le16(*local, 28);
        if (entry.offset > directory->offset || entry.stored > directory->offset - entry.offset) {
            return corrupt(archive, fmt::format("entry {}: {} bytes at byte {} do not fit before the directory", entry.name, entry.stored,
                entry.offset));
        }
        starts.push_back(localAt);
        entries.push_back(std::move(entry));
    }
    std::vector<std::size_t> order(entries.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return starts[x] < starts[y]; });
    for (std::size_t i = 1; i < order.size(); ++i) {
        const auto& before = entries[order[i - 1]];
        if (before.offset + before.stored > starts[order[i]]) {
            return corrupt(archive, fmt::format("entries {} and {} overlap", before.name, entries[order[i]].name));
        }
    }
    return entries;
}

namespace {

/// A stored entry: a window of the archive.
class StoredBytes final : public Bytes {
public:
    StoredBytes(BytesPtr archive, std::uint64_t offset, std::uint64_t size)
        : m_archive(std::move(archive))
        , m_offset(offset)
        , m_size(size)
    {
    }
    std::uint64_t size() const override { return m_size; }
    const std::string& label() const override { return m_archive->label(); }
    Result<std::span<const std::byte>> read(std::uint64_t offset, std::size_t size, ReadBuffer& buffer) const override
    {
        if (offset > m_size || size > m_size - offset) {
            return fail(ErrorCode::Truncated, fmt::format("{} bytes from byte {} on are needed of an entry of {} bytes", size, offset, m_size),
                label());
        }
        return m_archive->read(m_offset + offset, size, buffer);
    }

private:
    BytesPtr m_archive;
    std::uint64_t m_offset, m_size;
};

} // namespace

Result<BytesPtr> openEntry(const BytesPtr& archive, const ZipEntry& entry)
{
    if (entry.deflated) {
        return inflatedBytes(archive, {entry.offset, entry.stored, entry.size});
    }
    return std::make_shared<StoredBytes>(archive, entry.offset, entry.size);
}

} // namespace forkpoint::files
