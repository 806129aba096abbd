// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/session/session.h"

#include <QWidget>

class QAction;
class QLabel;
class QToolButton;

namespace forkpoint::ui {

/// The verdict of a comparison, or what two logs come to, in a sentence with the numbers behind it; while comparing, how far that is; after a failure, what is wrong and what next.
class VerdictBar : public QWidget {
    Q_OBJECT
public:
    VerdictBar(Session& session, QWidget* parent = nullptr);

    /// Buttons at the right.
    void addAction(QAction* action, bool showShortcut);
    QString headline() const;
    QString detail() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void refresh();
    void recolour();

    Session& m_session;
    QLabel *m_icon, *m_headline, *m_detail;
    QWidget* m_buttons;
    QColor m_background;
};

} // namespace forkpoint::ui
