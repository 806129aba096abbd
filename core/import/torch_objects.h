// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/import/file_contents.h"
#include "core/import/pickle.h"

#include <functional>
#include <string_view>

// What a pickle of torch.save means: where its tensors are, and what they are called.
namespace forkpoint::import {

/// A storage that a persistent id names.
struct StorageId {
    std::string key;
    std::string type;                ///< "torch.FloatStorage"
    std::int64_t count = 0;          ///< of elements; of bytes if untyped
    std::optional<DType> dtype;      ///< of its elements; nullopt if untyped, or if `type` is none that is read
    bool untyped = false;
};

/// Reads ('storage', type, key, location, count, ...). An Error's message fits behind the tensor's name.
Result<StorageId> storageId(const Pickle& pickle, const PickleNode& persistent);

/// Where a storage lies.
struct StorageBytes {
    BytesPtr bytes;
    std::uint64_t offset = 0, size = 0;
};
using FindStorage = std::function<Result<StorageBytes>(const StorageId&)>;

/// Adds the tensors of the pickle's object to `contents`, in order. `label` names the file.
void collectTensors(const Pickle& pickle, const FindStorage& find, bool bigEndian, const std::string& label, FileContents& contents);

} // namespace forkpoint::import
