// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/backend.h"
#include "core/metrics/chunk_accumulator.h"
#include "core/metrics/narrower.h"
#include "core/metrics/pair_statistics.h"
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
#include <new>

// The driver: cuts the pair into chunks, has a backend accumulate each of them, in parallel, and combines the results in chunk order.
namespace forkpoint::metrics {
namespace {

constexpr std::size_t kChunkBytes = 1u << 20;

std::string described(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

/// A source that somebody else owns, for functions that want to share it. Not to be kept beyond the call.
TensorSourcePtr borrowed(const TensorSource& source) { return {TensorSourcePtr(), &source}; }

/// What one thread reads into while it works on one chunk, and the counts of all chunks it has worked on: integers, which need no order.
struct Buffers {
    ReadBuffer a, b, mask;
    std::vector<std::byte> rounded;
    HistogramAccumulator histograms, narrowerHistograms;
};

/// What is combined in chunk order: the pair, and the pair in the narrower type.
struct Partial {
    ChunkAccumulator sums, narrower;
};

/// Hands out buffers by chunk and not by thread: a thread that waits inside a source's read (for frames that oneTBB decodes) may be given
/// another chunk meanwhile, and must not overwrite what it has read for the first.
class BufferPool {
public:
    std::unique_ptr<Buffers> take()
    {
        const std::lock_guard lock(m_mutex);
        if (m_free.empty())
            return std::make_unique<Buffers>();
        std::unique_ptr<Buffers> buffers = std::move(m_free.back());
        m_free.pop_back();
        return buffers;
    }

    void giveBack(std::unique_ptr<Buffers> buffers)
    {
        const std::lock_guard lock(m_mutex);
        m_free.push_back(std::move(buffers));
    }

    const std::vector<std::unique_ptr<Buffers>>& all() const { return m_free; } ///< once all are back

private:
    std::mutex m_mutex;
    std::vector<std::unique_ptr<Buffers>> m_free;
};

struct Chunk {
    Box box;
    std::int64_t first;    ///< flat index
    std::int64_t elements;
};

Result<std::vector<Chunk>> chunksOf(const TensorSource& source, std::int64_t count)
{
    std::vector<Chunk> chunks;
    std::int64_t first = 0;
    for (Box& box : source.preferredChunks(kChunkBytes)) {
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

/// The sides, of equal shape, and what to do with them.
struct Job {
    const TensorSource& a;
    const TensorSource& b;
    const TensorSource* mask;
    const MeasureOptions& options;
    const Backend& backend;
    std::optional<DType> narrower; ///< to compare in as well

    Job(const TensorSource& sideA, const TensorSource& sideB, const TensorSource* sharedMask, const MeasureOptions& wanted, const Backend& by)
        : a(sideA)
        , b(sideB)
        , mask(sharedMask)
        , options(wanted)
        , backend(by)
        , narrower(wanted.narrower ? narrowerOf(sideA.dtype(), sideB.dtype()) : std::nullopt)
    {
    }
};

/// The chunk once more, with the wider side rounded.
void accumulateNarrower(const Job& job, std::span<const std::byte> a, std::span<const std::byte> b, std::span<const std::byte> mask,
                        std::int64_t first, Buffers& buffers, ChunkAccumulator& into)
{
    const DType narrow = *job.narrower;
    const bool roundA = job.a.dtype() != narrow;
    const DType wide = roundA ? job.a.dtype() : job.b.dtype();
    std::span<const std::byte>& bytes = roundA ? a : b;
    buffers.rounded.resize(bytes.size() / itemSize(wide) * itemSize(narrow));
    roundTo(wide, bytes, narrow, buffers.rounded);
    bytes = buffers.rounded;
    job.backend.accumulate(a, narrow, b, narrow, mask, first, job.options, into,
                           job.options.histograms ? &buffers.narrowerHistograms : nullptr);
}

Result<void> accumulateChunk(const Job& job, const Chunk& chunk, Buffers& buffers, Partial& into)
{
    const auto a = readChunk(job.a, chunk, buffers.a);
    if (!a)
        return tl::unexpected<Error>(a.error());
    const auto b = readChunk(job.b, chunk, buffers.b);
    if (!b)
        return tl::unexpected<Error>(b.error());
    std::span<const std::byte> mask;
    if (job.mask != nullptr) {
        const auto read = readChunk(*job.mask, chunk, buffers.mask);
        if (!read)
            return tl::unexpected<Error>(read.error());
        mask = *read;
    }
    job.backend.accumulate(*a, job.a.dtype(), *b, job.b.dtype(), mask, chunk.first, job.options, into.sums,
                           job.options.histograms ? &buffers.histograms : nullptr);
    if (job.narrower)
        accumulateNarrower(job, *a, *b, mask, chunk.first, buffers, into.narrower);
    return {};
}

/// Accumulates every chunk. Of several failures the one of the first chunk is returned, so that errors repeat too.
Result<std::vector<Partial>> accumulateAll(const Job& job, const std::vector<Chunk>& chunks, BufferPool& pool, const std::stop_token& stop)
{
    std::vector<Partial> partials(chunks.size());
    std::vector<Error> errors;
    std::mutex errorMutex;
    std::atomic<std::size_t> firstFailure = chunks.size();

    const auto work = [&](std::size_t index) {
        if (stop.stop_requested() || index > firstFailure.load())
            return;
        std::unique_ptr<Buffers> buffers = pool.take();
        const Result<void> done = accumulateChunk(job, chunks[index], *buffers, partials[index]);
        pool.giveBack(std::move(buffers));
        if (!done) {
            const std::lock_guard lock(errorMutex);
            if (index < firstFailure.load()) {
                firstFailure = index;
                errors.assign(1, done.error());
            }
        }
    };
    const auto all = [&] {
        using Range = oneapi::tbb::blocked_range<std::size_t>;
        oneapi::tbb::parallel_for(
            Range(0, chunks.size(), 1),
            [&](const Range& range) {
                for (std::size_t index = range.begin(); index != range.end(); ++index)
                    work(index);
            },
            oneapi::tbb::simple_partitioner());
    };

    // Asking oneTBB for more threads than it may have makes it print a warning.
    using oneapi::tbb::global_control;
    const auto available = static_cast<int>(global_control::active_value(global_control::max_allowed_parallelism));
    const int threads = std::min(job.options.threads, available);
    if (chunks.size() <= 1 || threads == 1) {
        for (std::size_t index = 0; index < chunks.size(); ++index)
            work(index);
    } else if (threads > 1) {
        oneapi::tbb::task_arena arena(threads);
        arena.execute(all);
    } else {
        all();
    }
    if (stop.stop_requested())
        return fail(ErrorCode::Cancelled, "the comparison was cancelled");
    if (!errors.empty())
        return tl::unexpected<Error>(errors.front());
    return partials;
}

NarrowerComparison narrowerComparison(PairStatistics of, DType dtype)
{
    return {dtype, of.finite, of.bitEqual, of.allcloseViolations, of.maxAbs, of.meanAbs, of.relL2, std::move(of.ulpHistogram)};
}

Result<PairStatistics> measureEqualShapes(const Job& job, std::int64_t count, const std::stop_token& stop)
{
    const auto chunks = chunksOf(job.a, count);
    if (!chunks)
        return tl::unexpected<Error>(chunks.error());
    BufferPool pool;
    const auto partials = accumulateAll(job, *chunks, pool, stop);
    if (!partials)
        return tl::unexpected<Error>(partials.error());
    Partial total;
    for (const Partial& partial : *partials) {
        total.sums.combine(partial.sums);
        total.narrower.combine(partial.narrower);
    }
    HistogramAccumulator histograms, narrowerHistograms;
    for (const std::unique_ptr<Buffers>& buffers : pool.all()) {
        histograms.combine(buffers->histograms);
        narrowerHistograms.combine(buffers->narrowerHistograms);
    }
    PairStatistics result = finished(total.sums, histograms, job.a.dtype(), job.b.dtype());
    if (job.narrower)
        result.narrower = narrowerComparison(finished(total.narrower, narrowerHistograms, *job.narrower, *job.narrower), *job.narrower);
    result.backend = job.backend.name();
    return result;
}

Result<PairStatistics> measurePair(const TensorSource& a, const TensorSource& b, const TensorSource* mask, const MeasureOptions& options,
                                   const std::stop_token& stop)
{
    const auto backend = chosenBackend();
    if (!backend)
        return tl::unexpected<Error>(backend.error());
    if (!(options.rtol >= 0) || !(options.atol >= 0))
        return fail(ErrorCode::Usage, fmt::format("tolerances must not be negative: rtol {}, atol {}", options.rtol, options.atol));
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

    if (a.shape() == b.shape())
        return measureEqualShapes(Job(a, b, mask, options, **backend), *count, stop);
    const auto reshaped = reshapedSource(borrowed(b), a.shape());
    if (!reshaped)
        return tl::unexpected<Error>(reshaped.error());
    return measureEqualShapes(Job(a, **reshaped, mask, options, **backend), *count, stop);
}

Result<PairStatistics> measureGuarded(const TensorSource& a, const TensorSource& b, const TensorSource* mask, const MeasureOptions& options,
                                      const std::stop_token& stop)
{
    try {
        return measurePair(a, b, mask, options, stop);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::Unreadable, "not enough memory to compare a pair of shape " + described(a.shape()));
    }
}

} // namespace

Result<PairStatistics> measure(const TensorSource& a, const TensorSource& b, const MeasureOptions& options, std::stop_token stop)
{
    return measureGuarded(a, b, nullptr, options, stop);
}

Result<PairStatistics> measureMasked(const TensorSource& a, const TensorSource& b, const TensorSource& mask, const MeasureOptions& options,
                                     std::stop_token stop)
{
    return measureGuarded(a, b, &mask, options, stop);
}

} // namespace forkpoint::metrics
