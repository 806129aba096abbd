// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side.h"
#include "core/tensor/tensor_source.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// How the parts of one side become the tensor that is compared.
namespace forkpoint::align {

/// One recorded tensor and where it was recorded.
struct Part {
    const bundle::RankData* rank = nullptr;
    const bundle::TensorRecord* record = nullptr;
    std::int32_t micro = 0;
    std::size_t rankIndex = 0; ///< of the rank in Side::ranks
};

enum class Join : std::uint8_t {
    Single,    ///< there is one part
    Replicate, ///< every part is the whole; the lane takes one of them
    Concat,    ///< pieces along a dim
    Sum,       ///< weighted sum
};

/// One side of one lane: parts[micro][rank], joined over ranks first, then over micro-steps, then reordered.
struct Assembly {
    std::vector<std::vector<Part>> parts;
    Join ranks = Join::Single;
    std::int64_t dim = 0; ///< of a concatenation over ranks
    Join micros = Join::Single;
    double weight = 1;    ///< of every part
    std::vector<std::int64_t> order; ///< result sample i is sample order[i] of the joined tensor; empty: as it is
    std::int64_t samples = 0;        ///< number of samples that `order` permutes
    Shape shape;                     ///< of the result
    DType dtype = DType::Float32;    ///< of the parts

    /// The record if the whole is just that: one part, unscaled, in its own order.
    const bundle::TensorRecord* soleRecord() const;
};

/// The assembled tensor. Fails as Bundle::source does, or with Usage if the parts do not fit.
Result<TensorSourcePtr> open(const bundle::Bundle& bundle, const Assembly& assembly);

/// The parts, each opened by `openPart` and weighted, joined over ranks along `dim` and then over micro-steps; not reordered.
using OpenPart = std::function<Result<TensorSourcePtr>(const bundle::Bundle&, const Part&)>;
Result<TensorSourcePtr> openParts(const bundle::Bundle& bundle, const Assembly& assembly, std::int64_t dim, const OpenPart& openPart);

/// "ranks 0-1 concatenated along dim 0, rows reordered": the plan in words; empty for a single part taken as it is.
std::string describe(const Assembly& assembly);

/// "ranks 0-1", "rank 3", "ranks 0, 2-3".
std::string rankList(std::vector<int> ranks);

} // namespace forkpoint::align
