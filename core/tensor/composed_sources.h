// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor_source.h"

namespace forkpoint {

// Sources made of other sources. Each factory checks what it is given and fails with Usage and a message that names the shapes.

/// Bytes in memory, copied in: for tests and small derived tensors. `bytes.size()` must be elements * item size.
Result<TensorSourcePtr> memorySource(DType dtype, Shape shape, std::vector<std::byte> bytes);

/// Parts joined along `dim`; equal dtypes and equal sizes in every other dim, uneven pieces allowed.
Result<TensorSourcePtr> concatSource(std::vector<TensorSourcePtr> parts, std::int64_t dim);

/// Rows in another order: result row i (a block of `rowsPerSample` entries along `dim`) is block `order[i]` of the source. `order` must be
/// a permutation of 0 .. shape[dim]/rowsPerSample - 1.
Result<TensorSourcePtr> rowMapSource(TensorSourcePtr source, std::vector<std::int64_t> order, std::int64_t rowsPerSample, std::size_t dim = 0);

/// sum_i weights[i] * parts[i], formed in double and rounded once: to float32 for float32 and narrower parts, to float64 for float64. Equal
/// shapes; parts may differ in floating width (the widest decides). Refuses integers and bool.
Result<TensorSourcePtr> weightedSumSource(std::vector<TensorSourcePtr> parts, std::vector<double> weights);

/// Integers that number something else's entries, renumbered: `numbers[v]` for each element v. What is no such number (-100, a padded token) stays.
/// Of int32 and int64 only.
Result<TensorSourcePtr> renumberedSource(TensorSourcePtr source, std::vector<std::int64_t> numbers);

/// The same elements with another shape of equal element count.
Result<TensorSourcePtr> reshapedSource(TensorSourcePtr source, Shape shape);

} // namespace forkpoint
