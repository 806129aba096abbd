// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/alignment.h"

#include <benchmark/benchmark.h>

#include <fmt/format.h>
#include <fstream>
#include <string>
#include <unistd.h>

// Alignment of a million records on each side: one process, eight ranks against eight, and eight against one. No bytes are read: there is no batch.
namespace forkpoint::align {
namespace {

constexpr std::size_t kRecords = 1'000'000;

class NoSources : public bundle::RecordSources {
public:
    Result<TensorSourcePtr> open(const bundle::RankData&, const bundle::TensorRecord&) const override
    {
        return fail(ErrorCode::NotFound, "the benchmark has no bytes");
    }
};

bundle::TensorRecord recordOf(std::int32_t step, bundle::Phase phase, bundle::Kind kind, const std::string& module, const char* param, std::int64_t order)
{
    bundle::TensorRecord record;
    record.step = step;
    record.micro = bundle::hasMicro(phase) ? 0 : bundle::kNoMicro;
    record.phase = phase;
    record.kind = kind;
    record.module = module;
    record.param = param;
    record.order = order;
    record.shape = { 8, 16 };
    bundle::Digest digest {};
    for (std::size_t i = 0; i < sizeof order; ++i) {
        digest[i] = static_cast<std::uint8_t>(order >> (8 * i));
    }
    record.digest = digest;
    return record;
}

/// A run of so many ranks and steps, a million records in all.
Side run(int ranks, std::int32_t steps, const std::string& prefix)
{
    using bundle::Kind;
    using bundle::Phase;
    bundle::ForeignRun foreign;
    foreign.name = prefix + "run";
    foreign.sources = std::make_shared<NoSources>();
    const std::size_t modules = kRecords / (static_cast<std::size_t>(ranks) * static_cast<std::size_t>(steps) * 8);
    for (int rank = 0; rank < ranks; ++rank) {
        auto& data = foreign.ranks.emplace_back();
        data.rank = rank;
        data.complete = true;
        std::vector<std::string> paths;
        for (std::size_t m = 0; m < modules; ++m) {
            paths.push_back(fmt::format("{}model.layers.{}.block.{}", prefix, m / 10, m % 10));
            data.modules.push_back({ paths.back(), "Linear", "", { "weight", "bias" }, {} });
        }
        std::int64_t order = 0;
        for (std::int32_t step = 0; step < steps; ++step) {
            for (const auto& path : paths) {
                data.tensors.push_back(recordOf(step, Phase::Start, Kind::Param, path, "weight", order++));
                data.tensors.push_back(recordOf(step, Phase::Forward, Kind::Input, path, "", order++));
                data.tensors.push_back(recordOf(step, Phase::Forward, Kind::Output, path, "", order++));
                data.calls.push_back({ step, 0, path, 0, order++, "", 0, true, false, "model.py:12" });
            }
            for (const auto& path : paths) {
                data.tensors.push_back(recordOf(step, Phase::Backward, Kind::GradOutput, path, "", order++));
                data.tensors.push_back(recordOf(step, Phase::Backward, Kind::Grad, path, "weight", order++));
                data.tensors.push_back(recordOf(step, Phase::Reduce, Kind::Grad, path, "weight", order++));
                data.tensors.push_back(recordOf(step, Phase::Optimizer, Kind::Param, path, "weight", order++));
                data.tensors.push_back(recordOf(step, Phase::Optimizer, Kind::OptimizerState, path, "weight", order++));
            }
        }
    }
    return Side::whole(bundle::Bundle::of(std::move(foreign)));
}

double residentMiB()
{
    std::ifstream in("/proc/self/statm");
    std::size_t size = 0, resident = 0;
    in >> size >> resident;
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// Ranks of A, ranks of B, steps; B's names have a wrapper's prefix.
void alignMillion(benchmark::State& state)
{
    const auto steps = static_cast<std::int32_t>(state.range(2));
    const Side a = run(static_cast<int>(state.range(0)), steps, ""), b = run(static_cast<int>(state.range(1)), steps, "module.");
    const double before = residentMiB();
    for (auto _ : state) {
        auto alignment = align(a, b);
        if (!alignment) {
            state.SkipWithError(alignment.error().message.c_str());
            return;
        }
        state.counters["pairs"] = static_cast<double>(alignment->pairs.size());
        state.counters["MiB"] = residentMiB() - before;
        state.PauseTiming();
        *alignment = {};
        state.ResumeTiming();
    }
}
BENCHMARK(alignMillion)
    ->ArgNames({ "ranksA", "ranksB", "steps" })
    ->Args({ 1, 1, 1 })
    ->Args({ 1, 1, 50 })
    ->Args({ 8, 8, 10 })
    ->Args({ 1, 8, 10 })
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

} // namespace
} // namespace forkpoint::align
