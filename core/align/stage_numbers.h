// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side.h"

#include <string>
#include <vector>

// Stages of a pipeline that number their layers from 0, as slices of nn.Sequential and Megatron-LM's models do: layer 0 of the second stage
// is another one than layer 0 of the first.
namespace forkpoint::align {

/// Gives such layers the numbers that they have in the whole model: those of the earlier stages come first. Only where both sides then have
/// as many layers, and these begin the step (the first one in common) with the same weights, which they do not as they are numbered.
/// Without weights, and of two pipelines in any case, only where each stage was given what the one before it had made. Of a pipeline that
/// lacks a stage the weights alone say which layers are there. The ranks concerned become copies. Returns what was done, in words.
std::vector<std::string> numberLayersAlike(Side& a, Side& b, std::int32_t stepA, std::int32_t stepB);

} // namespace forkpoint::align
