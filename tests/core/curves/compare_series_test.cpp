// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/curves/compare_series.h"

#include "tests/support/run_builder.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

namespace forkpoint::curves {
namespace {

namespace fs = std::filesystem;

const fs::path kLoss = fs::path(FORKPOINT_TEST_DATA) / "loss";

SeriesComparison compared(const fs::path& a, const fs::path& b, double tolerance = kSeriesTolerance)
{
    auto out = compareSeries(a, b, tolerance);
    EXPECT_TRUE(out) << out.error().text();
    return out.value_or(SeriesComparison());
}

import::SeriesFile log(const std::map<std::string, std::map<std::int32_t, double>>& series)
{
    import::SeriesFile out;
    for (const auto& [name, values] : series) {
        out.series[name].values = values;
    }
    return out;
}

TEST(CompareSeries, SaysWhereTheNumbersCameFrom)
{
    const auto both = compared(kLoss / "loss_A.jsonl", kLoss / "tb_A");
    EXPECT_EQ(both.a.name, "loss_A.jsonl");
    EXPECT_EQ(both.a.format, "JSON lines");
    EXPECT_EQ(both.a.curves, 3u);
    EXPECT_EQ(both.b.format, "TensorBoard events");
    EXPECT_FALSE(both.differs());
    EXPECT_EQ(both.common(), 2u);
    EXPECT_EQ(both.departing(), 0u);
    const auto& lr = *std::find_if(both.overlays.begin(), both.overlays.end(), [](const auto& it) { return it.curve.name == "lr"; });
    EXPECT_EQ(lr.common, 0u) << "both_lr/both has another name";
    const auto trainer = compared(kLoss / "hf_A", kLoss / "hf_B");
    ASSERT_EQ(trainer.a.notes.size(), 1u);
    EXPECT_NE(trainer.a.notes[0].find("the last one counts"), std::string::npos);
}

TEST(CompareSeries, TellsOfTheCurveThatDepartsFirst)
{
    const auto csv = compared(kLoss / "loss_A.csv", kLoss / "loss_B.csv");
    EXPECT_TRUE(csv.differs());
    EXPECT_EQ(csv.telling().curve.name, "grad_norm");
    EXPECT_EQ(csv.telling().curve.onset, 0);
    EXPECT_EQ(csv.departing(), 1u);
    EXPECT_EQ(compared(kLoss / "loss_A.csv", kLoss / "loss_B.csv", 0.1).telling().curve.name, "loss") << "none departs: the first";

    // Of equal onsets the loss; a curve without a common step tells nothing, wherever it stands.
    const auto a = log({ { "a_loss", { { 9, 1.0 } } }, { "acc", { { 3, 1.0 } } }, { "loss", { { 3, 1.0 }, { 4, 1.0 } } } });
    const auto b = log({ { "a_loss", { { 8, 1.0 } } }, { "acc", { { 3, 2.0 } } }, { "loss", { { 3, 2.0 }, { 4, 1.0 } } } });
    const auto tie = compareSeries(a, b);
    ASSERT_TRUE(tie);
    EXPECT_EQ(tie->telling().curve.name, "loss");
    EXPECT_EQ(tie->telling().largest, 0.5);
    EXPECT_EQ(tie->telling().at, 3);
    const auto same = compareSeries(a, log({ { "acc", { { 3, 1.0 } } } }));
    ASSERT_TRUE(same);
    EXPECT_EQ(same->telling().curve.name, "acc");
}

TEST(CompareSeries, NamesOfBothSidesAreKept)
{
    const auto both = compareSeries(log({ { "loss", { { 0, 1.0 } } } }), log({ { "train/loss", { { 0, 1.0 } } } }));
    ASSERT_TRUE(both);
    EXPECT_EQ(both->overlays.front().curve.name, "loss");
    EXPECT_EQ(both->overlays.front().nameB, "train/loss");
    const auto equal = compareSeries(log({ { "loss", { { 0, 1.0 } } } }), log({ { "loss", { { 0, 1.0 } } } }));
    ASSERT_TRUE(equal);
    EXPECT_TRUE(equal->overlays.front().nameB.empty());
}

TEST(CompareSeries, NothingInCommonIsAnErrorThatListsTheCurves)
{
    const auto none = compareSeries(kLoss / "loss_A.csv", kLoss / "tb_A/both_loss");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::Usage);
    EXPECT_EQ(none.error().message, "no curve of one name has a step in common (reference: grad_norm, loss, lr; candidate: both)");
}

TEST(CompareSeries, ARecordedRunIsALogToo)
{
    test::RecordedRun run("run", 2);
    for (const int rank : { 0, 1 }) {
        run.rank(rank).output("fc", test::f32({ 1 }, { 1 })).loss(2.0f + 1.25f * static_cast<float>(rank));
    }
    run.open();
    const auto log = run.path().parent_path() / "log.csv";
    std::ofstream(log) << "step,loss\n0,3.25\n";
    const auto first = compared(run.path(), log); // the mean of the ranks is 2.625
    EXPECT_EQ(first.a.format, "recorded run");
    EXPECT_TRUE(first.differs());
    EXPECT_EQ(first.telling().curve.onset, 0);
    ASSERT_EQ(first.a.notes.size(), 1u);
    EXPECT_NE(first.a.notes[0].find("of 2 ranks"), std::string::npos);
    // One rank, by a name without the bundle's suffix.
    const auto second = compared(run.path().parent_path() / "run@1", log);
    EXPECT_FALSE(second.differs());
    EXPECT_EQ(second.a.name, "run@1");
    EXPECT_TRUE(second.a.notes.empty());
    const auto third = compareSeries(run.path().parent_path() / "run@2", log);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ErrorCode::Usage);
    EXPECT_NE(third.error().message.find("recorded ranks: 0, 1"), std::string::npos);
    const auto missing = compareSeries(run.path().parent_path() / "gone@0", log);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
}

TEST(CompareSeries, StopsWhenAsked)
{
    std::stop_source stop;
    stop.request_stop();
    for (const char* name : { "loss_A.csv", "loss_A.jsonl", "console.txt", "hf_A", "tb_A" }) {
        const auto stopped = compareSeries(kLoss / name, kLoss / name, kSeriesTolerance, stop.get_token());
        ASSERT_FALSE(stopped) << name;
        EXPECT_EQ(stopped.error().code, ErrorCode::Cancelled) << name;
    }
}

} // namespace
} // namespace forkpoint::curves
