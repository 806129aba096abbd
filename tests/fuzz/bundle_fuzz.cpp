// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as each of a rank's files of text, beside sound ones: opened, verified, and every tensor's first bytes read.
#include "core/bundle/bundle.h"
#include "tests/support/temp_folder.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRank = R"({"format": "forkpoint-bundle", "version": [1, 0], "rank": 0, "world_size": 1, "run": "r", "attempt": 0, "device": "cpu"})";

void write(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size())); }

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const forkpoint::test::TempFolder temporary;
    const fs::path& folder = temporary.path();
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    // By content, so that a seed needs no label: an index goes where an index is read.
    const std::string_view name = input.find("\"type\"") != input.npos && input.find("\"edge\"") != input.npos ? "graph.jsonl"
        : input.find("\"value\"") != input.npos && input.find("\"dtype\"") == input.npos                     ? "scalars.jsonl"
        : input.find("\"world_size\"") != input.npos                                                         ? "rank.json"
                                                                                                              : "tensors.jsonl";
    fs::create_directories(folder / "rank00000");
    write(folder / "bundle.json", R"({"format": "forkpoint-bundle", "version": [1, 0], "name": "r", "world_size": 1})");
    write(folder / "rank00000" / "rank.json", kRank);
    write(folder / "rank00000" / "tensors-0000.bin", std::string(4096, 'x'));
    write(folder / "rank00000" / name, input);
    if (const auto opened = forkpoint::bundle::Bundle::open(folder)) {
        forkpoint::ReadBuffer buffer;
        for (const auto& rank : (*opened)->ranks()) {
            for (const auto& record : rank.tensors) {
                const auto source = (*opened)->source(rank, record);
                if (!source)
                    continue;
                const auto chunks = (*source)->preferredChunks(std::size_t{1} << 20);
                if (!chunks.empty())
                    (void)(*source)->read(chunks.front(), buffer);
            }
        }
    }
    fs::remove_all(folder);
    return 0;
}
