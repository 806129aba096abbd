// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/archive_files.h"
#include "tests/core/bundle/made_archive.h"

#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>

// Bundles in ZIP archives: read as the folder is, or refused by name.
namespace forkpoint::bundle {
namespace {

using namespace test;

struct Packed {
    const char* what;
    std::string path;   ///< of the archive, below the temporary folder
    std::string prefix; ///< in the archive
    unsigned method = 0;
    bool wide = false;
};

class Archives : public testing::Test {
protected:
    /// A bundle of two ranks, packed.
    fs::path pack(const Packed& packed)
    {
        const fs::path path = m_temp.path() / packed.path;
        std::vector<MadeEntry> entries = entriesOf(m_folder, packed.prefix, packed.method);
        writeText(path, zipOf(entries, packed.wide));
        return path;
    }
    std::vector<MadeEntry> entries(unsigned method = 0) const { return entriesOf(m_folder, "made.forkpoint/", method); }
    fs::path write(const std::vector<MadeEntry>& list, const std::string& name = "x.zip")
    {
        writeText(m_temp.path() / name, zipOf(list));
        return m_temp.path() / name;
    }

    TempFolder m_temp;
    fs::path m_folder = makeBundle(m_temp.path(), 2);
};

TEST_F(Archives, AreReadAsTheFolderIs)
{
    const auto folder = Bundle::open(m_folder).value();
    const std::vector<Packed> cases = {
        {"stored, at the top", "top.zip", "", 0},
        {"deflated, at the top", "top8.zip", "", 8},
        {"stored, one folder down", "a.forkpoint.zip", "made.forkpoint/", 0},
        {"deflated, one folder down", "b.forkpoint.zip", "any name/", 8},
        {"sizes in 64 bits", "c.forkpoint.zip", "made.forkpoint/", 0, true},
        {"deflated, sizes in 64 bits", "d.forkpoint.zip", "made.forkpoint/", 8, true},
    };
    for (const Packed& packed : cases) {
        SCOPED_TRACE(packed.what);
        const auto opened = Bundle::open(pack(packed));
        ASSERT_TRUE(opened) << opened.error().text();
        const Bundle& bundle = **opened;
        EXPECT_EQ(problemsText(bundle.problems()), "");
        EXPECT_EQ(bundle.name(), folder->name());
        EXPECT_EQ(bundle.info(), folder->info());
        ASSERT_EQ(bundle.ranks().size(), 2u);
        for (std::size_t r = 0; r < 2; ++r) {
            const RankData& rank = bundle.ranks()[r];
            EXPECT_EQ(rank.calls.size(), folder->ranks()[r].calls.size());
            EXPECT_EQ(rank.scalars.size(), folder->ranks()[r].scalars.size());
            ASSERT_EQ(rank.tensors.size(), 3u);
            EXPECT_EQ(valuesOf<float>(bundle, rank, rank.tensors[1]), (std::vector<float>{5, 6, 7}));
            EXPECT_EQ(valuesOf<float>(bundle, rank, rank.tensors[2]), (std::vector<float>{8, 9, 10, 11}));
        }
        const auto report = verify(bundle);
        ASSERT_TRUE(report);
        EXPECT_EQ(report->checked, 6);
        EXPECT_TRUE(report->problems.empty()) << problemsText(report->problems);
    }
}

TEST_F(Archives, AreFoundByTheNameOfTheRun)
{
    pack({"", "run.forkpoint.zip", "made.forkpoint/", 8});
    EXPECT_TRUE(Bundle::open(m_temp.path() / "run"));
    EXPECT_TRUE(Bundle::open(m_temp.path() / "run.forkpoint.zip"));
    EXPECT_TRUE(isBundleArchive(m_temp.path() / "run.forkpoint.zip"));
    EXPECT_FALSE(isBundleArchive(m_folder));
    EXPECT_FALSE(isBundleArchive(m_folder / "bundle.json"));
    EXPECT_FALSE(isBundleArchive(write({{"a/data.pkl", "x", 0, 0, {}, {}, {}, {}}})));
}

TEST_F(Archives, OneRankAlone)
{
    writeText(m_temp.path() / "r.zip", zipOf(entriesOf(m_folder / "rank00001", "", 8)));
    const auto bundle = Bundle::open(m_temp.path() / "r.zip");
    ASSERT_TRUE(bundle) << bundle.error().text();
    ASSERT_EQ((*bundle)->ranks().size(), 1u);
    EXPECT_EQ((*bundle)->ranks()[0].rank, 1);
    EXPECT_EQ(valuesOf<float>(**bundle, (*bundle)->ranks()[0], (*bundle)->ranks()[0].tensors[1]), (std::vector<float>{5, 6, 7}));
}

TEST_F(Archives, WhatOtherProgramsAddIsNoHarm)
{
    std::vector<MadeEntry> list = entries(8);
    list.push_back({"made.forkpoint/", "", 0, 0, {}, {}, {}, {}});
    list.push_back({"made.forkpoint/rank00000/", "", 0, 0, {}, {}, {}, {}});
    list.push_back({"made.forkpoint/.DS_Store", "x", 0, 0, {}, {}, {}, {}});
    list.push_back({"__MACOSX/made.forkpoint/rank00000/._tensors.jsonl", "x", 0, 0, {}, {}, {}, {}});
    list.push_back({"__MACOSX/made.forkpoint/bundle.json", "x", 0, 0, {}, {}, {}, {}});
    list.push_back({"notes.txt", "loss explodes at step 3", 8, 0, {}, {}, {}, {}});
    const auto bundle = Bundle::open(write(list));
    ASSERT_TRUE(bundle) << bundle.error().text();
    EXPECT_EQ(problemsText((*bundle)->problems()), "");
    EXPECT_EQ((*bundle)->ranks().size(), 2u);
}

TEST_F(Archives, LargeCompressedFilesAreUnpackedOnceWithoutAName)
{
    const fs::path temporary = m_temp.path() / "temporary";
    fs::create_directory(temporary);
    ASSERT_EQ(::setenv("TMPDIR", temporary.c_str(), 1), 0);
    std::string content(40u << 20, '\0');
    content.back() = 'z';
    const auto files = openArchive(write({{"bundle.json", "{}", 0, 0, {}, {}, {}, {}}, {"rank00000/tensors-0000.bin", content, 8, 0, {}, {}, {}, {}}}));
    ASSERT_TRUE(files) << files.error().text();
    const fs::path folder = (*files)->root() / "rank00000";
    const auto file = (*files)->open(folder, "tensors-0000.bin");
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_EQ((*file)->size(), content.size());
    EXPECT_EQ((*file)->currentSize(), content.size());
    std::array<std::byte, 2> last{};
    ASSERT_TRUE((*file)->readAt(content.size() - 2, last));
    EXPECT_EQ(last[1], std::byte{'z'});
    EXPECT_FALSE((*file)->readAt(content.size() - 1, last));
    EXPECT_EQ((*files)->open(folder, "tensors-0000.bin").value(), *file);
    EXPECT_TRUE(fs::is_empty(temporary));

    ASSERT_EQ(::setenv("TMPDIR", (temporary / "missing").c_str(), 1), 0);
    const auto refused = openArchive((*files)->root()).value()->open(folder, "tensors-0000.bin");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("Set TMPDIR"), std::string::npos) << refused.error().message;
    ASSERT_EQ(::unsetenv("TMPDIR"), 0);
}

TEST_F(Archives, DamagedContentIsToldWhereItIsRead)
{
    std::vector<MadeEntry> list = entries(8);
    for (MadeEntry& entry : list) {
        if (entry.name == "made.forkpoint/rank00000/tensors.jsonl")
            entry.checksum = 7;
        if (entry.name == "made.forkpoint/rank00001/tensors-0000.bin")
            entry.size = entry.content.size() - 1;
    }
    const auto bundle = Bundle::open(write(list));
    ASSERT_TRUE(bundle) << bundle.error().text();
    const std::string problems = problemsText((*bundle)->problems());
    EXPECT_NE(problems.find("rank00000/tensors.jsonl: in the ZIP archive: what it holds does not have its checksum"), std::string::npos) << problems;
    EXPECT_NE(problems.find("holds more than it says"), std::string::npos) << problems;
}

TEST_F(Archives, HostileOnesAreRefusedByName)
{
    const MadeEntry info{"made.forkpoint/bundle.json", "{}", 0, 0, {}, {}, {}, {}};
    const auto with = [&](const MadeEntry& entry) { return zipOf({info, entry}); };
    const auto named = [&](const std::string& name) { return with({name, "x", 0, 0, {}, {}, {}, {}}); };
    struct Case {
        const char* what;
        std::string archive;
        ErrorCode code;
        std::string says;
    };
    const std::vector<Case> cases = {
        {"climbing", named("made.forkpoint/../../etc/passwd"), ErrorCode::Corrupt, "made.forkpoint/../../etc/passwd\" leads out of the archive"},
        {"climbing at the start", named("../x"), ErrorCode::Corrupt, "\"../x\" leads out"},
        {"dot", named("made.forkpoint/./x"), ErrorCode::Corrupt, "leads out of the archive or nowhere"},
        {"absolute", named("/etc/passwd"), ErrorCode::Corrupt, "\"/etc/passwd\" is absolute"},
        {"a drive", named("C:x"), ErrorCode::Corrupt, "\"C:x\" is absolute"},
        {"backslash", named("made.forkpoint\\x"), ErrorCode::Corrupt, "has a backslash"},
        {"control character", named("a\x1b[31m"), ErrorCode::Corrupt, "\"a?[31m\" has a control character"},
        {"no name", named(""), ErrorCode::Corrupt, "the name of entry \"\" is empty"},
        {"double slash", named("made.forkpoint//x"), ErrorCode::Corrupt, "leads out of the archive or nowhere"},
        {"twice", with(info), ErrorCode::Corrupt, "entry made.forkpoint/bundle.json is there twice"},
        {"encrypted", with({"made.forkpoint/x", "x", 0, 1, {}, {}, {}, {}}), ErrorCode::Unsupported, "entry made.forkpoint/x is encrypted"},
        {"another method", with({"made.forkpoint/x", "x", 12, 0, {}, {}, {}, {}}), ErrorCode::Unsupported, "compressed by method 12"},
        {"stored in another size", with({"made.forkpoint/x", "x", 0, 0, 5, {}, {}, {}}), ErrorCode::Corrupt, "1 stored bytes for 5"},
        {"larger than the file", with({"made.forkpoint/x", "x", 0, 0, 1u << 30, 1u << 30, {}, {}}), ErrorCode::Corrupt, "do not fit before the directory"},
        {"overlapping", with({"made.forkpoint/x", "x", 0, 0, {}, {}, 0, {}}), ErrorCode::Corrupt, "overlap"},
        {"outside", with({"made.forkpoint/x", "x", 0, 0, {}, {}, 1u << 30, {}}), ErrorCode::Corrupt, "outside the file"},
        {"no bundle", zipOf({{"photos/cat.jpg", "x", 0, 0, {}, {}, {}, {}}}), ErrorCode::NotABundle, "neither bundle.json nor a rank's folder"},
        {"nothing", zipOf({}), ErrorCode::NotABundle, "neither bundle.json nor a rank's folder"},
        {"two bundles", with({"other/bundle.json", "{}", 0, 0, {}, {}, {}, {}}), ErrorCode::Unsupported, "several bundles, made.forkpoint/ and other/"},
        {"too deep", zipOf({{"a/b/bundle.json", "{}", 0, 0, {}, {}, {}, {}}}), ErrorCode::NotABundle, "one folder down, but in a/b/"},
        {"a bundle without ranks", zipOf({info}), ErrorCode::Corrupt, "no rank folder"},
    };
    for (const Case& hostile : cases) {
        SCOPED_TRACE(hostile.what);
        const fs::path path = m_temp.path() / "hostile.forkpoint.zip";
        writeText(path, hostile.archive);
        const auto bundle = Bundle::open(path);
        ASSERT_FALSE(bundle);
        EXPECT_EQ(bundle.error().code, hostile.code) << bundle.error().text();
        EXPECT_NE(bundle.error().text().find(hostile.says), std::string::npos) << bundle.error().text();
    }
}

TEST_F(Archives, BombsCostNothing)
{
    std::vector<MadeEntry> list = entries(8);
    for (MadeEntry& entry : list) {
        if (entry.name.ends_with("tensors-0000.bin"))
            entry.size = std::uint64_t(1) << 31; // more than deflate can make of it
        if (entry.name.ends_with("tensors.jsonl"))
            entry.size = entry.content.size() + 1;
    }
    const auto bundle = Bundle::open(write(list));
    ASSERT_TRUE(bundle) << bundle.error().text();
    const std::string problems = problemsText((*bundle)->problems());
    EXPECT_NE(problems.find("bytes, not the"), std::string::npos) << problems;
    const auto files = openArchive(m_temp.path() / "x.zip").value();
    const auto bomb = files->open(files->root() / "rank00000", "tensors-0000.bin");
    ASSERT_FALSE(bomb);
    EXPECT_NE(bomb.error().message.find("cannot hold the 2147483648 bytes that are claimed"), std::string::npos) << bomb.error().message;
}

TEST_F(Archives, CutAtEveryByteAreRefused)
{
    for (const unsigned method : {0u, 8u}) {
        const std::string whole = zipOf(entriesOf(m_folder / "rank00000", "rank00000/", method));
        const fs::path path = m_temp.path() / "cut.forkpoint.zip";
        writeText(path, whole);
        for (std::size_t size = whole.size(); size-- > 0;) {
            fs::resize_file(path, size);
            const auto bundle = Bundle::open(path);
            ASSERT_FALSE(bundle) << size;
            ASSERT_FALSE(bundle.error().message.empty()) << size;
        }
    }
}

TEST_F(Archives, DamageAtEveryByteIsSurvived)
{
    const std::string whole = zipOf(entriesOf(m_folder / "rank00000", "rank00000/", 8));
    const fs::path path = m_temp.path() / "damaged.forkpoint.zip";
    std::size_t refused = 0, told = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(~static_cast<unsigned char>(damaged[at]));
        writeText(path, damaged);
        const auto bundle = Bundle::open(path);
        refused += bundle ? 0u : 1u;
        if (bundle) {
            told += (*bundle)->problems().empty() ? 0u : 1u;
            for (const TensorRecord& record : (*bundle)->ranks()[0].tensors)
                (void)valuesOf<float>(**bundle, (*bundle)->ranks()[0], record);
        }
    }
    EXPECT_GT(refused, 0u);
    EXPECT_GT(told, 0u);
}

} // namespace
} // namespace forkpoint::bundle
