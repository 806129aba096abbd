// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/models/text_table.h"
#include "ui/session/session.h"

#include <QWidget>

class QLabel;
class QTreeView;

namespace forkpoint::ui {

/// Everything measured on the selected pair, how it was matched and put together.
class DetailsPanel : public QWidget {
    Q_OBJECT
public:
    DetailsPanel(Session& session, QWidget* parent = nullptr);

    QTreeView* metricTable() const { return m_metricTable; }
    QTreeView* laneTable() const { return m_laneTable; }
    QString notes() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void refresh();

    Session& m_session;
    QLabel* m_notes;
    QLabel* m_empty;
    QWidget* m_body;
    TextTable *m_metrics, *m_moreMetrics, *m_sides, *m_lanes;
    QTreeView *m_metricTable, *m_moreMetricTable, *m_sideTable, *m_laneTable;
    bool m_twoColumns = false; ///< of metrics
};

} // namespace forkpoint::ui
