// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/curves/curve_text.h"

#include <QWidget>

#include <optional>

namespace forkpoint::ui {

/// Legend and readout in one line: what each line is, and its value at the step of the crosshair or of the selection.
class CurveLegend : public QWidget {
    Q_OBJECT
public:
    explicit CurveLegend(QWidget* parent = nullptr);

    void setRuns(const QString& a, const QString& b);
    void setReadout(std::optional<CurveReadout> readout);
    void setDifferenceColour(const QColor& colour);
    const std::optional<CurveReadout>& readout() const { return m_readout; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_a, m_b;
    std::optional<CurveReadout> m_readout;
    QColor m_differenceColour;
};

} // namespace forkpoint::ui
