// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/relation.h"
#include "core/align/rows.h"
#include "core/bundle/bundle.h"

#include <span>
#include <vector>

// Batches of texts are padded to the longest in them, on each rank to another length. What was computed at padded positions says nothing; it is left
// out of comparisons.
namespace forkpoint::align {

/// The bytes of a batch tensor whose rows are known, as they were read.
struct BatchTensor {
    const bundle::TensorRecord* record = nullptr;
    std::vector<std::byte> bytes;
};

/// Finds `positions`, `kept` and `unpadded` of a cell: by the tensor that is called a mask, else by runs of one value at the end of the rows of
/// integers (or at their beginning, if there are none at the end).
void findPadding(RowKeys& keys, const std::vector<BatchTensor>& tensors);

/// Compares the lengths of the cells, taken in the order of relateRows; `order` as RowRelation::order. Length 0 where all have one length, or rows
/// cannot be told content from padding.
Positions commonPositions(const std::map<Cell, RowKeys>& a, const std::vector<Cell>& cellsA, const std::map<Cell, RowKeys>& b,
                          const std::vector<Cell>& cellsB, const std::vector<std::int64_t>& order);

/// 1 at the elements of a lane that are compared; nullptr if all are.
TensorSourcePtr keptMask(const Lane& lane);

/// The source with zeros where `mask` (of its shape, uint8) has one. A null mask changes nothing.
TensorSourcePtr keptOnly(TensorSourcePtr source, TensorSourcePtr mask);

} // namespace forkpoint::align
