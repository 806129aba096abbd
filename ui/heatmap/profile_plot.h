// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/heatmap/profile_columns.h"

#include <QWidget>

#include <optional>
#include <vector>

class QPainter;

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

    double positionOf(double element) const; ///< the pixel at which an element begins
    double elementAt(double x) const;
    QRect plotRect() const;
    QString readout() const; ///< the header's words: title, and both values under the mouse or at the marker
    QSize sizeHint() const override { return { 480, 130 }; }
    QSize minimumSizeHint() const override { return { 120, 72 }; }

signals:
    void hovered(double element); ///< NaN: left

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    struct Scale { ///< of values
        double low = 0, high = 1;
        int top = 0, bottom = 1; ///< pixels
        double y(double value) const;
    };
    std::optional<std::size_t> valueUnder(double element) const;
    double readElement() const; ///< under the mouse, or else the marker; NaN: none
    void hover(double element);

    void paintHeader(QPainter& painter) const;
    void paintAxis(QPainter& painter, const Scale& scale) const;
    void paintGaps(QPainter& painter, const QRect& box, const std::vector<ProfileColumn>& columns, bool second) const;
    void paintSide(QPainter& painter, const Scale& scale, const std::vector<ProfileColumn>& columns, bool second) const;
    void paintMarker(QPainter& painter, const Scale& scale) const;

    Profile m_profile;
    double m_firstElement = 0, m_elementsPerPixel = 1;
    int m_left = 0;
    double m_marker, m_hovered; ///< NaN: none
};

} // namespace forkpoint::ui
