// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/file_contents.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <zlib.h>

// tests/data/plain holds files as PyTorch 2.15, numpy 2.4 and safetensors 0.8 wrote them, and what PyTorch itself reads from each:
// path, dtype, shape, and the CRC-32 of the contiguous little-endian bytes.
namespace forkpoint::import {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kPlain = fs::path(FORKPOINT_TEST_DATA) / "plain";

Result<FileContents> contentsOf(const fs::path& path)
{
    return FilePool::create()->file(path, path.filename().string()).and_then(readTensorFile);
}

std::string crcOf(const TensorSource& source)
{
    ReadBuffer buffer;
    uLong crc = crc32(0, nullptr, 0);
    for (const auto& box : source.preferredChunks(100)) { // small: several blocks per tensor
        const auto bytes = source.read(box, buffer);
        if (!bytes) {
            return bytes.error().text();
        }
        crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes->data()), static_cast<uInt>(bytes->size()));
    }
    return fmt::format("{:08x}", crc);
}

std::map<std::string, std::vector<json>> expectations()
{
    std::map<std::string, std::vector<json>> out;
    std::ifstream lines(kPlain / "expected.jsonl");
    for (std::string line; std::getline(lines, line);) {
        auto entry = json::parse(line);
        const auto file = entry["file"].get<std::string>();
        out[file].push_back(std::move(entry));
    }
    return out;
}

/// What is refused, and the words that must say why.
const std::map<std::string, std::string> kRefused {
    { "odd/dtype_complex32.pt", "complex32" },
    { "odd/dtype_float4_e2m1fn_x2.pt", "float4_e2m1fn_x2" },
    { "odd/dtype_float8_e4m3fnuz.pt", "float8_e4m3fnuz" },
    { "odd/dtype_float8_e5m2fnuz.pt", "float8_e5m2fnuz" },
    { "odd/dtype_float8_e8m0fnu.pt", "float8_e8m0fnu" },
    { "odd/dtype_uint16.pt", "uint16" },
    { "odd/dtype_uint32.pt", "uint32" },
    { "odd/dtype_uint64.pt", "uint64" },
    { "odd/masked.pt", "MaskedTensor" },
    { "odd/meta.pt", "meta device" },
    { "odd/nested_jagged.pt", "nested" },
    { "odd/nested_strided.pt", "nested" },
    { "odd/quantized_per_channel.pt", "quantized" },
    { "odd/quantized_per_tensor.pt", "quantized" },
    { "odd/sparse_coo.pt", "sparse" },
    { "odd/sparse_csr.pt", "sparse" },
};

class PlainFile : public testing::TestWithParam<std::string> { };

TEST_P(PlainFile, HoldsWhatPyTorchReads)
{
    static const auto all = expectations();
    const auto& expected = all.at(GetParam());
    const auto contents = contentsOf(kPlain / GetParam());
    if (expected.front().contains("error")) {
        ASSERT_FALSE(contents) << "PyTorch refuses it: " << expected.front()["error"];
        EXPECT_FALSE(contents.error().message.empty());
        return;
    }
    ASSERT_TRUE(contents) << contents.error().text();
    std::string problems;
    for (const auto& problem : contents->problems) {
        problems += problem.where + ": " + problem.message + "\n";
    }
    if (const auto refused = kRefused.find(GetParam()); refused != kRefused.end()) {
        EXPECT_TRUE(contents->tensors.empty());
        EXPECT_NE(problems.find(refused->second), std::string::npos) << problems;
        EXPECT_NE(problems.find("not read"), std::string::npos) << problems;
        return;
    }
    EXPECT_EQ(contents->tensors.size(), expected.size()) << problems;
    for (const auto& entry : expected) {
        const auto path = entry["path"].get<std::string>();
        SCOPED_TRACE(path);
        const auto found = std::find_if(contents->tensors.begin(), contents->tensors.end(), [&](const FileTensor& t) { return joined(t.path,
            "/") == path; });
        ASSERT_NE(found, contents->tensors.end()) << problems;
        EXPECT_EQ(name(found->where.dtype), entry["dtype"].get<std::string>());
        auto shape = entry["shape"].get<Shape>();
        if (found->where.shape.empty() && shape == Shape { 1 }) {
            shape.clear(); // numpy.ascontiguousarray, which wrote the expectation, has no arrays without dims
        }
        EXPECT_EQ(found->where.shape, shape);
        if (entry.contains("crc32")) {
            EXPECT_EQ(crcOf(*storedSource(found->where)), entry["crc32"].get<std::string>());
        }
        if (entry.contains("global_shape")) {
            EXPECT_EQ(found->globalShape, entry["global_shape"].get<Shape>());
            std::vector<std::string> placements;
            for (const auto& p : found->placement) {
                using enum bundle::Placement::Type;
                placements.push_back(p.type == Replicate ? "R" : p.type == Shard ? fmt::format("S({})", p.dim) : fmt::format("P({})", p.op));
            }
            EXPECT_EQ(placements, entry["placements"].get<std::vector<std::string>>());
            EXPECT_EQ(found->placement.back().axis, entry["mesh_dims"].back().get<std::string>());
        }
    }
}

std::vector<std::string> files()
{
    std::vector<std::string> out;
    for (const auto& [file, entries] : expectations()) {
        out.push_back(file);
    }
    return out;
}

INSTANTIATE_TEST_SUITE_P(Samples, PlainFile, testing::ValuesIn(files()), [](const auto& sample) {
    std::string name = sample.param;
    std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    return name;
});

TEST(PlainFiles, EveryRefusalIsOfAFileThatIsThere)
{
    const auto all = expectations();
    EXPECT_GT(all.size(), 100u);
    for (const auto& [file, words] : kRefused) {
        EXPECT_TRUE(all.contains(file)) << file;
    }
}

/// No expectation was written for these: PyTorch has no answer.
TEST(PlainFiles, OthersAreReadOrRefusedByName)
{
    const auto script = contentsOf(kPlain / "odd/torchscript.pt");
    ASSERT_TRUE(script) << script.error().text();
    ASSERT_EQ(script->tensors.size(), 2u);
    EXPECT_EQ(joined(script->tensors[0].path), "weight");
    const auto module = contentsOf(kPlain / "checkpoint_A_single/whole_module.pt");
    ASSERT_TRUE(module) << module.error().text();
    ASSERT_EQ(module->tensors.size(), 9u);
    EXPECT_EQ(joined(module->tensors[0].path), "features.0.weight");
    const auto opaque = contentsOf(kPlain / "numpy/bfloat16_ml_dtypes.npy");
    ASSERT_TRUE(opaque);
    ASSERT_EQ(opaque->problems.size(), 1u);
    EXPECT_NE(opaque->problems[0].message.find("V2"), std::string::npos);
    const auto structured = contentsOf(kPlain / "numpy/structured.npy");
    ASSERT_TRUE(structured);
    ASSERT_EQ(structured->problems.size(), 1u);
    EXPECT_NE(structured->problems[0].message.find("structured"), std::string::npos);
    const auto objects = contentsOf(kPlain / "numpy/pickled_dict.npy");
    ASSERT_FALSE(objects);
    EXPECT_EQ(objects.error().code, ErrorCode::Unsupported);
    EXPECT_NE(objects.error().message.find("Python objects"), std::string::npos);
}

} // namespace
} // namespace forkpoint::import
