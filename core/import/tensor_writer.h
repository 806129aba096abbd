// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor_source.h"

#include <filesystem>
#include <string>
#include <vector>

// Tensors as files that other programs read. Values are written block by block; a file that is there already is never replaced.
namespace forkpoint::import {

struct NamedTensor {
    std::string name;
    TensorSourcePtr source;
};

/// numpy format 1.0, little-endian, C order. bfloat16 and float8, which numpy does not have, are written as float32: every value is one exactly.
/// Fails with Exists, WriteFailed, Usage (more dims than a header can hold), or as reading the source does.
Result<void> writeNpy(const std::filesystem::path& path, const TensorSourcePtr& source);

/// One safetensors file. complex128, which the format does not have, is refused with Usage, and so are two tensors of one name; else as writeNpy.
Result<void> writeSafetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors);

} // namespace forkpoint::import
