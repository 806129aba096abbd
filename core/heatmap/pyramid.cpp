// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/pyramid.h"

#include "core/base/progress_steps.h"
#include "core/heatmap/data.h"
#include "core/heatmap/level_store.h"
#include "core/heatmap/rows.h"
#include "core/metrics/ulp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>

namespace forkpoint::heatmap {

using namespace metrics; // the elements' types and arithmetic

namespace {

constexpr int kUsualFirst = 2;                          ///< the level that is usually the first stored one
constexpr std::size_t kSmall = std::size_t{32} << 20;   ///< lower ones are stored too while all of it fits in this
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

int firstStoredLevel(const std::vector<LevelShape>& levels, std::size_t cellBytes, std::size_t budget)
{
    const int last = static_cast<int>(levels.size()) - 1;
    int first = std::clamp(kUsualFirst, 0, std::max(last, 0));
    while (first > 0 && cellsFrom(levels, first - 1) <= std::min(budget, kSmall) / cellBytes)
        --first;
    while (first < last && cellsFrom(levels, first) > budget / cellBytes)
        ++first;
    return first;
}

/// The same values with flags of its own.
template <class Real>
CellStore<Real> withOwnFlags(const CellStore<Real>& other, std::size_t cells, std::size_t cacheBudget)
{
    CellStore<Real> store;
    store.values = other.values;
    store.flags = largeArray<std::uint16_t>(cells);
    store.tiles = std::make_unique<TileCache<Real>>(cacheBudget);
    store.levels = other.levels;
    for (CellPlanes<Real>& planes : store.levels) {
        if (planes.flags != nullptr)
            planes.flags = store.flags.get() + (planes.flags - other.flags.get());
    }
    return store;
}

template <class Real>
CellPlanes<Real> onlyFlags(const CellPlanes<Real>& planes)
{
    CellPlanes<Real> result;
    result.flags = planes.flags;
    result.stride = planes.stride;
    return result;
}

void add(Counts& to, const Counts& counts)
{
    to.elements += counts.elements;
    to.finitePairs += counts.finitePairs;
    to.nanA += counts.nanA;
    to.positiveInfA += counts.positiveInfA;
    to.negativeInfA += counts.negativeInfA;
    to.nanB += counts.nanB;
    to.positiveInfB += counts.positiveInfB;
    to.negativeInfB += counts.negativeInfB;
    to.nanPairs += counts.nanPairs;
    to.equalInf += counts.equalInf;
    to.differing += counts.differing;
    to.over += counts.over;
}

Result<void> checkTolerance(double rtol, double atol)
{
    if (!(rtol >= 0) || !(atol >= 0))
        return fail(ErrorCode::Usage, fmt::format("tolerances must not be negative: rtol {}, atol {}", rtol, atol));
    return {};
}

/// Smaller blocks for smaller tensors, so that all threads have some.
std::size_t blockBytesFor(const SlicedPair& pair)
{
    const std::size_t item = std::max(itemSize(pair.dtypeA()), itemSize(pair.dtypeB()));
    const std::size_t bytes = static_cast<std::size_t>(pair.slice().elements()) * item;
    return std::clamp(bytes / 16, kBlockBytes / 16, kBlockBytes);
}

/// Fills the first stored level from the tensors.
template <class Real>
Result<Counts> fillFirst(const Pyramid::Data& data, const CellStore<Real>& store, unsigned planes, const std::stop_token& stop,
                                ProgressSteps& progress)
{
    const Slice& slice = data.pair.slice();
    const LevelShape& shape = data.shape(data.firstStored);
    const CellPlanes<Real> cells = store.levels[static_cast<std::size_t>(data.firstStored)];
    const std::vector<CellRect> blocks = data.pair.blocks({0, 0, slice.rows(), slice.columns()}, std::int64_t{1} << shape.rowShift,
                                                          std::int64_t{1} << shape.columnShift, blockBytesFor(data.pair));
    Counts sum;
    std::mutex sumMutex;
    const Result<void> done = forEachBlock(blocks.size(), data.options.threads, stop, [&](std::size_t index, SliceBuffers& buffers) -> Result<void> {
        const CellRect& rect = blocks[index];
        const auto block = data.pair.read(rect, sidesOf(planes), buffers);
        if (!block)
            return tl::unexpected<Error>(block.error());
        Counts counts;
        poolBlock<Real>(*block, slice, planes, shape.rowShift, shape.columnShift, data.tolerance(),
                        cells.at(rect.row >> shape.rowShift, rect.column >> shape.columnShift), counts, bestInstructions());
        {
            const std::lock_guard lock(sumMutex);
            add(sum, counts);
        }
        progress.add(static_cast<std::uint64_t>(rect.cells()));
        return {};
    });
    if (!done)
        return tl::unexpected<Error>(done.error());
    return sum;
}

/// Fills the levels above the first stored one, each from the one below.
template <class Real>
Result<void> fillOthers(const Pyramid::Data& data, const CellStore<Real>& store, bool flagsOnly, const std::stop_token& stop)
{
    constexpr std::int64_t kPieceColumns = 16384; // even, so that no cell is in two pieces
    constexpr std::int64_t kPieceCells = 1 << 16;
    for (std::size_t level = static_cast<std::size_t>(data.firstStored); level + 1 < data.levels.size(); ++level) {
        const LevelShape& below = data.levels[level];
        const LevelShape& above = data.levels[level + 1];
        const bool halveRows = above.rowShift > below.rowShift;
        const bool halveColumns = above.columnShift > below.columnShift;
        const CellPlanes<Real> from = flagsOnly ? onlyFlags(store.levels[level]) : store.levels[level];
        const CellPlanes<Real> to = flagsOnly ? onlyFlags(store.levels[level + 1]) : store.levels[level + 1];
        const std::int64_t rowsAtOnce = std::max<std::int64_t>(kPieceCells / std::min(below.columns, kPieceColumns), 1);
        const std::int64_t down = (above.rows + rowsAtOnce - 1) / rowsAtOnce;
        const std::int64_t across = (below.columns + kPieceColumns - 1) / kPieceColumns;
        const auto work = [&](std::size_t index, SliceBuffers&) -> Result<void> {
            const std::int64_t firstRow = static_cast<std::int64_t>(index) / across * rowsAtOnce;
            const std::int64_t column = static_cast<std::int64_t>(index) % across * kPieceColumns;
            const std::int64_t columns = std::min(below.columns - column, kPieceColumns);
            for (std::int64_t row = firstRow; row < std::min(firstRow + rowsAtOnce, above.rows); ++row) {
                const std::int64_t first = halveRows ? 2 * row : row;
                const std::int64_t second = halveRows ? std::min(first + 1, below.rows - 1) : first;
                combineRows<Real>(from.at(first, column), from.at(second, column), columns, halveColumns,
                                  to.at(row, halveColumns ? column / 2 : column), bestInstructions());
            }
            return {};
        };
        if (Result<void> done = forEachBlock(static_cast<std::size_t>(down * across), data.options.threads, stop, work); !done)
            return done;
    }
    return {};
}

Result<void> checkRect(const Pyramid& pyramid, int level, const CellRect& rect)
{
    if (level < 0 || level >= pyramid.levels())
        return fail(ErrorCode::Usage, fmt::format("there is no level {} in a heatmap of {}", level, pyramid.levels()));
    const LevelShape& shape = pyramid.level(level);
    if (rect.row < 0 || rect.column < 0 || rect.rows < 0 || rect.columns < 0 || rect.rows > shape.rows || rect.columns > shape.columns ||
        rect.row > shape.rows - rect.rows || rect.column > shape.columns - rect.columns)
        return fail(ErrorCode::Usage, fmt::format("{} x {} cells at ({}, {}) are not within the {} x {} of level {}", rect.rows, rect.columns,
                                                  rect.row, rect.column, shape.rows, shape.columns, level));
    return {};
}

Error outOfMemory() { return {ErrorCode::Unreadable, "not enough memory for the heatmap: give it a smaller budget", {}}; }

template <class Real>
CellContent finishedCell(const CellPlanes<Real>& planes, std::int64_t row, std::int64_t column)
{
    const CellPlanes<Real> at = planes.at(row, column);
    CellContent cell;
    cell.flags = *at.flags;
    if ((cell.flags & kFiniteA) != 0) {
        cell.minA = static_cast<double>(*at.minA);
        cell.maxA = static_cast<double>(*at.maxA);
    }
    if ((cell.flags & kFiniteB) != 0) {
        cell.minB = static_cast<double>(*at.minB);
        cell.maxB = static_cast<double>(*at.maxB);
    }
    cell.difference = static_cast<double>(*at.difference);
    cell.relative = static_cast<double>(*at.relative);
    cell.ulp = static_cast<double>(*at.ulp);
    return cell;
}

/// What is said of a cell in this mode.
std::uint16_t tellingFlags(Mode mode)
{
    const ModeFlags flags = modeFlags(mode);
    const int classes = mode == Mode::OverTolerance ? kDiffers | kOver : 0;
    return static_cast<std::uint16_t>(flags.finite | flags.nan | flags.positiveInf | flags.negativeInf | classes);
}

double valueOf(Mode mode, double value, std::uint16_t flags)
{
    switch (mode) {
    case Mode::AbsDifference:
        return std::fabs(value);
    case Mode::OverTolerance:
        return (flags & kOver) != 0 ? 2 : (flags & kDiffers) != 0 ? 1 : 0;
    default:
        return value;
    }
}

} // namespace

ModeFlags modeFlags(Mode mode)
{
    switch (mode) {
    case Mode::A:
        return {kFiniteA, kNanA, kPositiveInfA, kNegativeInfA};
    case Mode::B:
        return {kFiniteB, kNanB, kPositiveInfB, kNegativeInfB};
    default:
        return {kFinitePair | kEqualInf, kNanPair, kPositiveInfPair, kNegativeInfPair};
    }
}

Pyramid::Pyramid(std::unique_ptr<const Data> data)
    : m_data(std::move(data))
{
}

Pyramid::~Pyramid() = default;

Result<std::shared_ptr<const Pyramid>> Pyramid::build(TensorSourcePtr a, TensorSourcePtr b, SliceAxes axes,
                                                                    const PyramidOptions& options, std::stop_token stop, Progress* progress)
try {
    if (Result<void> ok = checkTolerance(options.rtol, options.atol); !ok)
        return tl::unexpected(std::move(ok.error()));
    auto pair = SlicedPair::make(std::move(a), std::move(b), std::move(axes));
    if (!pair)
        return tl::unexpected(std::move(pair.error()));
    const bool wide = isWidePair(pair->dtypeA(), pair->dtypeB());
    auto data = std::make_unique<Data>(Data{std::move(*pair), options, {}, {}, 0, 0, true, {}});
    data->levels = levelShapes(data->pair.slice());
    const std::size_t cellBytes = wide ? kCellBytes<double> : kCellBytes<float>;
    data->firstStored = heatmap::firstStoredLevel(data->levels, cellBytes, options.memoryBudget);
    data->storedBytes = cellsFrom(data->levels, data->firstStored) * cellBytes;
    if (wide)
        data->store = allocated<double>(data->levels, data->firstStored, options.cacheBudget);
    else
        data->store = allocated<float>(data->levels, data->firstStored, options.cacheBudget);
    ProgressSteps steps(progress, "pyramid", static_cast<std::uint64_t>(data->pair.slice().elements()));
    if (!data->levels.empty()) {
        const Result<void> filled = std::visit([&](const auto& store) -> Result<void> {
            const auto counts = fillFirst(*data, store, kPlaneAll, stop, steps);
            if (!counts)
                return tl::unexpected<Error>(counts.error());
            data->counts = *counts;
            return fillOthers(*data, store, false, stop);
        }, data->store);
        if (!filled)
            return tl::unexpected<Error>(filled.error());
    }
    steps.finish();
    return std::shared_ptr<const Pyramid>(new Pyramid(std::move(data)));
} catch (const std::bad_alloc&) {
    return tl::unexpected(outOfMemory());
}

Result<std::shared_ptr<const Pyramid>> Pyramid::withTolerance(double rtol, double atol, std::stop_token stop,
                                                                            Progress* progress) const
try {
    if (Result<void> ok = checkTolerance(rtol, atol); !ok)
        return tl::unexpected(std::move(ok.error()));
    auto data = std::make_unique<Data>(
        Data{m_data->pair, m_data->options, m_data->counts, m_data->levels, m_data->firstStored, m_data->storedBytes, m_data->readable, {}});
    data->options.rtol = rtol;
    data->options.atol = atol;
    ProgressSteps steps(progress, "pyramid", static_cast<std::uint64_t>(data->pair.slice().elements()));
    const std::size_t cells = cellsFrom(data->levels, data->firstStored);
    const Result<void> filled = std::visit([&]<class Real>(const CellStore<Real>& old) -> Result<void> {
        CellStore<Real> store = withOwnFlags(old, cells, data->options.cacheBudget);
        if (!data->levels.empty()) {
            const auto counts = fillFirst(*data, store, kPlaneClass, stop, steps);
            if (!counts)
                return tl::unexpected<Error>(counts.error());
            data->counts.over = counts->over;
            const auto first = static_cast<std::size_t>(data->firstStored);
            const std::int64_t size = data->levels[first].whole().cells();
            for (std::int64_t i = 0; i < size; ++i) // what the pass over classes does not see
                store.levels[first].flags[i] = static_cast<std::uint16_t>(store.levels[first].flags[i] | (old.levels[first].flags[i] & ~kOver));
            if (Result<void> done = fillOthers(*data, store, true, stop); !done)
                return done;
        }
        data->store = std::move(store);
        return {};
    }, m_data->store);
    if (!filled)
        return tl::unexpected<Error>(filled.error());
    steps.finish();
    return std::shared_ptr<const Pyramid>(new Pyramid(std::move(data)));
} catch (const std::bad_alloc&) {
    return tl::unexpected(outOfMemory());
}

const Slice& Pyramid::slice() const { return m_data->pair.slice(); }
DType Pyramid::dtypeA() const { return m_data->pair.dtypeA(); }
DType Pyramid::dtypeB() const { return m_data->pair.dtypeB(); }
const PyramidOptions& Pyramid::options() const { return m_data->options; }
const Counts& Pyramid::counts() const { return m_data->counts; }
bool Pyramid::wide() const { return std::holds_alternative<CellStore<double>>(m_data->store); }
int Pyramid::levels() const { return static_cast<int>(m_data->levels.size()); }
const LevelShape& Pyramid::level(int level) const { return m_data->shape(level); }
int Pyramid::firstStoredLevel() const { return m_data->firstStored; }
std::size_t Pyramid::storedBytes() const { return m_data->storedBytes; }

std::size_t Pyramid::cachedBytes() const
{
    return std::visit([](const auto& store) { return store.tiles->bytes(); }, m_data->store);
}

int Pyramid::levelFor(double rowsPerPixel, double columnsPerPixel) const
{
    const auto fits = [](int shift, double perPixel) { return std::ldexp(1.0, shift) <= perPixel; };
    int best = 0;
    for (int level = 1; level < levels(); ++level) {
        const LevelShape& shape = m_data->shape(level);
        if ((shape.rowShift == 0 || fits(shape.rowShift, rowsPerPixel)) && (shape.columnShift == 0 || fits(shape.columnShift, columnsPerPixel)))
            best = level;
    }
    return m_data->readable ? best : std::max(best, m_data->firstStored);
}

Result<RegionValues> Pyramid::region(int level, const CellRect& rect, Mode mode, std::stop_token stop) const
try {
    if (Result<void> ok = checkRect(*this, level, rect); !ok)
        return tl::unexpected(std::move(ok.error()));
    const auto rows = RowReader::prepare(*this, level, rect, mode, Reads::Allowed, stop);
    if (!rows)
        return tl::unexpected<Error>(rows.error());
    RegionValues values{rect, {}, {}};
    const std::uint16_t telling = tellingFlags(mode); // a stored level knows more than a tile: which of them it was must not show
    values.values.reserve(static_cast<std::size_t>(rect.cells()));
    values.flags.reserve(static_cast<std::size_t>(rect.cells()));
    std::visit([&]<class Real>(const CellStore<Real>&) {
        RowScratch<Real> scratch;
        for (std::int64_t row = rect.row; row < rect.row + rect.rows && rect.columns > 0; ++row) {
            const RowValues<Real> from = rows->row<Real>(row, scratch);
            for (std::int64_t i = 0; i < rect.columns; ++i) {
                values.flags.push_back(from.flags[i] & telling);
                values.values.push_back(valueOf(mode, from.values == nullptr ? 0 : static_cast<double>(from.values[i]), from.flags[i]));
            }
        }
    }, m_data->store);
    return values;
} catch (const std::bad_alloc&) {
    return tl::unexpected(outOfMemory());
}

Result<std::vector<CellContent>> Pyramid::cells(int level, const CellRect& rect, std::stop_token stop) const
try {
    if (Result<void> ok = checkRect(*this, level, rect); !ok)
        return tl::unexpected(std::move(ok.error()));
    return std::visit([&]<class Real>(const CellStore<Real>& store) -> Result<std::vector<CellContent>> {
        const LevelShape& shape = m_data->shape(level);
        std::vector<CellContent> result(static_cast<std::size_t>(rect.cells()));
        if (result.empty())
            return result;
        CellPlanes<Real> planes;
        LevelShape temporary{shape.rowShift, shape.columnShift, rect.rows, rect.columns};
        CellStore<Real> computed;
        if (level >= m_data->firstStored) {
            planes = store.levels[static_cast<std::size_t>(level)].at(rect.row, rect.column);
        } else {
            computed = allocated<Real>({temporary}, 0, 0);
            planes = computed.levels.front();
            const auto blocks = m_data->pair.blocks(elementsUnder(shape, rect, slice()), std::int64_t{1} << shape.rowShift,
                                                    std::int64_t{1} << shape.columnShift, kBlockBytes);
            const auto work = [&](std::size_t index, SliceBuffers& buffers) -> Result<void> {
                const auto block = m_data->pair.read(blocks[index], Sides::Both, buffers);
                if (!block)
                    return tl::unexpected<Error>(block.error());
                Counts unused;
                poolBlock<Real>(*block, slice(), kPlaneAll, shape.rowShift, shape.columnShift, m_data->tolerance(),
                                planes.at((blocks[index].row >> shape.rowShift) - rect.row, (blocks[index].column >> shape.columnShift) - rect.column),
                                unused, bestInstructions());
                return {};
            };
            if (const Result<void> done = forEachBlock(blocks.size(), m_data->options.threads, stop, work); !done)
                return tl::unexpected<Error>(done.error());
        }
        for (std::size_t i = 0; i < result.size(); ++i) {
            const auto place = static_cast<std::int64_t>(i);
            result[i] = finishedCell(planes, place / rect.columns, place % rect.columns);
        }
        return result;
    }, m_data->store);
} catch (const std::bad_alloc&) {
    return tl::unexpected(outOfMemory());
}

Result<PickedElement> Pyramid::element(Cell cell) const
{
    if (!slice().contains(cell))
        return fail(ErrorCode::Usage, fmt::format("there is no element at ({}, {})", cell.row, cell.column));
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    SliceBuffers buffers;
    const auto block = m_data->pair.read({cell.row, cell.column, 1, 1}, Sides::Both, buffers);
    if (!block)
        return tl::unexpected<Error>(block.error());
    const auto pooled = cells(0, {cell.row, cell.column, 1, 1});
    if (!pooled)
        return tl::unexpected<Error>(pooled.error());
    PickedElement element;
    element.index = slice().indexAt(cell);
    element.flat = slice().flatAt(cell);
    element.a = numberOf(block->a.dtype, block->a.bytes);
    element.b = numberOf(block->b.dtype, block->b.bytes);
    std::memcpy(&element.bitsA, block->a.bytes, itemSize(block->a.dtype));
    std::memcpy(&element.bitsB, block->b.bytes, itemSize(block->b.dtype));
    element.flags = pooled->front().flags;
    element.ulp = ulpDistance(block->a.dtype, block->a.bytes, block->b.dtype, block->b.bytes);
    if ((element.flags & kFinitePair) != 0) {
        element.difference = pooled->front().difference;
        element.relative = pooled->front().relative;
    } else {
        element.difference = (element.flags & kEqualInf) != 0 ? 0 : element.b - element.a;
        element.relative = kNan;
    }
    return element;
}

Result<std::optional<Cell>> Pyramid::largest(Mode mode) const
{
    std::optional<Cell> found;
    const int lowest = m_data->readable ? 0 : m_data->firstStored;
    for (int level = levels() - 1; level >= lowest; --level) {
        const LevelShape& shape = m_data->shape(level);
        CellRect children = shape.whole();
        if (found) {
            const LevelShape& above = m_data->shape(level + 1);
            const std::int64_t row = found->row << (above.rowShift - shape.rowShift);
            const std::int64_t column = found->column << (above.columnShift - shape.columnShift);
            children = {row, column, std::min(shape.rows - row, std::int64_t{1} << (above.rowShift - shape.rowShift)),
                        std::min(shape.columns - column, std::int64_t{1} << (above.columnShift - shape.columnShift))};
        }
        const auto values = region(level, children, mode);
        if (!values)
            return tl::unexpected<Error>(values.error());
        found.reset();
        double best = -1;
        for (std::size_t i = 0; i < values->values.size(); ++i) {
            const bool exists = (values->flags[i] & modeFlags(mode).finite) != 0 || (mode == Mode::OverTolerance && values->values[i] > 0);
            if (!exists || std::fabs(values->values[i]) <= best)
                continue;
            best = std::fabs(values->values[i]);
            const auto place = static_cast<std::int64_t>(i);
            found = Cell{children.row + place / children.columns, children.column + place % children.columns};
        }
        if (!found)
            return found;
    }
    if (found)
        found = Cell{found->row << level(lowest).rowShift, found->column << level(lowest).columnShift};
    return found;
}

} // namespace forkpoint::heatmap
