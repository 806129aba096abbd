// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/session/session.h"

#include <QAbstractButton>
#include <QWidget>

class QComboBox;
class QLabel;
class QToolButton;

namespace forkpoint::ui {

/// One run: its colour, its letter, its name, its ranks. A click opens a menu.
class RunChip : public QAbstractButton {
    Q_OBJECT
public:
    enum class Role { Reference, Candidate, Noise };
    RunChip(Role role, QWidget* parent = nullptr);

    void setRun(const QString& name, const QString& ranks, const QString& path); ///< `name` empty: none
    Role role() const { return m_role; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString letter() const;
    QString lead() const; ///< "reference:"
    Role m_role;
    QString m_name, m_ranks;
};

/// What is compared (chips, swap) and what of it is shown (step, rank, colour).
class RunBar : public QWidget {
    Q_OBJECT
public:
    RunBar(Session& session, QWidget* parent = nullptr);

    RunChip* chip(RunChip::Role role) const;
    QToolButton* swapButton() const { return m_swap; }
    QComboBox* stepBox() const { return m_step; }
    QComboBox* laneBox() const { return m_lane; }
    QComboBox* colourBox() const { return m_colour; }
    void goToStep(int direction); ///< next (1) or previous (-1) compared step

signals:
    void openRequested(forkpoint::ui::RunChip::Role role);
    void noiseRemoved();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void refreshRuns();
    void refreshNoise();
    void refreshSteps();
    void refreshLanes();
    void showMenu(RunChip* chip);

    Session& m_session;
    RunChip *m_a, *m_b, *m_noise;
    QToolButton *m_swap, *m_previous, *m_next;
    QComboBox *m_step, *m_lane, *m_colour;
    QWidget* m_shownControls; ///< step, rank, colour: of what was recorded
};

} // namespace forkpoint::ui
