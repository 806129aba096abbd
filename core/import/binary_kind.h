// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace forkpoint::import {

/// What a portable comparison begins with (core/portable/FORKCMP.md).
inline constexpr std::string_view kPortableMagic = "FORKCMP\x1a";

/// Bytes of a file's beginning that tell whether it is text.
inline constexpr std::size_t kTextHead = 8000;

/// What a file is, if it begins like none that can be read as text: "a PNG picture", "a file of tensors", "UTF-16 text"; empty for text. For
/// kinds without a name: "binary data", which is told by a zero byte or by more control characters than a terminal's output has.
std::string_view binaryKind(std::span<const std::byte> head);

} // namespace forkpoint::import
