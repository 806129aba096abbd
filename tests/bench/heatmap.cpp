// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/pyramid.h"
#include "core/heatmap/range.h"
#include "core/heatmap/render.h"
#include "core/tensor/composed_sources.h"

#include <benchmark/benchmark.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_reduce.h>

#include <bit>
#include <cmath>
#include <cstring>

// A pair of 8192 x 8192, and a view of 1600 x 1000 pixels on it. The read limit is in the table, since building the pyramid reads both sides once.
namespace forkpoint::heatmap {
namespace {

constexpr std::int64_t kSide = 8192;
constexpr int kWidth = 1600, kHeight = 1000;

/// Some numbers and their neighbours; B is A with rounding noise, or A with every number changed.
struct Sides {
    std::vector<std::byte> a, b;
};

std::uint64_t nextRandom(std::uint64_t& state)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 32;
}

template <class Stored, class Make>
Sides filled(std::int64_t elements, Make make)
{
    Sides sides;
    sides.a.resize(static_cast<std::size_t>(elements) * sizeof(Stored));
    sides.b.resize(sides.a.size());
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < static_cast<std::size_t>(elements); ++i) {
        const auto [a, b] = make(nextRandom(state));
        std::memcpy(sides.a.data() + i * sizeof(Stored), &a, sizeof(Stored));
        std::memcpy(sides.b.data() + i * sizeof(Stored), &b, sizeof(Stored));
    }
    return sides;
}

Sides sidesOf(DType dtype, std::int64_t elements)
{
    const auto real = [](std::uint64_t random) { return static_cast<double>(random) * 0x1p-31 - 1; };
    switch (dtype) {
    case DType::Float64:
        return filled<double>(elements, [=](std::uint64_t random) { return std::pair(real(random), real(random) * (1 + 1e-12)); });
    case DType::BFloat16:
        return filled<std::uint16_t>(elements, [=](std::uint64_t random) {
            const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(real(random))) >> 16;
            return std::pair(static_cast<std::uint16_t>(bits), static_cast<std::uint16_t>(bits ^ (random & 1)));
        });
    case DType::Int64:
        return filled<std::int64_t>(elements, [](std::uint64_t random) {
            return std::pair(static_cast<std::int64_t>(random), static_cast<std::int64_t>(random ^ (random >> 31)));
        });
    default:
        return filled<float>(elements, [=](std::uint64_t random) {
            const auto a = static_cast<float>(real(random));
            return std::pair(a, a * (1 + 1e-7f * static_cast<float>(random % 5)));
        });
    }
}

struct SourcePair {
    TensorSourcePtr a, b;
};

/// Kept from one benchmark to the next as long as they want the same.
const SourcePair& sources(DType dtype)
{
    static SourcePair kept;
    static DType keptDtype = DType::Bool;
    if (keptDtype != dtype || !kept.a) {
        kept = {};
        Sides sides = sidesOf(dtype, kSide * kSide);
        kept.a = memorySource(dtype, {kSide, kSide}, std::move(sides.a)).value();
        kept.b = memorySource(dtype, {kSide, kSide}, std::move(sides.b)).value();
        keptDtype = dtype;
    }
    return kept;
}

std::shared_ptr<const Pyramid> built(DType dtype, const PyramidOptions& options = {})
{
    const SourcePair& pair = sources(dtype);
    return Pyramid::build(pair.a, pair.b, overviewAxes(pair.a->shape()), options).value();
}

/// Shared by the benchmarks that only look.
const Pyramid& pyramid()
{
    static const std::shared_ptr<const Pyramid> kept = built(DType::Float32);
    return *kept;
}

void setBytes(benchmark::State& state, DType dtype)
{
    state.SetBytesProcessed(state.iterations() * 2 * kSide * kSide * static_cast<std::int64_t>(itemSize(dtype)));
}

/// Both sides summed by all threads: no pass over the pair can be faster.
void readingBothSides(benchmark::State& state)
{
    const SourcePair& pair = sources(DType::Float32);
    ReadBuffer bufferA, bufferB;
    const auto a = pair.a->read(Box::whole(pair.a->shape()), bufferA).value();
    const auto b = pair.b->read(Box::whole(pair.b->shape()), bufferB).value();
    for (auto _ : state) {
        using Range = oneapi::tbb::blocked_range<std::size_t>;
        const auto sum = oneapi::tbb::parallel_reduce(
            Range(0, a.size() / 4096, 64), std::uint64_t{0},
            [&](const Range& range, std::uint64_t start) {
                for (std::size_t page = range.begin(); page != range.end(); ++page) {
                    for (const std::byte* side : {a.data(), b.data()}) {
                        std::array<std::uint64_t, 512> words;
                        std::memcpy(words.data(), side + page * 4096, 4096);
                        for (const std::uint64_t word : words)
                            start += word;
                    }
                }
                return start;
            },
            std::plus<>());
        benchmark::DoNotOptimize(sum);
    }
    setBytes(state, DType::Float32);
}

void buildingPyramid(benchmark::State& state)
{
    const auto dtype = static_cast<DType>(state.range(0));
    sources(dtype);
    PyramidOptions options;
    options.threads = static_cast<int>(state.range(1));
    std::size_t bytes = 0;
    for (auto _ : state) {
        const auto result = built(dtype, options);
        bytes = result->storedBytes();
        benchmark::DoNotOptimize(result);
    }
    setBytes(state, dtype);
    state.SetLabel(std::string(name(dtype)));
    state.counters["stored_MB"] = static_cast<double>(bytes) * 1e-6;
}

void newTolerance(benchmark::State& state)
{
    for (auto _ : state)
        benchmark::DoNotOptimize(pyramid().withTolerance(1e-5, 1e-8).value());
    setBytes(state, DType::Float32);
}

void histogram(benchmark::State& state)
{
    for (auto _ : state)
        benchmark::DoNotOptimize(histogramOf(pyramid(), static_cast<Mode>(state.range(0))).value());
    setBytes(state, DType::Float32);
}

Style styleOf(Mode mode)
{
    Style style;
    style.mode = mode;
    const bool magnitude = mode == Mode::AbsDifference || mode == Mode::Relative || mode == Mode::Ulp;
    style.normalisation.scale = magnitude ? RangeScale::Log : RangeScale::Linear;
    style.normalisation.range = magnitude ? ValueRange{1e-9, 1e-5} : ValueRange{-1, 1};
    return style;
}

class Screen {
public:
    void draw(const Pyramid& from, const Viewport& view, Mode mode, Reads reads = Reads::Allowed)
    {
        const auto info = renderRegion(from, view, styleOf(mode), m_pixels, kWidth, reads).value();
        benchmark::DoNotOptimize(info);
        benchmark::ClobberMemory();
    }

private:
    std::vector<Rgba> m_pixels = std::vector<Rgba>(std::size_t{kWidth} * kHeight);
};

Viewport viewAt(double cellsPerPixel)
{
    const double middle = static_cast<double>(kSide) / 2;
    return {middle - kWidth * cellsPerPixel / 2, middle - kHeight * cellsPerPixel / 2, cellsPerPixel, cellsPerPixel, kWidth, kHeight};
}

/// The same frame again, as after an expose or a change of range. Arguments: cells per 8 pixels, mode.
void frameAtZoom(benchmark::State& state)
{
    Screen screen;
    const Viewport view = viewAt(static_cast<double>(state.range(0)) / 8);
    const auto mode = static_cast<Mode>(state.range(1));
    screen.draw(pyramid(), view, mode);
    for (auto _ : state)
        screen.draw(pyramid(), view, mode);
}

void frameOfEverything(benchmark::State& state)
{
    Screen screen;
    const Viewport view = fitted(kSide, kSide, kWidth, kHeight);
    for (auto _ : state)
        screen.draw(pyramid(), view, static_cast<Mode>(state.range(0)));
}

/// Space held and let go at 1:1.
void flipping(benchmark::State& state)
{
    Screen screen;
    const Viewport view = viewAt(static_cast<double>(state.range(0)) / 8);
    bool flipped = false;
    for (auto _ : state) {
        screen.draw(pyramid(), view, flipped ? Mode::B : Mode::A);
        flipped = !flipped;
    }
}

/// A drag over ground that was not seen before: 40 pixels a frame.
void panning(benchmark::State& state)
{
    Screen screen;
    const auto fresh = built(DType::Float32);
    Viewport view = viewAt(static_cast<double>(state.range(0)) / 8);
    view.left = view.top = 0;
    screen.draw(*fresh, view, Mode::AbsDifference);
    for (auto _ : state) {
        view = panned(view, -40, -7);
        if (view.left + kWidth * view.columnsPerPixel > kSide)
            view.left = 0;
        if (view.top + kHeight * view.rowsPerPixel > kSide)
            view.top = 0;
        screen.draw(*fresh, view, Mode::AbsDifference);
    }
}

/// The wheel turned: from everything to 8 pixels a cell and back, without waiting for the tensors. The slowest frame is a counter.
void zooming(benchmark::State& state)
{
    Screen screen;
    const auto fresh = built(DType::Float32);
    double perPixel = 8;
    double factor = 0.9;
    double slowest = 0;
    for (auto _ : state) {
        const auto begin = std::chrono::steady_clock::now();
        screen.draw(*fresh, viewAt(perPixel), Mode::AbsDifference, Reads::Forbidden);
        slowest = std::max(slowest, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
        perPixel *= factor;
        if (perPixel < 1.0 / 8 || perPixel > 8)
            factor = 1 / factor;
    }
    state.counters["slowest_ms"] = slowest;
}

/// A first look, with nothing cached: what a worker does behind the frame above.
void firstLook(benchmark::State& state)
{
    Screen screen;
    PyramidOptions options;
    options.cacheBudget = 0;
    const auto uncached = built(DType::Float32, options);
    const Viewport view = viewAt(static_cast<double>(state.range(0)) / 8);
    for (auto _ : state)
        screen.draw(*uncached, view, static_cast<Mode>(state.range(1)));
}

constexpr auto kAbs = static_cast<std::int64_t>(Mode::AbsDifference);
constexpr auto kSideA = static_cast<std::int64_t>(Mode::A);

BENCHMARK(readingBothSides)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(buildingPyramid)->Args({static_cast<std::int64_t>(DType::Float32), 0})->Args({static_cast<std::int64_t>(DType::Float32), 1})
    ->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(newTolerance)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(histogram)->Arg(kAbs)->Arg(kSideA)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(frameOfEverything)->DenseRange(0, 6)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(frameAtZoom)->ArgsProduct({{1, 8, 12, 15, 24, 31, 48, 64}, {kAbs}})->Args({8, kSideA})->Args({31, kSideA})
    ->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(flipping)->Arg(8)->Arg(31)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(panning)->Arg(8)->Arg(24)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(zooming)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(firstLook)->Args({8, kAbs})->Args({15, kAbs})->Args({31, kAbs})->Args({8, kSideA})->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
// Other types last, since each replaces the pair in memory.
BENCHMARK(buildingPyramid)->Args({static_cast<std::int64_t>(DType::BFloat16), 0})->Args({static_cast<std::int64_t>(DType::Float64), 0})
    ->Args({static_cast<std::int64_t>(DType::Int64), 0})->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

} // namespace
} // namespace forkpoint::heatmap
