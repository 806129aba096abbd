// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/pair_inputs.h"

#include "tests/support/run_builder.h"

#include <algorithm>
#include <gtest/gtest.h>

// Every row of the table in pair_inputs.h.
namespace forkpoint::graph {
namespace {

using align::Alignment;
using test::aligned;
using test::f32;
using test::idsOf;
using test::indexOf;
using test::RankScribe;
using test::RecordedRun;
using test::Values;

using Ids = std::vector<std::string>;

const Values kX = f32({ 1 }, { 1 });

/// The ids of a pair's inputs, sorted.
Ids inputsOf(const Alignment& alignment, const std::string& id)
{
    Ids out;
    const auto inputs = pairInputs(alignment);
    EXPECT_EQ(inputs.of.size(), alignment.pairs.size());
    for (const auto i : inputs.of.at(indexOf(alignment, id))) {
        out.push_back(alignment.pairs[i].id);
    }
    std::sort(out.begin(), out.end());
    return out;
}

/// x -> block(fc1 -> fc2) -> head -> loss, one step of an optimizer with state.
void writeModel(RankScribe& rank)
{
    for (const char* name : { "block.fc1", "block.fc10", "block.fc2", "head" }) {
        rank.start(std::string(name) + ".weight", kX);
    }
    rank.startBuffer("head.count", kX).start("scale", kX);
    rank.batch(kX, { .slot = "0" }).batch(kX, { .slot = "1" });
    rank.input("", kX).input("block", kX).input("block.fc1", kX).output("block.fc1", kX);
    rank.edge("block.fc1", "block.fc2").input("block.fc2", kX).output("block.fc2", kX).output("block", kX);
    rank.edge("block.fc2", "head").edge("block", "head").input("head", kX).output("head", kX).output("", kX);
    rank.edge("head", "loss").edge("", "loss").loss(1);
    rank.gradOutput("", kX).gradOutput("head", kX).grad("head.weight", kX).gradOutput("block", kX).gradOutput("block.fc2", kX);
    rank.grad("block.fc2.weight", kX).gradOutput("block.fc1", kX).grad("block.fc1.weight", kX);
    rank.reduced("head.weight", kX).reduced("block.fc1.weight", kX);
    rank.optimizerState("head.weight", "exp_avg@before", kX).optimizerState("head.weight", "step@before", kX).clipped("head.weight", kX);
    rank.after("head.weight", kX).after("block.fc1.weight", kX).afterBuffer("head.count", kX);
    rank.optimizerState("head.weight", "exp_avg", kX).optimizerState("head.weight", "step", kX);
}

class PairInputs : public testing::Test {
protected:
    PairInputs()
    {
        writeModel(m_a.rank());
        writeModel(m_b.rank());
        m_alignment = aligned(m_a.side(), m_b.side());
    }
    Ids inputs(const std::string& id) const { return inputsOf(m_alignment, id); }

    RecordedRun m_a { "a" }, m_b { "b" };
    Alignment m_alignment;
};

TEST_F(PairInputs, ABatchAndTheFirstStartHaveNone)
{
    EXPECT_EQ(inputs("s0/data/batch/batch:0"), Ids());
    EXPECT_EQ(inputs("s0/start/param/head.weight"), Ids());
    EXPECT_EQ(inputs("s0/start/buffer/head.count"), Ids());
}

TEST_F(PairInputs, AnOutputComesFromItsInputsAndTheStateOfItsSubtree)
{
    EXPECT_EQ(
        inputs("s0/forward/output/head"), (Ids { "s0/forward/input/head", "s0/start/buffer/head.count", "s0/start/param/head.weight" }));
    EXPECT_EQ(inputs("s0/forward/output/block"),
        (Ids { "s0/forward/input/block", "s0/start/param/block.fc1.weight", "s0/start/param/block.fc10.weight",
            "s0/start/param/block.fc2.weight" }));
}

TEST_F(PairInputs, ANameThatBeginsAlikeIsNoSubtree)
{
    EXPECT_EQ(inputs("s0/forward/output/block.fc1"), (Ids { "s0/forward/input/block.fc1", "s0/start/param/block.fc1.weight" }));
}

TEST_F(PairInputs, TheRootsOutputComesFromEverything)
{
    EXPECT_EQ(inputs("s0/forward/output/"),
        (Ids { "s0/forward/input/", "s0/start/buffer/head.count", "s0/start/param/block.fc1.weight", "s0/start/param/block.fc10.weight",
            "s0/start/param/block.fc2.weight", "s0/start/param/head.weight", "s0/start/param/scale" }));
}

TEST_F(PairInputs, AnInputComesFromTheOutputsThatReachIt)
{
    EXPECT_EQ(inputs("s0/forward/input/head"), (Ids { "s0/forward/output/block", "s0/forward/output/block.fc2" }));
    EXPECT_EQ(inputs("s0/forward/input/block.fc2"), Ids { "s0/forward/output/block.fc1" });
}

TEST_F(PairInputs, AnInputThatNoOutputReachesComesFromTheBatch)
{
    EXPECT_EQ(inputs("s0/forward/input/"), (Ids { "s0/data/batch/batch:0", "s0/data/batch/batch:1" }));
    EXPECT_EQ(inputs("s0/forward/input/block.fc1"), (Ids { "s0/data/batch/batch:0", "s0/data/batch/batch:1" }));
}

TEST_F(PairInputs, TheLossComesFromWhatReachesItAndTheBatch)
{
    EXPECT_EQ(inputs("s0/forward/output/loss"),
        (Ids { "s0/data/batch/batch:0", "s0/data/batch/batch:1", "s0/forward/output/", "s0/forward/output/head" }));
}

TEST_F(PairInputs, AnOutputsGradientComesFromThoseOfItsConsumersAndWhatTheyWereGiven)
{
    EXPECT_EQ(inputs("s0/backward/grad_output/block.fc2"), (Ids { "s0/backward/grad_output/head", "s0/forward/input/head" }));
    EXPECT_EQ(inputs("s0/backward/grad_output/block.fc1"), (Ids { "s0/backward/grad_output/block.fc2", "s0/forward/input/block.fc2" }));
}

TEST_F(PairInputs, WhereBackwardStartsItIsTheLoss)
{
    EXPECT_EQ(inputs("s0/backward/grad_output/head"), Ids { "s0/forward/output/loss" });
    EXPECT_EQ(inputs("s0/backward/grad_output/"), Ids { "s0/forward/output/loss" });
}

TEST_F(PairInputs, ALocalGradientComesFromItsModulesGradientAndInput)
{
    EXPECT_EQ(inputs("s0/backward/grad/head.weight"), (Ids { "s0/backward/grad_output/head", "s0/forward/input/head" }));
}

TEST_F(PairInputs, AReducedGradientComesFromTheLocalOnes)
{
    EXPECT_EQ(inputs("s0/reduce/grad/head.weight"), Ids { "s0/backward/grad/head.weight" });
}

TEST_F(PairInputs, AClippedGradientComesFromTheReducedOne)
{
    EXPECT_EQ(inputs("s0/optimizer/grad/head.weight"), Ids { "s0/reduce/grad/head.weight" });
}

TEST_F(PairInputs, AParameterComesFromItsStartTheLastGradientAndTheStatesBefore)
{
    EXPECT_EQ(inputs("s0/optimizer/param/head.weight"),
        (Ids { "s0/optimizer/grad/head.weight", "s0/optimizer/optimizer_state/head.weight:exp_avg%40before",
            "s0/optimizer/optimizer_state/head.weight:step%40before", "s0/start/param/head.weight" }));
}

TEST_F(PairInputs, WithoutClippingTheLastGradientIsTheReducedOne)
{
    EXPECT_EQ(
        inputs("s0/optimizer/param/block.fc1.weight"), (Ids { "s0/reduce/grad/block.fc1.weight", "s0/start/param/block.fc1.weight" }));
}

TEST_F(PairInputs, AStateComesFromItsValueBeforeTheParameterAndTheGradient)
{
    EXPECT_EQ(inputs("s0/optimizer/optimizer_state/head.weight:exp_avg"),
        (Ids {
            "s0/optimizer/grad/head.weight", "s0/optimizer/optimizer_state/head.weight:exp_avg%40before", "s0/start/param/head.weight" }));
}

TEST_F(PairInputs, ABufferComesFromItsStartAndTheModulesInputs)
{
    EXPECT_EQ(inputs("s0/optimizer/buffer/head.count"), (Ids { "s0/forward/input/head", "s0/start/buffer/head.count" }));
}

TEST_F(PairInputs, NothingIsItsOwnInput)
{
    const auto inputs = pairInputs(m_alignment);
    for (PairIndex i = 0; i < inputs.of.size(); ++i) {
        EXPECT_TRUE(std::is_sorted(inputs.of[i].begin(), inputs.of[i].end()));
        EXPECT_EQ(std::count(inputs.of[i].begin(), inputs.of[i].end(), i), 0) << m_alignment.pairs[i].id;
    }
}

// ------------------------------------------------------------------------------------------------ over the steps

/// Two steps of one parameter with a state and a buffer.
void writeSteps(RankScribe& rank, const std::vector<int>& steps)
{
    for (const int step : steps) {
        rank.step(step).start("fc.weight", kX).startBuffer("fc.count", kX).reduced("fc.weight", kX);
        rank.optimizerState("fc.weight", "exp_avg@before", kX)
            .after("fc.weight", kX)
            .afterBuffer("fc.count", kX)
            .optimizerState("fc.weight", "exp_avg", kX);
    }
}

TEST(PairInputsOverSteps, AStartComesFromThePreviousStepsEnd)
{
    RecordedRun a("a"), b("b");
    writeSteps(a.rank(), { 0, 1 });
    writeSteps(b.rank(), { 0, 1 });
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(inputsOf(alignment, "s1/start/param/fc.weight"), Ids { "s0/optimizer/param/fc.weight" });
    EXPECT_EQ(inputsOf(alignment, "s1/start/buffer/fc.count"), Ids { "s0/optimizer/buffer/fc.count" });
    EXPECT_EQ(inputsOf(alignment, "s1/optimizer/optimizer_state/fc.weight:exp_avg%40before"),
        Ids { "s0/optimizer/optimizer_state/fc.weight:exp_avg" });
    EXPECT_EQ(inputsOf(alignment, "s0/optimizer/optimizer_state/fc.weight:exp_avg%40before"), Ids());
    EXPECT_EQ(inputsOf(alignment, "s1/optimizer/param/fc.weight"),
        (Ids { "s1/optimizer/optimizer_state/fc.weight:exp_avg%40before", "s1/reduce/grad/fc.weight", "s1/start/param/fc.weight" }))
        << "of its own step only";
}

TEST(PairInputsOverSteps, ThePreviousStepIsTheLastRecordedOne)
{
    RecordedRun a("a"), b("b");
    writeSteps(a.rank(), { 0, 5 });
    writeSteps(b.rank(), { 0, 5 });
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side()), "s5/start/param/fc.weight"), Ids { "s0/optimizer/param/fc.weight" });
}

TEST(PairInputsOverSteps, WithAnOffsetTheCandidatesEdgesAreFound)
{
    RecordedRun a("a"), b("b");
    a.rank().step(0).output("fc1", kX).input("fc2", kX);
    b.rank().step(10).output("fc1", kX).edge("fc1", "fc2").input("fc2", kX);
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side(), { .stepOffset = 10 }), "s0/forward/input/fc2"), Ids { "s0/forward/output/fc1" });
}

// ------------------------------------------------------------------------------------------------ calls, micro-steps, slots

TEST(PairInputsOfCalls, EachCallHasItsOwn)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        auto& rank = run->rank();
        rank.input("fc", kX).output("fc", kX);
        rank.edge({ "fc", 0, "" }, { "fc", 1, "" }).input("fc", kX, { .call = 1 }).output("fc", kX, { .call = 1 });
        rank.gradOutput("fc", kX, { .call = 1 }).gradOutput("fc", kX).grad("fc.weight", kX);
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(inputsOf(alignment, "s0/forward/output/fc#1"), Ids { "s0/forward/input/fc#1" });
    EXPECT_EQ(inputsOf(alignment, "s0/forward/input/fc#1"), Ids { "s0/forward/output/fc" });
    EXPECT_EQ(inputsOf(alignment, "s0/backward/grad_output/fc"), (Ids { "s0/backward/grad_output/fc#1", "s0/forward/input/fc#1" }));
    EXPECT_EQ(inputsOf(alignment, "s0/backward/grad/fc.weight"),
        (Ids { "s0/backward/grad_output/fc", "s0/backward/grad_output/fc#1", "s0/forward/input/fc", "s0/forward/input/fc#1" }))
        << "a parameter gathers from all calls";
}

TEST(PairInputsOfMicroSteps, EachHasItsOwnAndTheReducedGradientHasAll)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        for (int micro = 0; micro < 2; ++micro) {
            run->rank()
                .micro(micro)
                .batch(f32({ 1 }, { static_cast<float>(micro) }))
                .input("fc", kX)
                .output("fc", kX)
                .loss(1)
                .gradOutput("fc", kX)
                .grad("fc.weight", kX);
        }
        run->rank().reduced("fc.weight", kX);
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(inputsOf(alignment, "s0.m1/forward/input/fc"), Ids { "s0.m1/data/batch/batch" });
    EXPECT_EQ(inputsOf(alignment, "s0.m1/backward/grad/fc.weight"), (Ids { "s0.m1/backward/grad_output/fc", "s0.m1/forward/input/fc" }));
    EXPECT_EQ(inputsOf(alignment, "s0/reduce/grad/fc.weight"), (Ids { "s0.m1/backward/grad/fc.weight", "s0/backward/grad/fc.weight" }));
}

TEST(PairInputsOfMicroSteps, JoinedOnesAreOne)
{
    RecordedRun a("a"), b("b");
    a.rank().batch(f32({ 2, 1 }, { 1, 2 })).output("fc1", f32({ 2, 1 }, { 1, 2 })).edge("fc1", "fc2").input("fc2", f32({ 2, 1 }, { 1, 2 }));
    b.rank().micro(0).batch(f32({ 1, 1 }, { 1 })).output("fc1", f32({ 1, 1 }, { 1 })).input("fc2", f32({ 1, 1 }, { 1 }));
    b.rank().micro(1).batch(f32({ 1, 1 }, { 2 })).output("fc1", f32({ 1, 1 }, { 2 })).input("fc2", f32({ 1, 1 }, { 2 }));
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side()), "s0/forward/input/fc2"), Ids { "s0/forward/output/fc1" });
}

TEST(PairInputsOfSlots, TheEdgesSlotIsTaken)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank()
            .output("split", kX, { .slot = "0" })
            .output("split", kX, { .slot = "1" })
            .edge({ "split", 0, "1" }, { "fc", 0, "x" })
            .input("fc", kX, { .slot = "x" });
    }
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side()), "s0/forward/input/fc:x"), Ids { "s0/forward/output/split:1" });
}

TEST(PairInputsOfSlots, RenamedSlotsAreFoundByTheirCall)
{
    RecordedRun a("a"), b("b");
    a.rank().output("split", kX, { .slot = "0" }).input("fc", kX);
    b.rank().output("split", kX, { .slot = "left" }).edge({ "split", 0, "left" }, { "fc", 0, "" }).input("fc", kX);
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side()), "s0/forward/input/fc"), Ids { "s0/forward/output/split:0" });
}

// ------------------------------------------------------------------------------------------------ names and one-sided modules

TEST(PairInputsOfNames, WrappersAndRenamedModulesAreSeenThrough)
{
    RecordedRun a("a"), b("b");
    a.rank()
        .module("", "Net")
        .module("fc1", "Linear", { "weight" })
        .module("fc2", "Linear2", { "weight" })
        .output("fc1", kX)
        .input("fc2", kX);
    b.rank().module("module", "Net").module("module.dense", "Linear", { "weight" }).module("module.fc2", "Linear2", { "weight" });
    b.rank().output("module.dense", kX).edge("module.dense", "module.fc2").input("module.fc2", kX);
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side()), "s0/forward/input/fc2"), Ids { "s0/forward/output/fc1" });
}

TEST(PairInputsOfNames, EdgesOfBothSidesCount)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc1", kX).edge("fc1", "fc2").input("fc2", kX);
    b.rank().output("fc1", kX).output("extra", kX).edge("extra", "fc2").input("fc2", kX);
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side()), "s0/forward/input/fc2"), (Ids { "s0/forward/output/extra", "s0/forward/output/fc1" }));
}

TEST(PairInputsOfLosses, WithoutEdgesTheRootsOutputAndTheBatch)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().batch(kX).output("fc", kX).output("", kX).loss(1);
    }
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side()), "s0/forward/output/loss"), (Ids { "s0/data/batch/batch", "s0/forward/output/" }));
}

TEST(PairInputsOfLosses, OfAModelThatComputesItFromWhatItsCriterionIsGiven)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) { // what the criterion and the root return is the loss, and recorded once
        run->rank().batch(kX).input("", kX).output("head", kX).edge("head", "criterion").input("criterion", kX);
        run->rank().edge("criterion", "loss").edge("", "loss").loss(1);
    }
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side()), "s0/forward/output/loss"),
              (Ids { "s0/data/batch/batch", "s0/forward/input/", "s0/forward/input/criterion" }));
}

TEST(PairInputsOfLosses, ASecondRootOfBackwardIsALossToo)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        auto& rank = run->rank();
        rank.batch(kX).start("aux.weight", kX).output("main", kX).output("aux", kX).edge("main", "loss").edge("aux", "loss#1");
        rank.output("loss", kX).output("loss#1", kX).gradOutput("aux", kX);
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(inputsOf(alignment, "s0/forward/output/loss%231"), (Ids { "s0/data/batch/batch", "s0/forward/output/aux" }));
    EXPECT_EQ(inputsOf(alignment, "s0/backward/grad_output/aux"), Ids { "s0/forward/output/loss%231" });
}

TEST(PairInputsOfTies, AGradientGathersFromEveryModuleThatSharesTheParameter)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        auto& rank = run->rank();
        rank.tie({ "embed.weight", "head.weight" });
        rank.input("embed", kX).output("embed", kX).edge("embed", "head").input("head", kX).output("head", kX).edge("head", "loss").loss(1);
        rank.gradOutput("head", kX).gradOutput("embed", kX).grad("embed.weight", kX);
    }
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side()), "s0/backward/grad/embed.weight"),
        (Ids { "s0/backward/grad_output/embed", "s0/backward/grad_output/head", "s0/forward/input/embed", "s0/forward/input/head" }));
}

TEST(PairInputsOfTies, AnOutputComesFromTheSharedParameterUnderItsFirstName)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        auto& rank = run->rank();
        rank.tie({ "module.embed.weight", "module.head.weight" }).start("module.embed.weight", kX).start("module.other.weight", kX);
        rank.input("module.head", kX).output("module.head", kX);
    }
    EXPECT_EQ(
        inputsOf(aligned(a.side(), b.side()), "s0/forward/output/head"), (Ids { "s0/forward/input/head", "s0/start/param/embed.weight" }));
}

TEST(PairInputsOfTies, OnOneSideOnlyTheyCountToo)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        auto& rank = run->rank();
        rank.start("embed.weight", kX).input("head", kX).output("head", kX);
    }
    a.rank().tie({ "embed.weight", "head.weight" });
    b.rank().start("head.weight", kX);
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side()), "s0/forward/output/head"),
        (Ids { "s0/forward/input/head", "s0/start/param/embed.weight", "s0/start/param/head.weight" }));
}

TEST(PairInputsOfRecomputation, ComeFromTheFirstTime)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        auto& rank = run->rank();
        rank.start("fc.weight", kX)
            .batch(kX)
            .input("fc", kX)
            .output("fc", kX)
            .input("fc", kX, { .recompute = true })
            .output("fc", kX, { .recompute = true });
    }
    const auto alignment = aligned(a.side(), b.side());
    EXPECT_EQ(inputsOf(alignment, "s0/backward/input/fc"), Ids { "s0/forward/input/fc" });
    EXPECT_EQ(inputsOf(alignment, "s0/backward/output/fc"), (Ids { "s0/backward/input/fc", "s0/start/param/fc.weight" }));
}

TEST(PairInputsOfRecomputation, AGradientRestsOnTheRecomputedInput)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().input("fc", kX).input("fc", kX, { .recompute = true }).gradOutput("fc", kX).grad("fc.weight", kX);
    }
    EXPECT_EQ(inputsOf(aligned(a.side(), b.side()), "s0/backward/grad/fc.weight"),
        (Ids { "s0/backward/grad_output/fc", "s0/backward/input/fc", "s0/forward/input/fc" }));
}

} // namespace
} // namespace forkpoint::graph
