// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/cuda/check.h"
#include "core/metrics/cuda/launch.h"
#include "core/metrics/cuda/timing.h"

#include <cstring>
#include <new>

// The CUDA side of border.h. Nothing in here decides: what is put where is the host's business (core/metrics/cuda_lane.cpp).
using namespace forkpoint::metrics;
using namespace forkpoint::metrics::cuda;

struct ForkpointCudaLane {
    std::size_t slotBytes = 0;
    std::uint32_t partialRoom = 0, entryRoom = 0, entries = 0;
    void* pinned[2] = {};
    std::byte* device[2] = {};
    cudaStream_t stream[2] = {};
    cudaEvent_t uploaded[2] = {}, done = nullptr;
    ChunkAccumulator* partials = nullptr;
    std::byte* results = nullptr;    ///< on the device: entries, their results, their histograms
    std::byte* resultsHost = nullptr; ///< the same, pinned

    std::size_t accumulatorsAt() const { return (entryRoom * sizeof(ForkpointCudaEntry) + 255) / 256 * 256; }
    std::size_t histogramsAt() const { return accumulatorsAt() + (entryRoom * sizeof(ChunkAccumulator) + 255) / 256 * 256; }
    std::size_t resultBytes() const { return histogramsAt() + entryRoom * sizeof(HistogramAccumulator); }
};

namespace {

__global__ void __launch_bounds__(kThreads) reductionKernel(const ChunkAccumulator* partials, const ForkpointCudaEntry* entries, ChunkAccumulator* results)
{
    __shared__ Shared shared;
    DeviceBlock block(shared);
    runReduction(block, partials, entries[blockIdx.x], results[blockIdx.x]);
}

int probe(char* device, size_t deviceSize, char* error)
{
    int driver = 0, runtime = 0, count = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0) {
        std::snprintf(error, FORKPOINT_CUDA_ERROR_SIZE, "no NVIDIA driver is installed");
        return 1;
    }
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
        cudaGetLastError();
        std::snprintf(error, FORKPOINT_CUDA_ERROR_SIZE, "the NVIDIA driver finds no device (CUDA_VISIBLE_DEVICES may hide it)");
        return 1;
    }
    if (status == cudaErrorInsufficientDriver) {
        cudaGetLastError();
        std::snprintf(error, FORKPOINT_CUDA_ERROR_SIZE, "the NVIDIA driver knows CUDA %d.%d, the module needs %d.%d", driver / 1000, driver % 100 / 10,
                      runtime / 1000, runtime % 100 / 10);
        return 1;
    }
    FORKPOINT_CUDA_TRY(status);
    cudaDeviceProp properties{};
    FORKPOINT_CUDA_TRY(cudaGetDeviceProperties(&properties, 0));
    cudaFuncAttributes attributes{};
    if (cudaFuncGetAttributes(&attributes, reductionKernel) != cudaSuccess) {
        cudaGetLastError();
        std::snprintf(error, FORKPOINT_CUDA_ERROR_SIZE, "%.100s has compute capability %d.%d, the module is built for 7.5 and newer", properties.name,
                      properties.major, properties.minor);
        return 1;
    }
    std::snprintf(device, deviceSize, "%.100s, compute capability %d.%d, %d MiB, driver for CUDA %d.%d", properties.name, properties.major,
                  properties.minor, static_cast<int>(properties.totalGlobalMem >> 20), driver / 1000, driver % 100 / 10);
    return 0;
}

void closeLane(ForkpointCudaLane* lane)
{
    if (lane == nullptr)
        return;
    for (int slot = 0; slot < 2; ++slot) {
        if (lane->stream[slot] != nullptr) {
            cudaStreamSynchronize(lane->stream[slot]);
            cudaStreamDestroy(lane->stream[slot]);
        }
        if (lane->uploaded[slot] != nullptr)
            cudaEventDestroy(lane->uploaded[slot]);
        cudaFreeHost(lane->pinned[slot]);
        cudaFree(lane->device[slot]);
    }
    if (lane->done != nullptr)
        cudaEventDestroy(lane->done);
    cudaFree(lane->partials);
    cudaFree(lane->results);
    cudaFreeHost(lane->resultsHost);
    cudaGetLastError();
    delete lane;
}

int allocate(ForkpointCudaLane& lane, char* error)
{
    for (int slot = 0; slot < 2; ++slot) {
        FORKPOINT_CUDA_TRY(cudaHostAlloc(&lane.pinned[slot], lane.slotBytes, cudaHostAllocDefault));
        FORKPOINT_CUDA_TRY(cudaMalloc(&lane.device[slot], lane.slotBytes));
        FORKPOINT_CUDA_TRY(cudaStreamCreateWithFlags(&lane.stream[slot], cudaStreamNonBlocking));
        FORKPOINT_CUDA_TRY(cudaEventCreateWithFlags(&lane.uploaded[slot], cudaEventDisableTiming));
    }
    FORKPOINT_CUDA_TRY(cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming));
    FORKPOINT_CUDA_TRY(cudaMalloc(&lane.partials, lane.partialRoom * sizeof(ChunkAccumulator)));
    FORKPOINT_CUDA_TRY(cudaMalloc(&lane.results, lane.resultBytes()));
    FORKPOINT_CUDA_TRY(cudaHostAlloc(&lane.resultsHost, lane.resultBytes(), cudaHostAllocDefault));
    return 0;
}

int openLane(ForkpointCudaLane** opened, size_t slotBytes, uint32_t partials, uint32_t entries, void* slots[2], char* error)
{
    auto* lane = new (std::nothrow) ForkpointCudaLane;
    if (lane == nullptr)
        return checked(cudaErrorMemoryAllocation, "a lane", error);
    lane->slotBytes = slotBytes;
    lane->partialRoom = partials;
    lane->entryRoom = entries;
    if (allocate(*lane, error) != 0) {
        closeLane(lane);
        return 1;
    }
    slots[0] = lane->pinned[0];
    slots[1] = lane->pinned[1];
    *opened = lane;
    return 0;
}

int refused(const char* what, char* error)
{
    std::snprintf(error, FORKPOINT_CUDA_ERROR_SIZE, "the CUDA module was asked for %s than its lane has room for", what);
    return 1;
}

/// What follows in the second stream waits for what is in the first, or the reverse.
int waitFor(ForkpointCudaLane& lane, int first, int second, char* error)
{
    FORKPOINT_CUDA_TRY(cudaEventRecord(lane.done, lane.stream[first]));
    FORKPOINT_CUDA_TRY(cudaStreamWaitEvent(lane.stream[second], lane.done, 0));
    return 0;
}

int begin(ForkpointCudaLane* lane, uint32_t entries, char* error)
{
    if (entries > lane->entryRoom)
        return refused("more entries", error);
    lane->entries = entries;
    FORKPOINT_CUDA_TRY(cudaMemsetAsync(lane->results + lane->histogramsAt(), 0, entries * sizeof(HistogramAccumulator), lane->stream[0]));
    return waitFor(*lane, 0, 1, error);
}

int waitSlot(ForkpointCudaLane* lane, int slot, char* error)
{
    FORKPOINT_CUDA_TRY(cudaEventSynchronize(lane->uploaded[slot])); // at once if it never was recorded
    return 0;
}

int upload(ForkpointCudaLane* lane, int slot, size_t bytes, char* error)
{
    if (bytes > lane->slotBytes)
        return refused("more bytes", error);
    FORKPOINT_CUDA_TRY(cudaMemcpyAsync(lane->device[slot], lane->pinned[slot], bytes, cudaMemcpyHostToDevice, lane->stream[slot]));
    FORKPOINT_CUDA_TRY(cudaEventRecord(lane->uploaded[slot], lane->stream[slot]));
    return 0;
}

int run(ForkpointCudaLane* lane, int slot, uint32_t first, uint32_t count, uint32_t tiles, char* error)
{
    const auto* segments = static_cast<const Segment*>(lane->pinned[slot]) + first;
    const Segment& last = segments[count - 1];
    if (last.entry >= lane->entries || last.first_partial + (tiles - last.first_tile) > lane->partialRoom)
        return refused("more tiles", error);
    const Kind kind = kindOf(static_cast<forkpoint::DType>(segments->dtype_a), static_cast<forkpoint::DType>(segments->dtype_b));
    launchTiles(kind,
                {lane->device[slot], reinterpret_cast<const Segment*>(lane->device[slot]) + first, count, tiles, lane->partials,
                 reinterpret_cast<std::int64_t*>(lane->results + lane->histogramsAt())},
                lane->stream[slot]);
    FORKPOINT_CUDA_TRY(cudaGetLastError());
    return 0;
}

int finish(ForkpointCudaLane* lane, const ForkpointCudaEntry* entries, uint32_t count, void* results, void* histograms, char* error)
{
    if (count > lane->entries)
        return refused("more entries", error);
    if (waitFor(*lane, 1, 0, error) != 0)
        return 1;
    cudaStream_t stream = lane->stream[0];
    std::memcpy(lane->resultsHost, entries, count * sizeof *entries);
    FORKPOINT_CUDA_TRY(cudaMemcpyAsync(lane->results, lane->resultsHost, count * sizeof *entries, cudaMemcpyHostToDevice, stream));
    reductionKernel<<<count, kThreads, 0, stream>>>(lane->partials, reinterpret_cast<const ForkpointCudaEntry*>(lane->results),
                                                    reinterpret_cast<ChunkAccumulator*>(lane->results + lane->accumulatorsAt()));
    FORKPOINT_CUDA_TRY(cudaGetLastError());
    for (const auto& [at, size] : {std::pair{lane->accumulatorsAt(), sizeof(ChunkAccumulator)}, {lane->histogramsAt(), sizeof(HistogramAccumulator)}})
        FORKPOINT_CUDA_TRY(cudaMemcpyAsync(lane->resultsHost + at, lane->results + at, count * size, cudaMemcpyDeviceToHost, stream));
    FORKPOINT_CUDA_TRY(cudaStreamSynchronize(stream));
    std::memcpy(results, lane->resultsHost + lane->accumulatorsAt(), count * sizeof(ChunkAccumulator));
    std::memcpy(histograms, lane->resultsHost + lane->histogramsAt(), count * sizeof(HistogramAccumulator));
    return 0;
}

constexpr ForkpointCudaBorder kBorder = {FORKPOINT_CUDA_VERSION, kLayout, probe, openLane, closeLane, begin, waitSlot, upload, run, finish,
                                         timeDeviceCopy, timeUpload, timeKernel};

} // namespace

extern "C" __attribute__((visibility("default"))) const ForkpointCudaBorder* forkpoint_cuda_border(void) { return &kBorder; }
