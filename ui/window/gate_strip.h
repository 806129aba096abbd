// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/models/verdict_words.h"
#include "ui/session/session.h"

#include <QAbstractButton>
#include <QWidget>

#include <array>

class QLabel;

namespace forkpoint::ui {

/// A station of the step: its state by icon and colour, its word, its counts.
class GateButton : public QAbstractButton {
    Q_OBJECT
public:
    GateButton(diagnose::Gate gate, QWidget* parent = nullptr);

    void setTally(const diagnose::GateSummary& tally, const QString& counts, const QString& tip);
    void setShowCounts(bool show);
    int widthWith(bool counts) const;
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    diagnose::Severity mark() const;
    diagnose::Gate m_gate;
    diagnose::GateSummary m_tally;
    QString m_counts;
    bool m_showCounts = true;
};

/// The gates of a step in order; a click shows only that phase in list and graph, another one shows all again. Arrow keys move along.
class GateStrip : public QWidget {
    Q_OBJECT
public:
    GateStrip(Session& session, QWidget* parent = nullptr);
    GateButton* button(diagnose::Gate gate) const { return m_buttons[static_cast<std::size_t>(gate)]; }

signals:
    void coverageRequested();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    void refresh();
    void fit();

    Session& m_session;
    std::array<GateButton*, diagnose::kGates> m_buttons {};
    QAbstractButton* m_coverage;
};

} // namespace forkpoint::ui
