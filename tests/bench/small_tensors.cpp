// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/writer.h"
#include "core/compare/compare.h"
#include "core/import/open_run.h"
#include "tests/support/run_builder.h"

#include <benchmark/benchmark.h>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/os.h>
#include <oneapi/tbb/global_control.h>

// Many small tensors: what each costs beside its bytes, from opening both runs to the verdict, by two threads. Dumps of real models are like
// this: biases, norms, and hooks that write a file per tensor.
namespace forkpoint {
namespace {

namespace fs = std::filesystem;

/// Values that differ from tensor to tensor, and by rounding from side to side.
std::vector<float> valuesOf(int tensor, int side, std::size_t count)
{
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(1 + (i * 7 + static_cast<std::size_t>(tensor)) % 1013) * (side == 0 || i % 2 == 0 ? 1.f : 1.0000001f);
    return values;
}

constexpr int kTensors = 100'000;
constexpr std::size_t kBytes = 4096;

fs::path writeBundle(const fs::path& below, int side)
{
    const fs::path folder = below / (side == 0 ? "a.forkpoint" : "b.forkpoint");
    auto writer = bundle::RankWriter::create(folder, 0).value();
    for (int i = 0; i < kTensors; ++i) {
        bundle::TensorRecord record;
        record.step = i / 10000;
        record.phase = bundle::Phase::Forward;
        record.kind = bundle::Kind::Output;
        record.micro = 0;
        record.module = fmt::format("layers.{}.part{}", i % 10000 / 100, i % 100);
        record.order = i;
        record.shape = Shape{32, 32};
        const auto values = valuesOf(i, side, kBytes / 4);
        (void)writer.tensor(std::move(record), std::as_bytes(std::span(values)));
    }
    (void)writer.info({{"run", "small"}, {"world_size", 1}, {"status", "complete"}});
    return folder;
}

void compareBoth(benchmark::State& state, const fs::path& a, const fs::path& b, int pairs, std::size_t bytes)
{
    const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism, 2);
    for (auto _ : state) {
        auto runA = import::openRun(a), runB = import::openRun(b);
        if (!runA || !runB) {
            state.SkipWithError((runA ? runB : runA).error().text().c_str());
            return;
        }
        auto compared = compare::compare(align::Side::whole(*runA), align::Side::whole(*runB));
        if (!compared || compared->structure().alignment.pairs.size() != static_cast<std::size_t>(pairs)) {
            state.SkipWithError(compared ? "not every tensor has become a pair" : compared.error().text().c_str());
            return;
        }
    }
    const double total = static_cast<double>(state.iterations()) * pairs;
    state.counters["us_per_pair"] = benchmark::Counter(total / 1e6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    state.SetBytesProcessed(static_cast<std::int64_t>(total * 2 * static_cast<double>(bytes)));
}

void bundles(benchmark::State& state)
{
    const test::TempFolder folder;
    const fs::path a = writeBundle(folder.path(), 0), b = writeBundle(folder.path(), 1);
    compareBoth(state, a, b, kTensors, kBytes);
}

constexpr int kFiles = 10'000;
constexpr std::size_t kFileBytes = 1024; ///< of the tensor: with the archive around it, the file has 2 KiB

std::string little(std::uint64_t value, std::size_t size)
{
    std::string out;
    for (std::size_t i = 0; i < size; ++i)
        out += static_cast<char>(value >> (8 * i) & 0xff);
    return out;
}

/// A stored ZIP archive, as torch.save writes it: data at multiples of 64.
std::string archive(const std::vector<std::pair<std::string, std::string>>& entries)
{
    std::string out, directory;
    for (const auto& [name, content] : entries) {
        const std::size_t at = out.size();
        const std::size_t padding = (64 - (at + 30 + name.size() + 4) % 64) % 64;
        const std::string sizes = little(content.size(), 4) + little(content.size(), 4);
        out += little(0x04034b50, 4) + std::string(14, '\0') + sizes + little(name.size(), 2) + little(padding + 4, 2) + name + "FB"
            + little(padding, 2) + std::string(padding, 'Z') + content;
        directory += little(0x02014b50, 4) + std::string(16, '\0') + sizes + little(name.size(), 2) + std::string(12, '\0') + little(at, 4) + name;
    }
    const std::size_t at = out.size();
    return out + directory + little(0x06054b50, 4) + little(0, 4) + little(entries.size(), 2) + little(entries.size(), 2)
        + little(directory.size(), 4) + little(at, 4) + little(0, 2);
}

/// What torch.save writes for a float tensor of `count` elements.
std::string torchFile(const std::vector<float>& values)
{
    const auto text = [](std::string_view value) { return "X" + little(value.size(), 4) + std::string(value); };
    const auto number = [](std::uint64_t value) { return "J" + little(value, 4); };
    const std::string pickle = "\x80\x02" "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" + text("0")
        + text("cpu") + number(values.size()) + "tQK" + little(0, 1) + "(" + number(values.size()) + "t(K\x01t\x89" "ccollections\nOrderedDict\n)RtR.";
    std::string data(values.size() * 4, '\0');
    std::memcpy(data.data(), values.data(), data.size());
    return archive({{"archive/data.pkl", pickle}, {"archive/data/0", data}, {"archive/version", "3\n"}});
}

void files(benchmark::State& state)
{
    const test::TempFolder folder;
    for (const int side : {0, 1}) {
        const fs::path below = folder.path() / std::to_string(side);
        fs::create_directories(below);
        for (int i = 0; i < kFiles; ++i) {
            const std::string content = torchFile(valuesOf(i, side, kFileBytes / 4));
            auto out = fmt::output_file((below / fmt::format("hook_layers.{}.part{}_rank0.pt", i / 100, i % 100)).string());
            out.print("{}", content);
        }
    }
    compareBoth(state, folder.path() / "0", folder.path() / "1", kFiles, kFileBytes);
}

BENCHMARK(bundles)->Name("small/bundles_1e5_of_4KiB")->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(files)->Name("small/pt_files_1e4")->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();

} // namespace
} // namespace forkpoint
