// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/pair_picture.h"

#include "core/heatmap/pair.h"

#include <QCoreApplication>

#include <cmath>
#include <limits>

namespace forkpoint::ui {

using heatmap::Mode;

namespace {

constexpr std::int64_t kLongestLine = std::int64_t { 1 } << 18;

struct Words {
    Q_DECLARE_TR_FUNCTIONS(Heatmap)
};

std::vector<double> numbers(const heatmap::RegionValues& region, Mode mode)
{
    const auto kinds = heatmap::modeFlags(mode);
    std::vector<double> out(region.values.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto flags = region.flags[i];
        const double infinity = std::numeric_limits<double>::infinity();
        out[i] = flags & kinds.nan        ? std::numeric_limits<double>::quiet_NaN()
            : flags & kinds.positiveInf ? infinity
            : flags & kinds.negativeInf ? -infinity
            : flags & kinds.finite      ? region.values[i]
                                        : std::numeric_limits<double>::quiet_NaN();
    }
    return out;
}

} // namespace

Result<Histograms> loadHistograms(const heatmap::Pyramid& pyramid, const std::vector<Mode>& modes, Progress* progress, std::stop_token stop)
{
    Histograms out;
    for (const auto mode : modes) {
        auto made = heatmap::histogramOf(pyramid, mode, stop, progress);
        if (!made) {
            return tl::unexpected(made.error());
        }
        out[mode] = std::make_shared<const heatmap::Histogram>(std::move(*made));
    }
    return out;
}

Result<PairPicture> loadPicture(const PictureRequest& request, Progress& progress, std::stop_token stop)
{
    PairPicture out { request.tensors, request.pair, request.lane, {}, {}, {}, {}, false, {} };
    if (const auto* kept = request.tensors->pictureOf(request.pair, request.lane)) {
        auto picture = kept->picture(request.pair, request.lane);
        if (!picture) {
            return tl::unexpected(picture.error());
        }
        out.sources.ofUpdate = picture->ofUpdate;
        out.shape = picture->pyramid->slice().shape();
        out.pyramid = std::move(picture->pyramid);
        out.histograms = std::move(picture->histograms);
        const auto largest = out.pyramid->largest(Mode::AbsDifference);
        out.largest = largest ? *largest : std::nullopt;
        return out;
    }
    if (request.sources) {
        out.sources = *request.sources;
    } else {
        auto opened = request.tensors->open(request.pair, request.lane);
        if (!opened) {
            return tl::unexpected(opened.error());
        }
        out.sources = std::move(*opened);
    }
    out.shape = heatmap::pictureShape(*out.sources.a);
    const bool usable = request.axes && heatmap::Slice::make(out.shape, *request.axes);
    auto pyramid = heatmap::Pyramid::build(out.sources.a, out.sources.b, usable ? *request.axes : heatmap::overviewAxes(out.shape), {}, stop, &progress);
    if (!pyramid) {
        return tl::unexpected(pyramid.error());
    }
    out.pyramid = std::move(*pyramid);
    const auto largest = out.pyramid->largest(Mode::AbsDifference);
    if (!largest) {
        return tl::unexpected(largest.error());
    }
    if (*largest) { // no element is the largest where all are equal
        const auto element = out.pyramid->element(**largest);
        if (!element) {
            return tl::unexpected(element.error());
        }
        if (element->difference != 0) {
            out.largest = *largest;
        }
        out.equal = element->difference == 0 && out.pyramid->counts().finitePairs == out.pyramid->counts().elements;
    }
    auto histograms = loadHistograms(*out.pyramid, request.modes, &progress, stop);
    if (!histograms) {
        return tl::unexpected(histograms.error());
    }
    out.histograms = std::move(*histograms);
    return out;
}

Result<Profile> loadProfile(const heatmap::Pyramid& pyramid, heatmap::Cell cell, bool column, std::stop_token stop)
{
    const auto length = [&](int level) { return column ? pyramid.level(level).rows : pyramid.level(level).columns; };
    int level = pyramid.readable() ? 0 : pyramid.firstStoredLevel();
    while (length(level) > kLongestLine && level + 1 < pyramid.levels()) {
        ++level;
    }
    const auto& shape = pyramid.level(level);
    const std::int64_t at = column ? cell.column >> shape.columnShift : cell.row >> shape.rowShift;
    const heatmap::CellRect line = column ? heatmap::CellRect { 0, at, shape.rows, 1 } : heatmap::CellRect { at, 0, 1, shape.columns };
    const auto a = pyramid.region(level, line, Mode::A, stop), b = pyramid.region(level, line, Mode::B, stop);
    if (!a || !b) {
        return tl::unexpected(a ? b.error() : a.error());
    }
    Profile out;
    out.a = numbers(*a, Mode::A);
    out.b = numbers(*b, Mode::B);
    out.elementsPerValue = std::exp2(column ? shape.rowShift : shape.columnShift);
    const int across = column ? shape.columnShift : shape.rowShift;
    const std::int64_t first = at << across, last = ((at + 1) << across) - 1;
    if (first == last) {
        out.title = column ? Words::tr("column %1").arg(first) : Words::tr("row %1").arg(first);
    } else {
        out.title = column ? Words::tr("columns %1-%2").arg(first).arg(last) : Words::tr("rows %1-%2").arg(first).arg(last);
    }
    return out;
}

} // namespace forkpoint::ui
