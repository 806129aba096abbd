// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/bundle.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

// Every number of FORMAT.md section 8, from the files as they lie in tests/data.
namespace forkpoint::bundle {
namespace {

std::shared_ptr<const Bundle> openHand(const std::string& below = {})
{
    auto bundle = Bundle::open(std::string(FORKPOINT_TEST_DATA) + "/hand.forkpoint" + below);
    EXPECT_TRUE(bundle) << bundle.error().text();
    return bundle.value_or(nullptr);
}

std::vector<float> values(const Bundle& bundle, const TensorRecord& record)
{
    auto source = bundle.source(bundle.ranks().front(), record);
    EXPECT_TRUE(source) << source.error().text();
    if (!source)
        return {};
    ReadBuffer buffer;
    auto bytes = (*source)->read(Box::whole(record.shape), buffer);
    EXPECT_TRUE(bytes) << bytes.error().text();
    if (!bytes)
        return {};
    std::vector<float> floats(bytes->size() / sizeof(float));
    std::memcpy(floats.data(), bytes->data(), bytes->size());
    return floats;
}

TEST(HandBundle, RunAndRank)
{
    const auto bundle = openHand();
    ASSERT_TRUE(bundle);
    EXPECT_TRUE(bundle->problems().empty());
    EXPECT_EQ(bundle->name(), "hand");
    EXPECT_EQ(bundle->worldSize(), 1);
    EXPECT_EQ(bundle->info().at("run_id"), "hand-0001");
    EXPECT_EQ(bundle->steps(), std::vector<int>{0});
    ASSERT_EQ(bundle->ranks().size(), 1u);
    ASSERT_EQ(bundle->rank(0), &bundle->ranks().front());
    EXPECT_EQ(bundle->rank(1), nullptr);
    const RankData& rank = bundle->ranks().front();
    EXPECT_TRUE(rank.complete);
    EXPECT_EQ(rank.rank, 0);
    EXPECT_EQ(rank.folder.filename(), "rank00000");
    EXPECT_EQ(rank.info.at("config").at("optimizers").at(0).at("groups").at(0).at("lr"), 0.5);
}

TEST(HandBundle, Graph)
{
    const auto bundle = openHand();
    ASSERT_TRUE(bundle);
    const RankData& rank = bundle->ranks().front();
    ASSERT_EQ(rank.modules.size(), 2u);
    EXPECT_EQ(rank.modules[0].path, "");
    EXPECT_EQ(rank.modules[0].className, "Net");
    EXPECT_EQ(rank.modules[1].path, "fc");
    EXPECT_EQ(rank.modules[1].parameters, std::vector<std::string>{"weight"});
    ASSERT_EQ(rank.calls.size(), 2u);
    EXPECT_EQ(rank.calls[0].order, 2);
    EXPECT_FALSE(rank.calls[0].parent.has_value());
    EXPECT_EQ(rank.calls[0].source, "train.py:12");
    EXPECT_EQ(rank.calls[1].module, "fc");
    EXPECT_EQ(rank.calls[1].parent, "");
    EXPECT_TRUE(rank.calls[1].training);
    EXPECT_FALSE(rank.calls[1].recompute);
    ASSERT_EQ(rank.backwards.size(), 1u);
    EXPECT_EQ(rank.backwards[0].root, "loss");
    EXPECT_EQ(rank.backwards[0].order, 8);
    ASSERT_EQ(rank.edges.size(), 2u);
    EXPECT_EQ(rank.edges[0].from, (Port{"fc", 0, ""}));
    EXPECT_EQ(rank.edges[0].to, (Port{"loss", 0, ""}));
    EXPECT_FALSE(rank.edges[0].direct);
    EXPECT_TRUE(rank.ties.empty());
    ASSERT_EQ(rank.scalars.size(), 2u);
    EXPECT_EQ(rank.scalars[0].name, "loss");
    EXPECT_EQ(rank.scalars[0].value, -2.0);
    EXPECT_EQ(rank.scalars[0].micro, 0);
    EXPECT_EQ(rank.scalars[1].name, "lr");
    EXPECT_EQ(rank.scalars[1].value, 0.5);
    EXPECT_EQ(rank.scalars[1].micro, kNoMicro);
}

TEST(HandBundle, Tensors)
{
    struct Row {
        Phase phase;
        Kind kind;
        const char* module;
        const char* param;
        std::int32_t micro;
        std::int64_t order;
        Shape shape;
        std::vector<float> values;
        std::uint64_t offset;
    };
    const std::vector<Row> rows = {
        {Phase::Start, Kind::Param, "fc", "weight", kNoMicro, 0, {2, 2}, {1, 2, 3, 4}, 0},
        {Phase::Data, Kind::Batch, "", "", 0, 1, {1, 2}, {1, -1}, 64},
        {Phase::Forward, Kind::Input, "", "", 0, 3, {1, 2}, {1, -1}, 64},
        {Phase::Forward, Kind::Input, "fc", "", 0, 5, {1, 2}, {1, -1}, 64},
        {Phase::Forward, Kind::Output, "fc", "", 0, 6, {1, 2}, {-1, -1}, 128},
        {Phase::Forward, Kind::Output, "", "", 0, 7, {1, 2}, {-1, -1}, 128},
        {Phase::Forward, Kind::Output, "loss", "", 0, 9, {}, {-2}, 192},
        {Phase::Backward, Kind::GradOutput, "", "", 0, 10, {1, 2}, {1, 1}, 256},
        {Phase::Backward, Kind::GradOutput, "fc", "", 0, 11, {1, 2}, {1, 1}, 256},
        {Phase::Backward, Kind::Grad, "fc", "weight", 0, 12, {2, 2}, {1, -1, 1, -1}, 320},
        {Phase::Reduce, Kind::Grad, "fc", "weight", kNoMicro, 13, {2, 2}, {1, -1, 1, -1}, 320},
        {Phase::Optimizer, Kind::Param, "fc", "weight", kNoMicro, 14, {2, 2}, {0.5f, 2.5f, 2.5f, 4.5f}, 384},
    };
    const auto bundle = openHand();
    ASSERT_TRUE(bundle);
    const RankData& rank = bundle->ranks().front();
    ASSERT_EQ(rank.tensors.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        SCOPED_TRACE(i);
        const TensorRecord& record = rank.tensors[i];
        EXPECT_EQ(record.id, static_cast<std::int64_t>(i));
        EXPECT_EQ(record.step, 0);
        EXPECT_EQ(record.phase, rows[i].phase);
        EXPECT_EQ(record.kind, rows[i].kind);
        EXPECT_EQ(record.level, Level::Module);
        EXPECT_EQ(record.module, rows[i].module);
        EXPECT_EQ(record.param, rows[i].param);
        EXPECT_EQ(record.micro, rows[i].micro);
        EXPECT_EQ(record.order, rows[i].order);
        EXPECT_EQ(record.dtype, DType::Float32);
        EXPECT_EQ(record.shape, rows[i].shape);
        ASSERT_TRUE(record.bytes);
        EXPECT_EQ(record.bytes->offset, rows[i].offset);
        EXPECT_EQ(record.bytes->file, "tensors-0000.bin");
        EXPECT_EQ(values(*bundle, record), rows[i].values);
        ASSERT_TRUE(record.stats);
        double squares = 0;
        for (const float value : rows[i].values)
            squares += static_cast<double>(value) * static_cast<double>(value);
        EXPECT_DOUBLE_EQ(record.stats->l2, std::sqrt(squares));
        EXPECT_EQ(record.stats->nan, 0);
    }
    EXPECT_EQ(rank.tensors[1].sampleIds, std::vector<std::int64_t>{0});
    EXPECT_NEAR(rank.tensors[0].stats->l2, 5.477, 0.0005);
    EXPECT_EQ(rank.tensors[11].stats->max, 4.5);
}

TEST(HandBundle, Verifies)
{
    const auto bundle = openHand();
    ASSERT_TRUE(bundle);
    const auto report = verify(*bundle);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->tensors, 12);
    EXPECT_EQ(report->checked, 12);
    EXPECT_EQ(report->bytes, 16u + 8 + 8 + 4 + 8 + 16 + 16); // each distinct tensor once
    EXPECT_TRUE(report->problems.empty());
}

TEST(HandBundle, OneRankAlone)
{
    const auto bundle = openHand("/rank00000");
    ASSERT_TRUE(bundle);
    EXPECT_EQ(bundle->name(), "hand");
    EXPECT_EQ(bundle->worldSize(), 1);
    EXPECT_EQ(bundle->info().at("run_id"), "hand-0001");
    ASSERT_EQ(bundle->ranks().size(), 1u);
    EXPECT_TRUE(bundle->problems().empty());
    EXPECT_EQ(values(*bundle, bundle->ranks()[0].tensors[6]), std::vector<float>{-2});
}

TEST(HandBundle, SuffixAndSlashMayBeLeftOutOrGiven)
{
    for (const char* spelling : {"/hand", "/hand/", "/hand.forkpoint/", "/hand.forkpoint/rank00000/"}) {
        auto bundle = Bundle::open(std::string(FORKPOINT_TEST_DATA) + spelling);
        ASSERT_TRUE(bundle) << spelling << ": " << bundle.error().text();
        EXPECT_EQ((*bundle)->name(), "hand");
    }
}

} // namespace
} // namespace forkpoint::bundle
