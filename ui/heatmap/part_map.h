// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/align/assembly.h"

#include <cstdint>
#include <optional>
#include <vector>

// Which rank's part an element of an assembled tensor came from.
namespace forkpoint::ui {

/// Indexes [begin, end) of a dim that came from one rank and one micro-step; -1 where it does not matter.
struct PartSpan {
    std::int64_t begin = 0, end = 0;
    int rank = -1;
    std::int32_t micro = -1;
    bool operator==(const PartSpan&) const = default;
};

/// The parts along one dim, in order, without gaps.
struct PartAxis {
    std::size_t dim = 0;
    std::vector<PartSpan> spans;
};

/// Along which dims parts were joined: none for a tensor taken as it is, or where every element is a sum. Rows that were reordered give a
/// span per run of rows from one part; nothing if they are mixed so much that there are more than `kMostSpans`.
inline constexpr std::size_t kMostSpans = 256;
std::vector<PartAxis> partAxes(const align::Assembly& assembly);

/// Where an element was recorded.
struct PartPlace {
    std::optional<int> rank;           ///< nullopt: every rank of the assembly has a summand of it
    std::optional<std::int32_t> micro; ///< nullopt: likewise, or the phase has no micro-steps
    bool weighted = false;             ///< the summands have a weight other than 1
    std::vector<std::int64_t> index;   ///< in the recorded part
};

/// `index`: full index in the assembly's shape, within it.
PartPlace placeOf(const align::Assembly& assembly, std::vector<std::int64_t> index);

} // namespace forkpoint::ui
