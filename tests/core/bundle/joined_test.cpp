// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/core/bundle/made_archive.h"

#include <gtest/gtest.h>

// Nodes without a shared disk: each leaves a bundle of its own ranks, and opening the folder that holds them reads one run.
namespace forkpoint::bundle {
namespace {

using namespace test;

class Parts : public testing::Test {
protected:
    void part(const std::string& name, const std::vector<int>& ranks, const std::string& launch = "made-1") { makePart(m_temp.path(), name, ranks, launch); }
    TempFolder m_temp;
};

TEST_F(Parts, OfOneLaunchAreOneRun)
{
    part("node0", {0, 2});
    part("node1", {1, 3});
    const auto opened = Bundle::open(m_temp.path());
    ASSERT_TRUE(opened) << opened.error().text();
    const Bundle& bundle = **opened;
    EXPECT_EQ(problemsText(bundle.problems()), "");
    EXPECT_EQ(bundle.name(), "made");
    EXPECT_EQ(bundle.worldSize(), 4);
    ASSERT_EQ(bundle.ranks().size(), 4u);
    for (const RankData& rank : bundle.ranks())
        EXPECT_EQ(valuesOf<float>(bundle, rank, rank.tensors.at(0)), (std::vector<float>{1, static_cast<float>(rank.rank)}));
    const auto report = verify(bundle);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->checked, 4);
}

TEST_F(Parts, InArchivesToo)
{
    part("node0", {0, 1});
    part("node1", {2, 3});
    const fs::path packed = m_temp.path() / "node1.forkpoint";
    writeText(m_temp.path() / "node1.forkpoint.zip", zipOf(entriesOf(packed, "node1.forkpoint/", 8)));
    fs::remove_all(packed);
    const auto opened = Bundle::open(m_temp.path());
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ((*opened)->ranks().size(), 4u);
    EXPECT_EQ(problemsText((*opened)->problems()), "");
}

TEST_F(Parts, ClashingAndMissingRanksAreSaid)
{
    part("node0", {0, 1});
    part("node1", {1, 3});
    const auto opened = Bundle::open(m_temp.path());
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ((*opened)->ranks().size(), 3u);
    const std::string problems = problemsText((*opened)->problems());
    EXPECT_NE(problems.find("node1.forkpoint/rank00001: is a second folder of rank 1, which is read from node0.forkpoint/rank00001"), std::string::npos)
        << problems;
    EXPECT_NE(problems.find("1 of 4 ranks are missing: 2."), std::string::npos) << problems;
}

TEST_F(Parts, DamageIsToldWithTheNameOfThePart)
{
    part("node0", {0, 1});
    part("node1", {2, 3});
    appendText(m_temp.path() / "node1.forkpoint" / "rank00003" / "tensors.jsonl", "oops\n");
    const auto opened = Bundle::open(m_temp.path());
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_NE(problemsText((*opened)->problems()).find("node1.forkpoint/rank00003/tensors.jsonl:2: is not JSON"), std::string::npos)
        << problemsText((*opened)->problems());
}

TEST_F(Parts, OfDifferentLaunchesAreNotJoined)
{
    part("node0", {0, 1});
    part("node1", {2, 3}, "made-2");
    const auto opened = Bundle::open(m_temp.path());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::NotABundle);
    EXPECT_NE(opened.error().message.find("several bundles of different launches"), std::string::npos) << opened.error().message;
}

} // namespace
} // namespace forkpoint::bundle
