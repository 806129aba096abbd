// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/cuda_pipeline.h"

#include "core/metrics/cuda/thread_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace forkpoint::metrics {
namespace {

using cuda::kTileParts;
using cuda::Segment;

constexpr std::size_t kAlign = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

std::size_t partsOfRequest(const CudaRequest& request) { return request.a.size() / partSize(request.dtypeA); }

std::uint32_t tilesOf(std::size_t parts) { return static_cast<std::uint32_t>((parts + kTileParts - 1) / kTileParts); }

std::size_t perElement(const CudaRequest& request) { return static_cast<std::size_t>(partsOf(request.dtypeA)); }

/// Bytes that `parts` numbers of both sides take in a slot.
std::size_t packedBytes(const CudaRequest& request, std::size_t parts)
{
    const std::size_t mask = request.mask.empty() ? 0 : aligned(parts / perElement(request) + FORKPOINT_CUDA_PADDING);
    return aligned(parts * partSize(request.dtypeA) + FORKPOINT_CUDA_PADDING) + aligned(parts * partSize(request.dtypeB) + FORKPOINT_CUDA_PADDING)
           + mask;
}

/// Copies the bytes to `at` in the slot, and moves `at` behind them and their padding.
std::uint64_t put(std::span<const std::byte> bytes, std::byte* slot, std::size_t& at)
{
    const std::size_t begin = at;
    std::memcpy(slot + begin, bytes.data(), bytes.size());
    std::memset(slot + begin + bytes.size(), 0, FORKPOINT_CUDA_PADDING);
    at = aligned(begin + bytes.size() + FORKPOINT_CUDA_PADDING);
    return begin;
}

/// Packs numbers [first, first + parts) of a request. Tiles and entries are the caller's.
Segment pack(const CudaRequest& request, std::size_t first, std::size_t parts, std::byte* slot, std::size_t& at)
{
    const std::size_t sizeA = partSize(request.dtypeA), sizeB = partSize(request.dtypeB), each = perElement(request);
    Segment segment{};
    segment.a = put(request.a.subspan(first * sizeA, parts * sizeA), slot, at);
    segment.b = put(request.b.subspan(first * sizeB, parts * sizeB), slot, at);
    if (!request.mask.empty())
        segment.mask = put(request.mask.subspan(first / each, parts / each), slot, at);
    segment.parts = parts;
    segment.first_part = request.firstIndex * static_cast<std::int64_t>(each) + static_cast<std::int64_t>(first);
    segment.rtol = request.options.rtol;
    segment.atol = request.options.atol;
    segment.dtype_a = static_cast<std::uint8_t>(request.dtypeA);
    segment.dtype_b = static_cast<std::uint8_t>(request.dtypeB);
    segment.parts_per_element = static_cast<std::uint8_t>(each);
    segment.histograms = request.histograms != nullptr;
    return segment;
}

} // namespace

CudaLane::CudaLane(const ForkpointCudaBorder& border, const Room& room)
    : m_border(border)
    , m_room(room)
{
}

CudaLane::~CudaLane() { m_border.close(m_lane); }

/// A function of the border that fails with a text.
template <class Function, class... Arguments>
Result<void> CudaLane::call(const char* what, Function function, Arguments... arguments)
{
    std::array<char, FORKPOINT_CUDA_ERROR_SIZE> error{};
    if (function(arguments..., error.data()) == 0)
        return {};
    return fail(ErrorCode::Device, fmt::format("the GPU failed to {}: {}; --backend simd does without it", what, error.data()));
}

Result<std::unique_ptr<CudaLane>> CudaLane::open(const ForkpointCudaBorder& border, const Room& room)
{
    std::unique_ptr<CudaLane> lane(new CudaLane(border, room));
    const auto opened = lane->call("give memory", border.open, &lane->m_lane, room.slotBytes, room.partials, room.entries,
                                   static_cast<void**>(lane->m_slots));
    if (!opened)
        return tl::unexpected<Error>(opened.error());
    return lane;
}

Result<void> CudaLane::stream(const CudaRequest& request)
{
    const std::size_t total = partsOfRequest(request), front = aligned(sizeof(Segment));
    std::size_t most = kTileParts; // numbers in a slice
    while (packedBytes(request, most + kTileParts) + front <= m_room.slotBytes && most / kTileParts < m_room.partials)
        most += kTileParts;
    const CudaRequest* const one = &request;

    auto done = call("begin", m_border.begin, m_lane, 1u);
    ForkpointCudaEntry entry{0, 0};
    int slot = 0;
    for (std::size_t first = 0; done && first < total; first += most) {
        const std::size_t parts = std::min(most, total - first);
        const std::uint32_t tiles = tilesOf(parts);
        if (entry.count + tiles > m_room.partials) {
            done = finish({&entry, 1}, {&one, 1});
            entry.count = 0;
            if (done)
                done = call("begin", m_border.begin, m_lane, 1u);
        }
        if (done)
            done = call("copy", m_border.wait_slot, m_lane, slot);
        if (!done)
            break;
        auto* const memory = static_cast<std::byte*>(m_slots[slot]);
        std::size_t at = front;
        Segment segment = pack(request, first, parts, memory, at);
        segment.first_partial = entry.count;
        std::memcpy(memory, &segment, sizeof segment);
        entry.count += tiles;
        done = call("copy", m_border.upload, m_lane, slot, at);
        if (done)
            done = call("compute", m_border.run, m_lane, slot, 0u, 1u, tiles);
        slot = 1 - slot;
    }
    return done ? finish({&entry, 1}, {&one, 1}) : done;
}

Result<void> CudaLane::together(std::span<const CudaRequest* const> requests)
{
    auto done = call("begin", m_border.begin, m_lane, static_cast<std::uint32_t>(requests.size()));
    if (done)
        done = call("copy", m_border.wait_slot, m_lane, 0);
    if (!done)
        return done;
    const auto kindOfRequest = [](const CudaRequest* request) { return cuda::kindOf(request->dtypeA, request->dtypeB); };
    std::vector<const CudaRequest*> ordered(requests.begin(), requests.end()); // by kind, since each kind is a launch
    std::stable_sort(ordered.begin(), ordered.end(), [&](const auto* x, const auto* y) { return kindOfRequest(x) < kindOfRequest(y); });

    auto* const memory = static_cast<std::byte*>(m_slots[0]);
    std::size_t at = aligned(ordered.size() * sizeof(Segment));
    std::vector<Segment> segments;
    std::vector<ForkpointCudaEntry> entries;
    std::uint32_t partial = 0, tile = 0;
    for (std::size_t i = 0; i < ordered.size(); ++i) {
        const std::size_t parts = partsOfRequest(*ordered[i]);
        if (i > 0 && kindOfRequest(ordered[i]) != kindOfRequest(ordered[i - 1]))
            tile = 0;
        Segment segment = pack(*ordered[i], 0, parts, memory, at);
        segment.entry = static_cast<std::uint32_t>(i);
        segment.first_tile = tile;
        segment.first_partial = partial;
        segments.push_back(segment);
        entries.push_back({partial, tilesOf(parts)});
        partial += tilesOf(parts);
        tile += tilesOf(parts);
    }
    std::memcpy(memory, segments.data(), segments.size() * sizeof(Segment));
    done = call("copy", m_border.upload, m_lane, 0, at);
    for (std::size_t first = 0; done && first < ordered.size();) {
        std::size_t last = first;
        std::uint32_t tiles = 0;
        while (last < ordered.size() && kindOfRequest(ordered[last]) == kindOfRequest(ordered[first]))
            tiles += entries[last++].count;
        done = call("compute", m_border.run, m_lane, 0, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last - first), tiles);
        first = last;
    }
    return done ? finish(entries, ordered) : done;
}

Result<void> CudaLane::finish(std::span<const ForkpointCudaEntry> entries, std::span<const CudaRequest* const> requests)
{
    m_results.resize(entries.size());
    m_histograms.resize(entries.size());
    const auto done = call("finish", m_border.finish, m_lane, entries.data(), static_cast<std::uint32_t>(entries.size()),
                           static_cast<void*>(m_results.data()), static_cast<void*>(m_histograms.data()));
    for (std::size_t i = 0; done && i < requests.size(); ++i) {
        requests[i]->into.combine(m_results[i]);
        if (requests[i]->histograms != nullptr)
            requests[i]->histograms->combine(m_histograms[i]);
    }
    return done;
}

/// A small request, on the stack of the thread that waits for it.
struct CudaPipeline::Small {
    const CudaRequest& request;
    bool done = false;
    Result<void> result{};
};

CudaPipeline::CudaPipeline(const ForkpointCudaBorder& border)
    : CudaPipeline(border, Limits{})
{
}

CudaPipeline::CudaPipeline(const ForkpointCudaBorder& border, const Limits& limits)
    : m_border(border)
    , m_limits(limits)
{
}

Result<void> CudaPipeline::accumulate(const CudaRequest& request)
{
    if (request.a.empty())
        return {};
    if (request.a.size() + request.b.size() <= m_limits.smallBytes)
        return shareLaunch(request);
    auto lane = takeLane();
    if (!lane)
        return tl::unexpected<Error>(lane.error());
    auto done = (*lane)->stream(request);
    giveBack(std::move(*lane), done.has_value());
    return done;
}

std::size_t CudaPipeline::waiting() const
{
    const std::lock_guard lock(m_mutex);
    return m_small.size();
}

Result<std::unique_ptr<CudaLane>> CudaPipeline::takeLane()
{
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return !m_free.empty() || m_open < m_limits.lanes; });
    if (!m_free.empty()) {
        auto lane = std::move(m_free.back());
        m_free.pop_back();
        return lane;
    }
    ++m_open;
    lock.unlock();
    auto lane = CudaLane::open(m_border, m_limits.room);
    if (!lane)
        giveBack(nullptr, false);
    return lane;
}

void CudaPipeline::giveBack(std::unique_ptr<CudaLane> lane, bool usable)
{
    if (!usable)
        lane.reset();
    const std::lock_guard lock(m_mutex);
    if (lane)
        m_free.push_back(std::move(lane));
    else
        --m_open;
    m_changed.notify_all();
}

Result<void> CudaPipeline::shareLaunch(const CudaRequest& request)
{
    Small own{request};
    std::unique_lock lock(m_mutex);
    m_small.push_back(&own);
    for (;;) {
        m_changed.wait(lock, [&] { return own.done || !m_launching; });
        if (own.done)
            return own.result;
        // Nobody launches: this thread does, whoever's requests are next.
        m_launching = true;
        const std::vector<Small*> launch = nextLaunch();
        lock.unlock();
        std::vector<const CudaRequest*> requests;
        for (const Small* small : launch)
            requests.push_back(&small->request);
        Result<void> done;
        auto lane = takeLane();
        if (lane) {
            done = (*lane)->together(requests);
            giveBack(std::move(*lane), done.has_value());
        } else {
            done = tl::unexpected<Error>(lane.error());
        }
        lock.lock();
        for (Small* small : launch) {
            small->result = done;
            small->done = true;
        }
        m_launching = false;
        m_changed.notify_all();
    }
}

std::vector<CudaPipeline::Small*> CudaPipeline::nextLaunch()
{
    const CudaLane::Room& room = m_limits.room;
    std::size_t bytes = 0, count = 0;
    std::uint32_t tiles = 0;
    while (count < m_small.size() && count < room.entries) {
        const CudaRequest& next = m_small[count]->request;
        const std::size_t parts = partsOfRequest(next);
        bytes += packedBytes(next, parts);
        tiles += tilesOf(parts);
        if (count > 0 && (bytes + aligned((count + 1) * sizeof(Segment)) > room.slotBytes || tiles > room.partials))
            break;
        ++count;
    }
    std::vector<Small*> launch(m_small.begin(), m_small.begin() + static_cast<std::ptrdiff_t>(count));
    m_small.erase(m_small.begin(), m_small.begin() + static_cast<std::ptrdiff_t>(count));
    return launch;
}

} // namespace forkpoint::metrics
