// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include "core/metrics/ulp.h"
#include "core/tensor/box_ranges.h"
#include "core/tensor/composed_sources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace forkpoint::test {

using namespace heatmap;


using namespace metrics; // the elements' types and arithmetic

namespace {

bool isWholeNumberType(DType dtype)
{
    return dtype == DType::Int64 || dtype == DType::Int32 || dtype == DType::Int16 || dtype == DType::Int8 || dtype == DType::UInt8 ||
           dtype == DType::Bool;
}

bool isDoubleType(DType dtype) { return dtype == DType::Float64 || dtype == DType::Complex128; }

/// Values in float: both floating and at most float32, or both integers of at most 16 bits.
bool isKeptInFloat(DType a, DType b)
{
    if (isWholeNumberType(a) != isWholeNumberType(b))
        return false;
    if (isWholeNumberType(a))
        return bytesOfPart(a) <= 2 && bytesOfPart(b) <= 2;
    return !isDoubleType(a) && !isDoubleType(b);
}

struct Pair {
    Number a, b;
};

struct Judged {
    double difference = 0, relative = 0, ulp = 0;
    std::uint16_t flags = 0;
};

template <class Real>
double differenceAs(const Pair& pair)
{
    const double largest = static_cast<double>(std::numeric_limits<Real>::max());
    const Real d = static_cast<Real>(pair.b.value) - static_cast<Real>(pair.a.value);
    return std::clamp(static_cast<double>(d), -largest, largest);
}

Judged judged(const Pair& pair, DType dtypeA, DType dtypeB, double rtol, double atol)
{
    Judged result;
    const long double a = pair.a.value, b = pair.b.value;
    const auto special = [](long double x, unsigned finite, unsigned nan, unsigned positive, unsigned negative) {
        return std::isnan(x) ? nan : std::isinf(x) ? (x > 0 ? positive : negative) : finite;
    };
    unsigned flags = special(a, kFiniteA, kNanA, kPositiveInfA, kNegativeInfA) | special(b, kFiniteB, kNanB, kPositiveInfB, kNegativeInfB);
    if (std::isnan(a) || std::isnan(b)) {
        flags |= kNanPair | kDiffers | kOver;
    } else if (std::isinf(a) || std::isinf(b)) {
        flags |= a == b ? unsigned{kEqualInf} : b - a > 0 ? kPositiveInfPair | kDiffers | kOver : kNegativeInfPair | kDiffers | kOver;
    } else {
        flags |= kFinitePair;
        const bool wholes = isWholeNumberType(dtypeA) && isWholeNumberType(dtypeB);
        const bool inFloat = isKeptInFloat(dtypeA, dtypeB);
        // 64 bits of mantissa hold every integer and the difference of two.
        result.difference = wholes ? static_cast<double>(b - a) : inFloat ? differenceAs<float>(pair) : differenceAs<double>(pair);
        const long double size = std::max(std::fabs(a), std::fabs(b));
        if (size > 0) {
            const bool overflown = !wholes && std::fabs(result.difference) == (inFloat ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max());
            if (overflown && inFloat)
                result.relative = static_cast<float>(std::fabs(static_cast<double>(b) - static_cast<double>(a)) / static_cast<double>(size));
            else if (overflown)
                result.relative = std::fabs(static_cast<double>(b) / 2 - static_cast<double>(a) / 2) / (static_cast<double>(size) / 2);
            else if (inFloat)
                result.relative = std::fabs(static_cast<float>(result.difference)) / static_cast<float>(size);
            else
                result.relative = std::fabs(result.difference) / static_cast<double>(size);
        }
        const std::uint64_t steps = ulpDistance(dtypeA, pair.a.bytes.data(), dtypeB, pair.b.bytes.data());
        result.ulp = inFloat ? static_cast<double>(static_cast<float>(steps)) : static_cast<double>(steps);
        if (result.difference != 0)
            flags |= kDiffers;
        // The threshold is formed in double, as measure() does.
        const double exact = inFloat && !wholes && std::fabs(result.difference) == std::numeric_limits<float>::max()
                                 ? static_cast<double>(b) - static_cast<double>(a)
                                 : result.difference;
        if (exact != 0 && !(std::fabs(exact) <= atol + rtol * std::fabs(static_cast<double>(a))))
            flags |= kOver;
    }
    result.flags = static_cast<std::uint16_t>(flags);
    return result;
}

double roundedFor(bool inFloat, long double value)
{
    return inFloat ? static_cast<double>(static_cast<float>(value)) : static_cast<double>(value);
}

} // namespace

TensorSourcePtr sourceOf(const TestTensor& tensor, Shape shape)
{
    const auto bytes = tensor.bytes();
    auto source = memorySource(tensor.dtype(), std::move(shape), {bytes.begin(), bytes.end()});
    EXPECT_TRUE(source) << source.error().text();
    return *source;
}

Number numberAt(const TestTensor& tensor, std::int64_t flat)
{
    const std::size_t size = bytesOfPart(tensor.dtype());
    const auto bytes = tensor.bytes().subspan(static_cast<std::size_t>(flat) * size, size);
    return {decodePart(tensor.dtype(), bytes.data()), {bytes.begin(), bytes.end()}};
}

CellContent referenceCell(const TestTensor& a, const TestTensor& b, const std::vector<std::int64_t>& elements, double rtol, double atol)
{
    const bool inFloat = isKeptInFloat(a.dtype(), b.dtype());
    CellContent cell;
    for (const std::int64_t flat : elements) {
        const Pair pair{numberAt(a, flat), numberAt(b, flat)};
        const Judged judgement = judged(pair, a.dtype(), b.dtype(), rtol, atol);
        const double valueA = roundedFor(inFloat, pair.a.value), valueB = roundedFor(inFloat, pair.b.value);
        if ((judgement.flags & kFiniteA) != 0) {
            const bool first = (cell.flags & kFiniteA) == 0;
            cell.minA = first ? valueA : std::min(cell.minA, valueA);
            cell.maxA = first ? valueA : std::max(cell.maxA, valueA);
        }
        if ((judgement.flags & kFiniteB) != 0) {
            const bool first = (cell.flags & kFiniteB) == 0;
            cell.minB = first ? valueB : std::min(cell.minB, valueB);
            cell.maxB = first ? valueB : std::max(cell.maxB, valueB);
        }
        if (std::fabs(judgement.difference) > std::fabs(cell.difference) ||
            (std::fabs(judgement.difference) == std::fabs(cell.difference) && judgement.difference > 0))
            cell.difference = judgement.difference;
        cell.relative = std::max(cell.relative, judgement.relative);
        cell.ulp = std::max(cell.ulp, judgement.ulp);
        cell.flags = static_cast<std::uint16_t>(cell.flags | judgement.flags);
    }
    return cell;
}

Counts referenceCounts(const TestTensor& a, const TestTensor& b, const std::vector<std::int64_t>& elements, double rtol, double atol)
{
    Counts counts;
    for (const std::int64_t flat : elements) {
        const unsigned flags = judged({numberAt(a, flat), numberAt(b, flat)}, a.dtype(), b.dtype(), rtol, atol).flags;
        const auto has = [flags](unsigned flag) { return (flags & flag) != 0 ? 1 : 0; };
        ++counts.elements;
        counts.finitePairs += has(kFinitePair);
        counts.nanA += has(kNanA);
        counts.positiveInfA += has(kPositiveInfA);
        counts.negativeInfA += has(kNegativeInfA);
        counts.nanB += has(kNanB);
        counts.positiveInfB += has(kPositiveInfB);
        counts.negativeInfB += has(kNegativeInfB);
        counts.nanPairs += has(kNanPair);
        counts.equalInf += has(kEqualInf);
        counts.differing += has(kDiffers);
        counts.over += has(kOver);
    }
    return counts;
}

std::vector<std::int64_t> elementsOf(const Pyramid& pyramid, int level, Cell cell)
{
    const LevelShape& shape = pyramid.level(level);
    std::vector<std::int64_t> elements;
    for (std::int64_t row = cell.row << shape.rowShift; row < (cell.row + 1) << shape.rowShift; ++row) {
        for (std::int64_t column = cell.column << shape.columnShift; column < (cell.column + 1) << shape.columnShift; ++column) {
            if (pyramid.slice().contains({row, column}))
                elements.push_back(pyramid.slice().flatAt({row, column}));
        }
    }
    return elements;
}

double valueIn(Mode mode, const CellContent& cell)
{
    const auto larger = [](double low, double high) { return std::fabs(low) > std::fabs(high) ? low : high; };
    switch (mode) {
    case Mode::A:
        return larger(cell.minA, cell.maxA);
    case Mode::B:
        return larger(cell.minB, cell.maxB);
    case Mode::Difference:
        return cell.difference;
    case Mode::AbsDifference:
        return std::fabs(cell.difference);
    case Mode::Relative:
        return cell.relative;
    case Mode::Ulp:
        return cell.ulp;
    case Mode::OverTolerance:
        break;
    }
    return (cell.flags & kOver) != 0 ? 2 : (cell.flags & kDiffers) != 0 ? 1 : 0;
}

void expectAsReference(const Pyramid& pyramid, const TestTensor& a, const TestTensor& b, int level)
{
    const LevelShape& shape = pyramid.level(level);
    const auto cells = pyramid.cells(level, shape.whole());
    ASSERT_TRUE(cells) << cells.error().text();
    std::map<Mode, RegionValues> values;
    for (const Mode mode : kModes) {
        const auto region = pyramid.region(level, shape.whole(), mode);
        ASSERT_TRUE(region) << region.error().text();
        values[mode] = *region;
    }
    const PyramidOptions& options = pyramid.options();
    for (std::int64_t i = 0; i < shape.whole().cells(); ++i) {
        const Cell place{i / shape.columns, i % shape.columns};
        const auto at = static_cast<std::size_t>(i);
        const CellContent expected = referenceCell(a, b, elementsOf(pyramid, level, place), options.rtol, options.atol);
        const CellContent& got = (*cells)[at];
        ASSERT_TRUE(got == expected) << "level " << level << " of " << pyramid.levels() << ", cell (" << place.row << ", " << place.column << "): min A "
                                     << got.minA << " expected " << expected.minA << ", max A " << got.maxA << " / " << expected.maxA << ", min B "
                                     << got.minB << " / " << expected.minB << ", max B " << got.maxB << " / " << expected.maxB << ", difference "
                                     << got.difference << " / " << expected.difference << ", relative " << got.relative << " / " << expected.relative
                                     << ", ulp " << got.ulp << " / " << expected.ulp << ", flags " << got.flags << " / " << expected.flags;
        for (const Mode mode : kModes) {
            ASSERT_EQ(values[mode].values[at], valueIn(mode, expected)) << "mode " << static_cast<int>(mode) << ", level " << level << ", cell " << i;
            const ModeFlags flags = modeFlags(mode);
            const int mask = flags.finite | flags.nan | flags.positiveInf | flags.negativeInf;
            ASSERT_EQ(values[mode].flags[at] & mask, expected.flags & mask) << "mode " << static_cast<int>(mode) << ", level " << level;
        }
    }
}

void expectAsReference(const Pyramid& pyramid, const TestTensor& a, const TestTensor& b)
{
    for (int level = 0; level < pyramid.levels(); ++level) {
        expectAsReference(pyramid, a, b, level);
        if (::testing::Test::HasFatalFailure())
            return;
    }
    std::vector<std::int64_t> all;
    if (pyramid.levels() > 0)
        all = elementsOf(pyramid, pyramid.levels() - 1, {0, 0});
    EXPECT_TRUE(pyramid.counts() == referenceCounts(a, b, all, pyramid.options().rtol, pyramid.options().atol));
}

PatternSource::PatternSource(Shape shape, float usual, std::map<std::int64_t, float> others)
    : m_shape(std::move(shape))
    , m_usual(usual)
    , m_others(std::move(others))
    , m_usualNumbers(std::size_t{1} << 20, usual)
{
}

Result<std::span<const std::byte>> PatternSource::read(const Box& box, ReadBuffer& buffer) const
{
    if (Result<void> ok = checkBox(m_shape, box); !ok)
        return tl::unexpected(ok.error());
    const auto elements = static_cast<std::size_t>(box.elements());
    ++m_reads;
    m_elements += box.elements();
    std::int64_t largest = m_largest.load();
    while (box.elements() > largest && !m_largest.compare_exchange_weak(largest, box.elements())) { }

    std::vector<std::pair<std::size_t, float>> found;
    RangeWalk walk(m_shape, box);
    FlatRange range;
    std::size_t before = 0;
    while (walk.next(range)) {
        for (auto it = m_others.lower_bound(range.offset); it != m_others.end() && it->first < range.offset + range.count; ++it)
            found.emplace_back(before + static_cast<std::size_t>(it->first - range.offset), it->second);
        before += static_cast<std::size_t>(range.count);
    }
    if (found.empty() && elements <= m_usualNumbers.size())
        return std::as_bytes(std::span(m_usualNumbers).first(elements));
    const std::span<std::byte> to = buffer.take(elements * sizeof(float));
    for (std::size_t i = 0; i < elements; ++i)
        std::memcpy(to.data() + i * sizeof(float), &m_usual, sizeof(float));
    for (const auto& [at, value] : found)
        std::memcpy(to.data() + at * sizeof(float), &value, sizeof(float));
    return to;
}

} // namespace forkpoint::test
