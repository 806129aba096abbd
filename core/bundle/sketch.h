// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/bundle/record.h"
#include "core/tensor/tensor_source.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

// What is recorded of a tensor instead of its bytes: FORMAT.md, section 6.1.
namespace forkpoint::bundle {

inline constexpr std::int64_t kSamples = 4096;

std::uint64_t splitMix64(std::uint64_t number);

/// Global indices, ascending, of the elements that a sketch of a whole of `count` elements keeps: all of them up to kSamples.
std::vector<std::int64_t> samplePositions(std::int64_t count);

/// Flat indices within the record's own piece of the sample positions that lie in it, ascending. The record's shapes must be valid.
std::vector<std::int64_t> sampleIndices(const TensorRecord& record);

/// How many there are.
std::int64_t sampleCount(const TensorRecord& record);

/// The fold of a tensor that lies in its whole as `record` says; fails as reading does, or Cancelled.
Result<std::uint64_t> foldOf(const TensorSource& source, const TensorRecord& record, std::stop_token stop = {});

/// Whether two records have the same bits, by their digests or else by their folds; nullopt if they share neither. Folds of pieces that lie
/// elsewhere in their wholes are not compared.
std::optional<bool> sameBits(const TensorRecord& a, const TensorRecord& b);

} // namespace forkpoint::bundle
