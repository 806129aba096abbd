// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/compare/comparison.h"

#include <QString>
#include <QStringList>

#include <array>

// What a comparison comes to, in the user's language. core/report has the English of the terminal; this is the window's own.
namespace forkpoint::ui {

/// Of one step; nullopt: of all. Fork only once the verdict is there.
diagnose::Gates gatesOf(const compare::Snapshot& comparison, std::optional<int> step);

/// Differing entries of environment and configuration, unexpected ones and all; -1 if nothing was recorded.
struct ContextCount {
    int unexpected = -1, all = -1;
};
ContextCount countContext(const compare::Snapshot& comparison);

QString gateDetail(const diagnose::GateSummary& gate); ///< "24 identical, 6 noise"

QString verdictHeadline(const compare::Snapshot& comparison); ///< one sentence; needs the outcome
QString verdictDetail(const compare::Snapshot& comparison);   ///< the numbers behind it

/// "relative difference 0.5, 2.6e5 times the floor; B = 0.5 × A up to 3e-8": what was measured on a pair.
QString pairNumbers(const compare::Snapshot& comparison, std::size_t pair);

QString coverageText(const compare::Snapshot& comparison);      ///< short: what share was seen
QStringList coverageDetails(const compare::Snapshot& comparison); ///< every line of what was not seen, and how the runs were put together

QString floorText(const compare::Snapshot& comparison); ///< "floor: measured (A against A')"

/// Verdict and a block in the style of torch.testing.assert_close for `pair` (or the fork's). For the clipboard: plain text.
QString summaryText(const compare::Snapshot& comparison, std::optional<std::size_t> pair);

} // namespace forkpoint::ui
