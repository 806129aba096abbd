// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/bundle.h"
#include "core/bundle/json_fields.h"

#include <optional>
#include <string>

// One line of a bundle's JSON lines -> one record. Each function complains into `fields` and returns nullopt when the line must be skipped.
namespace forkpoint::bundle {

/// A tensor's record, and what its keys claim about its bytes: not checked against the file yet, so kept apart from the record.
struct TensorLine {
    TensorRecord record;
    std::optional<Extent> claim;
    std::optional<Extent> sketchClaim; ///< of the samples
    std::string claimProblem; ///< a claim that contradicts itself; the record is good without bytes
    std::string note; ///< something optional that was ignored, and why
};

std::optional<TensorLine> parseTensor(JsonFields& fields);
std::optional<ScalarRecord> parseScalar(JsonFields& fields);

/// Appends to the list of `rank` that the line's `type` names. False if the type is unknown (a newer minor version may have more).
bool parseGraph(JsonFields& fields, RankData& rank);

} // namespace forkpoint::bundle
