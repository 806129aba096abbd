// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/curves/overlay.h"

#include "core/curves/not_finite.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace forkpoint::curves {

namespace {

using align::LossGrid;
using align::Reduction;
using align::Side;
using align::SideWeights;

constexpr double kOnsetFloors = 100; ///< as for divergent

bool isLoss(const std::string& name) { return name == "loss"; }

/// Ranks that have a loss: earlier stages of a pipeline have none.
std::size_t ranksWithLoss(const Side& side)
{
    return static_cast<std::size_t>(std::count_if(side.ranks.begin(), side.ranks.end(), [](const auto* rank) {
        return std::any_of(rank->scalars.begin(), rank->scalars.end(), [](const auto& scalar) { return isLoss(scalar.name); });
    }));
}

/// Ranks that were compared one by one count equally.
SideWeights combined(SideWeights weights, std::size_t ranks)
{
    if (weights.ranks == Reduction::One && ranks > 1) {
        weights.ranks = Reduction::Mean;
    }
    return weights;
}

/// The loss of every step of a side. All steps of a run are weighted like its first compared one. A step that some rank did not finish has no loss: what is missing is not NaN. Ranks without any loss (earlier stages of a pipeline)
/// do not count.
std::vector<Point> lossPoints(const Side& side, const SideWeights& weights, std::int32_t shift)
{
    std::map<std::int32_t, std::map<std::pair<std::int32_t, std::size_t>, double>> steps; // step -> (micro, rank) -> loss
    std::set<std::size_t> ranks;
    for (std::size_t r = 0; r < side.ranks.size(); ++r) {
        for (const auto& scalar : side.ranks[r]->scalars) {
            if (isLoss(scalar.name)) {
                steps[scalar.step][{ std::max(scalar.micro, 0), r }] = scalar.value;
                ranks.insert(r);
            }
        }
    }
    std::vector<Point> points;
    for (const auto& [step, losses] : steps) {
        LossGrid grid;
        std::int32_t micro = -1;
        for (const auto& [cell, loss] : losses) { // micro-step by micro-step
            if (cell.first != micro) {
                grid.emplace_back();
                micro = cell.first;
            }
            grid.back().push_back(loss);
        }
        if (losses.size() != ranks.size() * grid.size()) {
            continue;
        }
        SideWeights own = weights;
        own.weight = (own.ranks == Reduction::Mean ? 1.0 / static_cast<double>(ranks.size()) : 1.0)
            * (own.micros == Reduction::Mean ? 1.0 / static_cast<double>(grid.size()) : 1.0);
        points.push_back({ step - shift, totalLoss(grid, own) });
    }
    return points;
}

std::map<std::string, std::vector<Point>> otherScalars(const Side& side, std::int32_t shift)
{
    std::map<std::string, std::map<std::int32_t, double>> series; // of several values of a step the first
    if (!side.ranks.empty()) {
        for (const auto& scalar : side.ranks.front()->scalars) {
            if (!isLoss(scalar.name)) {
                series[scalar.name].emplace(scalar.step - shift, scalar.value);
            }
        }
    }
    std::map<std::string, std::vector<Point>> out;
    for (const auto& [name, values] : series) {
        for (const auto& [step, value] : values) {
            out[name].push_back({ step, value });
        }
    }
    return out;
}

std::optional<std::int32_t> onset(const Overlay& curve, double floor)
{
    auto other = curve.b.begin();
    for (const auto& point : curve.a) {
        while (other != curve.b.end() && other->step < point.step) {
            ++other;
        }
        if (other == curve.b.end() || other->step != point.step) {
            continue;
        }
        if (differInKind(point.value, other->value)) {
            return point.step;
        }
        const double scale = std::max(std::abs(point.value), std::abs(other->value));
        if (std::isfinite(scale) && std::abs(other->value - point.value) > kOnsetFloors * floor * scale) {
            return point.step;
        }
    }
    return std::nullopt;
}

bool isWhole(const Side& side) { return static_cast<int>(side.ranks.size()) >= side.bundle->worldSize(); }

} // namespace

std::vector<Overlay> overlay(const align::Alignment& alignment, double lossFloor)
{
    std::vector<Overlay> out;
    const auto* plan = alignment.steps.empty() || alignment.steps.front().groups.empty() ? nullptr : &alignment.steps.front().groups.front();
    Overlay loss;
    loss.name = "loss";
    loss.weightsA = combined(plan ? plan->weights.a : SideWeights(), ranksWithLoss(alignment.a));
    loss.weightsB = combined(plan ? plan->weights.b : SideWeights(), ranksWithLoss(alignment.b));
    loss.a = lossPoints(alignment.a, loss.weightsA, 0);
    loss.b = lossPoints(alignment.b, loss.weightsB, alignment.stepOffset);
    loss.wholeRun = isWhole(alignment.a) && isWhole(alignment.b);
    if (loss.wholeRun) {
        loss.onset = onset(loss, lossFloor);
    }
    if (!loss.a.empty() || !loss.b.empty()) {
        out.push_back(std::move(loss));
    }
    auto a = otherScalars(alignment.a, 0), b = otherScalars(alignment.b, alignment.stepOffset);
    std::set<std::string> names;
    for (const auto& [name, points] : a) {
        names.insert(name);
    }
    for (const auto& [name, points] : b) {
        names.insert(name);
    }
    for (const auto& name : names) {
        out.push_back({ name, std::move(a[name]), std::move(b[name]), std::nullopt, false, {}, {} });
    }
    return out;
}

} // namespace forkpoint::curves
