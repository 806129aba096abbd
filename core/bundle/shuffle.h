// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

// The filter "shuffle": the first bytes of all elements of a frame, then the second bytes, ... Bytes after the last whole element stay as
// they are. Exponents of neighbours resemble each other, so grouped they compress.
namespace forkpoint::bundle {

void shuffle(std::span<const std::byte> from, std::span<std::byte> to, std::size_t itemSize);
void unshuffle(std::span<const std::byte> from, std::span<std::byte> to, std::size_t itemSize);

} // namespace forkpoint::bundle
