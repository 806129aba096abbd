// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/bundle/writer.h"

#include <QString>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

/// Texts as words in the messages of failed tests.
inline void PrintTo(const QString& text, std::ostream* to) { *to << '"' << text.toStdString() << '"'; }

// Small runs for tests of the window, written as a recorder would.
namespace forkpoint::test {

/// One rank of a run, tensor by tensor, in execution order.
class RunBuilder {
public:
    explicit RunBuilder(const std::filesystem::path& folder, int rank = 0, int worldSize = 1)
        : m_writer(bundle::RankWriter::create(folder, rank))
        , m_worldSize(worldSize)
    {
        EXPECT_TRUE(m_writer) << m_writer.error().text();
        EXPECT_TRUE(bundle::writeBundleInfo(folder, { { "name", folder.stem().string() }, { "world_size", worldSize } }));
        info(nlohmann::json::object());
    }

    void info(nlohmann::json more)
    {
        nlohmann::json json { { "run", "test" }, { "world_size", m_worldSize }, { "status", "complete" } };
        json.update(more);
        EXPECT_TRUE(m_writer->info(json));
    }

    void tensor(int step, bundle::Phase phase, bundle::Kind kind, const std::string& module, const std::string& param, const Shape& shape,
                const std::vector<float>& values)
    {
        bundle::TensorRecord record;
        record.step = step;
        record.micro = bundle::hasMicro(phase) ? 0 : bundle::kNoMicro;
        record.phase = phase;
        record.kind = kind;
        record.module = module;
        record.param = param;
        record.shape = shape;
        record.order = m_order++;
        const auto written = m_writer->tensor(record, std::as_bytes(std::span(values)));
        EXPECT_TRUE(written) << written.error().text();
    }

    void call(int step, const std::string& module, const std::string& source)
    {
        bundle::CallRecord record;
        record.step = step;
        record.module = module;
        record.order = m_order++;
        record.parent = "";
        record.source = source;
        EXPECT_TRUE(m_writer->call(record));
    }

    void scalar(int step, const std::string& name, double value) { EXPECT_TRUE(m_writer->scalar({ step, 0, name, value })); }

private:
    Result<bundle::RankWriter> m_writer;
    int m_worldSize;
    std::int64_t m_order = 0;
};

inline std::vector<float> wave(std::size_t count, double seed)
{
    std::vector<float> out(count);
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<float>(std::sin(seed + 0.7 * static_cast<double>(i)) + 0.1 * std::cos(11.3 * static_cast<double>(i)));
    }
    return out;
}

/// A net of linear layers, trained for some steps: what differs between two of them is up to the options.
struct NetOptions {
    std::vector<std::string> layers { "fc1", "fc2" };
    int steps = 2;
    double gradientScale = 1; ///< of the reduced gradients
    bool loss = true;
    bool calls = true;
    std::function<float(float)> change; ///< of every value, if set
    nlohmann::json info = nlohmann::json::object();
};

inline void writeNet(const std::filesystem::path& folder, const NetOptions& options = {})
{
    using bundle::Kind;
    using bundle::Phase;
    RunBuilder run(folder);
    run.info(options.info);
    const auto values = [&](std::size_t count, double seed, double scale = 1) {
        auto out = wave(count, seed);
        for (auto& value : out) {
            value = static_cast<float>(value * scale);
            value = options.change ? options.change(value) : value;
        }
        return out;
    };
    for (int step = 0; step < options.steps; ++step) {
        double seed = step * 3.1;
        const double drift = step == 0 ? 1 : options.gradientScale;
        for (const auto& layer : options.layers) {
            run.tensor(step, Phase::Start, Kind::Param, layer, "weight", { 4, 8 }, values(32, seed += 1, drift));
        }
        run.tensor(step, Phase::Data, Kind::Batch, "", "", { 2, 8 }, values(16, seed += 1));
        for (const auto& layer : options.layers) {
            if (options.calls) {
                run.call(step, layer, "train.py:41");
            }
            run.tensor(step, Phase::Forward, Kind::Input, layer, "", { 2, 8 }, values(16, seed += 1));
            run.tensor(step, Phase::Forward, Kind::Output, layer, "", { 2, 4 }, values(8, seed += 1, drift));
        }
        if (options.loss) {
            run.tensor(step, Phase::Forward, Kind::Output, "loss", "", {}, values(1, seed += 1, drift));
            run.scalar(step, "loss", 2.0 / (step + 1) * drift);
        }
        for (const auto& layer : options.layers) {
            run.tensor(step, Phase::Backward, Kind::Grad, layer, "weight", { 4, 8 }, values(32, seed += 1, drift));
        }
        for (const auto& layer : options.layers) {
            run.tensor(step, Phase::Reduce, Kind::Grad, layer, "weight", { 4, 8 }, values(32, seed += 1, options.gradientScale));
        }
        for (const auto& layer : options.layers) {
            run.tensor(step, Phase::Optimizer, Kind::Param, layer, "weight", { 4, 8 }, values(32, seed += 1, options.gradientScale));
        }
    }
}

} // namespace forkpoint::test
