// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/numpy_array.h"

#include "core/bundle/problem_log.h"
#include "core/import/file_contents.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace forkpoint::import {

namespace {

using Type = PickleNode::Type;

struct Code {
    std::string_view code;
    DType dtype;
};
constexpr auto kCodes = std::to_array<Code>({ { "f8", DType::Float64 },
                                              { "f4", DType::Float32 },
                                              { "f2", DType::Float16 },
                                              { "i8", DType::Int64 },
                                              { "i4", DType::Int32 },
                                              { "i2", DType::Int16 },
                                              { "i1", DType::Int8 },
                                              { "u1", DType::UInt8 },
                                              { "b1", DType::Bool },
                                              { "c8", DType::Complex64 },
                                              { "c16", DType::Complex128 } });

tl::unexpected<Error> corrupt(std::string message) { return fail(ErrorCode::Corrupt, std::move(message)); }

const PickleNode* itemOf(const Pickle& pickle, const PickleNode& node, std::size_t index)
{
    return node.type == Type::Tuple && index < node.items.size() ? &pickle[node.items[index]] : nullptr;
}

/// Protocol 2 has no bytes: numpy writes them as a text of characters 0 to 255.
Result<std::vector<std::byte>> bytesOf(const Pickle& pickle, const PickleNode& node)
{
    std::vector<std::byte> out;
    const auto append = [&out](std::string_view text) {
        for (const char c : text) {
            out.push_back(static_cast<std::byte>(c));
        }
    };
    if (node.type == Type::Bytes) {
        append(node.text);
        return out;
    }
    const bool encoded = node.type == Type::Call && node.callee != kNoNode && pickle[node.callee].type == Type::Global
        && pickle[node.callee].text == "_codecs.encode"
        && node.arguments != kNoNode;
    const auto* text = encoded ? itemOf(pickle, pickle[node.arguments], 0) : nullptr;
    if (!text || text->type != Type::Text) {
        return corrupt("its bytes are not in the pickle: not read");
    }
    for (std::size_t i = 0; i < text->text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text->text[i]);
        if (c < 0x80) {
            out.push_back(static_cast<std::byte>(c));
        } else if ((c == 0xc2 || c == 0xc3) && i + 1 < text->text.size()) {
            out.push_back(static_cast<std::byte>(((c & 3u) << 6) | (static_cast<unsigned char>(text->text[++i]) & 0x3fu)));
        } else {
            return corrupt("its bytes are no Latin-1 text: not read");
        }
    }
    return out;
}

} // namespace

Result<NumpyType> numpyType(std::string_view code)
{
    const char order = code.empty() ? ' ' : code.front();
    const auto plain = order == '<' || order == '>' || order == '|' || order == '=' ? code.substr(1) : code;
    const auto found = std::find_if(kCodes.begin(), kCodes.end(), [&](const Code& c) { return c.code == plain; });
    if (found == kCodes.end()) {
        return fail(ErrorCode::Unsupported, unknownType(fmt::format("numpy's {}", bundle::shownText(std::string(code)))));
    }
    return NumpyType { found->dtype, order == '>' && itemSize(found->dtype) > 1 };
}

bool isArrayFunction(std::string_view name)
{
    constexpr auto kFunctions = std::to_array<std::string_view>({ "numpy._core.multiarray._reconstruct", "numpy.core.multiarray._reconstruct",
                                                                  "numpy._core.multiarray.scalar", "numpy.core.multiarray.scalar" });
    return std::find(kFunctions.begin(), kFunctions.end(), name) != kFunctions.end();
}

Result<StoredTensor> pickledArray(const Pickle& pickle, const PickleNode& call, const std::string& label)
{
    if (call.state == kNoNode) {
        return fail(ErrorCode::NotFound, "is a scalar");
    }
    // (version, shape, dtype, is column-major, bytes)
    const auto& state = pickle[call.state];
    const auto *shape = itemOf(pickle, state, 1), *type = itemOf(pickle, state, 2), *columnMajor = itemOf(pickle, state, 3),
        *content = itemOf(pickle, state, 4);
    if (!shape || shape->type != Type::Tuple || !type || type->type != Type::Call || type->arguments == kNoNode || !columnMajor || !content) {
        return corrupt("its state is not that of a numpy array: not read");
    }
    const auto* code = itemOf(pickle, pickle[type->arguments], 0);
    const auto* order = type->state != kNoNode ? itemOf(pickle, pickle[type->state], 1) : nullptr;
    if (!code || code->type != Type::Text) {
        return corrupt("its dtype has no code: not read");
    }
    const auto numpy = numpyType(fmt::format("{}{}", order && order->type == Type::Text && order->text == ">" ? ">" : "<", code->text));
    if (!numpy) {
        return tl::unexpected(numpy.error());
    }
    Shape dims;
    for (const NodeId id : shape->items) {
        if (pickle[id].type != Type::Integer) {
            return corrupt("its shape holds something else than integers: not read");
        }
        dims.push_back(pickle[id].number);
    }
    auto bytes = bytesOf(pickle, *content);
    if (!bytes) {
        return tl::unexpected(std::move(bytes.error()));
    }
    const std::uint64_t size = bytes->size();
    auto tensor = denseTensor(memoryBytes(std::move(*bytes), label), 0, size, numpy->dtype, std::move(dims), columnMajor->type == Type::Bool
        && columnMajor->number != 0);
    tensor.swapped = numpy->swapped;
    if (const auto problem = storedProblem(tensor); !problem.empty()) {
        return corrupt(problem + ": not read");
    }
    return tensor;
}

StoredTensor denseTensor(BytesPtr bytes, std::uint64_t offset, std::uint64_t size, DType dtype, Shape shape, bool columnMajor)
{
    StoredTensor out;
    out.bytes = std::move(bytes);
    out.offset = offset;
    out.storage = size;
    out.dtype = dtype;
    if (!elementCount(shape)) { // refused by storedProblem; strides would overflow
        out.strides.assign(shape.size(), 0);
    } else if (columnMajor) {
        std::reverse(shape.begin(), shape.end());
        out.strides = rowMajorStrides(shape);
        std::reverse(out.strides.begin(), out.strides.end());
        std::reverse(shape.begin(), shape.end());
    } else {
        out.strides = rowMajorStrides(shape);
    }
    out.shape = std::move(shape);
    return out;
}

} // namespace forkpoint::import
