// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/heatmap/heatmap_canvas.h"
#include "ui/heatmap/pair_picture.h"
#include "ui/heatmap/range_keeper.h"

#include <QHash>
#include <QImage>
#include <QString>
#include <QTimer>
#include <QWidget>

#include <memory>
#include <optional>

class QAction;
class QActionGroup;
class QGridLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QStackedWidget;

namespace forkpoint::ui {

class ElementPanel;
class HeatmapBar;
class HeatmapTitle;
class ProfilePlot;
class RangeBar;
class Session;
class SliceBar;

/// The errors of the selected pair, element by element. Follows the session's pair and lane, asks for other elements to be pinned, and keeps for
/// each tensor how it was looked at (slice, zoom) and for each mode its range. What is shown are the tensors that the pair's numbers are of.
class HeatmapView : public QWidget {
    Q_OBJECT
public:
    explicit HeatmapView(Session& session, QWidget* parent = nullptr);
    ~HeatmapView() override;

    bool isBusy() const; ///< the picture shown is older than what was asked for

    heatmap::Mode mode() const { return m_mode; }
    void setMode(heatmap::Mode mode); ///< also keys 1 to 7
    bool flipped() const { return m_flipped; } ///< B is shown for A, or A for B; from a difference: a side
    void setFlipped(bool flipped);    ///< held Space, or the button
    heatmap::Mode seenMode() const;   ///< mode() and flipped() together
    QString emptyText() const;        ///< in place of the picture; empty if it is shown
    QString title() const;            ///< tensor, shape, type, side
    QString caption() const;          ///< one line that says what a picture of this view shows
    QImage picture();                 ///< the view with its caption below, at the screen's scale
    HeatmapCanvas& canvas() { return *m_canvas; }
    ElementPanel& elements() { return *m_elements; }
    RangeBar& rangeBar() { return *m_range; }
    const RangeKeeper& ranges() const { return m_ranges; }
    QAction* goToAction() const { return m_goToAction; } ///< for a menu

    QSize minimumSizeHint() const override { return { 370, 320 }; } ///< narrow, also while the wide arrangement is shown

    enum class ProfileOf { Nothing, Row, Column };
    void setProfileOf(ProfileOf profile);

public slots:
    void goToIndex(); ///< asks for an index, Ctrl+G
    void fit();
    void goToWorst(); ///< pins the element of largest magnitude in this mode

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void keyReleaseEvent(QKeyEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// How a tensor was looked at.
    struct Remembered {
        heatmap::SliceAxes axes;
        CanvasView view;
    };

    void buildParts();
    void buildLayout();
    void buildActions();
    void retranslate();
    void arrange(); ///< for the size
    void applyTheme();

    void follow(); ///< the session's pair and lane
    void followPin();
    void read(std::optional<heatmap::SliceAxes> axes, bool sameTensor);
    void receive(PairPicture picture);
    void stopReading();
    void remember();
    void showEmpty(const QString& text, bool again = false);
    void showPicture();
    void readHistograms(std::vector<heatmap::Mode> modes);
    std::vector<heatmap::Mode> missingHistograms(heatmap::Mode mode) const;
    bool fitRange(heatmap::Mode mode); ///< false: its histograms are not known yet
    void showRange();
    void moveRange(heatmap::ValueRange range);
    void updateTitle();
    void updateParts();

    void pin(heatmap::Cell cell, bool reveal);
    void movePin(int rows, int columns);
    enum class Reading { Hovered, Pinned, Largest };
    void readElement(heatmap::Cell cell, Reading reading);
    void updateProfile();
    void placeProfile();
    void endHold();
    void closeGoTo();
    void takeGoTo();
    void copyPicture();
    void copyRange();
    void pasteRange();
    QString sliceKey() const;
    QString tensorKey(std::size_t pair, std::size_t lane) const;
    heatmap::ColourMap colourMap(heatmap::Mode mode) const;

    Session& m_session;
    const QString m_tag;
    std::shared_ptr<const PairTensors> m_tensors; ///< of the session's comparison
    std::optional<PairPicture> m_picture;         ///< shown
    struct Wanted {
        std::size_t pair = 0, lane = 0;
        bool operator==(const Wanted&) const = default;
    };
    std::optional<Wanted> m_wanted; ///< shown, or being read
    bool m_reading = false;
    bool m_starting = false; ///< a job replaces another: no cancelling by the user
    QTimer m_patience;       ///< until then the old picture stays
    QHash<QString, Remembered> m_memory;
    RangeKeeper m_ranges;

    heatmap::Mode m_mode = heatmap::Mode::AbsDifference;
    bool m_flipped = false;
    bool m_held = false; ///< Space
    heatmap::Mode m_flipSide = heatmap::Mode::B; ///< last seen from a difference
    heatmap::ColourMap m_map = heatmap::ColourMap::Viridis;
    heatmap::ColourMap m_differenceMap = heatmap::ColourMap::BlueWhiteOrange;
    ProfileOf m_profileOf = ProfileOf::Row;
    bool m_pinIsOurs = false; ///< clicked here: the view need not move

    HeatmapTitle* m_title = nullptr;
    HeatmapBar* m_bar = nullptr;
    SliceBar* m_slice = nullptr;
    QWidget* m_goTo = nullptr;
    QLineEdit* m_goToField = nullptr;
    QLabel* m_goToProblem = nullptr;
    HeatmapCanvas* m_canvas = nullptr;
    RangeBar* m_range = nullptr;
    ProfilePlot* m_profile = nullptr;
    ElementPanel* m_elements = nullptr;
    QGridLayout* m_body = nullptr;
    QStackedWidget* m_pages = nullptr;
    QLabel* m_empty = nullptr;
    QPushButton* m_again = nullptr;
    int m_wide = -1;
    std::vector<QAction*> m_modeActions;
    QAction *m_flipAction = nullptr, *m_fitAction = nullptr, *m_zoomIn = nullptr, *m_zoomOut = nullptr, *m_goToAction = nullptr, *m_worstAction = nullptr;
    QAction *m_left = nullptr, *m_right = nullptr, *m_up = nullptr, *m_down = nullptr, *m_unpin = nullptr;
    QAction *m_copyElement = nullptr, *m_copyPicture = nullptr, *m_copyRange = nullptr, *m_pasteRange = nullptr, *m_fitRange = nullptr;
    QActionGroup* m_profileGroup = nullptr;
    QAction* m_profileActions[3] = {};
};

} // namespace forkpoint::ui
