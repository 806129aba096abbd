// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/pair_panel.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"

#include <QApplication>
#include <QCheckBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QPainter>
#include <QResizeEvent>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace forkpoint::ui {

namespace {

using diagnose::Severity;

/// Worst first, as they are looked for.
constexpr std::array<Severity, kSeverities> kOrder
    = { Severity::Divergent, Severity::Drift, Severity::Noise, Severity::Identical, Severity::Invalid, Severity::Unmatched };

/// "red / …attention.query.bias": the end of a name tells it from its neighbours.
QString shortened(const QString& name, bundle::Phase phase, const QFontMetrics& metrics, int width)
{
    const QString prefix = phaseWord(phase) + QStringLiteral(" / ");
    const QString brief = name.startsWith(prefix) ? phaseAbbreviation(phase) + QStringLiteral(" / ") : QString();
    const QString rest = brief.isEmpty() ? name : name.mid(prefix.size());
    return brief + metrics.elidedText(rest, Qt::ElideLeft, std::max(0, width - metrics.horizontalAdvance(brief)));
}

class PairDelegate : public QStyledItemDelegate {
public:
    PairDelegate(PairPanel::Form form, QObject* parent)
        : QStyledItemDelegate(parent)
        , m_form(form)
    {
    }

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        return { QStyledItemDelegate::sizeHint(option, index).width(), option.fontMetrics.height() + 6 };
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        QStyledItemDelegate::paint(painter, option, index);
        if (index.column() == PairModel::State && index.data(PairModel::IsForkRole).toBool()) {
            painter->fillRect(QRect(option.rect.left(), option.rect.top(), 3, option.rect.height()), Theme::current().strong(Severity::Divergent));
        }
    }

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override
    {
        QStyledItemDelegate::initStyleOption(option, index);
        const auto column = static_cast<PairModel::Column>(index.column());
        option->textElideMode = Qt::ElideMiddle;
        option->state &= ~QStyle::State_HasFocus;
        if (column == PairModel::Name) {
            option->font.setBold(index.data(PairModel::IsForkRole).toBool());
            if (m_form == PairPanel::Form::Narrow) {
                option->text = shortened(index.data(PairModel::ShortNameRole).toString(), static_cast<bundle::Phase>(index.data(PairModel::PhaseRole).toInt()), QFontMetrics(option->font), option->rect.width() - 8);
            }
        } else if (column == PairModel::State && m_form == PairPanel::Form::Narrow) {
            option->text.clear();
        }
        const bool number = column >= PairModel::Ratio && column <= PairModel::MaxAbs;
        option->font = number ? monospace(option->font) : option->font;
    }

private:
    PairPanel::Form m_form;
};

int widthOf(PairModel::Column column, PairPanel::Form form, const QFontMetrics& metrics)
{
    const int letter = metrics.horizontalAdvance(QLatin1Char('0'));
    switch (column) {
    case PairModel::State:
        return form == PairPanel::Form::Narrow ? 28 : 34 + 10 * letter;
    case PairModel::Name:
        return 26 * letter;
    case PairModel::Ratio:
        return 9 * letter + 12;
    case PairModel::ErrorColumn:
    case PairModel::MaxAbs:
        return 11 * letter + 8;
    case PairModel::Added:
        return 14 * letter + 8;
    case PairModel::DTypeColumn:
        return 10 * letter + 8;
    default:
        return 14 * letter;
    }
}

} // namespace

SeverityButton::SeverityButton(Severity severity, QWidget* parent)
    : QAbstractButton(parent)
    , m_severity(severity)
{
    setCheckable(true);
    setFocusPolicy(Qt::StrongFocus);
    setCount(0);
}

void SeverityButton::setCount(int count)
{
    m_count = count;
    setAccessibleName(QStringLiteral("%1 %2").arg(severityWord(m_severity)).arg(count));
    setToolTip(tip(severityWord(m_severity), tr("%n pair(s). Click to list only these; several can be chosen.", nullptr, count)));
    updateGeometry();
    update();
}

QSize SeverityButton::sizeHint() const
{
    const QString text = QLocale().toString(m_count) + QLatin1Char(' ') + severityWord(m_severity);
    return { fontMetrics().horizontalAdvance(text) + 10 + 5 + 12, fontMetrics().height() + 6 };
}

void SeverityButton::paintEvent(QPaintEvent*)
{
    const auto& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF box = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    if (isChecked() || hasFocus() || underMouse()) {
        painter.setPen(QPen(isChecked() || hasFocus() ? theme.accent : theme.border, 1));
        painter.setBrush(isChecked() ? theme.selection : Qt::transparent);
        painter.drawRoundedRect(box, 5, 5);
    }
    constexpr int kIcon = 10;
    painter.setOpacity(m_count == 0 ? 0.45 : 1);
    paintSeverity(painter, QRectF(6, (height() - kIcon) / 2.0, kIcon, kIcon), m_severity, theme.strong(m_severity));
    painter.setOpacity(1);
    QRect text = rect().adjusted(6 + kIcon + 5, 0, 0, 0);
    QFont strong = font();
    strong.setBold(m_count > 0);
    painter.setFont(strong);
    painter.setPen(m_count == 0 ? theme.muted : theme.strong(m_severity));
    const QString number = QLocale().toString(m_count);
    painter.drawText(text, Qt::AlignVCenter, number);
    text.setLeft(text.left() + QFontMetrics(strong).horizontalAdvance(number) + fontMetrics().horizontalAdvance(QLatin1Char(' ')));
    painter.setFont(font());
    painter.setPen(m_count == 0 ? theme.muted : theme.text);
    painter.drawText(text, Qt::AlignVCenter, fontMetrics().elidedText(severityWord(m_severity), Qt::ElideRight, text.width()));
}

PairPanel::PairPanel(Session& session, PairModel& model, Form form, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_model(model)
    , m_form(form)
    , m_filter(model)
    , m_table(new QTreeView)
    , m_text(new QLineEdit)
    , m_title(new ElidedLabel(tr("Pairs in execution order")))
    , m_count(new QLabel)
    , m_empty(wrappedLabel(this, true))
    , m_allSteps(new QCheckBox(tr("all steps")))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);

    QFont bold = font();
    bold.setBold(true);
    m_title->setFont(bold);
    m_count->setTextFormat(Qt::PlainText);
    m_count->setForegroundRole(QPalette::PlaceholderText);
    m_allSteps->setToolTip(tip(tr("List the pairs of every compared step, not only of the selected one.")));
    m_text->setPlaceholderText(tr("Filter: text or /regex/"));
    m_text->setClearButtonEnabled(true);
    m_text->setAccessibleName(tr("Filter pairs"));
    auto* top = new QHBoxLayout;
    top->setContentsMargins(10, 6, 10, 4);
    top->setSpacing(8);
    if (form == Form::Narrow) {
        top->addWidget(m_title, 1);
        top->addWidget(m_count);
        layout->addLayout(top);
        auto* second = new QHBoxLayout;
        second->setContentsMargins(10, 0, 10, 6);
        second->setSpacing(8);
        second->addWidget(m_text, 1);
        second->addWidget(m_allSteps);
        layout->addLayout(second);
    } else {
        m_title->hide();
        m_title->setParent(this);
        m_text->setMaximumWidth(320);
        top->addWidget(m_text, 1);
        top->addWidget(m_allSteps);
        top->addStretch(1);
        top->addWidget(m_count);
        layout->addLayout(top);
    }

    // A reset forgets where the list was scrolled to; first in line of the model's listeners, this notes it.
    connect(&m_filter, &QAbstractItemModel::modelAboutToBeReset, this, [this] {
        m_updating = true;
        m_scroll = m_table->verticalScrollBar()->value();
    });
    m_table->setModel(&m_filter);
    m_table->setRootIsDecorated(false);
    m_table->setUniformRowHeights(true);
    m_table->setAllColumnsShowFocus(true);
    m_table->setItemDelegate(new PairDelegate(form, this));
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setAccessibleName(m_title->text());
    m_table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    auto* header = m_table->header();
    header->setSortIndicatorClearable(true);
    header->setStretchLastSection(false);
    header->setSectionsMovable(false);
    header->setMinimumSectionSize(20);
    header->setHighlightSections(false);
    m_table->setSortingEnabled(true);
    header->setSortIndicator(-1, Qt::AscendingOrder);
    for (int column = 0; column < PairModel::kColumns; ++column) {
        m_table->setColumnWidth(column, widthOf(static_cast<PairModel::Column>(column), form, fontMetrics()));
        if (form == Form::Narrow && column > PairModel::Ratio) {
            m_table->setColumnHidden(column, true);
        }
    }
    m_filter.setShortHeaders(form == Form::Narrow);
    m_table->viewport()->installEventFilter(this);
    auto* inset = new QHBoxLayout;
    inset->setContentsMargins(form == Form::Wide ? 7 : 0, 0, 0, 0);
    inset->addWidget(m_table);
    layout->addLayout(inset, 1);
    m_empty->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
    m_empty->setContentsMargins(16, 24, 16, 24);
    layout->addWidget(m_empty, 1);

    auto* bottom = new QWidget;
    m_grid = new QGridLayout(bottom);
    m_grid->setContentsMargins(6, 5, 6, 5);
    m_grid->setHorizontalSpacing(2);
    m_grid->setVerticalSpacing(1);
    for (const auto severity : kOrder) {
        auto* button = new SeverityButton(severity, bottom);
        m_severities[static_cast<std::size_t>(severity)] = button;
        connect(button, &SeverityButton::toggled, this, &PairPanel::applySeverities);
    }
    fitSeverities();
    layout->addWidget(bottom);

    connect(m_text, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_filter.setText(text);
        refreshCounts();
        selectionToTable();
    });
    connect(&m_filter, &QAbstractItemModel::modelReset, this, [this] {
        m_updating = false;
        refreshCounts();
        selectionToTable(false);
        m_table->verticalScrollBar()->setValue(m_scroll);
    });
    connect(&session, &Session::structureChanged, this,
        [this] { m_title->setText(m_session.hasOrder() ? tr("Pairs in execution order") : tr("Pairs in the order of the files")); });
    connect(m_text, &QLineEdit::returnPressed, m_table, [this] { m_table->setFocus(); });
    connect(m_allSteps, &QCheckBox::toggled, this, &PairPanel::applyStep);
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &PairPanel::selectionFromTable);
    connect(&session, &Session::stepSelected, this, &PairPanel::applyStep);
    connect(&session, &Session::gateSelected, this, [this] {
        m_filter.setGate(m_session.selection().gate);
        refreshCounts();
        selectionToTable();
    });
    connect(&session, &Session::verdictReady, this, [this] { QMetaObject::invokeMethod(this, &PairPanel::showSelected, Qt::QueuedConnection); });
    connect(&session, &Session::pairSelected, this, [this] { selectionToTable(); });
    // The model was changed before by whoever owns it, in the same signal.
    connect(&model, &QAbstractItemModel::modelReset, this, [this] {
        m_filter.setGate(m_session.selection().gate);
        applyStep();
    });
    connect(&model, &QAbstractItemModel::dataChanged, this, &PairPanel::refreshCounts);
    applyStep();
}

void PairPanel::focusFilter()
{
    m_text->setFocus(Qt::ShortcutFocusReason);
    m_text->selectAll();
}

bool PairPanel::eventFilter(QObject* object, QEvent* event)
{
    if (object == m_table->viewport() && event->type() == QEvent::Resize) {
        fitColumns();
        // What was seen of the selection stays seen.
        const int before = static_cast<QResizeEvent*>(event)->oldSize().height();
        if (const auto index = m_table->currentIndex(); index.isValid() && m_table->visualRect(index).top() < before) {
            QMetaObject::invokeMethod(this, &PairPanel::showSelected, Qt::QueuedConnection);
        }
    }
    return QWidget::eventFilter(object, event);
}

void PairPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fitSeverities();
}

/// As many in a row as fit with their words whole.
void PairPanel::fitSeverities()
{
    int widest = 0;
    for (const auto* button : m_severities) {
        widest = std::max(widest, button->sizeHint().width());
    }
    const int room = (width() - 12) / std::max(1, widest + 2);
    const int perRow = room >= 6 ? 6 : room >= 3 ? 3 : 2;
    if (perRow == m_perRow) {
        return;
    }
    m_perRow = perRow;
    for (std::size_t i = 0; i < kOrder.size(); ++i) {
        auto* button = severityButton(kOrder[i]);
        m_grid->removeWidget(button);
        m_grid->addWidget(button, static_cast<int>(i) / perRow, static_cast<int>(i) % perRow);
    }
    for (int column = 0; column <= static_cast<int>(kOrder.size()); ++column) {
        m_grid->setColumnStretch(column, perRow < 6 ? (column < perRow ? 1 : 0) : (column == 6 ? 1 : 0));
    }
}

void PairPanel::fitColumns()
{
    int others = 0;
    for (int column = 0; column < PairModel::kColumns; ++column) {
        others += column == PairModel::Name || m_table->isColumnHidden(column) ? 0 : m_table->columnWidth(column);
    }
    const int least = m_form == Form::Narrow ? 60 : widthOf(PairModel::Name, m_form, fontMetrics());
    m_table->setColumnWidth(PairModel::Name, std::max(least, m_table->viewport()->width() - others));
}

void PairPanel::showSelected()
{
    const auto index = m_table->currentIndex();
    const QRect row = index.isValid() ? m_table->visualRect(index) : QRect();
    if (index.isValid() && (row.top() < 0 || row.bottom() > m_table->viewport()->height())) {
        m_table->scrollTo(index.siblingAtColumn(PairModel::State), QAbstractItemView::PositionAtCenter);
    }
}

/// By what is selected, not by what is current: a view that gets the focus makes its first row current, and that is nobody's choice.
void PairPanel::selectionFromTable()
{
    const auto rows = m_table->selectionModel()->selectedRows();
    if (!m_updating && !rows.isEmpty()) {
        m_session.selectPair(m_filter.pairAt(rows.front()));
    }
}

void PairPanel::selectionToTable(bool scroll)
{
    const auto pair = m_session.selection().pair;
    const QModelIndex index = pair ? m_filter.indexOf(*pair) : QModelIndex();
    m_updating = true;
    if (!index.isValid()) {
        m_table->setCurrentIndex({});
        m_table->clearSelection();
    } else if (m_table->currentIndex().row() != index.row() || !m_table->selectionModel()->isRowSelected(index.row())) {
        const int at = m_table->verticalScrollBar()->value();
        m_table->setCurrentIndex(index);
        if (scroll) {
            m_table->scrollTo(index);
            QMetaObject::invokeMethod(this, &PairPanel::showSelected, Qt::QueuedConnection);
        } else {
            m_table->verticalScrollBar()->setValue(at);
        }
    }
    m_updating = false;
}

void PairPanel::applySeverities()
{
    std::set<Severity> chosen;
    for (const auto severity : kOrder) {
        if (severityButton(severity)->isChecked()) {
            chosen.insert(severity);
        }
    }
    m_filter.setSeverities(std::move(chosen));
    refreshCounts();
    selectionToTable();
}

void PairPanel::applyStep()
{
    m_filter.setStep(m_allSteps->isChecked() ? std::nullopt : std::optional(m_session.selection().step));
    m_allSteps->setVisible(m_session.steps().size() > 1);
    refreshCounts();
    selectionToTable();
}

void PairPanel::refreshCounts()
{
    const auto counts = m_filter.counts();
    for (std::size_t i = 0; i < kSeverities; ++i) {
        m_severities[i]->setCount(counts.severity[i]);
    }
    const int visible = m_filter.rowCount(), all = m_filter.candidates();
    QString text = visible == all ? QLocale().toString(all) : tr("%1 of %2", "listed pairs, all pairs").arg(QLocale().toString(visible), QLocale().toString(all));
    if (counts.pending > 0) {
        text = tr("%1, %2 pending").arg(text).arg(counts.pending);
    }
    m_count->setText(text);
    fitSeverities();
    const bool empty = visible == 0;
    m_table->setVisible(!empty);
    m_empty->setVisible(empty);
    m_empty->setText(!m_filter.problem().isEmpty() ? m_filter.problem()
                         : !m_model.comparison()   ? tr("The pairs are listed as soon as both runs are read.")
                         : all == 0                ? tr("No pairs in this step.")
                                                   : tr("No pair passes the filter. Clear the text, the chosen gate or the severities below."));
}

} // namespace forkpoint::ui
