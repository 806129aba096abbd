// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/text_report.h"

#include "core/report/sentence.h"
#include "core/report/terminal.h"
#include "tests/support/compared.h"
#include "tests/support/toy_training.h"

#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>

namespace forkpoint::report {
namespace {

using test::Compared;
using test::contains;
using test::f32;
using test::RecordedRun;
using test::ToyTraining;
using Defect = test::ToyTraining::Defect;

struct Toys {
    RecordedRun a { "single" }, b { "ddp2", 2 };
    explicit Toys(Defect defect)
    {
        test::writeToy(a, {});
        test::writeToy(b, { .world = 2, .defect = defect });
    }
    Compared compare() { return { a.side(), b.side() }; }
};

std::string textOf(const Compared& compared, int width = 100, bool colour = false)
{
    return textReport(compared.snapshot(), { .width = width, .colour = colour });
}

bool has(const std::string& text, std::string_view part)
{
    return text.find(part) != std::string::npos;
}

/// Fails the test if a line is longer than the width, or holds a control character.
void expectWithin(const std::string& text, int width)
{
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(columns(line), static_cast<std::size_t>(width)) << line;
        EXPECT_EQ(printable(line), line);
    }
}

std::string withoutColour(const std::string& text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\x1b') {
            i = text.find('m', i);
        } else {
            out += text[i];
        }
    }
    return out;
}

/// Everything that can be long is long.
Compared unwieldy(RecordedRun& a, RecordedRun& b)
{
    const std::string module = "transformer.encoder.layers." + std::string(60, 'x') + ".self_attention.query_projection";
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (auto* run : { &a, &b }) {
        const bool isA = run == &a;
        for (int r = 0; r < 20; ++r) {
            auto& rank = run->rank(r);
            const auto x = static_cast<float>(r);
            rank.batch(f32({ 1, 1 }, { x })).call(module, "/home/somebody/projects/training/" + std::string(90, 'y') + "/model.py:1234");
            rank.output("small", f32({ 2 }, { 1e-37f, isA ? 1e-37f : 1.3e-37f }));
            rank.output(module, f32({ 2 }, { isA ? 1e30f : -1.2345678e30f * (x + 1), nan }), { .slot = "a_keyword_of_some_length" })
                .loss(isA ? 1 : 2);
            rank.info({ { "flags", { { "a_switch_with_quite_a_long_name_" + std::string(70, 'z'), isA } } },
                { "environment", { { "env.MASTER_PORT", isA ? "1" : "2" }, { "torch", isA ? "2.1" : "2.2" } } } });
            rank.step(1).start("fc.weight", f32({ 1 }, { 1 }));
        }
    }
    b.rank(0).step(3).start("fc.weight", f32({ 1 }, { 1 }));
    return { a.side(), b.side() };
}

TEST(TextWidth, NoLineIsLongerThanTheTerminal)
{
    RecordedRun a("a_run_" + std::string(80, 'a'), 20), b("another_run_" + std::string(80, 'b'), 21);
    const auto compared = unwieldy(a, b);
    for (const int width : { 50, 60, 69, 70, 80, 120, 200 }) {
        expectWithin(textOf(compared, width), width);
    }
}

TEST(TextWidth, OfEveryKindOfVerdict)
{
    for (const auto defect :
        { Defect::None, Defect::GradientTimesTwo, Defect::OtherStart, Defect::NaNOutput, Defect::LearningRate, Defect::OtherBatch }) {
        Toys toys(defect);
        const auto compared = toys.compare();
        for (const int width : { 50, 80, 200 }) {
            expectWithin(textOf(compared, width), width);
        }
    }
}

TEST(TextWidth, ANarrowerTerminalGetsFiftyColumns)
{
    Toys toys(Defect::GradientTimesTwo);
    const auto compared = toys.compare();
    EXPECT_EQ(textOf(compared, 7), textOf(compared, 50));
    EXPECT_EQ(textOf(compared, -1), textOf(compared, 50));
}

TEST(TextWidth, WrappedLinesUseTheWidth)
{
    Toys toys(Defect::GradientTimesTwo);
    std::istringstream lines(textOf(toys.compare(), 80));
    std::string first, second;
    std::getline(lines, first);
    std::getline(lines, second);
    ASSERT_FALSE(second.empty());
    const auto word = second.substr(second.find_first_not_of(' '));
    EXPECT_GT(columns(first) + 1 + columns(word.substr(0, word.find(' '))), 80u) << "the next word would not have fitted";
}

TEST(TextWidth, LongNamesLoseTheirMiddle)
{
    RecordedRun a("a", 20), b("b", 20);
    const auto text = textOf(unwieldy(a, b), 80);
    EXPECT_TRUE(has(text, "..."));
    EXPECT_FALSE(has(text, std::string(60, 'x')));
    EXPECT_TRUE(has(textOf(unwieldy(a, b), 300), std::string(60, 'x'))) << "and keep it where there is room";
}

TEST(TextColour, OnlyWhereAsked)
{
    Toys toys(Defect::GradientTimesTwo);
    const auto compared = toys.compare();
    const auto plain = textOf(compared, 80, false), coloured = textOf(compared, 80, true);
    EXPECT_FALSE(has(plain, "\x1b"));
    EXPECT_TRUE(has(coloured, "\x1b[1;31mDIVERGENT\x1b[0m"));
    EXPECT_EQ(withoutColour(coloured), plain) << "colour adds nothing else";
}

TEST(TextReport, SaysTheVerdictTheForkAndWhatAgreesBeforeIt)
{
    Toys toys(Defect::GradientTimesTwo);
    const auto text = textOf(toys.compare(), 200);
    EXPECT_TRUE(text.starts_with("DIVERGENT  The runs fork at step 0, reduce/grad of fc.weight: relative difference 0.5"));
    EXPECT_TRUE(contains(text, "candidate = 2 x reference"));
    EXPECT_TRUE(contains(text, "1 recorded tensor it was computed from agrees"));
    EXPECT_TRUE(contains(text, "  reference  single (1 rank, steps 0-1)\n"));
    EXPECT_TRUE(contains(text, "  candidate  ddp2 (2 ranks, steps 0-1)\n"));
    EXPECT_TRUE(contains(text, "  floor      estimated\n"));
    EXPECT_TRUE(contains(text, "\nFork\n  pair                 s0/reduce/grad/fc.weight\n"));
    EXPECT_TRUE(contains(text, "  inputs in agreement  1, largest error"));
    EXPECT_TRUE(contains(text, "  assembly             replicate, ranks 0-1 equal\n"));
    EXPECT_TRUE(contains(text, "> # divergent"));
    EXPECT_TRUE(contains(text, "  reduce       fork          2 identical") || has(text, "  reduce       fork        "));
    EXPECT_TRUE(contains(text, "from step 0: all ranks joined; rows matched by content, in another order"));
}

TEST(TextReport, SaysWhereInTheScript)
{
    Toys toys(Defect::NaNOutput);
    const auto text = textOf(toys.compare(), 200);
    EXPECT_TRUE(contains(
        text, "INVALID  The runs fork at step 0, forward/output of fc at model.py:7: not finite in different places: NaN 0 against"));
    EXPECT_TRUE(contains(text, "  source               model.py:7\n"));
    EXPECT_TRUE(contains(text, "  not finite           NaN 0 against"));
}

TEST(TextReport, SaysThatHealthyRunsAgree)
{
    Toys toys(Defect::None);
    const auto text = textOf(toys.compare(), 200);
    EXPECT_TRUE(text.starts_with("NOISE  The runs agree within rounding in all "));
    EXPECT_TRUE(contains(text, "closest to the floor: step "));
    EXPECT_TRUE(contains(text, "\nPairs with the largest error\n"));
    EXPECT_FALSE(has(text, "\nFork\n"));
}

TEST(TextReport, SaysThatRunsAreBitIdentical)
{
    RecordedRun a("a");
    test::writeToy(a, {});
    const Compared compared(a.side(), a.side());
    EXPECT_EQ(verdictSentence(compared.snapshot()),
        fmt::format("The runs are bit-identical in all {} compared tensors.", compared.verdict().pairs));
}

TEST(TextReport, SaysThatSomeTensorsExistOnOneSideOnly)
{
    RecordedRun a("a"), b("b");
    a.rank().output("extra", f32({ 1 }, { 1 })).output("fc", f32({ 1 }, { 1 }));
    b.rank().output("fc", f32({ 1 }, { 1 }));
    const Compared compared(a.side(), b.side());
    EXPECT_EQ(
        verdictSentence(compared.snapshot()), "The runs are bit-identical in the 1 tensor that could be compared. 1 tensor exists on one side only.");
    EXPECT_TRUE(contains(textOf(compared), "UNMATCHED"));
    EXPECT_TRUE(contains(coverageSentence(compared.snapshot()), "1 tensors only in the reference, 0 only in the candidate"));
}

TEST(TextReport, SaysThatNothingIsOnBothSides)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc1", f32({ 1 }, { 1 }));
    b.rank().output("fc2", f32({ 1 }, { 1 }));
    EXPECT_EQ(verdictSentence(Compared(a.side(), b.side()).snapshot()), "Nothing could be compared: no tensor exists on both sides. 2 tensors exist on one side only.");
}

TEST(TextReport, SaysThatBytesCouldNotBeRead)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc1", f32({ 1 }, { 1 })).output("fc2", f32({ 1 }, { 1 }));
    b.rank().output("fc1", f32({ 1 }, { 1 })).output("fc2", f32({ 1 }, { 2 }));
    auto sideA = a.side(), sideB = b.side();
    std::filesystem::resize_file(b.path() / "rank00000" / "tensors-0000.bin", 0);
    const Compared compared(std::move(sideA), std::move(sideB));
    EXPECT_EQ(verdictSentence(compared.snapshot()), "The runs are bit-identical in the 1 tensor that could be compared. 1 tensor could not be read.");
    EXPECT_TRUE(contains(coverageSentence(compared.snapshot()), "1 pair could not be read"));
}

TEST(TextReport, SaysThatNothingCouldBeRead)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc", f32({ 1 }, { 1 }));
    b.rank().output("fc", f32({ 1 }, { 2 }));
    auto sideA = a.side(), sideB = b.side();
    std::filesystem::resize_file(b.path() / "rank00000" / "tensors-0000.bin", 0);
    EXPECT_EQ(
        verdictSentence(Compared(std::move(sideA), std::move(sideB)).snapshot()), "Nothing could be compared. 1 tensor could not be read.");
}

TEST(TextReport, SaysWhatIsOnOneSideAndFeedsADifference)
{
    RecordedRun a("a"), b("b");
    const auto x = f32({ 2, 1 }, { 1, 2 });
    a.rank().batch(x).input("fc", x).output("fc", f32({ 2, 1 }, { 3, 4 }));
    b.rank().batch(x).call("norm", "model.py:5").input("norm", x).output("norm", f32({ 2, 1 }, { 5, 6 })).edge("norm", "fc");
    b.rank().input("fc", f32({ 2, 1 }, { 5, 6 })).output("fc", f32({ 2, 1 }, { 7, 8 }));
    EXPECT_EQ(verdictSentence(Compared(a.side(), b.side()).snapshot()),
        "The runs fork at step 0, forward/output of norm at model.py:5: it exists in the candidate only, and what it feeds differs.");
}

TEST(TextReport, SaysShapesThatCannotBeRelated)
{
    RecordedRun a("a"), b("b");
    a.rank().start("fc.weight", f32({ 1 }, { 1 }));
    b.rank().start("fc.weight", f32({ 2 }, { 1, 2 }));
    EXPECT_TRUE(contains(
        verdictSentence(Compared(a.side(), b.side()).snapshot()), "start/param of fc.weight: shapes cannot be related: [1] against [2]"));
}

TEST(TextReport, NamesOfStrangersMoveNoCursor)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc\x1b[2J\nx", f32({ 1 }, { 1 })).info({ { "flags", { { "evil\x1b[2J", 1 } } } });
    b.rank().output("fc\x1b[2J\nx", f32({ 1 }, { 2 })).info({ { "flags", { { "evil\x1b[2J", 2 } } } });
    const auto text = textOf(Compared(a.side(), b.side()), 100);
    EXPECT_FALSE(has(text, "\x1b"));
    EXPECT_TRUE(contains(text, "fc\\x1b[2J\\x0ax"));
    EXPECT_TRUE(contains(text, "evil\\"));
    expectWithin(text, 100);
}

TEST(TextReport, AroundTheForkOnlyAsManyPairsAsAsked)
{
    Toys toys(Defect::GradientTimesTwo);
    const auto compared = toys.compare();
    const auto few = textReport(compared.snapshot(), { .width = 200, .colour = false, .around = 1 });
    EXPECT_TRUE(contains(few, "... "));
    EXPECT_TRUE(contains(few, " before\n"));
    EXPECT_TRUE(contains(few, " after\n"));
    EXPECT_FALSE(has(few, "s0/start/param/fc.weight"));
    EXPECT_TRUE(contains(textReport(compared.snapshot(), { .width = 200, .colour = false, .around = 1000 }), "s0/start/param/fc.weight"));
    EXPECT_FALSE(has(textReport(compared.snapshot(), { .width = 200, .colour = false, .around = 0 }), "s0/reduce/grad/fc.bias"));
}

TEST(TextReport, DifferencesOfTheEnvironmentAreListedOnce)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank()
            .output("fc", f32({ 1 }, { 1 }))
            .info({ { "flags", { { "tf32_matmul", run == &b } } },
                { "config", { { "argv", { run == &a ? "x" : "y" } } } },
                { "environment", { { "env.MASTER_PORT", run == &a ? "1" : "2" } } } });
    }
    const auto text = textOf(Compared(a.side(), b.side()));
    EXPECT_TRUE(contains(text, "  flags tf32_matmul: false -> true\n"));
    EXPECT_TRUE(contains(text, "  config argv.0: \"x\" -> \"y\"\n")) << "no alarm, but often the most telling line";
    EXPECT_TRUE(contains(text, "and 1 that any two runs have"));
    EXPECT_TRUE(contains(text, "  environment  differs       1 difference\n"));
}

TEST(Verdict, ALossThatDepartsAfterTheComparedStepsIsSaid)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().output("fc", f32({ 1 }, { 1 })).scalar("loss", 1.0);
        run->rank().step(6).scalar("loss", run == &a ? 1.0 : 50.0);
    }
    const Compared compared(a.side(), b.side());
    EXPECT_TRUE(contains(verdictSentence(compared.snapshot()), "the loss departs at step 6, after the last compared step 0: record --steps 5:7"));
}

TEST(Verdict, InputsOfTheForkOnOneSideAreNamed)
{
    RecordedRun a("a"), b("b");
    a.rank().start("fc.weight", f32({ 1 }, { 1 })).output("fc", f32({ 1 }, { 1 }));
    b.rank().output("fc", f32({ 1 }, { 2 }));
    const Compared compared(a.side(), b.side());
    EXPECT_TRUE(contains(verdictSentence(compared.snapshot()), "s0/start/param/fc.weight exists in the reference only"));
}

TEST(Gates, WhatOnlyOneSideHasIsNotCompared)
{
    RecordedRun a("a"), b("b");
    a.rank().start("fc.weight", f32({ 1 }, { 1 })).output("fc", f32({ 1 }, { 1 }));
    b.rank().output("fc", f32({ 1 }, { 1 }));
    const auto text = textOf(Compared(a.side(), b.side()));
    EXPECT_TRUE(contains(text, "  weights      not compared  1 unmatched\n"));
    EXPECT_TRUE(contains(text, "  forward      ok            1 identical\n"));
}

TEST(Coverage, OfTheRecorder)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().output("fc", f32({ 1 }, { 1 })).info({ { "coverage", { { "calls", 10 }, { "calls_seen", 9 } } } });
    for (int r = 0; r < 2; ++r) {
        b.rank(r).output("fc", f32({ 1 }, { 1 }));
        b.rank(r).info(
            { { "coverage", { { "calls", 10 }, { "calls_seen", 10 }, { "not_observed", { { { "what", "x" }, { "why", "y" } } } } } } });
    }
    b.rank(1).info({ { "status", "recording" } });
    const Compared compared(a.side(), b.side());
    EXPECT_EQ(coverageSentence(compared.snapshot()),
        "reference 9 of 10 module calls, candidate 20 of 20 module calls (1 of 2 ranks did not end regularly); 1 pairs; 1 things not "
        "observed");
    EXPECT_EQ(coverageOf(compared.alignment().b).notObserved, std::vector<std::string> { "x: y" }) << "once, though both ranks say it";
}

TEST(Coverage, OfDamagedMetadata)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc", f32({ 1 }, { 1 })).info({ { "coverage", "all of it" } });
    b.rank()
        .output("fc", f32({ 1 }, { 1 }))
        .info({ { "coverage", { { "calls", "many" }, { "calls_seen", -3 }, { "not_observed", { 1, nullptr, { { "what", 2 } } } } } } });
    const Compared compared(a.side(), b.side());
    EXPECT_EQ(coverageOf(compared.alignment().a).calls, -1);
    EXPECT_EQ(coverageOf(compared.alignment().b).calls, -1);
    EXPECT_TRUE(contains(coverageSentence(compared.snapshot()), "reference calls not counted"));
}

TEST(BundleText, SaysWhatABundleHolds)
{
    RecordedRun run("ddp2", 2);
    test::writeToy(run, { .world = 2 });
    run.rank(0).info({ { "environment", { { "torch", "2.1.0" } } } });
    run.rank(1).info({ { "status", "failed" }, { "error", "RuntimeError: \x1b[31mboom" } });
    const auto bundle = run.open();
    const auto text = bundleText(*bundle, { .width = 100 });
    EXPECT_TRUE(text.starts_with("ddp2\n"));
    EXPECT_TRUE(contains(text, "  world size  2\n  steps       steps 0-1\n"));
    EXPECT_TRUE(contains(text, "  torch       2.1.0\n"));
    EXPECT_TRUE(contains(text, "  status      failed\n"));
    EXPECT_TRUE(contains(text, "the recording did not end regularly: the last tensor is optimizer/param of step 1"));
    EXPECT_TRUE(contains(text, "  error       RuntimeError: \\x1b[31mboom\n"));
    EXPECT_TRUE(contains(text, "       4  start/param\n"));
    for (const int width : { 50, 80, 200 }) {
        expectWithin(bundleText(*bundle, { .width = width }), width);
    }
}

TEST(BundleText, FitsTheWidthWhateverTheNames)
{
    RecordedRun run("run_" + std::string(120, 'n'));
    run.rank()
        .output("fc", f32({ 1 }, { 1 }))
        .info({ { "status", std::string(200, 's') }, { "environment", { { "torch", std::string(200, 't') } } },
            { "error", std::string(200, 'e') } });
    const auto bundle = run.open();
    std::ofstream(run.path() / "rank00000" / "tensors.jsonl", std::ios::app) << "{torn";
    const auto damaged = *bundle::Bundle::open(run.path());
    ASSERT_FALSE(damaged->problems().empty());
    for (const int width : { 50, 80, 200 }) {
        expectWithin(bundleText(*bundle, { .width = width }), width);
        expectWithin(bundleText(*damaged, { .width = width }), width);
    }
}

} // namespace
} // namespace forkpoint::report
