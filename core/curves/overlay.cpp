// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/curves/overlay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace forkpoint::curves {

namespace {

using align::LossGrid;
using align::Reduction;
using align::Side;
using align::SideWeights;

constexpr double kOnsetFloors = 100; ///< as for divergent

bool isLoss(const std::string& name)
{
    return name == "loss";
}

/// Ranks that were compared one by one count equally.
SideWeights combined(SideWeights weights, std::size_t ranks)
{
    if (weights.ranks == Reduction::One && ranks > 1) {
        weights.ranks = Reduction::Mean;
    }
    return weights;
}

struct Logged {
    std::int32_t step = 0, micro = 0;
    std::size_t rank = 0;
    double value = 0;
};

/// The loss of every step of a side. All steps of a run are weighted like its first compared one.
std::vector<Point> lossPoints(const Side& side, SideWeights weights, std::int32_t shift)
{
    std::vector<Logged> logged;
    for (std::size_t rank = 0; rank < side.ranks.size(); ++rank) {
        for (const auto& scalar : side.ranks[rank]->scalars) {
            if (isLoss(scalar.name)) {
                logged.push_back({ scalar.step, std::max(scalar.micro, 0), rank, scalar.value });
            }
        }
    }
    // Stable: of a value that was logged twice the later one counts.
    std::stable_sort(logged.begin(), logged.end(),
        [](const Logged& x, const Logged& y) { return std::tie(x.step, x.micro) < std::tie(y.step, y.micro); });
    std::vector<Point> points;
    for (auto first = logged.begin(); first != logged.end();) {
        const auto last = std::find_if(first, logged.end(), [&](const Logged& l) { return l.step != first->step; });
        LossGrid grid;
        for (auto it = first; it != last; ++it) {
            if (it == first || it->micro != (it - 1)->micro) {
                grid.emplace_back(side.ranks.size(), std::numeric_limits<double>::quiet_NaN());
            }
            grid.back()[it->rank] = it->value;
        }
        weights.weight = (weights.ranks == Reduction::Mean ? 1.0 / static_cast<double>(side.ranks.size()) : 1.0)
            * (weights.micros == Reduction::Mean ? 1.0 / static_cast<double>(grid.size()) : 1.0);
        points.push_back({ first->step - shift, totalLoss(grid, weights) });
        first = last;
    }
    return points;
}

/// Of a step that was logged twice (once per micro-step, or after a restart) the first value counts.
std::map<std::string, std::vector<Point>> otherScalars(const Side& side, std::int32_t shift)
{
    std::map<std::string, std::vector<Point>> out;
    if (side.ranks.empty()) {
        return out;
    }
    for (const auto& scalar : side.ranks.front()->scalars) {
        if (!isLoss(scalar.name)) {
            out[scalar.name].push_back({ scalar.step - shift, scalar.value });
        }
    }
    for (auto& [name, points] : out) {
        std::stable_sort(points.begin(), points.end(), [](const Point& x, const Point& y) { return x.step < y.step; });
        points.erase(
            std::unique(points.begin(), points.end(), [](const Point& x, const Point& y) { return x.step == y.step; }), points.end());
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
        if (std::isfinite(point.value) != std::isfinite(other->value)) {
            return point.step;
        }
        const double scale = std::max(std::abs(point.value), std::abs(other->value));
        if (std::isfinite(scale) && std::abs(other->value - point.value) > kOnsetFloors * floor * scale) {
            return point.step;
        }
    }
    return std::nullopt;
}

bool isWhole(const Side& side)
{
    return static_cast<int>(side.ranks.size()) >= side.bundle->worldSize();
}

} // namespace

std::vector<Overlay> overlay(const align::Alignment& alignment, double lossFloor)
{
    std::vector<Overlay> out;
    const auto* plan
        = alignment.steps.empty() || alignment.steps.front().groups.empty() ? nullptr : &alignment.steps.front().groups.front();
    Overlay loss;
    loss.name = "loss";
    loss.weightsA = combined(plan ? plan->weights.a : SideWeights(), alignment.a.ranks.size());
    loss.weightsB = combined(plan ? plan->weights.b : SideWeights(), alignment.b.ranks.size());
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
