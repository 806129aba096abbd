// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/file_names.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace forkpoint::import {
namespace {

using bundle::Kind;

void expectName(std::string_view path, const std::string& name, std::optional<int> rank, std::optional<int> step, std::optional<Kind> kind = {})
{
    SCOPED_TRACE(path);
    const auto read = readName(path);
    EXPECT_EQ(read.name, name);
    EXPECT_EQ(read.rank, rank);
    EXPECT_EQ(read.step, step);
    EXPECT_EQ(read.kind, kind);
}

TEST(FileNames, AreUnderstoodWithoutAPattern)
{
    expectName("hook_layers.0_rank1.pt", "layers.0", 1, {}, Kind::Output);
    expectName("step_3/hook_blocks.10.attn.proj_rank0.pt", "blocks.10.attn.proj", 0, 3, Kind::Output);
    expectName("grad_head.weight_rank12.pt", "head.weight", 12, {}, Kind::Grad);
    expectName("step=7/rank=2/attn.npy", "attn", 2, 7);
    expectName("checkpoint_step100.pt", "checkpoint", {}, 100);
    expectName("rank3_step5_attn.pt", "attn", 3, 5);
    expectName("iter0010/x.pt", "x", {}, 10);
    expectName("model.safetensors", "model", {}, {});
    expectName("rerank2.pt", "rerank2", {}, {});
    expectName("stepper.pt", "stepper", {}, {});
    expectName("rank99999999999999999999.pt", "rank99999999999999999999", {}, {});
    expectName("rank0.pt", "", 0, {});
}

TEST(FileNames, FollowThePatternThatTheUserGave)
{
    const auto pattern = NamePattern::parse("dump-{rank}-{layer}@{step}");
    ASSERT_TRUE(pattern);
    const auto found = pattern->match("folder/dump-3-layers.0@12.pt");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->name, "layers.0");
    EXPECT_EQ(found->rank, 3);
    EXPECT_EQ(found->step, 12);
    EXPECT_FALSE(pattern->match("dump-x-layers.0@12.pt"));
    EXPECT_FALSE(pattern->match("other.pt"));

    const auto folders = NamePattern::parse("r{r}/*/{name}.npy");
    ASSERT_TRUE(folders);
    const auto deep = folders->match("r1/anything/attn.npy");
    ASSERT_TRUE(deep);
    EXPECT_EQ(deep->name, "attn");
    EXPECT_EQ(deep->rank, 1);
    EXPECT_FALSE(folders->match("r1/attn.npy"));
    EXPECT_FALSE(folders->match("r1/anything/attn.pt"));

    // What the pattern leaves out, the folders may say.
    const auto plain = NamePattern::parse("{layer}.out");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->match("step4/rank2/fc.out.pt")->step, 4);
    EXPECT_EQ(plain->match("step4/rank2/fc.out.pt")->rank, 2);
}

TEST(FileNames, WrongPatternsAreRefused)
{
    for (const auto& [text, words] : { std::pair("", "is empty"), std::pair("{layer", "a { without }"), std::pair("{phase}", "unknown field {phase}"),
                                       std::pair("{rank}_{r}", "twice") }) {
        const auto pattern = NamePattern::parse(text);
        ASSERT_FALSE(pattern) << text;
        EXPECT_EQ(pattern.error().code, ErrorCode::Usage);
        EXPECT_NE(pattern.error().message.find(words), std::string::npos) << pattern.error().message;
    }
}

TEST(FileNames, APatternOfManyStarsEnds)
{
    const auto pattern = NamePattern::parse("*a*a*a*a*a*a*a*a*a*a*b");
    ASSERT_TRUE(pattern);
    EXPECT_FALSE(pattern->match(std::string(250, 'a')));
}

TEST(FileNames, AreOrderedAsPeopleCount)
{
    std::vector<std::string> names { "layers.10", "layers.2", "layers", "a", "layers.02", "layers.2.x" };
    std::sort(names.begin(), names.end(), naturalLess);
    EXPECT_EQ(names.front(), "a");
    EXPECT_EQ(names[1], "layers");
    EXPECT_EQ(names[4], "layers.2.x");
    EXPECT_EQ(names[5], "layers.10");
}

} // namespace
} // namespace forkpoint::import
