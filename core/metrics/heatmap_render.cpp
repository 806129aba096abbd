// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/heatmap_render.h"

#include "core/metrics/heatmap_rows.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

// A pixel stands for a range of cells in each direction. The ranges of neighbouring pixels meet without gap or overlap, so every cell is in
// exactly one pixel. A row of pixels is made in three steps: its rows of cells are combined into one, that is combined into one value per
// pixel, values become colours. A row of pixels over the same rows of cells as the one above is copied.
namespace forkpoint::metrics {
namespace {

// ---- from values to places on the map

/// log2 for choosing colours: within 2e-5, monotone, exact at powers of two. The mantissa's part is t + t (1 - t) q(t), t = mantissa - 1, with q
/// fitted to log2. Of numbers below double's normal ones (float's are normal in double) it gives about -1023; infinity is 1024.
inline double quickLog2(double x)
{
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    const auto exponent = static_cast<std::int32_t>(bits >> 52) - 1023;
    const std::uint64_t mantissaBits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    double mantissa;
    std::memcpy(&mantissa, &mantissaBits, sizeof mantissa);
    const double t = mantissa - 1;
    const double q = 0.4419621527194977 + t * (-0.2672150731086731 + t * (0.14798900485038757 + t * -0.04459543898701668));
    return exponent + (t + t * (1 - t) * q);
}

/// A scale with its numbers worked out. One value becomes an index by position(): shared by colourIndex and the loop over pixels, so that a
/// legend and the picture agree.
struct PreparedScale {
    RangeScale scale = RangeScale::Linear;
    double offset = 0; ///< what is at index 0, on the scale
    double factor = 0; ///< indexes per unit of the scale
    double unit = 1;   ///< 1 / linear

    explicit PreparedScale(const Normalisation& normalisation)
        : scale(normalisation.scale)
    {
        constexpr double kMost = static_cast<double>(kColours - 1);
        constexpr double kLargest = std::numeric_limits<double>::max();
        const auto made = [=](double x, double otherwise) { return std::isnan(x) ? otherwise : std::clamp(x, -kLargest, kLargest); };
        double low = made(normalisation.range.low, 0);
        double high = made(normalisation.range.high, 1);
        if (scale == RangeScale::Log) {
            high = high > 0 ? std::max(high, std::numeric_limits<double>::min()) : 1;
            low = low > 0 ? std::max(low, std::numeric_limits<double>::min()) : high * 1e-6;
            offset = quickLog2(low);
            factor = kMost / std::max(quickLog2(high) - offset, 1e-6);
            return;
        }
        if (scale == RangeScale::SymLog)
            unit = 1 / std::clamp(made(std::fabs(normalisation.linear), 1), 1e-300, 1e300);
        offset = onScale(low);
        const double extent = onScale(high) - offset;
        factor = kMost / std::max(extent, std::max(std::fabs(offset) * 1e-12, 1e-300));
    }

    /// Place on the scale of a value for Linear and SymLog. Halved in the linear case: two finite numbers may be further apart than fits.
    double onScale(double value) const
    {
        if (scale == RangeScale::Linear)
            return value / 2;
        const double size = quickLog2(1 + std::fabs(value) * unit);
        return value < 0 ? -size : size;
    }

    template <RangeScale kScale>
    double position(double value) const
    {
        double at = 0;
        if constexpr (kScale == RangeScale::Linear)
            at = value * 0.5;
        else if constexpr (kScale == RangeScale::Log)
            at = value > 0 ? quickLog2(value) : -1e4;
        else
            at = onScale(value);
        const double index = (at - offset) * factor + 0.5;
        const double floored = index > 0 ? index : 0;
        return floored < static_cast<double>(kColours - 1) ? floored : static_cast<double>(kColours - 1);
    }
};

template <RangeScale kScale, class Real>
void indexesOf(const PreparedScale& scale, const Real* values, int n, std::uint8_t* to)
{
    for (int i = 0; i < n; ++i)
        to[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(scale.position<kScale>(static_cast<double>(values[i]))));
}

template <class Real>
void indexesOf(const PreparedScale& scale, const Real* values, int n, std::uint8_t* to)
{
    switch (scale.scale) {
    case RangeScale::Linear:
        return indexesOf<RangeScale::Linear>(scale, values, n, to);
    case RangeScale::Log:
        return indexesOf<RangeScale::Log>(scale, values, n, to);
    case RangeScale::SymLog:
        return indexesOf<RangeScale::SymLog>(scale, values, n, to);
    }
}

// ---- from pixels to cells

/// The cells [begin, end) that one pixel stands for; none if it lies beside the picture.
struct CellRange {
    std::int64_t begin = 0, end = 0;

    bool empty() const { return begin >= end; }
    bool operator==(const CellRange&) const = default;
};

/// Of every pixel along one direction. `size`: elements of the picture, `cells`: of the level, 2^shift elements each.
std::vector<CellRange> cellRanges(double start, double perPixel, int pixels, std::int64_t size, std::int64_t cells, int shift)
{
    std::vector<CellRange> ranges(static_cast<std::size_t>(pixels));
    const auto total = static_cast<double>(size);
    // Positions are rounded; the edges of the picture must not be missed by a hair, nor drawn twice.
    const double hair = std::min(1e-6 * perPixel, 0.01);
    const auto cellAtPosition = [shift](double position) { return static_cast<std::int64_t>(std::floor(std::ldexp(position, -shift))); };
    for (int pixel = 0; pixel < pixels; ++pixel) {
        CellRange& range = ranges[static_cast<std::size_t>(pixel)];
        if (perPixel < 1) {
            const double middle = start + (pixel + 0.5) * perPixel;
            if (middle >= 0 && middle < total) {
                range.begin = std::min(cellAtPosition(middle), cells - 1);
                range.end = range.begin + 1;
            }
            continue;
        }
        const double begin = start + pixel * perPixel;
        const double end = start + (pixel + 1) * perPixel;
        if (begin + hair >= total || end <= hair)
            continue;
        range.begin = begin <= 0 ? 0 : std::min(cellAtPosition(begin), cells - 1);
        range.end = end + hair >= total ? cells : std::max(cellAtPosition(end), range.begin + 1);
    }
    return ranges;
}

/// From the first to the last cell that any pixel stands for.
CellRange coveredBy(const std::vector<CellRange>& ranges)
{
    CellRange all;
    for (const CellRange& range : ranges) {
        if (range.empty())
            continue;
        if (all.empty())
            all = range;
        all.end = std::max(all.end, range.end);
    }
    return all;
}

// ---- combining

enum class Combining { Signed, Highest };

template <Combining kHow, class Real>
inline Real combined(Real x, Real y)
{
    if constexpr (kHow == Combining::Highest)
        return y > x ? y : x;
    else
        return largerMagnitude(y < x ? y : x, y > x ? y : x);
}

/// The constant number of turns inside lets the compiler vectorise it.
template <class Combine, class T>
void combineInto(T* to, const T* from, std::int64_t n, Combine combine)
{
    constexpr std::int64_t kAtOnce = 32;
    std::int64_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce) {
        for (std::int64_t j = 0; j < kAtOnce; ++j)
            to[i + j] = combine(to[i + j], from[i + j]);
    }
    for (; i < n; ++i)
        to[i] = combine(to[i], from[i]);
}

/// Everything that rows of pixels share.
struct Frame {
    const HeatmapRows& rows;
    const HeatmapViewport& view;
    const HeatmapStyle& style;
    const std::vector<CellRange>& down;
    const std::vector<CellRange>& across;
    CellRect rect; ///< of cells that are looked at
    std::span<Rgba> pixels;
    std::size_t stride;
};

template <class Real, Combining kHow>
class RowPainter {
public:
    explicit RowPainter(const Frame& frame)
        : m_frame(frame)
        , m_scale(frame.style.normalisation)
        , m_table(colours(frame.style.map))
        , m_flagsOfMode(modeFlags(frame.style.mode))
        , m_first(0)
        , m_last(static_cast<int>(frame.across.size()))
    {
        while (m_first < m_last && at(m_first).empty())
            ++m_first;
        while (m_last > m_first && at(m_last - 1).empty())
            --m_last;
        const auto n = static_cast<std::size_t>(m_last - m_first);
        m_pixelValues.resize(n);
        m_pixelFlags.resize(n);
        m_indexes.resize(n);
        m_special = static_cast<std::uint16_t>(m_flagsOfMode.nan | m_flagsOfMode.positiveInf | m_flagsOfMode.negativeInf);
    }

    void paint(int y)
    {
        Rgba* const to = m_frame.pixels.data() + static_cast<std::size_t>(y) * m_frame.stride;
        const CellRange& range = m_frame.down[static_cast<std::size_t>(y)];
        const auto width = m_frame.across.size();
        if (range.empty() || m_first == m_last) {
            std::fill_n(to, width, m_frame.style.background);
            return;
        }
        if (m_painted != nullptr && range == m_paintedRange) {
            std::copy_n(m_painted, width, to);
            return;
        }
        gatherPixels(combinedRow(range));
        std::fill_n(to, m_first, m_frame.style.background);
        colour(to + m_first);
        std::fill(to + m_last, to + width, m_frame.style.background);
        m_painted = to;
        m_paintedRange = range;
    }

private:
    const CellRange& at(int pixel) const { return m_frame.across[static_cast<std::size_t>(pixel)]; }

    RowValues<Real> combinedRow(const CellRange& range)
    {
        const RowValues<Real> first = m_frame.rows.row<Real>(range.begin, m_scratch);
        if (range.end == range.begin + 1)
            return first;
        const auto n = static_cast<std::size_t>(m_frame.rect.columns);
        m_flags.assign(first.flags, first.flags + n);
        if (first.values != nullptr)
            m_values.assign(first.values, first.values + n);
        for (std::int64_t row = range.begin + 1; row < range.end; ++row) {
            const RowValues<Real> next = m_frame.rows.row<Real>(row, m_scratch);
            combineInto(m_flags.data(), next.flags, m_frame.rect.columns, [](std::uint16_t x, std::uint16_t y) { return static_cast<std::uint16_t>(x | y); });
            if (next.values != nullptr)
                combineInto(m_values.data(), next.values, m_frame.rect.columns, combined<kHow, Real>);
        }
        return {first.values == nullptr ? nullptr : m_values.data(), m_flags.data()};
    }

    void gatherPixels(const RowValues<Real>& row)
    {
        const std::int64_t origin = m_frame.rect.column;
        for (int pixel = m_first; pixel < m_last; ++pixel) {
            const CellRange& range = at(pixel);
            const auto place = static_cast<std::size_t>(pixel - m_first);
            const std::int64_t begin = range.begin - origin, last = range.end - origin - 1; // often one or two cells, without a branch
            unsigned flags = unsigned{row.flags[begin]} | row.flags[last];
            Real value = 0;
            if (row.values != nullptr)
                value = combined<kHow>(row.values[begin], row.values[last]);
            for (std::int64_t cell = begin + 1; cell < last; ++cell) {
                flags |= row.flags[cell];
                if (row.values != nullptr)
                    value = combined<kHow>(value, row.values[cell]);
            }
            m_pixelFlags[place] = static_cast<std::uint16_t>(flags);
            m_pixelValues[place] = value;
        }
    }

    void colour(Rgba* to)
    {
        const int n = m_last - m_first;
        const HeatmapStyle& style = m_frame.style;
        if (style.mode == HeatmapMode::OverTolerance) {
            for (int i = 0; i < n; ++i) {
                const unsigned flags = m_pixelFlags[static_cast<std::size_t>(i)];
                const Rgba number = (flags & kOver) != 0 ? style.classes.over : (flags & kDiffers) != 0 ? style.classes.within : style.classes.equal;
                to[i] = chosen(flags, number);
            }
            return;
        }
        if (style.mode == HeatmapMode::AbsDifference) {
            for (Real& value : m_pixelValues)
                value = value < 0 ? -value : value;
        }
        indexesOf(m_scale, m_pixelValues.data(), n, m_indexes.data());
        for (int i = 0; i < n; ++i)
            to[i] = chosen(m_pixelFlags[static_cast<std::size_t>(i)], m_table[m_indexes[static_cast<std::size_t>(i)]]);
    }

    Rgba chosen(unsigned flags, Rgba number) const
    {
        if ((flags & m_special) == 0 && (flags & m_flagsOfMode.finite) != 0) [[likely]]
            return number;
        const HeatmapStyle& style = m_frame.style;
        if (style.showSpecial) {
            if ((flags & m_flagsOfMode.nan) != 0)
                return style.special.nan;
            if ((flags & m_flagsOfMode.positiveInf) != 0)
                return style.special.positiveInf;
            if ((flags & m_flagsOfMode.negativeInf) != 0)
                return style.special.negativeInf;
        }
        return (flags & m_flagsOfMode.finite) != 0 ? number : style.background;
    }

    const Frame& m_frame;
    PreparedScale m_scale;
    std::span<const Rgba, kColours> m_table;
    ModeFlags m_flagsOfMode;
    std::uint16_t m_special = 0;
    int m_first, m_last; ///< pixels with cells
    RowScratch<Real> m_scratch;
    std::vector<Real> m_values, m_pixelValues;
    std::vector<std::uint16_t> m_flags, m_pixelFlags;
    std::vector<std::uint8_t> m_indexes;
    const Rgba* m_painted = nullptr;
    CellRange m_paintedRange;
};

template <class Real, Combining kHow>
void paint(const Frame& frame)
{
    constexpr int kRowsAtOnce = 16;
    oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<int>(0, frame.view.height, kRowsAtOnce), [&](const oneapi::tbb::blocked_range<int>& range) {
        RowPainter<Real, kHow> painter(frame);
        for (int y = range.begin(); y != range.end(); ++y)
            painter.paint(y);
    });
}

bool isViewport(const HeatmapViewport& view)
{
    constexpr double kFar = 1e18; // cells are counted in 64 bits
    const auto isScale = [](double perPixel) { return perPixel > 0 && perPixel < 1e15; };
    return view.width >= 0 && view.height >= 0 && isScale(view.columnsPerPixel) && isScale(view.rowsPerPixel) && std::fabs(view.left) < kFar &&
           std::fabs(view.top) < kFar;
}

} // namespace

std::size_t colourIndex(const Normalisation& normalisation, double value)
{
    std::uint8_t index = 0;
    indexesOf(PreparedScale(normalisation), &value, 1, &index);
    return index;
}

HeatmapViewport fitted(std::int64_t rows, std::int64_t columns, int width, int height, bool stretched)
{
    HeatmapViewport view;
    view.width = width;
    view.height = height;
    if (rows <= 0 || columns <= 0 || width <= 0 || height <= 0)
        return view;
    view.columnsPerPixel = static_cast<double>(columns) / width;
    view.rowsPerPixel = static_cast<double>(rows) / height;
    if (!stretched)
        view.columnsPerPixel = view.rowsPerPixel = std::max(view.columnsPerPixel, view.rowsPerPixel);
    view.left = (static_cast<double>(columns) - width * view.columnsPerPixel) / 2;
    view.top = (static_cast<double>(rows) - height * view.rowsPerPixel) / 2;
    return view;
}

HeatmapViewport zoomed(const HeatmapViewport& view, double factor, double x, double y)
{
    HeatmapViewport result = view;
    result.columnsPerPixel = view.columnsPerPixel / factor;
    result.rowsPerPixel = view.rowsPerPixel / factor;
    result.left = view.left + x * (view.columnsPerPixel - result.columnsPerPixel);
    result.top = view.top + y * (view.rowsPerPixel - result.rowsPerPixel);
    return result;
}

HeatmapViewport panned(const HeatmapViewport& view, double x, double y)
{
    HeatmapViewport result = view;
    result.left -= x * view.columnsPerPixel;
    result.top -= y * view.rowsPerPixel;
    return result;
}

Cell cellAt(const HeatmapViewport& view, int x, int y)
{
    return {static_cast<std::int64_t>(std::floor(view.top + (y + 0.5) * view.rowsPerPixel)),
            static_cast<std::int64_t>(std::floor(view.left + (x + 0.5) * view.columnsPerPixel))};
}

PixelPoint pixelOf(const HeatmapViewport& view, Cell cell)
{
    return {(static_cast<double>(cell.column) - view.left) / view.columnsPerPixel, (static_cast<double>(cell.row) - view.top) / view.rowsPerPixel};
}

Result<RenderInfo> renderRegion(const HeatmapPyramid& pyramid, const HeatmapViewport& view, const HeatmapStyle& style, std::span<Rgba> pixels,
                                std::size_t stride, Reads reads, std::stop_token stop)
try {
    if (!isViewport(view))
        return fail(ErrorCode::Usage, "a heatmap cannot be drawn at this place or size");
    if (view.width == 0 || view.height == 0)
        return RenderInfo{};
    const auto width = static_cast<std::size_t>(view.width), height = static_cast<std::size_t>(view.height);
    if (stride < width || pixels.size() < (height - 1) * stride + width)
        return fail(ErrorCode::Usage, "the buffer is too small for the heatmap");

    RenderInfo info;
    std::vector<CellRange> down(height), across(width);
    if (pyramid.levels() > 0) {
        info.level = pyramid.levelFor(view.rowsPerPixel, view.columnsPerPixel);
        const LevelShape& shape = pyramid.level(info.level);
        down = cellRanges(view.top, view.rowsPerPixel, view.height, pyramid.slice().rows(), shape.rows, shape.rowShift);
        across = cellRanges(view.left, view.columnsPerPixel, view.width, pyramid.slice().columns(), shape.columns, shape.columnShift);
    }
    const CellRange rows = coveredBy(down), columns = coveredBy(across);
    const CellRect rect = rows.empty() || columns.empty() ? CellRect{} : CellRect{rows.begin, columns.begin, rows.end - rows.begin, columns.end - columns.begin};
    const auto prepared = HeatmapRows::prepare(pyramid, info.level, rect, style.mode, reads, stop);
    if (!prepared)
        return tl::unexpected<Error>(prepared.error());
    info.complete = prepared->complete();

    const Frame frame{*prepared, view, style, down, across, rect, pixels, stride};
    const bool isSigned = style.mode == HeatmapMode::A || style.mode == HeatmapMode::B || style.mode == HeatmapMode::Difference ||
                          style.mode == HeatmapMode::AbsDifference;
    if (pyramid.wide())
        isSigned ? paint<double, Combining::Signed>(frame) : paint<double, Combining::Highest>(frame);
    else
        isSigned ? paint<float, Combining::Signed>(frame) : paint<float, Combining::Highest>(frame);
    return info;
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::Unreadable, "not enough memory to draw the heatmap");
}

} // namespace forkpoint::metrics
