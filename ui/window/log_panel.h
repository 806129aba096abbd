// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/models/text_table.h"
#include "ui/session/session.h"

#include <QWidget>

class QLabel;
class QScrollArea;
class QTreeView;

namespace forkpoint::ui {

/// Beside the curves of two logs: every scalar with the step from which it departs, and what the readers left out or guessed. A row selects
/// the scalar that is drawn.
class LogPanel : public QWidget {
    Q_OBJECT
public:
    LogPanel(Session& session, QWidget* parent = nullptr);
    QTreeView* table() const { return m_table; }
    QString notes() const; ///< as shown; empty if there are none

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void refresh();
    void showSelected();
    void fitNotes();

    Session& m_session;
    TextTable* m_rows;
    QTreeView* m_table;
    QLabel *m_count, *m_notesTitle, *m_notes;
    QScrollArea* m_notesArea;
};

} // namespace forkpoint::ui
