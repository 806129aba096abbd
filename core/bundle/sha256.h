// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/record.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace forkpoint::bundle {

/// SHA-256 of bytes that arrive in pieces.
class Sha256 {
public:
    Sha256();
    ~Sha256();
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;
    void add(std::span<const std::byte> bytes);
    std::optional<Digest> finish(); ///< nullopt if the library failed (a build without SHA-256); to be called once

private:
    struct State;
    std::unique_ptr<State> m_state;
};

std::string hexText(const Digest& digest); ///< lower case
std::optional<Digest> digestFromHex(std::string_view text); ///< 64 hex digits

} // namespace forkpoint::bundle
