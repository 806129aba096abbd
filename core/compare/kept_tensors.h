// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnose/measurement.h"
#include "core/heatmap/pyramid.h"
#include "core/heatmap/range.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// What a comparison that was opened from a file has in place of its bundles (core/portable).
namespace forkpoint::compare {

/// One of the runs as it was when the file was written.
struct Origin {
    std::string label;    ///< as Side::label
    std::string path;     ///< as the user gave it
    std::string identity; ///< SHA-256 over what was recorded of every tensor, in hex: equal for equal recordings, wherever they lie
};

struct Provenance {
    std::string producer;    ///< "forkpoint-cli 0.1.0"
    std::string created;     ///< "2026-11-30T02:47:10Z"
    std::vector<std::string> options; ///< that shaped the comparison: "--step-offset 1"
    Origin a, b;
    std::optional<Origin> noise;
};

/// A lane too large to be kept element by element: the upper levels of its overview, and what needed its elements.
struct KeptPicture {
    std::shared_ptr<const heatmap::Pyramid> pyramid;
    std::map<heatmap::Mode, std::shared_ptr<const heatmap::Histogram>> histograms; ///< of every mode
    bool ofUpdate = false; ///< as LaneTensors
};

/// The tensors that the file holds itself: few. Immutable; safe to use from many threads.
class KeptTensors {
public:
    virtual ~KeptTensors() = default;
    virtual const Provenance& provenance() const = 0;

    enum class Form : std::uint8_t { Nothing, Elements, Picture };
    virtual Form form(std::size_t pair, std::size_t lane) const = 0;
    /// Of a lane in form Elements. Fails as reading does, with Corrupt if the bytes are not those that were written.
    virtual Result<diagnose::LaneTensors> tensors(std::size_t pair, std::size_t lane) const = 0;
    /// Of a lane in form Picture; fails likewise.
    virtual Result<KeptPicture> picture(std::size_t pair, std::size_t lane) const = 0;

    virtual std::size_t kept() const = 0;    ///< pairs of which something is kept
    virtual std::size_t leftOut() const = 0; ///< pairs that differ and of which nothing is
};

} // namespace forkpoint::compare
