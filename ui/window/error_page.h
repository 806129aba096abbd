// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/session/session.h"

#include <QWidget>

class QLabel;
class QPushButton;

namespace forkpoint::ui {

/// What is shown where nothing could be compared: what is wrong, where, what to do next, and what of the runs could be read.
class ErrorPage : public QWidget {
    Q_OBJECT
public:
    ErrorPage(Session& session, QWidget* parent = nullptr);
    QString text() const;
    QPushButton* retryButton() const { return m_retry; }
    QPushButton* openButton() const { return m_open; }

signals:
    void openRequested();
    void startRequested();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void refresh();
    Session& m_session;
    QLabel *m_title, *m_where, *m_message, *m_next, *m_readTitle, *m_read;
    QPushButton *m_retry, *m_open, *m_start;
};

} // namespace forkpoint::ui
