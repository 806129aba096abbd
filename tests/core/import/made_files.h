// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/import/file_contents.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Files made by hand, so that they can lie.
namespace forkpoint::import::test {

inline std::vector<std::byte> bytesOf(std::string_view text)
{
    const auto bytes = std::as_bytes(std::span(text));
    return { bytes.begin(), bytes.end() };
}

inline BytesPtr inMemory(std::string_view text) { return memoryBytes(bytesOf(text), "made.pt"); }

inline std::string little(std::uint64_t value, std::size_t size)
{
    std::string out;
    for (std::size_t i = 0; i < size; ++i) {
        out += static_cast<char>(i < sizeof value ? value >> (8 * i) & 0xff : 0);
    }
    return out;
}

struct MadeEntry {
    std::string name, content;
    bool deflated = false;
    std::uint64_t claimed = ~std::uint64_t(0); ///< size of the content, if it is to lie
    std::uint64_t offset = ~std::uint64_t(0);  ///< of the local header, likewise
};

inline std::string zipOf(const std::vector<MadeEntry>& entries)
{
    std::string out, directory;
    for (const auto& e : entries) {
        const std::uint64_t at = e.offset == ~std::uint64_t(0) ? out.size() : e.offset;
        const std::uint64_t size = e.claimed == ~std::uint64_t(0) ? e.content.size() : e.claimed;
        const std::uint64_t stored = e.deflated ? e.content.size() : size;
        const std::string method = little(e.deflated ? 8 : 0, 2);
        out += little(0x04034b50, 4) + little(20, 2) + little(0, 2) + method + little(0, 16) + little(e.name.size(), 2) + little(0,
            2) + e.name + e.content;
        directory += little(0x02014b50, 4) + little(20, 2) + little(20, 2) + little(0, 2) + method + little(0, 8) + little(stored,
            4) + little(size, 4)
            + little(e.name.size(), 2) + little(0, 12) + little(at, 4) + e.name;
    }
    const std::uint64_t at = out.size();
    return out + directory + little(0x06054b50, 4) + little(0, 4) + little(entries.size(), 2) + little(entries.size(),
        2) + little(directory.size(), 4)
        + little(at, 4) + little(0, 2);
}

// Pickles, protocol 2.

inline std::string text(std::string_view value) { return "X" + little(value.size(), 4) + std::string(value); }
inline std::string integer(std::int64_t value) { return "\x8a\x08" + little(static_cast<std::uint64_t>(value), 8); }
inline std::string tuple(const std::vector<std::int64_t>& values)
{
    std::string out = "(";
    for (const auto value : values) {
        out += integer(value);
    }
    return out + "t";
}
inline std::string global(std::string_view module, std::string_view name) { return "c" + std::string(module) + "\n" + std::string(name) + "\n"; }

struct MadeTensor {
    std::vector<std::int64_t> shape { 2, 3 }, stride { 3, 1 };
    std::int64_t offset = 0, count = 6;
    std::string key = "0", type = "FloatStorage";
};
inline std::string tensor(const MadeTensor& t = {})
{
    return global("torch._utils", "_rebuild_tensor_v2") + "((" + text("storage") + global("torch",
        t.type) + text(t.key) + text("cpu") + integer(t.count) + "tQ"
        + integer(t.offset) + tuple(t.shape) + tuple(t.stride) + "\x89" + global("collections", "OrderedDict") + ")RtR";
}
inline std::string pickled(const std::string& object) { return "\x80\x02" + object + "."; }

/// A file of torch.save with one storage of six floats.
inline std::string torchFile(const std::string& object)
{
    return zipOf({ { "made/data.pkl", pickled(object) }, { "made/data/0", std::string(24, '\x3f') }, { "made/version", "3\n" } });
}

/// Reads every tensor of the contents that is not too large to be read in a test; returns how many were read without an error.
inline std::size_t readable(const FileContents& contents)
{
    std::size_t good = 0;
    for (const auto& it : contents.tensors) {
        if (elementCount(it.where.shape).value_or(0) > 1'000'000) {
            continue;
        }
        const auto source = storedSource(it.where);
        ReadBuffer buffer;
        bool ok = true;
        for (const auto& box : source->preferredChunks(64)) {
            ok = ok && source->read(box, buffer).has_value();
        }
        good += ok ? 1u : 0u;
    }
    return good;
}

inline std::string problemsOf(const FileContents& contents)
{
    std::string out;
    for (const auto& problem : contents.problems) {
        out += problem.where + " " + problem.message + "\n";
    }
    return out;
}

} // namespace forkpoint::import::test
