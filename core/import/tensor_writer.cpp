// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/tensor_writer.h"

#include "core/tensor/composed_sources.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

namespace forkpoint::import {

namespace {

/// A new file, gone again unless it was finished.
class NewFile {
public:
    static Result<std::unique_ptr<NewFile>> create(const std::filesystem::path& path)
    {
        auto* file = std::fopen(path.c_str(), "wbx");
        if (!file) {
            return errno == EEXIST ? fail(ErrorCode::Exists, "is there already, and nothing is overwritten: give another folder", path.string())
                                   : fail(ErrorCode::WriteFailed, fmt::format("cannot be written: {}", std::strerror(errno)), path.string());
        }
        return std::unique_ptr<NewFile>(new NewFile(path, file));
    }
    ~NewFile()
    {
        if (m_file) {
            std::fclose(m_file);
            std::error_code ignored;
            std::filesystem::remove(m_path, ignored);
        }
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    Result<void> write(std::span<const std::byte> bytes)
    {
        return bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), m_file) == bytes.size() ? Result<void>() : full();
    }
    Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text.data(), text.size()))); }
    Result<void> write(const TensorSource& source)
    {
        ReadBuffer buffer;
        for (const auto& box : source.preferredChunks()) {
            const auto bytes = source.read(box, buffer);
            if (!bytes) {
                return tl::unexpected(bytes.error());
            }
            if (auto done = write(*bytes); !done) {
                return done;
            }
        }
        return {};
    }
    Result<void> finish()
    {
        const bool closed = std::fclose(m_file) == 0;
        m_file = nullptr;
        return closed ? Result<void>() : full();
    }

private:
    NewFile(std::filesystem::path path, std::FILE* file)
        : m_path(std::move(path))
        , m_file(file)
    {
    }
    Result<void> full() const { return fail(ErrorCode::WriteFailed, "could not be written completely: is the disk full?", m_path.string()); }

    std::filesystem::path m_path;
    std::FILE* m_file;
};

std::string_view numpyCode(DType dtype)
{
    switch (dtype) {
    case DType::Float64:
        return "<f8";
    case DType::Float32:
        return "<f4";
    case DType::Float16:
        return "<f2";
    case DType::Int64:
        return "<i8";
    case DType::Int32:
        return "<i4";
    case DType::Int16:
        return "<i2";
    case DType::Int8:
        return "|i1";
    case DType::UInt8:
        return "|u1";
    case DType::Bool:
        return "|b1";
    case DType::Complex64:
        return "<c8";
    case DType::Complex128:
        return "<c16";
    case DType::BFloat16:
    case DType::Float8E4M3FN:
    case DType::Float8E5M2:
        break;
    }
    return {};
}

std::string_view safetensorsCode(DType dtype)
{
    switch (dtype) {
    case DType::Float64:
        return "F64";
    case DType::Float32:
        return "F32";
    case DType::Float16:
        return "F16";
    case DType::BFloat16:
        return "BF16";
    case DType::Float8E4M3FN:
        return "F8_E4M3";
    case DType::Float8E5M2:
        return "F8_E5M2";
    case DType::Int64:
        return "I64";
    case DType::Int32:
        return "I32";
    case DType::Int16:
        return "I16";
    case DType::Int8:
        return "I8";
    case DType::UInt8:
        return "U8";
    case DType::Bool:
        return "BOOL";
    case DType::Complex64:
        return "C64";
    case DType::Complex128:
        break;
    }
    return {};
}

std::string littleEndian(std::uint64_t value, std::size_t bytes)
{
    std::string out;
    for (std::size_t i = 0; i < bytes; ++i) {
        out += static_cast<char>((value >> (8 * i)) & 0xffu);
    }
    return out;
}

} // namespace

Result<void> writeNpy(const std::filesystem::path& path, const TensorSourcePtr& given)
{
    auto source = given;
    if (numpyCode(source->dtype()).empty()) {
        auto wide = weightedSumSource({ source }, { 1 });
        if (!wide) {
            return tl::unexpected(wide.error());
        }
        source = std::move(*wide);
    }
    std::string shape;
    for (const auto size : source->shape()) {
        shape += fmt::format("{},", size);
    }
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", numpyCode(source->dtype()), shape);
    header.append(63 - (header.size() + 10) % 64, ' '); // magic, version and length take 10 bytes; the whole is a multiple of 64 and ends with a line
    header += '\n';
    if (header.size() > std::numeric_limits<std::uint16_t>::max()) {
        return fail(ErrorCode::Usage, fmt::format("{} dims are more than a npy header holds", source->shape().size()), path.string());
    }
    auto file = NewFile::create(path);
    if (!file) {
        return tl::unexpected(file.error());
    }
    for (const auto& text : { std::string("\x93NUMPY\x01\x00", 8), littleEndian(header.size(), 2), header }) {
        if (auto done = (*file)->write(std::string_view(text)); !done) {
            return done;
        }
    }
    if (auto done = (*file)->write(*source); !done) {
        return done;
    }
    return (*file)->finish();
}

Result<void> writeSafetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors)
{
    nlohmann::json index = nlohmann::json::object();
    std::uint64_t end = 0;
    for (const auto& tensor : tensors) {
        const auto code = safetensorsCode(tensor.source->dtype());
        if (code.empty() || index.contains(tensor.name) || tensor.name == "__metadata__") {
            return fail(ErrorCode::Usage, fmt::format("'{}' {}", tensor.name, code.empty() ? "is complex128, which safetensors does not have: --format npy writes it" : "is there twice"),
                        path.string());
        }
        const auto bytes = static_cast<std::uint64_t>(elementCount(tensor.source->shape()).value_or(0)) * itemSize(tensor.source->dtype());
        index[tensor.name] = { { "dtype", code }, { "shape", tensor.source->shape() }, { "data_offsets", { end, end + bytes } } };
        end += bytes;
    }
    std::string header = index.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    header.append((8 - header.size() % 8) % 8, ' ');
    auto file = NewFile::create(path);
    if (!file) {
        return tl::unexpected(file.error());
    }
    for (const auto& text : { littleEndian(header.size(), 8), header }) {
        if (auto done = (*file)->write(std::string_view(text)); !done) {
            return done;
        }
    }
    for (const auto& tensor : tensors) {
        if (auto done = (*file)->write(*tensor.source); !done) {
            return done;
        }
    }
    return (*file)->finish();
}

} // namespace forkpoint::import
