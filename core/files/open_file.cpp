// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/files/open_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace forkpoint::files {

namespace {

class DescriptorFile final : public OpenFile {
public:
    DescriptorFile(Descriptor descriptor, std::uint64_t size, std::string label)
        : OpenFile(size, std::move(label))
        , m_descriptor(std::move(descriptor))
    {
    }

    std::uint64_t currentSize() const override
    {
        struct stat info = {};
        if (::fstat(m_descriptor.value, &info) != 0 || info.st_size < 0)
            return 0;
        return static_cast<std::uint64_t>(info.st_size);
    }

    Result<void> readAt(std::uint64_t offset, std::span<std::byte> to) const override
    {
        std::size_t done = 0;
        while (done < to.size()) {
            const ssize_t got = ::pread(m_descriptor.value, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                return fail(ErrorCode::Unreadable, fmt::format("cannot be read at byte {}: {}", offset + done, reason(errno)), label());
            if (got == 0) {
                return fail(ErrorCode::Truncated,
                            fmt::format("ends at byte {}, {} bytes earlier than needed: it has shrunk since it was opened", offset + done,
                                        to.size() - done),
                            label());
            }
            done += static_cast<std::size_t>(got);
        }
        return {};
    }

private:
    Descriptor m_descriptor;
};

} // namespace

Descriptor::~Descriptor()
{
    if (value >= 0)
        ::close(value);
}

std::string reason(int error)
{
    return std::generic_category().message(error);
}

Result<OpenFilePtr> fileOf(Descriptor descriptor, std::string label)
{
    struct stat info = {};
    if (::fstat(descriptor.value, &info) != 0)
        return fail(ErrorCode::Unreadable, fmt::format("cannot be opened: {}", reason(errno)), label);
    if (!S_ISREG(info.st_mode))
        return fail(ErrorCode::Corrupt, S_ISDIR(info.st_mode) ? "is a folder, not a file" : "is no regular file", label);
    return std::make_shared<DescriptorFile>(std::move(descriptor), static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0)),
                                            std::move(label));
}

Result<OpenFilePtr> openRegular(const std::filesystem::path& path, std::string label)
{
    // O_NONBLOCK: opening a named pipe must not wait for a writer.
    Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (descriptor.value < 0) {
        return fail(errno == ENOENT || errno == ENOTDIR ? ErrorCode::NotFound : ErrorCode::Unreadable,
                    fmt::format("cannot be opened: {}", reason(errno)), std::move(label));
    }
    return fileOf(std::move(descriptor), std::move(label));
}

} // namespace forkpoint::files
