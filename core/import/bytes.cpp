// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/bytes.h"

#include "core/bundle/open_files.h"
#include "core/tensor/box_ranges.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <zlib.h>

namespace forkpoint::import {

namespace {

using View = Result<std::span<const std::byte>>;

constexpr std::uint64_t kSmallFile = 256u << 10; ///< kept in memory, as long as the budget lasts
constexpr std::uint64_t kMaxUnpacked = std::uint64_t(4) << 30;
constexpr std::size_t kOpenFiles = 128;

tl::unexpected<Error> outside(std::uint64_t offset, std::size_t size, std::uint64_t whole, const std::string& label)
{
    return fail(ErrorCode::Truncated,
                fmt::format("ends at byte {}, but {} bytes from byte {} on are needed: it was cut, copy it again", whole, size, offset), label);
}

bool isInside(std::uint64_t offset, std::size_t size, std::uint64_t whole) { return offset <= whole && size <= whole - offset; }

class MemoryBytes final : public Bytes {
public:
    MemoryBytes(std::vector<std::byte> bytes, std::string label)
        : m_bytes(std::move(bytes))
        , m_label(std::move(label))
    {
    }
    std::uint64_t size() const override { return m_bytes.size(); }
    const std::string& label() const override { return m_label; }
    View read(std::uint64_t offset, std::size_t size, ReadBuffer&) const override
    {
        if (!isInside(offset, size, m_bytes.size())) {
            return outside(offset, size, m_bytes.size(), m_label);
        }
        return std::span(m_bytes).subspan(static_cast<std::size_t>(offset), size);
    }

private:
    std::vector<std::byte> m_bytes;
    std::string m_label;
};

/// zlib's state, freed in any case.
struct Inflater {
    z_stream stream {};
    bool ready = false;
    Inflater() { ready = inflateInit2(&stream, -MAX_WBITS) == Z_OK; } // raw: a zip has its own header
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    ~Inflater()
    {
        if (ready) {
            inflateEnd(&stream);
        }
    }
};

class InflatedBytes final : public Bytes {
public:
    InflatedBytes(BytesPtr packed, std::uint64_t offset, std::uint64_t compressed, std::uint64_t size)
        : m_packed(std::move(packed))
        , m_offset(offset)
        , m_compressed(compressed)
        , m_size(size)
    {
    }
    std::uint64_t size() const override { return m_size; }
    const std::string& label() const override { return m_packed->label(); }

    BytesPtr afresh() const override { return std::make_shared<InflatedBytes>(m_packed, m_offset, m_compressed, m_size); }

    View read(std::uint64_t offset, std::size_t size, ReadBuffer& buffer) const override
    {
        if (!isInside(offset, size, m_size)) {
            return outside(offset, size, m_size, label());
        }
        auto whole = unpacked();
        if (!whole) {
            return tl::unexpected(std::move(whole.error()));
        }
        auto to = takeBytes(buffer, size);
        if (!to) {
            return tl::unexpected(std::move(to.error()));
        }
        std::copy_n((*whole)->data() + offset, size, to->data());
        return *to;
    }

private:
    using Whole = std::shared_ptr<const std::vector<std::byte>>;

    Result<Whole> unpacked() const
    {
        const std::lock_guard lock(m_mutex);
        if (m_whole) {
            return m_whole;
        }
        auto whole = inflateAll();
        if (whole) {
            m_whole = *whole;
        }
        return whole;
    }

    Result<Whole> inflateAll() const
    {
        constexpr std::size_t kPiece = 1u << 20;
        const auto bad = [&](std::string_view why) { return fail(ErrorCode::Corrupt, fmt::format("compressed data at byte {}: {}", m_offset, why),
            label()); };
        try {
            auto out = std::make_shared<std::vector<std::byte>>();
            Inflater inflater;
            if (!inflater.ready) {
                return fail(ErrorCode::Unreadable, "not enough memory to unpack it", label());
            }
            ReadBuffer buffer;
            std::uint64_t taken = 0, made = 0;
            int status = Z_OK;
            while (status != Z_STREAM_END) {
                if (inflater.stream.avail_in == 0 && taken < m_compressed) {
                    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, m_compressed - taken));
                    auto bytes = m_packed->read(m_offset + taken, piece, buffer);
                    if (!bytes) {
                        return tl::unexpected(std::move(bytes.error()));
                    }
                    inflater.stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes->data())); // zlib does not write to it
                    inflater.stream.avail_in = static_cast<uInt>(piece);
                    taken += piece;
                }
                if (out->size() == made) { // memory grows with what is really there
                    out->resize(static_cast<std::size_t>(std::min<std::uint64_t>(m_size, 2 * made + kPiece)));
                }
                const auto room = static_cast<uInt>(std::min<std::uint64_t>(out->size() - made, std::numeric_limits<uInt>::max()));
                Bytef last = 0; // room for one byte too many shows a lie about the size
                inflater.stream.next_out = room > 0 ? reinterpret_cast<Bytef*>(out->data() + made) : &last;
                inflater.stream.avail_out = room > 0 ? room : 1;
                const uInt before = inflater.stream.avail_out;
                status = inflate(&inflater.stream, Z_NO_FLUSH);
                const uInt written = before - inflater.stream.avail_out;
                if (status != Z_OK && status != Z_STREAM_END) {
                    return bad(status == Z_BUF_ERROR ? "ends too early" : "is damaged");
                }
                if (room == 0 && written > 0) {
                    return bad("holds more than it says");
                }
                made += written;
            }
            if (made != m_size) {
                return bad(fmt::format("holds {} bytes, not the {} it says", made, m_size));
            }
            return out;
        } catch (const std::exception&) {
            return fail(ErrorCode::Unreadable, fmt::format("not enough memory to unpack {} bytes", m_size), label());
        }
    }

    BytesPtr m_packed;
    std::uint64_t m_offset, m_compressed, m_size;
    mutable std::mutex m_mutex;
    mutable Whole m_whole;
};

} // namespace

Result<std::vector<std::byte>> Bytes::copy(std::uint64_t offset, std::size_t size) const
{
    if (!isInside(offset, size, this->size())) {
        return outside(offset, size, this->size(), label());
    }
    ReadBuffer buffer;
    auto bytes = read(offset, size, buffer);
    if (!bytes) {
        return tl::unexpected(std::move(bytes.error()));
    }
    return std::vector<std::byte>(bytes->begin(), bytes->end());
}

/// A large file: opened again when it has fallen out of the pool.
class PooledFile final : public Bytes {
public:
    PooledFile(std::shared_ptr<FilePool> pool, std::filesystem::path path, std::string label, std::uint64_t size)
        : m_pool(std::move(pool))
        , m_path(std::move(path))
        , m_label(std::move(label))
        , m_size(size)
    {
    }
    std::uint64_t size() const override { return m_size; }
    const std::string& label() const override { return m_label; }
    View read(std::uint64_t offset, std::size_t size, ReadBuffer& buffer) const override
    {
        if (!isInside(offset, size, m_size)) {
            return outside(offset, size, m_size, m_label);
        }
        auto file = m_pool->open(m_path, m_label);
        if (!file) {
            return tl::unexpected(std::move(file.error()));
        }
        auto to = takeBytes(buffer, size);
        if (!to) {
            return tl::unexpected(std::move(to.error()));
        }
        if (auto done = (*file)->readAt(offset, *to); !done) {
            return tl::unexpected(std::move(done.error()));
        }
        return *to;
    }

private:
    std::shared_ptr<FilePool> m_pool;
    std::filesystem::path m_path;
    std::string m_label;
    std::uint64_t m_size;
};

std::shared_ptr<FilePool> FilePool::create()
{
    struct Constructible : FilePool { };
    return std::make_shared<Constructible>();
}

namespace {

/// O_NONBLOCK: opening a named pipe must not wait for a writer.
Result<std::shared_ptr<const bundle::OpenFile>> openRegular(const std::filesystem::path& path, const std::string& label)
{
    const auto refused = [&](int error) {
        return fail(error == ENOENT || error == ENOTDIR ? ErrorCode::NotFound : ErrorCode::Unreadable,
                    fmt::format("cannot be opened: {}", std::generic_category().message(error)), label);
    };
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        return refused(errno);
    }
    struct stat info = {};
    const bool known = ::fstat(descriptor, &info) == 0;
    if (!known || !S_ISREG(info.st_mode)) {
        const int error = errno;
        ::close(descriptor);
        return known ? fail(ErrorCode::Corrupt, "is no regular file", label) : refused(error);
    }
    return std::make_shared<bundle::OpenFile>(descriptor, static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0)), label);
}

} // namespace

Result<std::shared_ptr<const bundle::OpenFile>> FilePool::open(const std::filesystem::path& path, const std::string& label)
{
    const std::lock_guard lock(m_mutex);
    if (const auto found = m_open.find(path.native()); found != m_open.end()) {
        found->second.lastUse = ++m_uses;
        return found->second.file;
    }
    auto file = openRegular(path, label);
    if (!file) {
        return file;
    }
    if (m_open.size() >= kOpenFiles) {
        m_open.erase(std::min_element(m_open.begin(), m_open.end(), [](const auto& a,
            const auto& b) { return a.second.lastUse < b.second.lastUse; }));
    }
    m_open[path.native()] = { *file, ++m_uses };
    return file;
}

Result<BytesPtr> FilePool::file(const std::filesystem::path& path, std::string label)
{
    auto file = openRegular(path, label);
    if (!file) {
        return tl::unexpected(std::move(file.error()));
    }
    const std::uint64_t size = (*file)->size();
    if (size > kSmallFile || m_memory.fetch_sub(static_cast<std::int64_t>(size)) < static_cast<std::int64_t>(size)) {
        return std::make_shared<PooledFile>(shared_from_this(), path, std::move(label), size);
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    if (auto done = (*file)->readAt(0, bytes); !done) {
        return tl::unexpected(std::move(done.error()));
    }
    return memoryBytes(std::move(bytes), std::move(label));
}

BytesPtr memoryBytes(std::vector<std::byte> bytes, std::string label)
{
    return std::make_shared<MemoryBytes>(std::move(bytes), std::move(label));
}

Result<BytesPtr> inflatedBytes(BytesPtr bytes, std::uint64_t offset, std::uint64_t compressed, std::uint64_t size)
{
    constexpr std::uint64_t kMaxRatio = 1032; // a deflate code of 1 bit for a distance, one of 1 for 258 bytes
    if (compressed > bytes->size() || offset > bytes->size() - compressed) {
        return outside(offset, static_cast<std::size_t>(compressed), bytes->size(), bytes->label());
    }
    if (size / kMaxRatio > compressed) {
        return fail(ErrorCode::Corrupt, fmt::format("{} compressed bytes cannot hold the {} bytes that are claimed", compressed, size),
            bytes->label());
    }
    if (size > kMaxUnpacked) {
        return fail(ErrorCode::Unsupported, fmt::format("an entry of {} bytes is compressed: unpack the archive first", size), bytes->label());
    }
    return std::make_shared<InflatedBytes>(std::move(bytes), offset, compressed, size);
}

} // namespace forkpoint::import
