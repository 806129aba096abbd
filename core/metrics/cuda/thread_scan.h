// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/accumulate.h"
#include "core/metrics/cuda/packet.h"
#include "core/metrics/histogram.h"

// What one thread does: every 256th packet of a tile, 256 numbers at most, to one ChunkAccumulator.
//
// The first look at the numbers serves nearly all of them: counters, extrema, histograms, and sums as they come, which are exact to rounding
// for finite pairs of ordinary size. Where that is not enough, the thread looks again, which costs little since its numbers are in a cache:
// for what is not finite, for numbers whose squares leave double's range, and for the residual of the line d = slope * a where it cancels.
//
// Products are added with std::fma, by name: it has one answer everywhere, and an instruction less.
#if defined(__CUDA_ARCH__)
#define FORKPOINT_UNROLL _Pragma("unroll")
#define FORKPOINT_NO_UNROLL _Pragma("unroll 1")
#else
#define FORKPOINT_UNROLL
#define FORKPOINT_NO_UNROLL
#endif

namespace forkpoint::metrics::cuda {

inline constexpr int kThreads = 256;
inline constexpr std::uint64_t kTileParts = FORKPOINT_CUDA_TILE_PARTS;

/// Places of the histograms one after the other, as they lie in HistogramAccumulator.
inline constexpr int kZeroPlace = 0, kAbsolutePlace = 1, kRelativePlace = kAbsolutePlace + kAbsoluteBins;
inline constexpr int kUlpPlace = kRelativePlace + kRelativeBins, kPlaces = kUlpPlace + kUlpBins;
static_assert(sizeof(HistogramAccumulator) == kPlaces * sizeof(std::int64_t));

/// Changes with the layout of what crosses the border, so that a module of another build is not believed.
inline constexpr std::uint32_t kLayout = sizeof(ChunkAccumulator) * 1000003u + sizeof(HistogramAccumulator) * 1009u
                                         + sizeof(Segment) * 31u + static_cast<std::uint32_t>(kTileParts);

/// Sums over pairs, all of ordinary size.
struct PairSums {
    double aa = 0, bb = 0, ab = 0, ad = 0, dd = 0, d = 0, absD = 0, aadd = 0;
    double pivotA = 0, pivotB = 0;                   ///< the first pair: numbers inside the data bound the cancellation in moments
    double sumA = 0, squaresA = 0, sumB = 0, squaresB = 0; ///< around the pivots

    FORKPOINT_HD void add(double a, double b, double difference)
    {
        aa = std::fma(a, a, aa);
        bb = std::fma(b, b, bb);
        ab = std::fma(a, b, ab);
        ad = std::fma(a, difference, ad);
        dd = std::fma(difference, difference, dd);
        d += difference;
        absD += std::fabs(difference);
        const double product = a * difference;
        aadd = std::fma(product, product, aadd);
        const double fromA = a - pivotA;
        sumA += fromA;
        squaresA = std::fma(fromA, fromA, squaresA);
        const double fromB = b - pivotB;
        sumB += fromB;
        squaresB = std::fma(fromB, fromB, squaresB);
    }
};

/// Of n numbers.
FORKPOINT_HD_RARE inline Moments momentsOf(int n, double pivot, double sum, double squares)
{
    const double deviation = squares - sum * (sum / n);
    return {n, wide(pivot + sum / n), wide(deviation > 0 ? deviation : 0)};
}

/// With the numbers at place `at` of the tile that begins with number `first`.
template <class Kind>
FORKPOINT_HD_RARE ExtremumAccumulator extremumAt(const std::byte* buffer, const Segment& segment, std::uint64_t first, double value, int at)
{
    const auto packet = Kind::packet(buffer, segment, (first + static_cast<unsigned>(at)) / Kind::kNumbers);
    const int i = at % Kind::kNumbers;
    const std::int64_t part = segment.first_part + static_cast<std::int64_t>(first) + at;
    return {value, part / segment.parts_per_element, static_cast<double>(packet.a(i)), static_cast<double>(packet.b(i))};
}

template <class Kind>
class ThreadScan {
public:
    using Work = typename Kind::Work;
    using Packet = typename Kind::Packet;
    static constexpr bool kMayBeFar = std::is_same_v<Work, double>; ///< no other type leaves the range
    static constexpr bool kMayBeSpecial = !std::is_same_v<Work, std::int64_t>;

    /// `segment.first_tile` aside, tile number `tile` of the segment.
    FORKPOINT_HD ThreadScan(const std::byte* buffer, const Segment& segment, std::uint64_t tile, int thread)
        : m_buffer(buffer)
        , m_segment(segment)
        , m_first(tile * kTileParts)
        , m_parts(static_cast<int>(segment.parts - m_first < kTileParts ? segment.parts - m_first : kTileParts))
        , m_thread(thread)
    {
    }

    /// count(place): one more in a histogram.
    template <class Count>
    FORKPOINT_HD ChunkAccumulator run(const Count& count)
    {
        const bool histograms = m_segment.histograms != 0;
        each([&](const Packet& packet, int i, int at) { take(packet, i, at, histograms, count); });
        ChunkAccumulator result;
        FORKPOINT_NO_UNROLL
        for (int look = 0; look < kLooks; ++look) {
            if (mustLook(static_cast<Look>(look)))
                lookAgain(static_cast<Look>(look), result);
        }
        if (m_finite > 0)
            finish(result);
        result.count = m_count;
        result.finite = m_finite;
        result.bitEqual += m_bitEqual;
        result.a.low13Clear = m_narrowA.low13Clear;
        result.a.bfloat16Exact = m_narrowA.bfloat16Exact;
        result.a.float16Exact = m_narrowA.float16Exact;
        result.b.low13Clear = m_narrowB.low13Clear;
        result.b.bfloat16Exact = m_narrowB.bfloat16Exact;
        result.b.float16Exact = m_narrowB.float16Exact;
        return result;
    }

    FORKPOINT_HD int zeros() const { return m_equal; } ///< pairs with d = 0

private:
    enum class Look { Far, Residual, Special };
    static constexpr int kLooks = 3;

    /// use(packet, i, at) for every number of this thread that the mask keeps; `at`: its place in the tile. The next packet is on its way
    /// while one is worked on.
    template <class Use>
    FORKPOINT_HD void each(const Use& use) const
    {
        constexpr int kNumbers = Kind::kNumbers;
        const int packets = (m_parts + kNumbers - 1) / kNumbers;
        if (m_thread >= packets)
            return;
        const std::uint64_t first = m_first / kNumbers;
        const std::byte* const mask = m_segment.mask != 0 ? m_buffer + m_segment.mask : nullptr;
        Packet next = Kind::packet(m_buffer, m_segment, first + static_cast<unsigned>(m_thread));
        for (int at = m_thread; at < packets; at += kThreads) {
            const Packet packet = next;
            if (at + kThreads < packets)
                next = Kind::packet(m_buffer, m_segment, first + static_cast<unsigned>(at + kThreads));
            FORKPOINT_UNROLL
            for (int i = 0; i < kNumbers; ++i) {
                const int place = at * kNumbers + i;
                if (place < m_parts && (mask == nullptr || mask[maskPlace(place)] != std::byte{0}))
                    use(packet, i, place);
            }
        }
    }

    FORKPOINT_HD std::uint64_t maskPlace(int place) const
    {
        return (m_first + static_cast<unsigned>(place)) >> (m_segment.parts_per_element - 1);
    }

    FORKPOINT_HD static bool isFinitePair(Work a, Work b)
    {
        if constexpr (std::is_same_v<Work, float>)
            return std::fabs(a) <= FLT_MAX && std::fabs(b) <= FLT_MAX;
        else if constexpr (kMayBeSpecial)
            return isFiniteValue(a) && isFiniteValue(b);
        else
            return true;
    }

    FORKPOINT_HD bool sideIsFloat32A() const
    {
        if constexpr (Kind::kOneType)
            return Kind::kFloat32A;
        else
            return m_segment.dtype_a == static_cast<std::uint8_t>(DType::Float32);
    }
    FORKPOINT_HD bool sideIsFloat32B() const
    {
        if constexpr (Kind::kOneType)
            return Kind::kFloat32B;
        else
            return m_segment.dtype_b == static_cast<std::uint8_t>(DType::Float32);
    }

    FORKPOINT_HD void noteNarrow(Work a, Work b)
    {
        if constexpr (!std::is_same_v<Work, std::int64_t>) {
            if (sideIsFloat32A())
                noteNarrowness(bitsOf<std::uint32_t>(static_cast<float>(a)), m_narrowA);
            if (sideIsFloat32B())
                noteNarrowness(bitsOf<std::uint32_t>(static_cast<float>(b)), m_narrowB);
        }
    }

    template <class Count>
    FORKPOINT_HD void take(const Packet& packet, int i, int at, bool histograms, const Count& count)
    {
        const Work workA = packet.a(i), workB = packet.b(i);
        ++m_count;
        if constexpr (Kind::kOneType)
            m_bitEqual += packet.sameBits(i);
        noteNarrow(workA, workB);
        if (!isFinitePair(workA, workB))
            return;
        const double d = difference(workA, workB);
        const auto a = static_cast<double>(workA), b = static_cast<double>(workB);
        if (m_finite == 0) {
            m_absAt = m_relAt = at;
            m_minA = m_maxA = workA;
            m_minB = m_maxB = workB;
            m_sums.pivotA = a;
            m_sums.pivotB = b;
        }
        ++m_finite;
        m_zerosA += workA == 0;
        m_zerosB += workB == 0;
        m_mismatches += (workA == 0) != (workB == 0);
        m_equal += d == 0;
        m_violations += violatesTolerance(a, d, m_segment.rtol, m_segment.atol);
        m_minA = workA < m_minA ? workA : m_minA;
        m_maxA = workA > m_maxA ? workA : m_maxA;
        m_minB = workB < m_minB ? workB : m_minB;
        m_maxB = workB > m_maxB ? workB : m_maxB;
        if (std::fabs(d) > m_largestD) // overflowed ones are equal: the first of them stays
            takeLargest(d, at);
        if (mayExceedRelative(m_maxRel, a, b, d)) {
            const double relative = relativeError(a, b, d);
            if (relative > m_maxRel) {
                m_maxRel = relative;
                m_relAt = at;
            }
        }
        m_sums.add(a, b, d);
        if (histograms && d != 0) {
            count(kAbsolutePlace + absoluteBin(absoluteError(d)));
            count(kRelativePlace + relativeBinOf(a, b, d));
            count(kUlpPlace + ulpBin(packet.distance(i)));
        }
    }

    FORKPOINT_HD void takeLargest(double d, int at)
    {
        const double size = std::fabs(d);
        // What overflowed is reported as double's largest number, which another pair before it may have.
        if (absoluteError(size) > m_largestD)
            m_absAt = at;
        m_largestD = size;
    }

    FORKPOINT_HD static double larger(double x, double y) { return x > y ? x : y; }

    FORKPOINT_HD double largestA() const { return larger(-static_cast<double>(m_minA), static_cast<double>(m_maxA)); }
    FORKPOINT_HD double largestB() const { return larger(-static_cast<double>(m_minB), static_cast<double>(m_maxB)); }

    /// Whether a further look is needed, which is then prepared.
    FORKPOINT_HD bool mustLook(Look look)
    {
        if (look == Look::Special)
            return kMayBeSpecial && m_count != m_finite;
        if (m_finite == 0)
            return false;
        if (look == Look::Far) {
            if constexpr (kMayBeFar)
                m_far = isFar(largestA(), kLowestValue) || isFar(largestB(), kLowestValue) || isFar(m_largestD, kLowestDifference);
            return m_far;
        }
        if (m_far)
            return false;
        m_slope = m_sums.aa > 0 ? m_sums.ad / m_sums.aa : 0;
        m_residual = m_sums.dd - m_slope * m_sums.ad;
        if (!(m_residual < m_sums.dd / 16))
            return false;
        m_residual = 0; // digits were lost
        return true;
    }

    /// Sums, extrema and counters of the finite pairs, of which there are some. The sides may hold numbers without a finite partner already.
    FORKPOINT_HD void finish(ChunkAccumulator& into)
    {
        finishSide(static_cast<double>(m_minA), static_cast<double>(m_maxA), m_zerosA, into.a);
        finishSide(static_cast<double>(m_minB), static_cast<double>(m_maxB), m_zerosB, into.b);
        into.zeroMismatch = m_mismatches;
        into.allcloseViolations += m_violations;
        if (!Kind::kOneType)
            m_bitEqual += m_equal;
        into.largest = larger(largestA(), largestB());
        into.maxAbs = extremumAt<Kind>(m_buffer, m_segment, m_first, absoluteError(m_largestD), m_absAt);
        into.maxRel = extremumAt<Kind>(m_buffer, m_segment, m_first, m_maxRel, m_relAt);
        if (m_far)
            return;
        into.aa = wide(m_sums.aa);
        into.bb = wide(m_sums.bb);
        into.ab = wide(m_sums.ab);
        into.ad = wide(m_sums.ad);
        into.dd = wide(m_sums.dd);
        into.d = wide(m_sums.d);
        into.absD = wide(m_sums.absD);
        into.aadd = wide(m_sums.aadd);
        into.fit = {into.aa, wide(m_slope), wide(m_residual)};
        into.a.moments.combine(momentsOf(m_finite, m_sums.pivotA, m_sums.sumA, m_sums.squaresA));
        into.b.moments.combine(momentsOf(m_finite, m_sums.pivotB, m_sums.sumB, m_sums.squaresB));
    }

    FORKPOINT_HD static void finishSide(double min, double max, int zeros, SideAccumulator& side)
    {
        side.min = min < side.min ? min : side.min;
        side.max = max > side.max ? max : side.max;
        side.zeros += zeros;
    }

    FORKPOINT_HD void lookAgain(Look look, ChunkAccumulator& into)
    {
        each([&](const Packet& packet, int i, int) {
            const Work workA = packet.a(i), workB = packet.b(i);
            const auto a = static_cast<double>(workA), b = static_cast<double>(workB);
            if (isFinitePair(workA, workB)) {
                if (look == Look::Special)
                    return;
                const double d = difference(workA, workB);
                if (look == Look::Far) {
                    addFarPair(a, b, d, into);
                } else {
                    const double rest = d - m_slope * a;
                    m_residual = std::fma(rest, rest, m_residual);
                }
            } else if (look == Look::Special) {
                countSpecialPair(a, b, Kind::kOneType, into);
                if (isFiniteValue(a))
                    addAlone(a, into.a);
                if (isFiniteValue(b))
                    addAlone(b, into.b);
            }
        });
    }

    const std::byte* m_buffer;
    const Segment& m_segment;
    std::uint64_t m_first; ///< number of the tile's first pair
    int m_parts, m_thread;

    int m_count = 0, m_finite = 0, m_bitEqual = 0, m_zerosA = 0, m_zerosB = 0, m_mismatches = 0, m_equal = 0, m_violations = 0;
    int m_absAt = 0, m_relAt = 0;
    Work m_minA{}, m_maxA{}, m_minB{}, m_maxB{};
    double m_largestD = 0, m_maxRel = 0;
    SideAccumulator m_narrowA, m_narrowB; ///< only which narrower types hold it
    PairSums m_sums;
    bool m_far = false;
    double m_slope = 0, m_residual = 0;
};

} // namespace forkpoint::metrics::cuda
