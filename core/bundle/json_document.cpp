// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/json_document.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <system_error>

namespace forkpoint::bundle {

namespace {

constexpr std::uint64_t kMaxDocument = 16u << 20;
constexpr int kMaxDepth = 64;

/// How deep brackets nest outside of strings; stops counting above the limit.
int depthOf(std::string_view text)
{
    int depth = 0;
    int deepest = 0;
    bool inString = false;
    for (std::size_t i = 0; i < text.size() && deepest <= kMaxDepth; ++i) {
        const char c = text[i];
        if (inString) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                inString = false;
        } else if (c == '"') {
            inString = true;
        } else if (c == '{' || c == '[') {
            deepest = std::max(deepest, ++depth);
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return deepest;
}

nlohmann::json finite(const nlohmann::json& value)
{
    if (value.is_number_float() && !std::isfinite(value.get<double>()))
        return std::isnan(value.get<double>()) ? "NaN" : value.get<double>() > 0 ? "Infinity" : "-Infinity";
    if (!value.is_structured())
        return value;
    nlohmann::json copy = value;
    for (nlohmann::json& item : copy)
        item = finite(item);
    return copy;
}

} // namespace

Result<nlohmann::json> parseDocument(std::string_view text, const std::string& label)
{
    try {
        if (depthOf(text) > kMaxDepth)
            return fail(ErrorCode::Corrupt, fmt::format("is nested more than {} levels deep", kMaxDepth), label);
        nlohmann::json document = nlohmann::json::parse(text);
        if (!document.is_object())
            return fail(ErrorCode::Corrupt, "is no JSON object", label);
        return document;
    } catch (const nlohmann::json::parse_error& error) {
        return fail(ErrorCode::Corrupt, fmt::format("is not JSON in UTF-8: byte {} of {} is wrong", error.byte, text.size()), label);
    } catch (const nlohmann::json::exception&) { // a number beyond double
        return fail(ErrorCode::Corrupt, "is not JSON: a number is out of range", label);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::Unreadable, "not enough memory to read it", label);
    }
}

Result<nlohmann::json> readDocument(const OpenFile& file)
try {
    if (file.size() > kMaxDocument) {
        return fail(ErrorCode::Corrupt, fmt::format("has {} bytes; such a file has at most {}", file.size(), kMaxDocument), file.label());
    }
    std::string text(static_cast<std::size_t>(file.size()), '\0');
    if (Result<void> done = file.readAt(0, std::as_writable_bytes(std::span(text))); !done)
        return tl::unexpected(std::move(done.error()));
    return parseDocument(text, file.label());
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::Unreadable, "not enough memory to read it", file.label());
}

Result<void> writeDocument(const std::filesystem::path& path, const nlohmann::json& document)
{
    std::string text;
    try {
        text = finite(document).dump(1) + "\n";
    } catch (const nlohmann::json::exception&) {
        return fail(ErrorCode::Usage, "a text in the document is not UTF-8", path.string());
    }
    const std::filesystem::path temporary = path.string() + ".tmp";
    {
        std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        out.close();
        if (!out) {
            const int error = errno;
            std::remove(temporary.c_str());
            return fail(ErrorCode::WriteFailed, fmt::format("cannot be written: {}", std::generic_category().message(error)),
                        temporary.string());
        }
    }
    std::error_code error;
    std::filesystem::rename(temporary, path, error);
    if (error) {
        std::remove(temporary.c_str());
        return fail(ErrorCode::WriteFailed, fmt::format("cannot be replaced: {}", error.message()), path.string());
    }
    return {};
}

} // namespace forkpoint::bundle
