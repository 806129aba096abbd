// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/comparison.h"
#include "core/report/text_report.h"

#include <nlohmann/json.hpp>
#include <string>

// What has no partner: each tensor with its nearest candidates and why they were rejected.
namespace forkpoint::report {

/// A section of the text report; empty if everything has a partner. Tensors of one name that failed for one reason are one line.
std::string unmatchedText(const compare::Snapshot& comparison, const TextOptions& options);

/// [{id, side, nearest: [{pair, why}]}] in execution order.
nlohmann::json unmatchedJson(const align::Alignment& alignment);

} // namespace forkpoint::report
