// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/row_matching.h"

#include "core/align/numbering.h"
#include "core/tensor/composed_sources.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace forkpoint::align {

namespace {

constexpr std::size_t kProjections = 8;
constexpr std::int64_t kMostRows = 1 << 15, kMostElements = 1 << 26;
constexpr std::size_t kMostLeftOver = 1 << 12; ///< rows without a partner that are looked for among all that are left
constexpr double kNear = 0.05; ///< apart by no more than this share of their length, rows are the same but for rounding

/// A row's sums under random signs: their mean square is the square of its length.
using Projection = std::array<double, kProjections>;

template <class T> void add(std::span<const std::byte> bytes, std::int64_t first, std::int64_t columns, std::vector<Projection>& to)
{
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T), ++first) {
        T value {};
        std::memcpy(&value, bytes.data() + at, sizeof(T));
        auto& row = to[static_cast<std::size_t>(first / columns)];
        auto signs = mixed(static_cast<std::uint64_t>(first % columns) + 1);
        for (auto& sum : row) {
            sum += (signs & 1) != 0 ? static_cast<double>(value) : -static_cast<double>(value);
            signs >>= 1;
        }
    }
}

/// Of every row; empty if they cannot be read, or are not finite.
std::vector<Projection> projections(const TensorSourcePtr& source)
{
    const auto wide = weightedSumSource({ source }, { 1 }); // float32 or float64
    if (!wide) {
        return {};
    }
    std::vector<Projection> out(static_cast<std::size_t>(source->shape()[0]));
    ReadBuffer buffer;
    std::int64_t first = 0;
    for (const auto& box : (*wide)->preferredChunks()) {
        const auto bytes = (*wide)->read(box, buffer);
        if (!bytes) {
            return {};
        }
        const bool isDouble = (*wide)->dtype() == DType::Float64;
        (isDouble ? add<double> : add<float>)(*bytes, first, source->shape()[1], out);
        first += box.elements();
    }
    const bool finite = std::all_of(out.begin(), out.end(), [](const Projection& row) {
        return std::all_of(row.begin(), row.end(), [](double sum) { return std::isfinite(sum); });
    });
    return finite ? out : std::vector<Projection>();
}

double square(const Projection& x)
{
    return std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / kProjections;
}

double squareApart(const Projection& x, const Projection& y)
{
    Projection apart {};
    std::transform(x.begin(), x.end(), y.begin(), apart.begin(), std::minus<>());
    return square(apart);
}

std::vector<std::size_t> byFirst(const std::vector<Projection>& rows)
{
    std::vector<std::size_t> out(rows.size());
    std::iota(out.begin(), out.end(), std::size_t { 0 });
    std::sort(out.begin(), out.end(), [&](std::size_t i, std::size_t j) { return std::pair(rows[i][0], i) < std::pair(rows[j][0], j); });
    return out;
}

class Matcher {
public:
    Matcher(const std::vector<Projection>& a, const std::vector<Projection>& b) : m_a(a), m_b(b), m_sorted(byFirst(b)), m_taken(b.size()), m_partner(a.size(), -1) { }

    /// Gives every row of A the nearest free one of B that is as near as rounding leaves it.
    void matchNear()
    {
        for (std::size_t i = 0; i < m_a.size(); ++i) {
            const double length = std::sqrt(square(m_a[i])), reach = kNear * length * std::sqrt(static_cast<double>(kProjections)); // of one projection
            const auto begin = std::lower_bound(m_sorted.begin(), m_sorted.end(), m_a[i][0] - reach, [&](std::size_t j, double x) { return m_b[j][0] < x; });
            const auto end = std::upper_bound(begin, m_sorted.end(), m_a[i][0] + reach, [&](double x, std::size_t j) { return x < m_b[j][0]; });
            takeNearest(i, { begin, end }, kNear * kNear * length * length);
        }
    }

    /// The others, to the nearest ones that are left; in order if they are many.
    void matchRest()
    {
        std::vector<std::size_t> left;
        std::copy_if(m_sorted.begin(), m_sorted.end(), std::back_inserter(left), [&](std::size_t j) { return !m_taken[j]; });
        const bool many = left.size() > kMostLeftOver;
        std::sort(left.begin(), left.end());
        std::size_t next = 0;
        for (std::size_t i = 0; i < m_a.size(); ++i) {
            if (m_partner[i] >= 0) {
                continue;
            }
            if (many) {
                m_partner[i] = static_cast<std::int64_t>(left[next++]);
            } else {
                takeNearest(i, left, std::numeric_limits<double>::infinity());
            }
        }
    }

    std::vector<std::int64_t> partners() && { return std::move(m_partner); }

private:
    void takeNearest(std::size_t i, std::span<const std::size_t> among, double within)
    {
        std::optional<std::size_t> nearest;
        for (const auto j : among) {
            const double apart = m_taken[j] ? std::numeric_limits<double>::infinity() : squareApart(m_a[i], m_b[j]);
            if (!m_taken[j] && apart <= within) {
                nearest = j;
                within = apart;
                if (apart == 0) {
                    break; // of equal rows, the first
                }
            }
        }
        if (nearest) {
            m_taken[*nearest] = true;
            m_partner[i] = static_cast<std::int64_t>(*nearest);
        }
    }

    const std::vector<Projection>&m_a, &m_b;
    std::vector<std::size_t> m_sorted; ///< rows of B by their first projection
    std::vector<bool> m_taken;         ///< rows of B
    std::vector<std::int64_t> m_partner; ///< of each row of A; -1: none yet
};

} // namespace

std::optional<std::vector<std::int64_t>> nearestRows(const TensorSourcePtr& a, const TensorSourcePtr& b)
{
    const auto& shape = a->shape();
    if (shape != b->shape() || shape.size() != 2 || shape[0] > kMostRows || elementCount(shape).value_or(kMostElements + 1) > kMostElements
        || elementCount(shape) == 0 || !isFloating(a->dtype()) || !isFloating(b->dtype())) {
        return std::nullopt;
    }
    const auto ofA = projections(a), ofB = projections(b);
    if (ofA.empty() || ofB.empty()) {
        return std::nullopt;
    }
    Matcher matcher(ofA, ofB);
    matcher.matchNear();
    matcher.matchRest();
    return std::move(matcher).partners();
}

} // namespace forkpoint::align
