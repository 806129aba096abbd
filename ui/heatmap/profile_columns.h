// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

// A long row of values as columns of pixels.
namespace forkpoint::ui {

/// What the values over one column of pixels are.
struct ProfileColumn {
    double min = 0, max = 0; ///< of the finite ones
    bool finite = false, nan = false, positiveInf = false, negativeInf = false;

    bool operator==(const ProfileColumn&) const = default;
};

/// Column i shows the values that touch [first + i * step, first + (i + 1) * step), in values; none that it touches is passed over. Columns beyond
/// the values are empty. Value k lies at [k, k + 1). step > 0.
std::vector<ProfileColumn> profileColumns(std::span<const double> values, double first, double step, int columns);

struct ProfileExtent {
    double min = 0, max = 0;
    bool isEmpty = true;

    void add(std::span<const ProfileColumn> columns);
    bool operator==(const ProfileExtent&) const = default;
};

/// Round numbers from at or above `from` to at or below `to`, at most `most` of them and two if that can be; from < to.
std::vector<double> roundNumbers(double from, double to, int most);

} // namespace forkpoint::ui
