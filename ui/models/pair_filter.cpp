// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/pair_filter.h"

#include <algorithm>

namespace forkpoint::ui {

PairFilter::PairFilter(PairModel& model, QObject* parent)
    : QAbstractProxyModel(parent)
    , m_model(model)
{
    setSourceModel(&model);
    connect(&model, &QAbstractItemModel::modelAboutToBeReset, this, [this] { beginResetModel(); });
    connect(&model, &QAbstractItemModel::modelReset, this, [this] {
        rebuild();
        endResetModel();
    });
    connect(&model, &QAbstractItemModel::dataChanged, this, [this](const QModelIndex& first, const QModelIndex& last) { follow(first.row(), last.row()); });
    rebuild();
}

void PairFilter::setText(const QString& text)
{
    if (text == m_text) {
        return;
    }
    m_text = text;
    m_problem.clear();
    m_expression.reset();
    if (text.size() >= 2 && text.startsWith(QLatin1Char('/')) && text.endsWith(QLatin1Char('/'))) {
        m_expression.emplace(text.mid(1, text.size() - 2), QRegularExpression::CaseInsensitiveOption | QRegularExpression::MultilineOption);
        if (!m_expression->isValid()) {
            m_problem = tr("Not a regular expression: %1, at character %2.").arg(m_expression->errorString()).arg(m_expression->patternErrorOffset() + 1);
        }
    }
    refilter();
}

void PairFilter::setStep(std::optional<int> step)
{
    if (step != m_step) {
        m_step = step;
        refilter();
    }
}

void PairFilter::setGate(std::optional<diagnose::Gate> gate)
{
    if (gate != m_gate) {
        m_gate = gate;
        refilter();
    }
}

void PairFilter::setSeverities(std::set<diagnose::Severity> severities)
{
    if (severities != m_severities) {
        m_severities = std::move(severities);
        refilter();
    }
}

bool PairFilter::hasChildren(const QModelIndex& parent) const { return rowCount(parent) > 0; }

QVariant PairFilter::headerData(int section, Qt::Orientation orientation, int role) const
{
    return m_shortHeaders && section == PairModel::State && role == Qt::DisplayRole ? QVariant() : m_model.headerData(section, orientation, role);
}

bool PairFilter::passesButSeverity(std::size_t pair) const
{
    const auto& key = m_model.comparison()->structure().alignment.pairs[pair].key;
    if ((m_step && key.step != *m_step) || (m_gate && diagnose::gateOf(key) != *m_gate)) {
        return false;
    }
    if (m_text.isEmpty()) {
        return true;
    }
    if (m_expression) {
        return m_expression->isValid() && m_expression->match(m_model.searchText(pair)).hasMatch();
    }
    return m_model.searchText(pair).contains(m_text, Qt::CaseInsensitive);
}

bool PairFilter::passes(std::size_t pair) const
{
    if (!m_severities.empty()) {
        const auto severity = m_model.severity(pair);
        if (!severity || !m_severities.contains(*severity)) {
            return false;
        }
    }
    return passesButSeverity(pair);
}

void PairFilter::rebuild()
{
    const int all = m_model.rowCount();
    m_rows.clear();
    for (int pair = 0; pair < all; ++pair) {
        if (passes(static_cast<std::size_t>(pair))) {
            m_rows.push_back(pair);
        }
    }
    if (m_sortColumn >= 0) {
        const auto sortBy = [this](auto keyOf) {
            using Key = decltype(keyOf(QVariant()));
            std::vector<Key> keys(static_cast<std::size_t>(m_model.rowCount()));
            for (const int pair : m_rows) {
                keys[static_cast<std::size_t>(pair)] = keyOf(m_model.index(pair, m_sortColumn).data(PairModel::SortRole));
            }
            std::stable_sort(m_rows.begin(), m_rows.end(), [&](int l, int r) {
                const auto &left = keys[static_cast<std::size_t>(l)], &right = keys[static_cast<std::size_t>(r)];
                return m_sortOrder == Qt::AscendingOrder ? left < right : right < left;
            });
        };
        const bool text = all > 0 && m_model.index(0, m_sortColumn).data(PairModel::SortRole).typeId() == QMetaType::QString;
        if (text) {
            sortBy([](const QVariant& key) { return key.toString(); });
        } else {
            sortBy([](const QVariant& key) { return key.toDouble(); });
        }
    }
    m_rowOf.assign(static_cast<std::size_t>(all), -1);
    for (std::size_t row = 0; row < m_rows.size(); ++row) {
        m_rowOf[static_cast<std::size_t>(m_rows[row])] = static_cast<int>(row);
    }
}

void PairFilter::refilter()
{
    beginResetModel();
    rebuild();
    endResetModel();
}

void PairFilter::follow(int first, int last)
{
    const bool byResult = !m_severities.empty() || (m_sortColumn >= 0 && m_sortColumn != PairModel::Name);
    if (byResult) {
        refilter();
        return;
    }
    int from = rowCount(), to = -1;
    for (int pair = first; pair <= last; ++pair) {
        if (const int row = m_rowOf[static_cast<std::size_t>(pair)]; row >= 0) {
            from = std::min(from, row);
            to = std::max(to, row);
        }
    }
    if (to >= 0) {
        emit dataChanged(index(from, 0), index(to, PairModel::kColumns - 1));
    }
}

void PairFilter::sort(int column, Qt::SortOrder order)
{
    if (column != m_sortColumn || order != m_sortOrder) {
        m_sortColumn = column;
        m_sortOrder = order;
        refilter();
    }
}

QModelIndex PairFilter::mapToSource(const QModelIndex& index) const
{
    return index.isValid() ? m_model.index(m_rows[static_cast<std::size_t>(index.row())], index.column()) : QModelIndex();
}

QModelIndex PairFilter::mapFromSource(const QModelIndex& source) const
{
    // While the model is being reset, one filter may be asked before it has followed.
    const bool known = source.isValid() && static_cast<std::size_t>(source.row()) < m_rowOf.size();
    const int row = known ? m_rowOf[static_cast<std::size_t>(source.row())] : -1;
    return row < 0 ? QModelIndex() : index(row, source.column());
}

QModelIndex PairFilter::index(int row, int column, const QModelIndex& parent) const
{
    return hasIndex(row, column, parent) ? createIndex(row, column) : QModelIndex();
}

QModelIndex PairFilter::parent(const QModelIndex&) const { return {}; }

int PairFilter::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }

int PairFilter::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : PairModel::kColumns; }

PairFilter::Counts PairFilter::counts() const
{
    Counts counts;
    for (int row = 0; row < m_model.rowCount(); ++row) {
        const auto pair = static_cast<std::size_t>(row);
        if (!passesButSeverity(pair)) {
            continue;
        }
        if (const auto severity = m_model.severity(pair)) {
            ++counts.severity[static_cast<std::size_t>(*severity)];
        } else {
            ++counts.pending;
        }
    }
    return counts;
}

int PairFilter::candidates() const
{
    if (!m_model.comparison()) {
        return 0;
    }
    const auto& pairs = m_model.comparison()->structure().alignment.pairs;
    return static_cast<int>(std::count_if(pairs.begin(), pairs.end(), [this](const align::Pair& p) { return !m_step || p.key.step == *m_step; }));
}

std::optional<std::size_t> PairFilter::pairAt(const QModelIndex& index) const
{
    return index.isValid() ? std::optional(static_cast<std::size_t>(mapToSource(index).row())) : std::nullopt;
}

QModelIndex PairFilter::indexOf(std::size_t pair) const { return mapFromSource(m_model.index(static_cast<int>(pair), 0)); }

} // namespace forkpoint::ui
