// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/chunk_walk.h"

#include "core/tensor/composed_sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace forkpoint::metrics {
namespace {

std::string described(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

/// A source that somebody else owns, for functions that want to share it. Not to be kept beyond the call.
TensorSourcePtr borrowed(const TensorSource& source) { return {TensorSourcePtr(), &source}; }

struct Chunk {
    Box box;
    std::int64_t first;    ///< flat index
    std::int64_t elements;
};

Result<std::vector<Chunk>> chunksOf(const TensorSource& source, std::int64_t count, std::size_t chunkBytes)
{
    std::vector<Chunk> chunks;
    std::int64_t first = 0;
    for (Box& box : source.preferredChunks(chunkBytes)) {
        const std::int64_t elements = box.elements();
        chunks.push_back({std::move(box), first, elements});
        first += elements;
    }
    if (first != count)
        return fail(ErrorCode::Corrupt, fmt::format("the chunks of a tensor of {} elements hold {}", count, first));
    return chunks;
}

Result<std::span<const std::byte>> readChunk(const TensorSource& source, const Chunk& chunk, ReadBuffer& buffer)
{
    Result<std::span<const std::byte>> bytes = source.read(chunk.box, buffer);
    const std::size_t expected = static_cast<std::size_t>(chunk.elements) * itemSize(source.dtype());
    if (bytes && bytes->size() != expected)
        return fail(ErrorCode::Corrupt, fmt::format("a read of {} bytes gave {}", expected, bytes->size()));
    return bytes;
}

struct Buffers {
    ReadBuffer a, b, mask;
    std::size_t capacity() const { return a.capacity() + b.capacity() + mask.capacity(); }
};

/// Buffers wait here for the next pair: memory that is new to the process costs as much as reading into it.
class BufferPool {
public:
    BufferPool() { m_free.reserve(kMost); } // giving back happens in destructors and must not fail

    static BufferPool& shared()
    {
        static BufferPool pool;
        return pool;
    }

    std::unique_ptr<Buffers> take()
    {
        const std::lock_guard lock(m_mutex);
        if (m_free.empty())
            return std::make_unique<Buffers>();
        auto buffers = std::move(m_free.back());
        m_free.pop_back();
        return buffers;
    }

    void giveBack(std::unique_ptr<Buffers> buffers)
    {
        if (buffers->capacity() > kLargest)
            return;
        const std::lock_guard lock(m_mutex);
        if (m_free.size() < kMost)
            m_free.push_back(std::move(buffers));
    }

private:
    static constexpr std::size_t kMost = 64, kLargest = std::size_t{16} << 20; // what is larger is rare
    std::mutex m_mutex;
    std::vector<std::unique_ptr<Buffers>> m_free;
};

/// What is needed to work on one chunk.
struct Desk {
    explicit Desk(std::unique_ptr<ChunkWorker> itsWorker)
        : buffers(BufferPool::shared().take())
        , worker(std::move(itsWorker))
    {
    }
    Desk(const Desk&) = delete;
    Desk& operator=(const Desk&) = delete;
    ~Desk() { BufferPool::shared().giveBack(std::move(buffers)); }

    std::unique_ptr<Buffers> buffers;
    std::unique_ptr<ChunkWorker> worker;
};

/// Desks are handed out by chunk.
class DeskPool {
public:
    explicit DeskPool(const std::function<std::unique_ptr<ChunkWorker>()>& makeWorker)
        : m_makeWorker(makeWorker)
    {
        m_free.push_back(std::make_unique<Desk>(m_makeWorker()));
    }

    std::unique_ptr<Desk> take()
    {
        const std::lock_guard lock(m_mutex);
        if (m_free.empty())
            return std::make_unique<Desk>(m_makeWorker());
        std::unique_ptr<Desk> desk = std::move(m_free.back());
        m_free.pop_back();
        return desk;
    }

    void giveBack(std::unique_ptr<Desk> desk)
    {
        const std::lock_guard lock(m_mutex);
        m_free.push_back(std::move(desk));
    }

    /// Once all are back.
    std::vector<std::unique_ptr<ChunkWorker>> workers()
    {
        std::vector<std::unique_ptr<ChunkWorker>> all;
        for (const std::unique_ptr<Desk>& desk : m_free)
            all.push_back(std::move(desk->worker));
        return all;
    }

private:
    const std::function<std::unique_ptr<ChunkWorker>()>& m_makeWorker;
    std::mutex m_mutex;
    std::vector<std::unique_ptr<Desk>> m_free;
};

/// Calls work() `times` times, on at most `threads` threads; 0: as many as oneTBB gives.
template <class Work>
void inParallel(std::size_t times, int threads, const Work& work)
{
    // Asking oneTBB for more threads than it may have makes it print a warning.
    using oneapi::tbb::global_control;
    const auto available = static_cast<int>(global_control::active_value(global_control::max_allowed_parallelism));
    const int wanted = std::min(threads, available);
    if (times <= 1 || wanted == 1) {
        for (std::size_t i = 0; i < times; ++i)
            work();
        return;
    }
    const auto all = [&] {
        using Range = oneapi::tbb::blocked_range<std::size_t>;
        oneapi::tbb::parallel_for(
            Range(0, times, 1),
            [&](const Range& range) {
                for (std::size_t i = range.begin(); i != range.end(); ++i)
                    work();
            },
            oneapi::tbb::simple_partitioner());
    };
    if (wanted > 1) {
        oneapi::tbb::task_arena arena(wanted);
        arena.execute(all);
    } else {
        all();
    }
}

} // namespace

Result<ChunkWalk> ChunkWalk::over(const TensorSource& a, const TensorSource& b, const TensorSource* mask)
{
    const auto count = elementCount(a.shape());
    const auto countB = elementCount(b.shape());
    if (!count || !countB || *count != *countB)
        return fail(ErrorCode::Usage, fmt::format("cannot compare shape {} with shape {}: they differ in the number of elements",
                                                  described(a.shape()), described(b.shape())));
    if (isComplex(a.dtype()) != isComplex(b.dtype()))
        return fail(ErrorCode::Usage,
                    fmt::format("cannot compare {} with {}: only one of them is complex", name(a.dtype()), name(b.dtype())));
    if (mask != nullptr && mask->shape() != a.shape())
        return fail(ErrorCode::Usage,
                    fmt::format("the mask has shape {} and the tensor {}", described(mask->shape()), described(a.shape())));
    if (mask != nullptr && mask->dtype() != DType::Bool && mask->dtype() != DType::UInt8)
        return fail(ErrorCode::Usage, fmt::format("a mask must be bool or uint8, not {}", name(mask->dtype())));

    ChunkWalk walk;
    walk.m_a = &a;
    walk.m_b = &b;
    walk.m_mask = mask;
    walk.m_count = *count;
    if (a.shape() != b.shape()) {
        auto reshaped = reshapedSource(borrowed(b), a.shape());
        if (!reshaped)
            return tl::unexpected<Error>(reshaped.error());
        walk.m_reshaped = std::move(*reshaped);
    }
    return walk;
}

Result<std::vector<std::unique_ptr<ChunkWorker>>> ChunkWalk::run(int threads, const std::stop_token& stop,
                                                                 const std::function<std::unique_ptr<ChunkWorker>()>& makeWorker,
                                                                 std::size_t chunkBytes) const
{
    const auto chunks = chunksOf(a(), m_count, chunkBytes);
    if (!chunks)
        return tl::unexpected<Error>(chunks.error());
    DeskPool pool(makeWorker);
    // Neighbouring chunks share a frame of the source where rows do not fill it, and a desk keeps the frame it opened last: so in runs.
    const std::size_t runLength = std::clamp<std::size_t>(chunks->size() / 64, 1, 8);
    std::atomic<std::size_t> next = 0;
    std::atomic<std::size_t> firstFailure = chunks->size();
    std::vector<Error> errors;
    std::mutex errorMutex;

    const auto work = [&](std::size_t index, Desk& desk) -> Result<void> {
        const Chunk& chunk = (*chunks)[index];
        const auto bytesA = readChunk(a(), chunk, desk.buffers->a);
        if (!bytesA)
            return tl::unexpected<Error>(bytesA.error());
        const auto bytesB = readChunk(b(), chunk, desk.buffers->b);
        if (!bytesB)
            return tl::unexpected<Error>(bytesB.error());
        std::span<const std::byte> mask;
        if (m_mask != nullptr) {
            const auto read = readChunk(*m_mask, chunk, desk.buffers->mask);
            if (!read)
                return tl::unexpected<Error>(read.error());
            mask = *read;
        }
        return desk.worker->take({index, chunk.first, *bytesA, *bytesB, mask});
    };
    inParallel((chunks->size() + runLength - 1) / runLength, threads, [&] {
        const std::size_t first = runLength * next++; // in order, whatever part of the range oneTBB gives to this thread
        std::unique_ptr<Desk> desk = pool.take();
        for (std::size_t index = first; index < std::min(first + runLength, chunks->size()); ++index) {
            if (stop.stop_requested() || index > firstFailure.load())
                break;
            const Result<void> done = work(index, *desk);
            if (done)
                continue;
            const std::lock_guard lock(errorMutex);
            if (index < firstFailure.load()) {
                firstFailure = index;
                errors.assign(1, done.error());
            }
        }
        pool.giveBack(std::move(desk));
    });
    if (stop.stop_requested())
        return fail(ErrorCode::Cancelled, "the comparison was cancelled");
    if (!errors.empty())
        return tl::unexpected<Error>(errors.front());
    return pool.workers();
}

} // namespace forkpoint::metrics
