// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/compare/open_runs.h"

#include "tests/support/run_builder.h"

#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <set>

// What two paths hold, and who is at fault where they cannot be compared.
namespace forkpoint::compare {
namespace {

namespace fs = std::filesystem;
using test::contains;

const fs::path kData = FORKPOINT_TEST_DATA;
const std::string kCsv = kData / "loss/loss_A.csv", kTensors = kData / "plain/checkpoint_A_single/model.pt";

class OpenRuns : public testing::Test {
protected:
    OpenRuns()
    {
        m_run.rank(0).output("fc", test::f32({ 1 }, { 1 })).loss(2);
        m_run.open();
        m_silent.rank(0).output("fc", test::f32({ 1 }, { 1 }));
        m_silent.open();
        std::ofstream(prose()) << "Nothing happened today.\n";
        std::ofstream(numbers()) << "step,loss\n0,2\n";
    }
    std::string run() const { return m_run.path(); }
    std::string silent() const { return m_silent.path(); }
    std::string prose() const { return m_run.path().parent_path() / "prose.txt"; }
    std::string numbers() const { return m_run.path().parent_path() / "numbers.csv"; }

    static Error refused(const std::string& a, const std::string& b, const std::string& noise = {})
    {
        const auto opened = openRunsOrLogs({ a, b, noise });
        EXPECT_FALSE(opened) << a << " and " << b;
        return opened ? Error() : opened.error();
    }

    test::RecordedRun m_run { "run" }, m_silent { "silent" };
};

TEST_F(OpenRuns, RunsAndTensorsAreOpenedAsSuch)
{
    std::mutex mutex; // sides come from any thread, in any order
    std::set<std::string> labels;
    const auto runs = openRunsOrLogs({ run(), run() + "@0", run() }, [&](const align::Side& side, bool isReference) {
        const std::lock_guard lock(mutex);
        labels.insert((isReference ? "A " : "B ") + side.label);
    });
    ASSERT_TRUE(runs) << runs.error().text();
    EXPECT_EQ(labels, (std::set<std::string> { "A run", "B run@0" }));
    EXPECT_TRUE(std::get<OpenedRuns>(*runs).noise);
    const auto tensors = openRunsOrLogs({ kTensors, kTensors, {} });
    ASSERT_TRUE(tensors) << tensors.error().text();
    EXPECT_FALSE(std::get<OpenedRuns>(*tensors).noise);
}

TEST_F(OpenRuns, LogsAreLaidOverEachOther)
{
    for (const auto& [a, b] : { std::pair(kCsv, std::string(kData / "loss/tb_A")), std::pair(numbers(), run()), std::pair(run(), numbers()) }) {
        const auto opened = openRunsOrLogs({ a, b, {} });
        ASSERT_TRUE(opened) << opened.error().text();
        const auto& logs = std::get<curves::SeriesComparison>(*opened);
        EXPECT_EQ(logs.telling().curve.name, "loss");
        EXPECT_FALSE(logs.differs());
    }
}

TEST_F(OpenRuns, TheSideAtFaultIsNamed)
{
    for (const bool first : { true, false }) {
        for (const auto& good : { run(), kCsv, kTensors, silent() }) {
            const auto neither = first ? refused(prose(), good) : refused(good, prose());
            EXPECT_EQ(neither.code, ErrorCode::NotABundle);
            EXPECT_EQ(neither.where, prose());
            EXPECT_TRUE(contains(neither.message, ".safetensors")) << "what was tried as tensors";
            EXPECT_TRUE(contains(neither.message, "holds no numbers by step. Read are CSV")) << "and as a log";
            const auto missing = first ? refused("gone", good) : refused(good, "gone");
            EXPECT_EQ(missing.code, ErrorCode::NotFound);
            EXPECT_TRUE(contains(missing.text(), "gone"));
        }
    }
    EXPECT_EQ(refused(prose(), "gone").code, ErrorCode::NotFound) << "the file that is not there is the nearer fault";
}

TEST_F(OpenRuns, ALogAgainstTensorsIsExplained)
{
    for (const bool first : { true, false }) {
        const auto error = first ? refused(kCsv, kTensors) : refused(kTensors, kCsv);
        EXPECT_EQ(error.code, ErrorCode::Usage);
        EXPECT_TRUE(contains(error.message, kCsv + " is a log (CSV) and " + kTensors + " holds tensors"));
        const auto silence = first ? refused(kCsv, silent()) : refused(silent(), kCsv);
        EXPECT_EQ(silence.code, ErrorCode::Usage);
        EXPECT_TRUE(contains(silence.message, "rec.scalar"));
        EXPECT_EQ(silence.where, silent());
    }
}

TEST_F(OpenRuns, WhoWantsTensorsGetsNoLogs)
{
    EXPECT_TRUE(openRuns({ run(), run() + "@0", run() }));
    const auto log = openRuns({ run(), kCsv, {} });
    ASSERT_FALSE(log);
    EXPECT_EQ(log.error().code, ErrorCode::NotABundle);
    EXPECT_EQ(log.error().where, kCsv);
}

TEST_F(OpenRuns, LogsHaveNoNoiseRun)
{
    const auto error = refused(kCsv, kCsv, run());
    EXPECT_EQ(error.code, ErrorCode::Usage);
    EXPECT_TRUE(contains(error.message, "noise run"));
}

} // namespace
} // namespace forkpoint::compare
