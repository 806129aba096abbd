// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/colour_map.h"
#include "core/heatmap/range.h"
#include "core/heatmap/render.h"

#include <QWidget>

#include <memory>

namespace forkpoint::ui {

/// The range of values that the colour map spans: two handles over the histogram of what is on the picture, with the map drawn between
/// them. The histogram's axis is logarithmic and says so; B - A and other signed values have both signs around a zero. NaN and infinities are
/// beside it, counted, in their own colours; what lies outside the range is counted at its ends. The view owns the range; the bar shows it
/// and asks for another. Keys: left and right move the focused handle, Home fits. A double click on a handle asks for its number.
class RangeBar : public QWidget {
    Q_OBJECT
public:
    explicit RangeBar(QWidget* parent = nullptr);

    void setHistogram(std::shared_ptr<const heatmap::Histogram> histogram); ///< null: not known yet
    void setRange(const heatmap::Normalisation& normalisation);
    void setColours(heatmap::ColourMap map, const heatmap::SpecialColours& special);
    void setPartial(bool partial); ///< a range that is locked to another tensor's, or that the user has moved, is marked

    const heatmap::Normalisation& range() const { return m_range; }
    QSize sizeHint() const override;

signals:
    void rangeDragged(heatmap::ValueRange range); ///< while a handle moves and once when it is dropped
    void fitRequested();                          ///< double click beside the handles, or Home

private:
    heatmap::Normalisation m_range;
    // painting, hit testing and dragging
};

} // namespace forkpoint::ui
