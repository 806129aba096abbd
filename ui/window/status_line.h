// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/session/session.h"

#include <QStatusBar>
#include <QTimer>

#include <vector>

class QLabel;
class QProgressBar;
class QToolButton;

namespace forkpoint::ui {

class ElidedLabel;

/// The window's last line: what was compared with what means, and the job that runs, with a button that stops it.
class StatusLine : public QStatusBar {
    Q_OBJECT
public:
    StatusLine(Session& session, const QString& language, QWidget* parent = nullptr);
    QToolButton* cancelButton() const { return m_cancel; }
    QString text() const;

private:
    void refresh();
    void followJobs();
    void showJob(bool show);

    Session& m_session;
    QLabel *m_compared, *m_floor;
    ElidedLabel* m_job;
    QLabel* m_right;
    QProgressBar* m_progress;
    QToolButton* m_cancel;
    struct TitledJob {
        QString tag, text;
        double fraction = 0;
    };
    std::vector<TitledJob> m_titled; ///< that run, oldest first
    QTimer m_patience;
};

} // namespace forkpoint::ui
