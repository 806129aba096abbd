// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/backend.h"
#include "core/metrics/chunk_accumulator.h"
#include "core/metrics/chunk_walk.h"
#include "core/metrics/narrower.h"
#include "core/metrics/pair_statistics.h"
#include "core/metrics/percentiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <mutex>
#include <new>

// The driver: has a backend accumulate each chunk of the pair, in parallel, and combines the results in chunk order.
namespace forkpoint::metrics {
namespace {

/// Of one chunk, or of all: the pair, and the pair in the narrower type.
struct Partial {
    ChunkAccumulator sums, narrower;

    void combine(const Partial& next)
    {
        sums.combine(next.sums);
        narrower.combine(next.narrower);
    }
};

/// Combines partial results in chunk order as they come. Chunks begin in order, so that few have to wait.
class OrderedSum {
public:
    void add(std::size_t index, const Partial& partial)
    {
        const std::lock_guard lock(m_mutex);
        if (index != m_next) {
            m_waiting.emplace(index, partial);
            return;
        }
        m_total.combine(partial);
        ++m_next;
        for (auto first = m_waiting.begin(); first != m_waiting.end() && first->first == m_next; first = m_waiting.erase(first)) {
            m_total.combine(first->second);
            ++m_next;
        }
    }

    const Partial& total() const { return m_total; }

private:
    std::mutex m_mutex;
    std::size_t m_next = 0;
    std::map<std::size_t, Partial> m_waiting;
    Partial m_total;
};

/// What is done with the chunks of a pair.
struct Job {
    DType dtypeA, dtypeB;
    const MeasureOptions& options;
    const Backend& backend;
    std::optional<DType> narrower; ///< to compare in as well
};

NarrowerComparison narrowerComparison(PairStatistics of, DType dtype)
{
    return {dtype, of.finite, of.bitEqual, of.allcloseViolations, of.maxAbs, of.meanAbs, of.relL2, std::move(of.ulpHistogram)};
}

class Accumulating final : public ChunkWorker {
public:
    Accumulating(const Job& job, OrderedSum& sum)
        : m_job(job)
        , m_sum(sum)
    {
        if (job.narrower)
            m_narrowerHistograms.emplace();
    }

    Result<void> take(const ChunkView& chunk) override
    {
        Partial partial;
        auto done = m_job.backend.accumulate(chunk.a, m_job.dtypeA, chunk.b, m_job.dtypeB, chunk.mask, chunk.first, m_job.options,
                                             partial.sums, m_job.options.histograms ? &m_histograms : nullptr);
        if (done && m_job.narrower)
            done = takeNarrower(chunk, *m_job.narrower, partial.narrower);
        if (done)
            m_sum.add(chunk.index, partial);
        return done;
    }

    /// Adds what another one has counted: integers, which need no order.
    void combine(const Accumulating& other)
    {
        m_histograms.combine(other.m_histograms);
        if (m_job.narrower)
            m_narrowerHistograms->combine(*other.m_narrowerHistograms);
    }

    PairStatistics finishedPair() const
    {
        PairStatistics result = finished(m_sum.total().sums, m_histograms, m_job.dtypeA, m_job.dtypeB);
        if (const auto narrow = m_job.narrower)
            result.narrower = narrowerComparison(finished(m_sum.total().narrower, *m_narrowerHistograms, *narrow, *narrow), *narrow);
        return result;
    }

private:
    /// The chunk once more, with the wider side rounded.
    Result<void> takeNarrower(const ChunkView& chunk, DType narrow, ChunkAccumulator& into)
    {
        std::span<const std::byte> a = chunk.a, b = chunk.b;
        const bool roundA = m_job.dtypeA != narrow;
        const DType wide = roundA ? m_job.dtypeA : m_job.dtypeB;
        std::span<const std::byte>& bytes = roundA ? a : b;
        m_rounded.resize(bytes.size() / itemSize(wide) * itemSize(narrow));
        roundTo(wide, bytes, narrow, m_rounded);
        bytes = m_rounded;
        return m_job.backend.accumulate(a, narrow, b, narrow, chunk.mask, chunk.first, m_job.options, into,
                                        m_job.options.histograms ? &*m_narrowerHistograms : nullptr);
    }

    const Job& m_job;
    OrderedSum& m_sum;
    HistogramAccumulator m_histograms; ///< of all chunks taken
    std::optional<HistogramAccumulator> m_narrowerHistograms; ///< large: only where there is something to count
    std::vector<std::byte> m_rounded;
};

Result<PairStatistics> measurePair(const TensorSource& a, const TensorSource& b, const TensorSource* mask, const MeasureOptions& options,
                                   const std::stop_token& stop)
{
    const auto backend = chosenBackend();
    if (!backend)
        return tl::unexpected<Error>(backend.error());
    if (!(options.rtol >= 0) || !(options.atol >= 0))
        return fail(ErrorCode::Usage, fmt::format("tolerances must not be negative: rtol {}, atol {}", options.rtol, options.atol));
    const auto walk = ChunkWalk::over(a, b, mask);
    if (!walk)
        return tl::unexpected<Error>(walk.error());

    const Job job{a.dtype(), b.dtype(), options, **backend, options.narrower ? narrowerOf(a.dtype(), b.dtype()) : std::nullopt};
    OrderedSum sum;
    auto workers = walk->run(options.threads, stop, [&] { return std::make_unique<Accumulating>(job, sum); },
                                   job.backend.chunkBytes());
    if (!workers)
        return tl::unexpected<Error>(workers.error());
    auto& all = static_cast<Accumulating&>(*workers->front());
    for (std::size_t i = 1; i < workers->size(); ++i)
        all.combine(static_cast<const Accumulating&>(*(*workers)[i]));
    PairStatistics result = all.finishedPair();
    result.backend = job.backend.name();
    if (options.percentiles) {
        const auto percentiles = absolutePercentiles(*walk, options.threads, stop);
        if (!percentiles)
            return tl::unexpected<Error>(percentiles.error());
        result.percentiles = *percentiles;
    }
    return result;
}

Result<PairStatistics> measureGuarded(const TensorSource& a, const TensorSource& b, const TensorSource* mask, const MeasureOptions& options,
                                      const std::stop_token& stop)
{
    try {
        return measurePair(a, b, mask, options, stop);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::Unreadable, fmt::format("not enough memory to compare a pair of shape [{}]", fmt::join(a.shape(), ", ")));
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
