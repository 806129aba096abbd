// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/bundle.h"
#include "core/bundle/open_files.h"
#include "core/bundle/writer.h"
#include "core/compare/compare.h"
#include "tests/support/run_builder.h"

#include <benchmark/benchmark.h>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <zstd.h>

// Two bundles of 512 MiB a side, from opening both to the verdict, their bytes in the page cache; raw, and compressed as the recorder can. Beside
// each, in the same run and by as many threads, the least that anybody has to do: read every byte of it, or have zstd decompress every frame.
namespace forkpoint {
namespace {

namespace fs = std::filesystem;

constexpr int kTensors = 64;
constexpr std::size_t kElements = std::size_t{2} << 20; ///< float32, 8 MiB

void must(const Result<void>& done)
{
    if (!done)
        throw std::runtime_error(done.error().text());
}

/// Values as weights have them; B's are off by rounding.
std::vector<float> valuesOf(int tensor, int side)
{
    std::uint64_t state = static_cast<std::uint64_t>(tensor) + 1;
    std::vector<float> values(kElements);
    for (auto& value : values) {
        double sum = 0;
        for (int i = 0; i < 4; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            sum += static_cast<double>(state >> 32) * 0x1p-32 - 0.5;
        }
        value = static_cast<float>(sum);
        if (side == 1 && (state >> 20 & 1) != 0)
            value = std::nextafter(value, 10.f);
    }
    return values;
}

fs::path writeBundle(const fs::path& below, int side, bundle::Codec codec)
{
    const fs::path folder = below / (side == 0 ? "a.forkpoint" : "b.forkpoint");
    auto writer = bundle::RankWriter::create(folder, 0).value();
    for (int i = 0; i < kTensors; ++i) {
        bundle::TensorRecord record;
        record.phase = bundle::Phase::Forward;
        record.kind = bundle::Kind::Output;
        record.micro = 0;
        record.module = fmt::format("layers.{}", i);
        record.order = i;
        record.shape = Shape{1024, static_cast<std::int64_t>(kElements / 1024)};
        record.bytes.emplace();
        record.bytes->codec = codec;
        record.bytes->filter = codec == bundle::Codec::Zstd ? bundle::Filter::Shuffle : bundle::Filter::None;
        const auto values = valuesOf(i, side);
        must(writer.tensor(std::move(record), std::as_bytes(std::span(values))));
    }
    must(writer.info({{"run", "large"}, {"world_size", 1}, {"status", "complete"}}));
    return folder;
}

/// Bytes of a file, and how many there are unpacked; 0: they are not compressed.
struct Piece {
    files::OpenFilePtr file;
    std::uint64_t offset;
    std::size_t stored, raw;
};

/// Everything a comparison has to read.
std::vector<Piece> piecesOf(const std::vector<fs::path>& bundles)
{
    std::vector<Piece> pieces;
    for (const auto& path : bundles) {
        const auto opened = bundle::Bundle::open(path).value();
        for (const auto& record : opened->ranks().front().tensors) {
            const auto& extent = *record.bytes;
            const auto file = files::openRegular(path / "rank00000" / std::string(extent.file), "tensors").value();
            const std::size_t raw = kElements * sizeof(float), frames = raw / extent.frameSize;
            std::uint64_t at = extent.offset;
            for (std::size_t i = 0; i < frames; ++i) {
                const std::size_t stored = extent.frames.empty() ? extent.frameSize : extent.frames[i];
                pieces.push_back({file, at, stored, extent.frames.empty() ? 0 : extent.frameSize});
                at += stored;
            }
        }
    }
    return pieces;
}

double seconds(std::chrono::steady_clock::time_point since)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

std::uint64_t sumOf(std::span<const std::byte> bytes)
{
    std::uint64_t sum = 0, word = 0;
    for (std::size_t at = 0; at + sizeof word <= bytes.size(); at += sizeof word) {
        std::memcpy(&word, bytes.data() + at, sizeof word);
        sum += word;
    }
    return sum;
}

/// The best of several times that all threads need to take in all pieces.
double leastSeconds(const std::vector<Piece>& pieces)
{
    struct Desk {
        std::vector<std::byte> stored, raw;
        std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{ZSTD_createDCtx(), ZSTD_freeDCtx};
    };
    double best = 1e9;
    for (int repeat = 0; repeat < 3; ++repeat) {
        oneapi::tbb::enumerable_thread_specific<Desk> desks;
        const auto start = std::chrono::steady_clock::now();
        oneapi::tbb::parallel_for(std::size_t{0}, pieces.size(), [&](std::size_t i) {
            const Piece& piece = pieces[i];
            Desk& desk = desks.local();
            desk.stored.resize(std::max(desk.stored.size(), piece.stored));
            const std::span<std::byte> stored(desk.stored.data(), piece.stored);
            must(piece.file->readAt(piece.offset, stored));
            if (piece.raw == 0) {
                benchmark::DoNotOptimize(sumOf(stored));
            } else {
                desk.raw.resize(piece.raw);
                benchmark::DoNotOptimize(ZSTD_decompressDCtx(desk.context.get(), desk.raw.data(), piece.raw, stored.data(), stored.size()));
            }
        });
        best = std::min(best, seconds(start));
    }
    return best;
}

void comparing(benchmark::State& state, bundle::Codec codec)
{
    const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(state.range(0)));
    const test::TempFolder folder;
    const fs::path a = writeBundle(folder.path(), 0, codec), b = writeBundle(folder.path(), 1, codec);
    const auto pieces = piecesOf({a, b});
    const double least = leastSeconds(pieces);
    double best = 1e9;
    for (auto _ : state) {
        const auto start = std::chrono::steady_clock::now();
        auto compared = compare::compare(align::Side::whole(bundle::Bundle::open(a).value()), align::Side::whole(bundle::Bundle::open(b).value()));
        if (!compared || compared->structure().alignment.pairs.size() != kTensors) {
            state.SkipWithError(compared ? "not every tensor has become a pair" : compared.error().text().c_str());
            return;
        }
        best = std::min(best, seconds(start));
    }
    std::size_t stored = 0;
    for (const Piece& piece : pieces)
        stored += piece.stored;
    state.SetBytesProcessed(state.iterations() * 2 * kTensors * static_cast<std::int64_t>(kElements * sizeof(float)));
    state.counters["stored_MiB"] = static_cast<double>(stored) / (1 << 20);
    state.counters["least_ms"] = 1e3 * least;
    state.counters["times_least"] = best / least;
}

void raw(benchmark::State& state) { comparing(state, bundle::Codec::Raw); }
void compressed(benchmark::State& state) { comparing(state, bundle::Codec::Zstd); }

BENCHMARK(raw)->Name("large/raw_bundles/threads")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(compressed)->Name("large/zstd_bundles/threads")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace
} // namespace forkpoint
