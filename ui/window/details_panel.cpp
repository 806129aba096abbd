// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/details_panel.h"

#include "ui/models/detail_rows.h"
#include "ui/models/pair_words.h"
#include "ui/models/verdict_words.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/row_delegate.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QTreeView>
#include <QVBoxLayout>

#include <iterator>

namespace forkpoint::ui {

namespace {

/// A table as tall as its rows, so that the panel scrolls as one.
class FittedTable : public QTreeView {
public:
    explicit FittedTable(TextTable* model)
    {
        setModel(model);
        setItemDelegate(new RowDelegate(this));
        setRootIsDecorated(false);
        setUniformRowHeights(true);
        setFrameShape(QFrame::NoFrame);
        setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setSelectionMode(QAbstractItemView::SingleSelection);
        setTextElideMode(Qt::ElideRight); // a number comes first, where it was found after it
        setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
        header()->setStretchLastSection(false);
        header()->setSectionsClickable(false);
        header()->setSectionResizeMode(QHeaderView::Stretch);
        connect(model, &QAbstractItemModel::modelReset, this, [this] { updateGeometry(); });
    }
    QSize sizeHint() const override
    {
        const int rows = model()->rowCount();
        const int row = rows > 0 ? rowHeight(model()->index(0, 0)) : 0;
        return { 200, rows * row + header()->sizeHint().height() + 2 };
    }
    QSize minimumSizeHint() const override { return { 120, sizeHint().height() }; }
};

} // namespace

DetailsPanel::DetailsPanel(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_notes(wrappedLabel(nullptr, true))
    , m_empty(wrappedLabel(nullptr, true))
    , m_body(new QWidget)
    , m_metrics(new TextTable({ tr("metric"), tr("value") }, { 1 }, this))
    , m_moreMetrics(new TextTable({ tr("metric"), tr("value") }, { 1 }, this))
    , m_sides(new TextTable({ tr("side"), tr("A"), tr("B") }, { 1, 2 }, this))
    , m_lanes(new TextTable({ tr("rank"), tr("× floor"), tr("error"), tr("max |d|") }, { 1, 2, 3 }, this))
    , m_metricTable(new FittedTable(m_metrics))
    , m_moreMetricTable(new FittedTable(m_moreMetrics))
    , m_sideTable(new FittedTable(m_sides))
    , m_laneTable(new FittedTable(m_lanes))
{
    setAccessibleName(tr("Selected pair"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* body = new QVBoxLayout(m_body);
    body->setContentsMargins(7, 7, 7, 8);
    body->setSpacing(8);
    m_notes->setContentsMargins(3, 0, 3, 0);
    body->addWidget(m_notes);
    body->addWidget(m_laneTable);
    auto* metrics = new QHBoxLayout;
    metrics->setSpacing(12);
    metrics->addWidget(m_metricTable, 1, Qt::AlignTop);
    metrics->addWidget(m_moreMetricTable, 1, Qt::AlignTop);
    body->addLayout(metrics);
    body->addWidget(m_sideTable);
    body->addStretch(1);
    auto* scroll = new QScrollArea;
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(m_body);
    scroll->viewport()->setAutoFillBackground(false);
    m_body->setAutoFillBackground(false);
    m_empty->setContentsMargins(10, 7, 10, 8);
    layout->addWidget(m_empty);
    layout->addWidget(scroll, 1);

    m_metricTable->setAccessibleName(tr("Metrics"));
    m_laneTable->setAccessibleName(tr("Ranks"));
    m_laneTable->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    connect(m_laneTable->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
        // By what is selected: a table that gets the focus makes its first row current, and that is nobody's choice.
        const auto rows = m_laneTable->selectionModel()->selectedRows();
        if (!rows.isEmpty()) {
            m_session.selectLane(rows.front().row());
        }
    });
    connect(&session, &Session::structureChanged, this, &DetailsPanel::refresh);
    connect(&session, &Session::resultsChanged, this, [this] {
        // Rows are rebuilt only when the selected pair has just become ready.
        if (m_session.selection().pair && m_metrics->rowCount() == 0) {
            refresh();
        }
    });
    connect(&session, &Session::verdictReady, this, &DetailsPanel::refresh);
    connect(&session, &Session::pairSelected, this, &DetailsPanel::refresh);
    connect(&session, &Session::laneSelected, this, &DetailsPanel::refresh);
    refresh();
}

QString DetailsPanel::notes() const { return m_notes->text(); }

void DetailsPanel::refresh()
{
    const auto& comparison = m_session.comparison();
    const auto pair = m_session.selection().pair;
    const bool any = comparison && pair;
    m_body->setVisible(any);
    m_empty->setVisible(!any);
    if (!any) {
        m_empty->setText(tr("Choose a pair in the list, or press F8 for the next divergence."));
        m_notes->clear();
        m_metrics->setRows({});
        return;
    }
    const auto& p = comparison->structure().alignment.pairs[*pair];
    const int lane = m_session.selection().lane;
    QStringList notes;
    notes += pairNumbers(*comparison, *pair) + tr(".", "end of a sentence");
    notes += ruleSentence(p);
    if (!p.assembly.empty()) {
        notes += tr("Put together: %1.").arg(shown(p.assembly));
    }
    for (const auto& note : { shown(p.note), *pair < comparison->ready() ? shown(comparison->result(*pair).note) : QString(),
                              p.source.empty() ? QString() : tr("Called at %1.").arg(shown(p.source)) }) {
        if (!note.isEmpty() && !notes.contains(note) && notes.front() != note + tr(".", "end of a sentence")) {
            notes += note;
        }
    }
    m_notes->setText(notes.join(QLatin1Char('\n')));
    // Beside each other where there is room: most are seen without scrolling.
    auto rows = metricRows(*comparison, *pair, lane);
    const std::size_t first = m_twoColumns ? (rows.size() + 1) / 2 : rows.size();
    std::vector<TextTable::Row> rest(std::make_move_iterator(rows.begin() + static_cast<std::ptrdiff_t>(first)), std::make_move_iterator(rows.end()));
    rows.resize(first);
    m_metrics->setRows(std::move(rows));
    m_moreMetrics->setRows(std::move(rest));
    m_sides->setRows(sideRows(*comparison, *pair, lane));
    {
        const QSignalBlocker block(m_laneTable->selectionModel());
        m_lanes->setRows(laneRows(*comparison, *pair));
        if (lane >= 0) {
            m_laneTable->selectionModel()->select(m_lanes->index(lane, 0), QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
        }
    }
    m_metricTable->setVisible(m_metrics->rowCount() > 0);
    m_moreMetricTable->setVisible(m_moreMetrics->rowCount() > 0);
    m_sideTable->setVisible(m_sides->rowCount() > 0);
    m_laneTable->setVisible(m_lanes->rowCount() > 0);
}

void DetailsPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    const bool two = width() >= fontMetrics().averageCharWidth() * 62;
    if (two != m_twoColumns) {
        m_twoColumns = two;
        refresh();
    }
}

void DetailsPanel::paintEvent(QPaintEvent*)
{
    QPainter(this).fillRect(rect(), Theme::current().panel);
}

} // namespace forkpoint::ui
