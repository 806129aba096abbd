// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/sentence.h"

#include "core/compare/pair_counts.h"
#include "tests/support/compared.h"
#include "tests/support/toy_training.h"

#include <gtest/gtest.h>

// The sentence claims nothing about what was not compared.
namespace forkpoint::report {
namespace {

using diagnose::Severity;
using test::Compared;
using test::contains;
using test::f32;
using test::RecordedRun;

TEST(Sentence, EveryPairCountsOnceAndWhatCouldNotBeReadIsNoAgreement)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().batch(f32({ 1 }, { 1 })).output("fc", f32({ 2 }, { 1, run == &a ? 2.f : 2.0000002f })).output("head", f32({ 2 }, { 3, 3 }));
    }
    a.rank().output("extra", f32({ 1 }, { 1 }));
    auto sideA = a.side(), sideB = b.side();
    std::filesystem::resize_file(b.path() / "rank00000" / "tensors-0000.bin", 0);
    const Compared compared(std::move(sideA), std::move(sideB));
    const auto counts = compare::countPairs(compared.snapshot());
    EXPECT_EQ(counts.identical, 2u) << "equal digests need no bytes";
    EXPECT_EQ(counts.unreadable, 1u);
    EXPECT_EQ(counts.onlyA, 1u);
    EXPECT_EQ(counts.compared() + counts.unreadable + counts.unrelated + counts.oneSided(), compared.snapshot().pairs());
    EXPECT_FALSE(counts.complete());
    EXPECT_EQ(compared.severity(), Severity::Unmatched);
    EXPECT_EQ(verdictSentence(compared.snapshot()),
        "The runs are bit-identical in the 2 tensors that could be compared. 1 tensor exists on one side only. 1 tensor could not be read.");
}

TEST(Sentence, TwoRanksOfOneRunMayHaveOtherDataAndNothingElse)
{
    for (const bool healthy : { true, false }) {
        RecordedRun run("ddp2", 2);
        for (int rank = 0; rank < 2; ++rank) {
            const auto own = static_cast<float>(rank);
            run.rank(rank)
                .start("fc.weight", f32({ 2 }, { 1, 2 }))
                .startBuffer("fc.seen", f32({ 1 }, { own }))
                .batch(f32({ 2 }, { own, 3 }))
                .output("fc", f32({ 2 }, { own, 6 }))
                .loss(own + 1)
                .grad("fc.weight", f32({ 2 }, { own, 1 }))
                .reduced("fc.weight", f32({ 2 }, { 0.5f, healthy ? 1 : own + 1 }));
        }
        const auto bundle = run.open();
        const Compared compared(*align::Side::oneRank(bundle, 0), *align::Side::oneRank(bundle, 1));
        EXPECT_EQ(compared.alignment().ranksOfOneRun, std::pair(0, 1));
        EXPECT_EQ(compared.fork(), healthy ? "none" : "s0/reduce/grad/fc.weight");
        EXPECT_EQ(compared.severity(), healthy ? Severity::Identical : Severity::Divergent);
        const auto sentence = verdictSentence(compared.snapshot());
        EXPECT_TRUE(contains(sentence, "Ranks 0 and 1 of one run: their data differ by design"));
        EXPECT_TRUE(contains(sentence, healthy ? "Weights, reduced gradients and optimizer are bit-identical in all 2 compared tensors." : "They fork at step 0"));
        EXPECT_EQ(compare::countPairs(compared.snapshot()).byDesign, 5u);
    }
}

TEST(Sentence, RanksOfTwoRunsAreNoRanksOfOne)
{
    RecordedRun a("a", 2), b("b", 2);
    for (auto* run : { &a, &b }) {
        test::writeToy(*run, { .world = 2 });
    }
    EXPECT_FALSE(test::aligned(a.side(0), b.side(1)).ranksOfOneRun);
}

TEST(Sentence, AForkWithoutRecordedInputsIsNotSaidToComeFirst)
{
    RecordedRun a("a"), b("b");
    a.rank().start("fc.weight", f32({ 2 }, { 1, 2 })).batch(f32({ 2 }, { 1, 2 }));
    b.rank().start("fc.weight", f32({ 2 }, { 1, 2 })).batch(f32({ 2 }, { 1, 3 }));
    const Compared compared(a.side(), b.side());
    EXPECT_EQ(compare::forkEvidence(compared.snapshot()), compare::ForkEvidence::InputsNotRecorded);
    EXPECT_TRUE(contains(verdictSentence(compared.snapshot()), "; none of its inputs was recorded."));
    RecordedRun c("c"), d("d");
    c.rank().batch(f32({ 2 }, { 1, 2 }));
    d.rank().batch(f32({ 2 }, { 1, 3 }));
    EXPECT_TRUE(contains(verdictSentence(Compared(c.side(), d.side()).snapshot()), "; nothing recorded comes before it."));
}

TEST(Sentence, AnEmptySideSaysTheFirstProblem)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().batch(f32({ 1 }, { 1 }));
    }
    auto sideA = a.side();
    b.open();
    std::filesystem::resize_file(b.path() / "rank00000" / "tensors.jsonl", 3);
    const auto damaged = bundle::Bundle::open(b.path());
    ASSERT_TRUE(damaged);
    const auto alignment = align::align(std::move(sideA), align::Side::whole(*damaged));
    ASSERT_FALSE(alignment);
    EXPECT_TRUE(contains(alignment.error().text(), "tensors.jsonl:1")) << "what is wrong, and where";
}

TEST(Context, OfAnUnreadableRankIsNoDifference)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().info({ { "environment", { { "torch", "2.0" } } } }).batch(f32({ 1 }, { 1 }));
    }
    auto sideA = a.side();
    b.open();
    std::filesystem::resize_file(b.path() / "rank00000" / "rank.json", 5);
    const auto damaged = bundle::Bundle::open(b.path());
    ASSERT_TRUE(damaged);
    const auto entries = diagnose::contextDifferences(sideA, align::Side::whole(*damaged));
    ASSERT_TRUE(entries && entries->size() == 1);
    EXPECT_TRUE(entries->front().unreadable);
    EXPECT_EQ(diagnose::unexpectedDifferences(entries), 0u);
}

} // namespace
} // namespace forkpoint::report
