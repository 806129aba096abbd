// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/jobs/job_runner.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <new>
#include <optional>
#include <thread>

namespace forkpoint::test {
namespace {

using ui::JobRunner;

constexpr int kPatience = 30000;

/// Works until it is told to stop.
int untilStopped(std::stop_token stop, std::atomic<int>& running)
{
    ++running;
    while (!stop.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    --running;
    return -1;
}

class JobRunnerTest : public testing::Test {
protected:
    void startEndless(const QString& tag, QObject* receiver)
    {
        m_jobs.start<int>(
            tag, QStringLiteral("endless"), receiver, [this](Progress&, std::stop_token stop) { return untilStopped(stop, m_running); },
            [this](int value) { m_results.push_back(value); });
    }
    void startQuick(const QString& tag, QObject* receiver, int value)
    {
        m_jobs.start<int>(
            tag, QString(), receiver, [value](Progress&, std::stop_token) { return value; }, [this](int result) { m_results.push_back(result); });
    }

    JobRunner m_jobs;
    QObject m_receiver;
    std::atomic<int> m_running { 0 };
    std::vector<int> m_results;
};

TEST_F(JobRunnerTest, DeliversOnTheThreadOfTheWindow)
{
    std::thread::id worker, delivered;
    m_jobs.start<int>(
        QStringLiteral("job"), QStringLiteral("title"), &m_receiver,
        [&](Progress&, std::stop_token) {
            worker = std::this_thread::get_id();
            return 7;
        },
        [&](int value) {
            delivered = std::this_thread::get_id();
            m_results.push_back(value);
        });
    EXPECT_TRUE(m_jobs.isRunning(QStringLiteral("job")));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !m_results.empty(); }, kPatience));
    EXPECT_EQ(m_results, std::vector<int> { 7 });
    EXPECT_EQ(delivered, std::this_thread::get_id());
    EXPECT_NE(worker, delivered);
    EXPECT_FALSE(m_jobs.isRunning(QStringLiteral("job")));
}

TEST_F(JobRunnerTest, ANewJobReplacesTheOneWithItsTag)
{
    QSignalSpy finished(&m_jobs, &JobRunner::finished);
    startEndless(QStringLiteral("hover"), &m_receiver);
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_running == 1; }, kPatience));
    startQuick(QStringLiteral("hover"), &m_receiver, 2);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !m_results.empty() && m_running == 0; }, kPatience));
    QTest::qWait(20);
    EXPECT_EQ(m_results, std::vector<int> { 2 }); // the replaced job's -1 was dropped
    EXPECT_EQ(finished.count(), 2);
}

TEST_F(JobRunnerTest, OtherTagsGoOn)
{
    startEndless(QStringLiteral("one"), &m_receiver);
    startQuick(QStringLiteral("two"), &m_receiver, 2);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !m_results.empty(); }, kPatience));
    EXPECT_TRUE(m_jobs.isRunning(QStringLiteral("one")));
    EXPECT_EQ(m_jobs.running(), 1);
}

TEST_F(JobRunnerTest, CancelLeavesTheWorkerIdle)
{
    startEndless(QStringLiteral("job"), &m_receiver);
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_running == 1; }, kPatience));
    QElapsedTimer timer;
    timer.start();
    m_jobs.cancel(QStringLiteral("job"));
    EXPECT_FALSE(m_jobs.isRunning(QStringLiteral("job")));
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_jobs.workersBusy() == 0; }, kPatience));
    std::printf("worker idle %lld ms after cancel (budget 100 ms)\n", static_cast<long long>(timer.elapsed()));
    EXPECT_EQ(m_running, 0);
    QTest::qWait(20);
    EXPECT_TRUE(m_results.empty());
}

TEST_F(JobRunnerTest, CancelBeforeTheWorkerStarts)
{
    startEndless(QStringLiteral("job"), &m_receiver);
    m_jobs.cancel(QStringLiteral("job"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_jobs.workersBusy() == 0; }, kPatience));
    QTest::qWait(20);
    EXPECT_TRUE(m_results.empty());
}

TEST_F(JobRunnerTest, AStaleResultIsDropped)
{
    // The result is posted while the window's thread is busy, and only then replaced.
    std::atomic<bool> worked { false };
    m_jobs.start<int>(
        QStringLiteral("slice"), QString(), &m_receiver,
        [&](Progress&, std::stop_token) {
            worked = true;
            return 1;
        },
        [this](int value) { m_results.push_back(value); });
    while (!worked || m_jobs.workersBusy() > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    startQuick(QStringLiteral("slice"), &m_receiver, 2);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !m_results.empty(); }, kPatience));
    QTest::qWait(20);
    EXPECT_EQ(m_results, std::vector<int> { 2 });
}

TEST_F(JobRunnerTest, WhatIsThrownBecomesAnError)
{
    std::optional<Result<int>> got;
    m_jobs.start<Result<int>>(
        QStringLiteral("throws"), QString(), &m_receiver, [](Progress&, std::stop_token) -> Result<int> { throw std::bad_alloc(); },
        [&](Result<int> result) { got = std::move(result); });
    ASSERT_TRUE(QTest::qWaitFor([&] { return got.has_value(); }, kPatience));
    ASSERT_FALSE(*got);
    EXPECT_EQ(got->error().code, ErrorCode::Unreadable);
    EXPECT_FALSE(m_jobs.isRunning(QStringLiteral("throws")));
    // A result that cannot hold an error never comes; the job ends all the same.
    m_jobs.start<int>(
        QStringLiteral("throws"), QString(), &m_receiver, [](Progress&, std::stop_token) -> int { throw std::bad_alloc(); }, [this](int value) { m_results.push_back(value); });
    ASSERT_TRUE(QTest::qWaitFor([&] { return !m_jobs.isRunning(QStringLiteral("throws")); }, kPatience));
    EXPECT_TRUE(m_results.empty());
}

TEST_F(JobRunnerTest, ADeadReceiverGetsNothing)
{
    QSignalSpy finished(&m_jobs, &JobRunner::finished);
    auto* receiver = new QObject;
    startQuick(QStringLiteral("job"), receiver, 1);
    delete receiver;
    ASSERT_TRUE(QTest::qWaitFor([&] { return finished.count() == 1; }, kPatience));
    EXPECT_TRUE(m_results.empty());
    EXPECT_EQ(m_jobs.running(), 0);
}

TEST_F(JobRunnerTest, PostedPartsArriveInOrderAndOnlyFromTheJobThatRuns)
{
    std::vector<int> parts;
    m_jobs.start<int>(
        QStringLiteral("stream"), QString(), &m_receiver,
        [&](Progress&, std::stop_token stop) {
            for (int i = 0; i < 3; ++i) {
                m_jobs.post(QStringLiteral("stream"), stop, [&parts, i] { parts.push_back(i); });
            }
            return 3;
        },
        [&](int value) { parts.push_back(value); });
    ASSERT_TRUE(QTest::qWaitFor([&] { return parts.size() == 4; }, kPatience));
    EXPECT_EQ(parts, (std::vector<int> { 0, 1, 2, 3 }));

    parts.clear();
    m_jobs.start<int>(
        QStringLiteral("stream"), QString(), &m_receiver,
        [&](Progress&, std::stop_token stop) {
            m_jobs.post(QStringLiteral("stream"), stop, [&parts] { parts.push_back(9); });
            return untilStopped(stop, m_running);
        },
        [&](int value) { parts.push_back(value); });
    while (m_running == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    m_jobs.cancel(QStringLiteral("stream"));
    QTest::qWait(50);
    EXPECT_TRUE(parts.empty());
}

TEST_F(JobRunnerTest, ReportsProgress)
{
    QSignalSpy started(&m_jobs, &JobRunner::started);
    QSignalSpy progressed(&m_jobs, &JobRunner::progressed);
    m_jobs.start<int>(
        QStringLiteral("job"), QStringLiteral("Comparing"), &m_receiver,
        [](Progress& progress, std::stop_token) {
            progress.report("measure", 0.25);
            progress.report("measure", 1);
            return 1;
        },
        [this](int value) { m_results.push_back(value); });
    ASSERT_TRUE(QTest::qWaitFor([&] { return !m_results.empty(); }, kPatience));
    ASSERT_EQ(started.count(), 1);
    EXPECT_EQ(started[0][1].toString(), QStringLiteral("Comparing"));
    ASSERT_GE(progressed.count(), 1);
    EXPECT_EQ(progressed.last()[1].toString(), QStringLiteral("measure"));
    EXPECT_EQ(progressed.last()[2].toDouble(), 1.0);
}

TEST(JobRunnerEnd, WaitsForItsJobs)
{
    std::atomic<int> running { 0 };
    QObject receiver;
    {
        JobRunner jobs;
        jobs.start<int>(
            QStringLiteral("job"), QString(), &receiver, [&](Progress&, std::stop_token stop) { return untilStopped(stop, running); }, [](int) { FAIL(); });
        while (running == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    EXPECT_EQ(running, 0);
    QCoreApplication::processEvents();
}

} // namespace
} // namespace forkpoint::test
