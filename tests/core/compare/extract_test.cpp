// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/compare/extract.h"
#include "core/import/open_run.h"
#include "core/import/tensor_writer.h"
#include "core/tensor/composed_sources.h"
#include "tests/support/run_builder.h"
#include "tests/support/test_tensor.h"

#include <algorithm>
#include <gtest/gtest.h>

// Tensors written as files, and read again by the importers.
namespace forkpoint::compare {
namespace {

using test::contains;
using test::f32;
using test::RecordedRun;
using test::TempFolder;

using Texts = std::vector<std::string>;
using Type = bundle::Placement::Type;

std::vector<std::byte> bytesOf(const bundle::Bundle& bundle, const bundle::TensorRecord& record)
{
    const auto source = bundle.source(bundle.ranks().front(), record);
    EXPECT_TRUE(source) << source.error().text();
    ReadBuffer buffer;
    const auto bytes = (*source)->read(Box::whole(record.shape), buffer);
    return { bytes->begin(), bytes->end() };
}

class EveryType : public testing::TestWithParam<DType> { };

TEST_P(EveryType, IsReadAgainBitByBit)
{
    const auto dtype = GetParam();
    const auto bits = test::randomBits(dtype, 12, 3);
    std::vector<std::byte> bytes(bits.bytes().begin(), bits.bytes().end());
    if (dtype == DType::Bool) {
        std::fill(bytes.begin(), bytes.end(), std::byte { 1 });
    }
    TempFolder folder;
    const auto source = *memorySource(dtype, { 3, 4 }, bytes);
    const bool narrow = dtype == DType::BFloat16 || dtype == DType::Float8E4M3FN || dtype == DType::Float8E5M2;
    ASSERT_TRUE(import::writeNpy(folder.path() / "x.npy", source));
    const auto npy = import::openRun(folder.path() / "x.npy");
    ASSERT_TRUE(npy) << npy.error().text();
    const auto& record = (*npy)->ranks()[0].tensors.at(0);
    EXPECT_EQ(record.shape, (Shape { 3, 4 }));
    EXPECT_EQ(record.dtype, narrow ? DType::Float32 : dtype);
    if (!narrow) {
        EXPECT_EQ(bytesOf(**npy, record), bytes);
    }
    const auto done = import::writeSafetensors(folder.path() / "x.safetensors", { { "a/b.c", source }, { "empty", *memorySource(DType::Float32, { 0, 2 }, {}) } });
    if (dtype == DType::Complex128) {
        EXPECT_EQ(done.error().code, ErrorCode::Usage);
        return;
    }
    ASSERT_TRUE(done) << done.error().text();
    const auto tensors = import::openRun(folder.path() / "x.safetensors");
    ASSERT_TRUE(tensors) << tensors.error().text();
    ASSERT_EQ((*tensors)->ranks()[0].tensors.size(), 2u);
    EXPECT_EQ((*tensors)->ranks()[0].tensors[0].dtype, dtype);
    EXPECT_EQ(bytesOf(**tensors, (*tensors)->ranks()[0].tensors[0]), bytes);
}

INSTANTIATE_TEST_SUITE_P(Types, EveryType, testing::ValuesIn(test::kAllTypes));

TEST(WrittenTensor, NothingIsOverwritten)
{
    TempFolder folder;
    const auto source = *memorySource(DType::Float32, {}, std::vector<std::byte>(4));
    ASSERT_TRUE(import::writeNpy(folder.path() / "x.npy", source));
    EXPECT_EQ(import::writeNpy(folder.path() / "x.npy", source).error().code, ErrorCode::Exists);
    EXPECT_EQ(import::writeNpy(folder.path() / "none" / "x.npy", source).error().code, ErrorCode::WriteFailed);
    EXPECT_EQ(import::writeSafetensors(folder.path() / "x", { { "a", source }, { "a", source } }).error().code, ErrorCode::Usage);
}

Texts filesIn(const std::filesystem::path& folder)
{
    Texts out;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        out.push_back(entry.path().filename().string());
    }
    std::sort(out.begin(), out.end());
    return out;
}

struct ShardedRun {
    RecordedRun run { "tp2", 2 };
    ShardedRun()
    {
        const test::At shard { .placement = { { "tp", Type::Shard, 0, "" } } };
        const test::At replica { .placement = { { "tp", Type::Replicate, 0, "" } } };
        for (int rank = 0; rank < 2; ++rank) {
            const auto r = static_cast<float>(rank);
            run.rank(rank).start("fc.weight", f32({ 1, 2 }, { r, r + 10 }), shard).start("norm.weight", f32({ 1 }, { 5 }), replica).start("own", f32({ 1 }, { r }));
        }
    }
};

TEST(Extract, WholesWhereTheyAreDeclaredElsePartsOfRanks)
{
    ShardedRun runs;
    TempFolder folder;
    const auto done = extract(runs.run.side(), { .pattern = "", .folder = folder.path() / "out" });
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->written, 4u);
    EXPECT_EQ(done->apart, 2u);
    EXPECT_EQ(filesIn(folder.path() / "out"),
              (Texts { "s0-start-param-fc.weight.npy", "s0-start-param-norm.weight.npy", "s0-start-param-own@r0.npy", "s0-start-param-own@r1.npy" }));
    const auto whole = import::openRun(folder.path() / "out" / "s0-start-param-fc.weight.npy");
    ASSERT_TRUE(whole);
    EXPECT_EQ(bytesOf(**whole, (*whole)->ranks()[0].tensors[0]), f32({ 2, 2 }, { 0, 10, 1, 11 }).bytes);
}

TEST(Extract, AsSafetensorsRankByRank)
{
    ShardedRun runs;
    TempFolder folder;
    const auto done = extract(runs.run.side(), { .pattern = "fc.*", .folder = folder.path(), .format = ExtractFormat::Safetensors, .perRank = true });
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->written, 2u);
    const auto read = import::openRun(folder.path() / "tensors.safetensors");
    ASSERT_TRUE(read);
    EXPECT_EQ((*read)->ranks()[0].tensors.size(), 2u);
}

TEST(Extract, WhatHasNoValuesIsRefusedByName)
{
    TempFolder folder;
    const auto path = folder.path() / "sketches.forkpoint";
    auto writer = bundle::RankWriter::create(path, 0);
    ASSERT_TRUE(writer);
    bundle::TensorRecord record;
    record.param = "w";
    record.shape = { 8 };
    record.detail = bundle::Detail::Digest;
    record.digest = bundle::Digest { 1 };
    record.fold = 1;
    ASSERT_TRUE(writer->tensor(record, {}));
    ASSERT_TRUE(writer->info({ { "run", "sketches" }, { "world_size", 1 }, { "status", "complete" } }));
    ASSERT_TRUE(bundle::writeBundleInfo(path, { { "name", "sketches" }, { "world_size", 1 } }));
    const auto done = extract(align::Side::whole(*bundle::Bundle::open(path)), { .pattern = "", .folder = folder.path() / "out" });
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->written, 0u);
    EXPECT_EQ(done->refused, (Texts { "s0/start/param/w: only a digest was recorded" }));
}

TEST(Extract, NothingSelectedIsUsage)
{
    ShardedRun runs;
    TempFolder folder;
    const auto none = extract(runs.run.side(), { .pattern = "zz*", .folder = folder.path() });
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::Usage);
}

} // namespace
} // namespace forkpoint::compare
