// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/compare/comparison.h"
#include "core/portable/container.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

// The tensors that a portable comparison keeps: those of the fork, of what it was computed from and of the worst pairs, as far as there is
// room. A lane is kept element by element if that takes no more than its share, else as the upper levels of its picture.
namespace forkpoint::portable {

/// What it takes to draw a lane without its elements.
struct PictureTable {
    heatmap::SliceAxes axes;
    double rtol = 0, atol = 0;
    heatmap::Counts counts;
    std::int32_t first = 0; ///< the lowest level that is kept
    std::vector<heatmap::Histogram> histograms; ///< one per mode
};

/// Where a lane is kept, and what its section holds.
struct KeptLane {
    std::size_t pair = 0, lane = 0;
    bool ofUpdate = false; ///< as LaneTensors
    DType dtypeA = DType::Float32, dtypeB = DType::Float32; ///< of a picture: of the parts of complex elements
    Shape shapeA, shapeB;
    std::size_t section = 0;
    std::optional<PictureTable> picture; ///< nullopt: element by element
};

struct KeptTable {
    std::vector<KeptLane> lanes;
    std::size_t leftOut = 0; ///< as KeptTensors
};

/// Pairs that differ and have tensors to look at, in the order in which room is given to them.
std::vector<std::size_t> candidates(const compare::Snapshot& comparison);

/// Adds sections until the file, with its table, would exceed `budget` bytes. Tensors that cannot be read are left out. Fails as writing does,
/// or Cancelled.
Result<KeptTable> writeLanes(ContainerWriter& out, const compare::Snapshot& comparison, std::uint64_t budget, Progress* progress, std::stop_token stop);

/// What the table says, read from the container when asked for. The table must have passed check().
std::shared_ptr<const compare::KeptTensors> keptTensors(std::shared_ptr<const Container> file, compare::Provenance provenance, KeptTable table);

/// Empty, or what is wrong with the table.
std::string check(const KeptTable& table, const align::Alignment& alignment, std::size_t sections);

template <class Archive> void fields(Archive& archive, PictureTable& x)
{
    auto& [axes, rtol, atol, counts, first, histograms] = x;
    archive(axes, rtol, atol, counts, first, histograms);
}

template <class Archive> void fields(Archive& archive, KeptLane& x)
{
    auto& [pair, lane, ofUpdate, dtypeA, dtypeB, shapeA, shapeB, section, picture] = x;
    archive(pair, lane, ofUpdate, dtypeA, dtypeB, shapeA, shapeB, section, picture);
}

template <class Archive> void fields(Archive& archive, KeptTable& x)
{
    auto& [lanes, leftOut] = x;
    archive(lanes, leftOut);
}

} // namespace forkpoint::portable

namespace forkpoint::heatmap {

template <class Archive> void fields(Archive& archive, DimRange& x)
{
    auto& [first, count] = x;
    archive(first, count);
}

template <class Archive> void fields(Archive& archive, SliceAxes& x)
{
    auto& [rows, columns, fixed, foldWidth] = x;
    archive(rows, columns, fixed, foldWidth);
}

template <class Archive> void fields(Archive& archive, Counts& x)
{
    auto& [elements, finitePairs, nanA, positiveInfA, negativeInfA, nanB, positiveInfB, negativeInfB, nanPairs, equalInf, differing, over] = x;
    archive(elements, finitePairs, nanA, positiveInfA, negativeInfA, nanB, positiveInfB, negativeInfB, nanPairs, equalInf, differing, over);
}

template <class Archive> void fields(Archive& archive, LogBins& x)
{
    auto& [first, counts] = x;
    archive(first, counts);
}

template <class Archive> void fields(Archive& archive, Histogram& x)
{
    auto& [mode, negative, positive, zeros, nan, positiveInf, negativeInf, classes, min, max] = x;
    archive(mode, negative, positive, zeros, nan, positiveInf, negativeInf, classes, min, max);
}

} // namespace forkpoint::heatmap
