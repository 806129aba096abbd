// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/simd_backend.h"

#include "core/metrics/chunk_accumulator.h"
#include "core/metrics/scalar_backend.h"
#include "core/metrics/simd_tables.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>

// A chunk is walked in blocks that stay in the first-level cache. Types up to float32 are handled as floats, the others as doubles: an
// element of a block is decoded (or used where it lies), looked at once for counters, extrema and histograms (scanBlock), and once for sums
// (sumBlock). What a block rarely has is found out by the scan and looked for afterwards: zeros, a new maximum, pairs out of tolerance.
//
// A block with NaN, infinity, overflow of d, or numbers so small or large that exponents no longer tell the bin or squares leave double's
// range is given to the scalar backend. So the same rules hold there, and the code here is about numbers only.
//
// Counters, extrema and histograms are those of the scalar backend, bit for bit. Sums run in as many lanes as the vector has, so that their
// last bits depend on the instruction set; on one machine they repeat.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/metrics/simd_backend.cpp"
#define HWY_DISABLED_TARGETS HWY_SSSE3 // hardly any processor has it without SSE4
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again for each instruction set.
#include "core/metrics/simd_block_inl.h"
#include "core/metrics/simd_decode_inl.h"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace forkpoint::metrics::HWY_NAMESPACE {

/// One chunk's work.
struct Chunk {
    const std::byte* a;
    const std::byte* b;
    DType dtypeA, dtypeB;
    std::span<const std::byte> mask;
    std::int64_t firstIndex; ///< of elements
    const MeasureOptions& options;
    ChunkAccumulator& into;
    HistogramAccumulator* histograms;
};

inline StepMap stepMapOf(const StepFormat& format)
{
    StepMap map;
    map.shift = 23 - format.digits;
    if (format.lowestExponent > -126) {
        map.bias = (format.lowestExponent - 1 + 127) << format.digits;
        map.lowestNormal = (format.lowestExponent + 127) << 23;
        map.perUnit = std::ldexp(1.0f, format.digits - format.lowestExponent);
    }
    return map;
}

/// `value` with a few units in the last place taken off, or 0 where that would be inexact.
template <class T>
T justBelow(double value)
{
    const double lower = value * (1 - (sizeof(T) == 4 ? 0x1p-20 : 0x1p-50));
    constexpr double kLargest = sizeof(T) == 4 ? FLT_MAX : DBL_MAX, kSmallest = sizeof(T) == 4 ? FLT_MIN : DBL_MIN;
    return lower < kSmallest ? T{0} : static_cast<T>(lower > kLargest ? kLargest : lower);
}

/// The same upwards; never below the smallest normal number.
inline float justAbove(double value)
{
    const double upper = value * (1 + 0x1p-20);
    return upper < FLT_MIN ? FLT_MIN : upper > FLT_MAX ? std::numeric_limits<float>::infinity() : static_cast<float>(upper);
}

/// See Thresholds::relative. A power of two is compared exactly, since ties at 1 (one side is 0) and 2 (the other sign) are usual.
template <class T>
T relativeToBeat(double best)
{
    if (best < 0)
        return -1;
    int exponent = 0;
    return std::frexp(best, &exponent) == 0.5 ? static_cast<T>(best) : justBelow<T>(best);
}

inline bool sumsFit(double largest, double lowest) { return largest == 0 || (largest >= lowest && largest <= 0x1p200); }

/// Handles numbers as T.
template <class T>
class BlockRunner {
public:
    explicit BlockRunner(const Chunk& chunk)
        : m_chunk(chunk)
        , m_sizeA(partSize(chunk.dtypeA))
        , m_sizeB(partSize(chunk.dtypeB))
        , m_parts(static_cast<std::size_t>(partsOf(chunk.dtypeA)))
        , m_directA(isStoredAsIs(chunk.dtypeA))
        , m_directB(isStoredAsIs(chunk.dtypeB))
        , m_format(stepFormatOf(chunk.dtypeA, chunk.dtypeB))
        , m_stepMap(stepMapOf(m_format))
    {
        const MeasureOptions& options = chunk.options;
        m_tolerance = {justBelow<float>(options.rtol), justBelow<float>(options.atol), justAbove(options.rtol), justAbove(options.atol)};
        m_thresholds.rtol = sizeof(T) == 4 ? static_cast<T>(m_tolerance.lowerRtol) : static_cast<T>(options.rtol);
        m_thresholds.atol = sizeof(T) == 4 ? static_cast<T>(m_tolerance.lowerAtol) : static_cast<T>(options.atol);
    }

    void run(std::size_t parts)
    {
        constexpr std::size_t kFew = 8192, kMost = std::size_t{1} << 30; // counts of the table have 32 bits
        m_few = parts <= kFew;
        for (std::size_t first = 0; first < parts; first += kBlock<T>) {
            block(first, std::min(kBlock<T>, parts - first));
            if (m_chunk.histograms != nullptr && first % kMost + kBlock<T> == kMost)
                flush();
        }
        if (m_chunk.histograms != nullptr && !m_few)
            flush();
    }

private:
    static bool isStoredAsIs(DType dtype)
    {
        return sizeof(T) == 4 ? dtype == DType::Float32 || dtype == DType::Complex64 : dtype == DType::Float64 || dtype == DType::Complex128;
    }

    static SimdTables<T>& tables()
    {
        static thread_local SimdTables<T> kept; // large, and empty between chunks
        return kept;
    }

    void flush() const { tables().flush(m_format, *m_chunk.histograms, areZero); }

    void block(std::size_t first, std::size_t n)
    {
        const std::byte* a = m_chunk.a + first * m_sizeA;
        const std::byte* b = m_chunk.b + first * m_sizeB;
        m_positions = nullptr;
        m_ahead = {a + n * m_sizeA, b + n * m_sizeB, m_sizeA, m_sizeB};
        std::size_t kept = n;
        if (!m_chunk.mask.empty()) {
            kept = keepMasked(first, n, a, b);
            a = m_rawA.data();
            b = m_rawB.data();
            m_positions = m_kept.data();
        }
        if (kept != 0 && !takeBlock(a, b, kept, first))
            fallBack(first, n);
    }

    /// Moves what the mask keeps together. Returns how many that are.
    std::size_t keepMasked(std::size_t first, std::size_t n, const std::byte* a, const std::byte* b)
    {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < n; ++i) {
            if (m_chunk.mask[(first + i) / m_parts] == std::byte{0})
                continue;
            std::memcpy(m_rawA.data() + kept * m_sizeA, a + i * m_sizeA, m_sizeA);
            std::memcpy(m_rawB.data() + kept * m_sizeB, b + i * m_sizeB, m_sizeB);
            m_kept[kept++] = static_cast<std::uint32_t>(i);
        }
        return kept;
    }

    /// Elements and not parts: a block begins and ends between elements, as its length is even.
    void fallBack(std::size_t first, std::size_t n)
    {
        const auto bytes = [&](const std::byte* side, std::size_t size) { return std::span(side + first * size, n * size); };
        (void)scalarBackend().accumulate(bytes(m_chunk.a, m_sizeA), m_chunk.dtypeA, bytes(m_chunk.b, m_sizeB), m_chunk.dtypeB,
                                   m_chunk.mask.empty() ? m_chunk.mask : m_chunk.mask.subspan(first / m_parts, n / m_parts),
                                   m_chunk.firstIndex + static_cast<std::int64_t>(first / m_parts), m_chunk.options, m_chunk.into,
                                   m_chunk.histograms);
    }

    /// The numbers where they lie, or decoded; padded to a whole vector with copies of the first, which change no extremum.
    const T* numbers(const std::byte* bytes, DType dtype, bool direct, std::size_t n, std::size_t padded, T* decoded)
    {
        if (direct && n == padded)
            return reinterpret_cast<const T*>(bytes); // unaligned: only ever loaded as such, or by memcpy
        decode(dtype, bytes, n, decoded);
        std::fill(decoded + n, decoded + padded, decoded[0]);
        return decoded;
    }

    static bool beyondDouble(const std::byte* bytes, std::size_t n)
    {
        constexpr std::int64_t kExact = std::int64_t{1} << 53;
        for (std::size_t i = 0; i < n; ++i) {
            const auto value = loadStored<std::int64_t>(bytes, i);
            if (value > kExact || value < -kExact)
                return true;
        }
        return false;
    }

    /// False if the block is one for the scalar backend; then nothing has been added.
    bool takeBlock(const std::byte* rawA, const std::byte* rawB, std::size_t n, std::size_t first)
    {
        if (m_format.integer
            && ((m_chunk.dtypeA == DType::Int64 && beyondDouble(rawA, n)) || (m_chunk.dtypeB == DType::Int64 && beyondDouble(rawB, n))))
            return false;
        const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
        const std::size_t padded = (n + lanes - 1) / lanes * lanes;
        const std::size_t pads = padded - n;
        const T* a = numbers(rawA, m_chunk.dtypeA, m_directA, n, padded, m_a.data());
        const T* b = numbers(rawB, m_chunk.dtypeB, m_directB, n, padded, m_b.data());

        m_thresholds.relative = relativeToBeat<T>(m_chunk.into.maxRel.value);
        const bool counting = m_chunk.histograms != nullptr;
        Scan<T> scan = counting ? scanBlock<true>(a, b, padded, m_thresholds, m_stepMap, !m_format.integer, m_d.data(), m_places.data(), m_distances.data())
                                : scanBlock<false>(a, b, padded, m_thresholds, m_stepMap, false, m_d.data(), m_places.data(), m_distances.data());
        if (!fits(scan))
            return false;
        if (pads != 0)
            takeOutPads(scan, a, b, n, pads);

        ChunkAccumulator& into = m_chunk.into;
        const auto count = static_cast<std::int64_t>(n);
        into.count += count;
        into.finite += count;
        countBlock(scan, a, b, rawA, rawB, n);
        findExtrema(scan, a, b, n, padded, first);
        if (counting) {
            m_chunk.histograms->zero += static_cast<std::int64_t>(n - scan.nonzero);
            if (m_few)
                SimdTables<T>::addDirectly(m_places.data(), scan.nonzero, m_distances.data(), scan.irregular, m_format, *m_chunk.histograms);
            else if (scan.nonzero != 0)
                tables().add(m_places.data(), scan.nonzero, m_distances.data(), scan.irregular, rowOf(scan.minDBits), rowOf(scan.maxDBits));
        }
        if (pads != 0) {
            std::fill(m_a.data() + n, m_a.data() + padded, T{0});
            std::fill(m_b.data() + n, m_b.data() + padded, T{0});
            std::fill(m_d.data() + n, m_d.data() + padded, T{0});
        }
        addSums(scan, a, b, n, padded);
        return true;
    }

    static int rowOf(BitsOf<T> bits)
    {
        const auto exponent = static_cast<int>(bits >> SimdTables<T>::kDigits) - SimdTables<T>::kBias - kAbsoluteFirst;
        return std::clamp(exponent, 0, kAbsoluteBins - 1);
    }

    /// Finite, and |d| (where it is not 0) so large that the larger of |a| and |b|, at least half of it, is a normal number too.
    static bool fits(const Scan<T>& scan)
    {
        constexpr BitsOf<T> kInfinity = static_cast<BitsOf<T>>(2 * SimdTables<T>::kBias + 1) << SimdTables<T>::kDigits;
        constexpr BitsOf<T> kTwiceLowest = BitsOf<T>{2} << SimdTables<T>::kDigits;
        if (scan.maxDBits >= kInfinity || scan.minDBits < kTwiceLowest)
            return false;
        if constexpr (sizeof(T) == 4)
            return true;
        const double largestA = std::max(-static_cast<double>(scan.minA), static_cast<double>(scan.maxA));
        const double largestB = std::max(-static_cast<double>(scan.minB), static_cast<double>(scan.maxB));
        return sumsFit(largestA, 0x1p-200) && sumsFit(largestB, 0x1p-200) && sumsFit(static_cast<double>(scan.maxD), 0x1p-250);
    }

    void takeOutPads(Scan<T>& scan, const T* a, const T* b, std::size_t n, std::size_t pads) const
    {
        if (m_d[n] == 0)
            return; // they are counted nowhere
        const T d = m_d[n];
        scan.nonzero -= pads;
        if (sizeof(T) == 8 && violatesTolerance(numberAt(a, n), static_cast<double>(d), m_chunk.options.rtol, m_chunk.options.atol))
            scan.violations -= pads;
        BitsOf<T> bitsA, bitsB;
        std::memcpy(&bitsA, a + n, sizeof bitsA);
        std::memcpy(&bitsB, b + n, sizeof bitsB);
        if (m_chunk.histograms != nullptr && !m_format.integer && ((bitsA ^ bitsB) >> SimdTables<T>::kDigits) != 0)
            scan.irregular -= pads;
    }

    void countBlock(const Scan<T>& scan, const T* a, const T* b, const std::byte* rawA, const std::byte* rawB, std::size_t n)
    {
        ChunkAccumulator& into = m_chunk.into;
        const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
        std::size_t equal = n - scan.nonzero;
        if (scan.minBits == 0) { // some are 0, and -0 equals 0 with other bits
            const std::size_t whole = n / lanes * lanes;
            ZeroCounts zeros = countZeros(a, b, whole);
            for (std::size_t i = whole; i < n; ++i) {
                T x, y;
                std::memcpy(&x, a + i, sizeof x);
                std::memcpy(&y, b + i, sizeof y);
                zeros.a += x == 0;
                zeros.b += y == 0;
                zeros.mismatch += (x == 0) != (y == 0);
                zeros.bitEqual += std::memcmp(&x, &y, sizeof x) == 0;
            }
            into.a.zeros += static_cast<std::int64_t>(zeros.a);
            into.b.zeros += static_cast<std::int64_t>(zeros.b);
            into.zeroMismatch += static_cast<std::int64_t>(zeros.mismatch);
            if (m_chunk.dtypeA == m_chunk.dtypeB)
                equal = zeros.bitEqual;
        }
        if (m_chunk.dtypeA == DType::Bool && m_chunk.dtypeB == DType::Bool) { // any byte but 0 is true, and bytes are compared
            equal = 0;
            for (std::size_t i = 0; i < n; ++i)
                equal += rawA[i] == rawB[i];
        }
        into.bitEqual += static_cast<std::int64_t>(equal);
        if constexpr (sizeof(T) == 8)
            into.allcloseViolations += static_cast<std::int64_t>(scan.violations);
        else if (scan.mayViolate)
            into.allcloseViolations += static_cast<std::int64_t>(violations(a, n));
        into.a.min = std::min(static_cast<double>(scan.minA), into.a.min);
        into.a.max = std::max(static_cast<double>(scan.maxA), into.a.max);
        into.b.min = std::min(static_cast<double>(scan.minB), into.b.min);
        into.b.max = std::max(static_cast<double>(scan.maxB), into.b.max);
        for (const T end : {scan.minA, scan.maxA, scan.minB, scan.maxB})
            into.largest = std::max(into.largest, std::fabs(static_cast<double>(end)));
        if (m_chunk.dtypeA == DType::Float32)
            noteNarrowness(scan.orA, rawA, n, into.a);
        if (m_chunk.dtypeB == DType::Float32)
            noteNarrowness(scan.orB, rawB, n, into.b);
    }

    std::size_t violations(const T* a, std::size_t n) const
    {
        if constexpr (sizeof(T) == 4) {
            const std::size_t lanes = hn::Lanes(hn::ScalableTag<float>());
            const std::size_t whole = n / lanes * lanes;
            std::size_t count = countViolations(a, m_d.data(), whole, m_tolerance, m_chunk.options.rtol, m_chunk.options.atol);
            for (std::size_t i = whole; i < n; ++i)
                count += violatesTolerance(numberAt(a, i), static_cast<double>(m_d[i]), m_chunk.options.rtol, m_chunk.options.atol);
            return count;
        }
        return 0;
    }

    static void noteNarrowness(BitsOf<T> anyBits, const std::byte* bytes, std::size_t n, SideAccumulator& side)
    {
        if (!side.low13Clear)
            return;
        auto any = static_cast<std::uint32_t>(anyBits);
        for (std::size_t i = 0; sizeof(T) == 8 && i < n; ++i) // those of the numbers as doubles say nothing
            any |= loadStored<std::uint32_t>(bytes, i);
        side.low13Clear = low13Clear(any);
        side.bfloat16Exact = side.bfloat16Exact && bfloat16Holds(any);
        side.float16Exact = side.float16Exact && side.low13Clear;
        for (std::size_t i = 0; side.float16Exact && i < n; ++i)
            side.float16Exact = float16Holds(loadStored<std::uint32_t>(bytes, i));
    }

    ExtremumAccumulator extremum(double value, std::size_t place, const T* a, const T* b, std::size_t first) const
    {
        const std::size_t at = first + (m_positions != nullptr ? m_positions[place] : place);
        return {value, m_chunk.firstIndex + static_cast<std::int64_t>(at / m_parts), numberAt(a, place), numberAt(b, place)};
    }

    void findExtrema(const Scan<T>& scan, const T* a, const T* b, std::size_t n, std::size_t padded, std::size_t first)
    {
        ChunkAccumulator& into = m_chunk.into;
        const auto largest = static_cast<double>(scan.maxD);
        if (largest > into.maxAbs.value)
            into.maxAbs = extremum(largest, findDifference(m_d.data(), padded, scan.maxD), a, b, first);
        double best = into.maxRel.value;
        T relative = m_thresholds.relative;
        if (best < 0) { // the first block: 0 is a relative error too
            into.maxRel = extremum(0, 0, a, b, first);
            best = 0;
            relative = 0;
        } else if (!scan.mayExceed) {
            return;
        }
        if (scan.nonzero == 0)
            return;
        const std::ptrdiff_t at = findRelative(a, b, m_d.data(), padded, relative, best);
        if (at >= 0 && static_cast<std::size_t>(at) < n)
            into.maxRel = extremum(best, static_cast<std::size_t>(at), a, b, first);
    }

    void addSums(const Scan<T>& scan, const T* a, const T* b, std::size_t n, std::size_t padded)
    {
        const bool equal = scan.nonzero == 0;
        const Sums sums = equal ? sumEqualBlock(a, padded, m_ahead) : sumBlock(a, b, m_d.data(), padded, m_ahead);
        ChunkAccumulator& into = m_chunk.into;
        into.aa = into.aa + wide(sums.aa);
        into.bb = into.bb + wide(sums.bb);
        into.ab = into.ab + wide(sums.ab);
        double slope = 0, residual = 0;
        if (!equal) {
            into.ad = into.ad + wide(sums.ad);
            into.dd = into.dd + wide(sums.dd);
            into.d = into.d + wide(sums.d);
            into.absD = into.absD + wide(sums.absD);
            into.aadd = into.aadd + wide(sums.aadd);
            slope = sums.aa > 0 ? sums.ad / sums.aa : 0;
            residual = sums.dd - slope * sums.ad;
            if (residual < sums.dd / 16) // digits were lost
                residual = residualOf(slope, a, m_d.data(), padded);
        }
        into.fit.combine({wide(sums.aa), wide(slope), wide(residual)});
        const Moments momentsA = moments(a, n, sums.a, sums.aa);
        into.a.moments.combine(momentsA);
        into.b.moments.combine(equal ? momentsA : moments(b, n, sums.b, sums.bb));
    }

    /// From the sums, unless the mean is far from 0 for the spread: then from sums around a number inside the data.
    static Moments moments(const T* x, std::size_t n, double sum, double squares)
    {
        const auto count = static_cast<double>(n);
        double mean = sum / count;
        double deviation = squares - sum * mean;
        for (int pass = 0; pass < 2 && deviation < squares / 16; ++pass) {
            const double pivot = pass == 0 ? numberAt(x, 0) : mean;
            sumAround(pivot, x, n, sum, squares);
            mean = pivot + sum / count;
            deviation = squares - sum * (sum / count);
        }
        return {static_cast<std::int64_t>(n), wide(mean), wide(deviation > 0 ? deviation : 0)};
    }

    const Chunk& m_chunk;
    std::size_t m_sizeA, m_sizeB, m_parts;
    bool m_directA, m_directB;
    StepFormat m_format;
    StepMap m_stepMap;
    Thresholds<T> m_thresholds{};
    ToleranceBounds m_tolerance{};
    Ahead m_ahead{};
    bool m_few = false; ///< pairs in the chunk
    const std::uint32_t* m_positions = nullptr; ///< of pairs in the block, if the mask dropped some

    static constexpr std::size_t kRoom = kBlock<T> + HWY_MAX_BYTES; ///< the last store of a list may be a whole vector
    alignas(64) std::array<T, kBlock<T>> m_a, m_b, m_d;
    alignas(64) std::array<hwy::MakeUnsigned<T>, kRoom> m_places, m_distances;
    std::array<std::byte, kBlock<T> * 8> m_rawA, m_rawB;
    std::array<std::uint32_t, kBlock<T>> m_kept;
};

void accumulate(const Chunk& chunk, std::size_t parts)
{
    // On the heap: threads of oneTBB have small stacks.
    if (arithmeticOf(chunk.dtypeA, chunk.dtypeB) == Arithmetic::Single)
        std::make_unique<BlockRunner<float>>(chunk)->run(parts);
    else
        std::make_unique<BlockRunner<double>>(chunk)->run(parts);
}

/// The same for callers that do not know which Chunk is meant.
void accumulateBytes(std::span<const std::byte> a, DType dtypeA, std::span<const std::byte> b, DType dtypeB, std::span<const std::byte> mask,
                     std::int64_t firstIndex, const MeasureOptions& options, ChunkAccumulator& into, HistogramAccumulator* histograms)
{
    accumulate({a.data(), b.data(), dtypeA, dtypeB, mask, firstIndex, options, into, histograms}, a.size() / partSize(dtypeA));
}

} // namespace forkpoint::metrics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace forkpoint::metrics {
namespace {

HWY_EXPORT(accumulateBytes);

class SimdBackend final : public Backend {
public:
    std::string_view name() const override { return "simd"; }
    std::string_view description() const override { return "vector instructions (Google Highway), the widest this processor has"; }
    bool supported() const override { return true; }

    Result<void> accumulate(std::span<const std::byte> a, DType dtypeA, std::span<const std::byte> b, DType dtypeB, std::span<const std::byte> mask,
                            std::int64_t firstIndex, const MeasureOptions& options, ChunkAccumulator& into,
                            HistogramAccumulator* histograms) const override
    {
        HWY_DYNAMIC_DISPATCH(accumulateBytes)(a, dtypeA, b, dtypeB, mask, firstIndex, options, into, histograms);
        return {};
    }
};

} // namespace

StepFormat stepFormatOf(DType a, DType b)
{
    switch (arithmeticOf(a, b)) {
    case Arithmetic::Integer:
        return {52, -1022, true};
    case Arithmetic::Double:
        return {52, -1022};
    case Arithmetic::Single:
        break;
    }
    if (a != b)
        return {23, -126};
    switch (a) {
    case DType::Float16:
        return {10, -14};
    case DType::BFloat16:
        return {7, -126};
    case DType::Float8E4M3FN:
        return {3, -6};
    case DType::Float8E5M2:
        return {2, -14};
    default:
        return {23, -126};
    }
}

const Backend& simdBackend()
{
    static const SimdBackend backend;
    return backend;
}

} // namespace forkpoint::metrics

#endif
