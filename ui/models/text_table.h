// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/diagnose/severity.h"

#include <QAbstractTableModel>
#include <QStringList>

#include <optional>
#include <vector>

namespace forkpoint::ui {

/// A small table of finished text: metrics, ranks, configuration.
class TextTable : public QAbstractTableModel {
    Q_OBJECT
public:
    struct Row {
        QStringList cells;
        QString definition; ///< tool tip of the row
        bool dim = false;   ///< listed, but nothing to look at
        std::optional<diagnose::Severity> severity; ///< icon of the first cell
    };

    enum Role { DimRole = Qt::UserRole };

    /// `numeric`: columns that are set right-aligned in fixed-width digits.
    TextTable(QStringList headers, std::vector<int> numeric, QObject* parent = nullptr);

    void setHeaders(QStringList headers);
    void setRows(std::vector<Row> rows);
    const std::vector<Row>& rows() const { return m_rows; }
    bool isNumeric(int column) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QStringList m_headers;
    std::vector<int> m_numeric;
    std::vector<Row> m_rows;
};

} // namespace forkpoint::ui
