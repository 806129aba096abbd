// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/backend.h"
#include "core/metrics/pair_statistics.h"
#include "core/tensor/composed_sources.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

// A pair in memory, 256 MiB a side where nothing else is said, against the read limit: a plain sum over the same bytes by as many threads. The
// column of_limit is the share of the limit that was measured just before. Both are processor time, so that other programs on the machine distort
// little of it.
namespace forkpoint::metrics {
namespace {

constexpr std::size_t kBytes = std::size_t{256} << 20;

enum class Content { Noise, Different, Equal, Unrelated };

struct Sides {
    DType dtype;
    Content content;
    std::size_t bytes; ///< a side
    TensorSourcePtr a, b;
};

std::uint64_t nextRandom(std::uint64_t& state)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 32;
}

double normalish(std::uint64_t& state)
{
    double sum = 0;
    for (int i = 0; i < 4; ++i)
        sum += static_cast<double>(nextRandom(state)) * 0x1p-32 - 0.5;
    return sum * 1.7;
}

void store(DType dtype, double value, std::byte* at)
{
    switch (dtype) {
    case DType::Float64:
        std::memcpy(at, &value, sizeof value);
        return;
    case DType::BFloat16: {
        const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
        std::memcpy(at, &bits, sizeof bits);
        return;
    }
    case DType::Float16: {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::fabs(value) < 1e-4 ? 1e-4 : value));
        const auto half = static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | ((bits & 0x7fffffffu) - (112u << 23)) >> 13);
        std::memcpy(at, &half, sizeof half);
        return;
    }
    case DType::Int32: {
        const auto number = static_cast<std::int32_t>(value * 1e6);
        std::memcpy(at, &number, sizeof number);
        return;
    }
    default: {
        const auto number = static_cast<float>(value);
        std::memcpy(at, &number, sizeof number);
    }
    }
}

/// Noise: half of the numbers are off by some units in the last place; Different: all are; Unrelated: other numbers.
const Sides& sides(DType dtype, Content content, std::size_t bytes)
{
    static Sides kept{DType::Bool, Content::Noise, 0, nullptr, nullptr};
    if (kept.dtype == dtype && kept.content == content && kept.bytes == bytes)
        return kept;
    kept = {dtype, content, bytes, nullptr, nullptr};
    const std::size_t size = itemSize(dtype), distinct = std::min(bytes, kBytes); // larger ones repeat
    std::vector<std::byte> a(bytes), b(bytes);
    std::uint64_t state = 1;
    for (std::size_t at = 0; at < distinct; at += size)
        store(dtype, normalish(state), a.data() + at);
    std::copy_n(a.begin(), distinct, b.begin());
    for (std::size_t at = 0; at < distinct; at += size) {
        const std::uint64_t random = nextRandom(state);
        if (content == Content::Unrelated)
            store(dtype, normalish(state), b.data() + at);
        else if (content == Content::Different || (content == Content::Noise && random % 2 == 0))
            b[at] ^= static_cast<std::byte>(1 + random / 2 % 3);
    }
    for (std::size_t at = distinct; at < bytes; at += distinct) {
        std::copy_n(a.begin(), distinct, a.begin() + static_cast<std::ptrdiff_t>(at));
        std::copy_n(b.begin(), distinct, b.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const auto count = static_cast<std::int64_t>(bytes / size);
    kept.a = memorySource(dtype, {count}, std::move(a)).value();
    kept.b = memorySource(dtype, {count}, std::move(b)).value();
    return kept;
}

std::span<const std::byte> bytesOf(const TensorSourcePtr& source)
{
    static ReadBuffer unused;
    return source->read(Box::whole(source->shape()), unused).value();
}

using Vector = std::uint64_t __attribute__((vector_size(64)));

std::uint64_t sumOf(std::span<const std::byte> a, std::span<const std::byte> b)
{
    std::array<Vector, 4> sums{};
    for (std::size_t at = 0; at + 128 <= a.size(); at += 128) {
        std::array<Vector, 4> words;
        std::memcpy(words.data(), a.data() + at, 128);
        std::memcpy(words.data() + 2, b.data() + at, 128);
        for (std::size_t i = 0; i < 4; ++i)
            sums[i] += words[i];
    }
    std::uint64_t total = 0;
    for (const Vector& sum : sums) {
        for (int i = 0; i < 8; ++i)
            total += sum[i];
    }
    return total;
}

/// With what the page cache would give back; 0 where nobody says.
std::size_t memoryAvailable()
{
    std::ifstream lines("/proc/meminfo");
    std::string name;
    for (std::size_t kib = 0; lines >> name >> kib; lines.ignore(1 << 10, '\n')) {
        if (name == "MemAvailable:")
            return kib << 10;
    }
    return 0;
}

double secondsSince(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

double secondsToRead(const Sides& pair, int threads)
{
    const auto a = bytesOf(pair.a), b = bytesOf(pair.b);
    double best = 1e9;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const std::clock_t start = std::clock();
        std::vector<std::jthread> workers;
        for (int t = 0; t < threads; ++t) {
            const std::size_t part = pair.bytes / static_cast<std::size_t>(threads), from = part * static_cast<std::size_t>(t);
            workers.emplace_back([=] { benchmark::DoNotOptimize(sumOf(a.subspan(from, part), b.subspan(from, part))); });
        }
        workers.clear();
        best = std::min(best, secondsSince(start));
    }
    return best;
}

void measuring(benchmark::State& state, const char* backend, DType dtype, Content content, int threads, MeasureOptions options)
{
    const Sides& pair = sides(dtype, content, kBytes);
    options.threads = threads;
    if (!selectBackend(backend)) {
        state.SkipWithError("this backend cannot run here");
        return;
    }
    const double limit = secondsToRead(pair, threads);
    double best = 1e9;
    for (auto _ : state) {
        const std::clock_t start = std::clock();
        benchmark::DoNotOptimize(measure(*pair.a, *pair.b, options).value());
        best = std::min(best, secondsSince(start));
    }
    state.SetBytesProcessed(state.iterations() * 2 * static_cast<std::int64_t>(kBytes));
    state.counters["limit_GB/s"] = 2 * static_cast<double>(kBytes) * threads / limit / 1e9;
    state.counters["ns/pair"] = best * 1e9 * static_cast<double>(itemSize(dtype)) / static_cast<double>(kBytes);
    state.counters["of_limit"] = limit / best;
    (void)selectBackend("");
}

/// What a pair costs by its size: float32, by two threads, as programs use them.
void bySize(benchmark::State& state)
{
    const auto bytes = static_cast<std::size_t>(state.range(0));
    if (bytes > kBytes && 5 * bytes / 2 > memoryAvailable()) {
        state.SkipWithError("there is not enough memory for it");
        return;
    }
    const Sides& pair = sides(DType::Float32, Content::Noise, bytes);
    MeasureOptions options;
    options.threads = 2;
    for (auto _ : state)
        benchmark::DoNotOptimize(measure(*pair.a, *pair.b, options).value());
    state.SetBytesProcessed(state.iterations() * 2 * static_cast<std::int64_t>(bytes));
}

const char* nameOf(Content content)
{
    switch (content) {
    case Content::Noise:
        return "noise";
    case Content::Different:
        return "different";
    case Content::Equal:
        return "equal";
    case Content::Unrelated:
        break;
    }
    return "unrelated";
}

void registerOne(const char* what, const char* backend, DType dtype, Content content, int threads, const MeasureOptions& options)
{
    const std::string title = std::string("metrics/") + backend + "/" + what + "/" + std::string(name(dtype)) + "/" + nameOf(content) + "/"
        + std::to_string(threads) + "_threads";
    benchmark::RegisterBenchmark(title.c_str(), measuring, backend, dtype, content, threads, options)->UseRealTime()->Unit(benchmark::kMillisecond);
}

const bool g_registered = [] {
    for (const DType dtype : {DType::Float32, DType::BFloat16, DType::Float16, DType::Float64, DType::Int32}) {
        for (const Content content : {Content::Noise, Content::Different, Content::Equal, Content::Unrelated}) {
            registerOne("full", "simd", dtype, content, 1, {});
            registerOne("full", "simd", dtype, content, 2, {});
            registerOne("scalars", "simd", dtype, content, 1, {.histograms = false});
        }
        registerOne("full", "scalar", dtype, Content::Noise, 2, {});
        registerOne("scalars", "scalar", dtype, Content::Noise, 2, {.histograms = false});
    }
    return true;
}();

BENCHMARK(bySize)->Name("metrics/size")->RangeMultiplier(16)->Range(4 << 10, std::int64_t{4} << 30)->UseRealTime()->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace forkpoint::metrics
