// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/alignment.h"

#include "tests/support/run_builder.h"

#include <gtest/gtest.h>
#include <limits>

// Which tensor meets which, by what rule, in what order.
namespace forkpoint::align {
namespace {

using test::aligned;
using test::contains;
using test::f32;
using test::i64;
using test::idsOf;
using test::pairOf;
using test::RecordedRun;
using test::Values;

using Texts = std::vector<std::string>;

const Values kX = f32({ 2, 1 }, { 1, 2 });

TEST(WrapperNames, SoItIsUnderAWrapper)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        const std::string wrapped = run == &b ? "module." : "";
        run->rank().start(wrapped + "norm.running_mean", f32({ 1 }, { 1 })).start(wrapped + "norm.module.running_mean", f32({ 1 }, { 2 }));
    }
    EXPECT_EQ(idsOf(aligned(a.side(), b.side())), (Texts { "s0/start/param/norm.running_mean", "s0/start/param/norm.module.running_mean" }));
}

TEST(WrapperNames, AModelThatIsWrappedInTheCourseOfARunKeepsItsNames)
{
    RecordedRun a("a"), b("b");
    for (const int step : { 0, 1 }) {
        a.rank().step(step).start("fc.weight", kX);
        b.rank().step(step).start(step == 1 ? "_orig_mod.fc.weight" : "fc.weight", kX);
    }
    EXPECT_EQ(idsOf(aligned(a.side(), b.side())), (Texts { "s0/start/param/fc.weight", "s1/start/param/fc.weight" }));
}

TEST(WrapperNames, AChildOfThatNameBesideItsParentsOwnIsKeptApart)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        auto& scribe = run->rank();
        scribe.start("norm.running_mean", f32({ 1 }, { 1 })).start("norm.module.running_mean", f32({ 1 }, { run == &a ? 2.0f : 9.0f }));
        scribe.start("norm.module.weight", f32({ 1 }, { 3 }));
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(alignment.pairs.size(), 3u);
    EXPECT_EQ(pairOf(alignment, "s0/start/param/norm.module.running_mean").status, PairStatus::Matched);
    EXPECT_EQ(pairOf(alignment, "s0/start/param/norm.weight").status, PairStatus::Matched) << "which nothing stands beside";
}

TEST(Ladder, EqualNamesAreExact)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc", kX);
    b.rank().output("fc", kX);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/fc").rule, Rule::Exact);
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/fc").status, PairStatus::Matched);
}

TEST(Ladder, WrapperPrefixesAreSeenThrough)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc", kX).start("fc.weight", kX);
    b.rank().output("module.fc", kX).start("module._orig_mod.fc.weight", kX);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(idsOf(alignment), (Texts { "s0/start/param/fc.weight", "s0/forward/output/fc" }));
    EXPECT_EQ(alignment.pairs[0].rule, Rule::Normalised);
    EXPECT_EQ(alignment.pairs[1].rule, Rule::Normalised);
}

TEST(Ladder, OfAWrapperAndWhatItWrapsTheFirstIsKept)
{
    RecordedRun a("a"), b("b");
    a.rank().output("", f32({ 1 }, { 1 }));
    b.rank().output("module", f32({ 1 }, { 1 })).output("", f32({ 1 }, { 1 })); // the inner one is done first
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(idsOf(alignment), (Texts { "s0/forward/output/" }));
    EXPECT_EQ(alignment.pairs[0].lanes.front().b.parts[0][0].record->module, "module");
}

TEST(Ladder, ClassAndOrderUnderAMatchedParent)
{
    RecordedRun a("a"), b("b");
    a.rank().module("", "Net").module("fc1", "Linear", { "weight" }).start("fc1.weight", kX).output("fc1", kX);
    b.rank().module("", "Net").module("dense", "Linear", { "weight" }).start("dense.weight", kX).output("dense", kX);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(idsOf(alignment), (Texts { "s0/start/param/fc1.weight", "s0/forward/output/fc1" }));
    EXPECT_EQ(alignment.pairs[0].rule, Rule::ClassOrder);
    EXPECT_EQ(name(alignment.pairs[0].rule), "class and order");
}

TEST(Ladder, AnotherClassStaysUnmatched)
{
    RecordedRun a("a"), b("b");
    a.rank().module("", "Net").module("fc1", "Linear", { "weight" }).start("fc1.weight", kX);
    b.rank().module("", "Net").module("conv", "Conv1d", { "weight" }).start("conv.weight", kX);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(pairOf(alignment, "s0/start/param/fc1.weight").status, PairStatus::OnlyA);
    EXPECT_EQ(pairOf(alignment, "s0/start/param/conv.weight").status, PairStatus::OnlyB);
    EXPECT_EQ(pairOf(alignment, "s0/start/param/conv.weight").rule, Rule::None);
}

TEST(Ladder, ParametersOfAnotherShapeAreNoRenamedModule)
{
    RecordedRun a("a"), b("b");
    a.rank().module("", "Net").module("q", "Linear", { "weight" }).start("q.weight", f32({ 1, 2 }, { 1, 2 }));
    b.rank().module("", "Net").module("qkv", "Linear", { "weight" }).start("qkv.weight", f32({ 3, 2 }, { 1, 2, 3, 4, 5, 6 }));
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_TRUE(alignment.renames.empty());
    EXPECT_EQ(pairOf(alignment, "s0/start/param/q.weight").status, PairStatus::OnlyA);
    EXPECT_EQ(pairOf(alignment, "s0/start/param/qkv.weight").status, PairStatus::OnlyB);
}

TEST(Ladder, CallsAreMatchedByTheirNumber)
{
    RecordedRun a("a"), b("b");
    a.rank().output("norm", kX).output("norm", kX, { .call = 1 });
    b.rank().output("norm", kX);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/norm").status, PairStatus::Matched);
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/norm#1").status, PairStatus::OnlyA);
}

TEST(SlotOrder, APositionAgainstAKeyword)
{
    RecordedRun a("a"), b("b");
    a.rank().input("attn", kX, { .slot = "0" }).input("attn", f32({ 1 }, { 0 }), { .slot = "1" });
    b.rank().input("attn", kX, { .slot = "x" }).input("attn", f32({ 1 }, { 0 }), { .slot = "mask" });
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(idsOf(alignment), (Texts { "s0/forward/input/attn:0", "s0/forward/input/attn:1" }));
    EXPECT_EQ(alignment.pairs[0].rule, Rule::SlotOrder);
    EXPECT_EQ(alignment.pairs[1].lanes.front().b.parts[0][0].record->slot, "mask");
}

TEST(SlotOrder, EqualSlotsAreLeftAlone)
{
    RecordedRun a("a"), b("b");
    a.rank().input("attn", kX, { .slot = "0" }).input("attn", kX, { .slot = "mask" });
    b.rank().input("attn", kX, { .slot = "mask" }).input("attn", kX, { .slot = "x" });
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(pairOf(alignment, "s0/forward/input/attn:mask").rule, Rule::Exact);
    EXPECT_EQ(pairOf(alignment, "s0/forward/input/attn:0").lanes.front().b.parts[0][0].record->slot, "x");
}

TEST(SlotOrder, OtherNumbersOfSlotsStayUnmatched)
{
    RecordedRun a("a"), b("b");
    a.rank().input("attn", kX, { .slot = "0" }).input("attn", kX, { .slot = "1" });
    b.rank().input("attn", kX, { .slot = "x" });
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(pairOf(alignment, "s0/forward/input/attn:0").status, PairStatus::OnlyA);
    EXPECT_EQ(pairOf(alignment, "s0/forward/input/attn:x").status, PairStatus::OnlyB);
}

TEST(SlotOrder, OtherShapesOrTypesStayUnmatched)
{
    RecordedRun a("a"), b("b");
    a.rank().input("attn", kX, { .slot = "0" }).input("fc", kX, { .slot = "0" });
    b.rank().input("attn", f32({ 2 }, { 1, 2 }), { .slot = "x" }).input("fc", i64({ 2, 1 }, { 1, 2 }), { .slot = "x" });
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(pairOf(alignment, "s0/forward/input/attn:0").status, PairStatus::OnlyA) << "two dims against one";
    EXPECT_EQ(pairOf(alignment, "s0/forward/input/fc:0").status, PairStatus::OnlyA) << "numbers against indices";
}

TEST(SlotOrder, OfABatch)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(kX, { .slot = "0" }).batch(i64({ 2 }, { 0, 1 }), { .slot = "1" });
    b.rank().batch(kX, { .slot = "image" }).batch(i64({ 2 }, { 0, 1 }), { .slot = "label" });
    EXPECT_EQ(idsOf(aligned(a.side(), b.side())), (Texts { "s0/data/batch/batch:0", "s0/data/batch/batch:1" }));
}

TEST(SlotOrder, NeverBetweenStatesOfAnOptimizer)
{
    RecordedRun a("a"), b("b");
    a.rank().optimizerState("fc.weight", "momentum_buffer", kX);
    b.rank().optimizerState("fc.weight", "exp_avg", kX);
    EXPECT_EQ(aligned(a.side(), b.side()).pairs.size(), 2u);
}

TEST(Order, StepThenPhaseThenExecutionInTheReference)
{
    RecordedRun a("a"), b("b");
    for (int step = 0; step < 2; ++step) {
        a.rank()
            .step(step)
            .start("fc.weight", kX)
            .batch(kX)
            .output("fc2", kX)
            .output("fc1", kX)
            .grad("fc.weight", kX)
            .reduced("fc.weight", kX)
            .after("fc.weight", kX);
        b.rank()
            .step(step)
            .start("fc.weight", kX)
            .batch(kX)
            .output("fc1", kX)
            .output("fc2", kX)
            .grad("fc.weight", kX)
            .reduced("fc.weight", kX)
            .after("fc.weight", kX);
    }
    EXPECT_EQ(idsOf(aligned(a.side(), b.side())),
        (Texts { "s0/start/param/fc.weight", "s0/data/batch/batch", "s0/forward/output/fc2", "s0/forward/output/fc1",
            "s0/backward/grad/fc.weight", "s0/reduce/grad/fc.weight", "s0/optimizer/param/fc.weight", "s1/start/param/fc.weight",
            "s1/data/batch/batch", "s1/forward/output/fc2", "s1/forward/output/fc1", "s1/backward/grad/fc.weight",
            "s1/reduce/grad/fc.weight", "s1/optimizer/param/fc.weight" }));
}

TEST(Order, PhasesAreOfTheStepEvenWhereMicroStepsInterleave)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().micro(0).batch(kX).output("fc", kX).grad("fc.weight", kX).micro(1).batch(kX).output("fc", kX).grad("fc.weight", kX);
    }
    EXPECT_EQ(idsOf(aligned(a.side(), b.side())),
        (Texts { "s0/data/batch/batch", "s0.m1/data/batch/batch", "s0/forward/output/fc", "s0.m1/forward/output/fc",
            "s0/backward/grad/fc.weight", "s0.m1/backward/grad/fc.weight" }));
}

TEST(Order, OfTheReferencesFirstRank)
{
    RecordedRun a("a", 2), b("b");
    a.rank(0).output("fc1", kX).output("fc2", kX);
    a.rank(1).output("fc2", kX).output("fc1", kX);
    b.rank().output("fc2", kX).output("fc1", kX);
    EXPECT_EQ(idsOf(aligned(a.side(), b.side())), (Texts { "s0/forward/output/fc1", "s0/forward/output/fc2" }));
}

TEST(Order, WhatOnlyTheCandidateHasFollowsItsNeighbour)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc1", kX).output("fc2", kX);
    b.rank().output("fc1", kX).output("extra1", kX).output("extra2", kX).output("fc2", kX).output("last", kX);
    EXPECT_EQ(idsOf(aligned(a.side(), b.side())),
        (Texts { "s0/forward/output/fc1", "s0/forward/output/extra1", "s0/forward/output/extra2", "s0/forward/output/fc2",
            "s0/forward/output/last" }));
}

TEST(Order, WhatOnlyTheCandidateHasBeforeEverythingLeadsItsPhase)
{
    RecordedRun a("a"), b("b");
    a.rank().start("fc.weight", kX).output("fc", kX);
    b.rank().start("fc.weight", kX).batch(kX).output("stem", kX).output("fc", kX).after("fc.weight", kX);
    EXPECT_EQ(idsOf(aligned(a.side(), b.side())),
        (Texts { "s0/start/param/fc.weight", "s0/data/batch/batch", "s0/forward/output/stem", "s0/forward/output/fc",
            "s0/optimizer/param/fc.weight" }));
}

TEST(Steps, OnOneSideOnlyAreNoted)
{
    RecordedRun a("a"), b("b");
    a.rank().step(0).start("fc.weight", kX).step(1).start("fc.weight", kX);
    b.rank().step(1).start("fc.weight", kX).step(2).start("fc.weight", kX).step(5).start("fc.weight", kX);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(idsOf(alignment), (Texts { "s1/start/param/fc.weight" }));
    EXPECT_EQ(alignment.notes, (Texts { "steps recorded in the reference only: 0", "steps recorded in the candidate only: 2, 5" }));
}

TEST(Steps, AnOffsetRelatesOtherNumbers)
{
    RecordedRun a("a"), b("b");
    a.rank().step(0).start("fc.weight", f32({ 1 }, { 0 })).step(1).start("fc.weight", f32({ 1 }, { 1 }));
    b.rank().step(10).start("fc.weight", f32({ 1 }, { 0 })).step(11).start("fc.weight", f32({ 1 }, { 1 }));
    const auto alignment = aligned(a.side(), b.side(), { .stepOffset = 10 });
    EXPECT_EQ(idsOf(alignment), (Texts { "s0/start/param/fc.weight", "s1/start/param/fc.weight" })) << "numbered as in the reference";
    EXPECT_EQ(alignment.pairs[1].lanes.front().b.parts[0][0].record->step, 11);
    EXPECT_EQ(alignment.notes, Texts());
    EXPECT_EQ(alignment.stepOffset, 10);
}

TEST(Steps, ANegativeOffset)
{
    RecordedRun a("a"), b("b");
    a.rank().step(10).start("fc.weight", kX);
    b.rank().step(0).start("fc.weight", kX);
    EXPECT_EQ(idsOf(aligned(a.side(), b.side(), { .stepOffset = -10 })), (Texts { "s10/start/param/fc.weight" }));
}

TEST(Steps, AnOffsetBeyondAllNumbersIsNoCrash)
{
    RecordedRun a("a"), b("b");
    a.rank().step(1).start("fc.weight", kX);
    b.rank().step(1).start("fc.weight", kX);
    for (const auto offset : { std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min() }) {
        const auto alignment = align(a.side(), b.side(), { .stepOffset = offset });
        ASSERT_FALSE(alignment);
        EXPECT_EQ(alignment.error().code, ErrorCode::Usage);
    }
}

TEST(Steps, NoneInCommonIsAnErrorThatSaysWhatToDo)
{
    RecordedRun a("a"), b("b");
    a.rank().step(0).start("fc.weight", kX);
    b.rank().step(7).start("fc.weight", kX);
    const auto alignment = align(a.side(), b.side());
    ASSERT_FALSE(alignment);
    EXPECT_EQ(alignment.error().code, ErrorCode::Usage);
    EXPECT_TRUE(contains(alignment.error().message, "reference: 0; candidate: 7"));
    EXPECT_TRUE(contains(alignment.error().message, "offset"));
}

TEST(Steps, ARunWithoutTensorsHasNone)
{
    RecordedRun a("a"), b("b");
    a.rank().scalar("lr", 1);
    b.rank().start("fc.weight", kX);
    const auto alignment = align(a.side(), b.side());
    ASSERT_FALSE(alignment);
    EXPECT_EQ(alignment.error().code, ErrorCode::Truncated);
    EXPECT_TRUE(contains(alignment.error().message, "holds no readable tensor record"));
}

TEST(NotObserved, OnOneSideIsNotCompared)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc", kX);
    b.rank().output("fc", kX, { .notObserved = "captured in a CUDA graph" });
    const auto alignment = aligned(a.side(), b.side());
    const auto& pair = alignment.pairs.at(0);
    EXPECT_EQ(pair.status, PairStatus::NotObserved);
    EXPECT_EQ(pair.note, "captured in a CUDA graph");
    EXPECT_TRUE(pair.lanes.empty());
}

TEST(NotObserved, OnBothSidesKeepsItsPlace)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().output("fc1", kX).output("fc2", kX, { .notObserved = "freed" }).output("fc3", kX);
    }
    b.rank().output("extra", kX);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(
        idsOf(alignment), (Texts { "s0/forward/output/fc1", "s0/forward/output/fc2", "s0/forward/output/fc3", "s0/forward/output/extra" }));
    EXPECT_EQ(alignment.pairs[1].status, PairStatus::NotObserved);
}

TEST(NotObserved, OnOneOfTheRanksCountsForAll)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().start("fc.weight", kX);
    b.rank(0).start("fc.weight", kX);
    b.rank(1).start("fc.weight", kX, { .notObserved = "offloaded" });
    EXPECT_EQ(aligned(a.side(), b.side()).pairs.at(0).status, PairStatus::NotObserved);
}

TEST(Recomputation, OnOneSideOnlyIsNoDifference)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc", kX);
    b.rank().output("fc", kX).input("fc", kX, { .recompute = true }).output("fc", kX, { .recompute = true });
    EXPECT_EQ(idsOf(aligned(a.side(), b.side())), (Texts { "s0/forward/output/fc" }));
}

TEST(Recomputation, OnBothSidesIsCompared)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().output("fc", kX).output("fc", kX, { .recompute = true });
    }
    EXPECT_EQ(idsOf(aligned(a.side(), b.side())), (Texts { "s0/forward/output/fc", "s0/backward/output/fc" }));
}

TEST(Source, OfTheCallAndOfBackward)
{
    RecordedRun a("a"), b("b");
    a.rank().call("fc", "model.py:7").output("fc", kX).backward("train.py:41").loss(1).gradOutput("fc", kX).grad("fc.weight", kX);
    b.rank().call("fc", "model.py:9").output("fc", kX).backward("train.py:43").loss(1).gradOutput("fc", kX).grad("fc.weight", kX);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/fc").source, "model.py:7") << "the reference's";
    EXPECT_EQ(pairOf(alignment, "s0/backward/grad_output/fc").source, "model.py:7");
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/loss").source, "train.py:41");
}

TEST(Source, OfTheCandidateWhereTheReferenceHasNone)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc", kX);
    b.rank().call("module.fc", "model.py:9").output("module.fc", kX);
    EXPECT_EQ(aligned(a.side(), b.side()).pairs.at(0).source, "model.py:9");
}

TEST(Source, OfTheRightCall)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().call("fc", "model.py:7", 0).call("fc", "model.py:8", 1).output("fc", kX).output("fc", kX, { .call = 1 });
    }
    EXPECT_EQ(pairOf(aligned(a.side(), b.side()), "s0/forward/output/fc#1").source, "model.py:8");
}

TEST(PlanText, SaysWhatIsNotKnown)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().start("fc.weight", kX);
    b.rank(0).start("fc.weight", kX);
    b.rank(1).start("fc.weight", kX);
    EXPECT_EQ(aligned(a.side(), b.side()).steps.front().text,
        "all ranks joined; no batch was recorded to match rows by; no losses were recorded: ranks by mean, micro-steps by sum");
}

TEST(PlanText, SaysWhereTheLossesDoNotFit)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().batch(f32({ 2, 1 }, { 10, 11 })).loss(1);
    b.rank(0).batch(f32({ 1, 1 }, { 10 })).loss(20);
    b.rank(1).batch(f32({ 1, 1 }, { 11 })).loss(40);
    EXPECT_EQ(aligned(a.side(), b.side()).steps.front().text,
        "all ranks joined; rows matched by content, in the same order; the losses agree under no weighting: ranks by mean, micro-steps by "
        "sum");
}

TEST(PlanText, TheWeightsOfAnEarlierStepHoldWhereTheLossesDoNotFit)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().step(0).batch(f32({ 2, 1 }, { 10, 11 })).loss(3).step(1).batch(f32({ 2, 1 }, { 12, 13 })).loss(1);
    b.rank(0).step(0).batch(f32({ 1, 1 }, { 10 })).loss(1).step(1).batch(f32({ 1, 1 }, { 12 })).loss(20);
    b.rank(1).step(0).batch(f32({ 1, 1 }, { 11 })).loss(2).step(1).batch(f32({ 1, 1 }, { 13 })).loss(40);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(alignment.steps[0].groups[0].weights.b.ranks, Reduction::Sum);
    EXPECT_EQ(alignment.steps[1].groups[0].weights.b.ranks, Reduction::Sum);
    EXPECT_FALSE(alignment.steps[1].groups[0].weights.agreed);
}

TEST(PlanText, OfReplicatedRanks)
{
    RecordedRun a("a"), b("b", 2);
    const auto batch = f32({ 2, 1 }, { 10, 11 });
    a.rank().batch(batch).loss(1);
    b.rank(0).batch(batch).loss(1);
    b.rank(1).batch(batch).loss(1);
    EXPECT_EQ(aligned(a.side(), b.side()).steps.front().text,
        "all ranks joined; rows matched by content, in the same order; every rank of the candidate holds the same rows");
}

TEST(MissingRanks, AreNoted)
{
    RecordedRun a("a"), b("b", 4);
    a.rank().start("fc.weight", kX);
    b.rank(0).start("fc.weight", kX);
    b.rank(2).start("fc.weight", kX);
    EXPECT_EQ(aligned(a.side(), b.side()).notes, (Texts { "candidate: 2 of 4 ranks were recorded" }));
}

TEST(MissingRanks, AreNotNotedWhereOneRankWasAskedFor)
{
    RecordedRun a("a"), b("b", 4);
    a.rank().start("fc.weight", kX);
    b.rank(0).start("fc.weight", kX);
    b.rank(1).start("fc.weight", kX);
    EXPECT_EQ(aligned(a.side(), b.side(1)).notes, Texts());
}

TEST(MissingRanks, TheShareOfABatchIsNotTheBatch)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().start("fc.weight", kX).batch(f32({ 2, 1 }, { 10, 11 })).output("fc", f32({ 2, 1 }, { 1, 2 })).loss(1.5).reduced("fc.weight", kX);
    b.rank(1).start("fc.weight", kX).batch(f32({ 1, 1 }, { 11 })).output("fc", f32({ 1, 1 }, { 2 })).loss(2).reduced("fc.weight", kX);
    for (const auto& alignment : { aligned(a.side(), b.side()), aligned(a.side(), b.side(1)) }) {
        for (const char* id : { "s0/data/batch/batch", "s0/forward/output/fc", "s0/forward/output/loss" }) {
            EXPECT_EQ(pairOf(alignment, id).status, PairStatus::NotObserved) << id;
            EXPECT_EQ(pairOf(alignment, id).note, "the candidate is only rank 1 of 2 ranks, which do not hold the whole") << id;
        }
        EXPECT_EQ(pairOf(alignment, "s0/start/param/fc.weight").status, PairStatus::Matched);
        EXPECT_EQ(pairOf(alignment, "s0/reduce/grad/fc.weight").status, PairStatus::Matched);
    }
}

/// As one that was killed: what the others computed alone is not the whole, and no difference.
TEST(MissingRanks, ARankMayBeMissingInSomeSteps)
{
    RecordedRun a("a"), b("b", 2);
    for (const int step : { 0, 1 }) {
        a.rank().step(step).batch(f32({ 2, 1 }, { 10, 11 })).output("fc", f32({ 2, 1 }, { 1, 2 })).reduced("fc.weight", kX);
        b.rank(0).step(step).batch(f32({ 1, 1 }, { 10 })).output("fc", f32({ 1, 1 }, { 1 })).reduced("fc.weight", kX);
    }
    b.rank(1).step(0).batch(f32({ 1, 1 }, { 11 })).output("fc", f32({ 1, 1 }, { 2 })).reduced("fc.weight", kX);
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(pairOf(alignment, "s0/forward/output/fc").status, PairStatus::Matched);
    for (const char* id : { "s1/data/batch/batch", "s1/forward/output/fc" }) {
        EXPECT_EQ(pairOf(alignment, id).status, PairStatus::NotObserved) << id;
        EXPECT_EQ(*pairOf(alignment, id).note, "the candidate is only rank 0 of 2 ranks, which do not hold the whole") << id;
    }
    EXPECT_EQ(pairOf(alignment, "s1/reduce/grad/fc.weight").status, PairStatus::Matched);
}

TEST(MissingRanks, ARankWithTheWholeBatchIsEnough)
{
    RecordedRun a("a"), b("b", 2);
    for (auto* run : { &a, &b }) {
        run->rank().batch(f32({ 2, 1 }, { 10, 11 })).output("fc", f32({ 2, 1 }, { 1, 2 }));
    }
    EXPECT_EQ(pairOf(aligned(a.side(), b.side()), "s0/forward/output/fc").status, PairStatus::Matched);
}

TEST(MissingRanks, LaunchesOfOneSizeAreComparedByTheRanksOfBoth)
{
    RecordedRun a("a", 2), b("b", 2);
    a.rank(0).batch(f32({ 1, 1 }, { 10 }));
    a.rank(1).batch(f32({ 1, 1 }, { 11 }));
    b.rank(1).batch(f32({ 1, 1 }, { 11 }));
    const auto alignment = aligned(a.side(), b.side());
    const auto& batch = pairOf(alignment, "s0/data/batch/batch");
    EXPECT_EQ(test::elementsOf(alignment.a, batch.lanes.front().a), (std::vector<float> { 11 }));
    EXPECT_EQ(alignment.notes, (Texts { "reference: ranks 0-1; candidate: rank 1: compared are those that both have" }));
}

TEST(Align, StopsWhenAsked)
{
    RecordedRun a("a"), b("b");
    a.rank().start("fc.weight", kX);
    b.rank().start("fc.weight", kX);
    std::stop_source stop;
    stop.request_stop();
    const auto alignment = align(a.side(), b.side(), {}, nullptr, stop.get_token());
    ASSERT_FALSE(alignment);
    EXPECT_EQ(alignment.error().code, ErrorCode::Cancelled);
}

TEST(OpenSide, ARunOrOneRankOfIt)
{
    RecordedRun run("ddp2", 2);
    run.rank(0).start("fc.weight", kX);
    run.rank(1).start("fc.weight", kX);
    run.open();
    const auto path = run.path().string();
    EXPECT_EQ(openSide(path)->ranks.size(), 2u);
    EXPECT_EQ(openSide(path)->label, "ddp2");
    EXPECT_EQ(openSide(path + "@1")->label, "ddp2@1");
    ASSERT_EQ(openSide(path + "@1")->ranks.size(), 1u);
    EXPECT_EQ(openSide(path + "@1")->ranks.front()->rank, 1);
    const auto withoutSuffix = path.substr(0, path.size() - std::string(".forkpoint").size());
    EXPECT_EQ(openSide(withoutSuffix + "@0")->label, "ddp2@0");
}

TEST(OpenSide, ARankThatIsNotThere)
{
    RecordedRun run("ddp2", 2);
    run.rank(0).start("fc.weight", kX);
    run.rank(1).start("fc.weight", kX);
    run.open();
    const auto side = openSide(run.path().string() + "@5");
    ASSERT_FALSE(side);
    EXPECT_EQ(side.error().code, ErrorCode::Usage);
    EXPECT_TRUE(contains(side.error().message, "recorded ranks: 0, 1"));
    for (const char* bad : { "@", "@x", "@-1", "@1x", "@99999999999999999999" }) {
        const auto refused = openSide(run.path().string() + bad);
        ASSERT_FALSE(refused) << bad;
        EXPECT_EQ(refused.error().code, ErrorCode::Usage) << bad;
    }
}

TEST(OpenSide, APathThatExistsWithItsAtSignWins)
{
    RecordedRun run("resumed@3");
    run.rank(0).start("fc.weight", kX);
    run.open();
    const auto path = run.path().string();
    EXPECT_EQ(openSide(path)->label, "resumed@3");
    EXPECT_EQ(openSide(path + "@0")->label, "resumed@3@0");
    const auto withoutSuffix = path.substr(0, path.size() - std::string(".forkpoint").size());
    const auto side = openSide(withoutSuffix);
    ASSERT_TRUE(side) << side.error().text();
    EXPECT_EQ(side->label, "resumed@3");
}

TEST(OpenSide, ARunThatIsNotThere)
{
    const auto side = openSide("/nowhere/run");
    ASSERT_FALSE(side);
    EXPECT_EQ(side.error().code, ErrorCode::NotFound);
}

} // namespace
} // namespace forkpoint::align
