// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/relation.h"

#include "core/align/samples.h"
#include "core/tensor/composed_sources.h"

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
constexpr std::size_t kMostLanes = 8;   ///< that are looked at to tell
constexpr std::size_t kMostTrials = 16; ///< ways that are tried
constexpr double kFits = 1e-3;          ///< apart by no more, relative to their size, the natural way is not doubted
constexpr double kBetter = 10;          ///< so many times closer is what replaces it

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

/// Some elements of a tensor, spread over it: an odd walk, so that no dim is seen at one place only.
std::vector<std::int64_t> spread(std::size_t count)
{
    std::vector<std::int64_t> indices;
    const std::size_t n = std::min(kProbes, count);
    for (std::size_t i = 0; i < n; ++i) {
        indices.push_back(static_cast<std::int64_t>((i * (count / n) + i * 7919 % std::max<std::size_t>(1, count / n)) % count));
    }
    return indices;
}

template <class T> void append(std::vector<double>& out, std::span<const std::byte> bytes)
{
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
        T value {};
        std::memcpy(&value, bytes.data() + at, sizeof(T));
        out.push_back(static_cast<double>(value));
    }
}

/// The elements at `indices` of an assembled tensor; empty if they cannot be read, or are of a type in which no positions are counted.
std::vector<double> probes(const bundle::Bundle& bundle, const Assembly& assembly, const std::vector<std::int64_t>& indices)
{
    auto few = openAt(bundle, assembly, indices);
    if (few && isFloating((*few)->dtype())) {
        few = weightedSumSource({ std::move(*few) }, { 1 }); // float32 or float64
    }
    ReadBuffer buffer;
    const auto bytes = few ? (*few)->read(Box::whole((*few)->shape()), buffer) : tl::unexpected(few.error());
    std::vector<double> out;
    if (bytes) {
        switch ((*few)->dtype()) {
        case DType::Float64:
            append<double>(out, *bytes);
            break;
        case DType::Float32:
            append<float>(out, *bytes);
            break;
        case DType::Int64:
            append<std::int64_t>(out, *bytes);
            break;
        case DType::Int32:
            append<std::int32_t>(out, *bytes);
            break;
        default:
            break;
        }
    }
    return out;
}

/// How far the sides of a lane are apart, relative to their size; nullopt if that cannot be told.
std::optional<double> distance(const bundle::Bundle& bundleA, const bundle::Bundle& bundleB, const Lane& lane)
{
    std::vector<std::int64_t> indices;
    if (isSampled(lane.a) || isSampled(lane.b)) {
        const auto common = commonSamples({ &lane.a, &lane.b });
        for (const auto i : spread(common.size())) {
            indices.push_back(common[static_cast<std::size_t>(i)]);
        }
    } else {
        indices = spread(static_cast<std::size_t>(elementCount(lane.a.shape).value_or(0)));
    }
    const auto x = probes(bundleA, lane.a, indices), y = probes(bundleB, lane.b, indices);
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

int costOf(const Choice& choice) { return choice.first.cost + choice.second.cost; }

/// The combinations that give both sides one shape, the cheapest first, or only these.
std::vector<Choice> fitting(const std::vector<Candidate>& ofA, const std::vector<Candidate>& ofB, bool onlyCheapest)
{
    std::vector<Choice> all;
    for (const auto& a : ofA) {
        for (const auto& b : ofB) {
            if (a.shape == b.shape) {
                all.emplace_back(a, b);
            }
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const Choice& x, const Choice& y) { return costOf(x) < costOf(y); });
    if (onlyCheapest && !all.empty()) {
        std::erase_if(all, [least = costOf(all.front())](const Choice& c) { return costOf(c) > least; });
    }
    if (all.size() > kMostTrials) {
        all.resize(kMostTrials);
    }
    return all;
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
        const bool alongRows = way.join == Join::Concat && way.dim == 0 && way.blocks == 1; // blocks are of the positions within rows
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

/// How a choice becomes lanes.
struct JoinPlan {
    double weightA = 1, weightB = 1;
    SharedOrder rows;            ///< of B
    SharedOrder positions;       ///< of B
    std::uint8_t positionDim = 0;
};

/// A pair whose sides' parts are known.
struct Joining {
    const PairKey& key;
    const CellGroup& group;
    const SideParts& a;
    const SideParts& b;

    JoinPlan planOf(const Choice& choice, const LossWeights& weights) const
    {
        const auto& [ofA, ofB] = choice;
        const auto& rows = group.rows;
        JoinPlan plan;
        const bool weighted = key.kind == bundle::Kind::GradOutput || isLocalGradient(key) || isLoss(key) || guessesSum(ofA) || guessesSum(ofB);
        plan.weightA = weightFor(key, weights.a, a, ofA, weighted);
        plan.weightB = weightFor(key, weights.b, b, ofB, weighted);
        if (!rows.order.empty() && isActivation(key.kind) && !ofB.shape.empty() && rows.rowsB > 0 && ofB.shape[0] > 0
            && ofB.shape[0] % rows.rowsB == 0 && hasRows(a, ofA) && hasRows(b, ofB)) {
            plan.rows = rows.order;
        }
        if (!rows.positionOrder.empty() && isActivation(key.kind)) {
            orderPositions(plan, rows.splitB ? b : a, rows.splitB ? ofB : ofA);
        }
        return plan;
    }

    std::size_t lanes(const Choice& choice) const { return std::max(laneCount(a, choice.first), laneCount(b, choice.second)); }

    Lane laneOf(const Choice& choice, const JoinPlan& plan, std::size_t number) const
    {
        Lane lane;
        lane.a = assemblyOf(a, choice.first, plan.weightA, std::min(number, laneCount(a, choice.first) - 1));
        lane.b = assemblyOf(b, choice.second, plan.weightB, std::min(number, laneCount(b, choice.second) - 1));
        lane.b.order = plan.rows;
        lane.b.samples = plan.rows.empty() ? 0 : group.rows.rowsB;
        lane.b.positionOrder = plan.positions;
        lane.b.positionDim = plan.positionDim;
        return lane;
    }

private:
    /// Where the ranks that split positions are joined along a dim, that dim has positions, of one row or of one row after the other.
    void orderPositions(JoinPlan& plan, const SideParts& split, const Candidate& candidate) const
    {
        const auto& order = group.rows.positionOrder;
        for (std::size_t k = 0; k < split.axes.size(); ++k) {
            const auto& way = candidate.ways[k];
            if (!split.axes[k].sameRows || split.axes[k].pieces || way.join != Join::Concat) {
                continue;
            }
            const auto length = candidate.shape[static_cast<std::size_t>(way.dim)], positions = std::ssize(*order);
            if (length == positions) {
                plan.positions = order;
            } else if (way.blocks > 1 && length % positions == 0) {
                std::vector<std::int64_t> ofRows;
                for (std::int64_t first = 0; first < length; first += positions) {
                    std::transform(order.begin(), order.end(), std::back_inserter(ofRows), [first](std::int64_t i) { return first + i; });
                }
                plan.positions = std::move(ofRows);
            }
            plan.positionDim = static_cast<std::uint8_t>(way.dim);
        }
    }
};

/// Brings the choice to the front whose sides are alike, by a few of their elements. A less natural one only if the natural one does not fit and it
/// does. False if nothing could be read.
bool chooseByContent(std::vector<Choice>& choices, const Joining& pair, const bundle::Bundle& bundleA, const bundle::Bundle& bundleB)
{
    struct Best {
        double apart = std::numeric_limits<double>::infinity();
        std::size_t index = 0;
    };
    const auto closest = [&](std::size_t begin, std::size_t end) {
        Best best;
        for (std::size_t i = begin; i < end; ++i) {
            const auto plan = pair.planOf(choices[i], pair.group.weights);
            std::optional<double> apart; // of the replicas the worst
            for (std::size_t lane = 0; lane < std::min(pair.lanes(choices[i]), kMostLanes); ++lane) {
                const auto own = distance(bundleA, bundleB, pair.laneOf(choices[i], plan, lane));
                apart = own ? std::max(apart.value_or(0), *own) : apart;
            }
            if (apart && *apart < best.apart) {
                best = { *apart, i };
            }
        }
        return best;
    };
    std::size_t natural = 0; // so many are the most natural
    while (natural < choices.size() && costOf(choices[natural]) == costOf(choices.front())) {
        ++natural;
    }
    auto best = closest(0, natural);
    const bool read = std::isfinite(best.apart);
    if (read && best.apart > kFits) {
        if (const auto other = closest(natural, choices.size()); other.apart * kBetter < best.apart) {
            best = other;
        }
    }
    std::swap(choices.front(), choices[best.index]);
    return read;
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
    const bool bothSplit = group.rows.splitA && group.rows.splitB; // parts of equal shape, but maybe of other positions
    auto choices = fitting(candidatesA, candidatesB, !mayBePositions(a) && !mayBePositions(b) && !bothSplit);
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
    const Joining joining { key, group, a, b };
    if (choices.size() > 1) {
        relation.verified = chooseByContent(choices, joining, sideA.bundle, sideB.bundle);
    }
    auto& best = choices.front();
    LossWeights weights = group.weights;
    if (isActivation(key.kind) && !isLoss(key) && !best.first.declared() && !best.second.declared() && elementCount(best.first.shape) == 1
        && isOneNumber(a.grid) && isOneNumber(b.grid)) {
        const auto valuesA = numbers(a.grid), valuesB = numbers(b.grid);
        if (valuesA && valuesB) {
            weights = lossWeights(*valuesA, *valuesB, group.weights);
            reduce(a, best.first, weights.a);
            reduce(b, best.second, weights.b);
        }
    }
    const auto needsAll = [&](const Candidate& c) {
        return c.joins(Join::Concat) || c.joins(Join::Sum) || isActivation(key.kind) || isLocalGradient(key);
    };
    relation.needsAllOfA = needsAll(best.first);
    relation.needsAllOfB = needsAll(best.second);
    relation.guess = best.first.guessed() || best.second.guessed();

    const bool ragged = a.positions > 0 && b.positions > 0;
    if (ragged && (!hasRows(a, best.first) || !hasRows(b, best.second) || best.first.shape[0] != group.rows.rowsA)) {
        relation.problem = "its rows are padded to other lengths, and which row is where is not known";
        relation.padded = true;
        return relation;
    }
    const auto plan = joining.planOf(best, weights);
    std::set<DigestPair> seen;
    for (std::size_t number = 0; number < joining.lanes(best); ++number) {
        Lane lane = joining.laneOf(best, plan, number);
        const auto digestsA = digests(lane.a), digestsB = digests(lane.b);
        if (digestsA && digestsB && digestsA->size() == 1 && digestsA == digestsB) {
            lane.b.order = {}; // equal as it stands
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
