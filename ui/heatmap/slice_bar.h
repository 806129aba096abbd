// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/slice.h"

#include <QWidget>

namespace forkpoint::ui {

/// Which dims of an n-d tensor are the picture's rows and columns, and a slider with a number field for each of the others. Shows nothing for
/// tensors of fewer than 3 dims but a choice between the plane and the overview (heatmap::overviewAxes, lastPlaneAxes). Dims are named by number and
/// size, or by what `names` says ("batch").
class SliceBar : public QWidget {
    Q_OBJECT
public:
    explicit SliceBar(QWidget* parent = nullptr);

    void setTensor(const Shape& shape, const heatmap::SliceAxes& axes); ///< emits nothing
    const heatmap::SliceAxes& axes() const { return m_axes; }

signals:
    void axesChanged(const heatmap::SliceAxes& axes); ///< by the user; valid for the shape

private:
    Shape m_shape;
    heatmap::SliceAxes m_axes;
};

} // namespace forkpoint::ui
