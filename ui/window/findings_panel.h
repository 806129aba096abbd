// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/session/session.h"

#include <QWidget>

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace forkpoint::ui {

/// The place of explanations. Until this version computes any it says so, and shows what is known: the fork point with its numbers, its
/// source line and the inputs that still agree.
class FindingsPanel : public QWidget {
    Q_OBJECT
public:
    FindingsPanel(Session& session, QWidget* parent = nullptr);
    QString text() const; ///< all of it, for tests

private:
    void refresh();

    Session& m_session;
    QLabel *m_note, *m_numbers, *m_source, *m_inputsTitle;
    QWidget* m_card;
    QPushButton* m_fork;
    QWidget* m_inputs;
    QVBoxLayout* m_inputsLayout;
};

} // namespace forkpoint::ui
