// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/open_files.h"
#include "core/bundle/record.h"
#include "core/tensor/tensor_source.h"

#include <filesystem>
#include <memory>
#include <string>

// The bytes of one recorded tensor, in the file where they lie.
namespace forkpoint::bundle {

/// Frames are opened in memory one at a time, so their size is limited; a larger `frame_size` is refused.
inline constexpr std::uint64_t kMaxFrameSize = 256u << 20;

/// Checks every length of an extent against the tensor and the file's size, overflow included. An empty text, or what is wrong:
/// "the offset 13 is not a multiple of 64".
std::string extentProblem(const Extent& extent, DType dtype, const Shape& shape, std::uint64_t fileSize);

/// Bytes that the extent occupies in the file; to be asked only after extentProblem found nothing, or with a valid shape.
std::uint64_t storedBytes(const Extent& extent, DType dtype, const Shape& shape);

/// The tensor in `folder`/`extent.file`. The extent must have passed extentProblem. Raw bytes are read as they are needed; compressed or
/// shuffled ones by frames, of which each ReadBuffer keeps the last.
TensorSourcePtr extentSource(std::shared_ptr<BundleFiles> files, std::filesystem::path folder, Extent extent, DType dtype, Shape shape);

} // namespace forkpoint::bundle
