// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/render.h"

#include "core/heatmap/pixels.h"
#include "core/heatmap/rows.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

// A pixel stands for a range of cells in each direction: magnified, for the cell under its middle; otherwise for those whose middle it holds, and
// at the edge of the view also for what the edge cuts in two. Ranges of neighbouring pixels then meet without gap or overlap, so every cell in
// view is in exactly one pixel, and the element under a pixel's middle is always among what the pixel shows. A row of pixels is made in three steps: its rows of cells are combined into one, that is combined into one value per
// pixel, values become colours. A row of pixels over the same rows of cells as the one above is copied.
namespace forkpoint::heatmap {
namespace {

// ---- from pixels to cells

/// The cells [begin, end) that one pixel stands for; none if it lies beside the picture.
struct CellRange {
    std::int64_t begin = 0, end = 0;

    bool empty() const { return begin >= end; }
    bool operator==(const CellRange&) const = default;
};

/// Of every pixel along one direction. `size`: elements of the picture, `cells`: of the level, 2^shift elements each, which is no more than a pixel.
std::vector<CellRange> cellRanges(double start, double perPixel, int pixels, std::int64_t size, std::int64_t cells, int shift)
{
    std::vector<CellRange> ranges(static_cast<std::size_t>(pixels));
    const auto total = static_cast<double>(size);
    const auto inCells = [shift](double position) { return std::ldexp(position, -shift); };
    const auto whole = [cells](double x) { return x <= 0 ? std::int64_t{0} : x >= static_cast<double>(cells) ? cells : static_cast<std::int64_t>(x); };
    const auto cellUnder = [&](double position) { return std::min(whole(std::floor(inCells(position))), cells - 1); };
    // Cells whose middle lies before a position. The last cell ends where the picture does.
    const double lastMiddle = (std::ldexp(static_cast<double>(cells - 1), shift) + total) / 2;
    const auto cellsBefore = [&](double position) { return position > lastMiddle ? cells : std::min(whole(std::floor(inCells(position) + 0.5)), cells - 1); };
    for (int pixel = 0; pixel < pixels; ++pixel) {
        CellRange& range = ranges[static_cast<std::size_t>(pixel)];
        const double middle = start + (pixel + 0.5) * perPixel;
        const bool isOnPicture = middle >= 0 && middle < total;
        if (perPixel >= 1) {
            const double begin = start + pixel * perPixel, end = start + (pixel + 1) * perPixel;
            range = {cellsBefore(begin), cellsBefore(end)};
            // What the edge of the view cuts in two is in view.
            const double hair = std::min(1e-6 * perPixel, 0.01); // positions are rounded
            if (pixel == 0 && begin + hair < total)
                range.begin = std::min(range.begin, cellUnder(begin + hair));
            if (pixel == pixels - 1 && end > hair)
                range.end = std::max(range.end, whole(std::ceil(inCells(end - hair))));
        }
        if (range.empty() && isOnPicture) // magnified, or a pixel as large as a cell and rounding between them
            range = {cellUnder(middle), cellUnder(middle) + 1};
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

// ---- painting

/// Everything that rows of pixels share.
struct Frame {
    const RowReader& rows;
    const Viewport& view;
    const Style& style;
    const std::vector<CellRange>& down;
    const std::vector<CellRange>& across;
    CellRect rect; ///< of cells that are looked at
    std::span<Rgba> pixels;
    std::size_t stride;
    Combining how;
};

/// One row of cells, and whether its flags have anything to say that its values do not.
template <class Real>
struct CellRow {
    const Real* values = nullptr;
    const std::uint16_t* flags = nullptr;
    bool plain = false;
};

template <class Real>
class RowPainter {
public:
    explicit RowPainter(const Frame& frame)
        : m_frame(frame)
        , m_loops(pixelLoops<Real>(bestInstructions()))
        , m_scale(frame.style.normalisation)
        , m_table(colours(frame.style.map))
        , m_flagsOfMode(modeFlags(frame.style.mode))
        , m_special(static_cast<std::uint16_t>(m_flagsOfMode.nan | m_flagsOfMode.positiveInf | m_flagsOfMode.negativeInf))
        , m_last(static_cast<int>(frame.across.size()))
    {
        while (m_first < m_last && at(m_first).empty())
            ++m_first;
        while (m_last > m_first && at(m_last - 1).empty())
            --m_last;
        m_pixels = m_last - m_first;
        const auto n = static_cast<std::size_t>(m_pixels);
        m_pixelValues.resize(n);
        m_indexes.resize(n);
        m_firstCells.resize(n);
        m_lastCells.resize(n);
        for (int i = 0; i < m_pixels; ++i) {
            const CellRange& range = at(m_first + i);
            const auto first = static_cast<std::int32_t>(range.begin - frame.rect.column);
            const auto last = static_cast<std::int32_t>(range.end - 1 - frame.rect.column);
            m_firstCells[static_cast<std::size_t>(i)] = first;
            m_lastCells[static_cast<std::size_t>(i)] = last;
            m_oneToOne = m_oneToOne && first == i && last == i;
            m_atMostTwo = m_atMostTwo && last <= first + 1;
        }
    }

    void paint(int y)
    {
        Rgba* const to = m_frame.pixels.data() + static_cast<std::size_t>(y) * m_frame.stride;
        const CellRange& range = m_frame.down[static_cast<std::size_t>(y)];
        const auto width = m_frame.across.size();
        if (range.empty() || m_pixels == 0) {
            std::fill_n(to, width, m_frame.style.background);
            return;
        }
        if (m_painted != nullptr && range == m_paintedRange) {
            std::copy_n(m_painted, width, to);
            return;
        }
        std::fill_n(to, m_first, m_frame.style.background);
        colour(combinedRow(range), to + m_first);
        std::fill(to + m_last, to + width, m_frame.style.background);
        m_painted = to;
        m_paintedRange = range;
    }

private:
    const CellRange& at(int pixel) const { return m_frame.across[static_cast<std::size_t>(pixel)]; }

    bool isPlain(const std::uint16_t* flags) const
    {
        const FlagSummary sum = m_loops.summarise(flags, m_frame.rect.columns);
        return m_frame.style.mode != Mode::OverTolerance && (sum.any & m_special) == 0 && (sum.all & m_flagsOfMode.finite) != 0;
    }

    CellRow<Real> combinedRow(const CellRange& range)
    {
        const std::int64_t columns = m_frame.rect.columns;
        const RowValues<Real> first = m_frame.rows.row<Real>(range.begin, m_scratch);
        CellRow<Real> result{first.values, first.flags, isPlain(first.flags)};
        if (range.end == range.begin + 1)
            return result;
        if (first.values != nullptr) {
            m_values.assign(first.values, first.values + columns);
            result.values = m_values.data();
        }
        bool ownFlags = false;
        const auto takeFlags = [&](const std::uint16_t* flags) {
            if (!ownFlags)
                m_flags.assign(flags, flags + columns);
            else
                m_loops.combineFlags(m_flags.data(), flags, columns);
            ownFlags = true;
            result.flags = m_flags.data();
        };
        if (!result.plain)
            takeFlags(first.flags);
        for (std::int64_t row = range.begin + 1; row < range.end; ++row) {
            const RowValues<Real> next = m_frame.rows.row<Real>(row, m_scratch);
            if (next.values != nullptr)
                m_loops.combine(m_frame.how, m_values.data(), next.values, columns);
            if (!isPlain(next.flags) || !result.plain) {
                if (result.plain) // those before are all finite: that is what their flags say
                    m_flags.assign(static_cast<std::size_t>(columns), m_flagsOfMode.finite), ownFlags = true;
                result.plain = false;
                takeFlags(next.flags);
            }
        }
        return result;
    }

    /// One value per pixel; may be those of the row itself.
    const Real* pixelValues(const Real* values)
    {
        if (m_oneToOne)
            return values;
        m_loops.gather(m_frame.how, values, m_firstCells.data(), m_lastCells.data(), m_pixels, m_pixelValues.data());
        for (std::size_t i = 0; !m_atMostTwo && i < m_pixelValues.size(); ++i) {
            for (std::int32_t cell = m_firstCells[i] + 1; cell < m_lastCells[i]; ++cell)
                m_loops.combine(m_frame.how, &m_pixelValues[i], values + cell, 1);
        }
        return m_pixelValues.data();
    }

    void colour(const CellRow<Real>& row, Rgba* to)
    {
        if (row.values != nullptr) {
            const Real* values = pixelValues(row.values);
            if (m_frame.style.mode == Mode::AbsDifference) {
                if (values != m_pixelValues.data())
                    std::copy_n(values, m_pixels, m_pixelValues.data());
                m_loops.magnitudes(m_pixelValues.data(), m_pixels);
                values = m_pixelValues.data();
            }
            m_loops.colourIndexes(m_scale, values, m_pixels, m_indexes.data());
            for (int i = 0; i < m_pixels; ++i)
                to[i] = m_table[static_cast<std::size_t>(m_indexes[static_cast<std::size_t>(i)])];
        }
        for (std::size_t i = 0; !row.plain && i < m_indexes.size(); ++i) {
            unsigned flags = 0;
            for (std::int32_t cell = m_firstCells[i]; cell <= m_lastCells[i]; ++cell)
                flags |= row.flags[cell];
            to[i] = chosen(flags, row.values != nullptr ? to[i] : classColour(flags));
        }
    }

    Rgba classColour(unsigned flags) const
    {
        const ClassColours& classes = m_frame.style.classes;
        return (flags & kOver) != 0 ? classes.over : (flags & kDiffers) != 0 ? classes.within : classes.equal;
    }

    Rgba chosen(unsigned flags, Rgba number) const
    {
        if ((flags & m_special) == 0 && (flags & m_flagsOfMode.finite) != 0) [[likely]]
            return number;
        const Style& style = m_frame.style;
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
    PixelLoops<Real> m_loops;
    PreparedScale m_scale;
    std::span<const Rgba, kColours> m_table;
    ModeFlags m_flagsOfMode;
    std::uint16_t m_special;
    int m_first = 0, m_last, m_pixels = 0; ///< pixels with cells
    bool m_oneToOne = true, m_atMostTwo = true; ///< pixel i is cell i; no pixel has more than two cells across
    std::vector<std::int32_t> m_firstCells, m_lastCells; ///< of each pixel, counted from the first column looked at
    RowScratch<Real> m_scratch;
    std::vector<Real> m_values, m_pixelValues;
    std::vector<std::uint16_t> m_flags;
    std::vector<std::int32_t> m_indexes;
    const Rgba* m_painted = nullptr;
    CellRange m_paintedRange;
};

template <class Real>
void paint(const Frame& frame)
{
    constexpr int kRowsAtOnce = 32;
    oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<int>(0, frame.view.height, kRowsAtOnce), [&](const oneapi::tbb::blocked_range<int>& range) {
        RowPainter<Real> painter(frame);
        for (int y = range.begin(); y != range.end(); ++y)
            painter.paint(y);
    });
}

bool isViewport(const Viewport& view)
{
    constexpr double kFar = 1e18; // cells are counted in 64 bits
    const auto isScale = [](double perPixel) { return perPixel > 0 && perPixel < 1e15; };
    return view.width >= 0 && view.height >= 0 && isScale(view.columnsPerPixel) && isScale(view.rowsPerPixel) && std::fabs(view.left) < kFar &&
           std::fabs(view.top) < kFar;
}

} // namespace

std::size_t colourIndex(const Normalisation& normalisation, double value)
{
    std::int32_t index = 0;
    pixelLoops<double>(Instructions::Portable).colourIndexes(PreparedScale(normalisation), &value, 1, &index);
    return static_cast<std::size_t>(index);
}

Viewport fitted(std::int64_t rows, std::int64_t columns, int width, int height, bool stretched)
{
    Viewport view;
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

Viewport zoomed(const Viewport& view, double factor, double x, double y)
{
    Viewport result = view;
    result.columnsPerPixel = view.columnsPerPixel / factor;
    result.rowsPerPixel = view.rowsPerPixel / factor;
    result.left = view.left + x * (view.columnsPerPixel - result.columnsPerPixel);
    result.top = view.top + y * (view.rowsPerPixel - result.rowsPerPixel);
    return result;
}

Viewport panned(const Viewport& view, double x, double y)
{
    Viewport result = view;
    result.left -= x * view.columnsPerPixel;
    result.top -= y * view.rowsPerPixel;
    return result;
}

Cell cellAt(const Viewport& view, int x, int y)
{
    return {static_cast<std::int64_t>(std::floor(view.top + (y + 0.5) * view.rowsPerPixel)),
            static_cast<std::int64_t>(std::floor(view.left + (x + 0.5) * view.columnsPerPixel))};
}

PixelPoint pixelOf(const Viewport& view, Cell cell)
{
    return {(static_cast<double>(cell.column) - view.left) / view.columnsPerPixel, (static_cast<double>(cell.row) - view.top) / view.rowsPerPixel};
}

Result<RenderInfo> renderRegion(const Pyramid& pyramid, const Viewport& view, const Style& style, std::span<Rgba> pixels,
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
    const auto prepared = RowReader::prepare(pyramid, info.level, rect, style.mode, reads, stop);
    if (!prepared)
        return tl::unexpected<Error>(prepared.error());
    info.complete = prepared->complete();

    const bool isSigned = style.mode == Mode::A || style.mode == Mode::B || style.mode == Mode::Difference ||
                          style.mode == Mode::AbsDifference;
    const Frame frame{*prepared, view, style, down, across, rect, pixels, stride, isSigned ? Combining::Signed : Combining::Highest};
    if (pyramid.wide())
        paint<double>(frame);
    else
        paint<float>(frame);
    return info;
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::Unreadable, "not enough memory to draw the heatmap");
}

} // namespace forkpoint::heatmap
