// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/curves/overlay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace forkpoint::curves {

namespace {

using align::LossGrid;
using align::Reduction;
using align::Side;
using align::SideWeights;

constexpr double kOnsetFloors = 100; ///< as for divergent

bool isLoss(const std::string& name) { return name == "loss"; }

/// The loss of every step of a side. All steps of a run are weighted like its first compared one; ranks that were compared one by one count
/// equally.
std::vector<Point> lossPoints(const Side& side, const SideWeights& weights, std::int32_t shift)
{
    std::map<std::int32_t, std::set<std::int32_t>> micros;
    for (const auto* rank : side.ranks) {
        for (const auto& scalar : rank->scalars) {
            if (isLoss(scalar.name)) {
                micros[scalar.step].insert(std::max(scalar.micro, 0));
            }
        }
    }
    std::vector<std::size_t> ranks(side.ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0u);
    std::vector<Point> points;
    for (const auto& [step, set] : micros) {
        const std::vector<std::int32_t> list(set.begin(), set.end());
        SideWeights own = weights;
        if (own.ranks == Reduction::One && ranks.size() > 1) {
            own.ranks = Reduction::Mean;
        }
        own.weight = (own.ranks == Reduction::Mean ? 1.0 / static_cast<double>(ranks.size()) : 1.0)
            * (own.micros == Reduction::Mean ? 1.0 / static_cast<double>(list.size()) : 1.0);
        points.push_back({ step - shift, totalLoss(lossGrid(side, step, ranks, list), own) });
    }
    return points;
}

std::map<std::string, std::vector<Point>> otherScalars(const Side& side, std::int32_t shift)
{
    std::map<std::string, std::vector<Point>> out;
    if (side.ranks.empty()) {
        return out;
    }
    for (const auto& scalar : side.ranks.front()->scalars) {
        if (!isLoss(scalar.name)) {
            auto& points = out[scalar.name];
            if (points.empty() || points.back().step != scalar.step - shift) {
                points.push_back({ scalar.step - shift, scalar.value });
            }
        }
    }
    return out;
}

std::optional<std::int32_t> onset(const Overlay& curve, double floor)
{
    std::map<std::int32_t, double> b;
    for (const auto& point : curve.b) {
        b.emplace(point.step, point.value);
    }
    for (const auto& point : curve.a) {
        const auto other = b.find(point.step);
        if (other == b.end()) {
            continue;
        }
        if (std::isfinite(point.value) != std::isfinite(other->second)) {
            return point.step;
        }
        const double scale = std::max(std::abs(point.value), std::abs(other->second));
        if (std::isfinite(scale) && std::abs(other->second - point.value) > kOnsetFloors * floor * scale) {
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
    loss.a = lossPoints(alignment.a, plan ? plan->weights.a : SideWeights(), 0);
    loss.b = lossPoints(alignment.b, plan ? plan->weights.b : SideWeights(), alignment.stepOffset);
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
        out.push_back({ name, std::move(a[name]), std::move(b[name]), std::nullopt, false });
    }
    return out;
}

} // namespace forkpoint::curves
