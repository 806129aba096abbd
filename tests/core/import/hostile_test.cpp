// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/pickle.h"
#include "tests/core/import/made_files.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>

// Files that are cut, damaged or made to harm. What must hold of every one: no crash, no endless loop, no memory that the file does not have,
// and words that say what is wrong.
namespace forkpoint::import {
namespace {

namespace fs = std::filesystem;
using namespace test;

std::string sample(const std::string& name)
{
    std::ifstream in(fs::path(FORKPOINT_TEST_DATA) / "plain" / name, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

class Sample : public testing::TestWithParam<const char*> { };

TEST_P(Sample, CutAtEveryByteIsRefusedOrReadAsFarAsItGoes)
{
    const std::string whole = sample(GetParam());
    const auto intact = readTensorFile(inMemory(whole));
    ASSERT_TRUE(intact) << intact.error().text();
    const std::size_t all = readable(*intact);
    ASSERT_GT(all, 0u);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto contents = readTensorFile(inMemory(whole.substr(0, size)));
        if (!contents) {
            EXPECT_FALSE(contents.error().message.empty());
            EXPECT_FALSE(contents.error().where.empty()) << size;
            continue;
        }
        const std::size_t good = readable(*contents);
        EXPECT_TRUE(good < all || contents->problems.empty()) << size;
        EXPECT_TRUE(good == all || !contents->problems.empty()) << "at " << size << " bytes a tensor is lost without a word";
    }
}

TEST_P(Sample, DamageAtEveryByteIsSurvived)
{
    const std::string whole = sample(GetParam());
    std::size_t refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (const unsigned flip : { 0xffu, 0x01u, 0x80u }) {
            std::string damaged = whole;
            damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ flip);
            const auto contents = readTensorFile(inMemory(damaged));
            if (!contents) {
                ++refused;
                EXPECT_FALSE(contents.error().message.empty());
            } else {
                readable(*contents);
            }
        }
    }
    EXPECT_GT(refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(Formats, Sample,
                         testing::Values("odd/shared_storage.pt", "odd/protocol4.pt", "dtensor/dtensor_2d_rank0.pt", "odd/numpy_inside.pt",
                             "odd/legacy_nested.pt",
                                         "odd/legacy_protocol4.pt", "safetensors/model-00002-of-00002.safetensors", "numpy/fortran.npy",
                                         "numpy/state_compressed.npz"));

TEST(HostilePickle, SaysWhatIsWrongAndWhere)
{
    const std::vector<std::pair<std::string, std::string>> cases {
        { "", "byte 0: 1 more bytes are needed, 0 are left" },
        { "\x80\x02N", "byte 3" },
        { "\x80\x09N.", "protocol 9 is newer" },
        { "\x80\x02\xee.", "byte 2: 0xee is no opcode" },
        { "\x80\x02(iposix\nsystem\n.", "INST is not read" },
        { "\x80\x02\x82\x01.", "EXT1 is not read" },
        { "\x80\x02.", "the stack is empty" },
        { "\x80\x02h\x07.", "memo 7 was never stored" },
        { "\x80\x02N\x85t.", "no mark" },
        { std::string("\x80\x02X") + little(0xffffffff, 4) + "abc.", "4294967295 more bytes are needed, 4 are left" },
        { std::string("\x80\x04\x8e") + little(std::uint64_t(1) << 63, 8) + ".", "9223372036854775808 more bytes are needed" },
        { std::string("\x80\x02\x8b") + little(0x7fffffff, 4) + ".", "more bytes are needed" },
        { "\x80\x02NNs.", "the stack is empty" },
        { "\x80\x02NN\x88s.", "holds none" },
        { "\x80\x02}(Nu.", "a key has no value" },
        { "\x80\x04K\x01K\x02\x93.", "whose name is no text" },
        { "\x80\x02Iten\n.", "is no number" },
        { "\x80\x02" + global("m", std::string(2000, 'x')) + ".", "longer than 1000" },
    };
    for (const auto& [bytes, words] : cases) {
        const auto content = bytesOf(bytes);
        const auto pickle = readPickle(content, "made.pkl");
        ASSERT_FALSE(pickle) << words;
        EXPECT_NE(pickle.error().message.find(words), std::string::npos) << pickle.error().message << "\nexpected: " << words;
        EXPECT_EQ(pickle.error().where, "made.pkl");
    }
}

TEST(HostilePickle, NothingIsCalled)
{
    const fs::path trace = fs::temp_directory_path() / "forkpoint-import-was-called";
    fs::remove(trace);
    const auto contents = readTensorFile(inMemory(torchFile("(" + text("a") + global("posix",
        "system") + text("touch " + trace.string()) + "\x85R" + text("b") + tensor() + "d")));
    ASSERT_TRUE(contents) << contents.error().text();
    ASSERT_EQ(contents->tensors.size(), 1u);
    EXPECT_EQ(joined(contents->tensors[0].path), "b");
    EXPECT_FALSE(fs::exists(trace));
}

TEST(HostilePickle, AnUnknownFunctionOfATensorIsRefusedByName)
{
    const auto contents = readTensorFile(inMemory(torchFile("(" + text("a") + global("other.library", "rebuild") + tensor() + "\x85R" + "d")));
    ASSERT_TRUE(contents);
    EXPECT_TRUE(contents->tensors.empty());
    EXPECT_NE(problemsOf(*contents).find("a is made by other.library.rebuild, which is not known here: not read"),
        std::string::npos) << problemsOf(*contents);
}

TEST(HostilePickle, ListsThatContainThemselves)
{
    const auto contents = readTensorFile(inMemory(torchFile("]q\x01(h\x01" + tensor() + "h\x01" "e")));
    ASSERT_TRUE(contents) << contents.error().text();
    ASSERT_EQ(contents->tensors.size(), 1u);
    EXPECT_EQ(joined(contents->tensors[0].path), "1");
}

TEST(HostilePickle, ListsNestedWithoutEnd)
{
    constexpr std::size_t kLevels = 100'000;
    const auto contents = readTensorFile(inMemory(torchFile(std::string(kLevels, ']') + tensor() + std::string(kLevels, 'a'))));
    ASSERT_TRUE(contents) << contents.error().text();
    EXPECT_TRUE(contents->tensors.empty());
    EXPECT_NE(problemsOf(*contents).find("nested deeper than 100 levels"), std::string::npos);
}

TEST(HostilePickle, ListsThatContainEachOtherTwice)
{
    std::string object = "(" + tensor() + "lq" + std::string(1, '\0'); // every level lists the one below twice: 2^60 paths to one tensor
    for (char level = 0; level < 60; ++level) {
        object += std::string("(h") + level + "h" + level + "lq" + static_cast<char>(level + 1);
    }
    const auto contents = readTensorFile(inMemory(torchFile(object)));
    ASSERT_TRUE(contents) << contents.error().text();
    EXPECT_NE(problemsOf(*contents).find("more than"), std::string::npos) << problemsOf(*contents);
}

TEST(HostilePickle, WrappersOfWrappers)
{
    std::string object;
    constexpr std::size_t kLevels = 50'000;
    for (std::size_t i = 0; i < kLevels; ++i) {
        object += global("torch._utils", "_rebuild_parameter");
    }
    object += tensor();
    for (std::size_t i = 0; i < kLevels; ++i) {
        object += "\x88N\x87R";
    }
    const auto contents = readTensorFile(inMemory(torchFile(object)));
    ASSERT_TRUE(contents) << contents.error().text();
    EXPECT_TRUE(contents->tensors.empty());
    EXPECT_NE(problemsOf(*contents).find("nested deeper"), std::string::npos);
}

TEST(HostileTensor, ShapesStridesAndSizesThatLie)
{
    constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::pair<MadeTensor, std::string>> cases {
        { { .shape = { kHuge, kHuge }, .stride = { 0, 0 } }, "more elements than can be counted" },
        { { .shape = { kHuge }, .stride = { 1 } }, "more elements than can be counted" },
        { { .shape = { -1, 6 }, .stride = { 6, 1 } }, "more elements than can be counted" },
        { { .shape = { std::numeric_limits<std::int64_t>::min() }, .stride = { 1 } }, "more elements than can be counted" },
        { { .shape = { 2, 3 }, .stride = { kHuge, kHuge } }, "leaves its storage of 6 elements" },
        { { .shape = { 2, 3 }, .stride = { -3, 1 }, .offset = 3 }, "leaves its storage" },
        { { .shape = { 2, 3 }, .stride = { 3, 1 }, .offset = 1 }, "from element 1 leaves its storage of 6 elements" },
        { { .shape = { 2, 3 }, .stride = { 3, 1 }, .offset = -1 }, "leaves its storage" },
        { { .shape = { 2, 3 }, .stride = { 3 } }, "1 strides for 2 dims" },
        { { .shape = std::vector<std::int64_t>(65, 1), .stride = std::vector<std::int64_t>(65, 1) }, "65 dims" },
        { { .shape = { std::int64_t(1) << 40 }, .stride = { 0 } }, "repeats 6 elements more often than can be meant" },
        { { .count = 7 }, "claims 28 bytes, but the file holds 24" },
        { { .count = -1 }, "claims -1 elements" },
        { { .count = kHuge }, "claims 9223372036854775807 elements" },
        { { .key = "1" }, "storage 1 is not in the archive" },
        { { .type = "QInt8Storage" }, "torch.QInt8Storage, which Forkpoint does not compare" },
    };
    for (const auto& [made, words] : cases) {
        const auto contents = readTensorFile(inMemory(torchFile("(" + text("weight") + tensor(made) + "d")));
        ASSERT_TRUE(contents) << words << contents.error().text();
        EXPECT_TRUE(contents->tensors.empty()) << words;
        const auto problems = problemsOf(*contents);
        EXPECT_NE(problems.find(words), std::string::npos) << problems << "expected: " << words;
        EXPECT_EQ(problems.find("weight "), 0u) << problems;
        EXPECT_NE(problems.find("not read"), std::string::npos) << problems;
    }
    const auto honest = readTensorFile(inMemory(torchFile("(" + text("weight") + tensor() + "d")));
    ASSERT_TRUE(honest);
    EXPECT_EQ(readable(*honest), 1u);
}

TEST(HostileZip, DirectoriesThatLie)
{
    const std::string pickle = pickled(tensor()), data(24, 'x');
    const std::string good = zipOf({ { "a/data.pkl", pickle }, { "a/data/0", data } });
    auto patched = [&](std::size_t backFromEnd, std::uint64_t value, std::size_t size) {
        std::string out = good;
        out.replace(out.size() - backFromEnd, size, little(value, size));
        return out;
    };
    const std::vector<std::pair<std::string, std::string>> cases {
        { zipOf({ { "a/data.pkl", pickle }, { "a/data/0", data, false, ~std::uint64_t(0), 0 } }), "overlap" },
        { zipOf({ { "a/data.pkl", pickle }, { "a/data/0", data, false, 4'000'000'000 } }), "do not fit before the directory" },
        { zipOf({ { "a/data.pkl", pickle, false, pickle.size() + 20 }, { "a/data/0", data } }), "overlap" },
        { zipOf({ { "a/data.pkl", pickle }, { "a/data/0", data, false, ~std::uint64_t(0), 4'000'000'000 } }), "outside the file" },
        { zipOf({ { "a/data.pkl", pickle }, { "a/data/0", data, false, ~std::uint64_t(0), 5 } }), "there is no entry at byte 5" },
        { patched(12, 60'000, 2), "cannot list" },
        { patched(6, 0x7fffffff, 4), "does not fit in the file" },
        { patched(10, 0x7fffffff, 4), "does not fit in the file" },
        { patched(18, 1, 2), "split into several files" },
        { good.substr(0, good.size() - 1), "without its directory" },
        { zipOf({ { "b/other.txt", "text" } }), "neither of torch.save" },
    };
    for (const auto& [bytes, words] : cases) {
        const auto contents = readTensorFile(inMemory(bytes));
        ASSERT_FALSE(contents) << words;
        EXPECT_NE(contents.error().message.find(words), std::string::npos) << contents.error().message << "\nexpected: " << words;
    }
}

TEST(HostileZip, CompressedEntriesThatLie)
{
    const auto contentsOf = [](const std::string& packed, std::uint64_t claimed) { return readTensorFile(inMemory(zipOf({ { "a.npy", packed, true,
        claimed } }))); };
    const auto bomb = contentsOf("xx", 3'000'000'000);
    ASSERT_TRUE(bomb);
    EXPECT_NE(problemsOf(*bomb).find("2 compressed bytes cannot hold the 3000000000 bytes"), std::string::npos) << problemsOf(*bomb);
    const auto damaged = contentsOf(std::string(100, '\xff'), 1000);
    ASSERT_TRUE(damaged);
    EXPECT_NE(problemsOf(*damaged).find("is damaged"), std::string::npos) << problemsOf(*damaged);
    const auto shorter = contentsOf(std::string("\x03\x00", 2), 1000); // an empty deflate stream
    ASSERT_TRUE(shorter);
    EXPECT_NE(problemsOf(*shorter).find("holds 0 bytes, not the 1000 it says"), std::string::npos) << problemsOf(*shorter);
}

TEST(HostileSafetensors, HeadersThatLie)
{
    const auto file = [](const std::string& header, std::size_t data) { return little(header.size(), 8) + header + std::string(data, 'x'); };
    const auto refusal = [](const std::string& bytes) {
        const auto contents = readTensorFile(inMemory(bytes));
        return contents ? problemsOf(*contents) : contents.error().message;
    };
    const std::vector<std::pair<std::string, std::string>> cases {
        { little(90'000'000, 8) + "{}", "a header of 90000000 bytes is not in a file of 10" },
        { file("{\"w\":", 8), "is no JSON object" },
        { file("{\"w\":[]}", 8), "w has no dtype" },
        { file(R"({"w":{"dtype":"F4","shape":[1],"data_offsets":[0,4]}})", 8), "w has the type F4" },
        { file(R"({"w":{"dtype":"F32","shape":[9223372036854775807,9223372036854775807],"data_offsets":[0,4]}})", 8), "not what its shape needs" },
        { file(R"({"w":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", 8), "not what its shape needs" },
        { file(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 8), "something else than sizes" },
        { file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 8), "not in the file" },
        { file(R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 8), "not in the file" },
        { file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551615]}})", 8), "not in the file" },
    };
    for (const auto& [bytes, words] : cases) {
        const auto said = refusal(bytes);
        EXPECT_NE(said.find(words), std::string::npos) << said << "\nexpected: " << words;
    }
}

TEST(HostileNpy, HeadersThatLie)
{
    const auto file = [](const std::string& header, std::size_t data) { return std::string("\x93NUMPY\x01\x00", 8) + little(header.size(),
        2) + header + std::string(data, 'x'); };
    const auto refusal = [](const std::string& bytes) {
        const auto contents = readTensorFile(inMemory(bytes));
        return contents ? problemsOf(*contents) : contents.error().message;
    };
    const std::vector<std::pair<std::string, std::string>> cases {
        { file("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 4), }", 8), "more elements than can be counted" },
        { file("{'descr': '<f4', 'fortran_order': True, 'shape': (9223372036854775807, 4), }", 8), "more elements than can be counted" },
        { file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8), "something else than sizes" },
        { file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 8), "something else than sizes" },
        { file("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 8), "leaves its storage of 2 elements" },
        { file("{'descr': '<f4', 'fortran_order': False, 'shape': (3", 8), "something else than sizes" },
        { file("{'descr': '<q9', 'fortran_order': False, 'shape': (1,), }", 8), "numpy's <q9" },
        { file("{'shape': (1,)}", 8), "not that of a numpy array" },
        { std::string("\x93NUMPY\x09\x00", 8) + little(2, 2) + "{}", "version 9" },
        { std::string("\x93NUMPY\x02\x00", 8) + little(0x7fffffff, 4) + "{}", "longer than any numpy writes" },
        { std::string("\x93NUMPY\x01", 7), "ends at byte 7" },
    };
    for (const auto& [bytes, words] : cases) {
        const auto said = refusal(bytes);
        EXPECT_NE(said.find(words), std::string::npos) << said << "\nexpected: " << words;
    }
}

TEST(HostileFiles, OtherThingsAreNamed)
{
    EXPECT_NE(readTensorFile(inMemory("")).error().message.find("is empty"), std::string::npos);
    const auto text = readTensorFile(inMemory("loss,step\n1,2\n"));
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::NotABundle);
    EXPECT_NE(text.error().message.find(".safetensors"), std::string::npos);
}

} // namespace
} // namespace forkpoint::import
