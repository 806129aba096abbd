// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/pyramid.h"

#include <QImage>
#include <QString>
#include <QWidget>

namespace forkpoint::ui {

class HeatmapCanvas;
class Session;

/// The errors of the selected pair, element by element. Follows the session's pair and lane, asks for other elements to be pinned, and keeps for
/// each tensor how it was looked at (slice, zoom) and for each mode its range.
class HeatmapView : public QWidget {
    Q_OBJECT
public:
    explicit HeatmapView(Session& session, QWidget* parent = nullptr);
    ~HeatmapView() override;

    bool isBusy() const; ///< the picture shown is older than what was asked for

    heatmap::Mode mode() const;
    void setMode(heatmap::Mode mode); ///< also keys 1 to 7
    bool flipped() const;             ///< B is shown for A, or A for B
    void setFlipped(bool flipped);    ///< held Space, or the button
    QString emptyText() const;        ///< in place of the picture; empty if it is shown
    QString caption() const;          ///< one line that says what a picture of this view shows
    QImage picture();                 ///< the view with its caption below, at the screen's scale
    HeatmapCanvas& canvas() { return *m_canvas; }

public slots:
    void goToIndex(); ///< asks for an index, Ctrl+G
    void fit();
    void goToWorst(); ///< pins the element of largest magnitude in this mode

private:
    Session& m_session;
    HeatmapCanvas* m_canvas = nullptr;
};

} // namespace forkpoint::ui
