// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/assembly.h"

#include <cstdint>
#include <optional>
#include <vector>

// Assemblies of which only sketches were recorded: each part has some elements at known places, so the whole has some, too.
namespace forkpoint::align {

/// True if a part's bytes were not recorded: what is compared is a sample, or nothing.
bool isSampled(const Assembly& assembly);

/// Row-major flat indices, ascending, of the elements that all `assemblies` (of one shape) have. Those that are complete have every element;
/// at least one must not be.
std::vector<std::int64_t> commonSamples(const std::vector<const Assembly*>& assemblies);

/// The elements at these flat indices of the assembled tensor, as a tensor of one dimension; the weights, joins and row order are applied.
/// Fails as open() does, or with NotFound if a part does not have them.
Result<TensorSourcePtr> openAt(const bundle::Bundle& bundle, const Assembly& assembly, const std::vector<std::int64_t>& indices);

/// The fold of the whole, from those of its parts; nullopt where it does not follow from them (sums, other orders, undeclared pieces).
std::optional<std::uint64_t> foldOf(const Assembly& assembly);

} // namespace forkpoint::align
