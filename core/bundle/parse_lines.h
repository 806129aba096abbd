// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/bundle.h"
#include "core/bundle/json_fields.h"
#include "core/bundle/value_pool.h"

#include <optional>
#include <string>

// One line of a bundle's JSON lines -> one record. Each function complains into `fields` when the line must be skipped.
namespace forkpoint::bundle {

/// What there is to say about a tensor's line that is good as such.
struct TensorRemarks {
    std::string lost; ///< why the record has no bytes although it names some
    std::string note; ///< something optional that was ignored, and why
};

/// Fills `record`, which must be new; false if the line must be skipped. What its keys claim about bytes agrees with the shape, but has not
/// been checked against the file.
bool parseTensor(JsonFields& fields, ValuePool& pool, TensorRecord& record, TensorRemarks& remarks);

std::optional<ScalarRecord> parseScalar(JsonFields& fields);

/// Appends to the list of `rank` that the line's `type` names. False if the type is unknown (a newer minor version may have more).
bool parseGraph(JsonFields& fields, RankData& rank);

} // namespace forkpoint::bundle
