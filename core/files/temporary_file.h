// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/files/open_file.h"

#include <cstddef>
#include <span>
#include <string>

namespace forkpoint::files {

/// A file on disk without a name, which is gone with the last of its readers, also if the process is killed. It lies in $TMPDIR, else in
/// /var/tmp, which is on a disk where /tmp may be memory.
class TemporaryFile {
public:
    static Result<TemporaryFile> create(std::string label); ///< WriteFailed
    Result<void> append(std::span<const std::byte> bytes);  ///< WriteFailed: the disk is full, for instance
    Result<OpenFilePtr> finish() &&;                        ///< for reading what was appended

private:
    TemporaryFile(Descriptor descriptor, std::string label)
        : m_descriptor(std::move(descriptor))
        , m_label(std::move(label))
    {
    }
    Descriptor m_descriptor;
    std::string m_label;
};

} // namespace forkpoint::files
