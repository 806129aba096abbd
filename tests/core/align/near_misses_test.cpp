// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/near_misses.h"
#include "tests/support/run_builder.h"

#include <gtest/gtest.h>

// What has no partner says who came near, and why not.
namespace forkpoint::align {
namespace {

using test::aligned;
using test::contains;
using test::f32;
using test::indexOf;
using test::RecordedRun;

const test::Values kX = f32({ 2, 1 }, { 1, 2 });

std::vector<std::string> missesOf(const Alignment& alignment, std::string_view id)
{
    std::vector<std::string> out;
    for (const auto& miss : NearMisses(alignment).of(indexOf(alignment, id))) {
        out.push_back(alignment.pairs[miss.pair].id + ": " + miss.why);
    }
    return out;
}

TEST(NearMisses, AnotherShape)
{
    RecordedRun a("a"), b("b");
    a.rank().output("attn.q", kX);
    b.rank().output("att.q", f32({ 3 }, { 1, 2, 3 }));
    const auto near = missesOf(aligned(a.side(), b.side()), "s0/forward/output/attn.q");
    ASSERT_EQ(near.size(), 1u);
    EXPECT_EQ(near[0], "s0/forward/output/att.q: other shape: [3] against [2, 1]");
}

TEST(NearMisses, AnotherKind)
{
    RecordedRun a("a"), b("b");
    a.rank().start("norm.scale", kX);
    b.rank().startBuffer("norm.scale", kX);
    EXPECT_EQ(missesOf(aligned(a.side(), b.side()), "s0/start/param/norm.scale").at(0), "s0/start/buffer/norm.scale: other kind: buffer, not param");
}

TEST(NearMisses, Taken)
{
    RecordedRun a("a"), b("b");
    a.rank().output("norm", kX).output("norm", kX, { .call = 1 });
    b.rank().output("norm", kX);
    EXPECT_EQ(missesOf(aligned(a.side(), b.side()), "s0/forward/output/norm#1").at(0), "s0/forward/output/norm: taken: it is paired with norm of the reference");
}

TEST(NearMisses, AnotherNameOfTheSameShape)
{
    RecordedRun a("a"), b("b");
    a.rank().start("layers.0.fc.weight", kX).start("layers.1.fc.weight", kX);
    b.rank().start("h.0.dense.weight", kX).start("h.1.dense.weight", kX);
    const auto near = missesOf(aligned(a.side(), b.side()), "s0/start/param/layers.1.fc.weight");
    ASSERT_EQ(near.size(), 2u);
    EXPECT_TRUE(contains(near[0], "s0/start/param/h.1.dense.weight: other name")) << "the one with more in common first";
    EXPECT_TRUE(contains(near[0], "--map"));
}

TEST(NearMisses, AnotherCallOrPhase)
{
    RecordedRun a("a"), b("b");
    a.rank().output("norm", kX, { .call = 2 }).reduced("fc.weight", kX);
    b.rank().output("norm", kX, { .call = 1 }).grad("fc.weight", kX);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(missesOf(alignment, "s0/forward/output/norm#1").at(0), "s0/forward/output/norm#2: other call: 2, not 1");
    EXPECT_EQ(missesOf(alignment, "s0/reduce/grad/fc.weight").at(0), "s0/backward/grad/fc.weight: other phase: backward, not reduce");
}

TEST(NearMisses, NothingAlike)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc", kX).output("extra", f32({ 7 }, { 1, 2, 3, 4, 5, 6, 7 }));
    b.rank().output("fc", kX);
    EXPECT_TRUE(missesOf(aligned(a.side(), b.side()), "s0/forward/output/extra").empty());
}

} // namespace
} // namespace forkpoint::align
