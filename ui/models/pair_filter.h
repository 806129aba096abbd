// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/diagnose/verdict.h"
#include "ui/models/pair_model.h"

#include <QRegularExpression>
#include <QSortFilterProxyModel>

#include <array>
#include <optional>
#include <set>

namespace forkpoint::ui {

inline constexpr std::size_t kSeverities = 6;

/// The pairs that a list shows, and their order.
class PairFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit PairFilter(PairModel& model, QObject* parent = nullptr);

    /// A part of the name (any case), or a regular expression between slashes. An expression that does not parse matches nothing.
    void setText(const QString& text);
    const QString& problem() const { return m_problem; } ///< why the expression does not parse; empty if it does
    void setStep(std::optional<int> step);               ///< nullopt: all steps
    void setGate(std::optional<diagnose::Gate> gate);    ///< nullopt: all
    void setSeverities(std::set<diagnose::Severity> severities); ///< empty: all; else pending pairs are left out

    /// Pairs per severity that pass everything but the severities, and those pending.
    struct Counts {
        std::array<int, kSeverities> severity {};
        int pending = 0;
    };
    Counts counts() const;
    int candidates() const; ///< pairs of the step, whatever else filters

    std::optional<std::size_t> pairAt(const QModelIndex& index) const;
    QModelIndex indexOf(std::size_t pair) const; ///< invalid if it is not shown

    void sortInExecutionOrder();

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
    bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

private:
    bool passesButSeverity(std::size_t pair) const;

    PairModel& m_model;
    QString m_text, m_problem;
    std::optional<QRegularExpression> m_expression;
    std::optional<int> m_step;
    std::optional<diagnose::Gate> m_gate;
    std::set<diagnose::Severity> m_severities;
};

} // namespace forkpoint::ui
