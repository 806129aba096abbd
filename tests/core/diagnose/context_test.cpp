// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnose/context.h"

#include "tests/support/run_builder.h"

#include <gtest/gtest.h>

namespace forkpoint::diagnose {
namespace {

using nlohmann::json;
using test::RecordedRun;

std::optional<std::vector<ContextEntry>> differences(const json& a, const json& b)
{
    RecordedRun runA("a"), runB("b");
    runA.rank().info(a);
    runB.rank().info(b);
    return contextDifferences(runA.side(), runB.side());
}

/// The only difference; fails the test if there is another number of them.
ContextEntry only(const json& a, const json& b)
{
    const auto entries = differences(a, b);
    EXPECT_TRUE(entries && entries->size() == 1) << (entries ? entries->size() : 0);
    return entries && !entries->empty() ? entries->front() : ContextEntry();
}

bool isExpected(const std::string& section, const json& a, const json& b)
{
    return only({ { section, a } }, { { section, b } }).expected;
}

TEST(Context, NamesWhatDiffers)
{
    const auto entry = only({ { "environment", { { "torch", "2.1" }, { "python", "3.11" } } } },
        { { "environment", { { "torch", "2.2" }, { "python", "3.11" } } } });
    EXPECT_EQ(entry.section, "environment");
    EXPECT_EQ(entry.key, "torch");
    EXPECT_EQ(entry.a, "\"2.1\"");
    EXPECT_EQ(entry.b, "\"2.2\"");
    EXPECT_FALSE(entry.expected);
}

TEST(Context, LooksIntoTheConfiguration)
{
    const auto config = [](double lr) {
        return json { { "config", { { "optimizers", { { { "class", "SGD" }, { "groups", { { { "lr", lr } } } } } } } } } };
    };
    EXPECT_EQ(only(config(0.1), config(0.2)).key, "optimizers.0.groups.0.lr");
    EXPECT_EQ(only(config(0.1), config(0.2)).section, "config");
}

TEST(Context, AnotherValueOnOneRankIsADifference)
{
    const auto info = [](double lr, int rows) {
        return json { { "config", { { "optimizers", { { { "lr", lr } } } }, { "loaders", { { { "dataset_length", rows } } } } } } };
    };
    RecordedRun a("a", 3), b("b", 3);
    for (int rank = 0; rank < 3; ++rank) {
        a.rank(rank).info(info(0.1, 8));
        b.rank(rank).info(info(rank == 1 ? 0.2 : 0.1, 8 + rank));
    }
    const auto entries = contextDifferences(a.side(), b.side());
    ASSERT_TRUE(entries && entries->size() == 1) << "how much data a rank has is its own affair";
    EXPECT_EQ(entries->front().key, "optimizers.0.lr");
    EXPECT_EQ(entries->front().a, "0.1");
    EXPECT_EQ(entries->front().b, "0.1, 0.2 on rank 1");
    EXPECT_FALSE(entries->front().expected);
}

TEST(Context, WhatOneSideLacksIsEmpty)
{
    const auto entry = only({ { "flags", { { "deterministic", true } } } }, { { "flags", json::object() } });
    EXPECT_EQ(entry.a, "true");
    EXPECT_EQ(entry.b, "");
}

TEST(Context, EqualOnesAreNotListed)
{
    const json same { { "environment", { { "torch", "2.1" } } }, { "flags", { { "tf32_matmul", false } } } };
    ASSERT_TRUE(differences(same, same));
    EXPECT_TRUE(differences(same, same)->empty());
}

TEST(Context, WhatIsEmptyIsAsGoodAsAbsent)
{
    EXPECT_TRUE(differences({ { "flags", json::object() } }, { { "config", { { "loaders", json::array() } } } })->empty());
}

TEST(Context, NothingRecordedIsNotTheSameAsNothingDifferent)
{
    EXPECT_FALSE(differences(json::object(), json::object()));
    EXPECT_TRUE(differences({ { "flags", json::object() } }, json::object()));
}

TEST(Context, WhatAnyTwoRunsHaveIsExpected)
{
    EXPECT_TRUE(isExpected("config", { { "argv", { "train.py", "--a" } } }, { { "argv", { "train.py", "--b" } } }));
    EXPECT_TRUE(isExpected("environment", { { "env.MASTER_PORT", "29500" } }, { { "env.MASTER_PORT", "29501" } }));
    EXPECT_TRUE(isExpected("environment", { { "env.RANK", "0" } }, json::object()));
    EXPECT_TRUE(isExpected("environment", { { "env.SLURM_PROCID", "0" } }, { { "env.SLURM_PROCID", "4" } }));
    EXPECT_TRUE(isExpected("environment", { { "env.TORCHELASTIC_RESTART_COUNT", "0" } }, { { "env.TORCHELASTIC_RESTART_COUNT", "1" } }));
    EXPECT_TRUE(isExpected("code", { { "script", "a.py" } }, { { "script", "b.py" } }));
    EXPECT_TRUE(isExpected("seeds", { { "initial", 1 } }, { { "initial", 2 } })) << "the random seed of a process that sets none";
}

TEST(Context, AWordWithinAnotherIsNotExpected)
{
    EXPECT_FALSE(isExpected("config", { { "initial_lr", 0.1 } }, { { "initial_lr", 0.2 } }));
    EXPECT_FALSE(isExpected("config", { { "description", "x" } }, { { "description", "y" } })) << "holds script";
    EXPECT_FALSE(isExpected("environment", { { "env.NCCL_RANKS_PER_NODE", "1" } }, { { "env.NCCL_RANKS_PER_NODE", "2" } }));
    EXPECT_FALSE(isExpected("seeds", { { "torch", { 1 } } }, { { "torch", { 2 } } }));
    EXPECT_FALSE(isExpected("code", { { "git_head", "1" } }, { { "git_head", "2" } }));
}

TEST(Context, OfTwoDataParallelRunsTheOptionsMatter)
{
    const auto ddp = [](bool unused) { return json { { "ddp", { { { "find_unused_parameters", unused } } } } }; };
    EXPECT_FALSE(isExpected("config", ddp(false), ddp(true)));
    EXPECT_TRUE(isExpected("config", json::object(), ddp(true))) << "one process has none";
}

TEST(Context, AHookThatChangesTheReductionIsNeverExpected)
{
    EXPECT_FALSE(isExpected("config", json::object(), { { "ddp", { { { "comm_hook", "fp16_compress_hook" } } } } }));
}

TEST(Context, UnexpectedOnesComeFirst)
{
    const auto entries
        = differences({ { "environment", { { "env.RANK", "0" }, { "torch", "2.1" } } } }, { { "environment", { { "torch", "2.2" } } } });
    ASSERT_EQ(entries->size(), 2u);
    EXPECT_EQ((*entries)[0].key, "torch");
    EXPECT_EQ((*entries)[1].key, "env.RANK");
}

TEST(Context, DeepNestingIsBounded)
{
    json deep = 1, other = 2;
    for (int i = 0; i < 30; ++i) {
        deep = { { "x", deep } };
        other = { { "x", other } };
    }
    EXPECT_FALSE(only({ { "config", deep } }, { { "config", other } }).key.empty());
}

TEST(Context, SwitchesOfEveryRank)
{
    RecordedRun a("a", 2), b("b", 2);
    for (auto* run : { &a, &b }) {
        run->rank(0).info({ { "flags", { { "deterministic", true } } } });
        run->rank(1).info({ { "flags", { { "deterministic", run == &a } } } });
    }
    EXPECT_EQ(contextDifferences(a.side(), b.side())->size(), 1u);
    EXPECT_TRUE(contextDifferences(a.side(0), b.side(0))->empty());
    EXPECT_EQ(contextDifferences(a.side(0), b.side(1))->size(), 1u);
}

} // namespace
} // namespace forkpoint::diagnose
