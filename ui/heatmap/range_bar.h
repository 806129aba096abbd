// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/colour_map.h"
#include "core/heatmap/range.h"
#include "core/heatmap/render.h"
#include "ui/heatmap/range_axis.h"

#include <QWidget>

#include <memory>

class QLineEdit;
class QPainter;

namespace forkpoint::ui {

class RangeHandle;

/// The range of values that the colour map spans: two handles over the histogram of what is on the picture, with the map drawn between
/// them. The histogram's axis is logarithmic and says so; B - A and other signed values have both signs around a zero. NaN and infinities are
/// beside it, counted, in their own colours; what lies outside the range is counted at its ends. The view owns the range; the bar shows it
/// and asks for another. Keys: left and right move the focused handle (with Shift by ten pixels), Home fits, Enter asks for its number, as a double
/// click does. With a diverging map, whose middle is zero, both handles move together. Over-tolerance pictures have classes in place of a range.
class RangeBar : public QWidget {
    Q_OBJECT
public:
    explicit RangeBar(QWidget* parent = nullptr);

    void setHistogram(std::shared_ptr<const heatmap::Histogram> histogram); ///< null: not known yet
    void setRange(const heatmap::Normalisation& normalisation);
    void setColours(heatmap::ColourMap map, const heatmap::SpecialColours& special);
    void setPartial(bool partial); ///< a range that is locked to another tensor's, or that the user has moved, is marked

    const heatmap::Normalisation& range() const { return m_range; } ///< as shown: what was set, or was asked for since
    const RangeAxis& axis() const { return m_axis; }
    QRect barsRect() const { return parts().bars; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

signals:
    void rangeDragged(heatmap::ValueRange range); ///< while a handle moves and once when it is dropped
    void fitRequested();                          ///< double click beside the handles, or Home

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Parts {
        QRect top, bars, strip, ticks, special;
    };
    Parts parts() const;
    int specialWidth() const;
    bool isNarrow(int width) const; ///< NaN and infinities below, not beside
    bool hasClasses() const;
    bool isMirrored() const; ///< the range is as wide below zero as above

    void layOut(); ///< axis and handles
    void describe();
    void ask(bool high, double value);
    void dragTo(bool high, double x);
    void step(bool high, double pixels);
    void askForNumber(bool high);
    void takeNumber();
    void closeNumber();
    QString toolTipAt(const QPoint& place) const;

    void paintTop(QPainter& painter, const QRect& box) const;
    void paintBars(QPainter& painter, const QRect& box) const;
    void paintStrip(QPainter& painter, const QRect& box) const;
    void paintNumbers(QPainter& painter, const QRect& box) const;
    void paintSpecial(QPainter& painter, const QRect& box) const;
    void paintClasses(QPainter& painter, const Parts& box) const;

    std::shared_ptr<const heatmap::Histogram> m_histogram;
    heatmap::Normalisation m_range;
    heatmap::ColourMap m_map = heatmap::ColourMap::Viridis;
    heatmap::SpecialColours m_special;
    bool m_partial = false;

    RangeAxis m_axis;
    heatmap::ValueRange m_before; ///< the drag
    RangeHandle* m_low = nullptr;
    RangeHandle* m_high = nullptr;
    QLineEdit* m_number = nullptr; ///< while a number is asked for
    bool m_numberIsHigh = false;
};

} // namespace forkpoint::ui
