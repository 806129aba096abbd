// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/colour_map.h"
#include "core/heatmap/pyramid.h"
#include "core/heatmap/range.h"

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>

// A part of a pyramid as pixels.
namespace forkpoint::heatmap {

/// Which part of a picture is seen, in device pixels. Column x of pixels begins at `left + x * columnsPerPixel` elements, row y at
/// `top + y * rowsPerPixel`; these may lie outside the picture. Less than one element per pixel is a magnification.
struct Viewport {
    double left = 0, top = 0;
    double columnsPerPixel = 1, rowsPerPixel = 1;
    int width = 0, height = 0;

    bool operator==(const Viewport&) const = default;
};

/// All of a picture of rows x columns, centred, with square cells; or stretched to fill the view in both directions.
Viewport fitted(std::int64_t rows, std::int64_t columns, int width, int height, bool stretched = false);
/// Magnified by `factor` (2: cells twice as large) with the element under pixel position (x, y) staying where it is.
Viewport zoomed(const Viewport& view, double factor, double x, double y);
/// Moved so that what was at pixel position (0, 0) is at (x, y).
Viewport panned(const Viewport& view, double x, double y);
/// The element at the middle of pixel (x, y), whether on the picture or not.
Cell cellAt(const Viewport& view, int x, int y);
/// Left and top edge of a cell in pixels, fractions included.
struct PixelPoint {
    double x = 0, y = 0;
};
PixelPoint pixelOf(const Viewport& view, Cell cell);

/// How values become places on a colour map. Values outside the range take the colour of the nearer end.
struct Normalisation {
    RangeScale scale = RangeScale::Linear;
    ValueRange range;
    /// SymLog: sign(v) log(1 + |v| / linear), so values up to about this are shown linearly.
    double linear = 1;

    bool operator==(const Normalisation&) const = default;
};

/// Place of a finite value on a map of kColours, 0 .. kColours - 1. On a log scale, 0 and below are at the low end. A range that is no range
/// (low >= high, NaN, a log scale from 0 or below) is treated as the nearest that is one.
std::size_t colourIndex(const Normalisation& normalisation, double value);

struct Style {
    Mode mode = Mode::AbsDifference;
    ColourMap map = ColourMap::Viridis;
    Normalisation normalisation;
    SpecialColours special = specialColours(ColourMap::Viridis);
    bool showSpecial = true; ///< false: NaN and infinities are passed over, and pixels with nothing else take `background`
    ClassColours classes;    ///< mode OverTolerance only, in place of the map
    Rgba background = 0;     ///< beyond the picture

    bool operator==(const Style&) const = default;
};

struct RenderInfo {
    int level = 0;        ///< drawn from
    bool complete = true; ///< false: something was drawn from a coarser level; render again, with reads, elsewhere
};

/// Fills `pixels` (`stride` pixels from one row to the next, at least the viewport's width). Where several cells share a pixel their extremes
/// do, and NaN, infinity and minus infinity, in this order, go before any number: whatever is in a cell is in a pixel. Every cell in view has
/// one; a picture thinner than a pixel still fills one. Fails as the sources fail, with Cancelled, or with Usage if the buffer is too small
/// or the viewport is no viewport; never for want of data if reads are forbidden, which may leave it incomplete.
Result<RenderInfo> renderRegion(const Pyramid& pyramid, const Viewport& view, const Style& style, std::span<Rgba> pixels,
                                std::size_t stride, Reads reads = Reads::Allowed, std::stop_token stop = {});

} // namespace forkpoint::heatmap
