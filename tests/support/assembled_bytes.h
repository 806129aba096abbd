// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/assembly.h"
#include "core/align/side.h"

#include <cstddef>
#include <gtest/gtest.h>
#include <vector>

namespace forkpoint::test {

/// All bytes of an assembled tensor, whatever its type. Fails the test if they cannot be read.
inline std::vector<std::byte> bytesOf(const align::Side& side, const align::Assembly& assembly)
{
    const auto source = align::open(*side.bundle, assembly);
    ReadBuffer buffer;
    const auto bytes = source ? (*source)->read(Box::whole((*source)->shape()), buffer) : tl::unexpected(source.error());
    EXPECT_TRUE(bytes) << bytes.error().text();
    return bytes ? std::vector<std::byte>(bytes->begin(), bytes->end()) : std::vector<std::byte>();
}

} // namespace forkpoint::test
