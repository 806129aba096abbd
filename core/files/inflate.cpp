// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/files/inflate.h"

#include <algorithm>
#include <fmt/format.h>
#include <zlib.h>

namespace forkpoint::files {

namespace {

/// zlib's state, freed in any case.
struct Inflater {
    z_stream stream {};
    bool ready = false;
    Inflater() { ready = inflateInit2(&stream, -MAX_WBITS) == Z_OK; } // raw: a zip has its own header
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    ~Inflater()
    {
        if (ready)
            inflateEnd(&stream);
    }
};

} // namespace

Result<void> checkDeflated(const Bytes& archive, const Deflated& data)
{
    constexpr std::uint64_t kMaxRatio = 1032; // a deflate code of 1 bit for a distance, one of 1 for 258 bytes
    if (data.offset > archive.size() || data.stored > archive.size() - data.offset) {
        return fail(ErrorCode::Truncated,
                    fmt::format("ends at byte {}, but {} bytes from byte {} on are needed: it was cut, copy it again", archive.size(), data.stored,
                                data.offset),
                    archive.label());
    }
    if (data.size / kMaxRatio > data.stored) {
        return fail(ErrorCode::Corrupt, fmt::format("{} compressed bytes cannot hold the {} bytes that are claimed", data.stored, data.size),
                    archive.label());
    }
    return {};
}

Result<void> inflate(const Bytes& archive, const Deflated& data, const std::function<Result<void>(std::span<const std::byte>)>& sink)
{
    constexpr std::size_t kPiece = 256u << 10;
    const auto bad = [&](std::string_view why) {
        return fail(ErrorCode::Corrupt, fmt::format("compressed data at byte {}: {}", data.offset, why), archive.label());
    };
    if (Result<void> sound = checkDeflated(archive, data); !sound)
        return sound;
    Inflater inflater;
    if (!inflater.ready)
        return fail(ErrorCode::Unreadable, "not enough memory to unpack it", archive.label());
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, data.size + 1))); // one too many shows a lie
    ReadBuffer buffer;
    std::uint64_t taken = 0, made = 0;
    for (int status = Z_OK; status != Z_STREAM_END;) {
        if (inflater.stream.avail_in == 0 && taken < data.stored) {
            const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, data.stored - taken));
            auto bytes = archive.read(data.offset + taken, size, buffer);
            if (!bytes)
                return tl::unexpected(std::move(bytes.error()));
            inflater.stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes->data())); // zlib does not write to it
            inflater.stream.avail_in = static_cast<uInt>(size);
            taken += size;
        }
        inflater.stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        inflater.stream.avail_out = static_cast<uInt>(piece.size());
        status = ::inflate(&inflater.stream, Z_NO_FLUSH);
        const std::size_t got = piece.size() - inflater.stream.avail_out;
        if (status != Z_OK && status != Z_STREAM_END)
            return bad(status == Z_BUF_ERROR ? "ends too early" : "is damaged");
        made += got;
        if (made > data.size)
            return bad("holds more than it says");
        if (Result<void> done = sink(std::span(piece).first(got)); !done)
            return done;
    }
    if (made != data.size)
        return bad(fmt::format("holds {} bytes, not the {} it says", made, data.size));
    return {};
}

} // namespace forkpoint::files
