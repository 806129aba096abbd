// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/scalar_backend.h"

#include "core/metrics/accumulate.h"
#include "core/metrics/decode.h"
#include "core/metrics/ulp.h"

#include <array>

// A chunk is walked in blocks of 256 numbers that stay in the first-level cache. Each block goes through the same steps:
//
//   1. decode: both sides to float, double or int64 (masked numbers dropped), bit-equal ones counted;
//   2. if anything is not finite: those pairs are counted and taken out, so that the steps below see finite pairs only;
//   3. difference: a, b and d as double, from the arithmetic the types call for;
//   4. counters and extrema, one number after the other, since ties go to the first;
//   5. sums, each in 8 lanes (number i in lane i mod 8) that are folded in halves, which is the order a vector unit would take.
//   6. histograms, if asked for.
//
// Types are dispatched per block, so the inner loops know theirs. In a block of float64 numbers whose squares might leave double's range,
// step 5 goes from one number to the next with sums that carry their own exponent (wide.h).
namespace forkpoint::metrics {
namespace {

constexpr int kBlock = 256;
constexpr int kLanes = 8;
static_assert(kBlock % kLanes == 0);

template <class Bits>
int countEqualBits(const std::byte* a, const std::byte* b, int n, const bool* keep)
{
    int equal = 0;
    for (int i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        equal += (keep == nullptr || keep[i]) && load<Bits>(a, at) == load<Bits>(b, at);
    }
    return equal;
}

int countEqualBits(std::size_t size, const std::byte* a, const std::byte* b, int n, const bool* keep)
{
    switch (size) {
    case 8:
        return countEqualBits<std::uint64_t>(a, b, n, keep);
    case 4:
        return countEqualBits<std::uint32_t>(a, b, n, keep);
    case 2:
        return countEqualBits<std::uint16_t>(a, b, n, keep);
    default:
        return countEqualBits<std::uint8_t>(a, b, n, keep);
    }
}

/// Which narrower types hold a float32 side.
void noteNarrowness(const std::byte* bytes, int n, const bool* keep, SideAccumulator& side)
{
    for (int i = 0; side.low13Clear && i < n; ++i) {
        if (keep == nullptr || keep[i])
            noteNarrowness(load<std::uint32_t>(bytes, static_cast<std::size_t>(i)), side);
    }
}

/// Sum of term(0) to term(n - 1). Lanes are variables and not an array, which the compiler would keep in memory.
template <class Term>
double laneSum(int n, Term term)
{
    double lane0 = 0, lane1 = 0, lane2 = 0, lane3 = 0, lane4 = 0, lane5 = 0, lane6 = 0, lane7 = 0;
    int i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        lane0 += term(i);
        lane1 += term(i + 1);
        lane2 += term(i + 2);
        lane3 += term(i + 3);
        lane4 += term(i + 4);
        lane5 += term(i + 5);
        lane6 += term(i + 6);
        lane7 += term(i + 7);
    }
    std::array<double, kLanes> lanes{lane0, lane1, lane2, lane3, lane4, lane5, lane6, lane7};
    for (std::size_t lane = 0; i < n; ++i, ++lane)
        lanes[lane] += term(i);
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane)
            lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
}

/// Around the first of them: a pivot inside the data bounds the cancellation by the block's length.
Moments momentsOf(const double* x, int n)
{
    const double pivot = x[0];
    const double count = n;
    const double sum = laneSum(n, [=](int i) { return x[i] - pivot; });
    const double squares = laneSum(n, [=](int i) { return (x[i] - pivot) * (x[i] - pivot); });
    const double deviation = squares - sum * (sum / count);
    return {n, wide(pivot + sum / count), wide(deviation > 0 ? deviation : 0)};
}

/// Finite numbers of one side whose partner is not finite.
struct AloneBlock {
    std::array<double, kBlock> x;
    int n = 0;

    void addTo(SideAccumulator& side) const
    {
        if (n == 0)
            return;
        SideAccumulator block, far;
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
            block.zeros += x[i] == 0;
            block.min = x[i] < block.min ? x[i] : block.min;
            block.max = x[i] > block.max ? x[i] : block.max;
        }
        if (isFar(std::fmax(-block.min, block.max), kLowestValue)) {
            for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
                addAlone(x[i], far);
            side.combine(far);
            return;
        }
        const double* values = x.data();
        block.moments = momentsOf(values, n);
        block.aloneSquares = wide(laneSum(n, [=](int i) { return values[i] * values[i]; }));
        side.combine(block);
    }
};

/// The pairs of one block. `at` is each pair's place in the block, once pairs have been taken out.
class Block {
public:
    Block(DType dtypeA, DType dtypeB, const MeasureOptions& options, ChunkAccumulator& into, HistogramAccumulator* histograms)
        : m_dtypeA(dtypeA)
        , m_dtypeB(dtypeB)
        , m_arithmetic(arithmeticOf(dtypeA, dtypeB))
        , m_parts(partsOf(dtypeA))
        , m_options(options)
        , m_into(into)
        , m_histograms(histograms)
    {
    }

    /// `n` pairs from `a` and `b` on, the first of them number `first` of the tensor; `keep`, if any, says which of them count.
    void add(const std::byte* a, const std::byte* b, int n, std::int64_t first, const bool* keep)
    {
        if (m_dtypeA == m_dtypeB)
            m_into.bitEqual += countEqualBits(partSize(m_dtypeA), a, b, n, keep);
        if (m_dtypeA == DType::Float32)
            noteNarrowness(a, n, keep, m_into.a);
        if (m_dtypeB == DType::Float32)
            noteNarrowness(b, n, keep, m_into.b);
        switch (m_arithmetic) {
        case Arithmetic::Single:
            take(m_floatA.data(), m_floatB.data(), a, b, n, keep);
            break;
        case Arithmetic::Double:
            take(m_a.data(), m_b.data(), a, b, n, keep);
            break;
        case Arithmetic::Integer:
            take(m_intA.data(), m_intB.data(), a, b, n, keep);
            break;
        }
        if (m_n == 0)
            return;
        countAndFindExtrema(first);
        if (m_histograms != nullptr)
            countInHistograms(a, b, *m_histograms);
        sum();
    }

private:
    template <class Work>
    void take(Work* workA, Work* workB, const std::byte* a, const std::byte* b, int n, const bool* keep)
    {
        decode(m_dtypeA, a, n, workA);
        decode(m_dtypeB, b, n, workB);
        m_n = n;
        m_gaps = false;
        if (keep != nullptr) {
            m_n = 0;
            m_gaps = true;
            for (int i = 0; i < n; ++i) {
                if (keep[i])
                    move(workA, workB, i);
            }
        }
        m_into.count += m_n;
        if constexpr (std::is_floating_point_v<Work>) {
            int finite = 0;
            for (int i = 0; i < m_n; ++i)
                finite += isFiniteValue(workA[i]) && isFiniteValue(workB[i]);
            if (finite != m_n)
                takeOutSpecial(workA, workB);
        }
        m_into.finite += m_n;
        for (int i = 0; i < m_n; ++i) {
            const Work va = workA[i];
            const Work vb = workB[i];
            m_d[static_cast<std::size_t>(i)] = difference(va, vb);
            m_a[static_cast<std::size_t>(i)] = static_cast<double>(va);
            m_b[static_cast<std::size_t>(i)] = static_cast<double>(vb);
        }
    }

    /// Pair `from` becomes the last of those kept so far.
    template <class Work>
    void move(Work* workA, Work* workB, int from)
    {
        workA[m_n] = workA[from];
        workB[m_n] = workB[from];
        m_at[static_cast<std::size_t>(m_n)] = from;
        ++m_n;
    }

    template <class Work>
    void takeOutSpecial(Work* workA, Work* workB)
    {
        AloneBlock aloneA, aloneB;
        const int n = m_n;
        m_n = 0;
        for (int i = 0; i < n; ++i) {
            const double va = static_cast<double>(workA[i]);
            const double vb = static_cast<double>(workB[i]);
            const int at = m_gaps ? m_at[static_cast<std::size_t>(i)] : i;
            const bool finiteA = isFiniteValue(va);
            const bool finiteB = isFiniteValue(vb);
            if (finiteA && finiteB) {
                move(workA, workB, i);
                m_at[static_cast<std::size_t>(m_n - 1)] = at;
                continue;
            }
            if (finiteA)
                aloneA.x[static_cast<std::size_t>(aloneA.n++)] = va;
            if (finiteB)
                aloneB.x[static_cast<std::size_t>(aloneB.n++)] = vb;
            countSpecialPair(va, vb, m_dtypeA == m_dtypeB, m_into);
        }
        m_gaps = true;
        aloneA.addTo(m_into.a);
        aloneB.addTo(m_into.b);
    }

    void countAndFindExtrema(std::int64_t first)
    {
        const double* a = m_a.data();
        const double* b = m_b.data();
        const double* d = m_d.data();
        const double rtol = m_options.rtol;
        const double atol = m_options.atol;

        int zerosA = 0, zerosB = 0, mismatches = 0, violations = 0, equal = 0;
        double minA = a[0], maxA = a[0], minB = b[0], maxB = b[0];
        for (int i = 0; i < m_n; ++i) {
            zerosA += a[i] == 0;
            zerosB += b[i] == 0;
            mismatches += (a[i] == 0) != (b[i] == 0);
            equal += d[i] == 0;
            violations += violatesTolerance(a[i], d[i], rtol, atol);
            minA = a[i] < minA ? a[i] : minA;
            maxA = a[i] > maxA ? a[i] : maxA;
            minB = b[i] < minB ? b[i] : minB;
            maxB = b[i] > maxB ? b[i] : maxB;
        }
        m_into.a.zeros += zerosA;
        m_into.b.zeros += zerosB;
        m_into.zeroMismatch += mismatches;
        m_into.allcloseViolations += violations;
        if (m_dtypeA != m_dtypeB)
            m_into.bitEqual += equal;
        m_into.a.min = minA < m_into.a.min ? minA : m_into.a.min;
        m_into.a.max = maxA > m_into.a.max ? maxA : m_into.a.max;
        m_into.b.min = minB < m_into.b.min ? minB : m_into.b.min;
        m_into.b.max = maxB > m_into.b.max ? maxB : m_into.b.max;
        m_largestA = std::fmax(-minA, maxA);
        m_largestB = std::fmax(-minB, maxB);
        m_into.largest = std::fmax(m_into.largest, std::fmax(m_largestA, m_largestB));

        int absAt = 0, relAt = 0;
        double largestAbs = -1, largestRel = -1;
        m_largestD = 0;
        for (int i = 0; i < m_n; ++i) {
            const double size = std::fabs(d[i]);
            if (size > m_largestD)
                m_largestD = size;
            const double absolute = absoluteError(d[i]);
            if (absolute > largestAbs) {
                largestAbs = absolute;
                absAt = i;
            }
            const double relative = relativeError(a[i], b[i], d[i]);
            if (relative > largestRel) {
                largestRel = relative;
                relAt = i;
            }
        }
        m_into.maxAbs.combine(extremum(largestAbs, absAt, first));
        m_into.maxRel.combine(extremum(largestRel, relAt, first));
    }

    ExtremumAccumulator extremum(double value, int i, std::int64_t first) const
    {
        const auto place = static_cast<std::size_t>(i);
        const int at = m_gaps ? m_at[place] : i;
        return {value, (first + at) / m_parts, m_a[place], m_b[place]};
    }

    void countInHistograms(const std::byte* a, const std::byte* b, HistogramAccumulator& histograms) const
    {
        for (int i = 0; i < m_n; ++i) {
            const auto place = static_cast<std::size_t>(i);
            const double d = m_d[place];
            if (d == 0) {
                ++histograms.zero;
                continue;
            }
            const auto at = static_cast<std::size_t>(m_gaps ? m_at[place] : i);
            const std::uint64_t steps = ulpDistance(m_dtypeA, a + at * partSize(m_dtypeA), m_dtypeB, b + at * partSize(m_dtypeB));
            ++histograms.absolute[static_cast<std::size_t>(absoluteBin(absoluteError(d)))];
            ++histograms.relative[static_cast<std::size_t>(relativeBin(relativeError(m_a[place], m_b[place], d)))];
            ++histograms.ulp[static_cast<std::size_t>(ulpBin(steps))];
        }
    }

    void sum()
    {
        if (isFar(m_largestA, kLowestValue) || isFar(m_largestB, kLowestValue) || isFar(m_largestD, kLowestDifference)) {
            std::array<ChunkAccumulator, kLanes> lanes{};
            for (std::size_t i = 0; i < static_cast<std::size_t>(m_n); ++i)
                addFarPair(m_a[i], m_b[i], m_d[i], lanes[i % kLanes]);
            for (const ChunkAccumulator& lane : lanes)
                m_into.combine(lane);
            return;
        }

        const int n = m_n;
        const double* a = m_a.data();
        const double* b = m_b.data();
        const double* d = m_d.data();
        const double aa = laneSum(n, [=](int i) { return a[i] * a[i]; });
        const double ad = laneSum(n, [=](int i) { return a[i] * d[i]; });
        const double bb = laneSum(n, [=](int i) { return b[i] * b[i]; });
        const double ab = laneSum(n, [=](int i) { return a[i] * b[i]; });
        const double dd = laneSum(n, [=](int i) { return d[i] * d[i]; });
        const double signedD = laneSum(n, [=](int i) { return d[i]; });
        const double absD = laneSum(n, [=](int i) { return std::fabs(d[i]); });
        const double aadd = laneSum(n, [=](int i) { return (a[i] * d[i]) * (a[i] * d[i]); });
        const double slope = aa > 0 ? ad / aa : 0;
        const double residual = laneSum(n, [=](int i) { return (d[i] - slope * a[i]) * (d[i] - slope * a[i]); });

        ChunkAccumulator& to = m_into;
        to.aa = to.aa + wide(aa);
        to.bb = to.bb + wide(bb);
        to.ab = to.ab + wide(ab);
        to.ad = to.ad + wide(ad);
        to.dd = to.dd + wide(dd);
        to.d = to.d + wide(signedD);
        to.absD = to.absD + wide(absD);
        to.aadd = to.aadd + wide(aadd);
        to.fit.combine({wide(aa), wide(slope), wide(residual)});
        to.a.moments.combine(momentsOf(a, n));
        to.b.moments.combine(momentsOf(b, n));
    }

    DType m_dtypeA, m_dtypeB;
    Arithmetic m_arithmetic;
    int m_parts;
    const MeasureOptions& m_options;
    ChunkAccumulator& m_into;
    HistogramAccumulator* m_histograms;

    int m_n = 0;         ///< pairs left
    bool m_gaps = false; ///< m_at holds
    double m_largestA = 0, m_largestB = 0, m_largestD = 0;
    std::array<double, kBlock> m_a, m_b, m_d;
    std::array<float, kBlock> m_floatA, m_floatB;
    std::array<std::int64_t, kBlock> m_intA, m_intB;
    std::array<int, kBlock> m_at;
};

class ScalarBackend final : public Backend {
public:
    std::string_view name() const override { return "scalar"; }
    std::string_view description() const override { return "portable C++, no special instructions"; }
    bool supported() const override { return true; }

    Result<void> accumulate(std::span<const std::byte> a, DType dtypeA, std::span<const std::byte> b, DType dtypeB, std::span<const std::byte> mask,
                            std::int64_t firstIndex, const MeasureOptions& options, ChunkAccumulator& into,
                            HistogramAccumulator* histograms) const override
    {
        const std::size_t sizeA = partSize(dtypeA);
        const std::size_t sizeB = partSize(dtypeB);
        const auto parts = static_cast<std::size_t>(partsOf(dtypeA));
        const std::size_t total = a.size() / sizeA;
        const std::int64_t first = firstIndex * static_cast<std::int64_t>(parts);
        Block block(dtypeA, dtypeB, options, into, histograms);
        std::array<bool, kBlock> keep;
        for (std::size_t done = 0; done < total; done += kBlock) {
            const std::size_t n = total - done < kBlock ? total - done : kBlock;
            for (std::size_t i = 0; !mask.empty() && i < n; ++i)
                keep[i] = mask[(done + i) / parts] != std::byte{0};
            block.add(a.data() + done * sizeA, b.data() + done * sizeB, static_cast<int>(n), first + static_cast<std::int64_t>(done),
                      mask.empty() ? nullptr : keep.data());
        }
        return {};
    }
};

} // namespace

const Backend& scalarBackend()
{
    static const ScalarBackend backend;
    return backend;
}

} // namespace forkpoint::metrics
