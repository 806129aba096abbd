// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/range.h"
#include "core/heatmap/render.h"

#include <QString>

#include <cstdint>
#include <functional>
#include <vector>

namespace forkpoint::ui {

/// Places of values on the range bar's axis: logarithmic by magnitude on each side of zero, and linear in a narrow band about it. So every finite
/// value has its place, and places rise with values. The band ends at the magnitude below which 0.1 % of the values other than 0 lie.
class RangeAxis {
public:
    RangeAxis() = default;
    /// Holds all values larger than the band and both ends of the range, with room beyond. Null: the range alone. Symmetric: as far below zero as
    /// above. One side only if neither values nor range are negative.
    RangeAxis(const heatmap::Histogram* histogram, const heatmap::Normalisation& normalisation, bool symmetric);

    void setPlace(double left, double width); ///< in pixels

    double left() const { return m_left; }
    double right() const { return m_left + m_width; }
    double positionOf(double value) const; ///< in pixels, within the axis; NaN is where zero is
    double valueAt(double position) const; ///< of the nearest place on the axis
    bool twoSided() const { return m_octavesBelow > 0; }
    double bandEdge() const { return m_edge; } ///< the magnitude at which the band ends
    double lowest() const;
    double highest() const;
    int usefulDigits() const; ///< significant decimal digits that tell neighbouring pixels apart

    struct Tick {
        double value = 0, position = 0;
        QString text;
    };
    /// Zero and powers of ten, in order, no two texts closer than `gap` pixels.
    std::vector<Tick> ticks(const std::function<double(const QString&)>& widthOf, double gap) const;

    bool operator==(const RangeAxis&) const = default;

private:
    double bandWidth() const;
    double zeroPosition() const;
    double pixelsPerOctave() const;

    double m_edge = 1;
    double m_octavesBelow = 0, m_octavesAbove = 1; ///< outside the band
    double m_left = 0, m_width = 100;
};

/// How high the histogram stands in each of `columns` equal columns of the axis, as counts: of several bins that share a column the largest, so that
/// a single element stays to be seen. Those in the band about zero are counted together.
std::vector<std::int64_t> barCounts(const heatmap::Histogram& histogram, const RangeAxis& axis, int columns);
/// Zeros and values that lie within the band.
std::int64_t countInBand(const heatmap::Histogram& histogram, const RangeAxis& axis);

} // namespace forkpoint::ui
