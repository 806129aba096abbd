// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/value_pool.h"
#include "tests/core/bundle/bundle_files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

// An index that is read in several parts at once: the records are in the order of the file, and every message has the right line.
namespace forkpoint::bundle {
namespace {

using namespace test;

std::string line(std::int64_t id, const std::string& module, const std::string& more = {})
{
    return fmt::format(R"({{"id":{},"step":0,"micro":0,"phase":"forward","kind":"output","module":"{}","order":{},"dtype":"float32","shape":[2,3],)"
                       R"("digest":"{:064x}"{}}})"
                       "\n",
                       id, module, id, id, more);
}

/// A bundle of one rank with this index.
class Index : public testing::Test {
protected:
    std::shared_ptr<const Bundle> open(const std::string& tensors)
    {
        writeText(m_folder / "rank00000" / "tensors.jsonl", tensors);
        return Bundle::open(m_folder).value();
    }
    TempFolder m_temp;
    fs::path m_folder = makeBundle(m_temp.path());
};

constexpr int kMany = 20000; // about 4 MiB of lines

TEST_F(Index, OfManyPartsIsInTheOrderOfTheFile)
{
    std::string text;
    for (int i = 0; i < kMany; ++i)
        text += line(i, fmt::format("layers.{}", i % 10));
    const auto bundle = open(text);
    EXPECT_EQ(problemsText(bundle->problems()), "");
    const auto& records = bundle->ranks()[0].tensors;
    ASSERT_EQ(records.size(), static_cast<std::size_t>(kMany));
    for (int i = 0; i < kMany; ++i) {
        ASSERT_EQ(records[static_cast<std::size_t>(i)].id, i);
        ASSERT_EQ(records[static_cast<std::size_t>(i)].module, fmt::format("layers.{}", i % 10));
        ASSERT_EQ(records[static_cast<std::size_t>(i)].shape, (Shape{2, 3}));
    }
}

TEST_F(Index, ProblemsHaveTheLineOfTheFile)
{
    std::string text;
    for (int i = 0; i < kMany; ++i) {
        if (i == 7 || i == 9000 || i == kMany - 1)
            text += "{oops\n";
        else if (i == 12000)
            text += line(11, "again"); // an id of another part
        else if (i == 15000)
            text += line(i, "fc", R"(,"file":"gone.bin","offset":0)");
        else if (i == 16000)
            text += line(i, "fc", R"(,"file":"tensors-0000.bin","offset":3)");
        else
            text += line(i, "fc");
    }
    const auto bundle = open(text + "{\"id\":");
    const std::string where = "rank00000/tensors.jsonl:";
    std::vector<std::string> places;
    for (const Problem& problem : bundle->problems())
        places.push_back(problem.where);
    EXPECT_EQ(places,
              (std::vector<std::string>{where + "8", where + "9001", where + "12001", where + "16001", where + std::to_string(kMany),
                                        where + std::to_string(kMany + 1), "rank00000/gone.bin"}))
        << problemsText(bundle->problems());
    EXPECT_NE(bundle->problems()[2].message.find("`id` 11 is there already; the line is skipped"), std::string::npos);
    EXPECT_NE(bundle->problems()[5].message.find("torn"), std::string::npos);
    EXPECT_NE(bundle->problems()[6].message.find("needed by rank00000/tensors.jsonl:15001"), std::string::npos) << bundle->problems()[6].message;
    EXPECT_EQ(bundle->ranks()[0].tensors.size(), static_cast<std::size_t>(kMany - 4));
}

TEST_F(Index, IdsNeedNotAscend)
{
    std::string text;
    for (int i = kMany; i-- > 0;)
        text += line(i, "fc");
    text += line(3, "fc");
    const auto bundle = open(text);
    EXPECT_EQ(bundle->ranks()[0].tensors.size(), static_cast<std::size_t>(kMany));
    EXPECT_EQ(problemsText(bundle->problems()),
              fmt::format("rank00000/tensors.jsonl:{}: `id` 3 is there already; the line is skipped\n", kMany + 1));
}

TEST_F(Index, OfRubbishListsFiftyLinesAndCountsTheRest)
{
    std::string text;
    for (int i = 0; i < 300000; ++i)
        text += "rubbish\n";
    const auto bundle = open(text);
    ASSERT_EQ(bundle->problems().size(), 51u);
    EXPECT_EQ(bundle->problems()[49].where, "rank00000/tensors.jsonl:50");
    EXPECT_NE(bundle->problems()[50].message.find("299950 more lines"), std::string::npos) << bundle->problems()[50].message;
}

TEST(ValuePool, GivesOneValueForEqualOnes)
{
    ValuePool pool;
    const SharedText a = pool.text("layers.0"), b = pool.text(std::string("layers.") + "0");
    EXPECT_EQ(&*a, &*b);
    EXPECT_NE(&*a, &*pool.text("layers.1"));
    const Shape sizes{2, 3};
    EXPECT_EQ(&*pool.shape(sizes), &*pool.shape(sizes));
    const std::vector<Placement> shard{{"tp", Placement::Type::Shard, 1, ""}}, other{{"tp", Placement::Type::Shard, 0, ""}};
    EXPECT_EQ(&*pool.placements(shard), &*pool.placements(shard));
    EXPECT_NE(&*pool.placements(shard), &*pool.placements(other));
    EXPECT_TRUE(pool.text("").empty());
}

TEST(SharedValue, CopiesLiveOnAndAssignmentLeavesOthersAlone)
{
    SharedText kept;
    {
        ValuePool pool;
        kept = pool.text("module");
    }
    SharedText other = kept;
    other = "another";
    EXPECT_EQ(kept, "module");
    EXPECT_EQ(other, std::string("another"));
    EXPECT_LT(other, kept);
    kept = SharedText();
    EXPECT_TRUE(kept.empty());
    EXPECT_EQ(*kept, "");
    SharedShape shape = Shape{2, 3};
    EXPECT_EQ(shape.size(), 2u);
    EXPECT_EQ(shape[1], 3);
    shape = {};
    EXPECT_EQ(shape, Shape());
}

} // namespace
} // namespace forkpoint::bundle
