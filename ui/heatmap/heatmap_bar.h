// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/colour_map.h"
#include "core/heatmap/pyramid.h"

#include <QWidget>

#include <array>

class QBoxLayout;
class QComboBox;
class QToolButton;

namespace forkpoint::ui {

/// The heatmap's controls, in one row or, where that is too narrow, two: what is seen, and how. The view connects them.
class HeatmapBar : public QWidget {
    Q_OBJECT
public:
    explicit HeatmapBar(QWidget* parent = nullptr);

    void setMode(heatmap::Mode mode);
    void setColourMap(heatmap::ColourMap map, bool divergingAllowed);
    void setColoured(bool coloured); ///< false: classes have colours of their own
    void setLog(bool log, bool offered);
    void retranslate(const heatmap::PyramidOptions& options);

    QToolButton* mode(heatmap::Mode mode) const { return m_modes[static_cast<std::size_t>(mode)]; }
    QToolButton* flip() const { return m_flip; }
    QComboBox* maps() const { return m_maps; }
    QToolButton* log() const { return m_log; }
    QToolButton* lock() const { return m_lock; }
    QToolButton* profile() const { return m_profile; } ///< its menu: off, row, column
    QToolButton* fit() const { return m_fit; }
    QToolButton* goTo() const { return m_goTo; }
    QToolButton* worst() const { return m_worst; }

signals:
    void modeChosen(heatmap::Mode mode);
    void colourMapChosen(heatmap::ColourMap map);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void arrange();

    std::array<QToolButton*, 7> m_modes {};
    QToolButton *m_flip, *m_log, *m_lock, *m_profile, *m_fit, *m_goTo, *m_worst;
    QComboBox* m_maps;
    QWidget *m_first, *m_second;
    QBoxLayout* m_rows;
};

} // namespace forkpoint::ui
