// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/placement.h"

#include "core/bundle/sketch.h"

#include <algorithm>
#include <map>

// Each side has a few ways to become whole along each axis of its ranks: take a replica, concatenate along a dim, sum up. What records or the user
// declare fixes the way (side_parts.cpp); else every way has a cost that says how natural it is for this kind of tensor. Over the ranks first, then
// over the micro-steps.
namespace forkpoint::align {

namespace {

using bundle::Kind;
using bundle::Phase;

constexpr std::size_t kMaxWays = 512; ///< combinations tried per side
constexpr std::int64_t kMostBlocks = 1 << 20; ///< that parts are cut into

Way way(Join join, std::int64_t dim, int cost, std::int64_t blocks = 1)
{
    Way out;
    out.blocks = blocks;
    out.join = join;
    out.dim = dim;
    out.cost = cost;
    return out;
}

bool allEqual(const std::vector<Shape>& shapes)
{
    return std::all_of(shapes.begin(), shapes.end(), [&](const Shape& s) { return s == shapes.front(); });
}

/// `positions`: as in SideParts.
std::vector<Shape> shapesOf(const std::vector<Part>& row, std::int64_t positions)
{
    std::vector<Shape> shapes;
    shapes.reserve(row.size());
    for (const auto& part : row) {
        shapes.push_back(part.record->shape);
        if (positions > 0) {
            shapes.back()[1] = positions;
        }
    }
    return shapes;
}

/// nullopt: not known.
std::optional<bool> equalAlong(const SideParts& parts, std::size_t axis)
{
    std::size_t inner = 1;
    for (std::size_t k = axis + 1; k < parts.axes.size(); ++k) {
        inner *= parts.axes[k].size;
    }
    bool known = true;
    for (const auto& row : parts.grid) {
        for (std::size_t c = 0; c < row.size(); ++c) {
            const std::size_t first = parts.axes.size() == 1 ? 0 : c - (c / inner % parts.axes[axis].size) * inner;
            const auto same = bundle::sameBits(*row[c].record, *row[first].record);
            if (same == false) {
                return false;
            }
            known = known && same;
        }
    }
    return known ? std::optional(true) : std::nullopt;
}

bool sameBytesAlong(const SideParts& parts, std::size_t axis)
{
    return parts.axes.size() == 1 ? sameBytesOnRanks(parts.grid) : equalAlong(parts, axis).value_or(false);
}

/// Ranks that hold the same samples, and other values of what is computed with them alike: they hold parts of it.
bool areShards(const PairKey& key, const SideParts& parts, std::size_t axis)
{
    return !isActivation(key.kind) && parts.axes[axis].sameRows && equalAlong(parts, axis) == false;
}

/// A tensor that every rank has in full shape, but that may be a part of a sum.
Join wholeOrSum(const PairKey& key, const SideParts& parts, std::size_t axis, const SideWeights& weights)
{
    const auto& record = *parts.grid[0][0].record;
    const bool oneNumber = elementCount(record.shape) == 1;
    if (!isFloating(record.dtype)) {
        return Join::Replicate;
    }
    if (isLoss(key)) {
        return weights.ranks == Reduction::Replicated ? Join::Replicate : Join::Sum;
    }
    if (parts.axes[axis].sameRows) {
        const bool mayBePartial = key.kind == Kind::GradOutput || isLocalGradient(key);
        return mayBePartial && !sameBytesAlong(parts, axis) ? Join::Sum : Join::Replicate;
    }
    if (key.kind == Kind::GradOutput || isLocalGradient(key)) {
        return Join::Sum;
    }
    return oneNumber && isActivation(key.kind) && !sameBytesAlong(parts, axis) ? Join::Sum : Join::Replicate;
}

std::vector<Way> axisWays(const PairKey& key, const SideParts& parts, std::size_t axis, const SideWeights& weights)
{
    const auto& own = parts.axes[axis];
    const auto dims = static_cast<std::int64_t>(parts.grid[0][0].record->shape.size());
    if (own.fixed && (own.pieces || parts.given || parts.axes.size() > 1)) {
        return { *own.fixed };
    }
    std::vector<Way> ways;
    if (own.fixed) {
        ways.push_back(*own.fixed);
    }
    if (!isActivation(key.kind) || own.sameRows) {
        const Join whole = wholeOrSum(key, parts, axis, weights);
        const bool lessNatural = whole == Join::Replicate && areShards(key, parts, axis);
        ways.push_back(way(whole, 0, lessNatural ? 1 + static_cast<int>(dims) : 0));
        for (std::int64_t d = 0; d < dims; ++d) {
            ways.push_back(way(Join::Concat, d, 1 + static_cast<int>(d)));
        }
        if (own.sameRows && parts.flattened && parts.rows > 1 && isActivation(key.kind)) { // [samples x own positions, ...]: of each those of all ranks
            ways.push_back(way(Join::Concat, 0, 1, parts.rows));
        }
        return ways;
    }
    if (parts.rowLed) {
        ways.push_back(way(Join::Concat, 0, 0));
    }
    if (parts.rowsSecond) {
        ways.push_back(way(Join::Concat, 1, 0));
    }
    const Join whole = wholeOrSum(key, parts, axis, weights);
    const bool ofNoSample = whole == Join::Replicate && sameBytesAlong(parts, axis); // the same, whatever samples a part has
    ways.push_back(way(whole, 0, ofNoSample ? 0 : 1));
    for (std::int64_t d = 0; d < dims; ++d) {
        if (!(d == 0 && parts.rowLed) && !(d == 1 && parts.rowsSecond)) {
            ways.push_back(way(Join::Concat, d, 2 + static_cast<int>(d)));
        }
    }
    if (parts.flattened && parts.perRow < kMostBlocks) { // [positions x samples, ...]: at each the samples of all ranks
        std::int64_t inner = 1; // ranks within that have other positions
        for (std::size_t k = axis + 1; k < parts.axes.size(); ++k) {
            inner *= parts.axes[k].sameRows && !parts.axes[k].pieces ? static_cast<std::int64_t>(parts.axes[k].size) : 1;
        }
        ways.push_back(way(Join::Concat, 0, 1, parts.perRow));
        if (inner > 1 && inner < kMostBlocks / parts.perRow) {
            ways.push_back(way(Join::Concat, 0, 2, parts.perRow * inner));
        }
    }
    return ways;
}

/// The parts of every micro-step are those of the first.
bool sameBytesInMicros(const PartGrid& grid)
{
    return std::all_of(grid.begin(), grid.end(), [&](const std::vector<Part>& row) {
        return std::equal(row.begin(), row.end(), grid.front().begin(), grid.front().end(),
                          [](const Part& x, const Part& y) { return bundle::sameBits(*x.record, *y.record).value_or(false); });
    });
}

std::vector<Way> microWays(const PairKey& key, const SideParts& parts)
{
    const auto& grid = parts.grid;
    if (grid.size() == 1) {
        return { way(Join::Single, 0, 0) };
    }
    if (isLocalGradient(key) || isLoss(key)) {
        return { way(Join::Sum, 0, 0) };
    }
    const auto& record = *grid[0][0].record;
    const bool summed = key.kind == Kind::GradOutput || (elementCount(record.shape) == 1 && isFloating(record.dtype));
    const bool ofNoSample = !summed && isActivation(key.kind) && sameBytesInMicros(grid);
    std::vector<Way> ways { way(Join::Concat, 0, 0), way(summed ? Join::Sum : Join::Replicate, 0, ofNoSample ? 0 : 1) };
    if (parts.rowsSecond) {
        ways.push_back(way(Join::Concat, 1, 0));
    }
    if (parts.flattened && parts.perRow < kMostBlocks) {
        std::int64_t positions = parts.perRow; // also of ranks that have others
        ways.push_back(way(Join::Concat, 0, 1, positions));
        for (const auto& axis : parts.axes) {
            positions *= axis.sameRows && !axis.pieces ? static_cast<std::int64_t>(axis.size) : 1;
        }
        if (positions > parts.perRow && positions < kMostBlocks) {
            ways.push_back(way(Join::Concat, 0, 2, positions));
        }
    }
    return ways;
}

std::optional<Shape> joinedMicros(const std::vector<Shape>& shapes, const Way& how)
{
    if (how.join == Join::Concat) {
        return joinedShape(shapes, { { .join = Join::Concat, .dim = how.dim, .size = shapes.size(), .groups = how.blocks } });
    }
    return allEqual(shapes) ? std::optional(shapes.front()) : std::nullopt;
}

/// Shape of a row of parts joined along all axes; replicas must have equal shapes.
std::optional<Shape> joinedRow(const std::vector<Part>& row, const SideParts& parts, const std::vector<Way>& ways)
{
    const auto& axes = parts.axes;
    std::vector<JoinLevel> levels;
    for (std::size_t k = 0; k < axes.size(); ++k) {
        const Join join = ways[k].join == Join::Concat ? Join::Concat : Join::Sum;
        levels.push_back({ .join = join, .dim = ways[k].dim, .size = axes.size() == 1 ? row.size() : axes[k].size, .groups = ways[k].blocks });
    }
    return joinedShape(shapesOf(row, parts.positions), levels);
}

/// All combinations of ways along the axes, cut off where there are absurdly many.
std::vector<std::vector<Way>> combinations(const std::vector<std::vector<Way>>& perAxis)
{
    std::vector<std::vector<Way>> out { {} };
    for (const auto& ways : perAxis) {
        std::vector<std::vector<Way>> next;
        for (const auto& begun : out) {
            for (const auto& w : ways) {
                if (next.size() < kMaxWays) {
                    next.push_back(begun);
                    next.back().push_back(w);
                }
            }
        }
        out = std::move(next);
    }
    return out;
}

} // namespace

bool sameBytesOnRanks(const PartGrid& grid)
{
    return std::all_of(grid.begin(), grid.end(), [](const std::vector<Part>& row) {
        return std::all_of(row.begin(), row.end(), [&](const Part& p) { return bundle::sameBits(*p.record, *row.front().record).value_or(false); });
    });
}

bool Candidate::joins(Join join) const
{
    return micros.join == join || std::any_of(ways.begin(), ways.end(), [&](const Way& w) { return w.join == join; });
}

bool Candidate::declared() const
{
    return std::any_of(ways.begin(), ways.end(), [](const Way& w) { return w.declared; });
}

bool Candidate::guessed() const
{
    return std::any_of(ways.begin(), ways.end(), [](const Way& w) { return w.join != Join::Single && !w.declared; });
}

std::vector<Candidate> candidates(const PairKey& key, const SideParts& parts, const SideWeights& weights)
{
    std::vector<std::vector<Way>> perAxis;
    for (std::size_t k = 0; k < parts.axes.size(); ++k) {
        perAxis.push_back(axisWays(key, parts, k, weights));
    }
    std::map<Shape, int> cheapest;
    std::vector<Candidate> all;
    for (auto& ways : combinations(perAxis)) {
        std::vector<Shape> perMicro;
        for (const auto& row : parts.grid) {
            const auto shape = joinedRow(row, parts, ways);
            if (!shape) {
                break;
            }
            perMicro.push_back(*shape);
        }
        if (perMicro.size() != parts.grid.size()) {
            continue;
        }
        int cost = 0;
        for (const auto& w : ways) {
            cost += w.cost;
        }
        for (const auto& micros : microWays(key, parts)) {
            if (auto shape = joinedMicros(perMicro, micros)) {
                const auto [at, added] = cheapest.try_emplace(*shape, cost + micros.cost);
                at->second = std::min(at->second, cost + micros.cost);
                all.push_back({ ways, micros, std::move(*shape), cost + micros.cost });
            }
        }
    }
    if (hasDoubtfulRows(key, parts)) {
        std::stable_sort(all.begin(), all.end(), [](const Candidate& x, const Candidate& y) { return x.cost < y.cost; });
    } else {
        std::erase_if(all, [&](const Candidate& c) { return c.cost > cheapest.at(c.shape); });
    }
    return all;
}

bool hasDoubtfulRows(const PairKey& key, const SideParts& parts)
{
    // A gradient may be that of what depends on no sample, of as many entries by chance: a sum over all parts.
    return isActivation(key.kind) && parts.rowLed && (parts.axes.size() > 1 || parts.perRow > 1 || key.kind == Kind::GradOutput);
}

std::optional<Shape> joinedShape(const SideParts& parts, const std::vector<Way>& ways) { return joinedRow(parts.grid.front(), parts, ways); }

std::size_t laneCount(const SideParts& parts, const Candidate& candidate)
{
    std::size_t lanes = 1;
    for (std::size_t k = 0; k < parts.axes.size(); ++k) {
        lanes *= candidate.ways[k].join == Join::Replicate ? parts.axes[k].size : 1;
    }
    return lanes;
}

Assembly assemblyOf(const SideParts& parts, const Candidate& candidate, double weight, std::size_t lane)
{
    Assembly out;
    out.micros = candidate.micros.join;
    out.microDim = static_cast<std::uint8_t>(candidate.micros.dim);
    out.microBlocks = static_cast<std::int32_t>(candidate.micros.blocks);
    out.weight = weight;
    out.dtype = parts.grid[0][0].record->dtype;
    out.positions = parts.positions;
    const auto& whole = parts.grid[0][0].record->shape;
    out.shape = whole == candidate.shape ? whole : bundle::SharedShape(candidate.shape);
    const std::size_t axes = parts.axes.size();
    std::vector<JoinLevel> outer;
    const bool replica = axes == 1 && candidate.ways[0].join == Join::Replicate;
    std::vector<std::size_t> chosen(axes, 0);
    for (std::size_t k = axes, rest = lane; k-- > 0;) {
        if (candidate.ways[k].join == Join::Replicate) {
            chosen[k] = rest % parts.axes[k].size;
            rest /= parts.axes[k].size;
            continue;
        }
        const auto& how = candidate.ways[k];
        if (out.ranks == Join::Single && outer.empty() && !parts.axes[k].pieces && how.blocks == 1) { // the innermost one that joins anything
            out.ranks = how.join;
            out.dim = how.dim;
            continue;
        }
        outer.insert(outer.begin(), JoinLevel { how.join, how.dim, parts.axes[k].size, how.blocks, parts.axes[k].pieces });
    }
    out.outer = std::move(outer);
    const bool replicas = std::any_of(candidate.ways.begin(), candidate.ways.end(), [](const Way& w) { return w.join == Join::Replicate; });
    if (out.ranks == Join::Single && replicas) {
        out.ranks = Join::Replicate;
    }
    PartGrid taken;
    for (const auto& row : parts.grid) {
        auto& own = taken.emplace_back();
        if (axes == 1) { // rows may be shorter where a rank has nothing in a micro-step
            own = replica ? std::vector<Part> { row[std::min(lane, row.size() - 1)] } : row;
        } else {
            for (std::size_t c = 0; c < row.size(); ++c) {
                bool wanted = true;
                for (std::size_t k = axes, rest = c; k-- > 0; rest /= parts.axes[k].size) {
                    wanted = wanted && (candidate.ways[k].join != Join::Replicate || rest % parts.axes[k].size == chosen[k]);
                }
                if (wanted) {
                    own.push_back(row[c]);
                }
            }
        }
        if (candidate.micros.join == Join::Replicate) {
            break;
        }
    }
    out.parts = std::move(taken);
    return out;
}

} // namespace forkpoint::align
