// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/compare/compare.h"

#include "tests/support/compared.h"
#include "tests/support/toy_training.h"

#include <condition_variable>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

// The comparison as a stream: what comes when, what readers may hold, how it is stopped.
namespace forkpoint::compare {
namespace {

using diagnose::Severity;
using test::RecordedRun;

class Runs : public testing::Test {
protected:
    Runs()
    {
        test::writeToy(m_a, {});
        test::writeToy(m_b, { .world = 2, .defect = test::ToyTraining::Defect::GradientTimesTwo });
    }
    align::Side a() { return m_a.side(); }
    align::Side b() { return m_b.side(); }

    RecordedRun m_a { "a" }, m_b { "b", 2 };
};

enum class Event { Structure, Results, Verdict };

/// Keeps everything it is told, and may do something with it.
class Recorder : public Sink {
public:
    using Hook = std::function<void(Event, const Snapshot&)>;
    explicit Recorder(Hook hook = {})
        : m_hook(std::move(hook))
    {
    }
    void onStructure(const Snapshot& s) override { note(Event::Structure, s); }
    void onResults(const Snapshot& s) override { note(Event::Results, s); }
    void onVerdict(const Snapshot& s) override { note(Event::Verdict, s); }

    std::vector<Event> events;
    std::vector<Snapshot> snapshots;

private:
    void note(Event event, const Snapshot& s)
    {
        events.push_back(event);
        snapshots.push_back(s);
        if (m_hook) {
            m_hook(event, s);
        }
    }
    Hook m_hook;
};

class Stream : public Runs { };

TEST_F(Stream, StructureThenBatchesThenTheVerdict)
{
    Recorder sink;
    const auto done = compare(a(), b(), {}, &sink);
    ASSERT_TRUE(done);
    ASSERT_GE(sink.events.size(), 3u);
    EXPECT_EQ(sink.events.front(), Event::Structure);
    EXPECT_EQ(sink.events.back(), Event::Verdict);
    for (std::size_t i = 1; i + 1 < sink.events.size(); ++i) {
        EXPECT_EQ(sink.events[i], Event::Results);
    }
}

TEST_F(Stream, TheStructureHasAllPairsAndNoResults)
{
    Recorder sink;
    const auto done = compare(a(), b(), {}, &sink);
    const auto& first = sink.snapshots.front();
    EXPECT_EQ(first.ready(), 0u);
    EXPECT_EQ(first.pairs(), done->pairs());
    EXPECT_GT(first.pairs(), 0u);
    EXPECT_EQ(first.structure().inputs.of.size(), first.pairs());
    EXPECT_EQ(first.outcome(), nullptr);
    EXPECT_TRUE(first.severities().empty());
}

TEST_F(Stream, ABatchIsAPhaseOfAStep)
{
    Recorder sink;
    const auto done = compare(a(), b(), {}, &sink);
    EXPECT_EQ(sink.events.size(), 2u + 2 * 6) << "two steps of six phases";
    std::size_t before = 0;
    for (std::size_t i = 1; i + 1 < sink.snapshots.size(); ++i) {
        const auto& s = sink.snapshots[i];
        ASSERT_GT(s.ready(), before);
        const auto &first = s.structure().alignment.pairs[before].key, &last = s.structure().alignment.pairs[s.ready() - 1].key;
        EXPECT_EQ(first.phase, last.phase);
        EXPECT_EQ(first.step, last.step);
        EXPECT_EQ(s.severities().size(), s.ready());
        EXPECT_EQ(s.errors().size(), s.ready());
        EXPECT_EQ(s.added().size(), s.ready());
        EXPECT_EQ(s.outcome(), nullptr) << "not before the verdict";
        before = s.ready();
    }
    EXPECT_EQ(before, done->pairs());
}

TEST_F(Stream, TheVerdictComesOnceAndIsWhatIsReturned)
{
    Recorder sink;
    const auto done = compare(a(), b(), {}, &sink);
    EXPECT_EQ(std::count(sink.events.begin(), sink.events.end(), Event::Verdict), 1);
    ASSERT_NE(done->outcome(), nullptr);
    EXPECT_EQ(sink.snapshots.back().outcome(), done->outcome());
    EXPECT_EQ(done->ready(), done->pairs());
}

TEST_F(Stream, ColumnsSayWhatTheResultsSay)
{
    const auto done = compare(a(), b());
    for (std::size_t i = 0; i < done->ready(); ++i) {
        EXPECT_EQ(done->severities()[i], done->result(i).severity);
        EXPECT_EQ(done->errors()[i], done->result(i).error);
        EXPECT_EQ(done->added()[i], done->result(i).added);
    }
}

TEST_F(Stream, IsOnTheCallersThread)
{
    const auto caller = std::this_thread::get_id();
    Recorder sink([&](Event, const Snapshot&) { EXPECT_EQ(std::this_thread::get_id(), caller); });
    EXPECT_TRUE(compare(a(), b(), {}, &sink));
}

// ------------------------------------------------------------------------------------------------ snapshots

class Snapshots : public Runs { };

TEST_F(Snapshots, StayAsTheyWere)
{
    struct Seen {
        Snapshot snapshot;
        std::vector<Severity> severities;
        std::vector<double> errors;
    };
    std::vector<Seen> seen;
    Recorder sink([&](Event, const Snapshot& s) {
        seen.push_back({ s, { s.severities().begin(), s.severities().end() }, { s.errors().begin(), s.errors().end() } });
    });
    ASSERT_TRUE(compare(a(), b(), {}, &sink));
    for (const auto& s : seen) {
        EXPECT_EQ(s.snapshot.ready(), s.severities.size());
        EXPECT_TRUE(std::equal(s.severities.begin(), s.severities.end(), s.snapshot.severities().begin(), s.snapshot.severities().end()));
        EXPECT_TRUE(std::equal(s.errors.begin(), s.errors.end(), s.snapshot.errors().begin(), s.snapshot.errors().end()));
    }
    EXPECT_EQ(seen.front().snapshot.outcome(), nullptr) << "also after the verdict";
}

TEST_F(Snapshots, OutliveTheComparisonAndTheBundles)
{
    Snapshot kept;
    {
        auto sideA = a(), sideB = b();
        kept = *compare(std::move(sideA), std::move(sideB));
    }
    EXPECT_EQ(kept.structure().alignment.pairs.at(kept.outcome()->verdict.fork->pair).id, "s0/reduce/grad/fc.weight");
    EXPECT_EQ(kept.structure().alignment.a.label, "a");
}

TEST_F(Snapshots, AreReadFromAnotherThreadWhileTheWriterGoesOn)
{
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Snapshot> latest;
    bool finished = false;
    std::size_t rounds = 0, readyAtEnd = 0;
    std::thread reader([&] {
        for (;;) {
            Snapshot s;
            bool last = false;
            {
                std::unique_lock lock(mutex);
                changed.wait(lock, [&] { return latest.has_value(); });
                s = *latest;
                last = finished;
                if (!last) {
                    latest.reset();
                }
            }
            for (int again = 0; again < 20; ++again) { // the writer is measuring the next phase meanwhile
                double sum = 0;
                for (std::size_t i = 0; i < s.ready(); ++i) {
                    EXPECT_EQ(s.severities()[i], s.result(i).severity);
                    sum += s.errors()[i] + s.added()[i] + static_cast<double>(s.result(i).lanes.size() + s.result(i).note.size());
                }
                EXPECT_GE(sum, 0);
            }
            ++rounds;
            readyAtEnd = s.ready();
            if (last) {
                EXPECT_NE(s.outcome(), nullptr);
                return;
            }
        }
    });
    Recorder sink([&](Event event, const Snapshot& s) {
        const std::lock_guard lock(mutex);
        latest = s;
        finished = event == Event::Verdict;
        changed.notify_one();
    });
    const auto done = compare(a(), b(), {}, &sink);
    reader.join();
    ASSERT_TRUE(done);
    EXPECT_GE(rounds, 1u);
    EXPECT_EQ(readyAtEnd, done->pairs());
}

TEST(ComparisonOfOneWriter, ServesManyReaders)
{
    Structure structure;
    structure.alignment.pairs.resize(5000);
    const auto comparison = std::make_shared<Comparison>(std::move(structure));
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t) {
        readers.emplace_back([comparison] {
            std::size_t before = 0;
            for (;;) {
                const auto s = comparison->snapshot();
                EXPECT_GE(s.ready(), before);
                for (std::size_t i = before; i < s.ready(); ++i) {
                    EXPECT_EQ(s.errors()[i], static_cast<double>(i));
                    EXPECT_EQ(s.result(i).note, std::to_string(i));
                }
                before = s.ready();
                if (s.outcome()) {
                    EXPECT_EQ(s.ready(), s.pairs());
                    return;
                }
            }
        });
    }
    for (std::size_t i = 0; i < 5000; ++i) {
        comparison->results()[i].error = static_cast<double>(i);
        comparison->results()[i].note = std::to_string(i);
        if (i % 7 == 6) {
            comparison->publish(i + 1);
        }
    }
    comparison->publish(5000);
    comparison->finish({});
    for (auto& reader : readers) {
        reader.join();
    }
}

// ------------------------------------------------------------------------------------------------ stopping

class Stopping : public Runs {
protected:
    std::stop_source m_stop;

    void expectCancelled(const Result<Snapshot>& done)
    {
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, ErrorCode::Cancelled);
    }
};

TEST_F(Stopping, BeforeItBegins)
{
    m_stop.request_stop();
    Recorder sink;
    expectCancelled(compare(a(), b(), {}, &sink, nullptr, m_stop.get_token()));
    EXPECT_TRUE(sink.events.empty());
}

TEST_F(Stopping, AtAnyEvent)
{
    Recorder all;
    ASSERT_TRUE(compare(a(), b(), {}, &all));
    for (std::size_t at = 0; at + 2 < all.events.size(); ++at) {
        std::stop_source stop;
        std::size_t count = 0;
        Recorder sink([&](Event, const Snapshot&) {
            if (count++ == at) {
                stop.request_stop();
            }
        });
        expectCancelled(compare(a(), b(), {}, &sink, nullptr, stop.get_token()));
        EXPECT_EQ(sink.events.size(), at + 1) << "nothing comes after the stop";
        EXPECT_EQ(std::count(sink.events.begin(), sink.events.end(), Event::Verdict), 0);
    }
}

TEST_F(Stopping, WhatWasReadyStaysReadable)
{
    Recorder sink([&](Event event, const Snapshot& s) {
        if (event == Event::Results && s.ready() > 4) {
            m_stop.request_stop();
        }
    });
    expectCancelled(compare(a(), b(), {}, &sink, nullptr, m_stop.get_token()));
    const auto& last = sink.snapshots.back();
    EXPECT_GT(last.ready(), 4u);
    EXPECT_EQ(last.result(0).severity, Severity::Identical);
    EXPECT_EQ(last.outcome(), nullptr);
}

/// Stops, or counts, at a stage's n-th report.
class StageProgress : public Progress {
public:
    std::function<void(std::string_view, double)> onReport;
    void report(std::string_view stage, double fraction) override
    {
        if (onReport) {
            onReport(stage, fraction);
        }
    }
};

TEST_F(Stopping, AtAnyReportOfProgress)
{
    RecordedRun again("again");
    test::writeToy(again, {});
    std::size_t reports = 0;
    StageProgress counting;
    counting.onReport = [&](std::string_view, double) { ++reports; };
    ASSERT_TRUE(compare(a(), b(), { .align = {}, .noise = again.side() }, nullptr, &counting));
    ASSERT_GT(reports, 10u);
    std::size_t cancelled = 0;
    for (std::size_t at = 0; at < reports; ++at) {
        std::stop_source stop;
        std::size_t count = 0;
        StageProgress progress;
        progress.onReport = [&](std::string_view, double) {
            if (count++ == at) {
                stop.request_stop();
            }
        };
        const auto done = compare(a(), b(), { .align = {}, .noise = again.side() }, nullptr, &progress, stop.get_token());
        if (!done) {
            EXPECT_EQ(done.error().code, ErrorCode::Cancelled);
            ++cancelled;
        }
    }
    EXPECT_GE(cancelled, reports - 1) << "all but a report at the very end";
}

TEST_F(Stopping, FromAnotherThreadAtAnyTime)
{
    for (int delay = 0; delay < 20; ++delay) {
        std::stop_source stop;
        std::thread stopper([&] {
            std::this_thread::sleep_for(std::chrono::microseconds(delay * 300));
            stop.request_stop();
        });
        const auto done = compare(a(), b(), {}, nullptr, nullptr, stop.get_token());
        stopper.join();
        if (done) {
            EXPECT_NE(done->outcome(), nullptr) << "complete, or cancelled: nothing in between";
        } else {
            EXPECT_EQ(done.error().code, ErrorCode::Cancelled);
        }
    }
}

TEST_F(Stream, ProgressIsReportedByStageAndNeverDecreases)
{
    std::map<std::string, double> last;
    StageProgress progress;
    progress.onReport = [&](std::string_view stage, double fraction) {
        EXPECT_GE(fraction, 0);
        EXPECT_LE(fraction, 1);
        EXPECT_GE(fraction, last[std::string(stage)]);
        last[std::string(stage)] = fraction;
    };
    ASSERT_TRUE(compare(a(), b(), {}, nullptr, &progress));
    EXPECT_TRUE(last.contains("align"));
    EXPECT_TRUE(last.contains("measure"));
    EXPECT_EQ(last["measure"], 1.0) << "the end is reported too";
}

} // namespace
} // namespace forkpoint::compare
