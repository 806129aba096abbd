// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/portable/container.h"

#include "core/files/little_endian.h"
#include "core/import/binary_kind.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <system_error>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

namespace forkpoint::portable {

namespace {

constexpr std::string_view kMagic = import::kPortableMagic;
constexpr std::size_t kChecked = 32; ///< bytes of the header that its checksum covers
constexpr int kLevel = 6;

using Bytes = std::vector<std::byte>;

void append(Bytes& to, std::uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; ++i) {
        to.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
}

std::uint64_t checksumOf(std::span<const std::byte> bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

std::uint64_t checksumOf(std::span<const std::byte> head, std::span<const std::byte> directory)
{
    Bytes both(head.begin(), head.end());
    both.insert(both.end(), directory.begin(), directory.end());
    return checksumOf(both);
}

Bytes headOf(std::uint64_t directoryAt, std::size_t sections)
{
    Bytes head;
    for (const auto c : kMagic) {
        head.push_back(static_cast<std::byte>(c));
    }
    append(head, kMajor, 4);
    append(head, kMinor, 4);
    append(head, directoryAt, 8);
    append(head, sections, 8);
    return head;
}

bool beginsLikeOne(std::span<const std::byte> head)
{
    return head.size() >= kMagic.size() && std::memcmp(head.data(), kMagic.data(), kMagic.size()) == 0;
}

const std::string kCopyAgain = "copy it again from where it came from, or write it again with forkpoint-cli compare A B -o";

} // namespace

bool isContainer(const std::filesystem::path& path)
{
    std::ifstream in(path, std::ios::binary);
    std::array<char, kMagic.size()> head {};
    return in.read(head.data(), head.size()) && beginsLikeOne(std::as_bytes(std::span(head)));
}

// --- writing ---

Result<Bytes> pack(std::span<const std::byte> raw)
{
    Bytes packed(ZSTD_compressBound(raw.size()));
    const std::size_t size = ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), kLevel);
    if (ZSTD_isError(size)) {
        return fail(ErrorCode::WriteFailed, fmt::format("cannot be compressed: {}", ZSTD_getErrorName(size)));
    }
    packed.resize(size);
    return packed;
}

Result<ContainerWriter> ContainerWriter::create(const std::filesystem::path& path)
{
    std::error_code error;
    if (std::filesystem::exists(path, error) && !isContainer(path)) {
        return fail(ErrorCode::Exists, "is there already and is no portable comparison: give another name", path.string());
    }
    ContainerWriter out;
    out.m_path = path;
    out.m_temporary = path.string() + ".tmp";
    out.m_out = std::make_unique<std::ofstream>(out.m_temporary, std::ios::binary | std::ios::trunc);
    const Bytes room(kHeaderBytes);
    if (!out.m_out->write(reinterpret_cast<const char*>(room.data()), static_cast<std::streamsize>(room.size()))) {
        return tl::unexpected(out.failure());
    }
    out.m_at = kHeaderBytes;
    return out;
}

ContainerWriter::~ContainerWriter()
{
    if (m_out) {
        m_out.reset();
        std::error_code ignored;
        std::filesystem::remove(m_temporary, ignored);
    }
}

Error ContainerWriter::failure() const
{
    return { ErrorCode::WriteFailed, fmt::format("cannot be written: {}", std::generic_category().message(errno == 0 ? EIO : errno)), m_path.string() };
}

Result<std::size_t> ContainerWriter::add(std::span<const std::byte> raw)
{
    const auto packed = pack(raw);
    return packed ? addPacked(*packed, raw.size()) : tl::unexpected(packed.error());
}

Result<std::size_t> ContainerWriter::addPacked(std::span<const std::byte> packed, std::uint64_t raw)
{
    if (!m_out->write(reinterpret_cast<const char*>(packed.data()), static_cast<std::streamsize>(packed.size()))) {
        return tl::unexpected(failure());
    }
    m_sections.push_back({ m_at, packed.size(), raw, checksumOf(packed) });
    m_at += packed.size();
    return m_sections.size() - 1;
}

std::uint64_t ContainerWriter::size() const { return m_at + kEntryBytes * m_sections.size(); }

Result<void> ContainerWriter::finish()
{
    Bytes directory;
    for (const auto& section : m_sections) {
        append(directory, section.offset, 8);
        append(directory, section.stored, 8);
        append(directory, section.raw, 8);
        append(directory, section.checksum, 8);
    }
    Bytes head = headOf(m_at, m_sections.size());
    append(head, checksumOf(head, directory), 8);
    m_out->write(reinterpret_cast<const char*>(directory.data()), static_cast<std::streamsize>(directory.size()));
    m_out->seekp(0);
    m_out->write(reinterpret_cast<const char*>(head.data()), static_cast<std::streamsize>(head.size()));
    m_out->close();
    if (!*m_out) {
        return tl::unexpected(failure());
    }
    std::error_code error;
    std::filesystem::rename(m_temporary, m_path, error);
    if (error) {
        return fail(ErrorCode::WriteFailed, fmt::format("cannot be replaced: {}", error.message()), m_path.string());
    }
    m_out.reset();
    return {};
}

// --- reading ---

Result<std::shared_ptr<const Container>> Container::open(const std::filesystem::path& path)
{
    auto file = files::FilePool::create()->file(path, path.string());
    if (!file) {
        return tl::unexpected(file.error());
    }
    const std::string label = path.string();
    const std::uint64_t size = (*file)->size();
    const auto head = (*file)->copy(0, static_cast<std::size_t>(std::min(size, kHeaderBytes)));
    if (!head) {
        return tl::unexpected(head.error());
    }
    if (!beginsLikeOne(*head)) {
        return fail(ErrorCode::NotABundle, "is no portable comparison: forkpoint-cli compare A B -o X.forkcmp writes one", label);
    }
    if (head->size() < kHeaderBytes) {
        return fail(ErrorCode::Truncated, fmt::format("ends after {} bytes, within its header; {}", size, kCopyAgain), label);
    }
    const std::span<const std::byte> bytes(*head);
    if (const auto major = files::le32(bytes, 8); major != kMajor) {
        return fail(ErrorCode::Unsupported, fmt::format("has format version {}.{}, and this Forkpoint reads {}.x: update Forkpoint", major, files::le32(bytes, 12), kMajor),
                    label);
    }
    const std::uint64_t directoryAt = files::le64(bytes, 16), count = files::le64(bytes, 24);
    if (count == 0 || count > kMaxSections || directoryAt < kHeaderBytes) {
        return fail(ErrorCode::Corrupt, fmt::format("its header is damaged; {}", kCopyAgain), label);
    }
    const std::uint64_t directoryBytes = count * kEntryBytes;
    if (directoryAt > size || directoryBytes > size - directoryAt) {
        return fail(ErrorCode::Truncated, fmt::format("has {} bytes of {}; {}", size, directoryAt + directoryBytes, kCopyAgain), label);
    }
    const auto directory = (*file)->copy(directoryAt, static_cast<std::size_t>(directoryBytes));
    if (!directory) {
        return tl::unexpected(directory.error());
    }
    if (size != directoryAt + directoryBytes || files::le64(bytes, kChecked) != checksumOf(bytes.first(kChecked), *directory)) {
        return fail(ErrorCode::Corrupt, fmt::format("its header or its list of sections is damaged; {}", kCopyAgain), label);
    }
    const auto out = std::make_shared<Container>();
    out->m_file = std::move(*file);
    std::uint64_t at = kHeaderBytes;
    for (std::size_t i = 0; i < count; ++i) {
        const std::span<const std::byte> entry = std::span(*directory).subspan(i * kEntryBytes, kEntryBytes);
        const Section section { files::le64(entry, 0), files::le64(entry, 8), files::le64(entry, 16), files::le64(entry, 24) };
        if (section.offset != at || section.stored > directoryAt - at) {
            return fail(ErrorCode::Corrupt, fmt::format("section {} is not where it should be; {}", i, kCopyAgain), label);
        }
        at += section.stored;
        out->m_sections.push_back(section);
    }
    if (at != directoryAt) {
        return fail(ErrorCode::Corrupt, fmt::format("there are bytes that belong to no section; {}", kCopyAgain), label);
    }
    return out;
}

Result<Bytes> Container::read(std::size_t number, std::uint64_t most) const
try {
    const Section& section = m_sections[number];
    if (section.raw > most) {
        return fail(ErrorCode::Corrupt, fmt::format("section {} claims {} bytes, and what it is for has at most {}", number, section.raw, most), label());
    }
    const auto packed = m_file->copy(section.offset, static_cast<std::size_t>(section.stored));
    if (!packed) {
        return tl::unexpected(packed.error());
    }
    if (checksumOf(*packed) != section.checksum) {
        return fail(ErrorCode::Corrupt, fmt::format("section {} of {} is damaged; {}", number, m_sections.size(), kCopyAgain), label());
    }
    Bytes raw(static_cast<std::size_t>(section.raw));
    const std::size_t got = ZSTD_decompress(raw.data(), raw.size(), packed->data(), packed->size());
    if (ZSTD_isError(got) || got != raw.size()) {
        return fail(ErrorCode::Corrupt, fmt::format("section {} does not unpack to the {} bytes that it claims", number, section.raw), label());
    }
    return raw;
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::Unreadable, "not enough memory to unpack it", label());
}

} // namespace forkpoint::portable
