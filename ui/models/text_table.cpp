// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/text_table.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QApplication>

#include <algorithm>

namespace forkpoint::ui {

TextTable::TextTable(QStringList headers, std::vector<int> numeric, QObject* parent)
    : QAbstractTableModel(parent)
    , m_headers(std::move(headers))
    , m_numeric(std::move(numeric))
{
}

void TextTable::setHeaders(QStringList headers)
{
    beginResetModel();
    m_headers = std::move(headers);
    endResetModel();
}

void TextTable::setRows(std::vector<Row> rows)
{
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

bool TextTable::isNumeric(int column) const { return std::find(m_numeric.begin(), m_numeric.end(), column) != m_numeric.end(); }

int TextTable::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }

int TextTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_headers.size()); }

QVariant TextTable::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) {
        return {};
    }
    const auto& row = m_rows[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return row.cells.value(index.column());
    case Qt::ToolTipRole: {
        const QString text = row.cells.value(index.column());
        return row.definition.isEmpty() ? tip(text) : tip(row.cells.value(0), row.definition);
    }
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(Qt::AlignVCenter | (isNumeric(index.column()) ? Qt::AlignRight : Qt::AlignLeft));
    case Qt::FontRole:
        return isNumeric(index.column()) ? QVariant(monospace(QApplication::font())) : QVariant();
    case Qt::ForegroundRole:
        return row.dim ? QVariant(Theme::current().muted) : QVariant();
    case Qt::DecorationRole:
        return index.column() == 0 && row.severity ? QVariant(severityIcon(*row.severity)) : QVariant();
    case DimRole:
        return row.dim;
    default:
        return {};
    }
}

QVariant TextTable::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) {
        return {};
    }
    if (role == Qt::DisplayRole) {
        return m_headers.value(section);
    }
    return role == Qt::TextAlignmentRole ? QVariant::fromValue(Qt::AlignVCenter | (isNumeric(section) ? Qt::AlignRight : Qt::AlignLeft)) : QVariant();
}

} // namespace forkpoint::ui
