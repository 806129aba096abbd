// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Numbers in files, at any address. `at` plus the size must lie in the span.
namespace forkpoint::files {

inline std::uint64_t littleEndian(std::span<const std::byte> bytes, std::size_t at, std::size_t size)
{
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
        value |= static_cast<std::uint64_t>(bytes[at + i]) << (8 * i);
    }
    return value;
}

inline std::uint16_t le16(std::span<const std::byte> bytes, std::size_t at) { return static_cast<std::uint16_t>(littleEndian(bytes, at, 2)); }
inline std::uint32_t le32(std::span<const std::byte> bytes, std::size_t at) { return static_cast<std::uint32_t>(littleEndian(bytes, at, 4)); }
inline std::uint64_t le64(std::span<const std::byte> bytes, std::size_t at) { return littleEndian(bytes, at, 8); }

} // namespace forkpoint::files
