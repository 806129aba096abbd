// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/files/bytes.h"
#include "core/tensor/tensor_source.h"

#include <cstdint>
#include <string>
#include <vector>

namespace forkpoint::import {

using namespace files;

/// A tensor where it lies in a file: a view of a storage, as PyTorch and numpy mean it. Views may share a storage, be smaller than it, have
/// their dims in any order, and repeat elements (stride 0).
struct StoredTensor {
    BytesPtr bytes;
    std::uint64_t offset = 0;      ///< of the storage in `bytes`
    std::uint64_t storage = 0;     ///< its size in bytes
    DType dtype = DType::Float32;
    Shape shape;
    std::vector<std::int64_t> strides; ///< in elements, one per dim
    std::int64_t start = 0;        ///< first element within the storage
    bool swapped = false;          ///< big-endian
    bool conjugated = false;       ///< the values are the conjugates of what is stored
    bool negated = false;          ///< the values are the negatives of what is stored
};

/// Row-major strides. The shape must have passed elementCount.
std::vector<std::int64_t> rowMajorStrides(const Shape& shape);

/// Checks that every element lies in the storage and the storage in the file, overflow included. An empty text, or what is wrong.
std::string storedProblem(const StoredTensor& tensor);

/// The tensor as it is read in blocks. It must have passed storedProblem.
TensorSourcePtr storedSource(StoredTensor tensor);

} // namespace forkpoint::import
