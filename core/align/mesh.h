// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The ranks of a side as a grid: data parallel, tensor parallel, ...
namespace forkpoint::align {

/// Where every rank stands. Axes of one rank are left out; no axis at all: nothing is known.
struct RankMesh {
    std::vector<std::string> axes;                     ///< outermost first: the one along which rank numbers are furthest apart
    std::vector<std::vector<std::size_t>> coordinates; ///< [rank index in Side::ranks][axis]
    bool empty() const { return axes.empty(); }
};

/// What rank.json says of every rank's coordinates. Empty if a rank does not say, they have other axes, or two ranks stand at one place.
RankMesh declaredMesh(const Side& side);

/// A mesh that the user gave: sizes of the axes, outermost first; rank numbers are row-major over them. Fails with Usage if the product is not the
/// number of ranks of the launch.
using MeshShape = std::vector<std::pair<std::string, std::size_t>>;
Result<RankMesh> givenMesh(const Side& side, const MeshShape& shape);

/// "dp=2,tp=4". Fails with Usage.
Result<MeshShape> parseMeshShape(std::string_view text);

/// Two axes: ranks of one group hold the same rows (`group`: per rank index), groups hold others. Empty if the groups are of unequal size.
RankMesh meshOfGroups(const std::vector<std::size_t>& group);

/// True for the usual names of axes whose ranks share a batch: tp, cp, ...; false for dp, fsdp, ...
bool sharesBatch(std::string_view axis);

} // namespace forkpoint::align
