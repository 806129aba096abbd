// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/relation.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <set>

// Placement is found by trying. Each side has a few ways to become whole (take a replica, concatenate along a dim, sum up); every way has a
// cost that says how natural it is for this kind of tensor, and the cheapest combination that gives both sides one shape wins. Over the
// ranks first, then over the micro-steps.
namespace forkpoint::align {

namespace {

using bundle::Kind;
using bundle::Phase;

struct Option {
    Join join = Join::Single;
    std::int64_t dim = 0;
    int cost = 0;
};

/// What decides the natural ways of one side.
struct SideContext {
    const PartGrid& grid;
    const SideWeights& weights;
    bool replicated;      ///< all ranks hold the same samples
    bool rowLed;          ///< the leading dim of every part is its samples, each equally often
};

bool isActivation(Kind kind)
{
    return kind == Kind::Batch || kind == Kind::Input || kind == Kind::Output || kind == Kind::GradOutput;
}

bool isLocalGradient(const PairKey& key)
{
    return key.phase == Phase::Backward && key.kind == Kind::Grad;
}

bool isLoss(const PairKey& key)
{
    return key.kind == Kind::Output && key.phase == Phase::Forward && (key.module == "loss" || key.module.starts_with("loss#"));
}

std::vector<Shape> rankShapes(const PartGrid& grid)
{
    std::vector<Shape> shapes;
    for (const auto& part : grid.front()) {
        shapes.push_back(part.record->shape);
    }
    return shapes;
}

bool allEqual(const std::vector<Shape>& shapes)
{
    return std::all_of(shapes.begin(), shapes.end(), [&](const Shape& s) { return s == shapes.front(); });
}

bool sameBytesOnRanks(const PartGrid& grid)
{
    return std::all_of(grid.begin(), grid.end(), [](const std::vector<Part>& row) {
        return std::all_of(row.begin(), row.end(), [&](const Part& p) { return p.record->digest && p.record->digest == row.front().record->digest; });
    });
}

/// Sizes of `shapes` joined along `dim`; nullopt if they differ elsewhere.
std::optional<Shape> concatenated(const std::vector<Shape>& shapes, std::int64_t dim)
{
    Shape out = shapes.front();
    const auto d = static_cast<std::size_t>(dim);
    if (d >= out.size()) {
        return std::nullopt;
    }
    for (std::size_t i = 1; i < shapes.size(); ++i) {
        Shape rest = shapes[i];
        if (rest.size() != out.size()) {
            return std::nullopt;
        }
        const auto size = rest[d];
        rest[d] = out[d];
        if (rest != out) {
            return std::nullopt;
        }
        out[d] += size;
    }
    return out;
}

std::optional<Shape> joinedShape(const std::vector<Shape>& shapes, const Option& option)
{
    if (option.join == Join::Concat) {
        return concatenated(shapes, option.dim);
    }
    return allEqual(shapes) ? std::optional(shapes.front()) : std::nullopt;
}

/// A tensor that every rank has in full shape, but that may be a part of a sum.
Join wholeOrSum(const PairKey& key, const SideContext& side)
{
    const bool floating = isFloating(side.grid[0][0].record->dtype);
    const bool oneNumber = elementCount(side.grid[0][0].record->shape) == 1;
    if (!floating) {
        return Join::Replicate;
    }
    if (isLoss(key)) {
        return side.weights.ranks == Reduction::Replicated ? Join::Replicate : Join::Sum;
    }
    if (side.replicated) {
        const bool mayBePartial = key.kind == Kind::GradOutput || isLocalGradient(key);
        return mayBePartial && !sameBytesOnRanks(side.grid) ? Join::Sum : Join::Replicate;
    }
    if (key.kind == Kind::GradOutput || isLocalGradient(key)) {
        return Join::Sum;
    }
    return oneNumber && isActivation(key.kind) && !sameBytesOnRanks(side.grid) ? Join::Sum : Join::Replicate;
}

std::vector<Option> rankOptions(const PairKey& key, const SideContext& side)
{
    const auto& row = side.grid.front();
    if (row.size() == 1) {
        return { { Join::Single, 0, 0 } };
    }
    const auto dims = static_cast<std::int64_t>(row.front().record->shape.size());
    std::vector<Option> options;
    if (!isActivation(key.kind) || side.replicated) {
        options.push_back({ wholeOrSum(key, side), 0, 0 });
        for (std::int64_t d = 0; d < dims; ++d) {
            options.push_back({ Join::Concat, d, 1 + static_cast<int>(d) });
        }
        return options;
    }
    if (side.rowLed) {
        options.push_back({ Join::Concat, 0, 0 });
    }
    options.push_back({ wholeOrSum(key, side), 0, 1 });
    for (std::int64_t d = side.rowLed ? 1 : 0; d < dims; ++d) {
        options.push_back({ Join::Concat, d, 2 + static_cast<int>(d) });
    }
    return options;
}

std::vector<Option> microOptions(const PairKey& key, const SideContext& side)
{
    if (side.grid.size() == 1) {
        return { { Join::Single, 0, 0 } };
    }
    if (isLocalGradient(key) || isLoss(key)) {
        return { { Join::Sum, 0, 0 } };
    }
    const bool summed = key.kind == Kind::GradOutput || (elementCount(side.grid[0][0].record->shape) == 1 && isFloating(side.grid[0][0].record->dtype));
    return { { Join::Concat, 0, 0 }, { summed ? Join::Sum : Join::Replicate, 0, 1 } };
}

struct Candidate {
    Option ranks, micros;
    Shape shape;
    int cost = 0;
};

std::vector<Candidate> candidates(const PairKey& key, const SideContext& side)
{
    std::vector<Candidate> out;
    for (const auto& ranks : rankOptions(key, side)) {
        std::vector<Shape> perMicro;
        for (const auto& row : side.grid) {
            const auto shape = joinedShape(rankShapes({ row }), ranks);
            if (!shape) {
                break;
            }
            perMicro.push_back(*shape);
        }
        if (perMicro.size() != side.grid.size()) {
            continue;
        }
        for (const auto& micros : microOptions(key, side)) {
            if (auto shape = joinedShape(perMicro, micros)) {
                out.push_back({ ranks, micros, std::move(*shape), ranks.cost + micros.cost });
            }
        }
    }
    return out;
}

/// Only ranks that have the record at all (pipeline stages have others); incomplete if such a rank lacks it in some micro-step.
PartGrid presentRanks(const PartGrid& grid, bool& incomplete)
{
    PartGrid out(grid.size());
    for (std::size_t r = 0; r < grid.front().size(); ++r) {
        std::size_t present = 0;
        for (const auto& row : grid) {
            present += row[r].record ? 1u : 0u;
        }
        if (present == 0) {
            continue;
        }
        incomplete = incomplete || present < grid.size();
        for (std::size_t m = 0; m < grid.size(); ++m) {
            if (grid[m][r].record) {
                out[m].push_back(grid[m][r]);
            }
        }
    }
    out.erase(std::remove_if(out.begin(), out.end(), [](const auto& row) { return row.empty(); }), out.end());
    return out;
}

bool isRowLed(const PartGrid& grid, const std::vector<std::size_t>& ranks, const std::map<Cell, RowKeys>& rows,
              const std::vector<std::size_t>& rankIndexOfColumn)
{
    std::int64_t perSample = 0;
    for (const auto& row : grid) {
        for (std::size_t r = 0; r < row.size(); ++r) {
            const auto& shape = row[r].record->shape;
            const auto cell = rows.find({ ranks[rankIndexOfColumn[r]], row[r].micro });
            if (shape.empty() || cell == rows.end() || cell->second.rows == 0 || shape[0] % cell->second.rows != 0) {
                return false;
            }
            const auto own = shape[0] / cell->second.rows;
            if (own == 0 || (perSample != 0 && own != perSample)) {
                return false;
            }
            perSample = own;
        }
    }
    return perSample != 0;
}

std::string shapeText(const std::vector<Shape>& shapes)
{
    std::string out;
    for (const auto& s : shapes) {
        out += fmt::format("{}[{}]", out.empty() ? "" : " + ", fmt::join(s, ", "));
    }
    return out;
}

/// `column`: which replica to take where ranks are replicas.
Assembly assemblyOf(const PartGrid& grid, const Candidate& candidate, double weight, std::size_t column)
{
    Assembly out;
    out.ranks = candidate.ranks.join;
    out.dim = candidate.ranks.dim;
    out.micros = candidate.micros.join;
    out.weight = weight;
    out.shape = candidate.shape;
    out.dtype = grid[0][0].record->dtype;
    for (const auto& row : grid) {
        if (candidate.ranks.join == Join::Replicate) {
            out.parts.push_back({ row[std::min(column, row.size() - 1)] });
        } else {
            out.parts.push_back(row);
        }
        if (candidate.micros.join == Join::Replicate) {
            break;
        }
    }
    return out;
}

using DigestPair = std::pair<std::vector<bundle::Digest>, std::vector<bundle::Digest>>;

std::vector<bundle::Digest> digests(const Assembly& assembly)
{
    std::vector<bundle::Digest> out;
    for (const auto& row : assembly.parts) {
        for (const auto& part : row) {
            out.push_back(part.record->digest.value_or(bundle::Digest {}));
        }
    }
    return out;
}

} // namespace

Relation relate(const PairKey& key, const PartGrid& gridA, const PartGrid& gridB, const CellGroup& group, const std::map<Cell, RowKeys>& rowsOfA,
                const std::map<Cell, RowKeys>& rowsOfB)
{
    Relation relation;
    const auto a = presentRanks(gridA, relation.incomplete), b = presentRanks(gridB, relation.incomplete);
    const auto columns = [](const PartGrid& grid) {
        std::vector<std::size_t> out;
        for (std::size_t r = 0; r < grid.front().size(); ++r) {
            if (std::any_of(grid.begin(), grid.end(), [&](const auto& row) { return row[r].record != nullptr; })) {
                out.push_back(r);
            }
        }
        return out;
    };
    const SideContext sideA { a, group.weights.a, group.rows.replicatedA, isRowLed(a, group.ranksA, rowsOfA, columns(gridA)) };
    const SideContext sideB { b, group.weights.b, group.rows.replicatedB, isRowLed(b, group.ranksB, rowsOfB, columns(gridB)) };

    const Candidate *bestA = nullptr, *bestB = nullptr;
    const auto candidatesA = candidates(key, sideA), candidatesB = candidates(key, sideB);
    for (const auto& ca : candidatesA) {
        for (const auto& cb : candidatesB) {
            if (ca.shape == cb.shape && (!bestA || ca.cost + cb.cost < bestA->cost + bestB->cost)) {
                bestA = &ca;
                bestB = &cb;
            }
        }
    }
    if (!bestA) {
        relation.problem = fmt::format("shapes cannot be related: {} against {}", shapeText(rankShapes(a)), shapeText(rankShapes(b)));
        return relation;
    }
    relation.guess = (bestA->ranks.join != Join::Single || bestB->ranks.join != Join::Single)
        && std::any_of(b.front().begin(), b.front().end(), [](const Part& p) { return p.record->placement.empty(); });

    const bool weighted = key.kind == Kind::GradOutput || isLocalGradient(key) || isLoss(key) || bestA->ranks.join == Join::Sum
        || bestB->ranks.join == Join::Sum || bestA->micros.join == Join::Sum || bestB->micros.join == Join::Sum;
    // A replica already is the whole over ranks: only the micro-steps' share of the weight is left.
    const auto weightFor = [&](const SideWeights& w, const Candidate& c, const PartGrid& grid) {
        if (!weighted || !isFloating(grid[0][0].record->dtype)) {
            return 1.0;
        }
        const bool rankShare = c.ranks.join == Join::Replicate && w.ranks == Reduction::Mean;
        return rankShare ? w.weight * static_cast<double>(grid.front().size()) : w.weight;
    };
    const double weightA = weightFor(group.weights.a, *bestA, a), weightB = weightFor(group.weights.b, *bestB, b);

    // Rows lie in the leading dim where local batches were joined along it, or where one part holds all of them. A tensor that is a sum, or
    // that every rank of a split batch holds in full, has no rows, whatever its leading dim.
    const bool joinedRows = bestB->micros.join == Join::Concat || (bestB->ranks.join == Join::Concat && bestB->ranks.dim == 0);
    const bool onePart = b.size() == 1 && (b.front().size() == 1 || (sideB.replicated && bestB->ranks.join != Join::Sum));
    const bool reorder = !group.rows.order.empty() && isActivation(key.kind) && !bestB->shape.empty() && group.rows.rowsB > 0
        && bestB->shape[0] > 0 && bestB->shape[0] % group.rows.rowsB == 0 && (joinedRows || onePart);
    const std::size_t lanes = std::max(bestA->ranks.join == Join::Replicate ? a.front().size() : 1,
                                       bestB->ranks.join == Join::Replicate ? b.front().size() : 1);
    std::set<DigestPair> seen;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        Lane next { assemblyOf(a, *bestA, weightA, lane), assemblyOf(b, *bestB, weightB, lane), -1 };
        if (reorder) {
            next.b.order = group.rows.order;
            next.b.samples = group.rows.rowsB;
        }
        if (!seen.emplace(digests(next.a), digests(next.b)).second) {
            continue;
        }
        if (next.b.parts.front().size() == 1) {
            next.rank = next.b.parts.front().front().rank->rank;
        }
        relation.lanes.push_back(std::move(next));
    }
    return relation;
}

} // namespace forkpoint::align
