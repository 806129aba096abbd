// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/files/bytes.h"

#include <cstdint>
#include <functional>
#include <span>

namespace forkpoint::files {

/// Where an archive's compressed data lies: raw deflate (RFC 1951), and what it claims to become.
struct Deflated {
    std::uint64_t offset = 0;
    std::uint64_t stored = 0; ///< bytes there
    std::uint64_t size = 0;   ///< bytes of content
};

/// Before anything is unpacked: Truncated if it leaves `archive`, Corrupt if so many bytes cannot come out of so few.
Result<void> checkDeflated(const Bytes& archive, const Deflated& data);

/// Unpacks into `sink`, piece by piece, never more than `size` bytes. Corrupt if the data is damaged or another size, else as reading and as
/// `sink` do.
Result<void> inflate(const Bytes& archive, const Deflated& data, const std::function<Result<void>(std::span<const std::byte>)>& sink);

} // namespace forkpoint::files
