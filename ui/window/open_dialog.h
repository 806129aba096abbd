// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/window/known_runs.h"

#include <QColor>
#include <QDialog>

class QGridLayout;
class QLineEdit;
class QPushButton;

namespace forkpoint::ui {

/// Which two runs to compare, and which is which: what is asked for by the menu, or after two bundles were dropped at once.
class OpenDialog : public QDialog {
    Q_OBJECT
public:
    explicit OpenDialog(const RunPair& start, QWidget* parent = nullptr);
    RunPair runs() const;
    QPushButton* swapButton() const { return m_swap; }
    QPushButton* compareButton() const { return m_compare; }
    QLineEdit* referenceBox() const { return m_a; }
    QLineEdit* candidateBox() const { return m_b; }

private:
    QLineEdit* addRow(QGridLayout* grid, int row, const QString& letter, const QColor& colour, const QString& role, const QString& path);
    QLineEdit *m_a, *m_b, *m_noise;
    QPushButton *m_swap, *m_compare;
};

} // namespace forkpoint::ui
