// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/files/bytes.h"

#include "core/files/inflate.h"
#include "core/tensor/box_ranges.h"

#include <algorithm>
#include <fmt/format.h>

namespace forkpoint::files {

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

class InflatedBytes final : public Bytes {
public:
    InflatedBytes(BytesPtr packed, const Deflated& data)
        : m_packed(std::move(packed))
        , m_data(data)
    {
    }
    std::uint64_t size() const override { return m_data.size; }
    const std::string& label() const override { return m_packed->label(); }

    BytesPtr afresh() const override { return std::make_shared<InflatedBytes>(m_packed, m_data); }

    View read(std::uint64_t offset, std::size_t size, ReadBuffer& buffer) const override
    {
        if (!isInside(offset, size, m_data.size)) {
            return outside(offset, size, m_data.size, label());
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
        try {
            auto out = std::make_shared<std::vector<std::byte>>(); // memory grows with what is really there
            auto done = inflate(*m_packed, m_data, [&](std::span<const std::byte> piece) -> Result<void> {
                out->insert(out->end(), piece.begin(), piece.end());
                return {};
            });
            if (!done) {
                return tl::unexpected(std::move(done.error()));
            }
            return out;
        } catch (const std::bad_alloc&) {
            return fail(ErrorCode::Unreadable, fmt::format("not enough memory to unpack {} bytes", m_data.size), label());
        }
    }

    BytesPtr m_packed;
    Deflated m_data;
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

/// A file that stays open.
class FileBytes final : public Bytes {
public:
    explicit FileBytes(OpenFilePtr file)
        : m_file(std::move(file))
    {
    }
    std::uint64_t size() const override { return m_file->size(); }
    const std::string& label() const override { return m_file->label(); }
    View read(std::uint64_t offset, std::size_t size, ReadBuffer& buffer) const override
    {
        if (!isInside(offset, size, m_file->size())) {
            return outside(offset, size, m_file->size(), label());
        }
        auto to = takeBytes(buffer, size);
        if (!to) {
            return tl::unexpected(std::move(to.error()));
        }
        if (auto done = m_file->readAt(offset, *to); !done) {
            return tl::unexpected(std::move(done.error()));
        }
        return *to;
    }

private:
    OpenFilePtr m_file;
};

std::shared_ptr<FilePool> FilePool::create()
{
    struct Constructible : FilePool { };
    return std::make_shared<Constructible>();
}

Result<OpenFilePtr> FilePool::open(const std::filesystem::path& path, const std::string& label)
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

Result<BytesPtr> inflatedBytes(BytesPtr archive, const Deflated& data)
{
    if (Result<void> sound = checkDeflated(*archive, data); !sound) {
        return tl::unexpected(std::move(sound.error()));
    }
    if (data.size > kMaxUnpacked) {
        return fail(ErrorCode::Unsupported, fmt::format("an entry of {} bytes is compressed: unpack the archive first", data.size),
                    archive->label());
    }
    return std::make_shared<InflatedBytes>(std::move(archive), data);
}

BytesPtr fileBytes(OpenFilePtr file)
{
    return std::make_shared<FileBytes>(std::move(file));
}

} // namespace forkpoint::files
