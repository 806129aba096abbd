// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/heatmap/slice.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

// A pair of tensors as a picture that can be looked at from any distance. Level 0 has a cell per element; each level above combines up to 2 x 2
// cells of the one below into one, up to a single cell. Cells are combined by their extremes and never averaged: the one bad element among 10^8
// decides the value of every cell that contains it, and so stays visible at every zoom.
//
// Strips. A tensor of 8 x 10^7 elements cannot be halved in both directions often. While one direction is more than 8 times as long as the other,
// only the longer one is halved, so every level knows its own factors.
//
// What is in memory. Levels from firstStoredLevel() on are computed in one pass over both tensors and kept, 30 bytes a cell (58 if a side is
// wider than float32). The first is the third (one cell of it is 4 x 4 elements, so about 2.5 bytes an element in all), an earlier one for
// small tensors, a later one where a budget asks for it. Levels below it are computed from the tensors when a region of them is asked for, for
// one mode, in tiles that are kept as long as the cache's budget allows: a region costs the elements under it, once.
//
// Values are those of core/metrics/element.h: d = B - A formed in float up to float32, in double otherwise, exactly for integers; they are kept
// in float up to float32 and 16-bit integers, in double otherwise, where what exceeds the type's range is its largest number. Everything here
// is bit for bit the same for any number of threads and any instruction set.
namespace forkpoint::heatmap {

enum class Mode : std::uint8_t {
    A,             ///< the value of A; of many, that of largest magnitude (of equals the positive one), with its sign
    B,             ///< the same of B
    Difference,    ///< d = B - A; of many, that of largest magnitude, with its sign
    AbsDifference, ///< largest |d|
    Relative,      ///< largest |d| / max(|a|, |b|), 0/0 is 0
    Ulp,           ///< largest distance in units in the last place, see heatmap_ulp.h
    OverTolerance, ///< 0: all equal; 1: all within the tolerance; 2: not |d| <= atol + rtol |a| somewhere
};

inline constexpr Mode kModes[] = {
    Mode::A, Mode::B, Mode::Difference, Mode::AbsDifference,
    Mode::Relative, Mode::Ulp, Mode::OverTolerance,
};

/// What occurs among the elements of a cell. The extremes are over finite values (A, B) and over pairs finite on both sides (the others).
enum Flag : std::uint16_t {
    kFiniteA = 1u << 0,
    kFiniteB = 1u << 1,
    kFinitePair = 1u << 2,
    kNanA = 1u << 3,
    kPositiveInfA = 1u << 4,
    kNegativeInfA = 1u << 5,
    kNanB = 1u << 6,
    kPositiveInfB = 1u << 7,
    kNegativeInfB = 1u << 8,
    kNanPair = 1u << 9,          ///< NaN on a side
    kPositiveInfPair = 1u << 10, ///< B - A is infinity
    kNegativeInfPair = 1u << 11,
    kEqualInf = 1u << 12, ///< the same infinity on both sides: no difference
    kDiffers = 1u << 13,  ///< a pair that is not equal in value
    kOver = 1u << 14,     ///< a pair outside the tolerance; NaN and unequal infinities always are
};

/// The flags that tell about one mode: A's for A, B's for B, the pair's for the others.
struct ModeFlags {
    std::uint16_t finite = 0; ///< a value exists; in difference modes an equal infinity counts as difference 0
    std::uint16_t nan = 0, positiveInf = 0, negativeInf = 0;
};
ModeFlags modeFlags(Mode mode);

/// Everything about one cell. Extremes are 0 where the flags say that there is no finite value.
struct CellContent {
    double minA = 0, maxA = 0, minB = 0, maxB = 0;
    double difference = 0; ///< of largest magnitude, of equals the positive one; |difference| is the largest |d|
    double relative = 0, ulp = 0;
    std::uint16_t flags = 0;

    bool operator==(const CellContent&) const = default;
};

/// A rectangle of cells in one mode, row by row.
struct RegionValues {
    CellRect rect;
    std::vector<double> values; ///< 0 where there is no finite value
    std::vector<std::uint16_t> flags; ///< those of modeFlags(mode); of mode OverTolerance kDiffers and kOver too
};

/// One element, as a pixel inspector shows it.
struct PickedElement {
    std::vector<std::int64_t> index; ///< full; complex: of the part, see pictureShape
    std::int64_t flat = 0;
    double a = 0, b = 0;         ///< NaN and infinities as they are; an integer beyond 2^53 is rounded, its bits are not
    double difference = 0;       ///< NaN if a side is NaN; 0 for equal infinities
    double relative = 0;         ///< NaN unless both are finite
    std::uint64_t ulp = 0;       ///< kUlpUndefined if a side is NaN
    std::uint64_t bitsA = 0, bitsB = 0;
    std::uint16_t flags = 0;
};

/// Over the elements on the picture.
struct Counts {
    std::int64_t elements = 0;
    std::int64_t finitePairs = 0;
    std::int64_t nanA = 0, positiveInfA = 0, negativeInfA = 0;
    std::int64_t nanB = 0, positiveInfB = 0, negativeInfB = 0;
    std::int64_t nanPairs = 0;  ///< NaN on one side or both
    std::int64_t equalInf = 0;
    std::int64_t differing = 0; ///< kDiffers
    std::int64_t over = 0;      ///< kOver

    bool operator==(const Counts&) const = default;
};

struct PyramidOptions {
    double rtol = 1.3e-6, atol = 1e-5;              ///< as MeasureOptions
    std::size_t memoryBudget = std::size_t{512} << 20; ///< for the stored levels; the topmost level is always stored
    std::size_t cacheBudget = std::size_t{128} << 20;  ///< for tiles of the others
    int threads = 0;                                ///< at most this many; 0: as many as oneTBB gives
};

struct LevelShape {
    int rowShift = 0, columnShift = 0; ///< a cell is 2^rowShift x 2^columnShift elements, less at the lower and right edge
    std::int64_t rows = 0, columns = 0;

    CellRect whole() const { return {0, 0, rows, columns}; }
    bool operator==(const LevelShape&) const = default;
};

/// What a pyramid keeps in memory, to be kept where the tensors are not.
struct StoredLevels {
    Shape shape; ///< as pictureShape
    SliceAxes axes;
    DType dtypeA = DType::Float32, dtypeB = DType::Float32; ///< as Pyramid::dtypeA
    double rtol = 0, atol = 0;
    Counts counts;
    std::int32_t first = 0; ///< as firstStoredLevel
    std::vector<std::byte> values, flags; ///< numbers and 16-bit flags, in native byte order
};

struct StoredSizes {
    std::size_t values = 0, flags = 0; ///< in bytes
    std::size_t number = 0;            ///< of one number
};
/// That `values` and `flags` must have; these two are not looked at. Fails with Corrupt if the rest is no pyramid's.
Result<StoredSizes> storedSizes(const StoredLevels& levels);

/// Whether a call may read the tensors. Forbidden: what is not in memory is taken from a coarser level, for a thread that must not wait.
enum class Reads : std::uint8_t { Allowed, Forbidden };

/// Immutable but for its cache, and safe to use from many threads. Keeps the sources alive.
class Pyramid {
public:
    /// One pass over both tensors. Fails as SlicedPair::make does, with Usage for senseless tolerances, with the error of the first block that
    /// cannot be read, with Unreadable where memory does not suffice, or with Cancelled. Stage of the progress: "pyramid".
    static Result<std::shared_ptr<const Pyramid>> build(TensorSourcePtr a, TensorSourcePtr b, SliceAxes axes,
                                                               const PyramidOptions& options = {}, std::stop_token stop = {},
                                                               Progress* progress = nullptr);
    /// The same picture under another tolerance: reads both tensors again for flags and counts, shares everything else.
    Result<std::shared_ptr<const Pyramid>> withTolerance(double rtol, double atol, std::stop_token stop = {},
                                                                Progress* progress = nullptr) const;
    StoredLevels stored() const;
    /// A pyramid without its tensors: what would read them fails with NotFound, and what only shows comes from the stored levels. Corrupt if the
    /// levels contradict each other or hold what no pyramid does.
    static Result<std::shared_ptr<const Pyramid>> restored(StoredLevels levels);
    ~Pyramid();

    bool readable() const; ///< false: restored; there are no elements behind the stored levels
    const Slice& slice() const;
    DType dtypeA() const; ///< of the parts, if complex
    DType dtypeB() const;
    const PyramidOptions& options() const;
    const Counts& counts() const;
    bool wide() const; ///< values are kept in double

    int levels() const; ///< 0 for an empty picture
    const LevelShape& level(int level) const;
    int firstStoredLevel() const;
    std::size_t storedBytes() const; ///< of the stored levels
    std::size_t cachedBytes() const; ///< of tiles, now
    /// The coarsest level whose cells are no larger than this; if there is none that is stored, and nothing can be read, the first stored one.
    int levelFor(double rowsPerPixel, double columnsPerPixel) const;

    /// Cells of a level in one mode, in time proportional to their number (below the stored levels: of the elements under them). Fails with Usage
    /// if the rectangle leaves the level, or as the sources fail.
    Result<RegionValues> region(int level, const CellRect& rect, Mode mode, std::stop_token stop = {}) const;
    /// All about the cells of a rectangle, row by row; below the stored levels they are computed anew each time.
    Result<std::vector<CellContent>> cells(int level, const CellRect& rect, std::stop_token stop = {}) const;
    /// One element; the cell must be on the picture.
    Result<PickedElement> element(Cell cell) const;
    /// An element at which the mode's value has its largest magnitude: of several, one that is found by always taking the first of the cells that
    /// hold it on the way down. nullopt if there is no finite value. Where nothing can be read, the
    /// first element under the lowest stored cell that holds it.
    Result<std::optional<Cell>> largest(Mode mode) const;

    struct Data; ///< heatmap_data.h, for the functions of this folder that read a pyramid
    const Data& data() const { return *m_data; }

private:
    explicit Pyramid(std::unique_ptr<const Data> data);
    std::unique_ptr<const Data> m_data;
};

} // namespace forkpoint::heatmap
