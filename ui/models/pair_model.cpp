// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/pair_model.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <algorithm>
#include <limits>

namespace forkpoint::ui {

namespace {

Qt::Alignment alignmentOf(PairModel::Column column)
{
    const bool number = column >= PairModel::Ratio && column <= PairModel::MaxAbs;
    return Qt::AlignVCenter | (number ? Qt::AlignRight : column == PairModel::DTypeColumn ? Qt::AlignHCenter : Qt::AlignLeft);
}

bool isNumber(PairModel::Column column) { return column >= PairModel::Ratio && column <= PairModel::MaxAbs; }

constexpr double kPendingLast = -1; ///< sorts what has no number after what has one, largest first

} // namespace

PairModel::PairModel(QObject* parent)
    : QAbstractTableModel(parent)
{
    // The first letter typed into a filter needs the text of every pair; made beforehand, some at a time, that letter does not wait.
    m_prepare.setInterval(0);
    connect(&m_prepare, &QTimer::timeout, this, [this] {
        constexpr std::size_t kAtOnce = 200;
        for (const auto end = std::min(m_prepared + kAtOnce, m_searchTexts.size()); m_prepared < end; ++m_prepared) {
            searchText(m_prepared);
        }
        if (m_prepared == m_searchTexts.size()) {
            m_prepare.stop();
        }
    });
}

void PairModel::setComparison(std::optional<compare::Snapshot> snapshot)
{
    beginResetModel();
    m_snapshot = std::move(snapshot);
    m_searchTexts.assign(m_snapshot ? m_snapshot->pairs() : 0, QString());
    endResetModel();
    m_prepared = 0;
    m_prepare.start();
}

void PairModel::update(compare::Snapshot snapshot)
{
    if (!m_snapshot || snapshot.pairs() != m_snapshot->pairs()) {
        setComparison(std::move(snapshot));
        return;
    }
    const auto first = static_cast<int>(m_snapshot->ready()), last = static_cast<int>(snapshot.ready()) - 1;
    m_snapshot = std::move(snapshot);
    if (last >= first) {
        emit dataChanged(index(first, 0), index(last, kColumns - 1));
    }
    if (const auto* outcome = m_snapshot->outcome(); outcome && outcome->verdict.fork) {
        const auto fork = static_cast<int>(outcome->verdict.fork->pair);
        emit dataChanged(index(fork, 0), index(fork, kColumns - 1));
    }
}

std::optional<diagnose::Severity> PairModel::severity(std::size_t pair) const
{
    return m_snapshot && pair < m_snapshot->ready() ? std::optional(m_snapshot->result(pair).severity) : std::nullopt;
}

const QString& PairModel::searchText(std::size_t pair) const
{
    auto& text = m_searchTexts[pair];
    if (text.isEmpty()) {
        const auto& p = m_snapshot->structure().alignment.pairs[pair];
        text = fullName(p.key) + QLatin1Char('\n') + shortName(p.key) + QLatin1Char('\n') + shown(p.id);
    }
    return text;
}

int PairModel::rowCount(const QModelIndex& parent) const { return parent.isValid() || !m_snapshot ? 0 : static_cast<int>(m_snapshot->pairs()); }

int PairModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

const diagnose::PairResult* PairModel::measured(std::size_t pair) const
{
    if (pair >= m_snapshot->ready()) {
        return nullptr;
    }
    const auto& result = m_snapshot->result(pair);
    return result.lanes.empty() ? nullptr : &result;
}

QVariant PairModel::text(std::size_t pair, Column column) const
{
    const auto& p = m_snapshot->structure().alignment.pairs[pair];
    switch (column) {
    case State: {
        const auto state = severity(pair);
        return state ? severityWord(*state) : tr("pending");
    }
    case Name:
        return fullName(p.key);
    case DTypeColumn:
        return dtypeText(p);
    case ShapeColumn:
        return shapeText(p);
    case RuleColumn:
        return ruleWord(p.rule);
    default:
        break;
    }
    const auto* result = measured(pair);
    if (!result) {
        return pair < m_snapshot->ready() ? QStringLiteral("–") : QStringLiteral("…");
    }
    switch (column) {
    case Ratio:
        return number(result->ratio, 2);
    case ErrorColumn:
        return number(result->error, 3);
    case Added:
        return number(result->added, 3);
    case MaxAbs:
        return number(result->worstLane()->statistics.maxAbs.value, 3);
    default:
        return {};
    }
}

QVariant PairModel::sortKey(std::size_t pair, Column column) const
{
    if (column == State) {
        const auto state = severity(pair);
        return state ? static_cast<int>(*state) : -1;
    }
    if (column == ShapeColumn) {
        const auto& p = m_snapshot->structure().alignment.pairs[pair];
        return static_cast<qlonglong>(elementCount(p.status == align::PairStatus::OnlyB ? p.shapeB : p.shapeA).value_or(-1));
    }
    if (!isNumber(column)) {
        return text(pair, column);
    }
    const auto* result = measured(pair);
    if (!result) {
        return kPendingLast;
    }
    const double value = column == Ratio ? result->ratio
        : column == ErrorColumn          ? result->error
        : column == Added                ? result->added
                                         : result->worstLane()->statistics.maxAbs.value;
    return value;
}

QString PairModel::toolTip(std::size_t pair, Column column) const
{
    const auto& p = m_snapshot->structure().alignment.pairs[pair];
    if (column == RuleColumn) {
        return tip(ruleSentence(p));
    }
    if (isNumber(column)) {
        return tip(headerData(column, Qt::Horizontal, Qt::DisplayRole).toString(), columnDefinition(column));
    }
    QString text = tr("step %1, %2 %3").arg(p.key.step).arg(dtypeText(p), shapeText(p));
    const auto append = [&text](const QString& line) { text += line.isEmpty() ? QString() : QLatin1Char('\n') + line; };
    append(shown(p.source));
    append(shown(p.assembly));
    append(statusSentence(p.status));
    append(shown(p.note));
    if (pair < m_snapshot->ready()) {
        append(shown(m_snapshot->result(pair).note));
    }
    return tip(fullName(p.key), text);
}

QVariant PairModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || !m_snapshot) {
        return {};
    }
    const auto pair = static_cast<std::size_t>(index.row());
    const auto column = static_cast<Column>(index.column());
    switch (role) {
    case Qt::DisplayRole:
        return text(pair, column);
    case Qt::AccessibleTextRole:
        return column == State ? QStringLiteral("%1, %2").arg(text(pair, State).toString(), text(pair, Name).toString()) : text(pair, column);
    case ShortNameRole:
        return shortName(m_snapshot->structure().alignment.pairs[pair].key);
    case PhaseRole:
        return static_cast<int>(m_snapshot->structure().alignment.pairs[pair].key.phase);
    case SortRole:
        return sortKey(pair, column);
    case IsForkRole: {
        const auto* outcome = m_snapshot->outcome();
        return outcome && outcome->verdict.fork && outcome->verdict.fork->pair == pair;
    }
    case Qt::DecorationRole:
        if (const auto state = severity(pair); state && column == State) {
            return severityIcon(*state);
        }
        return {};
    case Qt::ToolTipRole:
        return toolTip(pair, column);
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(alignmentOf(column));
    default:
        return {};
    }
}

QVariant PairModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) {
        return {};
    }
    const auto column = static_cast<Column>(section);
    if (role == Qt::TextAlignmentRole) {
        return QVariant::fromValue(alignmentOf(column));
    }
    if (role == Qt::ToolTipRole) {
        return tip(columnDefinition(column));
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    switch (column) {
    case State:
        return tr("severity");
    case Name:
        return tr("pair");
    case Ratio:
        return tr("× floor");
    case ErrorColumn:
        return tr("error");
    case Added:
        return tr("new error here");
    case MaxAbs:
        return tr("max |d|");
    case DTypeColumn:
        return tr("dtype");
    case ShapeColumn:
        return tr("shape");
    case RuleColumn:
        return tr("matched by");
    case kColumns:
        break;
    }
    return {};
}

QString columnDefinition(PairModel::Column column)
{
    switch (column) {
    case PairModel::State:
        return PairModel::tr("Identical: same bits. Noise: within what rounding makes of it. Drift: up to 100 times that floor. Divergent: more. "
                             "Invalid: NaN or infinity on one side only, or shapes that cannot be related.");
    case PairModel::Name:
        return PairModel::tr("Phase / kind / module and parameter, #call and :slot where they are not the first.");
    case PairModel::Ratio:
        return PairModel::tr("The larger of error / floor and max |d| / (16 × floor × largest magnitude): up to 1 is noise, up to 100 drift, above divergent.");
    case PairModel::ErrorColumn:
        return PairModel::tr("|B − A| / max(|A|, |B|, S) in the 2-norm, of the worst rank. S applies to parameter gradients: the largest rms "
                             "gradient in the module times √n. Parameters after the step are measured on their update.");
    case PairModel::Added:
        return PairModel::tr("max(0, error − largest error among the recorded inputs): what this pair adds to what it was given.");
    case PairModel::MaxAbs:
        return PairModel::tr("Largest |B − A| over the elements that are finite on both sides.");
    case PairModel::DTypeColumn:
        return PairModel::tr("Element type; A → B where they differ.");
    case PairModel::ShapeColumn:
        return PairModel::tr("Shape of the compared whole; A → B where they differ.");
    case PairModel::RuleColumn:
        return PairModel::tr("The rule that made this a pair.");
    case PairModel::kColumns:
        break;
    }
    return {};
}

} // namespace forkpoint::ui
