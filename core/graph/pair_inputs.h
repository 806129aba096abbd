// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"

#include <cstddef>
#include <vector>

// What a pair was computed from, as far as it was recorded. Inherited error and the fork point rest on this.
namespace forkpoint::graph {

using PairIndex = std::size_t;

struct PairInputs {
    /// Per pair, the pairs it was computed from (DESIGN section 7):
    ///   output           inputs of the call, start parameters and buffers of the module's subtree, also those tied to one of it
    ///   input            the outputs that reach it along data-flow edges, else the batch
    ///   loss             outputs that reach it (inputs of a call whose own output it is), else the roots' outputs; and the batch
    ///   grad_output      grad_outputs and inputs of the calls that consume the output; the loss where backward starts from it
    ///   recomputed       input: the first one of the call; output: the recomputed input (else the first one), start as for output
    ///   backward/grad    grad_outputs and inputs of the calls of the module, and of those that share the parameter
    ///   reduce/grad      backward/grad of the step's micro-steps
    ///   optimizer/grad   reduce/grad
    ///   optimizer/state  the value before; start parameter and the last gradient
    ///   optimizer/param  start parameter, last gradient, state before
    ///   optimizer/buffer start buffer, inputs of the module's calls
    ///   start            the previous step's optimizer pair of the same tensor, if recorded; state before likewise
    ///   batch            none
    std::vector<std::vector<PairIndex>> of;
};

PairInputs pairInputs(const align::Alignment& alignment);

} // namespace forkpoint::graph
