// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/compare/comparison.h"

#include <QAbstractTableModel>
#include <QString>
#include <QTimer>

#include <array>
#include <optional>
#include <vector>

namespace forkpoint::ui {

/// The pairs of a comparison in execution order, one row each: the list that an engineer reads from top to bottom. Rows are there from
/// the structure on, pending, and fill in.
class PairModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { State, Name, Ratio, ErrorColumn, Added, MaxAbs, DTypeColumn, ShapeColumn, RuleColumn, kColumns };
    enum Role {
        SortRole = Qt::UserRole,
        ShortNameRole, ///< of column Name
        PhaseRole,     ///< bundle::Phase, as a number
        IsForkRole,
    };

    explicit PairModel(QObject* parent = nullptr);

    /// A new comparison, or none: resets.
    void setComparison(std::optional<compare::Snapshot> snapshot);
    /// More results of the same comparison: rows change in place.
    void update(compare::Snapshot snapshot);

    const std::optional<compare::Snapshot>& comparison() const { return m_snapshot; }
    std::optional<diagnose::Severity> severity(std::size_t pair) const; ///< nullopt: pending
    const QString& searchText(std::size_t pair) const; ///< full name and id, for filters

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QVariant text(std::size_t pair, Column column) const;
    QVariant sortKey(std::size_t pair, Column column) const;
    QString toolTip(std::size_t pair, Column column) const;
    const diagnose::PairResult* measured(std::size_t pair) const; ///< nullptr: pending or nothing measured

    std::optional<compare::Snapshot> m_snapshot;
    mutable std::vector<QString> m_searchTexts; ///< made when first asked for, or by m_prepare
    QTimer m_prepare;
    std::size_t m_prepared = 0;
};

/// What a column of numbers means, exactly as core computes it (core/metrics/pair_statistics.h, core/diagnose/severity.h).
QString columnDefinition(PairModel::Column column);

} // namespace forkpoint::ui
