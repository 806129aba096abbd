// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/compare/comparison.h"
#include "ui/models/text_table.h"

// The rows of the small tables.
namespace forkpoint::ui {

/// Metric, value; each with its definition exactly as in core/metrics/pair_statistics.h. `lane` as in Selection: -1 the worst one.
std::vector<TextTable::Row> metricRows(const compare::Snapshot& comparison, std::size_t pair, int lane);

/// Statistic, A, B.
std::vector<TextTable::Row> sideRows(const compare::Snapshot& comparison, std::size_t pair, int lane);

/// Rank, x floor, error, max |d|; one row per lane, none where there is just one.
std::vector<TextTable::Row> laneRows(const compare::Snapshot& comparison, std::size_t pair);

/// "rank 1", "assembled".
QString laneName(const compare::Snapshot& comparison, std::size_t pair, std::size_t lane);

/// Section, key, A, B: what differs first, expected differences dimmed, then (if `equal`) what does not.
std::vector<TextTable::Row> contextRows(const compare::Snapshot& comparison, bool equal);

} // namespace forkpoint::ui
