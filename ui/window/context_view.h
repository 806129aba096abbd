// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/models/text_table.h"
#include "ui/session/session.h"

#include <QSortFilterProxyModel>
#include <QWidget>

class QCheckBox;
class QLabel;
class QLineEdit;
class QTreeView;

namespace forkpoint::ui {

/// What was different around the runs: environment, configuration, code; unexpected differences first, expected ones dimmed, the rest on
/// demand.
class ContextView : public QWidget {
    Q_OBJECT
public:
    ContextView(Session& session, QWidget* parent = nullptr);
    QTreeView* table() const { return m_table; }
    QLineEdit* filterBox() const { return m_text; }
    QCheckBox* equalBox() const { return m_equal; }

private:
    void refresh();
    void refreshCount();

    Session& m_session;
    TextTable* m_rows;
    QSortFilterProxyModel* m_filter;
    QTreeView* m_table;
    QLineEdit* m_text;
    QCheckBox* m_equal;
    QLabel *m_count, *m_empty;
};

/// What was seen of both runs and what was not, how their parts were put together, and what was wrong with the bundles.
class CoverageView : public QWidget {
    Q_OBJECT
public:
    CoverageView(Session& session, QWidget* parent = nullptr);
    QString text() const;

private:
    void refresh();
    Session& m_session;
    QLabel* m_text;
};

} // namespace forkpoint::ui
