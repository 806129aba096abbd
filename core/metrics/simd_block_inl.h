// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
//
// One block of pairs by vector instructions. Included once for every instruction set (Highway's way: no `#pragma once`).
#if defined(FORKPOINT_SIMD_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORKPOINT_SIMD_BLOCK_INL_H
#undef FORKPOINT_SIMD_BLOCK_INL_H
#else
#define FORKPOINT_SIMD_BLOCK_INL_H
#endif

#include "core/metrics/chunk_accumulator.h"
#include "core/metrics/simd_tables.h"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace forkpoint::metrics::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Numbers in a block: three arrays of them and two lists stay in the first-level cache.
template <class T>
inline constexpr std::size_t kBlock = sizeof(T) == 4 ? 1024 : 512;

template <class T>
using BitsOf = hwy::MakeSigned<T>;

/// What one look at every pair of a block finds.
template <class T>
struct Scan {
    T minA, maxA, minB, maxB;
    T maxD;                   ///< largest |d|
    BitsOf<T> maxDBits;       ///< the same as bits: beyond those of the largest number if anything is NaN, infinite or overflows
    BitsOf<T> minDBits;       ///< of the smallest |d| that is not 0
    BitsOf<T> minBits;        ///< of the smallest of all |a| and |b|
    BitsOf<T> orA, orB;       ///< bits that any a, any b has
    std::size_t nonzero = 0;  ///< pairs with d != 0
    std::size_t irregular = 0;
    std::size_t violations = 0; ///< double only
    bool mayViolate = false;    ///< float: some pair may be out of tolerance
    bool mayExceed = false;     ///< some pair may have a larger relative error than the one to beat
};

/// What the scan compares with.
template <class T>
struct Thresholds {
    T relative;   ///< |d| <= relative * max(|a|, |b|) is no new maximum
    T rtol, atol; ///< float: ToleranceBounds' lower ones; double: the tolerance
};

/// How float32 numbers map to steps of the type they came from.
struct StepMap {
    int shift = 0;
    std::int32_t bias = 0;
    std::int32_t lowestNormal = 0; ///< bits; 0: no number below it can occur, or the map holds there too
    float perUnit = 0;             ///< steps per 1.0 below
};

template <class D, class V = hn::VFromD<D>>
HWY_INLINE V stepsFromZero(D, V sizeBits, const StepMap&)
    requires(sizeof(hn::TFromD<D>) == 8)
{
    return sizeBits;
}

template <class D, class V = hn::VFromD<D>>
HWY_INLINE V stepsFromZero(D di, V sizeBits, const StepMap& map)
    requires(sizeof(hn::TFromD<D>) == 4)
{
    const hn::RebindToFloat<D> df;
    const V normal = hn::Sub(hn::ShiftRightSame(sizeBits, map.shift), hn::Set(di, map.bias));
    if (map.lowestNormal == 0)
        return normal;
    const V subnormal = hn::ConvertTo(di, hn::Mul(hn::BitCast(df, sizeBits), hn::Set(df, map.perUnit)));
    return hn::IfThenElse(hn::Lt(sizeBits, hn::Set(di, map.lowestNormal)), subnormal, normal);
}

/// Moves the lanes of `mask` to the front.
template <class D, class V, class M>
HWY_INLINE V compressed(D, V lanes, M mask)
{
#if HWY_TARGET <= HWY_AVX3
    // Highway 1.0.3 looks 64-bit lanes up in a table that the compiler copies to the stack each time; the processor has an instruction.
    if constexpr (sizeof(hn::TFromD<D>) == 8 && sizeof(lanes.raw) == 64)
        return V{_mm512_maskz_compress_epi64(mask.raw, lanes.raw)};
#endif
    return hn::Compress(lanes, mask);
}

/// `n` is a multiple of the vector. Writes d, and, if `Counting`, the places of the table and the distances of irregular pairs.
template <bool Counting, class T>
Scan<T> scanBlock(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, std::size_t n, const Thresholds<T>& thresholds, const StepMap& map, bool wantSteps,
                  T* HWY_RESTRICT d, hwy::MakeUnsigned<T>* HWY_RESTRICT places, hwy::MakeUnsigned<T>* HWY_RESTRICT distances)
{
    using Tables = SimdTables<T>;
    const hn::ScalableTag<T> df;
    const hn::RebindToSigned<decltype(df)> di;
    const hn::RebindToUnsigned<decltype(df)> du;
    using I = hn::TFromD<decltype(di)>;
    using VF = hn::VFromD<decltype(df)>;
    using VI = hn::VFromD<decltype(di)>;

    Scan<T> scan;
    VF minA = hn::LoadU(df, a), maxA = minA, minB = hn::LoadU(df, b), maxB = minB;
    VI maxD = hn::Zero(di), minD = hn::Set(di, hwy::LimitsMax<I>()), minSize = minD, orA = maxD, orB = maxD;
    const VF relative = hn::Set(df, thresholds.relative), rtol = hn::Set(df, thresholds.rtol), atol = hn::Set(df, thresholds.atol);
    auto exceeds = hn::Lt(relative, relative), violates = exceeds; // none
    const VI largest = hn::Set(di, hwy::LimitsMax<I>());
    const VI outside = hn::Set(di, static_cast<I>(~((I{1} << Tables::kDigits) - 1))); // sign and exponent
    std::size_t entries = 0;

    for (std::size_t i = 0; i < n; i += hn::Lanes(df)) {
        const VF va = hn::LoadU(df, a + i), vb = hn::LoadU(df, b + i);
        const VF absA = hn::Abs(va), absB = hn::Abs(vb), vd = hn::Sub(vb, va), absD = hn::Abs(vd), size = hn::Max(absA, absB);
        hn::StoreU(vd, df, d + i);
        minA = hn::Min(minA, va);
        maxA = hn::Max(maxA, va);
        minB = hn::Min(minB, vb);
        maxB = hn::Max(maxB, vb);
        const VI bitsA = hn::BitCast(di, va), bitsB = hn::BitCast(di, vb), bitsD = hn::BitCast(di, absD);
        orA = hn::Or(orA, bitsA);
        orB = hn::Or(orB, bitsB);
        maxD = hn::Max(maxD, bitsD);
        minSize = hn::Min(minSize, hn::Min(hn::BitCast(di, absA), hn::BitCast(di, absB)));
        const auto differs = hn::Ne(bitsD, hn::Zero(di));
        minD = hn::Min(minD, hn::IfThenElse(differs, bitsD, largest));
        exceeds = hn::Or(exceeds, hn::Gt(absD, hn::Mul(size, relative)));
        if constexpr (sizeof(T) == 4) {
            violates = hn::Or(violates, hn::Not(hn::Le(absD, hn::MulAdd(absA, rtol, atol))));
        } else {
            const auto within = hn::Le(absD, hn::Add(atol, hn::Mul(rtol, absA)));
            scan.violations += hn::CountTrue(df, hn::AndNot(within, hn::RebindMask(df, differs)));
        }
        if constexpr (Counting) {
            const VI bitsS = hn::BitCast(di, size);
            VI row = hn::ShiftRight<Tables::kDigits>(bitsD);
            const VI delta = hn::Sub(hn::ShiftRight<Tables::kDigits>(bitsS), row);
            const VI ratio = hn::ShiftRight<Tables::kDigits>(hn::Sub(bitsD, bitsS)); // rounds down: the exponent of |d| / s
            if constexpr (sizeof(T) == 8)
                row = hn::Min(hn::Max(hn::Sub(row, hn::Set(di, I{Tables::kBias + kAbsoluteFirst})), hn::Zero(di)), hn::Set(di, I{kAbsoluteBins - 1}));
            const VI column = hn::Add(hn::Sub(delta, ratio), hn::Set(di, I{Tables::kColumnOffset}));
            VI place = hn::Add(hn::ShiftLeft<Tables::kColumnBits>(row), column);
            if (wantSteps) {
                const auto irregular = hn::And(differs, hn::Ne(hn::And(hn::Xor(bitsA, bitsB), outside), hn::Zero(di)));
                if (HWY_UNLIKELY(!hn::AllFalse(di, irregular))) {
                    place = hn::Or(place, hn::IfThenElseZero(irregular, hn::Set(di, I{1} << Tables::kIrregularBit)));
                    const VI signA = hn::BroadcastSignBit(bitsA), signB = hn::BroadcastSignBit(bitsB);
                    const VI stepsA = hn::Sub(hn::Xor(stepsFromZero(di, hn::BitCast(di, absA), map), signA), signA);
                    const VI stepsB = hn::Sub(hn::Xor(stepsFromZero(di, hn::BitCast(di, absB), map), signB), signB);
                    const VI distance = hn::Sub(hn::Max(stepsA, stepsB), hn::Min(stepsA, stepsB));
                    hn::StoreU(compressed(du, hn::BitCast(du, distance), hn::RebindMask(du, irregular)), du, distances + scan.irregular);
                    scan.irregular += hn::CountTrue(di, irregular);
                }
            }
            hn::StoreU(compressed(du, hn::BitCast(du, place), hn::RebindMask(du, differs)), du, places + entries);
        }
        entries += hn::CountTrue(di, differs);
    }
    scan.minA = hn::GetLane(hn::MinOfLanes(df, minA));
    scan.maxA = hn::GetLane(hn::MaxOfLanes(df, maxA));
    scan.minB = hn::GetLane(hn::MinOfLanes(df, minB));
    scan.maxB = hn::GetLane(hn::MaxOfLanes(df, maxB));
    scan.maxDBits = hn::GetLane(hn::MaxOfLanes(di, maxD));
    std::memcpy(&scan.maxD, &scan.maxDBits, sizeof scan.maxD);
    scan.minDBits = hn::GetLane(hn::MinOfLanes(di, minD));
    scan.minBits = hn::GetLane(hn::MinOfLanes(di, minSize));
    alignas(64) I lanes[HWY_MAX_BYTES / sizeof(I)];
    hn::Store(orA, di, lanes);
    scan.orA = scan.orB = 0;
    for (std::size_t lane = 0; lane < hn::Lanes(di); ++lane)
        scan.orA |= lanes[lane];
    hn::Store(orB, di, lanes);
    for (std::size_t lane = 0; lane < hn::Lanes(di); ++lane)
        scan.orB |= lanes[lane];
    scan.nonzero = entries;
    scan.mayExceed = !hn::AllFalse(df, exceeds);
    scan.mayViolate = !hn::AllFalse(df, violates);
    return scan;
}

/// Whether `n` counts, a multiple of 16, are all 0.
inline bool areZero(const std::uint32_t* counts, std::size_t n)
{
    const hn::ScalableTag<std::uint32_t> du;
    auto any = hn::Zero(du);
    for (std::size_t i = 0; i < n; i += hn::Lanes(du))
        any = hn::Or(any, hn::LoadU(du, counts + i));
    return hn::AllTrue(du, hn::Eq(any, hn::Zero(du)));
}

/// One number; blocks may lie at any address.
template <class T>
HWY_INLINE double numberAt(const T* x, std::size_t i)
{
    T value;
    std::memcpy(&value, x + i, sizeof value);
    return static_cast<double>(value);
}

/// Half a vector of floats as doubles, or a vector of doubles.
template <class DD>
HWY_INLINE hn::VFromD<DD> loadDouble(DD dd, const float* from)
{
    return hn::PromoteTo(dd, hn::LoadU(hn::Rebind<float, DD>(), from));
}

template <class DD>
HWY_INLINE hn::VFromD<DD> loadDouble(DD dd, const double* from)
{
    return hn::LoadU(dd, from);
}

template <class DD>
HWY_INLINE double total(DD dd, hn::VFromD<DD> lanes)
{
    return hn::GetLane(hn::SumOfLanes(dd, lanes));
}

struct Sums {
    double a = 0, b = 0, d = 0, absD = 0, aa = 0, bb = 0, ab = 0, ad = 0, dd = 0, aadd = 0;
};

/// Bytes that will be read next. Sums work on what the cache holds, so that meanwhile memory can deliver.
struct Ahead {
    const std::byte* a;
    const std::byte* b;
    std::size_t sizeA, sizeB; ///< of a number
};

HWY_INLINE void prefetch(const Ahead& ahead, std::size_t i)
{
    hwy::Prefetch(ahead.a + i * ahead.sizeA);
    hwy::Prefetch(ahead.b + i * ahead.sizeB);
}

/// `n` is a multiple of the vector; numbers that do not count are 0 in all three.
template <class T>
Sums sumBlock(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, const T* HWY_RESTRICT d, std::size_t n, const Ahead& ahead)
{
    const hn::ScalableTag<double> dd;
    using V = hn::VFromD<decltype(dd)>;
    V sumA = hn::Zero(dd), sumB = sumA, sumD = sumA, absD = sumA, aa = sumA, bb = sumA, ab = sumA, ad = sumA, squares = sumA, aadd = sumA;
    for (std::size_t i = 0; i < n; i += hn::Lanes(dd)) {
        prefetch(ahead, i);
        const V va = loadDouble(dd, a + i), vb = loadDouble(dd, b + i), vd = loadDouble(dd, d + i);
        sumA = hn::Add(sumA, va);
        sumB = hn::Add(sumB, vb);
        sumD = hn::Add(sumD, vd);
        absD = hn::Add(absD, hn::Abs(vd));
        aa = hn::MulAdd(va, va, aa);
        bb = hn::MulAdd(vb, vb, bb);
        ab = hn::MulAdd(va, vb, ab);
        squares = hn::MulAdd(vd, vd, squares);
        const V product = hn::Mul(va, vd);
        ad = hn::MulAdd(va, vd, ad); // as <a,a> is formed, so that B = 2A has slope 1 to the last bit
        aadd = hn::MulAdd(product, product, aadd);
    }
    return {total(dd, sumA), total(dd, sumB), total(dd, sumD), total(dd, absD), total(dd, aa),
            total(dd, bb),   total(dd, ab),   total(dd, ad),   total(dd, squares), total(dd, aadd)};
}

/// The same where a and b are equal throughout.
template <class T>
Sums sumEqualBlock(const T* HWY_RESTRICT a, std::size_t n, const Ahead& ahead)
{
    const hn::ScalableTag<double> dd;
    hn::VFromD<decltype(dd)> sum = hn::Zero(dd), squares = sum;
    for (std::size_t i = 0; i < n; i += hn::Lanes(dd)) {
        prefetch(ahead, i);
        const auto va = loadDouble(dd, a + i);
        sum = hn::Add(sum, va);
        squares = hn::MulAdd(va, va, squares);
    }
    Sums sums;
    sums.a = sums.b = total(dd, sum);
    sums.aa = sums.bb = sums.ab = total(dd, squares);
    return sums;
}

/// Sums of x - pivot and of its square over exactly `n` numbers.
template <class T>
void sumAround(double pivot, const T* HWY_RESTRICT x, std::size_t n, double& sum, double& squares)
{
    const hn::ScalableTag<double> dd;
    const auto centre = hn::Set(dd, pivot);
    hn::VFromD<decltype(dd)> lanes = hn::Zero(dd), lanesSquared = lanes;
    std::size_t i = 0;
    for (; i + hn::Lanes(dd) <= n; i += hn::Lanes(dd)) {
        const auto rest = hn::Sub(loadDouble(dd, x + i), centre);
        lanes = hn::Add(lanes, rest);
        lanesSquared = hn::MulAdd(rest, rest, lanesSquared);
    }
    sum = total(dd, lanes);
    squares = total(dd, lanesSquared);
    for (; i < n; ++i) {
        const double rest = numberAt(x, i) - pivot;
        sum += rest;
        squares += rest * rest;
    }
}

/// Sum of (d - slope a)^2; numbers that do not count are 0 in both.
template <class T>
double residualOf(double slope, const T* HWY_RESTRICT a, const T* HWY_RESTRICT d, std::size_t n)
{
    const hn::ScalableTag<double> dd;
    const auto factor = hn::Set(dd, slope);
    hn::VFromD<decltype(dd)> squares = hn::Zero(dd);
    for (std::size_t i = 0; i < n; i += hn::Lanes(dd)) {
        // Not fused, as in the scalar backend: where B = s A exactly, nothing must be left.
        const auto rest = hn::Sub(loadDouble(dd, d + i), hn::Mul(factor, loadDouble(dd, a + i)));
        squares = hn::MulAdd(rest, rest, squares);
    }
    return total(dd, squares);
}

/// Bounds around a tolerance: what float arithmetic finds within `lower` is within, and what it finds beyond `upper` is beyond.
struct ToleranceBounds {
    float lowerRtol, lowerAtol, upperRtol, upperAtol;
};

/// Pairs of floats out of tolerance, its threshold formed in double where float leaves a doubt. `n` is a multiple of the vector.
inline std::size_t countViolations(const float* HWY_RESTRICT a, const float* HWY_RESTRICT d, std::size_t n, const ToleranceBounds& bounds,
                                   double rtol, double atol)
{
    const hn::ScalableTag<float> df;
    const hn::ScalableTag<double> dd;
    const auto lowerRtol = hn::Set(df, bounds.lowerRtol), lowerAtol = hn::Set(df, bounds.lowerAtol);
    const auto upperRtol = hn::Set(df, bounds.upperRtol), upperAtol = hn::Set(df, bounds.upperAtol);
    const auto factor = hn::Set(dd, rtol), offset = hn::Set(dd, atol);
    std::size_t violations = 0;
    for (std::size_t i = 0; i < n; i += hn::Lanes(df)) {
        const auto absA = hn::Abs(hn::LoadU(df, a + i)), absD = hn::Abs(hn::LoadU(df, d + i));
        const auto within = hn::Le(absD, hn::MulAdd(absA, lowerRtol, lowerAtol));
        const auto beyond = hn::Gt(absD, hn::MulAdd(absA, upperRtol, upperAtol));
        if (HWY_LIKELY(hn::AllTrue(df, hn::Or(within, beyond)))) {
            violations += hn::CountTrue(df, beyond);
            continue;
        }
        for (std::size_t part = i; part < i + hn::Lanes(df); part += hn::Lanes(dd)) {
            const auto size = hn::Abs(loadDouble(dd, d + part));
            const auto inside = hn::Le(size, hn::Add(offset, hn::Mul(factor, hn::Abs(loadDouble(dd, a + part)))));
            violations += hn::CountTrue(dd, hn::AndNot(inside, hn::Ne(size, hn::Zero(dd))));
        }
    }
    return violations;
}

struct ZeroCounts {
    std::size_t a = 0, b = 0, mismatch = 0, bitEqual = 0;
};

template <class T>
ZeroCounts countZeros(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, std::size_t n)
{
    const hn::ScalableTag<T> df;
    const hn::RebindToSigned<decltype(df)> di;
    ZeroCounts counts;
    for (std::size_t i = 0; i < n; i += hn::Lanes(df)) {
        const auto va = hn::LoadU(df, a + i), vb = hn::LoadU(df, b + i);
        const auto zeroA = hn::Eq(va, hn::Zero(df)), zeroB = hn::Eq(vb, hn::Zero(df));
        counts.a += hn::CountTrue(df, zeroA);
        counts.b += hn::CountTrue(df, zeroB);
        counts.mismatch += hn::CountTrue(df, hn::Xor(zeroA, zeroB));
        counts.bitEqual += hn::CountTrue(di, hn::Eq(hn::BitCast(di, va), hn::BitCast(di, vb)));
    }
    return counts;
}

/// Place of the first |d| that is `size`; there is one.
template <class T>
std::size_t findDifference(const T* HWY_RESTRICT d, std::size_t n, T size)
{
    const hn::ScalableTag<T> df;
    const auto wanted = hn::Set(df, size);
    for (std::size_t i = 0; i < n; i += hn::Lanes(df)) {
        const auto found = hn::FindFirstTrue(df, hn::Eq(hn::Abs(hn::LoadU(df, d + i)), wanted));
        if (found >= 0)
            return i + static_cast<std::size_t>(found);
    }
    return 0;
}

/// The largest relative error above `best`, and the first place it is at; -1 if there is none. `relative` as in Thresholds.
template <class T>
std::ptrdiff_t findRelative(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, const T* HWY_RESTRICT d, std::size_t n, T relative, double& best)
{
    const hn::ScalableTag<T> df;
    const auto limit = hn::Set(df, relative);
    std::ptrdiff_t at = -1;
    for (std::size_t i = 0; i < n; i += hn::Lanes(df)) {
        const auto size = hn::Max(hn::Abs(hn::LoadU(df, a + i)), hn::Abs(hn::LoadU(df, b + i)));
        if (hn::AllFalse(df, hn::Gt(hn::Abs(hn::LoadU(df, d + i)), hn::Mul(size, limit))))
            continue;
        const hn::ScalableTag<double> dd;
        for (std::size_t part = i; part < i + hn::Lanes(df); part += hn::Lanes(dd)) {
            const auto wideSize = hn::Max(hn::Abs(loadDouble(dd, a + part)), hn::Abs(loadDouble(dd, b + part)));
            const auto ratio = hn::Div(hn::Abs(loadDouble(dd, d + part)), wideSize); // 0/0 is NaN and above nothing
            if (hn::AllFalse(dd, hn::Gt(ratio, hn::Set(dd, best))))
                continue;
            alignas(64) double lanes[HWY_MAX_BYTES / sizeof(double)];
            hn::Store(ratio, dd, lanes);
            for (std::size_t lane = 0; lane < hn::Lanes(dd); ++lane) {
                if (lanes[lane] > best) {
                    best = lanes[lane];
                    at = static_cast<std::ptrdiff_t>(part + lane);
                }
            }
        }
    }
    return at;
}

} // namespace forkpoint::metrics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
