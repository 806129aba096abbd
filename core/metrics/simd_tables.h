// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/histogram.h"
#include "core/tensor/dtype.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

// Three histograms for the price of one. Let e(x) be the exponent of x, s the larger of |a|, |b|. Where a and b have one sign and one exponent,
// the step between neighbours is one for both, so that all three bins follow from two exponents and one comparison:
//
//   bin of |d|           e(d)
//   bin of |d| / s       e(d) - e(s), less 1 if the significand of d is below that of s
//   bin of the steps     e(d) - e(step at s)
//
// A pair then is one increment in a table with a row per e(d) and a column per 2 (e(s) - e(d)) + comparison. Pairs across a power of two or
// zero ("irregular") go to a second half of the table, without a bin of steps, and their steps are counted beside it. Neighbours in memory
// often fall in the same place, where an increment waits for the one before; so the table exists several times, taken in turn.
namespace forkpoint::metrics {

/// A floating type as seen from float32 or float64: where its steps are.
struct StepFormat {
    int digits = 0;         ///< stored bits of the significand
    int lowestExponent = 0; ///< of normal numbers
    bool integer = false;   ///< steps are |d| itself
};

StepFormat stepFormatOf(DType a, DType b);

/// Of numbers handled as T, float or double. One per thread.
template <class T>
class SimdTables {
public:
    static constexpr int kDigits = sizeof(T) == 4 ? 23 : 52;
    static constexpr int kBias = sizeof(T) == 4 ? 127 : 1023;
    static constexpr int kColumnBits = sizeof(T) == 4 ? 6 : 7;
    static constexpr int kIrregularBit = kColumnBits + 8;
    static constexpr int kColumnOffset = 2; ///< added to the column, which is -2 where d is about 2 s
    static constexpr std::size_t kSize = std::size_t{2} << kIrregularBit;
    static constexpr std::size_t kCopies = 4;

    SimdTables()
        : m_counts(kSize * kCopies)
    {
    }

    /// Adds `entries` places of the table and `irregular` distances. Rows of all places lie in [lowestRow, highestRow].
    template <class Index>
    void add(const Index* places, std::size_t entries, const Index* distances, std::size_t irregular, int lowestRow, int highestRow)
    {
        m_lowestRow = lowestRow < m_lowestRow ? lowestRow : m_lowestRow;
        m_highestRow = highestRow > m_highestRow ? highestRow : m_highestRow;
        std::uint32_t* const table = m_counts.data();
        std::size_t i = 0;
        for (; i + 4 <= entries; i += 4) {
            ++table[places[i]];
            ++table[places[i + 1] + kSize];
            ++table[places[i + 2] + 2 * kSize];
            ++table[places[i + 3] + 3 * kSize];
        }
        for (; i < entries; ++i)
            ++table[places[i]];
        for (i = 0; i < irregular; ++i)
            ++m_steps[i % 2][static_cast<std::size_t>(std::bit_width(distances[i])) - 1];
    }

    /// Does without the table, for so few pairs that looking through it would take longer.
    template <class Index>
    static void addDirectly(const Index* places, std::size_t entries, const Index* distances, std::size_t irregular, const StepFormat& format,
                            HistogramAccumulator& to)
    {
        for (std::size_t i = 0; i < entries; ++i)
            count(static_cast<std::size_t>(places[i]), 1, format, to);
        for (std::size_t i = 0; i < irregular; ++i)
            ++to.ulp[static_cast<std::size_t>(std::bit_width(distances[i])) - 1];
    }

    /// Moves everything into `to` and is empty again. `areZero(counts, n)` says whether n counts are all 0.
    template <class AreZero>
    void flush(const StepFormat& format, HistogramAccumulator& to, AreZero areZero)
    {
        constexpr std::size_t kColumns = std::size_t{1} << kColumnBits;
        for (int row = m_lowestRow; row <= m_highestRow; ++row) {
            for (const std::size_t half : {std::size_t{0}, std::size_t{1} << kIrregularBit}) {
                const std::size_t first = half + (static_cast<std::size_t>(row) << kColumnBits);
                for (std::size_t copy = 0; copy < kCopies; ++copy) {
                    std::uint32_t* const counts = m_counts.data() + copy * kSize + first;
                    if (areZero(counts, kColumns))
                        continue;
                    for (std::size_t column = 0; column < kColumns; ++column) {
                        if (counts[column] != 0)
                            count(first + column, counts[column], format, to);
                        counts[column] = 0;
                    }
                }
            }
        }
        for (auto& steps : m_steps) {
            for (std::size_t bin = 0; bin < steps.size(); ++bin) {
                to.ulp[bin] += steps[bin];
                steps[bin] = 0;
            }
        }
        m_lowestRow = 255;
        m_highestRow = 0;
    }

private:
    static void count(std::size_t place, std::int64_t pairs, const StepFormat& format, HistogramAccumulator& to)
    {
        const bool irregular = place >> kIrregularBit != 0;
        const int row = static_cast<int>(place >> kColumnBits) & 255;
        const int doubled = static_cast<int>(place & ((std::size_t{1} << kColumnBits) - 1)) - kColumnOffset;
        const int delta = doubled >> 1; // e(s) - e(d)
        const int relative = -delta - (doubled & 1);
        to.absolute[static_cast<std::size_t>(row)] += pairs;
        to.relative[static_cast<std::size_t>(relative - kRelativeFirst)] += pairs;
        if (format.integer) {
            to.ulp[static_cast<std::size_t>(row + kAbsoluteFirst)] += pairs;
        } else if (!irregular) {
            // The row of a double may be an outermost one, which says little of e(d); but then no type has subnormal numbers at s.
            const int exponentOfS = row + kAbsoluteFirst + delta;
            const int above = kDigits == 52 || exponentOfS >= format.lowestExponent ? 0 : format.lowestExponent - exponentOfS;
            to.ulp[static_cast<std::size_t>(format.digits - delta - above)] += pairs;
        }
    }

    std::vector<std::uint32_t> m_counts;
    std::array<std::array<std::uint32_t, kUlpBins>, 2> m_steps{};
    int m_lowestRow = 255, m_highestRow = 0;
};

} // namespace forkpoint::metrics
