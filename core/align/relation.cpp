// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/relation.h"

#include "core/align/joining.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <optional>
#include <set>

// Placement is found by trying: the cheapest combination of ways that gives both sides one shape wins (placement.cpp). Between equally cheap ones,
// and where the cheapest does not fit, a few elements decide (joining.cpp).
//
// A single number (a criterion's output, a regulariser) has no shape to tell sum from replica by. It is put together as its values agree, the
// way the loss is.
namespace forkpoint::align {

namespace {

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
/// compared one by one, unless each has computed with some positions of them.
void reduce(SideParts& parts, Candidate& candidate, const SideWeights& weights)
{
    if (!parts.axes.empty()) {
        const bool replicas = weights.ranks == Reduction::Replicated || (parts.sameRows && weights.ranks == Reduction::Mean && !weights.ofParts);
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

bool sameDigests(const Lane& lane)
{
    const auto a = digests(lane.a);
    return a && a == digests(lane.b);
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

std::optional<Choice> paddedChoice(const std::vector<Candidate>& ofA, const SideParts& a, const std::vector<Candidate>& ofB, const SideParts& b)
{
    for (auto ca : ofA) {
        for (auto cb : ofB) {
            if (cutTo(cb, b, ca.shape) || cutTo(ca, a, cb.shape)) {
                return Choice { .a = std::move(ca), .b = std::move(cb) };
            }
        }
    }
    return std::nullopt;
}

/// Ranks have tokens of other lengths, and the parts have, too: batches that are padded on each rank to the longest text of it.
bool isRagged(const SideParts& parts, const std::map<Cell, RowKeys>& rows)
{
    const auto& first = parts.grid[0][0];
    const auto positionsOf = [&](const Part& part) {
        const auto cell = rows.find({ part.rankIndex, part.micro });
        return cell == rows.end() ? 0 : cell->second.tokenPositions;
    };
    return std::any_of(parts.grid.begin(), parts.grid.end(), [&](const auto& row) {
        return std::any_of(row.begin(), row.end(), [&](const Part& part) {
            const auto &shape = part.record->shape, &other = first.record->shape;
            return positionsOf(part) != positionsOf(first) && shape.size() == other.size() && shape.size() > 1
                && !std::equal(shape.begin() + 1, shape.end(), other.begin() + 1);
        });
    });
}

/// Some parts have more entries along dim 0 than others, and not because they have more samples: they are led by positions.
bool isUneven(const SideParts& parts)
{
    const auto lengthOf = [](const Part& part) { return part.record->shape.empty() ? 1 : part.record->shape[0]; };
    const auto first = lengthOf(parts.grid[0][0]);
    return !parts.rowLed && std::any_of(parts.grid.begin(), parts.grid.end(), [&](const auto& row) {
        return std::any_of(row.begin(), row.end(), [&](const Part& part) { return lengthOf(part) != first; });
    });
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
    const Joining joining { key, group, a, b };
    auto choices = joining.choices(candidatesA, candidatesB);
    if (choices.empty()) {
        if (auto padded = paddedChoice(candidatesA, a, candidatesB, b)) {
            joining.addPlaces(choices, std::move(*padded));
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
        if (isActivation(key.kind) && (group.rows.positions.length > 0 || isRagged(a, sideA.rows) || isRagged(b, sideB.rows))) {
            relation.problem = fmt::format("the batches are padded to other lengths, and this tensor cannot be brought to one: {}", relation.problem);
            relation.notObserved = true;
        }
        return relation;
    }
    if (choices.size() > 1) {
        relation.verified = chooseByContent(choices, joining, sideA.bundle, sideB.bundle);
    }
    auto& best = choices.front();
    if (joining.hasLooseRows(best) && !sameDigests(joining.lane(best, group.weights, 0))) {
        const auto found = matchLooseRows(best, joining, sideA.bundle, sideB.bundle);
        relation.verified = relation.verified || found == LooseRows::Matched;
        if (found == LooseRows::Unknown) {
            relation.problem = "its rows follow from the batch in a way that was not recorded, and can be matched only if all of it is";
            relation.notObserved = true;
            return relation;
        }
    }
    LossWeights weights = group.weights;
    if (isActivation(key.kind) && !isLoss(key) && !best.a.declared() && !best.b.declared() && elementCount(best.a.shape) == 1
        && isOneNumber(a.grid) && isOneNumber(b.grid)) {
        const auto valuesA = numbers(a.grid), valuesB = numbers(b.grid);
        if (valuesA && valuesB) {
            weights = lossWeights(*valuesA, *valuesB, group.weights);
            weights.a.ofParts = group.weights.a.ofParts;
            weights.b.ofParts = group.weights.b.ofParts;
            reduce(a, best.a, weights.a);
            reduce(b, best.b, weights.b);
        }
    }
    const auto needsAll = [&](const Candidate& c) {
        return c.joins(Join::Concat) || c.joins(Join::Sum) || isActivation(key.kind) || isLocalGradient(key);
    };
    relation.needsAllOfA = needsAll(best.a);
    relation.needsAllOfB = needsAll(best.b);
    relation.guess = best.a.guessed() || best.b.guessed();

    const bool ragged = a.positions > 0 && b.positions > 0;
    const bool uneven = group.rows.positions.length > 0 && isActivation(key.kind) && !ragged && (isUneven(a) || isUneven(b));
    const bool whole = !ragged || (hasRows(a, best.a, {}) && hasRows(b, best.b, {}) && best.a.shape[0] == group.rows.rowsA);
    if (uneven || !whole) {
        relation.problem = "the batches are padded to other lengths, and which row of this tensor is where is not known";
        relation.notObserved = true;
        return relation;
    }
    std::set<DigestPair> seen;
    for (std::size_t number = 0; number < joining.laneCount(best); ++number) {
        Lane lane = joining.lane(best, weights, number);
        const auto digestsA = digests(lane.a), digestsB = digests(lane.b);
        const bool isOfSamples = key.kind == bundle::Kind::Batch && !best.b.shape.empty() && best.b.shape[0] == group.rows.rowsB;
        if (digestsA && digestsB && digestsA->size() == 1 && digestsA == digestsB && !isOfSamples) {
            lane.b.order = lane.b.secondOrder = {}; // equal as it stands
            lane.b.rowNumbers = false;
            lane.b.samples = 0;
        }
        if (digestsA && digestsB && !seen.emplace(*digestsA, *digestsB).second) {
            continue;
        }
        if (ragged) {
            lane.a.padLeft = lane.b.padLeft = group.rows.positions.padLeft;
            lane.kept = group.rows.positions.kept;
        }
        if (lane.b.parts.front().size() == 1) {
            lane.rank = lane.b.parts.front().front().rank->rank;
        }
        relation.lanes.push_back(std::move(lane));
    }
    return relation;
}

} // namespace forkpoint::align
