// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_emulation.h"

#include "core/metrics/cuda/block.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

using namespace forkpoint;
using namespace forkpoint::metrics;
using namespace forkpoint::metrics::cuda;

namespace {

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

Memory memoryOf(std::size_t bytes)
{
    const std::size_t rounded = (bytes + 255) / 256 * 256;
    Memory memory(static_cast<std::byte*>(std::aligned_alloc(256, rounded)));
    std::memset(memory.get(), 0xab, rounded);
    return memory;
}

std::mutex g_mutex;
test::EmulatedCuda g_record;

/// The failure that the test wants, if any.
int called(const char* function, char* error)
{
    const std::string failure = g_record.onCall ? g_record.onCall(function) : std::string();
    if (failure.empty())
        return 0;
    std::snprintf(error, FORKPOINT_CUDA_ERROR_SIZE, "%s", failure.c_str());
    return 1;
}

} // namespace

struct ForkpointCudaLane {
    std::size_t slotBytes = 0;
    std::uint32_t entries = 0;
    Memory pinned[2], device[2];
    std::vector<ChunkAccumulator> partials;
    std::vector<std::int64_t> histograms;
    std::vector<std::function<void()>> queue[2];

    void work(int slot)
    {
        for (const auto& step : queue[slot])
            step();
        queue[slot].clear();
    }
};

namespace {

int probe(char* device, size_t size, char* error)
{
    std::snprintf(device, size, "a GPU made of loops");
    return called("probe", error);
}

int openLane(ForkpointCudaLane** opened, size_t slotBytes, uint32_t partials, uint32_t entries, void* slots[2], char* error)
{
    if (called("open", error) != 0)
        return 1;
    auto* const lane = new ForkpointCudaLane;
    lane->slotBytes = slotBytes;
    for (int slot = 0; slot < 2; ++slot) {
        lane->pinned[slot] = memoryOf(slotBytes);
        lane->device[slot] = memoryOf(slotBytes);
        slots[slot] = lane->pinned[slot].get();
    }
    lane->partials.resize(partials);
    lane->histograms.resize(std::size_t{entries} * kPlaces);
    *opened = lane;
    const std::lock_guard lock(g_mutex);
    g_record.mostLanes = std::max(g_record.mostLanes, ++g_record.lanes);
    return 0;
}

void closeLane(ForkpointCudaLane* lane)
{
    if (lane == nullptr)
        return;
    delete lane;
    const std::lock_guard lock(g_mutex);
    --g_record.lanes;
}

int begin(ForkpointCudaLane* lane, uint32_t entries, char* error)
{
    lane->entries = entries;
    std::fill_n(lane->histograms.begin(), std::size_t{entries} * kPlaces, 0);
    return called("begin", error);
}

int waitSlot(ForkpointCudaLane* lane, int slot, char* error)
{
    lane->work(slot);
    return called("wait_slot", error);
}

int upload(ForkpointCudaLane* lane, int slot, size_t bytes, char* error)
{
    if (bytes > lane->slotBytes || called("upload", error) != 0)
        return 1;
    lane->queue[slot].emplace_back([=] { std::memcpy(lane->device[slot].get(), lane->pinned[slot].get(), bytes); });
    const std::lock_guard lock(g_mutex);
    ++g_record.uploads;
    return 0;
}

int run(ForkpointCudaLane* lane, int slot, uint32_t first, uint32_t count, uint32_t tiles, char* error)
{
    if (called("run", error) != 0)
        return 1;
    lane->queue[slot].emplace_back([=] {
        const std::byte* const buffer = lane->device[slot].get();
        const auto* const segments = reinterpret_cast<const Segment*>(buffer) + first;
        withKind(kindOf(static_cast<DType>(segments->dtype_a), static_cast<DType>(segments->dtype_b)), [&](auto kind) {
            HostBlock block;
            for (std::uint32_t tile = 0; tile < tiles; ++tile)
                runTile<decltype(kind)>(block, buffer, segments, count, tile, lane->partials.data(), lane->histograms.data());
        });
    });
    const std::lock_guard lock(g_mutex);
    ++g_record.launches;
    return 0;
}

int finish(ForkpointCudaLane* lane, const ForkpointCudaEntry* entries, uint32_t count, void* results, void* histograms, char* error)
{
    lane->work(0);
    lane->work(1);
    if (called("finish", error) != 0)
        return 1;
    HostBlock block;
    for (std::uint32_t i = 0; i < count; ++i)
        runReduction(block, lane->partials.data(), entries[i], static_cast<ChunkAccumulator*>(results)[i]);
    std::memcpy(histograms, lane->histograms.data(), count * sizeof(HistogramAccumulator));
    const std::lock_guard lock(g_mutex);
    ++g_record.finishes;
    g_record.mostEntries = std::max(g_record.mostEntries, count);
    return 0;
}

constexpr ForkpointCudaBorder kBorder = {FORKPOINT_CUDA_VERSION, kLayout, probe, openLane, closeLane, begin, waitSlot, upload, run, finish,
                                         nullptr, nullptr, nullptr};

} // namespace

namespace forkpoint::test {

const ForkpointCudaBorder& emulatedCudaBorder() { return kBorder; }

EmulatedCuda& freshEmulatedCuda()
{
    const int lanes = g_record.lanes;
    g_record = {};
    g_record.lanes = lanes;
    return g_record;
}

} // namespace forkpoint::test
