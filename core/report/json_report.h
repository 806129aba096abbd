// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/comparison.h"

#include <functional>
#include <string>
#include <string_view>

namespace forkpoint::report {

using JsonSink = std::function<void(std::string_view)>;

/// The finished comparison as JSON, "forkpoint-comparison/1": resources/schema/forkpoint-comparison-1.schema.json. Numbers that are not
/// finite are the strings NaN, Infinity, -Infinity. Keys are added in later versions, never renamed. Every pair has a line of its own. Valid UTF-8
/// whatever the names are: folders may have any bytes. A million pairs are gigabytes: `write` is handed the text part by part.
void writeJson(const compare::Snapshot& comparison, const JsonSink& write);

/// The same as one text.
std::string jsonText(const compare::Snapshot& comparison);

} // namespace forkpoint::report
