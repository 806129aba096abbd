// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/curves/series_overlay.h"

#include "core/curves/not_finite.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

namespace forkpoint::curves {

namespace {

std::vector<Point> pointsOf(const import::Series& series)
{
    std::vector<Point> out;
    for (const auto& [step, value] : series.values) {
        out.push_back({ step, value });
    }
    return out;
}

bool isLoss(const std::string& name) { return name.find("loss") != std::string::npos; }

void compare(const import::Series& a, const import::Series& b, double tolerance, SeriesOverlay& out)
{
    // A value written with four digits is known to half of the last one; two of them may differ by a whole one of the coarser without meaning it.
    const double rounding = (a.resolution + b.resolution) / 2 * (1 + 1e-9);
    for (const auto& [step, value] : a.values) {
        const auto other = b.values.find(step);
        if (other == b.values.end()) {
            continue;
        }
        ++out.common;
        const double scale = std::max(std::abs(value), std::abs(other->second)), difference = std::abs(other->second - value);
        bool differs = differInKind(value, other->second);
        if (std::isfinite(scale) && scale > 0) {
            if (difference / scale > out.largest) {
                out.largest = difference / scale;
                out.at = step;
            }
            differs = differs || (difference > tolerance * scale && difference > rounding);
        }
        if (differs && !out.curve.onset) {
            out.curve.onset = step;
        }
    }
}

std::string lastPart(const std::string& name) { return name.substr(name.rfind('/') + 1); }

/// Name in A -> name in B, of equal names and of those whose last part nothing else on either side has.
std::map<std::string, std::string> pairedNames(const import::SeriesFile& a, const import::SeriesFile& b)
{
    std::map<std::string, std::string> out;
    std::map<std::string, std::vector<std::string>> restA, restB; // last part -> names
    for (const auto& [name, series] : a.series) {
        if (b.series.contains(name)) {
            out.emplace(name, name);
        } else {
            restA[lastPart(name)].push_back(name);
        }
    }
    for (const auto& [name, series] : b.series) {
        if (!a.series.contains(name)) {
            restB[lastPart(name)].push_back(name);
        }
    }
    for (const auto& [part, names] : restA) {
        if (const auto other = restB.find(part); other != restB.end() && names.size() == 1 && other->second.size() == 1) {
            out.emplace(names.front(), other->second.front());
        }
    }
    return out;
}

} // namespace

std::optional<double> valueAt(const std::vector<Point>& points, std::int32_t step)
{
    const auto it = std::lower_bound(points.begin(), points.end(), step, [](const Point& p, std::int32_t s) { return p.step < s; });
    return it == points.end() || it->step != step ? std::nullopt : std::optional(it->value);
}

std::vector<SeriesOverlay> overlay(const import::SeriesFile& a, const import::SeriesFile& b, double tolerance)
{
    const auto paired = pairedNames(a, b);
    std::set<std::string> ofB; // that have a partner
    for (const auto& [left, right] : paired) {
        ofB.insert(right);
    }
    std::set<std::pair<bool, std::string>> names; // losses first
    for (const auto& [name, series] : a.series) {
        names.emplace(!isLoss(name), name);
    }
    for (const auto& [name, series] : b.series) {
        if (!ofB.contains(name)) {
            names.emplace(!isLoss(name), name);
        }
    }
    std::vector<SeriesOverlay> out;
    for (const auto& [other, name] : names) {
        SeriesOverlay entry;
        entry.curve.name = name;
        const auto partner = paired.find(name);
        const auto inA = a.series.find(name), inB = b.series.find(partner == paired.end() ? name : partner->second);
        if (inA != a.series.end()) {
            entry.curve.a = pointsOf(inA->second);
        }
        if (inB != b.series.end()) {
            entry.curve.b = pointsOf(inB->second);
            entry.nameB = inB->first == name ? std::string() : inB->first;
        }
        if (inA != a.series.end() && inB != b.series.end()) {
            compare(inA->second, inB->second, tolerance, entry);
        }
        out.push_back(std::move(entry));
    }
    return out;
}

} // namespace forkpoint::curves
