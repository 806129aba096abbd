// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/file_contents.h"

#include "core/bundle/problem_log.h"
#include "core/files/little_endian.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace forkpoint::import {

namespace {

std::string_view textOf(std::span<const std::byte> bytes) { return { reinterpret_cast<const char*>(bytes.data()), bytes.size() }; }

bool isNpy(std::span<const std::byte> head) { return textOf(head).starts_with("\x93NUMPY"); }

/// A plausible header length, and the start of a JSON object behind it.
bool isSafetensors(std::span<const std::byte> head)
{
    return head.size() > 8 && head[8] == std::byte { '{' } && le64(head, 0) <= (100u << 20);
}

/// A numpy archive has arrays and nothing of PyTorch's.
bool isNpz(const std::vector<ZipEntry>& entries)
{
    return std::any_of(entries.begin(), entries.end(), [](const ZipEntry& e) { return e.name.ends_with(".npy"); })
        && std::none_of(entries.begin(), entries.end(), [](const ZipEntry& e) { return e.name.ends_with("/data.pkl"); });
}

constexpr std::size_t kHead = 64;

} // namespace

void FileContents::refuse(const std::string& where, std::string message)
{
    constexpr std::size_t kKept = 100;
    if (++refused <= kKept) {
        problems.push_back({ bundle::Problem::Level::Warning, bundle::shownText(where), std::move(message) });
    }
}

std::string joined(const std::vector<std::string>& path, std::string_view separator) { return fmt::format("{}", fmt::join(path, separator)); }

std::string unknownType(std::string_view name) { return fmt::format("has the type {}, which Forkpoint does not compare: not read",
    bundle::shownText(name)); }

bool isTensorFile(std::span<const std::byte> head)
{
    return isZip(head) || isNpy(head) || isTorchLegacy(head) || isSafetensors(head);
}

Result<FileContents> readTensorFile(const BytesPtr& file)
{
    const auto head = file->copy(0, static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), kHead)));
    if (!head) {
        return tl::unexpected(head.error());
    }
    if (head->empty()) {
        return fail(ErrorCode::Truncated, "is empty: the script ended before it wrote it, or the disk was full", file->label());
    }
    if (isNpy(*head)) {
        return readNpy(file);
    }
    if (isZip(*head)) {
        const auto entries = readZip(*file);
        if (!entries) {
            return tl::unexpected(entries.error());
        }
        return isNpz(*entries) ? readNpz(file, *entries) : readTorchZip(file, *entries);
    }
    if (isTorchLegacy(*head)) {
        return readTorchLegacy(file);
    }
    if (isSafetensors(*head)) {
        return readSafetensors(file);
    }
    return fail(ErrorCode::NotABundle,
                "is a file, and none that is read: .pt and .pth of torch.save, .safetensors, .npy, .npz. A Forkpoint bundle is a folder NAME.forkpoint",
                file->label());
}

} // namespace forkpoint::import
