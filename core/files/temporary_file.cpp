// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/files/temporary_file.h"

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace forkpoint::files {

Result<TemporaryFile> TemporaryFile::create(std::string label)
{
    const char* chosen = std::getenv("TMPDIR");
    const std::string folder = chosen && *chosen ? chosen : "/var/tmp";
    std::string path = folder + "/forkpoint-XXXXXX";
    Descriptor descriptor(::mkstemp(path.data()));
    if (descriptor.value < 0) {
        return fail(ErrorCode::WriteFailed,
                    fmt::format("no temporary file can be made in {} to unpack it: {}. Set TMPDIR to a folder that has room", folder, reason(errno)),
                    std::move(label));
    }
    ::unlink(path.c_str());
    return TemporaryFile(std::move(descriptor), std::move(label));
}

Result<void> TemporaryFile::append(std::span<const std::byte> bytes)
{
    while (!bytes.empty()) {
        const ssize_t done = ::write(m_descriptor.value, bytes.data(), bytes.size());
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            return fail(ErrorCode::WriteFailed,
                        fmt::format("cannot be unpacked into a temporary file: {}. Set TMPDIR to a folder that has room", reason(errno)), m_label);
        }
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    return {};
}

Result<OpenFilePtr> TemporaryFile::finish() &&
{
    return fileOf(std::move(m_descriptor), std::move(m_label));
}

} // namespace forkpoint::files
