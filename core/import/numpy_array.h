// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/import/pickle.h"
#include "core/import/stored_tensor.h"

#include <string_view>

namespace forkpoint::import {

/// numpy's type codes: "f4" with its byte order apart.
struct NumpyType {
    DType dtype = DType::Float32;
    bool swapped = false;
};

/// "<f4", "|b1", ">c16". Unsupported for all others (names the type).
Result<NumpyType> numpyType(std::string_view code);

/// True for the functions that make a numpy array or scalar in a pickle.
bool isArrayFunction(std::string_view name);

/// The array that a call of numpy's _reconstruct and its state describe; its bytes are in the pickle. NotFound if it is a scalar, Unsupported,
/// Corrupt; the message fits behind the array's name.
Result<StoredTensor> pickledArray(const Pickle& pickle, const PickleNode& call, const std::string& label);

/// A contiguous array of `shape` at `offset`. The shape must be checked afterwards, by storedProblem.
StoredTensor denseTensor(BytesPtr bytes, std::uint64_t offset, std::uint64_t size, DType dtype, Shape shape, bool columnMajor = false);

} // namespace forkpoint::import
