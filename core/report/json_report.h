// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/comparison.h"

#include <nlohmann/json.hpp>

namespace forkpoint::report {

/// The finished comparison as JSON, "forkpoint-comparison/1": resources/schema/forkpoint-comparison-1.schema.json. Numbers that are not
/// finite are the strings NaN, Infinity, -Infinity. Keys are added in later versions, never renamed.
nlohmann::ordered_json jsonReport(const compare::Snapshot& comparison);

/// The same as text, with a newline at the end. Valid UTF-8 whatever the names are: folders may have any bytes.
std::string jsonText(const compare::Snapshot& comparison);

} // namespace forkpoint::report
