// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/extent_source.h"

#include "core/bundle/shuffle.h"
#include "core/tensor/box_ranges.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <zstd.h>

namespace forkpoint::bundle {

namespace {

using Bytes = Result<std::span<const std::byte>>;

// A zstd block takes at least 4 bytes (RFC 8878: a header of 3, and one) and holds at most 128 KiB, so no frame shrinks by more than this.
// A claim beyond it is a lie, and would make readers plan for terabytes that are not there.
constexpr std::uint64_t kMaxRatio = (128u << 10) / 4;

std::optional<std::uint64_t> rawByteCount(DType dtype, const Shape& shape)
{
    std::int64_t bytes = 0;
    const std::optional<std::int64_t> elements = elementCount(shape);
    if (!elements || __builtin_mul_overflow(*elements, static_cast<std::int64_t>(itemSize(dtype)), &bytes))
        return std::nullopt;
    return static_cast<std::uint64_t>(bytes);
}

struct FreeContext {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_DCtx* decompressor()
{
    thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
    return context.get();
}

std::uint64_t nextOwner()
{
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

/// Raw bytes, unfiltered: element i lies at offset + i * item size.
class PlainSource final : public TensorSource {
public:
    PlainSource(std::shared_ptr<BundleFiles> files, std::filesystem::path folder, Extent extent, DType dtype, Shape shape)
        : m_files(std::move(files))
        , m_folder(std::move(folder))
        , m_extent(std::move(extent))
        , m_dtype(dtype)
        , m_shape(std::move(shape))
    {
    }
    DType dtype() const override { return m_dtype; }
    const Shape& shape() const override { return m_shape; }

    Bytes read(const Box& box, ReadBuffer& buffer) const override
    {
        if (Result<void> ok = checkBox(m_shape, box); !ok)
            return tl::unexpected(std::move(ok.error()));
        RangeWalk walk(m_shape, box);
        if (walk.count() == 0)
            return std::span<const std::byte>{};
        auto file = m_files->open(m_folder, m_extent.file);
        if (!file)
            return tl::unexpected(std::move(file.error()));
        FlatRange range;
        if (walk.count() == 1 && walk.next(range))
            return readRange(**file, range, buffer);
        const std::size_t item = itemSize(m_dtype);
        auto to = takeBytes(buffer, static_cast<std::size_t>(box.elements()) * item);
        if (!to)
            return tl::unexpected(std::move(to.error()));
        ReadBuffer& window = buffer.child(0);
        Result<void> done = gatherRanges(walk, item, *to, [&](FlatRange piece) { return readRange(**file, piece, window); });
        if (!done)
            return tl::unexpected(std::move(done.error()));
        return *to;
    }

private:
    Bytes readRange(const OpenFile& file, FlatRange range, ReadBuffer& buffer) const
    {
        const std::size_t item = itemSize(m_dtype);
        auto to = takeBytes(buffer, static_cast<std::size_t>(range.count) * item);
        if (!to)
            return tl::unexpected(std::move(to.error()));
        if (Result<void> done = file.readAt(m_extent.offset + static_cast<std::uint64_t>(range.offset) * item, *to); !done)
            return tl::unexpected(std::move(done.error()));
        return *to;
    }

    std::shared_ptr<BundleFiles> m_files;
    std::filesystem::path m_folder;
    Extent m_extent;
    DType m_dtype;
    Shape m_shape;
};

/// Frames that must be opened (decompressed, unshuffled) before an element can be used.
class FramedSource final : public TensorSource {
public:
    FramedSource(std::shared_ptr<BundleFiles> files, std::filesystem::path folder, Extent extent, DType dtype, Shape shape)
        : m_files(std::move(files))
        , m_folder(std::move(folder))
        , m_extent(std::move(extent))
        , m_dtype(dtype)
        , m_shape(std::move(shape))
        , m_rawBytes(rawByteCount(m_dtype, m_shape).value_or(0))
        , m_owner(nextOwner())
    {
        std::uint64_t at = m_extent.offset;
        for (const std::uint64_t stored : m_extent.frames) {
            m_starts.push_back(at);
            at += stored;
        }
    }
    DType dtype() const override { return m_dtype; }
    const Shape& shape() const override { return m_shape; }

    Bytes read(const Box& box, ReadBuffer& buffer) const override
    {
        if (Result<void> ok = checkBox(m_shape, box); !ok)
            return tl::unexpected(std::move(ok.error()));
        RangeWalk walk(m_shape, box);
        if (walk.count() == 0)
            return std::span<const std::byte>{};
        auto file = m_files->open(m_folder, m_extent.file);
        if (!file)
            return tl::unexpected(std::move(file.error()));

        const std::size_t item = itemSize(m_dtype);
        std::span<std::byte> to;
        std::size_t filled = 0;
        FlatRange range;
        while (walk.next(range)) {
            std::uint64_t at = static_cast<std::uint64_t>(range.offset) * item;
            const std::uint64_t end = at + static_cast<std::uint64_t>(range.count) * item;
            while (at < end) {
                const std::uint64_t index = at / m_extent.frameSize;
                const std::uint64_t frameStart = index * m_extent.frameSize;
                Bytes raw = frame(**file, index, buffer);
                if (!raw)
                    return raw;
                const auto first = static_cast<std::size_t>(at - frameStart);
                const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(end - at, raw->size() - first));
                if (walk.count() == 1 && at + size == end && filled == 0 && first % item == 0)
                    return raw->subspan(first, size); // one range within one frame
                if (to.empty()) {
                    auto taken = takeBytes(buffer, static_cast<std::size_t>(box.elements()) * item);
                    if (!taken)
                        return tl::unexpected(std::move(taken.error()));
                    to = *taken;
                }
                std::memcpy(to.data() + filled, raw->data() + first, size);
                filled += size;
                at += size;
            }
        }
        return to;
    }

private:
    Bytes frame(const OpenFile& file, std::uint64_t index, ReadBuffer& buffer) const
    {
        ReadBuffer& kept = buffer.child(0);
        if (auto bytes = kept.recall({m_owner, index}))
            return *bytes;
        const std::uint64_t rawStart = index * m_extent.frameSize;
        const auto rawSize = static_cast<std::size_t>(std::min(m_extent.frameSize, m_rawBytes - rawStart));
        const bool compressed = m_extent.codec == Codec::Zstd;
        const bool shuffled = m_extent.filter == Filter::Shuffle;
        auto to = takeBytes(kept, rawSize);
        auto filtered = shuffled ? takeBytes(buffer.child(1), rawSize) : to;
        if (!to || !filtered)
            return fail(ErrorCode::Unreadable, fmt::format("not enough memory for a frame of {} bytes", rawSize), file.label());

        if (compressed) {
            auto stored = takeBytes(buffer.child(2), static_cast<std::size_t>(m_extent.frames[index]));
            if (!stored)
                return tl::unexpected(std::move(stored.error()));
            if (Result<void> done = file.readAt(m_starts[index], *stored); !done)
                return tl::unexpected(std::move(done.error()));
            ZSTD_DCtx* context = decompressor();
            if (!context)
                return fail(ErrorCode::Unreadable, "not enough memory to decompress", file.label());
            const std::size_t got = ZSTD_decompressDCtx(context, filtered->data(), rawSize, stored->data(), stored->size());
            if (ZSTD_isError(got) || got != rawSize) {
                const std::string what
                    = ZSTD_isError(got) ? ZSTD_getErrorName(got) : fmt::format("it holds {} bytes, not {}", got, rawSize);
                return fail(
                    ErrorCode::Corrupt,
                    fmt::format("frame {} at byte {} cannot be decompressed: {}. The file changed after it was recorded; copy it again",
                                index, m_starts[index], what),
                    file.label());
            }
        } else if (Result<void> done = file.readAt(m_extent.offset + rawStart, *filtered); !done) {
            return tl::unexpected(std::move(done.error()));
        }
        if (shuffled)
            unshuffle(*filtered, *to, itemSize(m_dtype));
        kept.remember({m_owner, index});
        return *to;
    }

    std::shared_ptr<BundleFiles> m_files;
    std::filesystem::path m_folder;
    Extent m_extent;
    DType m_dtype;
    Shape m_shape;
    std::uint64_t m_rawBytes;
    std::uint64_t m_owner;
    std::vector<std::uint64_t> m_starts; // of each compressed frame in the file
};

} // namespace

std::uint64_t storedBytes(const Extent& extent, DType dtype, const Shape& shape)
{
    if (extent.codec == Codec::Raw)
        return rawByteCount(dtype, shape).value_or(0);
    std::uint64_t sum = 0;
    for (const std::uint64_t frame : extent.frames) {
        if (__builtin_add_overflow(sum, frame, &sum))
            return ~std::uint64_t{0};
    }
    return sum;
}

std::string extentProblem(const Extent& extent, DType dtype, const Shape& shape, std::uint64_t fileSize)
{
    const std::optional<std::uint64_t> raw = rawByteCount(dtype, shape);
    if (!raw)
        return fmt::format("the shape {} is impossible: a size is negative, or the product overflows", shapeText(shape));
    if (!isPlainName(extent.file))
        return "`file` is no plain file name: a bundle reads nothing outside its own folder";
    if (extent.offset % 64 != 0)
        return fmt::format("the offset {} is not a multiple of 64", extent.offset);
    const bool framed = extent.codec == Codec::Zstd || extent.filter == Filter::Shuffle;
    if (framed && (extent.frameSize == 0 || extent.frameSize > kMaxFrameSize))
        return fmt::format("the frame size {} is not within 1 and {}", extent.frameSize, kMaxFrameSize);
    if (extent.codec == Codec::Zstd) {
        const std::uint64_t count = *raw / extent.frameSize + (*raw % extent.frameSize != 0 ? 1 : 0);
        if (extent.frames.size() != count)
            return fmt::format("{} frames of {} bytes do not make the {} bytes of shape {}", extent.frames.size(), extent.frameSize, *raw,
                               shapeText(shape));
        for (std::size_t i = 0; i < extent.frames.size(); ++i) {
            const std::uint64_t frameRaw = std::min(extent.frameSize, *raw - i * extent.frameSize);
            const std::uint64_t stored = extent.frames[i];
            if (stored > 2 * frameRaw + (64u << 10) || frameRaw / kMaxRatio > stored)
                return fmt::format("frame {} claims {} stored bytes for {} bytes", i, stored, frameRaw);
        }
    }
    const std::uint64_t stored = storedBytes(extent, dtype, shape);
    if (extent.offset > fileSize || stored > fileSize - extent.offset)
        return fmt::format("bytes {} to {} are past the end of {}, which has {} bytes", extent.offset, extent.offset + stored, extent.file,
                           fileSize);
    return {};
}

TensorSourcePtr extentSource(std::shared_ptr<BundleFiles> files, std::filesystem::path folder, Extent extent, DType dtype, Shape shape)
{
    if (extent.codec == Codec::Raw && extent.filter == Filter::None)
        return std::make_shared<PlainSource>(std::move(files), std::move(folder), std::move(extent), dtype, std::move(shape));
    return std::make_shared<FramedSource>(std::move(files), std::move(folder), std::move(extent), dtype, std::move(shape));
}

} // namespace forkpoint::bundle
