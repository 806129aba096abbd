// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/profile_columns.h"

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

std::vector<ProfileColumn> profileColumns(std::span<const double> values, double first, double step, int columns)
{
    std::vector<ProfileColumn> result(static_cast<std::size_t>(std::max(columns, 0)));
    const auto n = static_cast<double>(values.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
        const double from = first + static_cast<double>(i) * step, to = from + step;
        if (!(to > 0 && from < n)) {
            continue;
        }
        // A value that ends here to within rounding belongs to the column before.
        constexpr double kNone = 1e-6;
        const auto begin = static_cast<std::size_t>(std::clamp(std::floor(from + kNone), 0.0, n - 1));
        const auto end = static_cast<std::size_t>(std::clamp(std::ceil(to - kNone), static_cast<double>(begin) + 1, n));
        ProfileColumn column;
        for (std::size_t k = begin; k < end; ++k) {
            const double value = values[k];
            if (std::isfinite(value)) {
                column.min = column.finite ? std::min(column.min, value) : value;
                column.max = column.finite ? std::max(column.max, value) : value;
                column.finite = true;
            } else {
                column.nan |= std::isnan(value);
                column.positiveInf |= value > 0;
                column.negativeInf |= value < 0;
            }
        }
        result[i] = column;
    }
    return result;
}

void ProfileExtent::add(std::span<const ProfileColumn> columns)
{
    for (const auto& column : columns) {
        if (column.finite) {
            min = isEmpty ? column.min : std::min(min, column.min);
            max = isEmpty ? column.max : std::max(max, column.max);
            isEmpty = false;
        }
    }
}

std::vector<double> roundNumbers(double from, double to, int most)
{
    std::vector<double> best;
    const double raw = to / std::max(most, 1) - from / std::max(most, 1); // never beyond the largest number
    if (!(raw > 0)) {
        return best;
    }
    const int power = static_cast<int>(std::floor(std::log10(raw)));
    for (const int p : { power + 1, power }) {
        for (const double factor : { 5.0, 2.0, 1.0 }) {
            const double step = factor * std::pow(10.0, p);
            const double first = std::ceil(from / step), last = std::floor(to / step);
            if (!(step > 0) || !(last - first < most) || !std::isfinite(first) || !std::isfinite(last)) {
                continue;
            }
            std::vector<double> numbers;
            for (double k = first; k <= last; ++k) {
                numbers.push_back(k * step + 0.0);
            }
            if (numbers.size() > best.size()) {
                best = numbers;
            }
        }
    }
    return best;
}

} // namespace forkpoint::ui
