// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

#include <vector>

namespace forkpoint::ui {

/// The values of A and B along a row or a column of the picture. Where several elements share a cell, the one of largest magnitude.
struct Profile {
    std::vector<double> a, b; ///< NaN and infinities where there is no finite value; equally long
    double firstElement = 0;  ///< the place of the first value on the axis
    double elementsPerValue = 1;
    QString title;            ///< "row 17", already translated
};

/// A profile under (or beside) the heatmap: both sides in their colours and line styles, a marker at the pinned element, value axis with numbers.
/// Its axis of places is the view's: what is under a pixel of the heatmap is above the same pixel here.
class ProfilePlot : public QWidget {
    Q_OBJECT
public:
    explicit ProfilePlot(QWidget* parent = nullptr);

    void setProfile(Profile profile);
    void setView(double firstElement, double elementsPerPixel, int leftPixels); ///< of the heatmap above; leftPixels: from this widget's left edge to the heatmap's
    void setMarker(double element); ///< NaN: none

signals:
    void hovered(double element); ///< NaN: left

private:
    Profile m_profile;
};

} // namespace forkpoint::ui
