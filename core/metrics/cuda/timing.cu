// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/cuda/timing.h"

#include "core/metrics/cuda/check.h"
#include "core/metrics/cuda/launch.h"

namespace forkpoint::metrics::cuda {
namespace {

struct DeviceMemory {
    std::byte* at = nullptr;
    ~DeviceMemory() { cudaFree(at); }
};

struct PinnedMemory {
    void* at = nullptr;
    ~PinnedMemory() { cudaFreeHost(at); }
};

struct Events {
    cudaEvent_t begin = nullptr, end = nullptr;
    ~Events()
    {
        if (begin != nullptr)
            cudaEventDestroy(begin);
        if (end != nullptr)
            cudaEventDestroy(end);
    }
};

/// The best of `rounds` times of what `work` puts into the default stream, after one that warms up.
template <class Work>
int timed(int rounds, const Work& work, double* seconds, char* error)
{
    Events events;
    FORKPOINT_CUDA_TRY(cudaEventCreate(&events.begin));
    FORKPOINT_CUDA_TRY(cudaEventCreate(&events.end));
    *seconds = 0;
    for (int round = 0; round <= rounds; ++round) {
        FORKPOINT_CUDA_TRY(cudaEventRecord(events.begin));
        FORKPOINT_CUDA_TRY(work());
        FORKPOINT_CUDA_TRY(cudaEventRecord(events.end));
        FORKPOINT_CUDA_TRY(cudaEventSynchronize(events.end));
        float milliseconds = 0;
        FORKPOINT_CUDA_TRY(cudaEventElapsedTime(&milliseconds, events.begin, events.end));
        if (round > 0 && (*seconds == 0 || milliseconds * 1e-3 < *seconds))
            *seconds = milliseconds * 1e-3;
    }
    return 0;
}

/// Numbers in [1, 2) of either sign, in B half of them off in the last bit or two: what two healthy runs look like.
__global__ void fill(std::byte* a, std::byte* b, std::size_t numbers, int size)
{
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numbers; i += step) {
        std::uint64_t random = (i + 1) * 0x9e3779b97f4a7c15ull;
        random = (random ^ random >> 29) * 0xbf58476d1ce4e5b9ull;
        random ^= random >> 32;
        const std::uint64_t one = size == 8 ? 0x3ff0000000000000ull : size == 4 ? 0x3f800000ull : size == 2 ? 0x3c00ull : 0x38ull;
        const std::uint64_t digits = size == 8 ? (1ull << 52) - 1 : size == 4 ? (1ull << 23) - 1 : size == 2 ? 0x3ffull : 7ull;
        const std::uint64_t bits = one | (random & digits) | (random >> 63) << (8 * size - 1);
        const std::uint64_t other = bits ^ ((random >> 60 & 1) != 0 ? 1 + (random >> 58 & 1) : 0);
        for (int byte = 0; byte < size; ++byte) {
            a[i * static_cast<std::size_t>(size) + static_cast<std::size_t>(byte)] = static_cast<std::byte>(bits >> 8 * byte);
            b[i * static_cast<std::size_t>(size) + static_cast<std::size_t>(byte)] = static_cast<std::byte>(other >> 8 * byte);
        }
    }
}

} // namespace

int timeDeviceCopy(std::size_t bytes, int rounds, double* seconds, char* error)
{
    DeviceMemory from, to;
    FORKPOINT_CUDA_TRY(cudaMalloc(&from.at, bytes));
    FORKPOINT_CUDA_TRY(cudaMalloc(&to.at, bytes));
    return timed(rounds, [&] { return cudaMemcpyAsync(to.at, from.at, bytes, cudaMemcpyDeviceToDevice); }, seconds, error);
}

int timeUpload(std::size_t bytes, int rounds, double* seconds, char* error)
{
    PinnedMemory from;
    DeviceMemory to;
    FORKPOINT_CUDA_TRY(cudaHostAlloc(&from.at, bytes, cudaHostAllocDefault));
    FORKPOINT_CUDA_TRY(cudaMalloc(&to.at, bytes));
    return timed(rounds, [&] { return cudaMemcpyAsync(to.at, from.at, bytes, cudaMemcpyHostToDevice); }, seconds, error);
}

int timeKernel(std::uint8_t dtype, std::size_t bytesASide, int histograms, int rounds, double* seconds, char* error)
{
    const auto type = static_cast<DType>(dtype);
    const std::size_t size = partSize(type), parts = bytesASide / size;
    const auto tiles = static_cast<std::uint32_t>((parts + kTileParts - 1) / kTileParts);
    const std::size_t room = (bytesASide + FORKPOINT_CUDA_PADDING + 255) / 256 * 256, front = 256;
    DeviceMemory buffer, partials, counts;
    FORKPOINT_CUDA_TRY(cudaMalloc(&buffer.at, front + 2 * room));
    FORKPOINT_CUDA_TRY(cudaMalloc(&partials.at, tiles * sizeof(ChunkAccumulator)));
    FORKPOINT_CUDA_TRY(cudaMalloc(&counts.at, sizeof(HistogramAccumulator)));
    FORKPOINT_CUDA_TRY(cudaMemset(counts.at, 0, sizeof(HistogramAccumulator)));
    fill<<<2048, 256>>>(buffer.at + front, buffer.at + front + room, parts, static_cast<int>(size));
    FORKPOINT_CUDA_TRY(cudaGetLastError());
    Segment segment{};
    segment.a = front;
    segment.b = front + room;
    segment.parts = parts;
    segment.rtol = 1e-5;
    segment.atol = 1e-8;
    segment.dtype_a = segment.dtype_b = dtype;
    segment.parts_per_element = 1;
    segment.histograms = histograms != 0;
    static_assert(sizeof segment <= 256);
    FORKPOINT_CUDA_TRY(cudaMemcpy(buffer.at, &segment, sizeof segment, cudaMemcpyHostToDevice));
    const Run run{buffer.at, reinterpret_cast<const Segment*>(buffer.at), 1, tiles, reinterpret_cast<ChunkAccumulator*>(partials.at),
                  reinterpret_cast<std::int64_t*>(counts.at)};
    const auto work = [&] {
        launchTiles(kindOf(type, type), run, nullptr);
        return cudaGetLastError();
    };
    return timed(rounds, work, seconds, error);
}

} // namespace forkpoint::metrics::cuda
