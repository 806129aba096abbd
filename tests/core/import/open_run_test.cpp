// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/open_run.h"
#include "core/compare/compare.h"
#include "core/report/sentence.h"
#include "tests/core/bundle/bundle_files.h"
#include "tests/core/import/made_files.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

// Files as a run: what becomes of names, ranks and steps, and what a comparison says.
namespace forkpoint::import {
namespace {

namespace fs = std::filesystem;
using bundle::Kind;
using bundle::Phase;
using bundle::test::TempFolder;
using bundle::test::writeText;
using namespace test;

const fs::path kPlain = fs::path(FORKPOINT_TEST_DATA) / "plain";

std::shared_ptr<const bundle::Bundle> opened(const fs::path& path, const OpenOptions& options = {})
{
    auto run = openRun(path, options);
    EXPECT_TRUE(run) << run.error().text();
    return run ? *run : nullptr;
}

std::vector<std::string> namesOf(const bundle::RankData& rank)
{
    std::vector<std::string> out;
    for (const auto& r : rank.tensors) {
        out.push_back(fmt::format("{} {}/{} {}|{}|{}", r.step, name(r.phase), name(r.kind), r.module, r.param, r.slot));
    }
    return out;
}

compare::Snapshot compared(const fs::path& a, const fs::path& b)
{
    auto result = compare::compare(align::Side::whole(opened(a)), align::Side::whole(opened(b)));
    EXPECT_TRUE(result) << result.error().text();
    return *result;
}

TEST(OpenRun, AFolderOfHooksHasLayersRanksAndSteps)
{
    const auto run = opened(kPlain / "hook_B_2rank");
    ASSERT_EQ(run->ranks().size(), 2u);
    EXPECT_FALSE(run->isRecording());
    EXPECT_EQ(run->worldSize(), 2);
    EXPECT_EQ(run->steps(), std::vector<int> { 1 });
    const auto names = namesOf(run->ranks()[1]);
    ASSERT_EQ(names.size(), 15u);
    EXPECT_EQ(names.front(), "1 backward/grad blocks.0.attn.qkv|bias|");
    EXPECT_NE(std::find(names.begin(), names.end(), "1 forward/output blocks.1.attn.proj||"), names.end());
    EXPECT_TRUE(run->problems().empty());
}

TEST(OpenRun, AStateDictHasNames)
{
    const auto run = opened(kPlain / "checkpoint_B_2rank");
    ASSERT_NE(run, nullptr); // cnn_rank0.pt, cnn_rank1.pt and ddp_model.pt: two names, so they stand in front
    const auto names = namesOf(run->ranks()[0]);
    EXPECT_NE(std::find(names.begin(), names.end(), "0 start/param cnn.module.features.0|weight|"), names.end());
    EXPECT_NE(std::find(names.begin(), names.end(), "0 start/param ddp_model.module.tok|weight|"), names.end());
    const auto single = opened(kPlain / "checkpoint_B_2rank/cnn_rank1.pt"); // a single file is rank 0, and its name says nothing
    ASSERT_EQ(single->ranks().size(), 1u);
    EXPECT_EQ(single->ranks()[0].rank, 0);
    EXPECT_EQ(namesOf(single->ranks()[0]).front(), "0 start/param module.features.0|weight|");
}

TEST(OpenRun, PartsOfOneFileAreOne)
{
    TempFolder folder;
    for (const char* name : { "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors" }) {
        fs::copy_file(kPlain / "safetensors" / name, folder.path() / name);
    }
    writeText(folder.path() / "model.safetensors.index.json", "{}");
    const auto parts = compared(folder.path(), kPlain / "safetensors/cnn.safetensors");
    EXPECT_EQ(parts.outcome()->verdict.severity, diagnose::Severity::Identical);
    EXPECT_EQ(parts.pairs(), 9u);
    EXPECT_EQ(report::verdictSentence(parts), "The files are bit-identical in all 9 compared tensors.");
}

TEST(OpenRun, AStateDictIsTheSameInEveryFormat)
{
    for (const char* other : { "numpy/state.npz", "numpy/state_compressed.npz", "checkpoint_A_single/whole_module.pt" }) {
        const auto result = compared(kPlain / "checkpoint_A_single/legacy_model.pt", kPlain / other);
        EXPECT_EQ(result.pairs(), 9u) << other;
        for (std::size_t i = 0; i < result.ready(); ++i) {
            const auto severity = result.result(i).severity;
            const auto id = result.structure().alignment.pairs[i].id;
            // numpy.savez made num_batches_tracked an array of one.
            EXPECT_TRUE(severity == diagnose::Severity::Identical || id.find("num_batches_tracked") != std::string::npos) << other << ": " << id;
        }
    }
}

TEST(OpenRun, RanksThatHoldPiecesAreJoinedAsTheFileSays)
{
    TempFolder a, b;
    for (int rank = 0; rank < 2; ++rank) {
        fs::copy_file(kPlain / fmt::format("dtensor/fsdp2_state_rank{}.pt", rank), b.path() / fmt::format("state_rank{}.pt", rank));
    }
    fs::copy_file(kPlain / "checkpoint_A_single/legacy_model.pt", a.path() / "state.pt");
    const auto result = compared(a.path(), b.path());
    const auto& pairs = result.structure().alignment.pairs;
    const auto found = std::find_if(pairs.begin(), pairs.end(), [](const align::Pair& p) { return p.key.name() == "fc.weight"; });
    ASSERT_NE(found, pairs.end());
    EXPECT_EQ(found->status, align::PairStatus::Matched) << *found->note;
    EXPECT_EQ(found->assembly, "ranks 0-1 concatenated along dim 0");
    EXPECT_FALSE(found->guess);
    EXPECT_EQ(found->shapeB, (Shape { 3, 16 })); // 2 + 1 rows
}

TEST(OpenRun, NoForkIsClaimedForFiles)
{
    const auto result = compared(kPlain / "hook_A_single", kPlain / "hook_B_2rank");
    const auto& verdict = result.outcome()->verdict;
    EXPECT_FALSE(verdict.ordered);
    ASSERT_TRUE(verdict.fork);
    EXPECT_FALSE(verdict.fork->proven);
    for (const auto& gate : verdict.gates) {
        EXPECT_NE(gate.state, diagnose::GateState::Fork);
    }
    const auto sentence = report::verdictSentence(result);
    EXPECT_NE(sentence.find("The files differ by more than rounding in 13 of 15 compared tensors."), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("Files do not say in which order they were computed"), std::string::npos) << sentence;
    EXPECT_NE(report::coverageSentence(result).find("reference 15 tensors, candidate 30 tensors"), std::string::npos);
}

TEST(OpenRun, EveryReplicaIsCompared)
{
    TempFolder a, b;
    MadeTensor one { .shape = { 6 }, .stride = { 1 } };
    writeText(a.path() / "hook_fc_rank0.pt", torchFile(tensor(one)));
    writeText(b.path() / "hook_fc_rank0.pt", torchFile(tensor(one)));
    auto other = torchFile(tensor(one));
    other.replace(other.find(std::string(24, '\x3f')), 1, "\x01"); // rank 1 holds another value
    writeText(b.path() / "hook_fc_rank1.pt", other);
    const auto result = compared(a.path(), b.path());
    ASSERT_EQ(result.pairs(), 1u);
    EXPECT_EQ(result.result(0).lanes.size(), 2u);
    EXPECT_NE(result.result(0).severity, diagnose::Severity::Identical);
}

TEST(OpenRun, NarrowerTypesInFloat32AreSaid)
{
    TempFolder folder;
    const auto file = [&](const char* name, bool narrow) {
        std::string bytes;
        for (std::uint32_t i = 0; i < 64; ++i) {
            bytes += little(0x3f800000u + (i << 16) + (narrow ? 0u : i * 37u + 1u), 4);
        }
        writeText(folder.path() / name, zipOf({ { "m/data.pkl", pickled("(" + text("w") + tensor({ .shape = { 64 }, .stride = { 1 },
            .count = 64 }) + "d") }, { "m/data/0", bytes } }));
    };
    file("narrow.pt", true);
    file("wide.pt", false);
    const auto notes = report::narrowNotes(compared(folder.path() / "narrow.pt", folder.path() / "wide.pt"));
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_EQ(notes[0],
        "reference: 1 tensor holds bfloat16 values only, stored as float32: converted from the narrower type before saving, and no more exact than it");
    EXPECT_TRUE(report::narrowNotes(compared(folder.path() / "wide.pt", folder.path() / "wide.pt")).empty());
}

TEST(OpenRun, BadFilesOfAFolderAreNamedAndTheRestIsRead)
{
    TempFolder folder;
    fs::copy_file(kPlain / "odd/parameter.pt", folder.path() / "good.pt");
    fs::copy_file(kPlain / "odd/truncated.pt", folder.path() / "cut.pt");
    fs::copy_file(kPlain / "odd/dtype_uint16.pt", folder.path() / "strange.pt");
    fs::create_symlink(folder.path() / "nowhere", folder.path() / "dangling.pt");
    const auto run = opened(folder.path());
    ASSERT_EQ(run->ranks().size(), 1u);
    EXPECT_EQ(run->ranks()[0].tensors.size(), 1u);
    ASSERT_EQ(run->problems().size(), 2u);
    EXPECT_EQ(run->problems()[0].where, "cut.pt");
    EXPECT_NE(run->problems()[0].message.find("the file was cut"), std::string::npos);
    EXPECT_EQ(run->problems()[1].where, "strange.pt");
    EXPECT_NE(run->problems()[1].message.find("uint16"), std::string::npos);
}

TEST(OpenRun, TwoFilesOfOneTensorAreToldApart)
{
    TempFolder folder;
    fs::create_directories(folder.path() / "x");
    fs::create_directories(folder.path() / "y");
    fs::copy_file(kPlain / "odd/parameter.pt", folder.path() / "x/w.pt");
    fs::copy_file(kPlain / "odd/parameter.pt", folder.path() / "y/w.pt");
    const auto run = opened(folder.path());
    EXPECT_EQ(run->ranks()[0].tensors.size(), 1u);
    ASSERT_EQ(run->problems().size(), 1u);
    EXPECT_NE(run->problems()[0].message.find("is there already"), std::string::npos) << run->problems()[0].message;
}

TEST(OpenRun, ErrorsSayWhatAndWhere)
{
    TempFolder folder;
    const auto refused = [](const fs::path& path, const OpenOptions& options = {}) {
        const auto run = openRun(path, options);
        EXPECT_FALSE(run) << path;
        return run ? Error {} : run.error();
    };
    EXPECT_EQ(refused(folder.path() / "none.pt").code, ErrorCode::NotFound);
    EXPECT_EQ(refused(folder.path()).code, ErrorCode::NotABundle);
    EXPECT_EQ(refused(kPlain / "odd/zero_bytes.pt").code, ErrorCode::Truncated);
    EXPECT_EQ(refused(kPlain / "odd/truncated.pt").where, (kPlain / "odd/truncated.pt").string());
    EXPECT_NE(refused(kPlain / "odd/meta.pt").message.find("meta device"), std::string::npos);
    EXPECT_NE(refused(kPlain / "expected.jsonl").message.find("a file, and none that is read"), std::string::npos);
    EXPECT_NE(refused(kPlain / "hook_A_single", { "nothing_{layer}" }).message.find("none of its 15 files matches the pattern"), std::string::npos);
    EXPECT_NE(refused(kPlain / "hook_A_single", { "{what}" }).message.find("unknown field"), std::string::npos);
}

TEST(OpenRun, AFileThatShrinksIsAnError)
{
    TempFolder folder;
    const fs::path path = folder.path() / "large.pt";
    const std::int64_t count = 200'000; // too large to be kept in memory
    writeText(path, zipOf({ { "m/data.pkl", pickled(tensor({ .shape = { count }, .stride = { 1 }, .count = count })) },
                            { "m/data/0", std::string(static_cast<std::size_t>(count) * 4, 'x') } }));
    const auto run = opened(path);
    const auto& rank = run->ranks()[0];
    const auto source = run->source(rank, rank.tensors[0]);
    ASSERT_TRUE(source);
    ReadBuffer buffer;
    EXPECT_TRUE((*source)->read(Box::whole((*source)->shape()), buffer));
    fs::resize_file(path, 1000);
    const auto cut = (*source)->read(Box::whole((*source)->shape()), buffer);
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, ErrorCode::Truncated);
}

TEST(OpenRun, OpensBundlesToo)
{
    const auto run = opened(fs::path(FORKPOINT_TEST_DATA) / "hand.forkpoint");
    ASSERT_NE(run, nullptr);
    EXPECT_TRUE(run->isRecording());
}

} // namespace
} // namespace forkpoint::import
