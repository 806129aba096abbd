// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

#include <functional>
#include <optional>

namespace forkpoint::ui {

/// One end of a range: a line with a grip that hangs outwards, so that two handles at one place can both be taken hold of. It says what it is asked
/// for and does not move by itself.
class RangeHandle : public QWidget {
    Q_OBJECT
public:
    static constexpr int kOutwards = 12, kInwards = 3; ///< pixels beside the line

    RangeHandle(bool high, QWidget* parent);

    bool isHeld() const { return m_grab.has_value(); }
    void place(double x, const QRect& rows); ///< the line; in the parent's pixels
    double lineAt() const { return m_x; }    ///< in the parent's pixels

signals:
    void taken();
    void draggedTo(double x); ///< the parent's pixels
    void dropped();
    void dragCancelled();
    void steps(double pixels); ///< by key
    void fitWanted();
    void numberWanted();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    bool m_high;
    double m_x = 0;
    bool m_moved = false; ///< since the press
    std::optional<double> m_grab; ///< from the line to where the mouse took hold of it
};

} // namespace forkpoint::ui
