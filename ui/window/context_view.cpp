// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/context_view.h"

#include "ui/models/detail_rows.h"
#include "ui/models/verdict_words.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/row_delegate.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QScrollArea>
#include <QTreeView>
#include <QVBoxLayout>

namespace forkpoint::ui {

ContextView::ContextView(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_rows(new TextTable({ QString(), tr("section"), tr("key"), tr("A"), tr("B") }, {}, this))
    , m_filter(new QSortFilterProxyModel(this))
    , m_table(new QTreeView)
    , m_text(new QLineEdit)
    , m_equal(new QCheckBox(tr("equal ones too")))
    , m_count(new QLabel)
    , m_empty(wrappedLabel(this, true))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* top = new QHBoxLayout;
    top->setContentsMargins(10, 6, 10, 4);
    top->setSpacing(8);
    m_text->setPlaceholderText(tr("Filter keys and values"));
    m_text->setClearButtonEnabled(true);
    m_text->setMaximumWidth(320);
    m_text->setAccessibleName(tr("Filter the context"));
    m_count->setForegroundRole(QPalette::PlaceholderText);
    top->addWidget(m_text, 1);
    top->addWidget(m_equal);
    top->addStretch(1);
    top->addWidget(m_count);
    layout->addLayout(top);
    m_filter->setSourceModel(m_rows);
    m_filter->setFilterKeyColumn(-1);
    m_filter->setFilterCaseSensitivity(Qt::CaseInsensitive);
    m_table->setModel(m_filter);
    m_table->setRootIsDecorated(false);
    m_table->setUniformRowHeights(true);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setAllColumnsShowFocus(true);
    m_table->setAccessibleName(tr("Configuration, environment and code"));
    m_table->header()->setStretchLastSection(true);
    const int letter = fontMetrics().horizontalAdvance(QLatin1Char('0'));
    m_table->header()->setMinimumSectionSize(16);
    m_table->setColumnWidth(0, 26);
    m_table->setColumnWidth(1, 14 * letter);
    m_table->setColumnWidth(2, 32 * letter);
    m_table->setColumnWidth(3, 26 * letter);
    m_table->setItemDelegate(new RowDelegate(m_table));
    auto* inset = new QHBoxLayout;
    inset->setContentsMargins(7, 0, 0, 0);
    inset->addWidget(m_table);
    layout->addLayout(inset, 1);
    m_empty->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
    m_empty->setContentsMargins(16, 24, 16, 24);
    layout->addWidget(m_empty, 1);
    connect(m_text, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_filter->setFilterFixedString(text);
        refreshCount();
    });
    connect(m_equal, &QCheckBox::toggled, this, &ContextView::refresh);
    connect(&session, &Session::structureChanged, this, &ContextView::refresh);
    refresh();
}

void ContextView::refresh()
{
    const auto& comparison = m_session.comparison();
    m_rows->setRows(comparison ? contextRows(*comparison, m_equal->isChecked()) : std::vector<TextTable::Row>());
    refreshCount();
}

void ContextView::refreshCount()
{
    const auto& comparison = m_session.comparison();
    const auto count = comparison ? countContext(*comparison) : ContextCount();
    m_count->setText(count.all < 0 ? QString()
                                   : tr("%1 unexpected, %2 expected differences").arg(count.unexpected).arg(count.all - count.unexpected));
    const bool empty = m_filter->rowCount() == 0;
    m_table->setVisible(!empty);
    m_empty->setVisible(empty);
    m_empty->setText(!comparison          ? QString()
                         : count.all < 0  ? tr("Neither run recorded its environment and configuration.")
                         : !m_text->text().isEmpty() ? tr("No entry contains “%1”.").arg(m_text->text())
                                                     : tr("Environment, configuration and code are recorded and do not differ."));
}

CoverageView::CoverageView(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_text(wrappedLabel(nullptr))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* scroll = new QScrollArea;
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    m_text->setContentsMargins(12, 10, 12, 10);
    m_text->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    scroll->setWidget(m_text);
    layout->addWidget(scroll);
    connect(&session, &Session::structureChanged, this, &CoverageView::refresh);
    connect(&session, &Session::verdictReady, this, &CoverageView::refresh);
    refresh();
}

QString CoverageView::text() const { return m_text->text(); }

void CoverageView::refresh()
{
    const auto& comparison = m_session.comparison();
    m_text->setText(comparison ? coverageDetails(*comparison).join(QLatin1Char('\n')) : QString());
}

} // namespace forkpoint::ui
