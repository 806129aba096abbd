// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/bundle.h"
#include "core/bundle/writer.h"
#include "tests/support/temp_folder.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

// Bundles in temporary folders: written by the writer, then damaged by hand.
namespace forkpoint::bundle::test {

namespace fs = std::filesystem;

using forkpoint::test::TempFolder;

inline std::string readText(const fs::path& path)
{
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

inline void writeText(const fs::path& path, const std::string& text)
{
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline void appendText(const fs::path& path, const std::string& text)
{
    std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

/// Replaces the first occurrence of `from`, which must be there.
inline void replaceText(const fs::path& path, const std::string& from, const std::string& to)
{
    std::string text = readText(path);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " is not in " << path;
    writeText(path, text.replace(at, from.size(), to));
}

inline nlohmann::json rankInfo(int worldSize, const std::string& run = "made")
{
    return {{"run", run}, {"run_id", "made-1"}, {"world_size", worldSize}, {"status", "complete"}};
}

inline nlohmann::json bundleInfo(int worldSize, const std::string& run = "made")
{
    return {{"name", run}, {"run_id", "made-1"}, {"world_size", worldSize}};
}

template <class T> std::span<const std::byte> bytesOf(const std::vector<T>& values)
{
    return std::as_bytes(std::span(values));
}

inline TensorRecord record(Phase phase, Kind kind, std::string module, Shape shape, DType dtype = DType::Float32)
{
    TensorRecord made;
    made.phase = phase;
    made.kind = kind;
    made.module = std::move(module);
    made.shape = std::move(shape);
    made.dtype = dtype;
    made.micro = hasMicro(phase) ? 0 : kNoMicro;
    made.param = hasParam(kind) ? "weight" : "";
    return made;
}

/// A small bundle to be damaged: `made.forkpoint` with `ranks` ranks, and on each: two modules, a call, an edge, three scalars, and three
/// tensors: start/param of fc [2, 2] = 1 2 3 4 at 0, forward/output of fc [3] = 5 6 7 at 64, optimizer/param of fc [2, 2] = 8 9 10 11 at
/// 128.
inline fs::path makeBundle(const fs::path& below, int ranks = 1)
{
    const fs::path folder = below / "made.forkpoint";
    for (int r = 0; r < ranks; ++r) {
        RankWriter writer = RankWriter::create(folder, r).value();
        EXPECT_TRUE(writer.module({"", "Net", "", {}, {}}));
        EXPECT_TRUE(writer.module({"fc", "Linear", "", {"weight"}, {}}));
        CallRecord call;
        call.module = "fc";
        call.order = 1;
        call.parent = "";
        EXPECT_TRUE(writer.call(call));
        EXPECT_TRUE(writer.edge({0, 0, {"fc", 0, ""}, {"loss", 0, ""}, true}));
        for (int step = 0; step < 3; ++step)
            EXPECT_TRUE(writer.scalar({step, 0, "loss", 2.5 - step}));
        EXPECT_TRUE(writer.tensor(record(Phase::Start, Kind::Param, "fc", {2, 2}), bytesOf(std::vector<float>{1, 2, 3, 4})));
        EXPECT_TRUE(writer.tensor(record(Phase::Forward, Kind::Output, "fc", {3}), bytesOf(std::vector<float>{5, 6, 7})));
        EXPECT_TRUE(writer.tensor(record(Phase::Optimizer, Kind::Param, "fc", {2, 2}), bytesOf(std::vector<float>{8, 9, 10, 11})));
        EXPECT_TRUE(writer.info(rankInfo(ranks)));
    }
    EXPECT_TRUE(writeBundleInfo(folder, bundleInfo(ranks)));
    return folder;
}

/// What one node of a launch of four ranks leaves: a bundle of some of them, with a tensor [1, rank] each.
inline fs::path makePart(const fs::path& below, const std::string& name, const std::vector<int>& ranks, const std::string& launch = "made-1")
{
    const fs::path folder = below / (name + ".forkpoint");
    nlohmann::json info = rankInfo(4), bundle = bundleInfo(4);
    info["run_id"] = bundle["run_id"] = launch;
    for (const int rank : ranks) {
        RankWriter writer = RankWriter::create(folder, rank).value();
        EXPECT_TRUE(writer.tensor(record(Phase::Start, Kind::Param, "fc", {2}), bytesOf(std::vector<float>{1, static_cast<float>(rank)})));
        EXPECT_TRUE(writer.info(info));
        for (const char* empty : {"graph.jsonl", "scalars.jsonl"})
            appendText(folder / ("rank0000" + std::to_string(rank)) / empty, "");
    }
    EXPECT_TRUE(writeBundleInfo(folder, bundle));
    return folder;
}

/// All elements of a record, or nothing if they cannot be read.
template <class T> std::vector<T> valuesOf(const Bundle& bundle, const RankData& rank, const TensorRecord& tensor)
{
    const auto source = bundle.source(rank, tensor);
    if (!source)
        return {};
    ReadBuffer buffer;
    const auto bytes = (*source)->read(Box::whole(tensor.shape), buffer);
    if (!bytes)
        return {};
    std::vector<T> values(bytes->size() / sizeof(T));
    if (!bytes->empty())
        std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
}

/// All problems as text, one a line: "where: message".
inline std::string problemsText(const std::vector<Problem>& problems)
{
    std::string text;
    for (const Problem& problem : problems)
        text += problem.where + ": " + problem.message + "\n";
    return text;
}

} // namespace forkpoint::bundle::test
