// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/pyramid.h"
#include "core/heatmap/range.h"
#include "ui/heatmap/pair_tensors.h"
#include "ui/heatmap/profile_plot.h"

#include <map>
#include <memory>
#include <optional>
#include <vector>

// What the heatmap reads on workers.
namespace forkpoint::ui {

using Histograms = std::map<heatmap::Mode, std::shared_ptr<const heatmap::Histogram>>;

/// A lane of a pair, sliced and read.
struct PairPicture {
    std::shared_ptr<const PairTensors> tensors;
    std::size_t pair = 0, lane = 0;
    diagnose::LaneTensors sources; ///< without tensors if only an overview was kept: then the pyramid is not readable
    Shape shape; ///< as heatmap::pictureShape
    std::shared_ptr<const heatmap::Pyramid> pyramid;
    std::optional<heatmap::Cell> largest; ///< where |B - A| is largest; nullopt: nowhere finite, or 0 everywhere
    bool equal = false; ///< no element differs
    Histograms histograms; ///< those known so far

    const align::Pair& alignedPair() const { return tensors->comparison().structure().alignment.pairs[pair]; }
    const align::Lane& alignedLane() const { return alignedPair().lanes[lane]; }
};

struct PictureRequest {
    std::shared_ptr<const PairTensors> tensors;
    std::size_t pair = 0, lane = 0;
    std::optional<diagnose::LaneTensors> sources; ///< if they are open already
    std::optional<heatmap::SliceAxes> axes;       ///< nullopt, or none of the shape's: an overview
    std::vector<heatmap::Mode> modes;             ///< whose histograms are needed to show it
};

/// Fails as opening and reading do, with Usage if the sides cannot be laid over each other, or with Cancelled.
Result<PairPicture> loadPicture(const PictureRequest& request, Progress& progress, std::stop_token stop);

Result<Histograms> loadHistograms(const heatmap::Pyramid& pyramid, const std::vector<heatmap::Mode>& modes, Progress* progress, std::stop_token stop);

/// Both sides along the row (or column) of a cell. A line of more than 2^18 elements is taken from a level of the pyramid.
Result<Profile> loadProfile(const heatmap::Pyramid& pyramid, heatmap::Cell cell, bool column, std::stop_token stop);

} // namespace forkpoint::ui
