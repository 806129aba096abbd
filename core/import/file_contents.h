// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/bundle.h"
#include "core/import/stored_tensor.h"
#include "core/files/zip.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::import {

/// One tensor of a file. `path`: the keys and positions that lead to it, empty for the file's only object.
struct FileTensor {
    std::vector<std::string> path;
    StoredTensor where;
    Shape globalShape;                        ///< of a DTensor; empty if not stated
    std::vector<bundle::Placement> placement; ///< likewise, one per mesh dim
};

/// What a file holds. Everything that is not read is named in `problems`.
struct FileContents {
    std::string format;               ///< "PyTorch file", "safetensors", ...
    std::vector<FileTensor> tensors;  ///< in the order of the file
    std::vector<bundle::Problem> problems;
    std::optional<std::string> layer; ///< {"layer": ..., "tensor": ...}: the name that the file gives its tensor
    bool named = false;               ///< a dict by names, as a state_dict is: the names say what the tensors are

    void refuse(const std::string& where, std::string message); ///< a problem; beyond a hundred they are only counted
    std::size_t refused = 0;
};

/// The path joined by `separator`.
std::string joined(const std::vector<std::string>& path, std::string_view separator = ".");

/// A type name that Forkpoint has no arithmetic for: "is uint16, which Forkpoint does not compare".
std::string unknownType(std::string_view name);

// Readers of single files. Each fails with Truncated, Corrupt, Unsupported or Unreadable if the file as a whole cannot be read, and refuses
// single tensors by name in `problems`.

Result<FileContents> readTorchZip(const BytesPtr& file, const std::vector<ZipEntry>& entries);
Result<FileContents> readTorchLegacy(const BytesPtr& file);
Result<FileContents> readSafetensors(const BytesPtr& file);
Result<FileContents> readNpy(const BytesPtr& file);
Result<FileContents> readNpz(const BytesPtr& file, const std::vector<ZipEntry>& entries);

/// By content: what the first bytes are decides, never the suffix. NotABundle if it is none of these; the message lists them.
Result<FileContents> readTensorFile(const BytesPtr& file);

/// True for the beginning of a PyTorch file of before 2020.
bool isTorchLegacy(std::span<const std::byte> head);

/// Cheap: does it begin like one of these?
bool isTensorFile(std::span<const std::byte> head);

} // namespace forkpoint::import
