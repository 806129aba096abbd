// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/diagnose/verdict.h"
#include "ui/models/pair_model.h"

#include <QAbstractProxyModel>
#include <QRegularExpression>

#include <array>
#include <optional>
#include <set>

namespace forkpoint::ui {

inline constexpr std::size_t kSeverities = 6;

/// The pairs that a list shows, and their order. Not a QSortFilterProxyModel: that removes rows run by run, which takes seconds where every
/// other one of 10,000 goes. Here a new filter is one pass and a reset; the list restores its selection and scroll position.
class PairFilter : public QAbstractProxyModel {
    Q_OBJECT
public:
    explicit PairFilter(PairModel& model, QObject* parent = nullptr);

    /// A part of the name (any case), or a regular expression between slashes. An expression that does not parse matches nothing.
    void setText(const QString& text);
    const QString& problem() const { return m_problem; } ///< why the expression does not parse; empty if it does
    void setStep(std::optional<int> step);               ///< nullopt: all steps
    void setGate(std::optional<diagnose::Gate> gate);    ///< nullopt: all
    void setSeverities(std::set<diagnose::Severity> severities); ///< empty: all; else pending pairs are left out

    void setShortHeaders(bool on) { m_shortHeaders = on; } ///< no title over the column of icons

    /// Pairs per severity that pass everything but the severities, and those pending.
    struct Counts {
        std::array<int, kSeverities> severity {};
        int pending = 0;
    };
    Counts counts() const;
    int candidates() const; ///< pairs of the step, whatever else filters

    std::optional<std::size_t> pairAt(const QModelIndex& index) const;
    QModelIndex indexOf(std::size_t pair) const; ///< invalid if it is not shown

    /// Column -1: execution order. Equal rows stay in execution order.
    void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;

    QModelIndex mapToSource(const QModelIndex& index) const override;
    QModelIndex mapFromSource(const QModelIndex& index) const override;
    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& index) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    bool hasChildren(const QModelIndex& parent = {}) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    bool passesButSeverity(std::size_t pair) const;
    bool passes(std::size_t pair) const;
    void rebuild();  ///< within a reset
    void refilter(); ///< with one
    void follow(int first, int last); ///< results of these pairs changed

    PairModel& m_model;
    QString m_text, m_problem;
    std::optional<QRegularExpression> m_expression;
    std::optional<int> m_step;
    std::optional<diagnose::Gate> m_gate;
    std::set<diagnose::Severity> m_severities;
    bool m_shortHeaders = false;
    int m_sortColumn = -1;
    Qt::SortOrder m_sortOrder = Qt::AscendingOrder;
    std::vector<int> m_rows;   ///< pair of each row
    std::vector<int> m_rowOf;  ///< row of each pair; -1: not listed
};

} // namespace forkpoint::ui
