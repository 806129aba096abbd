// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/extent_source.h"
#include "core/bundle/line_reader.h"
#include "tests/core/bundle/bundle_files.h"

#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <sys/stat.h>

// Hostile and damaged input: each case says what is reported, and that the rest is still read (FORMAT.md section 7).
namespace forkpoint::bundle {
namespace {

using namespace test;

/// A line of tensors.jsonl as good as those of makeBundle, with some keys replaced ("null" removes one).
std::string tensorLine(const nlohmann::json& changes)
{
    nlohmann::json line = {{"id", 77},
                           {"step", 0},
                           {"micro", 0},
                           {"phase", "forward"},
                           {"kind", "output"},
                           {"module", "fc"},
                           {"order", 50},
                           {"dtype", "float32"},
                           {"shape", {3}},
                           {"digest", std::string(64, 'a')},
                           {"file", "tensors-0000.bin"},
                           {"offset", 64}};
    line.merge_patch(changes);
    return line.dump() + "\n";
}

// ---- What cannot be opened --------------------------------------------------------------------------------------------------------------

struct Refused {
    const char* what;
    std::function<fs::path(const fs::path&)> make; ///< gets a temporary folder, returns the path to open
    ErrorCode code;
    std::vector<std::string> says;
};

TEST(Refused, Table)
{
    const std::vector<Refused> cases = {
        {"missing path",
         [](const fs::path& temp) { return temp / "nothing"; },
         ErrorCode::NotFound,
         {"nothing does not exist", "nothing.forkpoint", "forkpoint-cli record"}},
        {"empty path", [](const fs::path&) { return fs::path(); }, ErrorCode::Usage, {"no path"}},
        {"path below a file",
         [](const fs::path& temp) {
             writeText(temp / "f", "x");
             return temp / "f" / "g";
         },
         ErrorCode::NotFound,
         {"does not exist"}},
        {"empty directory",
         [](const fs::path& temp) { return temp; },
         ErrorCode::NotABundle,
         {"an empty folder", "without bundle.json or rank folders: not a Forkpoint bundle", "forkpoint-cli record -o RUN -- COMMAND"}},
        {"directory of something else",
         [](const fs::path& temp) {
             writeText(temp / "model.pt", "x");
             fs::create_directory(temp / "rank0");
             return temp;
         },
         ErrorCode::NotABundle,
         {"is a folder without bundle.json or rank folders"}},
        {"directory that holds a bundle",
         [](const fs::path& temp) {
             makeBundle(temp);
             return temp;
         },
         ErrorCode::NotABundle,
         {"holds a bundle", "Open ", "made.forkpoint"}},
        {"regular file",
         [](const fs::path& temp) {
             writeText(temp / "run.zip", "PK");
             return temp / "run.zip";
         },
         ErrorCode::NotABundle,
         {"is a file", "unpack"}},
        {"device", [](const fs::path&) { return fs::path("/dev/null"); }, ErrorCode::NotABundle, {"is a file"}},
        {"bundle.json alone",
         [](const fs::path& temp) {
             EXPECT_TRUE(writeBundleInfo(temp, bundleInfo(1)));
             return temp;
         },
         ErrorCode::Corrupt,
         {"no rank folder", "first training forward or backward"}},
        {"newer major version of bundle.json",
         [](const fs::path& temp) {
             const fs::path folder = makeBundle(temp);
             nlohmann::json info = bundleInfo(1);
             info["version"] = {2, 0};
             EXPECT_TRUE(writeBundleInfo(folder, info));
             return folder;
         },
         ErrorCode::Unsupported,
         {"bundle.json", "version 2.0", "newer Forkpoint"}},
        {"newer major version of the only rank",
         [](const fs::path& temp) {
             const fs::path folder = makeBundle(temp);
             nlohmann::json info = rankInfo(1);
             info["format"] = "forkpoint-rank";
             info["version"] = {9, 1};
             writeText(folder / "rank00000/rank.json", info.dump());
             return folder;
         },
         ErrorCode::Unsupported,
         {"rank00000/rank.json", "version 9.1"}},
        {"format of another name",
         [](const fs::path& temp) {
             const fs::path folder = makeBundle(temp);
             nlohmann::json info = bundleInfo(1);
             info["format"] = "other-bundle";
             EXPECT_TRUE(writeBundleInfo(folder, info));
             return folder;
         },
         ErrorCode::NotABundle,
         {"bundle.json", "other-bundle", "another program"}},
        {"rank folder that is a link",
         [](const fs::path& temp) {
             const fs::path folder = makeBundle(temp);
             fs::rename(folder / "rank00000", temp / "elsewhere");
             fs::create_directory_symlink(temp / "elsewhere", folder / "rank00000");
             return folder;
         },
         ErrorCode::Corrupt,
         {"no rank folder"}},
    };
    for (const Refused& refused : cases) {
        SCOPED_TRACE(refused.what);
        TempFolder temp;
        const auto bundle = Bundle::open(refused.make(temp.path()));
        ASSERT_FALSE(bundle);
        EXPECT_EQ(bundle.error().code, refused.code);
        for (const std::string& text : refused.says)
            EXPECT_NE(bundle.error().text().find(text), std::string::npos) << bundle.error().text();
    }
}

TEST(Refused, FolderThatMayNotBeRead)
{
    if (::geteuid() == 0)
        GTEST_SKIP() << "root may read everything";
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path());
    fs::permissions(folder, fs::perms::none);
    const auto bundle = Bundle::open(folder);
    fs::permissions(folder, fs::perms::owner_all);
    ASSERT_FALSE(bundle);
    EXPECT_EQ(bundle.error().code, ErrorCode::Unreadable);
}

// ---- What is reported, and read in spite of it
// --------------------------------------------------------------------------------------------

struct Damage {
    const char* what;
    std::function<void(const fs::path& rank)> damage; ///< gets the rank's folder; the bundle's is its parent
    std::vector<std::string> says; ///< each in the text of the problems
    int tensors = 3; ///< records that are still read
    int withBytes = 3; ///< of them, with bytes
};

std::function<void(const fs::path&)> addTensor(nlohmann::json changes)
{
    return [changes](const fs::path& rank) { appendText(rank / "tensors.jsonl", tensorLine(changes)); };
}

std::function<void(const fs::path&)> addLine(std::string file, std::string line)
{
    return [file, line](const fs::path& rank) { appendText(rank / file, line + "\n"); };
}

std::function<void(const fs::path&)> setRank(std::string key, nlohmann::json value)
{
    return [key, value](const fs::path& rank) {
        nlohmann::json info = nlohmann::json::parse(readText(rank / "rank.json"));
        info[key] = value;
        writeText(rank / "rank.json", info.dump());
    };
}

std::function<void(const fs::path&)> setBundle(std::string key, nlohmann::json value)
{
    return [key, value](const fs::path& rank) {
        nlohmann::json info = nlohmann::json::parse(readText(rank.parent_path() / "bundle.json"));
        info[key] = value;
        writeText(rank.parent_path() / "bundle.json", info.dump());
    };
}

void checkDamage(const std::vector<Damage>& cases)
{
    for (const Damage& damage : cases) {
        SCOPED_TRACE(damage.what);
        TempFolder temp;
        const fs::path folder = makeBundle(temp.path());
        damage.damage(folder / "rank00000");
        const auto opened = Bundle::open(folder);
        ASSERT_TRUE(opened) << opened.error().text();
        const Bundle& bundle = **opened;
        const std::string problems = problemsText(bundle.problems());
        for (const std::string& text : damage.says)
            EXPECT_NE(problems.find(text), std::string::npos) << "'" << text << "' is not in:\n" << problems;
        EXPECT_EQ(damage.says.empty(), problems.empty()) << problems;

        ASSERT_EQ(bundle.ranks().size(), 1u);
        const RankData& rank = bundle.ranks()[0];
        EXPECT_EQ(rank.tensors.size(), static_cast<std::size_t>(damage.tensors));
        int withBytes = 0;
        ReadBuffer buffer;
        for (const TensorRecord& tensor : rank.tensors) {
            const auto source = bundle.source(rank, tensor);
            EXPECT_EQ(source.has_value(), tensor.bytes.has_value());
            if (source) {
                ++withBytes;
                for (const Box& box : (*source)->preferredChunks())
                    (void)(*source)->read(box, buffer); // may fail, must not crash
            }
        }
        EXPECT_EQ(withBytes, damage.withBytes);
        if (withBytes > 0 && rank.tensors[0].bytes) {
            EXPECT_EQ(valuesOf<float>(bundle, rank, rank.tensors[0]), (std::vector<float>{1, 2, 3, 4}));
        }
    }
}

TEST(Damaged, Lines)
{
    const std::string tensors = "rank00000/tensors.jsonl:4";
    checkDamage({
        {"nothing", [](const fs::path&) {}, {}},
        {"unknown keys are no damage", addTensor({{"new_key", {1, {{"deep", true}}}}, {"folds", "00ff"}}), {}, 4, 4},
        {"fold", addTensor({{"fold", "00ff00ff00ff00ff"}}), {}, 4, 4},
        {"a fold that is none", addTensor({{"fold", "00ff"}}), {tensors, "`fold` is no hash: 16 hexadecimal digits"}},
        {"null counts as absent", addTensor({{"file", nullptr}, {"stats", nullptr}, {"placement", nullptr}}), {}, 4, 3},
        {"torn last line", [](const fs::path& rank) { appendText(rank / "tensors.jsonl", "{\"id\": 3, \"st"); }, {tensors, "torn"}},
        {"torn though complete JSON",
         [](const fs::path& rank) {
             std::string line = tensorLine({});
             line.pop_back();
             appendText(rank / "tensors.jsonl", line);
         },
         {tensors, "torn"}},
        {"truncated in the middle of the last record",
         [](const fs::path& rank) { fs::resize_file(rank / "tensors.jsonl", fs::file_size(rank / "tensors.jsonl") - 10); },
         {"rank00000/tensors.jsonl:3", "torn"},
         2,
         2},
        {"empty tensors.jsonl", [](const fs::path& rank) { writeText(rank / "tensors.jsonl", ""); }, {}, 0, 0},
        {"one bad line among good ones",
         [](const fs::path& rank) {
             std::string text = readText(rank / "tensors.jsonl");
             text.insert(text.find('\n') + 1, "{\"id\": oops}\n");
             writeText(rank / "tensors.jsonl", text);
         },
         {"rank00000/tensors.jsonl:2", "not JSON", "skipped"}},
        {"a list", addLine("tensors.jsonl", "[1, 2]"), {tensors, "no JSON object"}},
        {"a number", addLine("tensors.jsonl", "7"), {tensors, "no JSON object"}},
        {"an empty line", addLine("tensors.jsonl", ""), {tensors, "blank"}},
        {"garbage after the object", addLine("tensors.jsonl", "{} {}"), {tensors, "not JSON"}},
        {"an object that does not end", addLine("tensors.jsonl", "{\"id\": 5, "), {tensors, "not JSON"}},
        {"bare NaN", addLine("scalars.jsonl", R"({"step": 0, "name": "x", "value": NaN})"), {"rank00000/scalars.jsonl:4", "not JSON"}},
        {"not UTF-8", addLine("tensors.jsonl", "{\"module\": \"\xff\xfe\"}"), {tensors, "not UTF-8"}},
        {"NUL bytes", addLine("tensors.jsonl", std::string(200, '\0')), {tensors, "not JSON"}},
        {"deeply nested",
         addLine("tensors.jsonl", "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}"),
         {tensors, "not JSON"}},
        {"a long string", addTensor({{"module", std::string(3 << 20, 'm')}}), {}, 4, 4},
        {"a line beyond the limit",
         addLine("tensors.jsonl", "{\"x\": \"" + std::string(LineReader::kMaxLine, 'x') + "\"}"),
         {tensors, "longer than 16777216 bytes"}},
        {"an integer beyond 64 bits", addLine("tensors.jsonl", R"({"id": 99999999999999999999})"), {tensors, "skipped"}},
    });
}

TEST(Damaged, Keys)
{
    const std::string tensors = "rank00000/tensors.jsonl:4";
    std::vector<Damage> cases;
    for (const char* key : {"id", "step", "micro", "phase", "kind", "module", "order", "dtype", "shape", "digest"}) {
        cases.push_back({key, addTensor({{key, nullptr}}), {tensors, fmt::format("the key `{}` is missing", key)}});
        cases.push_back({key, addTensor({{key, true}}), {tensors, fmt::format("`{}` is not", key)}});
    }
    for (const char* key : {"call", "offset", "frame_size"})
        cases.push_back({key, addTensor({{key, "1"}}), {tensors, fmt::format("`{}` is not an integer", key)}});
    for (const char* key : {"level", "slot", "param", "not_observed", "file", "codec", "filter"})
        cases.push_back({key, addTensor({{key, 1}}), {tensors, fmt::format("`{}` is not a string", key)}});
    for (const char* key : {"global_shape", "global_offset", "sample_ids", "frames"}) {
        cases.push_back({key, addTensor({{key, 1}}), {tensors, fmt::format("`{}` is not a list of integers", key)}});
        cases.push_back({key, addTensor({{key, {1, 2.5}}}), {tensors, fmt::format("`{}` is not a list of integers", key)}});
    }
    const std::vector<Damage> more = {
        {"offset missing", addTensor({{"offset", nullptr}}), {tensors, "the key `offset` is missing"}},
        {"recompute", addTensor({{"recompute", 1}}), {tensors, "`recompute` is neither true nor false"}},
        {"negative id", addTensor({{"id", -1}}), {tensors, "`id` is -1"}},
        {"negative step", addTensor({{"step", -1}}), {tensors, "`step` is -1"}},
        {"step beyond int", addTensor({{"step", 3000000000}}), {tensors, "`step` is 3000000000, which is out of range"}},
        {"float step", addTensor({{"step", 1.0}}), {tensors, "`step` is not an integer"}},
        {"unsigned beyond int64", addTensor({{"order", 18446744073709551615u}}), {tensors, "`order` is not an integer"}},
        {"param needed", addTensor({{"kind", "grad"}}), {tensors, "the key `param` is missing"}},
        {"param given", addTensor({{"kind", "grad"}, {"param", ""}}), {}, 4, 4},
        {"micro not needed", addTensor({{"phase", "reduce"}, {"micro", nullptr}}), {}, 4, 4},
        {"unknown dtype", addTensor({{"dtype", "float4"}}), {tensors, "`dtype` \"float4\" is unknown"}},
        {"unknown phase", addTensor({{"phase", "later"}}), {tensors, "`phase` \"later\" is unknown"}},
        {"unknown kind", addTensor({{"kind", "kind"}}), {tensors, "`kind` \"kind\" is unknown"}},
        {"unknown level", addTensor({{"level", "kernel"}}), {tensors, "`level` \"kernel\" is unknown"}},
        {"control characters are not repeated", addTensor({{"phase", "\x1b[31m" + std::string(1000, 'p')}}), {"\"?[31mppp", "ppp...\""}},
        {"short digest", addTensor({{"digest", "abc"}}), {tensors, "no SHA-256"}},
        {"digest of other letters", addTensor({{"digest", std::string(64, 'g')}}), {tensors, "no SHA-256"}},
        {"not observed needs no digest", addTensor({{"digest", nullptr}, {"not_observed", "graph capture"}}), {}, 4, 3},
        {"the same id", addTensor({{"id", 1}}), {tensors, "`id` 1 is there already"}},
        {"stats no object", addTensor({{"stats", 3}}), {tensors, "`stats` is not an object"}},
        {"stats of wrong type", addTensor({{"stats", {{"min", true}}}}), {tensors, "`stats.min` is neither a number"}},
        {"stats of wrong text", addTensor({{"stats", {{"l2", "nan"}}}}), {tensors, "`stats.l2` is neither a number"}},
        {"stats counts negative", addTensor({{"stats", {{"nan", -1}}}}), {tensors, "`stats.nan` is -1"}},
        {"stats of texts", addTensor({{"stats", {{"min", "NaN"}, {"max", "Infinity"}, {"mean", "-Infinity"}, {"l2", nullptr}}}}), {}, 4, 4},
        {"placement no list", addTensor({{"placement", 3}}), {tensors, "`placement` is not a list of objects"}},
        {"placement of numbers", addTensor({{"placement", {3}}}), {tensors, "`placement` is not a list of objects"}},
        {"placement without type", addTensor({{"placement", {{{"axis", "dp"}}}}}), {tensors, "`placement[0].type` is missing"}},
        {"placement unknown", addTensor({{"placement", {{{"axis", "dp"}, {"type", "smeared"}}}}}), {tensors, "\"smeared\" is neither"}},
        {"placement dim outside",
         addTensor({{"placement", {{{"axis", "tp"}, {"type", "shard"}, {"dim", 1}}}}}),
         {tensors, "`placement[0].dim` is 1"}},
        {"placement dim negative",
         addTensor({{"placement", {{{"axis", "tp"}, {"type", "shard"}, {"dim", -1}}}}}),
         {tensors, "`placement[0].dim` is -1"}},
        {"placement op unknown",
         addTensor({{"placement", {{{"axis", "tp"}, {"type", "partial"}, {"op", "max"}}}}}),
         {tensors, "\"max\" is neither sum nor mean"}},
        {"more dimensions than PyTorch has", addTensor({{"shape", std::vector<int>(65, 1)}}), {tensors, "`shape` has 65 dimensions"}},
        {"the whole has another rank", addTensor({{"global_shape", {6, 1}}}), {tensors, "does not fit into the whole"}, 4, 4},
        {"the piece leaves the whole",
         addTensor({{"global_shape", {6}}, {"global_offset", {4}}}),
         {tensors, "does not fit into the whole"},
         4,
         4},
        {"offset without a whole", addTensor({{"global_offset", {0}}}), {tensors, "does not fit into the whole"}, 4, 4},
        {"the whole overflows",
         addTensor(
             {{"global_shape", {std::numeric_limits<std::int64_t>::max()}}, {"global_offset", {std::numeric_limits<std::int64_t>::max()}}}),
         {tensors, "does not fit into the whole"},
         4,
         4},
        {"the piece fits", addTensor({{"global_shape", {6}}, {"global_offset", {3}}}), {}, 4, 4},
    };
    cases.insert(cases.end(), more.begin(), more.end());
    checkDamage(cases);
}

TEST(Damaged, GraphAndScalarLines)
{
    const std::string graph = "rank00000/graph.jsonl:5";
    const std::string scalars = "rank00000/scalars.jsonl:4";
    checkDamage({
        {"no type", addLine("graph.jsonl", R"({"path": ""})"), {graph, "`type` is missing"}},
        {"type no text", addLine("graph.jsonl", R"({"type": 1})"), {graph, "`type` is not a string"}},
        {"unknown type", addLine("graph.jsonl", R"({"type": "kernel"})"), {"1 line of type \"kernel\"", "ignored"}},
        {"module without class",
         addLine("graph.jsonl", R"({"type": "module", "path": "a", "parameters": [], "buffers": []})"),
         {graph, "`class` is missing"}},
        {"parameters of wrong type",
         addLine("graph.jsonl", R"({"type": "module", "path": "a", "class": "A", "parameters": [1], "buffers": []})"),
         {graph, "`parameters` is not a list of strings"}},
        {"call without order",
         addLine("graph.jsonl", R"({"type": "call", "step": 0, "micro": 0, "module": "a", "call": 0, "training": true})"),
         {graph, "`order` is missing"}},
        {"parent of wrong type",
         addLine("graph.jsonl",
                 R"({"type": "call", "step": 0, "micro": 0, "module": "a", "call": 0, "order": 1, "parent": 3, "training": true})"),
         {graph, "`parent` is not a string"}},
        {"backward without root",
         addLine("graph.jsonl", R"({"type": "backward", "step": 0, "micro": 0, "order": 1})"),
         {graph, "`root` is missing"}},
        {"edge without end",
         addLine("graph.jsonl", R"({"type": "edge", "step": 0, "micro": 0, "from": {"module": "a", "call": 0, "slot": ""}})"),
         {graph, "`to` is missing"}},
        {"edge with a bad end",
         addLine("graph.jsonl", R"({"type": "edge", "step": 0, "micro": 0, "from": {"call": 0}, "to": {"module": "a"}})"),
         {graph, "`from.module` is missing"}},
        {"tie without names", addLine("graph.jsonl", R"({"type": "tie"})"), {graph, "`names` is missing"}},
        {"scalar without value", addLine("scalars.jsonl", R"({"step": 0, "name": "loss"})"), {scalars, "`value` is missing"}},
        {"scalar of wrong text",
         addLine("scalars.jsonl", R"({"step": 0, "name": "loss", "value": "low"})"),
         {scalars, "`value` is neither"}},
        {"graph.jsonl missing",
         [](const fs::path& rank) { fs::remove(rank / "graph.jsonl"); },
         {"rank00000/graph.jsonl: the file is missing"}},
        {"scalars.jsonl missing",
         [](const fs::path& rank) { fs::remove(rank / "scalars.jsonl"); },
         {"rank00000/scalars.jsonl: the file is missing"}},
        {"tensors.jsonl missing",
         [](const fs::path& rank) { fs::remove(rank / "tensors.jsonl"); },
         {"rank00000/tensors.jsonl: the file is missing: this rank has no tensors"},
         0,
         0},
    });
}

TEST(Damaged, ClaimsAboutBytes)
{
    const std::int64_t max = std::numeric_limits<std::int64_t>::max();
    const std::string tensors = "rank00000/tensors.jsonl:4";
    const std::string bin = "rank00000/tensors-0000.bin";
    const auto zstd = [](nlohmann::json frames, nlohmann::json more = nlohmann::json::object()) {
        nlohmann::json changes = {{"codec", "zstd"}, {"frames", std::move(frames)}};
        changes.merge_patch(more);
        return addTensor(changes);
    };
    checkDamage({
        {"no .bin",
         [](const fs::path& rank) { fs::remove(rank / "tensors-0000.bin"); },
         {bin + ": the file is missing (needed by rank00000/tensors.jsonl:1); 3 tensors are read without bytes"},
         3,
         0},
        {"short .bin",
         [](const fs::path& rank) { fs::resize_file(rank / "tensors-0000.bin", 130); },
         {bin, "bytes 128 to 144 are past the end of tensors-0000.bin, which has 130 bytes", "tensors.jsonl:3", "1 tensor is read"},
         3,
         2},
        {"empty .bin", [](const fs::path& rank) { fs::resize_file(rank / "tensors-0000.bin", 0); }, {bin, "3 tensors are"}, 3, 0},
        {".bin is a folder",
         [](const fs::path& rank) {
             fs::remove(rank / "tensors-0000.bin");
             fs::create_directory(rank / "tensors-0000.bin");
         },
         {bin, "is a folder"},
         3,
         0},
        {".bin is a link",
         [](const fs::path& rank) {
             fs::rename(rank / "tensors-0000.bin", rank / "real.bin");
             fs::create_symlink("real.bin", rank / "tensors-0000.bin");
         },
         {bin, "links in a bundle are not followed"},
         3,
         0},
        {".bin is a named pipe",
         [](const fs::path& rank) {
             fs::remove(rank / "tensors-0000.bin");
             ASSERT_EQ(::mkfifo((rank / "tensors-0000.bin").c_str(), 0600), 0);
         },
         {bin, "no regular file"},
         3,
         0},
        {"another file that is missing", addTensor({{"file", "tensors-0001.bin"}}), {"tensors-0001.bin: the file is missing"}, 4, 3},
        {"path escape", addTensor({{"file", "../../secret"}}), {tensors, "no plain file name"}, 4, 3},
        {"absolute path", addTensor({{"file", "/etc/passwd"}}), {tensors, "no plain file name"}, 4, 3},
        {"dot dot", addTensor({{"file", ".."}}), {tensors, "no plain file name"}, 4, 3},
        {"empty name", addTensor({{"file", ""}}), {tensors, "no plain file name"}, 4, 3},
        {"name with NUL", addTensor({{"file", std::string("a\0b", 3)}}), {tensors, "no plain file name"}, 4, 3},
        {"offset past the end", addTensor({{"offset", 6400}}), {bin, "past the end"}, 4, 3},
        {"offset near 2^63", addTensor({{"offset", max - 63}}), {bin, "past the end"}, 4, 3},
        {"negative offset", addTensor({{"offset", -64}}), {tensors, "the offset -64 is negative"}, 4, 3},
        {"odd offset", addTensor({{"offset", 65}}), {tensors, "65 is not a multiple of 64"}, 4, 3},
        {"shape larger than the file", addTensor({{"shape", {1000}}}), {bin, "past the end"}, 4, 3},
        {"shape that overflows", addTensor({{"shape", {max, max}}}), {tensors, "is impossible"}, 4, 3},
        {"shape whose bytes overflow", addTensor({{"shape", {max}}}), {tensors, "is impossible"}, 4, 3},
        {"negative shape", addTensor({{"shape", {-3}}}), {tensors, "is impossible"}, 4, 3},
        {"unknown codec", addTensor({{"codec", "lz77"}}), {tensors, "codec \"lz77\" is unknown"}, 4, 3},
        {"unknown filter", addTensor({{"filter", "delta"}}), {tensors, "filter \"delta\" is unknown"}, 4, 3},
        {"zstd without frames", addTensor({{"codec", "zstd"}}), {tensors, "0 frames"}, 4, 3},
        {"too many frames", zstd({6, 6}), {tensors, "2 frames of 1048576 bytes do not make the 12 bytes"}, 4, 3},
        {"negative frame", zstd({-6}), {tensors, "-6 stored bytes"}, 4, 3},
        {"frame of no bytes at all is caught when it is read", zstd({0}), {}, 4, 4},
        {"frame beyond the file", zstd({1000}), {bin, "past the end"}, 4, 3},
        {"frame sizes that overflow", zstd({max, max, max}, {{"frame_size", 4}}), {tensors, "frame 0 claims"}, 4, 3},
        {"frame size 0", zstd({6}, {{"frame_size", 0}}), {tensors, "frame size 0"}, 4, 3},
        {"frame size negative", zstd({6}, {{"frame_size", -1}}), {tensors, "frame size"}, 4, 3},
        {"frame size huge", zstd({6}, {{"frame_size", max}}), {tensors, "frame size"}, 4, 3},
        {"a frame that would shrink more than zstd can",
         zstd({4}, {{"frame_size", 1 << 28}, {"shape", {1 << 26}}}),
         {tensors, "claims 4 stored bytes for 268435456"},
         4,
         3},
        {"raw ignores frame sizes", addTensor({{"frame_size", 0}, {"frames", {1, 2}}}), {}, 4, 4},
    });
}

TEST(Damaged, Documents)
{
    const std::string deep = "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
    checkDamage({
        {"no bundle.json",
         [](const fs::path& rank) { fs::remove(rank.parent_path() / "bundle.json"); },
         {"bundle.json: the file is missing: the run is read from its ranks"}},
        {"bundle.json no JSON",
         [](const fs::path& rank) { writeText(rank.parent_path() / "bundle.json", "{\"name\": "); },
         {"bundle.json: is not JSON in UTF-8", "read from its ranks"}},
        {"bundle.json empty",
         [](const fs::path& rank) { writeText(rank.parent_path() / "bundle.json", ""); },
         {"bundle.json: is not JSON"}},
        {"bundle.json a list",
         [](const fs::path& rank) { writeText(rank.parent_path() / "bundle.json", "[]"); },
         {"bundle.json: is no JSON object"}},
        {"bundle.json not UTF-8",
         [](const fs::path& rank) { writeText(rank.parent_path() / "bundle.json", "{\"name\": \"\xff\"}"); },
         {"bundle.json: is not JSON in UTF-8"}},
        {"bundle.json deep",
         [deep](const fs::path& rank) { writeText(rank.parent_path() / "bundle.json", deep); },
         {"bundle.json: is nested more than 64"}},
        {"bundle.json huge",
         [](const fs::path& rank) { writeText(rank.parent_path() / "bundle.json", std::string((16 << 20) + 1, ' ')); },
         {"bundle.json: has 16777217 bytes"}},
        {"bundle.json a number beyond double",
         [](const fs::path& rank) { writeText(rank.parent_path() / "bundle.json", "{\"a\": 1e999}"); },
         {"bundle.json: is not JSON"}},
        {"bundle.json a folder",
         [](const fs::path& rank) {
             fs::remove(rank.parent_path() / "bundle.json");
             fs::create_directory(rank.parent_path() / "bundle.json");
         },
         {"bundle.json: is a folder"}},
        {"bundle.json a link",
         [](const fs::path& rank) {
             fs::rename(rank.parent_path() / "bundle.json", rank.parent_path() / "other.json");
             fs::create_symlink("other.json", rank.parent_path() / "bundle.json");
         },
         {"bundle.json: is a link"}},
        {"bundle.json an empty object",
         [](const fs::path& rank) { writeText(rank.parent_path() / "bundle.json", "{}"); },
         {"bundle.json: `format` is not", "bundle.json: `version` is not", "`name` is missing"}},
        {"name of wrong type", setBundle("name", 3), {"bundle.json: `name` is missing or not a string"}},
        {"world_size of wrong type", setBundle("world_size", "1"), {"bundle.json: `world_size` is no number of ranks"}},
        {"world_size 0", setBundle("world_size", 0), {"bundle.json: `world_size` is no number of ranks"}},
        {"world_size negative", setBundle("world_size", -7), {"bundle.json: `world_size` is no number of ranks"}},
        {"world_size absurd", setBundle("world_size", 2147483647), {"bundle.json: `world_size` is no number of ranks"}},
        {"world_size beyond 64 bits", setBundle("world_size", 1e30), {"bundle.json: `world_size` is no number of ranks"}},
        {"version of wrong type", setBundle("version", "1.0"), {"bundle.json: `version` is not [major, minor]"}},
        {"version of one number", setBundle("version", {1}), {"bundle.json: `version` is not [major, minor]"}},
        {"newer minor version", setBundle("version", {1, 7}), {"bundle.json: was written in the newer format version 1.7"}},
        {"no rank.json",
         [](const fs::path& rank) { fs::remove(rank / "rank.json"); },
         {"rank00000/rank.json: the file is missing: the environment and configuration of this rank are unknown"}},
        {"rank.json no JSON", [](const fs::path& rank) { writeText(rank / "rank.json", "no"); }, {"rank00000/rank.json: is not JSON"}},
        {"rank of wrong type", setRank("rank", "zero"), {"rank00000/rank.json: `rank` is no rank number"}},
        {"rank of another folder", setRank("rank", 5), {"rank00000/rank.json: `rank` is 5, but the folder is that of rank 0"}},
        {"still recording", setRank("status", "recording"), {"rank00000/rank.json: the recording has no end"}},
        {"failed",
         [](const fs::path& rank) {
             setRank("status", "failed")(rank);
             setRank("error", "ValueError: \n x")(rank);
         },
         {"rank00000/rank.json: the script failed while it was recorded: ValueError: ? x"}},
        {"unknown status", setRank("status", 1), {"rank00000/rank.json: `status` is neither"}},
        {"another launch", setRank("run_id", "other"), {"rank00000/rank.json: `run_id` differs"}},
        {"another world", setRank("world_size", 9), {"rank00000/rank.json: `world_size` differs"}},
        {"a second folder of the rank",
         [](const fs::path& rank) { fs::copy(rank, rank.parent_path() / "rank000000", fs::copy_options::recursive); },
         {"rank000000: is a second folder of rank 0"}},
        {"a linked rank",
         [](const fs::path& rank) { fs::create_directory_symlink(rank, rank.parent_path() / "rank00001"); },
         {"rank00001: is a link, which is not followed"}},
    });
}

TEST(Damaged, AFloodOfBadLinesIsCountedNotListed)
{
    checkDamage({{"flood",
                  [](const fs::path& rank) {
                      std::string flood;
                      for (int i = 0; i < 100000; ++i)
                          flood += "{}\n";
                      appendText(rank / "tensors.jsonl", flood);
                      flood.clear();
                      for (int i = 0; i < 5000; ++i)
                          flood += tensorLine({{"id", 1000 + i}, {"file", fmt::format("missing-{}", i)}});
                      appendText(rank / "tensors.jsonl", flood);
                  },
                  {"tensors.jsonl:4", "more lines have problems"},
                  5003,
                  3}});
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path());
    std::string flood;
    for (int i = 0; i < 10000; ++i)
        flood += "[]\n";
    appendText(folder / "rank00000/scalars.jsonl", flood);
    EXPECT_LT(Bundle::open(folder).value()->problems().size(), 100u);
}

TEST(Damaged, FilesThatMayNotBeRead)
{
    if (::geteuid() == 0)
        GTEST_SKIP() << "root may read everything";
    checkDamage({
        {"tensors.jsonl",
         [](const fs::path& rank) { fs::permissions(rank / "tensors.jsonl", fs::perms::none); },
         {"tensors.jsonl: cannot be opened: Permission denied"},
         0,
         0},
        {".bin",
         [](const fs::path& rank) { fs::permissions(rank / "tensors-0000.bin", fs::perms::none); },
         {"tensors-0000.bin: cannot be opened: Permission denied"},
         3,
         0},
    });
}

TEST(Damaged, RandomBytesNeverCrash)
{
    // Not a fuzzer, but it walks through every file on every run of the tests: flips, cuts, repeats and swaps pieces, then reads
    // everything.
    std::mt19937_64 random(51);
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path());
    const fs::path rank = folder / "rank00000";
    {
        // A compressed tensor too: rewritten with its own index, since the writer never opens a rank again.
        fs::remove_all(rank);
        RankWriter writer = RankWriter::create(folder, 0).value();
        std::vector<float> values(3000);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i % 100);
        TensorRecord made = record(Phase::Forward, Kind::Output, "m", {30, 100});
        made.globalShape = {60, 100};
        made.globalOffset = {30, 0};
        made.placement = {{"dp", Placement::Type::Shard, 0, ""}};
        made.bytes.emplace().codec = Codec::Zstd;
        made.bytes->filter = Filter::Shuffle;
        made.bytes->frameSize = 5000;
        ASSERT_TRUE(writer.tensor(made, bytesOf(values)));
        ASSERT_TRUE(writer.tensor(record(Phase::Start, Kind::Param, "m", {2}), bytesOf(std::vector<float>{1, 2})));
        ASSERT_TRUE(writer.module({"m", "Linear", "", {"weight"}, {}}));
        ASSERT_TRUE(writer.edge({0, 0, {"a", 0, ""}, {"b", 0, ""}, false}));
        ASSERT_TRUE(writer.scalar({0, 0, "loss", 1.5}));
        ASSERT_TRUE(writer.info(rankInfo(1)));
    }
    const fs::path files[] = {folder / "bundle.json", rank / "rank.json",     rank / "tensors.jsonl",
                              rank / "graph.jsonl",   rank / "scalars.jsonl", rank / "tensors-0000.bin"};
    std::vector<std::string> good;
    for (const fs::path& file : files)
        good.push_back(readText(file));
    const std::string_view splices[]
        = {"9223372036854775807", "-1", "\"", "{", "]", "null", "1e308", "\\u0000", "\n", ",", "\xff", "[[[[", "64"};
    int opened = 0;
    for (int round = 0; round < 1500; ++round) {
        SCOPED_TRACE(round);
        const std::size_t which = random() % std::size(files);
        std::string text = good[which];
        for (auto changes = 1 + random() % 3; changes > 0 && !text.empty(); --changes) {
            const std::size_t at = random() % text.size();
            switch (random() % 5) {
            case 0:
                text[at] = static_cast<char>(random() & 0xff);
                break;
            case 1:
                text.resize(at);
                break;
            case 2:
                text.insert(at, text.substr(random() % text.size(), random() % 200));
                break;
            case 3:
                text.replace(at, random() % 8, splices[random() % std::size(splices)]);
                break;
            case 4:
                text.erase(at, random() % 20);
                break;
            }
        }
        writeText(files[which], text);
        const auto bundle = Bundle::open(folder);
        if (bundle) {
            ++opened;
            EXPECT_TRUE(verify(**bundle));
            for (const Problem& problem : (*bundle)->problems())
                EXPECT_FALSE(problem.message.empty());
        } else {
            EXPECT_FALSE(bundle.error().message.empty());
        }
        writeText(files[which], good[which]);
    }
    EXPECT_GT(opened, 1400);
}

// ---- Several ranks
// ---------------------------------------------------------------------------------------------------------------------------

TEST(Ranks, AMissingOneIsReportedAndTheOthersAreRead)
{
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path(), 6);
    for (const char* rank : {"rank00001", "rank00003", "rank00004"})
        fs::remove_all(folder / rank);
    const auto bundle = Bundle::open(folder).value();
    EXPECT_EQ(bundle->worldSize(), 6);
    ASSERT_EQ(bundle->ranks().size(), 3u);
    EXPECT_EQ(bundle->ranks()[1].rank, 2);
    EXPECT_EQ(bundle->rank(1), nullptr);
    EXPECT_EQ(bundle->rank(5), &bundle->ranks()[2]);
    EXPECT_NE(problemsText(bundle->problems()).find("3 of 6 ranks are missing: 1, 3-4"), std::string::npos)
        << problemsText(bundle->problems());
    EXPECT_EQ(valuesOf<float>(*bundle, bundle->ranks()[2], bundle->ranks()[2].tensors[1]), (std::vector<float>{5, 6, 7}));
}

TEST(Ranks, ARefusedOneCountsAsMissing)
{
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path(), 3);
    replaceText(folder / "rank00001/rank.json", "forkpoint-rank", "strange-rank");
    const auto bundle = Bundle::open(folder).value();
    ASSERT_EQ(bundle->ranks().size(), 2u);
    const std::string problems = problemsText(bundle->problems());
    EXPECT_NE(problems.find("rank00001/rank.json: `format` is \"strange-rank\""), std::string::npos) << problems;
    EXPECT_NE(problems.find("1 of 3 ranks are missing: 1"), std::string::npos) << problems;
}

TEST(Ranks, MoreThanTheWorldSizeSays)
{
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path(), 3);
    ASSERT_TRUE(writeBundleInfo(folder, bundleInfo(2)));
    const auto bundle = Bundle::open(folder).value();
    EXPECT_EQ(bundle->worldSize(), 3);
    EXPECT_NE(problemsText(bundle->problems()).find("`world_size` is 2, but there is a rank 2"), std::string::npos);
}

TEST(Ranks, OneOpenedAlone)
{
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path(), 3);
    const auto bundle = Bundle::open(folder / "rank00002").value();
    EXPECT_EQ(bundle->name(), "made");
    EXPECT_EQ(bundle->worldSize(), 3);
    ASSERT_EQ(bundle->ranks().size(), 1u);
    EXPECT_EQ(bundle->ranks()[0].rank, 2);
    ASSERT_EQ(bundle->problems().size(), 1u);
    EXPECT_EQ(bundle->problems()[0].level, Problem::Level::Note);
    EXPECT_NE(bundle->problems()[0].message.find("rank 2"), std::string::npos);
    EXPECT_EQ(valuesOf<float>(*bundle, bundle->ranks()[0], bundle->ranks()[0].tensors[2]), (std::vector<float>{8, 9, 10, 11}));

    // Copied elsewhere under another name, through a link that the user named: the number comes from rank.json.
    fs::rename(folder / "rank00001", temp.path() / "copy");
    fs::create_directory_symlink(temp.path() / "copy", temp.path() / "link");
    for (const char* name : {"copy", "link"}) {
        const auto copy = Bundle::open(temp.path() / name).value();
        EXPECT_EQ(copy->ranks()[0].rank, 1);
        EXPECT_EQ(valuesOf<float>(*copy, copy->ranks()[0], copy->ranks()[0].tensors[1]), (std::vector<float>{5, 6, 7}));
    }
    // Without rank.json its index still makes it a rank.
    fs::remove(temp.path() / "copy/rank.json");
    EXPECT_EQ(Bundle::open(temp.path() / "copy").value()->ranks()[0].tensors.size(), 3u);
}

TEST(Ranks, AForeignFolderOfTheSameNameDoesNotHideTheBundle)
{
    // The recorder's --out runs/made makes runs/made.forkpoint, and training often has a folder runs/made of its own.
    TempFolder temp;
    makeBundle(temp.path());
    fs::create_directory(temp.path() / "made");
    writeText(temp.path() / "made/checkpoint.pt", "x");
    EXPECT_EQ(Bundle::open(temp.path() / "made").value()->path(), temp.path() / "made.forkpoint");
}

// ---- Changes while the bundle is open
// ----------------------------------------------------------------------------------------------------------

TEST(Changed, AFileThatShrinksIsAnErrorNotACrash)
{
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path());
    const auto bundle = Bundle::open(folder).value();
    const RankData& rank = bundle->ranks()[0];
    const TensorSourcePtr source = bundle->source(rank, rank.tensors[2]).value();
    fs::resize_file(folder / "rank00000/tensors-0000.bin", 136);
    ReadBuffer buffer;
    const auto bytes = source->read(Box::whole(source->shape()), buffer);
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().code, ErrorCode::Truncated);
    EXPECT_NE(bytes.error().text().find("rank00000/tensors-0000.bin"), std::string::npos) << bytes.error().text();
    EXPECT_TRUE(source->read({{0, 0}, {1, 2}}, buffer)); // what is still there
    const auto again = bundle->source(rank, rank.tensors[2]);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::Truncated);
    EXPECT_EQ(valuesOf<float>(*bundle, rank, rank.tensors[0]), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Changed, CompressedBytesThatRotAreAnError)
{
    TempFolder temp;
    const fs::path folder = temp.path() / "z.forkpoint";
    {
        RankWriter writer = RankWriter::create(folder, 0).value();
        TensorRecord made = record(Phase::Start, Kind::Param, "m", {1000});
        made.bytes.emplace().codec = Codec::Zstd;
        made.bytes->filter = Filter::Shuffle;
        std::vector<float> values(1000);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i) * 0.37f;
        ASSERT_TRUE(writer.tensor(made, bytesOf(values)));
        ASSERT_TRUE(writer.info(rankInfo(1)));
    }
    const std::string good = readText(folder / "rank00000/tensors-0000.bin");
    for (std::size_t at = 0; at < good.size(); at += 37) {
        std::string bad = good;
        bad[at] = static_cast<char>(~bad[at]);
        writeText(folder / "rank00000/tensors-0000.bin", bad);
        const auto bundle = Bundle::open(folder).value();
        const RankData& rank = bundle->ranks()[0];
        const TensorSourcePtr source = bundle->source(rank, rank.tensors[0]).value();
        ReadBuffer buffer;
        const auto bytes = source->read(Box::whole(source->shape()), buffer);
        if (!bytes) {
            EXPECT_EQ(bytes.error().code, ErrorCode::Corrupt);
            EXPECT_NE(bytes.error().message.find("frame 0"), std::string::npos) << bytes.error().text();
        }
        const auto report = verify(*bundle).value();
        EXPECT_EQ(report.checked, 0) << at; // decompressed or not, the digest tells
        EXPECT_EQ(report.problems.size(), bundle->problems().size() + 1);
    }
    // A frame that holds something of another size.
    writeText(folder / "rank00000/tensors-0000.bin",
              std::string("\x28\xb5\x2f\xfd\x04\x58\x29\x00\x00"
                          "hello"
                          "\x9e\x5e\x6f\xdb",
                          18)
                  + good);
    const auto bundle = Bundle::open(folder).value();
    const TensorSourcePtr source = bundle->source(bundle->ranks()[0], bundle->ranks()[0].tensors[0]).value();
    ReadBuffer buffer;
    EXPECT_EQ(source->read(Box::whole(source->shape()), buffer).error().code, ErrorCode::Corrupt);
}

TEST(Changed, RecordsOfAnotherBundleAreRefused)
{
    TempFolder temp, other;
    const auto bundle = Bundle::open(makeBundle(temp.path())).value();
    const auto stranger = Bundle::open(makeBundle(other.path(), 2)).value();
    for (const RankData& rank : stranger->ranks()) {
        const auto source = bundle->source(rank, rank.tensors[0]);
        ASSERT_FALSE(source);
        EXPECT_EQ(source.error().code, ErrorCode::Usage);
    }
}

TEST(Changed, SourcesOutliveTheirBundle)
{
    TempFolder temp;
    TensorSourcePtr source;
    {
        const auto bundle = Bundle::open(makeBundle(temp.path())).value();
        source = bundle->source(bundle->ranks()[0], bundle->ranks()[0].tensors[1]).value();
    }
    ReadBuffer buffer;
    EXPECT_TRUE(source->read({{0}, {3}}, buffer));
}

} // namespace
} // namespace forkpoint::bundle
