// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/relation.h"

#include "core/bundle/sketch.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <optional>
#include <set>

// Placement is found by trying. Each side has a few ways to become whole (take a replica, concatenate along a dim, sum up); every way has a
// cost that says how natural it is for this kind of tensor, and the cheapest combination that gives both sides one shape wins. What the record
// declares is cheapest. Over the ranks first, then over the micro-steps.
//
// A single number (a criterion's output, a regulariser) has no shape to tell sum from replica by. It is put together as its values agree, the
// way the loss is.
namespace forkpoint::align {

namespace {

using bundle::Kind;
using bundle::Phase;

struct Option {
    Join join = Join::Single;
    std::int64_t dim = 0;
    int cost = 0;
    bool declared = false;
    std::optional<double> weight; ///< of a declared partial sum or mean, whatever the loss says
};

constexpr int kDeclared = -1; ///< cost

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
        return std::all_of(row.begin(), row.end(), [&](const Part& p) { return bundle::sameBits(*p.record, *row.front().record).value_or(false); });
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

Option option(Join join, std::int64_t dim, int cost)
{
    Option out;
    out.join = join;
    out.dim = dim;
    out.cost = cost;
    return out;
}

/// What all parts declare alike, as far as it is about one axis of the mesh: the ranks of a side are joined along one.
std::optional<Option> declaredOption(const PartGrid& grid)
{
    const auto& placement = grid[0][0].record->placement;
    for (const auto& row : grid) {
        if (std::any_of(row.begin(), row.end(), [&](const Part& p) { return p.record->placement != placement; })) {
            return std::nullopt;
        }
    }
    const auto isReplicated = [](const bundle::Placement& p) { return p.type == bundle::Placement::Type::Replicate; };
    const auto split = std::find_if_not(placement.begin(), placement.end(), isReplicated);
    if (placement.empty() || (split != placement.end() && !std::all_of(split + 1, placement.end(), isReplicated))) {
        return std::nullopt;
    }
    auto out = option(Join::Replicate, 0, kDeclared);
    out.declared = true;
    if (split == placement.end()) {
        return out;
    }
    if (split->type == bundle::Placement::Type::Shard) {
        out.join = Join::Concat;
        out.dim = split->dim;
        return out;
    }
    if (!isFloating(grid[0][0].record->dtype)) {
        return std::nullopt;
    }
    out.join = Join::Sum;
    out.weight = split->op == "mean" ? 1.0 / static_cast<double>(grid.front().size()) : 1.0;
    return out;
}

std::vector<Option> rankOptions(const PairKey& key, const SideContext& side)
{
    if (std::all_of(side.grid.begin(), side.grid.end(), [](const auto& row) { return row.size() == 1; })) {
        return { option(Join::Single, 0, 0) };
    }
    const auto dims = static_cast<std::int64_t>(side.grid[0][0].record->shape.size());
    std::vector<Option> options;
    if (const auto declared = declaredOption(side.grid)) {
        options.push_back(*declared);
    }
    if (!isActivation(key.kind) || side.replicated) {
        options.push_back(option(wholeOrSum(key, side), 0, 0));
        for (std::int64_t d = 0; d < dims; ++d) {
            options.push_back(option(Join::Concat, d, 1 + static_cast<int>(d)));
        }
        return options;
    }
    if (side.rowLed) {
        options.push_back(option(Join::Concat, 0, 0));
    }
    options.push_back(option(wholeOrSum(key, side), 0, 1));
    for (std::int64_t d = side.rowLed ? 1 : 0; d < dims; ++d) {
        options.push_back(option(Join::Concat, d, 2 + static_cast<int>(d)));
    }
    return options;
}

std::vector<Option> microOptions(const PairKey& key, const SideContext& side)
{
    if (side.grid.size() == 1) {
        return { option(Join::Single, 0, 0) };
    }
    if (isLocalGradient(key) || isLoss(key)) {
        return { option(Join::Sum, 0, 0) };
    }
    const bool summed = key.kind == Kind::GradOutput || (elementCount(side.grid[0][0].record->shape) == 1 && isFloating(side.grid[0][0].record->dtype));
    return { option(Join::Concat, 0, 0), option(summed ? Join::Sum : Join::Replicate, 0, 1) };
}

struct Candidate {
    Option ranks, micros;
    Shape shape;
    int cost = 0;

    bool joins(Join join) const { return ranks.join == join || micros.join == join; }
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

bool isRowLed(const PartGrid& grid, const std::map<Cell, RowKeys>& rows)
{
    std::int64_t perSample = 0;
    for (const auto& row : grid) {
        for (const auto& part : row) {
            const auto& shape = part.record->shape;
            const auto cell = rows.find({ part.rankIndex, part.micro });
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

/// The values of parts that are single numbers, as recorded; nullopt where that was not noted.
std::optional<LossGrid> numbers(const PartGrid& grid)
{
    LossGrid out;
    for (const auto& row : grid) {
        auto& values = out.emplace_back();
        for (const auto& part : row) {
            const auto& stats = part.record->stats;
            if (!stats || row.size() != grid.front().size()) {
                return std::nullopt;
            }
            values.push_back(stats->nan + stats->inf > 0 ? std::numeric_limits<double>::quiet_NaN() : stats->mean);
        }
    }
    return out;
}

bool isOneNumber(const PartGrid& grid)
{
    return std::all_of(grid.begin(), grid.end(), [](const auto& row) {
        return std::all_of(row.begin(), row.end(), [](const Part& p) { return elementCount(p.record->shape) == 1 && isFloating(p.record->dtype); });
    });
}

/// The candidate with the parts put together as these weights say. The mean of ranks that hold the same rows is one of replicas, which are
/// compared one by one.
Candidate reduced(Candidate candidate, const SideWeights& weights, bool replicated)
{
    if (candidate.ranks.join != Join::Single) {
        const bool replicas = weights.ranks == Reduction::Replicated || (replicated && weights.ranks == Reduction::Mean);
        candidate.ranks.join = replicas ? Join::Replicate : Join::Sum;
    }
    if (candidate.micros.join != Join::Single) {
        candidate.micros.join = Join::Sum;
    }
    return candidate;
}

using DigestPair = std::pair<std::vector<bundle::Digest>, std::vector<bundle::Digest>>;

/// The digest, or the fold in its place.
bundle::Digest fingerprint(const bundle::TensorRecord& record)
{
    bundle::Digest out = record.digest.value_or(bundle::Digest {});
    if (!record.digest && record.fold) {
        for (std::size_t i = 0; i < sizeof *record.fold; ++i) {
            out[i] = static_cast<std::uint8_t>(*record.fold >> (8 * i));
        }
    }
    return out;
}

/// nullopt if some part has none: nothing is known to be equal then.
std::optional<std::vector<bundle::Digest>> digests(const Assembly& assembly)
{
    std::vector<bundle::Digest> out;
    for (const auto& row : assembly.parts) {
        for (const auto& part : row) {
            if (!part.record->digest && !part.record->fold) {
                return std::nullopt;
            }
            out.push_back(fingerprint(*part.record));
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
    const SideContext sideA { a, group.weights.a, group.rows.replicatedA, isRowLed(a, rowsOfA) };
    const SideContext sideB { b, group.weights.b, group.rows.replicatedB, isRowLed(b, rowsOfB) };

    const Candidate *foundA = nullptr, *foundB = nullptr;
    const auto candidatesA = candidates(key, sideA), candidatesB = candidates(key, sideB);
    for (const auto& ca : candidatesA) {
        for (const auto& cb : candidatesB) {
            if (ca.shape == cb.shape && (!foundA || ca.cost + cb.cost < foundA->cost + foundB->cost)) {
                foundA = &ca;
                foundB = &cb;
            }
        }
    }
    if (!foundA) {
        relation.problem = fmt::format("shapes cannot be related: {} against {}", shapeText(rankShapes(a)), shapeText(rankShapes(b)));
        return relation;
    }
    Candidate bestA = *foundA, bestB = *foundB;
    LossWeights weights = group.weights;
    const bool declared = bestA.ranks.declared || bestB.ranks.declared;
    if (isActivation(key.kind) && !isLoss(key) && !declared && elementCount(bestA.shape) == 1 && isOneNumber(a) && isOneNumber(b)) {
        const auto valuesA = numbers(a), valuesB = numbers(b);
        if (valuesA && valuesB) {
            weights = lossWeights(*valuesA, *valuesB, group.weights);
            bestA = reduced(std::move(bestA), weights.a, sideA.replicated);
            bestB = reduced(std::move(bestB), weights.b, sideB.replicated);
        }
    }
    const auto needsAll = [&](const Candidate& c) { return c.joins(Join::Concat) || c.joins(Join::Sum) || isActivation(key.kind) || isLocalGradient(key); };
    relation.needsAllOfA = needsAll(bestA);
    relation.needsAllOfB = needsAll(bestB);
    const auto isGuess = [](const Candidate& c) { return c.ranks.join != Join::Single && !c.ranks.declared; };
    relation.guess = isGuess(bestA) || isGuess(bestB);

    const bool weighted = key.kind == Kind::GradOutput || isLocalGradient(key) || isLoss(key) || bestA.joins(Join::Sum) || bestB.joins(Join::Sum);
    // Where every rank holds the whole, or computed the whole loss (partial sums of a replicated batch), only the micro-steps' share of the weight
    // is left. The loss itself stays a mean of its replicas.
    const auto weightFor = [&](const SideWeights& w, const Candidate& c, const SideContext& side) {
        if (!weighted || !isFloating(side.grid[0][0].record->dtype)) {
            return 1.0;
        }
        if (c.ranks.weight) {
            return *c.ranks.weight;
        }
        const bool whole = c.ranks.join == Join::Replicate || (side.replicated && !isLoss(key) && !isOneNumber(side.grid));
        return whole && w.ranks == Reduction::Mean ? w.weight * static_cast<double>(side.grid.front().size()) : w.weight;
    };
    const double weightA = weightFor(weights.a, bestA, sideA), weightB = weightFor(weights.b, bestB, sideB);

    // Rows lie in the leading dim where local batches were joined along it, or where one part holds all of them. A tensor that is a sum, or
    // that every rank of a split batch holds in full, has no rows, whatever its leading dim; nor has one that is equal as it stands.
    const auto hasRows = [](const SideContext& side, const Candidate& c) {
        const bool pieces = c.ranks.join == Join::Concat && c.ranks.dim == 0;
        const bool ranks = side.grid.front().size() == 1 || (side.replicated ? c.ranks.join != Join::Sum && !pieces : pieces);
        return ranks && (side.grid.size() == 1 || c.micros.join == Join::Concat);
    };
    const bool reorder = !group.rows.order.empty() && isActivation(key.kind) && !bestB.shape.empty() && group.rows.rowsB > 0 && bestB.shape[0] > 0
        && bestB.shape[0] % group.rows.rowsB == 0 && hasRows(sideA, bestA) && hasRows(sideB, bestB);
    const std::size_t lanes = std::max(bestA.ranks.join == Join::Replicate ? a.front().size() : 1,
                                       bestB.ranks.join == Join::Replicate ? b.front().size() : 1);
    std::set<DigestPair> seen;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        Lane next { assemblyOf(a, bestA, weightA, lane), assemblyOf(b, bestB, weightB, lane), -1 };
        const auto digestsA = digests(next.a), digestsB = digests(next.b);
        if (reorder && !(digestsA && digestsA->size() == 1 && digestsA == digestsB)) {
            next.b.order = group.rows.order;
            next.b.samples = group.rows.rowsB;
        }
        if (digestsA && digestsB && !seen.emplace(*digestsA, *digestsB).second) {
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
