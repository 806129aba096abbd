// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/relation.h"

#include "core/tensor/composed_sources.h"
#include "core/tensor/gather_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <optional>
#include <set>

// Placement is found by trying: the cheapest combination of ways that gives both sides one shape wins (placement.cpp). Of equally cheap ones a few
// elements decide.
//
// A single number (a criterion's output, a regulariser) has no shape to tell sum from replica by. It is put together as its values agree, the
// way the loss is.
namespace forkpoint::align {

namespace {

constexpr std::size_t kProbes = 64;     ///< elements read to tell two ways apart
constexpr std::size_t kMostTrials = 16; ///< equally cheap ways that are tried

std::string shapeText(const std::vector<Shape>& shapes)
{
    std::string out;
    for (const auto& s : shapes) {
        out += fmt::format("{}[{}]", out.empty() ? "" : " + ", fmt::join(s, ", "));
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

/// The parts put together as these weights say, along one axis. The mean of ranks that hold the same rows is one of replicas, which are
/// compared one by one.
void reduce(SideParts& parts, Candidate& candidate, const SideWeights& weights)
{
    if (!parts.axes.empty()) {
        const bool replicas = weights.ranks == Reduction::Replicated || (parts.sameRows && weights.ranks == Reduction::Mean);
        parts.axes = { PartAxis { .size = parts.grid.front().size(), .sameRows = parts.sameRows } };
        candidate.ways = { Way { .join = replicas ? Join::Replicate : Join::Sum } };
    }
    if (candidate.micros.join != Join::Single) {
        candidate.micros.join = Join::Sum;
    }
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

/// A few elements of an assembled tensor, spread over it; empty if they cannot be read.
std::vector<double> probes(const bundle::Bundle& bundle, const Assembly& assembly)
{
    const auto count = static_cast<std::size_t>(elementCount(assembly.shape).value_or(0));
    std::vector<std::int64_t> indices;
    const std::size_t n = std::min(kProbes, count);
    for (std::size_t i = 0; i < n; ++i) { // an odd walk, so that no dim is seen at one place only
        indices.push_back(static_cast<std::int64_t>((i * (count / n) + i * 7919 % std::max<std::size_t>(1, count / n)) % count));
    }
    auto whole = open(bundle, assembly);
    auto few = whole ? gatherSource(std::move(*whole), std::move(indices)) : whole;
    auto wide = few ? weightedSumSource({ std::move(*few) }, { 1 }) : few;
    ReadBuffer buffer;
    const auto bytes = wide ? (*wide)->read(Box::whole((*wide)->shape()), buffer) : tl::unexpected(wide.error());
    std::vector<double> out;
    for (std::size_t i = 0; bytes && i < n; ++i) {
        if ((*wide)->dtype() == DType::Float64) {
            std::memcpy(&out.emplace_back(), bytes->data() + i * sizeof(double), sizeof(double));
        } else if ((*wide)->dtype() == DType::Float32) {
            float value = 0;
            std::memcpy(&value, bytes->data() + i * sizeof(float), sizeof(float));
            out.push_back(static_cast<double>(value));
        }
    }
    return out;
}

/// How far two ways of putting the sides together are apart, relative to their size; nullopt if that cannot be told.
std::optional<double> distance(const bundle::Bundle& bundleA, const Assembly& a, const bundle::Bundle& bundleB, const Assembly& b)
{
    const auto x = probes(bundleA, a), y = probes(bundleB, b);
    if (x.empty() || x.size() != y.size()) {
        return std::nullopt;
    }
    double apart = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        apart += std::abs(x[i] - y[i]);
        size += std::max(std::abs(x[i]), std::abs(y[i]));
    }
    return std::isfinite(apart) && size > 0 ? std::optional(apart / size) : std::nullopt;
}

using Choice = std::pair<Candidate, Candidate>;

/// The cheapest combinations that give both sides one shape.
std::vector<Choice> cheapest(const std::vector<Candidate>& ofA, const std::vector<Candidate>& ofB)
{
    std::vector<Choice> best;
    for (const auto& a : ofA) {
        for (const auto& b : ofB) {
            const int cost = a.cost + b.cost, least = best.empty() ? cost : best.front().first.cost + best.front().second.cost;
            if (a.shape != b.shape || cost > least) {
                continue;
            }
            if (cost < least) {
                best.clear();
            }
            if (best.size() < kMostTrials) {
                best.emplace_back(a, b);
            }
        }
    }
    return best;
}

/// A declared concatenation whose last pieces are padded: it may be longer than the other side, by less than one piece, along its own dim.
bool cutTo(Candidate& longer, const SideParts& parts, const Shape& shape)
{
    if (longer.shape.size() != shape.size() || longer.micros.join == Join::Concat) {
        return false;
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::int64_t excess = longer.shape[d] - shape[d];
        const bool sharded = std::any_of(longer.ways.begin(), longer.ways.end(), [&](const Way& w) {
            return w.declared && w.join == Join::Concat && w.blocks == 1 && w.dim == static_cast<std::int64_t>(d);
        });
        if (excess < 0 || (excess > 0 && (!sharded || excess >= parts.grid[0].back().record->shape[d]))) {
            return false;
        }
    }
    longer.shape = shape;
    return true;
}

/// Adds up parts that nobody declared to be partial.
bool guessesSum(const Candidate& candidate)
{
    return candidate.micros.join == Join::Sum
        || std::any_of(candidate.ways.begin(), candidate.ways.end(), [](const Way& w) { return w.join == Join::Sum && !w.declared; });
}

std::optional<Choice> paddedChoice(const std::vector<Candidate>& ofA, const SideParts& a, const std::vector<Candidate>& ofB, const SideParts& b)
{
    for (auto ca : ofA) {
        for (auto cb : ofB) {
            if (cutTo(cb, b, ca.shape) || cutTo(ca, a, cb.shape)) {
                return Choice { std::move(ca), std::move(cb) };
            }
        }
    }
    return std::nullopt;
}

/// Rows lie in the leading dim where local batches were joined along it, or where one part holds all of them. A tensor that is a sum, or
/// that every rank of a split batch holds in full, has no rows, whatever its leading dim; nor has one that is equal as it stands.
bool hasRows(const SideParts& parts, const Candidate& candidate)
{
    for (std::size_t k = 0; k < parts.axes.size(); ++k) {
        const auto& way = candidate.ways[k];
        const bool alongRows = way.join == Join::Concat && way.dim == 0;
        if (!(parts.axes[k].sameRows || parts.axes[k].pieces ? way.join != Join::Sum && !alongRows : alongRows)) {
            return false;
        }
    }
    return parts.grid.size() == 1 || candidate.micros.join == Join::Concat;
}

/// Of every part. Where every rank along an axis holds the whole, or computed the whole loss (partial sums of a replicated batch), only the others'
/// share of the weight is left. The loss itself stays a mean of its replicas; so does what belongs to the losses of parts of the same rows.
double weightFor(const PairKey& key, const SideWeights& weights, const SideParts& parts, const Candidate& candidate, bool weighted)
{
    if (!isFloating(parts.grid[0][0].record->dtype)) {
        return 1;
    }
    double declared = 1, whole = 1;
    bool says = false;
    for (std::size_t k = 0; k < parts.axes.size(); ++k) {
        const auto& way = candidate.ways[k];
        if (parts.axes[k].pieces) {
            continue;
        }
        declared *= way.weight.value_or(1);
        says = says || way.weight;
        const bool holdsWhole = way.weight || way.join == Join::Replicate
            || (parts.axes[k].sameRows && !weights.ofParts && !isLoss(key) && elementCount(candidate.shape) != 1);
        whole *= holdsWhole ? static_cast<double>(parts.axes[k].size) : 1.0;
    }
    if (!weighted || (says && parts.axes.size() == 1)) {
        return declared;
    }
    return declared * (weights.ranks == Reduction::Mean ? weights.weight * whole : weights.weight);
}

Assembly assemblyOf(const Part& part)
{
    Assembly out;
    out.parts = part;
    out.shape = part.record->shape;
    out.dtype = part.record->dtype;
    return out;
}

/// What a placement that the user gave makes of the parts of one side.
std::string madeOf(const PlacementRule& rule, const SideParts& parts, const std::vector<Candidate>& candidates, std::string_view which)
{
    if (candidates.empty()) {
        return fmt::format("; '{}' cannot join the parts of the {}", rule.text, which);
    }
    return parts.axes.empty() ? std::string() : fmt::format("; '{}' makes {} of the {}", rule.text, shapeText({ candidates.front().shape }), which);
}

} // namespace

std::optional<Lane> oneAgainstOne(const Part& a, const Part& b, const CellGroup& group)
{
    if (!group.rows.order.empty() || group.rows.positions.length > 0 || group.weights.a.weight != 1 || group.weights.b.weight != 1
        || a.record->shape != b.record->shape) {
        return std::nullopt;
    }
    Lane lane;
    lane.a = assemblyOf(a);
    lane.b = assemblyOf(b);
    lane.rank = b.rank->rank;
    return lane;
}

Relation relate(const PairKey& key, const RelationSide& sideA, const RelationSide& sideB, const CellGroup& group)
{
    Relation relation;
    const auto placements = [](const RelationSide& side) { return side.given ? &side.given->placement : nullptr; };
    const auto sharers = [](const std::vector<std::size_t>& of) { return of.empty() ? nullptr : &of; };
    const std::int64_t positions = group.rows.positions.length;
    auto a = sideParts(key, sideA.grid, { group.meshA, group.weights.a, group.rows.replicatedA, sharers(group.rows.sharersA), sideA.rows,
                                          placements(sideA), sideA.pieces, positions });
    auto b = sideParts(key, sideB.grid, { group.meshB, group.weights.b, group.rows.replicatedB, sharers(group.rows.sharersB), sideB.rows,
                                          placements(sideB), sideB.pieces, positions });
    relation.incomplete = a.incomplete || b.incomplete;
    for (const auto* parts : { &a, &b }) {
        if (!parts->problem.empty()) {
            relation.problem = parts->problem;
            return relation;
        }
    }
    const auto candidatesA = candidates(key, a, group.weights.a), candidatesB = candidates(key, b, group.weights.b);
    auto choices = cheapest(candidatesA, candidatesB);
    if (choices.empty()) {
        if (auto padded = paddedChoice(candidatesA, a, candidatesB, b)) {
            choices.push_back(std::move(*padded));
        }
    }
    if (choices.empty()) {
        const bool given = sideA.given || sideB.given;
        const std::string_view what = given ? "the placement that was given does not fit the shapes" : "shapes cannot be related";
        relation.problem = fmt::format("{}: {} against {}", what, shapeText(a.shapes()), shapeText(b.shapes()));
        if (sideA.given) {
            relation.problem += madeOf(*sideA.given, a, candidatesA, "reference");
        }
        if (sideB.given) {
            relation.problem += madeOf(*sideB.given, b, candidatesB, "candidate");
        }
        relation.padded = group.rows.positions.length > 0 && isActivation(key.kind);
        return relation;
    }
    if (choices.size() > 1) {
        double least = std::numeric_limits<double>::infinity();
        std::size_t best = 0;
        for (std::size_t i = 0; i < choices.size(); ++i) {
            const auto apart = distance(sideA.bundle, assemblyOf(a, choices[i].first, 1, 0), sideB.bundle, assemblyOf(b, choices[i].second, 1, 0));
            if (apart && *apart < least) {
                least = *apart;
                best = i;
            }
        }
        relation.verified = std::isfinite(least);
        std::swap(choices.front(), choices[best]);
    }
    auto& [bestA, bestB] = choices.front();
    LossWeights weights = group.weights;
    const bool declared = bestA.declared() || bestB.declared();
    if (isActivation(key.kind) && !isLoss(key) && !declared && elementCount(bestA.shape) == 1 && isOneNumber(a.grid) && isOneNumber(b.grid)) {
        const auto valuesA = numbers(a.grid), valuesB = numbers(b.grid);
        if (valuesA && valuesB) {
            weights = lossWeights(*valuesA, *valuesB, group.weights);
            reduce(a, bestA, weights.a);
            reduce(b, bestB, weights.b);
        }
    }
    const auto needsAll = [&](const Candidate& c) {
        return c.joins(Join::Concat) || c.joins(Join::Sum) || isActivation(key.kind) || isLocalGradient(key);
    };
    relation.needsAllOfA = needsAll(bestA);
    relation.needsAllOfB = needsAll(bestB);
    relation.guess = bestA.guessed() || bestB.guessed();

    const bool weighted = key.kind == bundle::Kind::GradOutput || isLocalGradient(key) || isLoss(key) || guessesSum(bestA) || guessesSum(bestB);
    const double weightA = weightFor(key, weights.a, a, bestA, weighted), weightB = weightFor(key, weights.b, b, bestB, weighted);

    const bool reorder = !group.rows.order.empty() && isActivation(key.kind) && !bestB.shape.empty() && group.rows.rowsB > 0 && bestB.shape[0] > 0
        && bestB.shape[0] % group.rows.rowsB == 0 && hasRows(a, bestA) && hasRows(b, bestB);
    const bool ragged = a.positions > 0 && b.positions > 0;
    if (ragged && (!hasRows(a, bestA) || !hasRows(b, bestB) || bestA.shape[0] != group.rows.rowsA)) {
        relation.problem = "its rows are padded to other lengths, and which row is where is not known";
        relation.padded = true;
        return relation;
    }
    const std::size_t lanesA = laneCount(a, bestA), lanesB = laneCount(b, bestB);
    std::set<DigestPair> seen;
    for (std::size_t lane = 0; lane < std::max(lanesA, lanesB); ++lane) {
        Lane next;
        next.a = assemblyOf(a, bestA, weightA, std::min(lane, lanesA - 1));
        next.b = assemblyOf(b, bestB, weightB, std::min(lane, lanesB - 1));
        const auto digestsA = digests(next.a), digestsB = digests(next.b);
        if (reorder && !(digestsA && digestsA->size() == 1 && digestsA == digestsB)) {
            next.b.order = group.rows.order;
            next.b.samples = group.rows.rowsB;
        }
        if (digestsA && digestsB && !seen.emplace(*digestsA, *digestsB).second) {
            continue;
        }
        if (ragged) {
            next.a.padLeft = next.b.padLeft = group.rows.positions.padLeft;
            next.kept = group.rows.positions.kept;
        }
        if (next.b.parts.front().size() == 1) {
            next.rank = next.b.parts.front().front().rank->rank;
        }
        relation.lanes.push_back(std::move(next));
    }
    return relation;
}

} // namespace forkpoint::align
