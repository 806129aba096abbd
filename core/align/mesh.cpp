// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/mesh.h"

#include "core/align/rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <set>

namespace forkpoint::align {

namespace {

constexpr std::size_t kMaxAxes = 8;
constexpr std::size_t kMaxSize = 1u << 24;

/// The axes in order of the distance between neighbours along them, the far ones first, and without those along which nothing moves.
RankMesh ordered(RankMesh mesh)
{
    std::vector<std::size_t> kept;
    std::map<std::size_t, std::size_t> distance;
    for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
        std::map<std::vector<std::size_t>, std::pair<std::size_t, std::size_t>> lines; // other coordinates -> first and second rank on the line
        for (std::size_t rank = 0; rank < mesh.coordinates.size(); ++rank) {
            auto others = mesh.coordinates[rank];
            others[axis] = 0;
            const auto [at, added] = lines.try_emplace(std::move(others), rank, rank);
            if (!added && at->second.first == at->second.second) {
                at->second.second = rank;
            }
        }
        std::size_t far = 0;
        for (const auto& [others, ends] : lines) {
            far = std::max(far, ends.second - ends.first);
        }
        if (far > 0) {
            kept.push_back(axis);
            distance[axis] = far;
        }
    }
    std::stable_sort(kept.begin(), kept.end(), [&](std::size_t x, std::size_t y) { return distance[x] > distance[y]; });
    RankMesh out;
    out.coordinates.resize(mesh.coordinates.size());
    for (const auto axis : kept) {
        out.axes.push_back(std::move(mesh.axes[axis]));
        for (std::size_t rank = 0; rank < mesh.coordinates.size(); ++rank) {
            out.coordinates[rank].push_back(mesh.coordinates[rank][axis]);
        }
    }
    const std::set<std::vector<std::size_t>> places(out.coordinates.begin(), out.coordinates.end());
    return places.size() == out.coordinates.size() ? out : RankMesh {};
}

} // namespace

RankMesh declaredMesh(const Side& side)
{
    RankMesh mesh;
    for (const auto* rank : side.ranks) {
        const auto place = rank->info.find("coordinates");
        if (place == rank->info.end() || !place->is_object() || place->empty() || place->size() > kMaxAxes) {
            return {};
        }
        std::vector<std::string> axes;
        std::vector<std::size_t> coordinates;
        for (const auto& [axis, value] : place->items()) {
            if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMaxSize) {
                return {};
            }
            axes.push_back(axis);
            coordinates.push_back(value.get<std::size_t>());
        }
        if (mesh.axes.empty()) {
            mesh.axes = axes;
        }
        if (axes != mesh.axes) {
            return {};
        }
        mesh.coordinates.push_back(std::move(coordinates));
    }
    return ordered(std::move(mesh));
}

Result<RankMesh> givenMesh(const Side& side, const MeshShape& shape)
{
    std::size_t ranks = 1;
    for (const auto& [axis, size] : shape) {
        ranks *= size;
    }
    if (side.bundle->worldSize() < 0 || ranks != static_cast<std::size_t>(side.bundle->worldSize())) {
        return fail(ErrorCode::Usage, fmt::format("the mesh that was given has {} ranks, the run has {}", ranks, side.bundle->worldSize()),
                    side.label);
    }
    RankMesh mesh;
    for (const auto& [axis, size] : shape) {
        mesh.axes.push_back(axis);
    }
    for (const auto* rank : side.ranks) {
        std::vector<std::size_t> coordinates(shape.size());
        auto rest = static_cast<std::size_t>(std::max(rank->rank, 0));
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            coordinates[axis] = rest % shape[axis].second;
            rest /= shape[axis].second;
        }
        mesh.coordinates.push_back(std::move(coordinates));
    }
    return ordered(std::move(mesh));
}

Result<MeshShape> parseMeshShape(std::string_view text)
{
    const auto wrong = [&](std::string_view what) {
        return fail(ErrorCode::Usage, fmt::format("'{}' {}; write a mesh as dp=2,tp=4, the axis with the most distant ranks first", text, what));
    };
    MeshShape out;
    for (auto rest = text; !rest.empty();) {
        const auto comma = rest.find(',');
        const auto word = rest.substr(0, comma);
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        const auto equals = word.find('=');
        std::size_t size = 0;
        const auto digits = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
        if (equals == 0 || digits.empty() || error != std::errc() || end != digits.data() + digits.size() || size == 0 || size > kMaxSize) {
            return wrong("is no mesh");
        }
        out.emplace_back(word.substr(0, equals), size);
    }
    if (out.empty() || out.size() > kMaxAxes) {
        return wrong(out.empty() ? "is empty" : "has too many axes");
    }
    std::set<std::string> names;
    std::size_t ranks = 1;
    for (const auto& [axis, size] : out) {
        ranks *= size;
        if (!names.insert(axis).second || ranks > kMaxSize) {
            return wrong(ranks > kMaxSize ? "has too many ranks" : "names an axis twice");
        }
    }
    return out;
}

RankMesh meshOfGroups(const std::vector<std::size_t>& group)
{
    std::map<std::size_t, std::size_t> members;
    RankMesh mesh;
    mesh.axes = { "", "" };
    for (const auto number : group) {
        mesh.coordinates.push_back({ number, number == kNoGroup ? number : members[number]++ });
    }
    const bool even = std::all_of(members.begin(), members.end(), [&](const auto& m) { return m.second == members.begin()->second; });
    return even && members.size() > 1 && members.begin()->second > 1 ? mesh : RankMesh {};
}

bool sharesBatch(std::string_view axis)
{
    constexpr std::array<std::string_view, 9> kShared = { "tp", "cp", "sp", "pp", "model", "tensor", "sequence", "context", "mp" };
    return std::find(kShared.begin(), kShared.end(), axis) != kShared.end();
}

} // namespace forkpoint::align
