// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/backend.h"
#include "core/metrics/cuda_module.h"
#include "core/tensor/composed_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

// How quick the GPU is, against what its memory and its link can do. Bytes of a copy on the device are read and written, so count twice; those of
// a comparison are both sides'. Ends with 77 where there is no GPU, with 1 if something fails.
namespace {

using namespace forkpoint;
using namespace forkpoint::metrics;

constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr int kRounds = 7;

double gigabytes(std::size_t bytes, double seconds) { return static_cast<double>(bytes) / seconds * 1e-9; }

[[noreturn]] void give(const char* what, const char* error)
{
    fmt::print("FAILED: {}: {}\n", what, error);
    std::exit(1);
}

void kernels(const ForkpointCudaBorder& border)
{
    std::array<char, FORKPOINT_CUDA_ERROR_SIZE> error{};
    double seconds = 0;
    if (border.time_device_copy(kGiB, kRounds, &seconds, error.data()) != 0)
        give("copy on the device", error.data());
    const double copy = gigabytes(2 * kGiB, seconds);
    fmt::print("copy on the device                {:9.1f} GB/s\n", copy);
    for (const DType dtype : {DType::Float32, DType::BFloat16, DType::Float16, DType::Float8E4M3FN, DType::Float64, DType::Int32}) {
        for (const bool histograms : {false, true}) {
            if (border.time_kernel(static_cast<std::uint8_t>(dtype), kGiB, histograms ? 1 : 0, kRounds, &seconds, error.data()) != 0)
                give("kernel", error.data());
            const double speed = gigabytes(2 * kGiB, seconds);
            fmt::print("kernel, {:<13} {:<11} {:9.1f} GB/s  {:5.2f} of the copy\n", name(dtype), histograms ? "histograms" : "", speed, speed / copy);
        }
    }
}

/// Seconds of the best of some measurements of the pair.
double endToEnd(const TensorSource& a, const TensorSource& b, int threads)
{
    double best = 1e9;
    for (int round = 0; round < 4; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        const auto got = measure(a, b, {.threads = threads});
        if (!got)
            give("end to end", got.error().text().c_str());
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
}

TensorSourcePtr ofFloats(std::size_t bytes, std::uint32_t flipped)
{
    std::vector<std::byte> memory(bytes);
    for (std::size_t i = 0; i < bytes / 4; ++i) {
        const std::uint32_t bits = 0x3f800000u | (static_cast<std::uint32_t>(i * 2654435761u) >> 9);
        const std::uint32_t other = bits ^ (i % 2 == 0 ? flipped : 0);
        std::memcpy(memory.data() + 4 * i, &other, 4);
    }
    return memorySource(DType::Float32, {static_cast<std::int64_t>(bytes / 4)}, std::move(memory)).value();
}

void pairs(const ForkpointCudaBorder& border)
{
    std::array<char, FORKPOINT_CUDA_ERROR_SIZE> error{};
    double seconds = 0;
    if (border.time_upload(kGiB / 4, kRounds, &seconds, error.data()) != 0)
        give("copy to the device", error.data());
    const double upload = gigabytes(kGiB / 4, seconds);
    fmt::print("copy to the device (pinned)       {:9.1f} GB/s\n", upload);
    const TensorSourcePtr a = ofFloats(kGiB, 0), b = ofFloats(kGiB, 1);
    const int all = static_cast<int>(std::thread::hardware_concurrency());
    for (const std::string_view backend : {"cuda", "simd"}) {
        if (!selectBackend(backend))
            give("end to end", "the backend cannot be chosen");
        for (int threads = 1; threads <= all; threads = threads < all && 2 * threads > all ? all : 2 * threads) {
            const double speed = gigabytes(2 * kGiB, endToEnd(*a, *b, threads));
            fmt::print("end to end, {}, {:3} threads       {:9.1f} GB/s  {:5.2f} of the copy to the device\n", backend, threads, speed, speed / upload);
        }
    }
}

void smallPairs()
{
    constexpr int kPairs = 2000;
    const TensorSourcePtr a = ofFloats(4096, 0), b = ofFloats(4096, 1);
    for (const std::string_view backend : {"cuda", "simd"}) {
        if (!selectBackend(backend))
            give("small pairs", "the backend cannot be chosen");
        std::vector<std::thread> threads;
        const auto begin = std::chrono::steady_clock::now();
        for (int thread = 0; thread < 16; ++thread) {
            threads.emplace_back([&] {
                for (int i = 0; i < kPairs / 16; ++i) {
                    if (const auto got = measure(*a, *b, {.threads = 1}); !got)
                        give("small pairs", got.error().text().c_str());
                }
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        fmt::print("pairs of 4 KiB, {}, 16 threads  {:9.2f} us a pair\n", backend, seconds / kPairs * 1e6);
    }
}

} // namespace

int main()
{
    const auto module = loadCudaModule(cudaModulePlaces());
    if (!module) {
        fmt::print("skipped: {}\n", module.error().text());
        return 77;
    }
    fmt::print("{}\n", module->device);
    kernels(*module->border);
    pairs(*module->border);
    smallPairs();
    return 0;
}
