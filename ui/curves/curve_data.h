// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/curves/overlay.h"
#include "ui/curves/plot_library.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

// Scalar series made ready to be drawn: gaps where nothing can be drawn, the smoothed line, what had to be left out. Pure functions, run on
// a worker for long series.
namespace forkpoint::ui {

struct CurveOptions {
    double smoothing = 0; ///< weight of the past in the moving average, [0, 1); 0: off
    bool logValues = false; ///< the axis of A and B
    bool logDifference = false; ///< the difference is then drawn as |B - A|
};

/// Finite, and small enough for the axes of the plots: a range that reaches further is refused by QCustomPlot.
inline constexpr double kLargestDrawn = 1e250;
inline bool isDrawable(double value) { return value >= -kLargestDrawn && value <= kLargestDrawn; }

enum class NonFinite : std::uint8_t { NaN, PlusInf, MinusInf };

struct NonFinitePoint {
    std::int32_t step = 0;
    NonFinite what = NonFinite::NaN;
};

struct Bounds {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    bool isEmpty() const { return !(low <= high); }
    void add(double value)
    {
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    void add(const Bounds& other)
    {
        low = other.low < low ? other.low : low;
        high = other.high > high ? other.high : high;
    }
};

using GraphData = QSharedPointer<QCPGraphDataContainer>;

struct PlottedLine {
    GraphData raw, smooth; ///< NaN where the line has a gap; smooth is empty without smoothing
    Bounds values; ///< of what is drawn of raw
    std::vector<NonFinitePoint> nonFinite; ///< ascending; with those too large to be drawn
    std::size_t tooLarge = 0; ///< finite, but beyond kLargestDrawn: drawn like infinity
    std::size_t points = 0;
    std::size_t hidden = 0; ///< finite, but not positive on a log axis
};

struct PlottedCurve {
    PlottedLine a, b, difference; ///< difference: at the steps that both have
    std::int32_t firstStep = 0, lastStep = 0;
    std::size_t finite = 0; ///< common steps at which both are finite
    std::size_t unequal = 0; ///< common steps with another value in B
};

PlottedCurve plotted(const curves::Overlay& overlay, const CurveOptions& options);

/// The step of either side that lies nearest; nullopt without points.
std::optional<std::int32_t> nearestStep(const curves::Overlay& overlay, double step);

/// The next (direction 1) or previous (-1) step of either side; nullopt at the end.
std::optional<std::int32_t> neighbourStep(const curves::Overlay& overlay, std::int32_t step, int direction);

/// |B - A| / max(|A|, |B|), as everywhere in Forkpoint; 0 for equal values.
double relativeDifference(double a, double b);

} // namespace forkpoint::ui
