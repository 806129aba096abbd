// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/json_report.h"

#include "core/metrics/backend.h"
#include "core/report/sentence.h"
#include "tests/support/compared.h"
#include "tests/support/toy_training.h"

#include <gtest/gtest.h>
#include <limits>

// The keys that scripts rely on.
namespace forkpoint::report {
namespace {

using nlohmann::json;
using test::Compared;
using test::f32;
using test::RecordedRun;
using test::ToyTraining;
using Defect = test::ToyTraining::Defect;

json reportOf(const Compared& compared)
{
    return json::parse(jsonText(compared.snapshot()));
}

json toyReport(Defect defect)
{
    RecordedRun a("single"), b("ddp2", 2);
    test::writeToy(a, {});
    test::writeToy(b, { .world = 2, .defect = defect });
    return reportOf(Compared(a.side(), b.side()));
}

const json& pairOfReport(const json& report, const std::string& id)
{
    for (const auto& pair : report.at("pairs")) {
        if (pair.at("id") == id) {
            return pair;
        }
    }
    ADD_FAILURE() << "no pair " << id;
    static const json none = json::object();
    return none;
}

bool isNumber(const json& value)
{
    return value.is_number() || value == "NaN" || value == "Infinity" || value == "-Infinity";
}

void expectKeyTypes(const json& key)
{
    EXPECT_TRUE(key.at("step").is_number_integer());
    EXPECT_TRUE(key.at("micro").is_number_integer());
    EXPECT_GE(key.at("micro").get<int>(), 0);
    for (const char* text : { "phase", "kind", "module", "name" }) {
        EXPECT_TRUE(key.at(text).is_string()) << text;
    }
    EXPECT_TRUE(key.at("call").is_number_integer());
}

void expectMetricsTypes(const json& metrics)
{
    for (const char* number : { "max_abs", "max_rel", "mean_abs", "mean_diff", "rmse", "rel_l2", "rel_linf", "cosine", "norm_ratio",
             "best_scale", "scale_residual" }) {
        EXPECT_TRUE(isNumber(metrics.at(number))) << number;
    }
    EXPECT_TRUE(metrics.at("bit_equal_share").is_number());
    EXPECT_GE(metrics.at("bit_equal_share").get<double>(), 0);
    EXPECT_LE(metrics.at("bit_equal_share").get<double>(), 1);
    for (const char* count : { "count", "allclose_violations", "zero_mismatch", "nan_both", "inf_both_equal" }) {
        EXPECT_TRUE(metrics.at(count).is_number_integer()) << count;
    }
    for (const char* side : { "reference", "candidate" }) {
        for (const char* number : { "min", "max", "mean", "std", "norm" }) {
            EXPECT_TRUE(isNumber(metrics.at(side).at(number))) << number;
        }
        for (const char* count : { "zeros", "nan", "positive_inf", "negative_inf" }) {
            EXPECT_TRUE(metrics.at(side).at(count).is_number_integer()) << count;
        }
    }
}

TEST(JsonReport, HasEveryKeyWithItsType)
{
    for (const auto defect : { Defect::None, Defect::GradientTimesTwo, Defect::NaNOutput }) {
        const auto report = toyReport(defect);
        EXPECT_EQ(report.at("schema"), "forkpoint-comparison/1");
        for (const char* run : { "reference", "candidate" }) {
            EXPECT_TRUE(report.at("runs").at(run).at("name").is_string());
            EXPECT_TRUE(report.at("runs").at(run).at("world_size").is_number_integer());
            EXPECT_EQ(report.at("runs").at(run).at("steps"), (json { 0, 1 }));
            EXPECT_TRUE(report.at("unmatched").at(run).is_array());
        }
        EXPECT_TRUE(report.at("verdict").at("severity").is_string());
        EXPECT_TRUE(report.at("verdict").at("sentence").is_string());
        EXPECT_EQ(report.at("verdict").at("tier"), 1);
        EXPECT_EQ(report.at("verdict").at("gates").size(), 8u);
        EXPECT_TRUE(report.at("findings").is_array());
        ASSERT_TRUE(report.at("pairs").is_array());
        for (const auto& pair : report.at("pairs")) {
            EXPECT_TRUE(pair.at("id").is_string());
            expectKeyTypes(pair);
            for (const char* text : { "rule", "assembly", "severity" }) {
                EXPECT_TRUE(pair.at(text).is_string()) << text;
            }
            ASSERT_EQ(pair.at("dtype").size(), 2u);
            EXPECT_EQ(pair.at("dtype")[0], "float32");
            ASSERT_EQ(pair.at("shape").size(), 2u);
            EXPECT_TRUE(pair.at("shape")[1].is_array());
            for (const char* number : { "error", "floor", "ratio", "inherited", "added" }) {
                EXPECT_TRUE(isNumber(pair.at(number))) << number;
            }
            expectMetricsTypes(pair.at("metrics"));
        }
        ASSERT_TRUE(report.at("curves").is_array());
        EXPECT_EQ(report.at("curves")[0].at("name"), "loss");
        EXPECT_TRUE(report.at("curves")[0].contains("onset_step"));
        EXPECT_TRUE(report.at("coverage").at("calls_seen").is_number_integer());
        EXPECT_TRUE(report.at("coverage").at("calls").is_number_integer());
        EXPECT_TRUE(report.at("coverage").at("not_observed").is_array());
        EXPECT_EQ(report.at("backend"), metrics::activeBackend().name());
        EXPECT_EQ(report.at("tolerance").at("profile"), "noise-floor");
        ASSERT_TRUE(report.at("notes").is_array());
        for (const auto& note : report.at("notes")) {
            EXPECT_TRUE(note.is_string());
        }
    }
}

TEST(JsonReport, TheForkHasItsKeysAndWhatAgreesBeforeIt)
{
    const auto report = toyReport(Defect::GradientTimesTwo);
    EXPECT_EQ(report.at("verdict").at("severity"), "divergent");
    const auto& fork = report.at("verdict").at("fork");
    expectKeyTypes(fork);
    EXPECT_EQ(fork.at("pair"), "s0/reduce/grad/fc.weight");
    EXPECT_EQ(fork.at("step"), 0);
    EXPECT_EQ(fork.at("phase"), "reduce");
    EXPECT_EQ(fork.at("kind"), "grad");
    EXPECT_EQ(fork.at("module"), "fc") << "without wrapper prefixes";
    EXPECT_EQ(fork.at("name"), "fc.weight");
    EXPECT_EQ(fork.at("after"), json { "s0/backward/grad/fc.weight" });
    EXPECT_EQ(fork.at("proven"), true);
    EXPECT_TRUE(fork.at("source").is_null());
    const auto& pair = pairOfReport(report, "s0/reduce/grad/fc.weight");
    EXPECT_EQ(pair.at("rule"), "normalised");
    EXPECT_EQ(pair.at("assembly"), "replicate, ranks 0-1 equal");
    EXPECT_EQ(pair.at("shape"), (json { { 3, 4 }, { 3, 4 } }));
    EXPECT_NEAR(pair.at("metrics").at("best_scale").get<double>(), 2, 1e-5);
}

TEST(JsonReport, TheForkIsNullWhereNothingExceedsTheFloor)
{
    const auto report = toyReport(Defect::None);
    EXPECT_TRUE(report.at("verdict").at("fork").is_null());
    EXPECT_EQ(report.at("verdict").at("severity"), "noise");
    EXPECT_TRUE(report.at("curves")[0].at("onset_step").is_null());
}

TEST(JsonReport, SourceIsTheLineOfTheScript)
{
    const auto report = toyReport(Defect::NaNOutput);
    EXPECT_EQ(report.at("verdict").at("fork").at("source"), "model.py:7");
    EXPECT_EQ(pairOfReport(report, "s0/forward/output/fc").at("source"), "model.py:7");
}

TEST(JsonReport, NumbersThatAreNotFiniteAreStrings)
{
    const float infinity = std::numeric_limits<float>::infinity();
    RecordedRun a("a"), b("b");
    a.rank()
        .batch(f32({ 1, 1 }, { 1 }))
        .lossScalar(std::numeric_limits<double>::quiet_NaN())
        .scalar("gap", -std::numeric_limits<double>::infinity());
    a.rank().output("fc", f32({ 2 }, { 1, infinity })).output("zero", f32({ 1 }, { 0 }));
    b.rank().batch(f32({ 1, 1 }, { 1 })).lossScalar(1).output("fc", f32({ 2 }, { 1, 2 })).output("zero", f32({ 1 }, { 1 }));
    const auto report = reportOf(Compared(a.side(), b.side()));
    EXPECT_EQ(pairOfReport(report, "s0/forward/output/fc").at("error"), "Infinity");
    EXPECT_EQ(pairOfReport(report, "s0/forward/output/fc").at("severity"), "invalid");
    EXPECT_EQ(pairOfReport(report, "s0/forward/output/fc").at("metrics").at("reference").at("positive_inf"), 1);
    EXPECT_EQ(pairOfReport(report, "s0/forward/output/zero").at("metrics").at("norm_ratio"), "Infinity");
    EXPECT_EQ(report.at("curves")[0].at("reference"), (json { { 0, "NaN" } }));
    EXPECT_EQ(report.at("curves")[0].at("onset_step"), 0);
    EXPECT_EQ(report.at("curves")[1].at("reference"), (json { { 0, "-Infinity" } }));
}

TEST(JsonReport, IntegersHaveNoFloor)
{
    RecordedRun a("a"), b("b");
    a.rank().output("route", test::i64({ 2 }, { 1, 2 }));
    b.rank().output("route", test::i64({ 2 }, { 1, 3 }));
    const auto pair = pairOfReport(reportOf(Compared(a.side(), b.side())), "s0/forward/output/route");
    EXPECT_EQ(pair.at("ratio"), "Infinity");
    EXPECT_EQ(pair.at("floor"), 0.0);
    EXPECT_EQ(pair.at("dtype"), (json { "int64", "int64" }));
}

TEST(JsonReport, NamesAreEscaped)
{
    const std::string name = "a\"b\\c\n\x01\x1b[2J größe 层";
    RecordedRun a("a"), b("b");
    a.rank().output(name, f32({ 1 }, { 1 }));
    b.rank().output(name, f32({ 1 }, { 2 }));
    const Compared compared(a.side(), b.side());
    const auto text = jsonText(compared.snapshot());
    for (const char c : text) {
        EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
    }
    EXPECT_EQ(json::parse(text).at("verdict").at("fork").at("module"), name);
}

TEST(JsonReport, NamesThatAreNoUtf8AreReplaced)
{
    RecordedRun a("caf\xE9"), b("b");
    a.rank().output("fc", f32({ 1 }, { 1 }));
    b.rank().output("fc", f32({ 1 }, { 1 }));
    // Without bundle.json the folder names the run, and a folder may have any bytes.
    auto sideA = [&] {
        a.rank().finish("x", 1);
        std::filesystem::remove(a.path() / "bundle.json");
        auto bundle = bundle::Bundle::open(a.path());
        EXPECT_TRUE(bundle) << bundle.error().text();
        auto side = align::Side::whole(*bundle);
        side.label = "caf\xE9";
        return side;
    }();
    const Compared compared(std::move(sideA), b.side());
    const auto report = json::parse(jsonText(compared.snapshot()));
    EXPECT_EQ(report.at("runs").at("reference").at("name"), "caf\xEF\xBF\xBD");
}

TEST(JsonReport, WhatExistsOnOneSideIsListedApart)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc1", f32({ 1 }, { 1 })).output("fc", f32({ 1 }, { 1 }));
    b.rank().output("fc2", f32({ 1 }, { 1 })).output("fc", f32({ 1 }, { 1 }));
    const auto report = reportOf(Compared(a.side(), b.side()));
    EXPECT_EQ(report.at("unmatched").at("reference"), json { "s0/forward/output/fc1" });
    EXPECT_EQ(report.at("unmatched").at("candidate"), json { "s0/forward/output/fc2" });
    EXPECT_EQ(report.at("pairs").size(), 1u);
    EXPECT_EQ(report.at("verdict").at("severity"), "unmatched");
}

TEST(JsonReport, WhatWasNotObservedSaysWhy)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc", f32({ 1 }, { 1 }));
    b.rank().output("fc", f32({ 1 }, { 1 }), { .notObserved = "freed" });
    const auto pair = pairOfReport(reportOf(Compared(a.side(), b.side())), "s0/forward/output/fc");
    EXPECT_EQ(pair.at("not_observed"), "freed");
    EXPECT_FALSE(pair.contains("metrics"));
}

TEST(JsonReport, WhatCouldNotBeReadSaysWhy)
{
    RecordedRun a("a"), b("b");
    a.rank().output("fc", f32({ 1 }, { 1 }));
    b.rank().output("fc", f32({ 1 }, { 2 }));
    auto sideA = a.side(), sideB = b.side();
    std::filesystem::resize_file(b.path() / "rank00000" / "tensors-0000.bin", 0);
    const auto pair = pairOfReport(reportOf(Compared(std::move(sideA), std::move(sideB))), "s0/forward/output/fc");
    EXPECT_EQ(pair.at("severity"), "unmatched");
    EXPECT_FALSE(pair.at("note").get<std::string>().empty());
    EXPECT_FALSE(pair.contains("metrics"));
}

TEST(JsonReport, RanksThatWereComparedApartAreListed)
{
    const auto report = toyReport(Defect::UnreducedGradients);
    const auto& ranks = pairOfReport(report, "s0/reduce/grad/fc.weight").at("ranks");
    ASSERT_EQ(ranks.size(), 2u);
    EXPECT_EQ(ranks[0].at("rank"), 0);
    EXPECT_EQ(ranks[1].at("rank"), 1);
    EXPECT_EQ(ranks[1].at("severity"), "divergent");
    expectMetricsTypes(ranks[1].at("metrics"));
    EXPECT_FALSE(pairOfReport(report, "s0/start/param/fc.weight").contains("ranks"));
}

TEST(JsonReport, SlotsAndMicroStepsAreNamed)
{
    RecordedRun a("a"), b("b");
    for (auto* run : { &a, &b }) {
        run->rank().micro(0).batch(f32({ 1, 1 }, { 1 }), { .slot = "0" }).micro(1).batch(f32({ 1, 1 }, { 2 }), { .slot = "0" });
        run->rank().optimizerState("fc.weight", "exp_avg@before", f32({ 1 }, { 1 }));
    }
    const auto report = reportOf(Compared(a.side(), b.side()));
    const auto& batch = pairOfReport(report, "s0.m1/data/batch/batch:0");
    EXPECT_EQ(batch.at("micro"), 1);
    EXPECT_EQ(batch.at("name"), "batch");
    EXPECT_EQ(batch.at("slot"), "0");
    const auto& state = pairOfReport(report, "s0/optimizer/optimizer_state/fc.weight:exp_avg%40before");
    EXPECT_EQ(state.at("name"), "fc.weight");
    EXPECT_EQ(state.at("slot"), "exp_avg@before");
    EXPECT_EQ(state.at("micro"), 0);
}

TEST(JsonReport, WithANoiseRunTheTierIsTwo)
{
    RecordedRun a("a"), b("b"), again("again");
    for (auto* run : { &a, &b, &again }) {
        test::writeToy(*run, {});
    }
    const auto report = reportOf(Compared(a.side(), b.side(), { .align = {}, .noise = again.side() }));
    EXPECT_EQ(report.at("verdict").at("tier"), 2);
    EXPECT_EQ(report.at("runs").at("noise").at("name"), "again");
    EXPECT_EQ(report.at("tolerance").at("measured"), true);
}

TEST(JsonReport, ProblemsOfTheBundlesAreNoted)
{
    RecordedRun a("a"), b("b", 2);
    a.rank().output("fc", f32({ 1 }, { 1 }));
    b.rank(0).output("fc", f32({ 1 }, { 1 }));
    const auto report = reportOf(Compared(a.side(), b.side()));
    bool said = false;
    for (const auto& note : report.at("notes")) {
        said = said || note.get<std::string>().starts_with("candidate: ");
    }
    EXPECT_TRUE(said) << report.at("notes").dump();
}

TEST(JsonReport, ContextIsNullWhereNoneWasRecorded)
{
    EXPECT_TRUE(toyReport(Defect::None).at("context").is_null());
    RecordedRun a("a"), b("b");
    a.rank().output("fc", f32({ 1 }, { 1 })).info({ { "flags", { { "x", 1 } } } });
    b.rank().output("fc", f32({ 1 }, { 1 })).info({ { "flags", { { "x", 2 } } } });
    const auto report = reportOf(Compared(a.side(), b.side()));
    EXPECT_EQ(report.at("context"),
        (json { { { "section", "flags" }, { "key", "x" }, { "reference", "1" }, { "candidate", "2" }, { "expected", false } } }));
}

TEST(JsonReport, IsTheSameEveryTime)
{
    RecordedRun a("a"), b("b", 2);
    test::writeToy(a, {});
    test::writeToy(b, { .world = 2, .defect = Defect::UnreducedGradients });
    EXPECT_EQ(jsonText(Compared(a.side(), b.side()).snapshot()), jsonText(Compared(a.side(), b.side()).snapshot()));
}

} // namespace
} // namespace forkpoint::report
