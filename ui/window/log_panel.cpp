// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/log_panel.h"

#include "ui/models/log_words.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/row_delegate.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>

namespace forkpoint::ui {

namespace {

constexpr int kNotesHeight = 150; ///< at most: the table is what is looked at

QLabel* boldLabel(const QString& text)
{
    auto* label = new QLabel(text);
    QFont bold = label->font();
    bold.setBold(true);
    label->setFont(bold);
    return label;
}

} // namespace

LogPanel::LogPanel(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_rows(new TextTable({ tr("curve"), tr("departs at"), tr("difference"), tr("steps") }, { 1, 2, 3 }, this))
    , m_table(new QTreeView)
    , m_count(new QLabel)
    , m_notesTitle(boldLabel(tr("Notes")))
    , m_notes(wrappedLabel(nullptr, true))
    , m_notesArea(new QScrollArea)
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 7, 0, 8);
    layout->setSpacing(4);
    auto* title = new QHBoxLayout;
    title->setContentsMargins(10, 0, 10, 0);
    title->addWidget(boldLabel(tr("Curves")), 1);
    m_count->setForegroundRole(QPalette::PlaceholderText);
    title->addWidget(m_count);
    layout->addLayout(title);

    m_table->setModel(m_rows);
    m_table->setItemDelegate(new RowDelegate(m_table));
    m_table->setRootIsDecorated(false);
    m_table->setUniformRowHeights(true);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setTextElideMode(Qt::ElideMiddle);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setAccessibleName(tr("Curves of both logs"));
    auto* header = m_table->header();
    header->setStretchLastSection(false);
    header->setSectionsClickable(false);
    header->setMinimumSectionSize(9 * fontMetrics().horizontalAdvance(QLatin1Char('0'))); // numbers keep apart, whatever the language of their titles
    header->setSectionResizeMode(QHeaderView::ResizeToContents);
    header->setSectionResizeMode(0, QHeaderView::Stretch);
    auto* inset = new QHBoxLayout;
    inset->setContentsMargins(7, 0, 7, 0); // so that rows begin where the titles do
    inset->addWidget(m_table);
    layout->addLayout(inset, 1);

    m_notesTitle->setContentsMargins(10, 4, 10, 0);
    layout->addWidget(m_notesTitle);
    m_notes->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_notes->setContentsMargins(10, 0, 10, 0);
    m_notesArea->setFrameShape(QFrame::NoFrame);
    m_notesArea->setWidgetResizable(true);
    m_notesArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_notesArea->setWidget(m_notes);
    m_notesArea->viewport()->setAutoFillBackground(false);
    m_notes->setAutoFillBackground(false);
    layout->addWidget(m_notesArea);

    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
        // By what is selected: a table that gets the focus makes its first row current, and that is nobody's choice.
        const auto rows = m_table->selectionModel()->selectedRows();
        if (!rows.isEmpty() && m_session.logs()) {
            m_session.selectCurve(QString::fromStdString(m_session.logs()->overlays[static_cast<std::size_t>(rows.front().row())].curve.name));
        }
    });
    connect(&session, &Session::structureChanged, this, &LogPanel::refresh);
    connect(&session, &Session::curveSelected, this, &LogPanel::showSelected);
    refresh();
}

QString LogPanel::notes() const { return m_notes->text(); }

void LogPanel::refresh()
{
    const auto& logs = m_session.logs();
    m_rows->setRows(logs ? curveRows(*logs) : std::vector<TextTable::Row>());
    m_count->setText(logs ? QLocale().toString(m_rows->rowCount()) : QString());
    const QStringList notes = logs ? readerNotes(*logs) : QStringList();
    m_notes->setText(notes.join(QLatin1Char('\n')));
    m_notesTitle->setVisible(!notes.isEmpty());
    m_notesArea->setVisible(!notes.isEmpty());
    fitNotes();
    showSelected();
}

/// The row of the scalar that is drawn: the chosen one, else the one that the verdict is about.
void LogPanel::showSelected()
{
    if (!m_session.logs()) {
        return;
    }
    const auto index = m_rows->index(static_cast<int>(m_session.curveIndex()), 0);
    const QSignalBlocker block(m_table->selectionModel());
    m_table->selectionModel()->setCurrentIndex(index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    m_table->scrollTo(index);
    m_table->viewport()->update(); // the blocked signal would have done that
}

/// As tall as the notes are at this width, or scrolled.
void LogPanel::fitNotes()
{
    const int needed = std::max(0, m_notes->heightForWidth(width()));
    m_notesArea->setVerticalScrollBarPolicy(needed > kNotesHeight ? Qt::ScrollBarAlwaysOn : Qt::ScrollBarAlwaysOff);
    m_notesArea->setFixedHeight(std::min(kNotesHeight, needed));
}

void LogPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fitNotes();
}

void LogPanel::paintEvent(QPaintEvent*)
{
    QPainter(this).fillRect(rect(), Theme::current().panel);
}

} // namespace forkpoint::ui
