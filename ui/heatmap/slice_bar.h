// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/slice.h"

#include <QWidget>

#include <vector>

class QComboBox;
class QGridLayout;
class QSlider;
class QSpinBox;
class QToolButton;

namespace forkpoint::ui {

/// Which dims of an n-d tensor are the picture's rows and columns, and a slider with a number field for each of the others. Shows nothing for
/// tensors of fewer than 3 dims but a choice between the plane and the overview (heatmap::overviewAxes, lastPlaneAxes), and nothing at all where
/// these are the same. Dims are named by number and size; a dim of size 1 that is not on the picture has nothing to choose.
class SliceBar : public QWidget {
    Q_OBJECT
public:
    explicit SliceBar(QWidget* parent = nullptr);

    void setTensor(const Shape& shape, const heatmap::SliceAxes& axes); ///< emits nothing; axes that the shape cannot have: lastPlaneAxes
    const heatmap::SliceAxes& axes() const { return m_axes; }
    QSize minimumSizeHint() const override;

signals:
    void axesChanged(const heatmap::SliceAxes& axes); ///< by the user; valid for the shape

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    struct FixedDim {
        std::size_t dim = 0;
        QWidget* line = nullptr;
        QSlider* slider = nullptr;
        QSpinBox* field = nullptr;
    };
    void fillBoxes();
    void makeLines();
    void arrange(); ///< for the width
    void showAxes(); ///< in the controls
    void chooseDims(bool rows, heatmap::DimRange dims);
    void chooseIndex(std::size_t dim, std::int64_t index);
    void choose(heatmap::SliceAxes axes);
    QString words(heatmap::DimRange dims, bool brief = false) const;

    Shape m_shape;
    heatmap::SliceAxes m_axes;
    std::vector<std::int64_t> m_indexes; ///< last chosen, also of dims that are on the picture now

    QWidget* m_presets = nullptr;
    QWidget* m_dims = nullptr;
    QToolButton* m_plane = nullptr;
    QToolButton* m_overview = nullptr;
    QToolButton* m_swap = nullptr;
    QComboBox* m_rows = nullptr;
    QComboBox* m_columns = nullptr;
    std::vector<heatmap::DimRange> m_choices; ///< of both boxes
    std::vector<FixedDim> m_lines;
    QGridLayout* m_layout = nullptr;
    int m_arranged = -1; ///< for which kind of width
};

} // namespace forkpoint::ui
