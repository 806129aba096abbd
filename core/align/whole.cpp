// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/whole.h"

#include <algorithm>

namespace forkpoint::align {

std::vector<Assembly> declaredWholes(const RunTensor& tensor, const RankMesh& mesh)
{
    const SideWeights weights;
    const std::map<Cell, RowKeys> noRows;
    const SideKnowledge knowledge { .mesh = mesh, .weights = weights, .rows = noRows };
    const auto parts = sideParts(tensor.key, { tensor.parts }, knowledge);
    Candidate candidate;
    for (const auto& axis : parts.axes) {
        if (!axis.fixed) {
            return {};
        }
        candidate.ways.push_back(*axis.fixed);
    }
    const auto shape = joinedShape(parts, candidate.ways);
    if (!shape) {
        return {};
    }
    candidate.shape = *shape;
    double weight = 1;
    for (const auto& way : candidate.ways) {
        weight *= way.weight.value_or(1);
    }
    std::vector<Assembly> out;
    for (std::size_t lane = 0; lane < laneCount(parts, candidate); ++lane) {
        out.push_back(assemblyOf(parts, candidate, weight, lane));
    }
    return out;
}

} // namespace forkpoint::align
