// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/bundle/writer.h"
#include "ui/curves/curve_plot.h"
#include "ui/curves/curves_view.h"
#include "ui/session/session.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

// Runs with scalars in a few lines, and the view on two of them.
namespace forkpoint::test {

struct Series {
    std::string name;
    std::vector<bundle::ScalarRecord> records;
};

/// `value(step)` for `count` steps; nullopt: nothing was logged in that step.
inline Series series(std::string name, int count, const std::function<std::optional<double>(int)>& value)
{
    Series out { std::move(name), {} };
    for (int step = 0; step < count; ++step) {
        if (const auto v = value(step)) {
            out.records.push_back({ step, out.name == "loss" ? 0 : bundle::kNoMicro, out.name, *v });
        }
    }
    return out;
}

/// A bundle of one rank (of `worldSize`) with one small output in every recorded step.
inline void writeRun(
    const std::filesystem::path& folder, const std::vector<int>& recorded, const std::vector<Series>& scalars, int worldSize = 1)
{
    auto writer = bundle::RankWriter::create(folder, 0);
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE(bundle::writeBundleInfo(folder, { { "run", folder.stem().string() }, { "world_size", worldSize } }));
    ASSERT_TRUE(writer->info({ { "world_size", worldSize }, { "status", "complete" } }));
    for (const int step : recorded) {
        bundle::TensorRecord record;
        record.step = step;
        record.micro = 0;
        record.phase = bundle::Phase::Forward;
        record.kind = bundle::Kind::Output;
        record.module = "fc";
        record.shape = { 1 };
        record.order = step;
        const float value = 1;
        ASSERT_TRUE(writer->tensor(record, std::as_bytes(std::span(&value, 1))));
    }
    for (const auto& s : scalars) {
        if (s.records.size() > 10'000) { // the writer makes every line one write(); a million of them take a while
            std::string lines;
            for (const auto& scalar : s.records) {
                fmt::format_to(
                    std::back_inserter(lines), "{{\"step\":{},\"name\":\"{}\",\"value\":{}}}\n", scalar.step, s.name, scalar.value);
            }
            std::ofstream(folder / "rank00000" / "scalars.jsonl", std::ios::app) << lines;
            continue;
        }
        for (const auto& scalar : s.records) {
            ASSERT_TRUE(writer->scalar(scalar));
        }
    }
}

/// A curves view on two written runs, shown in a window of its own.
class CurvesFixture : public testing::Test {
protected:
    std::filesystem::path folder(const char* name) const
    {
        return std::filesystem::path(m_folder.path().toStdString()) / (std::string(name) + ".forkpoint");
    }

    void compare(const std::vector<int>& recorded, const std::vector<Series>& a, const std::vector<Series>& b, int worldSize = 1)
    {
        writeRun(folder("single"), recorded, a, worldSize);
        writeRun(folder("ddp"), recorded, b, worldSize);
        open();
    }

    void open(const QString& suffix = {})
    {
        m_view.resize(900, 420);
        m_view.show();
        ASSERT_TRUE(QTest::qWaitForWindowActive(&m_view));
        m_session.open(QString::fromStdString(folder("single").string()) + suffix, QString::fromStdString(folder("ddp").string()) + suffix);
        ASSERT_TRUE(QTest::qWaitFor(
            [&] { return m_session.state() == ui::Session::State::Ready || m_session.state() == ui::Session::State::Failed; }, 60000));
        ASSERT_EQ(m_session.state(), ui::Session::State::Ready) << (m_session.error() ? m_session.error()->message : "");
        ASSERT_TRUE(QTest::qWaitFor([&] { return !m_view.isBusy(); }, 30000));
    }

    QPoint laneAt(int step)
    {
        return { static_cast<int>(std::lround(m_view.plot().stepAxis()->coordToPixel(step))), m_view.plot().stepLane().center().y() };
    }
    QPoint valuesAt(int step)
    {
        return { static_cast<int>(std::lround(m_view.plot().stepAxis()->coordToPixel(step))), m_view.plot().valuesRect().center().y() };
    }
    /// What a graph draws, point by point.
    std::vector<double> drawn(const char* graph)
    {
        std::vector<double> out;
        for (const auto& point : *m_view.plot().graph(graph)->data()) {
            out.push_back(point.value);
        }
        return out;
    }
    template <class T> T* child(const char* name) { return m_view.findChild<T*>(QString::fromLatin1(name)); }

    QTemporaryDir m_folder;
    ui::JobRunner m_jobs;
    ui::Session m_session { m_jobs };
    ui::CurvesView m_view { m_session };
};

} // namespace forkpoint::test
