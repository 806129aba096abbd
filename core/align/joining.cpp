// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/joining.h"

#include "core/align/row_matching.h"
#include "core/align/samples.h"
#include "core/tensor/composed_sources.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace forkpoint::align {

namespace {

constexpr std::size_t kProbes = 64;     ///< elements read to tell two ways apart
constexpr std::size_t kMostLanes = 8;   ///< that are looked at to tell
constexpr std::size_t kMostTrials = 32; ///< ways that are tried
constexpr double kFits = 1e-3;          ///< apart by no more, relative to their size, the natural way is not doubted
constexpr double kBetter = 10;          ///< so many times closer is what replaces it,
constexpr double kAlike = 0.1;          ///< ... and no further apart than this
constexpr std::int64_t kLongestOrder = 1 << 24; ///< entries that an order may have; what claims to be longer stays as it is

/// Some elements of a tensor, spread over all of it: an odd walk, so that no dim is seen at one place only.
std::vector<std::int64_t> spread(std::size_t count)
{
    std::vector<std::int64_t> indices;
    const std::size_t n = std::min(kProbes, count), whole = n == 0 ? 0 : count / n, rest = n == 0 ? 0 : count % n;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t begin = i * whole + i * rest / n, end = (i + 1) * whole + (i + 1) * rest / n;
        indices.push_back(static_cast<std::int64_t>(begin + i * 7919 % (end - begin)));
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

/// How far the sides of a lane are apart, relative to their size; nullopt if that cannot be told. Elements that are not finite are alike if they are
/// the same, else wholly apart.
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
    double apart = 0, size = 0, unlike = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isfinite(x[i]) && std::isfinite(y[i])) {
            apart += std::abs(x[i] - y[i]);
            size += std::max(std::abs(x[i]), std::abs(y[i]));
        } else {
            unlike += x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ? 0 : 1;
        }
    }
    return std::max(size > 0 ? apart / size : 0.0, unlike / static_cast<double>(x.size()));
}

/// Adds up parts that nobody declared to be partial.
bool guessesSum(const Candidate& candidate)
{
    return candidate.micros.join == Join::Sum
        || std::any_of(candidate.ways.begin(), candidate.ways.end(), [](const Way& w) { return w.join == Join::Sum && !w.declared; });
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

bool sharesRows(const PartAxis& axis) { return axis.sameRows || axis.pieces; }

/// Some of the side's samples are on one rank or in one micro-step, and some in others.
bool dealsRows(const SideParts& parts)
{
    return parts.grid.size() > 1 || !std::all_of(parts.axes.begin(), parts.axes.end(), sharesRows);
}

/// Along the axis, ranks hold other positions of the same samples. `parts`: as RowRelation::positionParts.
bool holdsOtherPositions(const SideParts& side, std::size_t axis, const std::vector<std::size_t>& parts)
{
    if (!side.axes[axis].sameRows || side.axes[axis].pieces) {
        return false;
    }
    std::size_t inner = 1;
    for (std::size_t k = axis + 1; k < side.axes.size(); ++k) {
        inner *= side.axes[k].size;
    }
    const auto& row = side.grid.front();
    const auto partOf = [&](std::size_t column) { return row[column].rankIndex < parts.size() ? parts[row[column].rankIndex] : 0; };
    for (std::size_t c = 0; c < row.size(); ++c) {
        if (partOf(c) != partOf(c - (c / inner % side.axes[axis].size) * inner)) {
            return true;
        }
    }
    return false;
}

/// Samples of several ranks or micro-steps follow each other along the dim, each whole.
bool joinsRowsAlong(const SideParts& side, const Candidate& candidate, std::int64_t dim)
{
    const auto isSuch = [dim](const Way& way) { return way.join == Join::Concat && way.dim == dim && way.blocks == 1; };
    for (std::size_t k = 0; k < side.axes.size(); ++k) {
        if (!sharesRows(side.axes[k]) && isSuch(candidate.ways[k])) {
            return true;
        }
    }
    return isSuch(candidate.micros);
}

bool fits(const Shape& shape, const RowPlace& place, std::int64_t rows)
{
    const auto d = static_cast<std::size_t>(place.dim);
    if (rows <= 0 || d >= shape.size() || shape[d] <= 0 || shape[d] % rows != 0) {
        return false;
    }
    return place.inner ? shape[d] > rows && shape[d] <= kLongestOrder : d == 0 || shape[d] == rows;
}

/// `order` at every place of a sequence of `blocks`, each as long as it.
std::vector<std::int64_t> repeated(const std::vector<std::int64_t>& order, std::int64_t blocks)
{
    std::vector<std::int64_t> out;
    out.reserve(order.size() * static_cast<std::size_t>(blocks));
    for (std::int64_t first = 0; first < blocks * std::ssize(order); first += std::ssize(order)) {
        for (const auto i : order) {
            out.push_back(first + i);
        }
    }
    return out;
}

} // namespace

bool hasRows(const SideParts& parts, const Candidate& candidate, const RowPlace& place)
{
    const auto isAlong = [&](const Way& way) { return way.join == Join::Concat && way.dim == place.dim; };
    for (std::size_t k = 0; k < parts.axes.size(); ++k) {
        const auto& way = candidate.ways[k];
        if (!sharesRows(parts.axes[k])) {
            if (!isAlong(way) || (way.blocks > 1) != place.inner) {
                return false; // a sum, or what every rank of a split batch holds in full, has no samples
            }
            continue;
        }
        const bool within = way.blocks > 1 || (parts.rows == 1 && !parts.axes[k].pieces), around = way.blocks == 1; // samples; of positions
        if (isAlong(way) && (place.dim != 0 || !(place.inner ? around : within))) {
            return false; // samples are cut
        }
    }
    return parts.grid.size() == 1 || (isAlong(candidate.micros) && (candidate.micros.blocks > 1) == place.inner);
}

bool hasGatheredRows(const SideParts& parts, const Candidate& candidate, std::int64_t dim)
{
    const auto isAlong = [dim](const Way& way) { return way.join == Join::Concat && way.dim == dim; };
    return std::none_of(candidate.ways.begin(), candidate.ways.end(), isAlong)
        && (parts.grid.size() == 1 || (isAlong(candidate.micros) && candidate.micros.blocks == 1));
}

std::vector<Choice> Joining::choices(const std::vector<Candidate>& ofA, const std::vector<Candidate>& ofB) const
{
    struct Fit {
        int cost;
        const Candidate *a, *b;
    };
    std::vector<Fit> all;
    for (const auto& x : ofA) {
        for (const auto& y : ofB) {
            if (x.shape == y.shape) {
                all.push_back({ x.cost + y.cost, &x, &y });
            }
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const Fit& x, const Fit& y) { return x.cost < y.cost; });
    const bool bothSplit = group.rows.splitA && group.rows.splitB; // parts of equal shape, but maybe of other positions
    const bool onlyCheapest = !hasDoubtfulRows(key, a) && !hasDoubtfulRows(key, b) && !bothSplit;
    std::vector<Choice> out;
    for (const auto& fit : all) {
        if (out.size() >= kMostTrials || (onlyCheapest && fit.cost > all.front().cost)) {
            break;
        }
        addPlaces(out, { .a = *fit.a, .b = *fit.b, .cost = fit.cost });
    }
    std::stable_sort(out.begin(), out.end(), [](const Choice& x, const Choice& y) { return x.cost < y.cost; });
    return out;
}

void Joining::addPlaces(std::vector<Choice>& to, Choice choice) const
{
    const auto& shape = choice.b.shape;
    const std::int64_t rows = group.rows.rowsB;
    bool any = false, sure = dealsRows(a) || dealsRows(b);
    const bool ordered = !group.rows.order.empty() && isActivation(key.kind);
    if (ordered) {
        for (const RowPlace place : { RowPlace { 0, false }, RowPlace { 1, false }, RowPlace { 0, true } }) {
            if (fits(shape, place, rows) && hasRows(a, choice.a, place) && hasRows(b, choice.b, place)) {
                to.push_back(choice);
                to.back().rows = place;
                to.back().cost += place.inner && !sure ? 1 : 0;
                if (place == RowPlace {} && mayNumberRows(choice)) {
                    to.push_back(to.back());
                    to.back().rowNumbers = true;
                    ++to.back().cost;
                }
                any = true;
                sure = sure || (key.kind == bundle::Kind::Batch && place.dim == 0 && shape[0] == rows);
            }
        }
    }
    if (ordered && group.rows.positionOrder.empty()) {
        addGathered(to, choice, any);
    }
    if (!any || !sure) { // the tensor may have no samples
        choice.cost += any ? 1 : 0;
        to.push_back(std::move(choice));
    }
}

/// Targets of a loss that tells each sample from all others are numbers of samples, counted over all ranks.
bool Joining::mayNumberRows(const Choice& choice) const
{
    const auto isOfNumbers = [](const SideParts& parts) {
        const auto dtype = parts.grid[0][0].record->dtype;
        return parts.grid.size() == 1 && (dtype == DType::Int64 || dtype == DType::Int32);
    };
    return key.kind != bundle::Kind::Batch && choice.b.shape[0] == group.rows.rowsB && isOfNumbers(a) && isOfNumbers(b);
}

/// Where one side has as many entries as all ranks have samples, they may be these. `dealt`: the samples have a place already.
void Joining::addGathered(std::vector<Choice>& to, const Choice& choice, bool dealt) const
{
    const auto& shape = choice.b.shape;
    std::vector<std::int64_t> dims;
    for (const std::int64_t dim : { 0, 1 }) {
        const RowPlace place { dim, false };
        if (!fits(shape, place, group.rows.rowsB) || shape[static_cast<std::size_t>(dim)] != group.rows.rowsB) {
            continue;
        }
        const auto hasAll = [&](const SideParts& parts, const Candidate& candidate) {
            return hasRows(parts, candidate, place) || hasGatheredRows(parts, candidate, dim);
        };
        if (hasAll(a, choice.a) && hasAll(b, choice.b)) {
            dims.push_back(dim);
            if (!dealt) {
                to.push_back(choice);
                to.back().rows = place;
            }
        }
    }
    if (dims.size() == 2) {
        to.push_back(choice);
        to.back().rows = RowPlace { 0, false };
        to.back().rowsToo = 1;
        to.back().cost += dealt ? 1 : 0;
    }
}

std::size_t Joining::laneCount(const Choice& choice) const { return std::max(align::laneCount(a, choice.a), align::laneCount(b, choice.b)); }

Lane Joining::lane(const Choice& choice, const LossWeights& weights, std::size_t number) const
{
    const bool weighted = key.kind == bundle::Kind::GradOutput || isLocalGradient(key) || isLoss(key) || guessesSum(choice.a) || guessesSum(choice.b);
    Lane out;
    out.a = assemblyOf(a, choice.a, weightFor(key, weights.a, a, choice.a, weighted), std::min(number, align::laneCount(a, choice.a) - 1));
    out.b = assemblyOf(b, choice.b, weightFor(key, weights.b, b, choice.b, weighted), std::min(number, align::laneCount(b, choice.b) - 1));
    if (choice.rows) {
        orderRows(out.b, choice);
    }
    out.b.rowNumbers = choice.rowNumbers;
    if (!choice.looseRows.empty()) {
        out.b.order = choice.looseRows;
        out.b.samples = std::ssize(*choice.looseRows);
    }
    if (choice.rowsToo) {
        out.b.secondOrder = group.rows.order;
        out.b.secondDim = static_cast<std::uint8_t>(*choice.rowsToo);
    } else if (!group.rows.positionOrder.empty() && isActivation(key.kind)) {
        orderPositions(out.b, choice);
    }
    return out;
}

void Joining::orderRows(Assembly& of, const Choice& choice) const
{
    const auto length = choice.b.shape[static_cast<std::size_t>(choice.rows->dim)];
    of.orderDim = static_cast<std::uint8_t>(choice.rows->dim);
    if (choice.rows->inner) {
        of.order = repeated(*group.rows.order, length / group.rows.rowsB);
        of.samples = length;
    } else {
        of.order = group.rows.order;
        of.samples = group.rows.rowsB;
    }
}

/// Where the ranks that split positions are joined along a dim, that dim has positions: of all samples at once, or of one sample after the other.
void Joining::orderPositions(Assembly& of, const Choice& choice) const
{
    const auto& split = group.rows.splitB ? b : a;
    const auto& joined = group.rows.splitB ? choice.b : choice.a;
    const auto& order = group.rows.positionOrder;
    for (std::size_t k = 0; k < split.axes.size(); ++k) {
        const auto& way = joined.ways[k];
        if (way.join != Join::Concat || !holdsOtherPositions(split, k, group.rows.positionParts)) {
            continue;
        }
        const auto length = joined.shape[static_cast<std::size_t>(way.dim)], positions = std::ssize(*order);
        if (length > 0 && length % positions == 0 && length <= kLongestOrder) {
            const bool rowsOutside = way.blocks > 1 || (length > positions && joinsRowsAlong(split, joined, way.dim));
            of.secondOrder = rowsOutside ? bundle::SharedValue<std::vector<std::int64_t>>(repeated(*order, length / positions)) : order;
            of.secondDim = static_cast<std::uint8_t>(way.dim);
        }
        return;
    }
}

bool Joining::hasLooseRows(const Choice& choice) const
{
    // As many as a multiple of the samples by chance: not of the positions, and features are all that a row has.
    const bool byChance = choice.rows == RowPlace {} && choice.a.shape.size() == 2 && choice.a.shape[0] > group.rows.rowsA && !a.flattened && !b.flattened;
    const bool known = (choice.rows && !byChance) || a.given || b.given || choice.a.declared() || choice.b.declared();
    const bool inAnotherOrder = !group.rows.order.empty() && group.rows.positionOrder.empty();
    const auto deals = [](const SideParts& parts, const Candidate& candidate) {
        bool along = parts.grid.size() > 1 && candidate.micros.join == Join::Concat && candidate.micros.dim == 0;
        for (std::size_t k = 0; k < parts.axes.size(); ++k) {
            along = along || (candidate.ways[k].join == Join::Concat && candidate.ways[k].dim == 0 && !sharesRows(parts.axes[k]));
        }
        return along;
    };
    return !known && inAnotherOrder && isActivation(key.kind) && key.kind != bundle::Kind::Batch && elementCount(choice.a.shape).value_or(0) > 0
        && !choice.a.shape.empty() && (deals(a, choice.a) || deals(b, choice.b));
}

bool chooseByContent(std::vector<Choice>& choices, const Joining& pair, const bundle::Bundle& bundleA, const bundle::Bundle& bundleB)
{
    struct Best {
        double apart = std::numeric_limits<double>::infinity();
        std::size_t index = 0;
    };
    const auto closest = [&](std::size_t begin, std::size_t end) {
        Best best;
        for (std::size_t i = begin; i < end; ++i) {
            std::optional<double> apart = 0.0; // of the replicas the worst
            for (std::size_t number = 0; number < std::min(pair.laneCount(choices[i]), kMostLanes) && apart; ++number) {
                const auto own = distance(bundleA, bundleB, pair.lane(choices[i], pair.group.weights, number));
                apart = own ? std::optional(std::max(*apart, *own)) : std::nullopt;
            }
            if (apart && *apart < best.apart) {
                best = { *apart, i };
            }
        }
        return best;
    };
    std::size_t natural = 0; // so many are the most natural
    while (natural < choices.size() && choices[natural].cost == choices.front().cost) {
        ++natural;
    }
    auto best = closest(0, natural);
    bool decided = natural > 1 && std::isfinite(best.apart);
    if (std::isfinite(best.apart) && best.apart > kFits) {
        if (const auto other = closest(natural, choices.size()); other.apart * kBetter < best.apart && other.apart < kAlike) {
            best = other;
            decided = true;
        }
    }
    std::swap(choices.front(), choices[best.index]);
    return decided;
}

LooseRows matchLooseRows(Choice& choice, const Joining& pair, const bundle::Bundle& bundleA, const bundle::Bundle& bundleB)
{
    const auto apart = [&](const Choice& of) { return distance(bundleA, bundleB, pair.lane(of, pair.group.weights, 0)); };
    const auto before = apart(choice);
    if (before && *before <= kFits) {
        return LooseRows::InOrder;
    }
    Choice matched = choice;
    matched.rows = {};
    const auto lane = pair.lane(matched, pair.group.weights, 0);
    const auto notMatched = choice.rows ? LooseRows::InOrder : LooseRows::Unknown; // where the samples' order was tried, it is what is compared
    const auto& shape = choice.a.shape;
    if (!before || shape.size() < 2 || isSampled(lane.a) || isSampled(lane.b)) { // single numbers would find partners whatever they are
        return notMatched;
    }
    const auto matrix = [&](const bundle::Bundle& bundle, const Assembly& assembly) { // [rows, all that a row has]
        auto whole = open(bundle, assembly);
        return whole ? reshapedSource(std::move(*whole), { shape[0], elementCount(shape).value_or(0) / shape[0] }) : whole;
    };
    const auto x = matrix(bundleA, lane.a), y = matrix(bundleB, lane.b);
    auto order = x && y ? nearestRows(*x, *y) : std::nullopt;
    if (!order) {
        return notMatched;
    }
    matched.looseRows = std::move(*order);
    const auto after = apart(matched);
    if (!after || *after * kBetter >= *before || *after >= kAlike) {
        return LooseRows::InOrder;
    }
    choice = std::move(matched);
    return LooseRows::Matched;
}

} // namespace forkpoint::align
