// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/rank_matrix.h"
#include "core/report/text_report.h"

#include <nlohmann/json.hpp>
#include <string>

namespace forkpoint::report {

std::string ranksText(const compare::RankMatrix& matrix, const align::Side& side, const TextOptions& options);
nlohmann::json ranksJson(const compare::RankMatrix& matrix, const align::Side& side);

} // namespace forkpoint::report
