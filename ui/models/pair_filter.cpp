// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/pair_filter.h"

#include <algorithm>

namespace forkpoint::ui {

PairFilter::PairFilter(PairModel& model, QObject* parent)
    : QSortFilterProxyModel(parent)
    , m_model(model)
{
    setSortRole(PairModel::SortRole);
    setDynamicSortFilter(true);
    setSourceModel(&model);
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
    invalidateFilter();
}

void PairFilter::setStep(std::optional<int> step)
{
    if (step != m_step) {
        m_step = step;
        invalidateFilter();
    }
}

void PairFilter::setGate(std::optional<diagnose::Gate> gate)
{
    if (gate != m_gate) {
        m_gate = gate;
        invalidateFilter();
    }
}

void PairFilter::setSeverities(std::set<diagnose::Severity> severities)
{
    if (severities != m_severities) {
        m_severities = std::move(severities);
        invalidateFilter();
    }
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

bool PairFilter::filterAcceptsRow(int row, const QModelIndex&) const
{
    const auto pair = static_cast<std::size_t>(row);
    if (!m_severities.empty()) {
        const auto severity = m_model.severity(pair);
        if (!severity || !m_severities.contains(*severity)) {
            return false;
        }
    }
    return passesButSeverity(pair);
}

bool PairFilter::lessThan(const QModelIndex& left, const QModelIndex& right) const
{
    const auto key = [](const QModelIndex& index) { return index.data(PairModel::SortRole); };
    const QVariant l = key(left), r = key(right);
    if (l.typeId() == QMetaType::Double) {
        return l.toDouble() < r.toDouble();
    }
    return l.typeId() == QMetaType::QString ? l.toString() < r.toString() : l.toLongLong() < r.toLongLong();
}

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

void PairFilter::sortInExecutionOrder() { sort(-1); }

} // namespace forkpoint::ui
