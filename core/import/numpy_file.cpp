// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/problem_log.h"
#include "core/import/file_contents.h"
#include "core/files/little_endian.h"
#include "core/import/numpy_array.h"
#include "core/import/torch_objects.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>

// numpy's .npy (NEP 1): a magic, a version, the length of a header, the header (a Python dict), the bytes; and .npz, a ZIP archive of such.
namespace forkpoint::import {

namespace {

constexpr std::size_t kMagicSize = 6; ///< \x93NUMPY
constexpr std::size_t kMaxHeader = 1u << 20;

/// The header's three entries.
struct Header {
    std::string_view code; ///< "<f4"; empty if the array has fields
    bool columnMajor = false;
    Shape shape;
};

/// The text behind 'key': ...
std::optional<std::string_view> valueOf(std::string_view dict, std::string_view key)
{
    const auto at = dict.find(fmt::format("'{}':", key));
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    auto rest = dict.substr(at + key.size() + 3);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return rest;
}

Result<Header> parseHeader(std::string_view dict)
{
    const auto bad = [] { return fail(ErrorCode::Corrupt, "the header is not that of a numpy array"); };
    const auto code = valueOf(dict, "descr"), order = valueOf(dict, "fortran_order"), shape = valueOf(dict, "shape");
    if (!code || !order || !shape || code->empty()) {
        return bad();
    }
    Header out;
    if (code->front() == '\'') {
        const auto end = code->find('\'', 1);
        if (end == std::string_view::npos) {
            return bad();
        }
        out.code = code->substr(1, end - 1);
    } else if (code->front() != '[') {
        return bad();
    }
    out.columnMajor = order->starts_with("True");
    if (!shape->starts_with('(')) {
        return bad();
    }
    auto rest = shape->substr(1);
    while (true) {
        rest.remove_prefix(std::min(rest.find_first_not_of(" ,"), rest.size()));
        if (rest.starts_with(')')) {
            return out;
        }
        std::int64_t size = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
        if (error != std::errc() || size < 0 || out.shape.size() > 64) {
            return fail(ErrorCode::Corrupt, "the shape in the header holds something else than sizes");
        }
        out.shape.push_back(size);
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    }
}

tl::unexpected<Error> located(Error error, const std::string& label)
{
    if (error.where.empty()) {
        error.where = label;
    }
    return tl::unexpected(std::move(error));
}

/// Adds what a .npy holds under `path`.
Result<void> readArray(const BytesPtr& file, std::vector<std::string> path, FileContents& contents)
{
    // Read from a copy that may unpack: only the header is needed here.
    const BytesPtr fresh = file->afresh() ? file->afresh() : file;
    const auto start = fresh->copy(0, 10);
    if (!start) {
        return tl::unexpected(start.error());
    }
    const auto major = static_cast<unsigned>((*start)[kMagicSize]);
    if (major < 1 || major > 3) {
        return fail(ErrorCode::Unsupported, fmt::format("is a numpy array of format version {}; 1 to 3 are read", major), file->label());
    }
    std::size_t headerSize = le16(*start, 8), headerAt = 10;
    if (major > 1) {
        const auto longer = fresh->copy(8, 4);
        if (!longer) {
            return tl::unexpected(longer.error());
        }
        headerSize = le32(*longer, 0);
        headerAt = 12;
    }
    if (headerSize > kMaxHeader) {
        return fail(ErrorCode::Corrupt, fmt::format("the header of {} bytes is longer than any numpy writes", headerSize), file->label());
    }
    const auto bytes = fresh->copy(headerAt, headerSize);
    if (!bytes) {
        return tl::unexpected(bytes.error());
    }
    auto header = parseHeader({ reinterpret_cast<const char*>(bytes->data()), bytes->size() });
    if (!header) {
        return located(std::move(header.error()), file->label());
    }
    const std::string name = joined(path);
    if (header->code.empty()) {
        contents.refuse(name, "is a structured array: not read; save its fields one by one");
        return {};
    }
    if (header->code.find('O') != std::string_view::npos) {
        return fail(ErrorCode::Unsupported, "is an array of Python objects (a pickle): not read; save the arrays in it with numpy.savez",
            file->label());
    }
    const auto type = numpyType(header->code);
    if (!type) {
        const bool opaque = header->code.find('V') != std::string_view::npos;
        contents.refuse(name, opaque
            ? fmt::format("has the type {}, which says its size only (ml_dtypes writes bfloat16 so): not read; save it as float32", header->code)
                                     : type.error().message);
        return {};
    }
    const std::uint64_t dataAt = headerAt + headerSize;
    auto where = denseTensor(file, dataAt, file->size() - dataAt, type->dtype, std::move(header->shape), header->columnMajor);
    where.swapped = type->swapped;
    if (const auto problem = storedProblem(where); !problem.empty()) {
        contents.refuse(name, problem + ": not read; was the file cut?");
        return {};
    }
    contents.tensors.push_back({ std::move(path), std::move(where), {}, {} });
    return {};
}

} // namespace

Result<FileContents> readNpy(const BytesPtr& file)
{
    FileContents contents;
    contents.format = "numpy array";
    if (auto done = readArray(file, {}, contents); !done) {
        return tl::unexpected(std::move(done.error()));
    }
    return contents;
}

Result<FileContents> readNpz(const BytesPtr& file, const std::vector<ZipEntry>& entries)
{
    FileContents contents;
    contents.format = "numpy archive";
    contents.named = true;
    for (const auto& entry : entries) {
        if (!entry.name.ends_with(".npy")) {
            contents.refuse(entry.name, "is no array: not read");
            continue;
        }
        const std::string name = entry.name.substr(0, entry.name.size() - 4);
        const auto bytes = openEntry(file, entry);
        const auto done = bytes ? readArray(*bytes, { name }, contents) : tl::unexpected(bytes.error());
        if (!done) {
            contents.refuse(name, done.error().message);
        }
    }
    return contents;
}

} // namespace forkpoint::import
