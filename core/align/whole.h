// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/placement.h"
#include "core/align/selection.h"

#include <optional>
#include <string>
#include <vector>

// A tensor of one run by itself: put together as far as its records declare it.
namespace forkpoint::align {

/// The whole that the parts make up, one assembly per replica; empty if the placement of several ranks' parts was not declared.
std::vector<Assembly> declaredWholes(const RunTensor& tensor, const RankMesh& mesh);

} // namespace forkpoint::align
