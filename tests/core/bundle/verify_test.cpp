// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/core/bundle/bundle_files.h"

#include <gtest/gtest.h>
#include <mutex>

namespace forkpoint::bundle {
namespace {

using namespace test;

/// Remembers what was reported, and stops the work at a fraction if asked.
class Recorded : public Progress {
public:
    explicit Recorded(std::stop_source* stop = nullptr, double at = 2)
        : m_stop(stop)
        , m_at(at)
    {
    }
    void report(std::string_view stage, double fraction) override
    {
        const std::lock_guard lock(m_mutex);
        stages.emplace_back(stage);
        fractions.push_back(fraction);
        if (m_stop && fraction >= m_at)
            m_stop->request_stop();
    }
    std::vector<std::string> stages;
    std::vector<double> fractions;

private:
    std::mutex m_mutex;
    std::stop_source* m_stop;
    double m_at;
};

void expectSensible(const Recorded& progress, const std::string& stage)
{
    ASSERT_FALSE(progress.fractions.empty());
    EXPECT_LE(progress.fractions.size(), 103u);
    EXPECT_EQ(progress.fractions.back(), 1.0);
    EXPECT_TRUE(std::is_sorted(progress.fractions.begin(), progress.fractions.end()));
    EXPECT_GE(progress.fractions.front(), 0.0);
    for (const std::string& reported : progress.stages)
        EXPECT_EQ(reported, stage);
}

/// Many tensors, so that there is something to cancel.
fs::path makeLong(const fs::path& below, int ranks)
{
    const fs::path folder = below / "long.forkpoint";
    for (int r = 0; r < ranks; ++r) {
        RankWriter writer = RankWriter::create(folder, r).value();
        for (int i = 0; i < 2000; ++i) {
            const std::vector<float> values(16, static_cast<float>(i));
            EXPECT_TRUE(writer.tensor(record(Phase::Start, Kind::Param, "m", {16}), bytesOf(values)));
        }
        EXPECT_TRUE(writer.info(rankInfo(ranks)));
    }
    EXPECT_TRUE(writeBundleInfo(folder, bundleInfo(ranks)));
    return folder;
}

TEST(Verify, FindsOneChangedByte)
{
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path(), 2);
    std::string bytes = readText(folder / "rank00001/tensors-0000.bin");
    bytes[65] = static_cast<char>(bytes[65] ^ 1);
    writeText(folder / "rank00001/tensors-0000.bin", bytes);
    const auto report = verify(*Bundle::open(folder).value());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->tensors, 6);
    EXPECT_EQ(report->checked, 5);
    EXPECT_EQ(report->bytes, 2u * (16 + 12 + 16));
    ASSERT_EQ(report->problems.size(), 1u);
    EXPECT_EQ(report->problems[0].where, "rank00001/tensors.jsonl id 1");
    EXPECT_NE(report->problems[0].message.find("step 0 forward/output of fc"), std::string::npos) << report->problems[0].message;
    EXPECT_NE(report->problems[0].message.find("changed afterwards"), std::string::npos);
}

TEST(Verify, CountsSharedBytesOnceAndLeavesOutWhatHasNone)
{
    TempFolder temp;
    const fs::path folder = temp.path() / "v.forkpoint";
    RankWriter writer = RankWriter::create(folder, 0).value();
    const std::vector<float> values = {1, 2};
    ASSERT_TRUE(writer.tensor(record(Phase::Start, Kind::Param, "a", {2}), bytesOf(values)));
    ASSERT_TRUE(writer.tensor(record(Phase::Optimizer, Kind::Param, "a", {2}), bytesOf(values)));
    ASSERT_TRUE(writer.tensor(record(Phase::Start, Kind::Param, "empty", {0}), {}));
    TensorRecord unseen = record(Phase::Start, Kind::Param, "b", {2});
    unseen.notObserved = "why";
    ASSERT_TRUE(writer.tensor(unseen, {}));
    TensorRecord digestOnly = record(Phase::Start, Kind::Param, "c", {2});
    digestOnly.digest.emplace();
    ASSERT_TRUE(writer.tensor(digestOnly, {}));
    ASSERT_TRUE(writer.info(rankInfo(1)));
    const auto report = verify(*Bundle::open(folder).value());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->tensors, 5);
    EXPECT_EQ(report->checked, 3);
    EXPECT_EQ(report->bytes, 8u);
}

TEST(Verify, ReportsAFileThatShrank)
{
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path());
    const auto bundle = Bundle::open(folder).value();
    fs::resize_file(folder / "rank00000/tensors-0000.bin", 100);
    const auto report = verify(*bundle);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->checked, 2);
    ASSERT_EQ(report->problems.size(), 1u);
    EXPECT_NE(report->problems[0].message.find("cannot be read"), std::string::npos);
    EXPECT_NE(report->problems[0].message.find("past the end"), std::string::npos) << report->problems[0].message;
}

TEST(Progress, OfReadingAndVerifying)
{
    TempFolder temp;
    const fs::path folder = makeLong(temp.path(), 2);
    Recorded reading, verifying;
    const auto bundle = Bundle::open(folder, &reading);
    ASSERT_TRUE(bundle);
    expectSensible(reading, "read");
    ASSERT_TRUE(verify(**bundle, &verifying));
    expectSensible(verifying, "verify");
}

TEST(Cancel, BeforeAndDuring)
{
    TempFolder temp;
    const fs::path folder = makeLong(temp.path(), 3);
    for (const double at : {0.0, 0.3, 0.6}) {
        std::stop_source stop;
        Recorded progress(&stop, at);
        const auto bundle = Bundle::open(folder, &progress, stop.get_token());
        ASSERT_FALSE(bundle);
        EXPECT_EQ(bundle.error().code, ErrorCode::Cancelled);
    }
    const auto bundle = Bundle::open(folder).value();
    for (const double at : {0.0, 0.5}) {
        std::stop_source stop;
        Recorded progress(&stop, at);
        const auto report = verify(*bundle, &progress, stop.get_token());
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error().code, ErrorCode::Cancelled);
    }
    std::stop_source stopped;
    stopped.request_stop();
    EXPECT_EQ(Bundle::open(folder, nullptr, stopped.get_token()).error().code, ErrorCode::Cancelled);
    EXPECT_EQ(verify(*bundle, nullptr, stopped.get_token()).error().code, ErrorCode::Cancelled);
}

} // namespace
} // namespace forkpoint::bundle
