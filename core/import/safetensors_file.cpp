// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/problem_log.h"
#include "core/import/file_contents.h"
#include "core/files/little_endian.h"
#include "core/import/numpy_array.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <simdjson.h>

// safetensors: the length of a header (8 bytes), the header (JSON: name -> dtype, shape, data_offsets), the bytes.
namespace forkpoint::import {

namespace {

struct TypeName {
    std::string_view name;
    DType dtype;
};
constexpr auto kTypes = std::to_array<TypeName>({ { "F64", DType::Float64 },
                                                  { "F32", DType::Float32 },
                                                  { "F16", DType::Float16 },
                                                  { "BF16", DType::BFloat16 },
                                                  { "F8_E4M3", DType::Float8E4M3FN },
                                                  { "F8_E5M2", DType::Float8E5M2 },
                                                  { "I64", DType::Int64 },
                                                  { "I32", DType::Int32 },
                                                  { "I16", DType::Int16 },
                                                  { "I8", DType::Int8 },
                                                  { "U8", DType::UInt8 },
                                                  { "BOOL", DType::Bool },
                                                  { "C64", DType::Complex64 } });

constexpr std::uint64_t kMaxHeader = 100u << 20; ///< the format's own limit

/// Fills `tensor`; a text if it is refused.
std::string readEntry(simdjson::dom::element value, std::uint64_t dataAt, const BytesPtr& file, FileTensor& tensor)
{
    std::string_view type;
    simdjson::dom::array shape, offsets;
    if (value["dtype"].get(type) != simdjson::SUCCESS || value["shape"].get(shape) != simdjson::SUCCESS
        || value["data_offsets"].get(offsets) != simdjson::SUCCESS || offsets.size() != 2) {
        return "has no dtype, shape and data_offsets: not read";
    }
    const auto known = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& t) { return t.name == type; });
    if (known == kTypes.end()) {
        return unknownType(type);
    }
    Shape dims;
    for (const auto dim : shape) {
        std::int64_t size = 0;
        if (dim.get(size) != simdjson::SUCCESS || size < 0) {
            return "its shape holds something else than sizes: not read";
        }
        dims.push_back(size);
    }
    std::uint64_t begin = 0, end = 0;
    if (offsets.at(0).get(begin) != simdjson::SUCCESS || offsets.at(1).get(end) != simdjson::SUCCESS || begin > end || end > file->size() - dataAt) {
        return fmt::format("its bytes are not in the file, which ends at byte {}: not read; was it cut?", file->size());
    }
    const auto elements = elementCount(dims);
    if (!elements || static_cast<std::uint64_t>(*elements) > file->size()
        || static_cast<std::uint64_t>(*elements) * itemSize(known->dtype) != end - begin) {
        return fmt::format("its {} bytes are not what its shape needs: not read", end - begin);
    }
    tensor.where = denseTensor(file, dataAt + begin, end - begin, known->dtype, std::move(dims));
    const auto problem = storedProblem(tensor.where);
    return problem.empty() ? problem : problem + ": not read";
}

} // namespace

Result<FileContents> readSafetensors(const BytesPtr& file)
{
    const auto head = file->copy(0, 8);
    if (!head) {
        return tl::unexpected(head.error());
    }
    const std::uint64_t headerSize = le64(*head, 0);
    if (headerSize > kMaxHeader || headerSize > file->size() - 8) {
        return fail(ErrorCode::Truncated, fmt::format("safetensors: a header of {} bytes is not in a file of {}: it was cut, copy it again",
            headerSize, file->size()),
                    file->label());
    }
    const auto header = file->copy(8, static_cast<std::size_t>(headerSize));
    if (!header) {
        return tl::unexpected(header.error());
    }
    simdjson::dom::parser parser;
    simdjson::dom::object object;
    if (const auto error = parser.parse(reinterpret_cast<const char*>(header->data()), header->size()).get(object); error != simdjson::SUCCESS) {
        return fail(ErrorCode::Corrupt, fmt::format("safetensors: the header is no JSON object ({})", simdjson::error_message(error)), file->label());
    }
    FileContents contents;
    contents.format = "safetensors";
    contents.named = true;
    const std::uint64_t dataAt = 8 + headerSize;
    for (const auto field : object) {
        if (field.key == "__metadata__") {
            continue;
        }
        FileTensor tensor;
        tensor.path = { std::string(field.key) };
        if (auto problem = readEntry(field.value, dataAt, file, tensor); !problem.empty()) {
            contents.refuse(std::string(field.key), std::move(problem));
        } else {
            contents.tensors.push_back(std::move(tensor));
        }
    }
    return contents;
}

} // namespace forkpoint::import
