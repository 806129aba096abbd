// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/merge.h"
#include "tests/core/bundle/made_archive.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

// Nodes without a shared disk: the bundles that they left become one.
namespace forkpoint::bundle {
namespace {

using namespace test;

class Merge : public testing::Test {
protected:
    fs::path part(const std::string& name, const std::vector<int>& ranks, const std::string& launch = "made-1")
    {
        return makePart(m_temp.path() / "parts", name, ranks, launch);
    }
    fs::path out() const { return m_temp.path() / "out" / "all"; }

    /// Refused with this code and these words, and nothing was left behind.
    void expectRefused(const std::vector<fs::path>& inputs, ErrorCode code, const std::vector<std::string>& words, const MergeOptions& options = {})
    {
        const auto merged = mergeBundles(out(), inputs, options);
        ASSERT_FALSE(merged);
        EXPECT_EQ(merged.error().code, code) << merged.error().text();
        for (const std::string& word : words)
            EXPECT_NE(merged.error().text().find(word), std::string::npos) << merged.error().text();
        EXPECT_TRUE(!fs::exists(out().parent_path()) || fs::is_empty(out().parent_path()));
    }
    TempFolder m_temp;
};

TEST_F(Merge, IsWhatIsReadTogether)
{
    const fs::path first = part("node0", {0, 2}), second = part("node1", {1, 3});
    appendText(second / "rank00003" / "events.log", "kept, although no reader knows it");
    const auto merged = mergeBundles(out(), {first, second});
    ASSERT_TRUE(merged) << merged.error().text();
    EXPECT_EQ(merged->path, out().string() + ".forkpoint");
    EXPECT_EQ(merged->ranks, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(merged->worldSize, 4);
    EXPECT_EQ(problemsText(merged->problems), "");
    ASSERT_EQ(merged->parts.size(), 2u);
    EXPECT_EQ(merged->parts[1].ranks, (std::vector<int>{1, 3}));

    std::uint64_t bytes = 0;
    std::size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(merged->path)) {
        if (!entry.is_regular_file())
            continue;
        const fs::path relative = entry.path().lexically_relative(merged->path);
        const fs::path from = fs::exists(first / relative) ? first / relative : second / relative;
        EXPECT_EQ(readText(entry.path()), readText(from)) << relative;
        bytes += entry.file_size();
        ++files;
    }
    EXPECT_EQ(files, 1 + 4 * 5 + 1u); // bundle.json, five files of each rank, the log
    EXPECT_EQ(merged->bytes, bytes);
    EXPECT_EQ(std::distance(fs::directory_iterator(out().parent_path()), {}), 1) << "the temporary folder is gone";

    const auto together = Bundle::open(first.parent_path()), one = Bundle::open(merged->path);
    ASSERT_TRUE(together && one);
    EXPECT_EQ((*one)->info(), (*together)->info());
    EXPECT_EQ((*one)->name(), (*together)->name());
    EXPECT_EQ((*one)->worldSize(), (*together)->worldSize());
    ASSERT_EQ((*one)->ranks().size(), (*together)->ranks().size());
    for (const RankData& rank : (*one)->ranks()) {
        const RankData& other = *(*together)->rank(rank.rank);
        EXPECT_EQ(rank.info, other.info);
        EXPECT_EQ(valuesOf<float>(**one, rank, rank.tensors.at(0)), valuesOf<float>(**together, other, other.tensors.at(0)));
    }
}

TEST_F(Merge, TakesArchivesAndAFolderOfParts)
{
    part("node0", {0, 1});
    const fs::path packed = part("node1", {2, 3});
    writeText(packed.string() + ".zip", zipOf(entriesOf(packed, "node1.forkpoint/", 8)));
    fs::remove_all(packed);
    const auto merged = mergeBundles(out(), {m_temp.path() / "parts/"});
    ASSERT_TRUE(merged) << merged.error().text();
    EXPECT_EQ(merged->ranks.size(), 4u);
    const auto bundle = Bundle::open(out());
    ASSERT_TRUE(bundle);
    EXPECT_EQ(problemsText((*bundle)->problems()), "");
    const RankData& last = (*bundle)->ranks().back();
    EXPECT_EQ(valuesOf<float>(**bundle, last, last.tensors.at(0)), (std::vector<float>{1, 3}));
}

TEST_F(Merge, OfOnePartIsACopy)
{
    const auto merged = mergeBundles(out(), {part("node0", {0, 1, 2, 3}).replace_extension()}); // and a name without its suffix
    ASSERT_TRUE(merged) << merged.error().text();
    EXPECT_EQ(merged->ranks.size(), 4u);
}

TEST_F(Merge, SaysWhichRanksAreMissing)
{
    const auto merged = mergeBundles(out(), {part("node0", {0}), part("node1", {3})});
    ASSERT_TRUE(merged) << merged.error().text();
    EXPECT_NE(problemsText(merged->problems).find("all.forkpoint: 2 of 4 ranks are missing: 1-2."), std::string::npos) << problemsText(merged->problems);
    EXPECT_TRUE(Bundle::open(out()));
}

TEST_F(Merge, RefusesRanksThatClash)
{
    const fs::path first = part("node0", {0, 1}), second = part("node1", {1, 3});
    expectRefused({first, second}, ErrorCode::Usage, {"node1.forkpoint: has rank 1, and so has ", "node0.forkpoint"});
    expectRefused({first.parent_path()}, ErrorCode::Usage, {"rank 1"});
    expectRefused({first, first}, ErrorCode::Usage, {"node0.forkpoint: is named twice"});
}

TEST_F(Merge, RefusesAnotherLaunch)
{
    const fs::path first = part("node0", {0, 1}), second = part("node1", {2, 3}, "made-2"), unknown = part("node2", {2, 3}, "");
    expectRefused({first, second}, ErrorCode::Usage, {"node1.forkpoint: is of another launch than ", "made-2 0, not made-1 0"});
    expectRefused({first, unknown}, ErrorCode::Usage, {"node2.forkpoint: ", "run_id"});
    EXPECT_TRUE(mergeBundles(out(), {unknown})) << "alone it need not be told from others";
}

TEST_F(Merge, RefusesWhatIsNoBundle)
{
    const fs::path first = part("node0", {0, 1});
    expectRefused({first, first / "rank00001"}, ErrorCode::Usage, {"rank00001: is the folder of one rank"});
    expectRefused({first, m_temp.path() / "nowhere"}, ErrorCode::NotFound, {"nowhere does not exist"});
    writeText(m_temp.path() / "notes.txt", "text");
    expectRefused({m_temp.path() / "notes.txt"}, ErrorCode::NotABundle, {"notes.txt is a file"});
    expectRefused({}, ErrorCode::Usage, {"nothing to merge"});
    replaceText(first / "bundle.json", "[\n  1,", "[\n  9,");
    expectRefused({first}, ErrorCode::Unsupported, {"node0.forkpoint/bundle.json", "newer"});
}

TEST_F(Merge, ReplacesOnlyABundleAndOnlyWhenAsked)
{
    const fs::path first = part("node0", {0, 1}), second = part("node1", {2, 3});
    const fs::path target = first.parent_path() / "all.forkpoint"; // beside the parts: it is no part of the next merge
    ASSERT_TRUE(mergeBundles(target, {first}));
    const auto refused = mergeBundles(target, {first, second});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Exists);
    EXPECT_NE(refused.error().text().find("--overwrite"), std::string::npos) << refused.error().text();
    EXPECT_EQ((*Bundle::open(target))->ranks().size(), 2u);
    const auto replaced = mergeBundles(target, {first.parent_path()}, {true});
    ASSERT_TRUE(replaced) << replaced.error().text();
    EXPECT_EQ((*Bundle::open(target))->ranks().size(), 4u);
    EXPECT_EQ(std::distance(fs::directory_iterator(first.parent_path()), {}), 3) << "the parts and the result";

    const fs::path other = m_temp.path() / "other.forkpoint";
    fs::create_directories(other / "precious");
    EXPECT_EQ(mergeBundles(other, {first}, {true}).error().code, ErrorCode::Exists);
    EXPECT_TRUE(fs::exists(other / "precious"));
    for (const char* name : {"all.forkpoint.zip", "..", ""})
        EXPECT_EQ(mergeBundles(*name ? fs::path(name) : fs::path(), {first}).error().code, ErrorCode::Usage) << name;
}

TEST_F(Merge, FollowsNoLinkAndLosesNoRank)
{
    const fs::path secret = m_temp.path() / "secret";
    writeText(secret, "secret");
    const fs::path first = part("node0", {0, 1});
    fs::remove(first / "rank00001" / "tensors-0000.bin");
    fs::create_symlink(secret, first / "rank00001" / "tensors-0000.bin");
    expectRefused({first}, ErrorCode::Corrupt, {"node0.forkpoint/rank00001/tensors-0000.bin: is a link"});
    const fs::path second = part("node1", {2});
    fs::create_directory_symlink(first / "rank00000", second / "rank00003");
    expectRefused({second}, ErrorCode::Corrupt, {"node1.forkpoint: rank00003 is a link"});
    const fs::path third = part("node2", {1});
    fs::copy(third / "rank00001", third / "rank000001");
    expectRefused({third}, ErrorCode::Corrupt, {"is a second folder of rank 1"});
    const fs::path fourth = part("node3", {1});
    ASSERT_EQ(::mkfifo((fourth / "rank00001" / "pipe").c_str(), 0600), 0);
    expectRefused({fourth}, ErrorCode::Corrupt, {"pipe"}); // in the middle of copying
}

TEST_F(Merge, NamesThatLeadOutsideStayOutside)
{
    const fs::path first = part("node0", {0, 1});
    writeText(first / "rank00000" / "..secret", "no plain name");
    fs::create_directory(first / "rank00000" / "folder");
    writeText(first / "notes.txt", "no part of it");
    replaceText(first / "rank00001" / "tensors.jsonl", "tensors-0000.bin", "../../secret");
    const auto merged = mergeBundles(out(), {first});
    ASSERT_TRUE(merged) << merged.error().text();
    const std::string problems = problemsText(merged->problems);
    for (const char* word : {"rank00000/..secret: is no part of a bundle: not copied", "rank00000/folder: is no part", "notes.txt: is no part", "plain file name"})
        EXPECT_NE(problems.find(word), std::string::npos) << problems;
    EXPECT_EQ(std::distance(fs::directory_iterator(merged->path / "rank00000"), {}), 5);

    std::vector<MadeEntry> entries = entriesOf(part("node1", {2}), "node1.forkpoint/", 0);
    entries.push_back({"node1.forkpoint/../../escaped", "text", 0, 0, {}, {}, {}, {}});
    writeText(m_temp.path() / "climbing.zip", zipOf(entries));
    const auto refused = mergeBundles(m_temp.path() / "climbed", {m_temp.path() / "climbing.zip"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Corrupt);
}

TEST_F(Merge, DamagedPartsAreMergedAsTheyAre)
{
    const fs::path first = part("node0", {0, 1}), second = part("node1", {2, 3});
    fs::remove(first / "bundle.json");
    fs::remove(second / "rank00003" / "rank.json");
    appendText(second / "rank00002" / "tensors.jsonl", "oops\n");
    const auto merged = mergeBundles(out(), {first, second});
    ASSERT_TRUE(merged) << merged.error().text();
    const std::string problems = problemsText(merged->problems);
    EXPECT_NE(problems.find("rank00003/rank.json"), std::string::npos) << problems;
    EXPECT_NE(problems.find("rank00002/tensors.jsonl:2: is not JSON"), std::string::npos) << problems;
    EXPECT_EQ(readText(merged->path / "bundle.json"), readText(second / "bundle.json")) << "that of the first part that has one";
    EXPECT_EQ((*Bundle::open(merged->path))->ranks().size(), 4u);
}

TEST_F(Merge, CancelledLeavesNothing)
{
    std::stop_source stop;
    stop.request_stop();
    const auto merged = mergeBundles(out(), {part("node0", {0, 1})}, {}, nullptr, stop.get_token());
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, ErrorCode::Cancelled);
    EXPECT_TRUE(fs::is_empty(out().parent_path()));
}

} // namespace
} // namespace forkpoint::bundle
