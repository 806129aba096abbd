// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/models/pair_filter.h"
#include "ui/models/pair_model.h"
#include "ui/session/session.h"

#include <QAbstractButton>
#include <QTreeView>
#include <QWidget>

#include <array>

class QCheckBox;
class QGridLayout;
class QLabel;
class QLineEdit;

namespace forkpoint::ui {

/// A severity's count; checked: only checked severities are listed.
class SeverityButton : public QAbstractButton {
    Q_OBJECT
public:
    SeverityButton(diagnose::Severity severity, QWidget* parent = nullptr);
    void setCount(int count);
    int count() const { return m_count; }
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    diagnose::Severity m_severity;
    int m_count = 0;
};

/// Pairs in execution order: the list that an engineer reads from top to bottom, and the accessible route to the selection that the
/// canvases share.
class PairPanel : public QWidget {
    Q_OBJECT
public:
    enum class Form {
        Narrow, ///< icon, short name, multiple of the floor
        Wide,   ///< every column
    };
    PairPanel(Session& session, PairModel& model, Form form, QWidget* parent = nullptr);

    QTreeView* table() const { return m_table; }
    QLineEdit* filterBox() const { return m_text; }
    QLabel* countLabel() const { return m_count; }
    QCheckBox* allStepsBox() const { return m_allSteps; }
    SeverityButton* severityButton(diagnose::Severity severity) const { return m_severities[static_cast<std::size_t>(severity)]; }
    PairFilter& filter() { return m_filter; }
    void focusFilter();

protected:
    bool eventFilter(QObject* object, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void selectionFromTable();
    void selectionToTable(bool scroll = true);
    void applySeverities();
    void applyStep();
    void refreshCounts();
    void fitColumns();   ///< the name takes what the numbers leave
    void fitSeverities();
    void showSelected(); ///< once everything has its final size

    Session& m_session;
    PairModel& m_model;
    Form m_form;
    PairFilter m_filter;
    QTreeView* m_table;
    QLineEdit* m_text;
    QLabel *m_title, *m_count, *m_empty;
    QCheckBox* m_allSteps;
    std::array<SeverityButton*, kSeverities> m_severities {};
    QGridLayout* m_grid = nullptr; ///< of the severities
    int m_perRow = 0;
    bool m_updating = false; ///< the table's current row changes, but not by the user
    int m_scroll = 0;        ///< before a reset of the filter
};

} // namespace forkpoint::ui
