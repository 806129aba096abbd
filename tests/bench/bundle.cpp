// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/bundle.h"
#include "tests/support/temp_folder.h"

#include <benchmark/benchmark.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/os.h>
#include <malloc.h>

// Opening a bundle of 10^6 tensor records, as a recorder of a large model writes them: names that repeat from step to step, statistics,
// digests, a placement. The bytes are a sparse file, since opening checks only its size.
namespace forkpoint::bundle {
namespace {

namespace fs = std::filesystem;

constexpr int kRecords = 1'000'000;

/// Bundles in a temporary folder that is gone with the program.
class GeneratedBundle {
public:
    explicit GeneratedBundle(int ranks)
    {
        for (int rank = 0; rank < ranks; ++rank) {
            const fs::path folder = path() / fmt::format("rank{:05}", rank);
            fs::create_directories(folder);
            auto info = fmt::output_file((folder / "rank.json").string());
            info.print(R"({{"format":"forkpoint-rank","version":[1,1],"rank":{},"run":"generated","world_size":{},"status":"complete"}})", rank,
                       ranks);
            for (const char* empty : {"graph.jsonl", "scalars.jsonl"})
                fmt::output_file((folder / empty).string()).close();
            writeTensors(folder, kRecords / ranks);
        }
        auto info = fmt::output_file((path() / "bundle.json").string());
        info.print(R"({{"format":"forkpoint-bundle","version":[1,1],"name":"generated","world_size":{}}})", ranks);
    }
    fs::path path() const { return m_folder.path() / "generated.forkpoint"; }

private:
    static void writeTensors(const fs::path& folder, int count)
    {
        auto out = fmt::output_file((folder / "tensors.jsonl").string(), fmt::buffer_size = 1 << 20);
        constexpr int kPerStep = 4000;
        for (int i = 0; i < count; ++i) {
            const int within = i % kPerStep;
            out.print(R"({{"id":{0},"step":{1},"micro":0,"phase":"{2}","kind":"{3}","module":"module.transformer.layers.{4}.attention.part{5}",)"
                      R"("param":"weight","placement":[{{"axis":"dp","type":"replicate"}}],"order":{0},"dtype":"float32","shape":[4,4],)"
                      R"("digest":"{6:064x}","stats":{{"min":-2.6{7:06}964141846,"max":3.4105026721954346,"mean":0.02{7:06}48554560654,)"
                      R"("l2":15.0279{7:06}7148,"nan":0,"inf":0}},"file":"tensors-0000.bin","offset":{8}}})"
                      "\n",
                      i, i / kPerStep, within % 2 == 0 ? "forward" : "backward", within % 2 == 0 ? "output" : "grad", within / 100,
                      within / 2 % 50, 0x9E3779B97F4A7C15u * static_cast<unsigned long>(i + 1), 1 + i % 999983, 64l * i);
        }
        out.close();
        fmt::output_file((folder / "tensors-0000.bin").string()).close();
        fs::resize_file(folder / "tensors-0000.bin", 64u * static_cast<std::uintmax_t>(count));
    }

    test::TempFolder m_folder;
};

std::size_t memoryInUse()
{
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

void openBundle(benchmark::State& state)
{
    const GeneratedBundle generated(static_cast<int>(state.range(0)));
    std::size_t bytes = 0;
    for (auto _ : state) {
        const std::size_t before = memoryInUse();
        auto bundle = Bundle::open(generated.path());
        state.PauseTiming(); // freeing is not opening
        if (!bundle || !(*bundle)->problems().empty()) {
            const Problem problem = bundle ? (*bundle)->problems().front() : Problem{Problem::Level::Warning, {}, bundle.error().text()};
            state.SkipWithError((problem.where + ": " + problem.message).c_str());
            return;
        }
        bytes = memoryInUse() - before;
        bundle->reset();
        state.ResumeTiming();
    }
    state.counters["bytes_per_record"] = static_cast<double>(bytes) / kRecords;
    state.SetItemsProcessed(state.iterations() * kRecords);
}

BENCHMARK(openBundle)->Name("bundle/open_1e6_records/ranks")->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();

} // namespace
} // namespace forkpoint::bundle
