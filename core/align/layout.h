// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side_index.h"

namespace forkpoint::align {

/// One step of a side, as its ranks recorded it.
struct StepLayout {
    const Side& side;
    const SideIndex& index;
    const StepRecords& records;
};

/// What of the tensors of a rank has another shape, or is split along another dim, than on the rank of that number on the other side.
struct LayoutDifference {
    bool parameters = false;  ///< DDP against FSDP2
    bool activations = false; ///< tensor parallel against sequence parallel; or batches padded to other lengths
};

/// Of the first rank that both sides have. A rank is a counterpart of a rank only where nothing differs.
LayoutDifference layoutDifference(const StepLayout& a, const StepLayout& b);

} // namespace forkpoint::align
