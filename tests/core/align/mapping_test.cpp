// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/mapping_file.h"
#include "tests/support/run_builder.h"

#include <fstream>
#include <gtest/gtest.h>

// The mapping file: what is refused and how, what survives writing, and the pairs that it makes.
namespace forkpoint::align {
namespace {

using test::aligned;
using test::contains;
using test::elementsOf;
using test::f32;
using test::idsOf;
using test::pairOf;
using test::RecordedRun;

using Elements = std::vector<float>;
using Texts = std::vector<std::string>;

Mapping mappingOf(const std::string& body)
{
    auto mapping = parseMapping(R"map({"format": "forkpoint-map", "version": 1, )map" + body + "}", "map.json");
    EXPECT_TRUE(mapping) << mapping.error().text();
    return mapping.value_or(Mapping {});
}

Alignment mapped(RecordedRun& a, RecordedRun& b, const std::string& body)
{
    return aligned(a.side(), b.side(), { .stepOffset = {}, .mapping = mappingOf(body) });
}

struct Refused {
    const char* text;
    ErrorCode code;
    const char* says;
};

class MappingRefused : public testing::TestWithParam<Refused> { };

TEST_P(MappingRefused, SaysWhatAndWhere)
{
    const auto& [text, code, says] = GetParam();
    const auto mapping = parseMapping(text, "map.json");
    ASSERT_FALSE(mapping);
    EXPECT_EQ(mapping.error().code, code);
    EXPECT_TRUE(contains(mapping.error().text(), says));
    EXPECT_TRUE(contains(mapping.error().text(), "map.json"));
}

INSTANTIATE_TEST_SUITE_P(
    Files, MappingRefused,
    testing::Values(
        Refused { "", ErrorCode::Corrupt, "is no JSON" }, Refused { "{\n\"names\": [}", ErrorCode::Corrupt, "at line 2" },
        Refused { "[]", ErrorCode::Usage, "is no object" }, Refused { "{}", ErrorCode::Usage, "'format' is missing" },
        Refused { R"map({"format": "other", "version": 1})map", ErrorCode::Usage, "'format' is not" },
        Refused { R"map({"format": "forkpoint-map"})map", ErrorCode::Usage, "'version' is not 1" },
        Refused { R"map({"format": "forkpoint-map", "version": 2})map", ErrorCode::Usage, "'version' is not 1" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "name": []})map", ErrorCode::Usage, "'name' is unknown; known are format, version" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "step_offset": 2.5})map", ErrorCode::Usage, "'step_offset' is no integer" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "step_offset": 18446744073709551615})map", ErrorCode::Usage, "'step_offset' is no integer" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "names": {}})map", ErrorCode::Usage, "'names' is no array" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "names": [7]})map", ErrorCode::Usage, "names[0] is no object" },
        Refused { "{\"format\": \"forkpoint-map\", \"version\": 1, \"names\": [{\"candidate\": \"a\", \"reference\": \"b\"},\n{\"candidate\": \"(\", \"reference\": \"b\"}]}",
                  ErrorCode::Usage, "line 2: names[1]: 'candidate' is no valid regular expression: missing )" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "names": [{"candidate": "", "reference": "b"}]})map", ErrorCode::Usage, "empty" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "names": [{"candidate": "a", "reference": "\\1"}]})map", ErrorCode::Usage,
                  "names[0]: 'reference' does not fit the pattern" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "names": [{"candidate": "a"}]})map", ErrorCode::Usage, "'reference' is missing" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "names": [{"candidate": "a", "reference": 5}]})map", ErrorCode::Usage, "'reference' is no text" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "pairs": [{"candidate": "a#x", "reference": "b"}]})map", ErrorCode::Usage, "no number of a call" },
        Refused { "{\"format\": \"forkpoint-map\", \"version\": 1, \"pairs\": [\n{\"candidate\": \"a\", \"reference\": \"x\"},\n{\"candidate\": \"b\", \"reference\": \"x\"}]}",
                  ErrorCode::Usage, "line 3: 'x' of the reference has a partner already, in line 2" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "joins": [{"candidate": "a", "reference": "b"}]})map", ErrorCode::Usage, "needs a list of parts" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "joins": [{"candidate": "a", "reference": ["b"]}]})map", ErrorCode::Usage, "has 1 parts" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "joins": [{"candidate": "a", "reference": ["b", "b"]}]})map", ErrorCode::Usage, "a part twice" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "joins": [{"candidate": "a", "reference": ["b", 1]}]})map", ErrorCode::Usage, "that is no text" },
        Refused { R"map({"format": "forkpoint-map", "version": 1, "joins": [{"candidate": "a", "reference": ["b", "c"], "dim": 99}]})map", ErrorCode::Usage,
                  "'dim' is no integer from -16 to 15" }));

TEST(MappingFile, IsWrittenAsItIsRead)
{
    const auto mapping = mappingOf(R"map("step_offset": -3,
        "names": [{"candidate": "^h\\.(\\d+)", "reference": "layers.\\1"}],
        "pairs": [{"reference": "fc", "candidate": "dense"}, {"reference": "attn#1:a%3Ab", "candidate": "att%23#0:mask"}],
        "joins": [{"reference": ["attn.q", "attn.k"], "candidate": "attn\\.qk", "dim": -1, "blocks": 4}, {"reference": "up", "candidate": ["up1", "up2"]}])map");
    EXPECT_EQ(mapping.pairs[1].reference, (TensorName { "attn", 1, "a:b" }));
    EXPECT_EQ(mapping.pairs[1].candidate, (TensorName { "att#", 0, "mask" }));
    const auto text = mappingText(mapping);
    const auto again = parseMapping(text, "again.json");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(mappingText(*again), text);
    EXPECT_EQ(again->stepOffset, -3);
    EXPECT_EQ(again->names[0].candidate, "^h\\.(\\d+)");
    EXPECT_EQ(again->pairs[1].candidate, mapping.pairs[1].candidate);
    EXPECT_FALSE(again->joins[1].wholeInCandidate);
    EXPECT_EQ(again->joins[0].dim, -1);
    EXPECT_EQ(again->joins[0].blocks, 4);
    EXPECT_EQ(again->joins[1].dim, std::nullopt);
}

TEST(MappingFile, OnDisk)
{
    test::TempFolder folder;
    EXPECT_EQ(readMapping(folder.path()).error().code, ErrorCode::Usage) << "a folder";
    EXPECT_EQ(readMapping(folder.path() / "none.json").error().code, ErrorCode::NotFound);
    std::ofstream(folder.path() / "map.json") << mappingText(mappingOf(R"map("step_offset": 2)map"));
    EXPECT_EQ(readMapping(folder.path() / "map.json")->stepOffset, 2);
}

TEST(Mapped, NamesByPattern)
{
    RecordedRun a("a"), b("b");
    a.rank().start("layers.3.fc.weight", f32({ 1 }, { 1 })).output("layers.3.fc", f32({ 1 }, { 2 }));
    b.rank().start("module.h.3.fc.weight", f32({ 1 }, { 1 })).output("module.h.3.fc", f32({ 1 }, { 2 }));
    const auto alignment = mapped(a, b, "\n\"names\": [{\"candidate\": \"^h\\\\.\", \"reference\": \"layers.\"}]");
    EXPECT_EQ(idsOf(alignment), (Texts { "s0/start/param/layers.3.fc.weight", "s0/forward/output/layers.3.fc" }));
    for (const auto& pair : alignment.pairs) {
        EXPECT_EQ(pair.rule, Rule::Mapped);
        EXPECT_EQ(pair.mappedBy, "map.json, line 2");
    }
    EXPECT_EQ(name(Rule::Mapped), "mapped");
}

TEST(Mapped, AModuleTakesAlongWhatIsBelowIt)
{
    RecordedRun a("a"), b("b");
    a.rank().start("enc.attn.q.weight", f32({ 1 }, { 1 })).start("enc.attn2.q.weight", f32({ 1 }, { 1 }));
    b.rank().start("enc.att.q.weight", f32({ 1 }, { 1 })).start("enc.attn2.q.weight", f32({ 1 }, { 1 }));
    const auto alignment = mapped(a, b, R"map("pairs": [{"reference": "enc.attn", "candidate": "enc.att"}])map");
    EXPECT_EQ(pairOf(alignment, "s0/start/param/enc.attn.q.weight").rule, Rule::Mapped);
    EXPECT_EQ(pairOf(alignment, "s0/start/param/enc.attn2.q.weight").rule, Rule::Exact) << "a name that only begins alike";
    EXPECT_EQ(alignment.renames.count("enc.att"), 0u) << "no module of this name was recorded";
}

TEST(Mapped, TheGraphIsToldOfModules)
{
    RecordedRun a("a"), b("b");
    a.rank().module("", "Net").module("fc", "Linear", { "weight" }).module("out", "Linear", { "weight" }).output("fc", f32({ 1 }, { 1 })).output("out", f32({ 1 }, { 2 }));
    b.rank().module("", "Net").module("d1", "Linear", { "weight" }).module("d2", "Linear", { "weight" }).output("d1", f32({ 1 }, { 2 })).output("d2", f32({ 1 }, { 1 }));
    const auto alignment = mapped(a, b, R"map("pairs": [{"reference": "fc", "candidate": "d2"}])map");
    EXPECT_EQ(alignment.renames, (std::map<std::string, std::string> { { "d1", "out" }, { "d2", "fc" } })) << "the ladder takes what the mapping leaves";
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/fc").rule, Rule::Mapped);
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/out").rule, Rule::ClassOrder);
}

TEST(Mapped, TwoNamesMayBeSwapped)
{
    RecordedRun a("a"), b("b");
    a.rank().start("x.weight", f32({ 1 }, { 1 })).start("y.weight", f32({ 1 }, { 2 }));
    b.rank().start("x.weight", f32({ 1 }, { 2 })).start("y.weight", f32({ 1 }, { 1 }));
    const auto alignment = mapped(a, b, R"map("pairs": [{"reference": "x", "candidate": "y"}, {"reference": "y", "candidate": "x"}])map");
    EXPECT_EQ(elementsOf(alignment.b, pairOf(alignment, "s0/start/param/x.weight").lanes[0].b), (Elements { 1 }));
}

TEST(Mapped, OneCallAndOneSlot)
{
    RecordedRun a("a"), b("b");
    a.rank().output("norm", f32({ 1 }, { 1 }), { .slot = "0" }).output("norm", f32({ 1 }, { 2 }), { .slot = "1" });
    b.rank().output("norm", f32({ 1 }, { 2 }), { .slot = "0" }).output("norm", f32({ 1 }, { 1 }), { .slot = "1" });
    const auto alignment = mapped(a, b, R"map("pairs": [{"reference": "norm:0", "candidate": "norm:1"}, {"reference": "norm:1", "candidate": "norm:0"}])map");
    EXPECT_EQ(elementsOf(alignment.b, pairOf(alignment, "s0/forward/output/norm:1").lanes[0].b), (Elements { 2 }));
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/norm:1").rule, Rule::Mapped);
}

TEST(Mapped, TheStepOffsetUnlessOneIsGiven)
{
    RecordedRun a("a"), b("b");
    a.rank().step(0).start("fc.weight", f32({ 1 }, { 1 }));
    b.rank().step(5).start("fc.weight", f32({ 1 }, { 1 })).step(6).start("fc.weight", f32({ 1 }, { 2 }));
    EXPECT_EQ(mapped(a, b, R"map("step_offset": 5)map").stepOffset, 5);
    EXPECT_EQ(aligned(a.side(), b.side(), { .stepOffset = 6, .mapping = mappingOf(R"map("step_offset": 5)map") }).stepOffset, 6);
}

/// Queries, keys and values apart in A; fused in B.
struct FusedPair {
    RecordedRun a { "apart" }, b { "fused" };
    const std::string map = R"map("joins": [{"candidate": "attn\\.qkv", "reference": ["attn.q", "attn.k", "attn.v"]}])map";
    FusedPair()
    {
        auto& rank = a.rank();
        rank.start("attn.q.weight", f32({ 2, 1 }, { 1, 2 })).start("attn.k.weight", f32({ 1, 1 }, { 3 })).start("attn.v.weight", f32({ 1, 1 }, { 4 }));
        for (const char* name : { "attn.q", "attn.k", "attn.v" }) {
            rank.input(name, f32({ 2, 1 }, { 7, 8 }));
        }
        rank.output("attn.q", f32({ 2, 2 }, { 1, 2, 10, 20 })).output("attn.k", f32({ 2, 1 }, { 3, 30 })).output("attn.v", f32({ 2, 1 }, { 4, 40 }));
        b.rank()
            .start("attn.qkv.weight", f32({ 4, 1 }, { 1, 2, 3, 4 }))
            .input("attn.qkv", f32({ 2, 1 }, { 7, 8 }))
            .output("attn.qkv", f32({ 2, 4 }, { 1, 2, 3, 4, 10, 20, 30, 40 }));
    }
};

TEST(Joins, PartsInTheReference)
{
    FusedPair runs;
    const auto alignment = mapped(runs.a, runs.b, runs.map);
    EXPECT_EQ(idsOf(alignment), (Texts { "s0/start/param/attn.qkv.weight", "s0/forward/input/attn.qkv", "s0/forward/output/attn.qkv" }));
    for (const auto& pair : alignment.pairs) {
        EXPECT_EQ(pair.rule, Rule::Mapped);
        EXPECT_EQ(pair.mappedBy, "map.json, line 1");
        EXPECT_FALSE(pair.guess);
        for (const auto& lane : pair.lanes) {
            EXPECT_EQ(elementsOf(alignment.a, lane.a), elementsOf(alignment.b, lane.b)) << pair.id;
        }
    }
    EXPECT_EQ(pairOf(alignment, "s0/start/param/attn.qkv.weight").assembly, "reference: 3 tensors concatenated along dim 0");
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/attn.qkv").assembly, "reference: 3 tensors concatenated along dim 1");
    EXPECT_EQ(pairOf(alignment, "s0/forward/input/attn.qkv").assembly, "each of 3 tensors of the reference against one");
    EXPECT_EQ(pairOf(alignment, "s0/forward/input/attn.qkv").lanes.size(), 1u) << "three lanes of equal bytes are one";
}

TEST(Joins, PartsInTheCandidate)
{
    FusedPair runs;
    const auto alignment = mapped(runs.b, runs.a, R"map("joins": [{"reference": "attn\\.qkv", "candidate": ["attn.q", "attn.k", "attn.v"]}])map");
    EXPECT_EQ(alignment.pairs.size(), 3u);
    const auto& lane = pairOf(alignment, "s0/start/param/attn.qkv.weight").lanes.at(0);
    EXPECT_EQ(elementsOf(alignment.b, lane.b), (Elements { 1, 2, 3, 4 }));
}

TEST(Joins, HeadByHead)
{
    RecordedRun a("apart"), b("fused"); // two heads: q0 k0 q1 k1
    a.rank().start("q.weight", f32({ 2, 1 }, { 1, 3 })).start("k.weight", f32({ 2, 1 }, { 2, 4 }));
    b.rank().start("qk.weight", f32({ 4, 1 }, { 1, 2, 3, 4 }));
    const auto alignment = mapped(a, b, R"map("joins": [{"candidate": "^qk\\b", "reference": ["q", "k"], "dim": 0, "blocks": 2}])map");
    const auto& pair = alignment.pairs.at(0);
    EXPECT_EQ(elementsOf(alignment.a, pair.lanes.at(0).a), (Elements { 1, 2, 3, 4 }));
    EXPECT_EQ(pair.assembly, "reference: 2 tensors concatenated along dim 0 in 2 blocks each");
}

TEST(Joins, OfShards)
{
    RecordedRun a("tp2", 2), b("fused"); // tensor parallel queries and keys against one fused tensor
    const auto shard = test::At { .placement = { { "tp", bundle::Placement::Type::Shard, 0, "" } } };
    for (const int rank : { 0, 1 }) {
        const auto r = static_cast<float>(rank);
        a.rank(rank).batch(f32({ 1, 1 }, { 9 })).loss(1).start("q.weight", f32({ 1, 1 }, { 1 + r }), shard).start("k.weight", f32({ 1, 1 }, { 3 + r }), shard);
    }
    b.rank().batch(f32({ 1, 1 }, { 9 })).loss(1).start("qk.weight", f32({ 4, 1 }, { 1, 2, 3, 4 }));
    const auto alignment = mapped(a, b, R"map("joins": [{"candidate": "^qk\\b", "reference": ["q", "k"]}])map");
    const auto& pair = pairOf(alignment, "s0/start/param/qk.weight");
    ASSERT_EQ(pair.lanes.size(), 1u) << pair.note;
    EXPECT_EQ(elementsOf(alignment.a, pair.lanes[0].a), (Elements { 1, 2, 3, 4 }));
    EXPECT_EQ(pair.assembly, "reference: ranks 0-1 concatenated along dim 0, 2 tensors concatenated along dim 0");
}

TEST(Joins, APartThatIsMissingIsSaid)
{
    RecordedRun a("apart"), b("fused");
    a.rank().start("q.weight", f32({ 1, 1 }, { 1 }));
    b.rank().start("qk.weight", f32({ 2, 1 }, { 1, 2 }));
    const auto alignment = mapped(a, b, R"map("joins": [{"candidate": "^qk\\b", "reference": ["q", "k"]}])map");
    EXPECT_EQ(alignment.pairs.at(0).status, PairStatus::Unrelated);
    EXPECT_TRUE(contains(alignment.pairs.at(0).note, "1 of the 2 tensors that make it up were recorded"));
}

TEST(Mapped, RulesThatMatchNothingAreNoted)
{
    RecordedRun a("a"), b("b");
    a.rank().start("w", f32({ 1 }, { 1 }));
    b.rank().start("w", f32({ 1 }, { 1 }));
    const auto alignment = mapped(a, b, "\n\"names\": [{\"candidate\": \"^zz\", \"reference\": \"a\"}],\n\"pairs\": [{\"candidate\": \"q\", \"reference\": \"r\"}],\n"
                                        "\"joins\": [{\"candidate\": \"qq\", \"reference\": [\"r\", \"s\"]}]");
    EXPECT_EQ(alignment.notes.size(), 3u);
    EXPECT_TRUE(contains(alignment.notes.at(0), "map.json, line 3: the candidate has no tensor of this name"));
}

struct Clash {
    const char* body;
    const char* says;
};

class MappingClash : public testing::TestWithParam<Clash> { };

TEST_P(MappingClash, IsAnErrorThatNamesBoth)
{
    RecordedRun a("a"), b("b");
    a.rank().start("x.weight", f32({ 1 }, { 1 })).start("y.weight", f32({ 1 }, { 1 })).start("z.weight", f32({ 1 }, { 1 }));
    b.rank().start("x.weight", f32({ 1 }, { 1 })).start("y.weight", f32({ 1 }, { 1 })).start("w.weight", f32({ 1 }, { 1 }));
    const auto alignment = align(a.side(), b.side(), { .stepOffset = {}, .mapping = mappingOf(GetParam().body) });
    ASSERT_FALSE(alignment);
    EXPECT_EQ(alignment.error().code, ErrorCode::Usage);
    EXPECT_TRUE(contains(alignment.error().text(), GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, MappingClash,
    testing::Values(Clash { R"map("names": [{"candidate": "[xy]", "reference": "z"}])map", "'x.weight' and 'y.weight' would both be 'z.weight'" },
                    Clash { R"map("pairs": [{"candidate": "w", "reference": "x"}])map", "'x.weight' and 'w.weight' would both be 'x.weight'" },
                    Clash { R"map("joins": [{"candidate": "^w", "reference": ["x", "y"]}, {"candidate": "^w", "reference": ["y", "z"]}])map", "'w.weight' belongs to map.json" },
                    Clash { R"map("joins": [{"candidate": "^w", "reference": ["x", "y"]}, {"candidate": "^x", "reference": ["y", "z"]}])map", "'y.weight' belongs to map.json" },
                    Clash { R"map("joins": [{"candidate": "^w", "reference": ["x", "y"]}, {"reference": "^x", "candidate": ["w", "y"]}])map", "belongs to map.json" }));

} // namespace
} // namespace forkpoint::align
