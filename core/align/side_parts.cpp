// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/side_parts.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <set>

// Axes come from, in this order: offsets in the whole that the records state (then the tiles decide, whatever the mesh); the mesh's coordinates;
// which ranks hold the same rows; else all ranks lie on one axis.
namespace forkpoint::align {

namespace {

using bundle::Kind;
using bundle::Phase;
using bundle::Placement;
using bundle::TensorRecord;

Way declaredWay(Join join, std::int64_t dim = 0)
{
    Way out;
    out.join = join;
    out.dim = dim;
    out.cost = -1;
    out.declared = true;
    return out;
}

/// Dim 1 of every part is that of its cell's batch.
bool hasPositions(const PartGrid& grid, const std::map<Cell, RowKeys>& rows)
{
    return std::all_of(grid.begin(), grid.end(), [&](const auto& row) {
        return std::all_of(row.begin(), row.end(), [&](const Part& part) {
            const auto cell = rows.find({ part.rankIndex, part.micro });
            const auto& shape = part.record->shape;
            return cell != rows.end() && shape.size() >= 2 && shape[0] == cell->second.rows && shape[1] == cell->second.positions;
        });
    });
}

/// Only columns that have the record at all (pipeline stages have others); incomplete if such a column lacks it in some micro-step.
PartGrid presentColumns(const PartGrid& grid, bool& incomplete)
{
    PartGrid out(grid.size());
    for (std::size_t c = 0; c < grid.front().size(); ++c) {
        std::size_t present = 0;
        for (const auto& row : grid) {
            present += row[c].record ? 1u : 0u;
        }
        if (present == 0) {
            continue;
        }
        incomplete = incomplete || present < grid.size();
        for (std::size_t m = 0; m < grid.size(); ++m) {
            if (grid[m][c].record) {
                out[m].push_back(grid[m][c]);
            }
        }
    }
    std::erase_if(out, [](const auto& row) { return row.empty(); });
    return out;
}

bool isUniform(const PartGrid& grid)
{
    return std::all_of(grid.begin(), grid.end(), [&](const auto& row) {
        return row.size() == grid.front().size()
            && std::equal(row.begin(), row.end(), grid.front().begin(),
                          [](const Part& x, const Part& y) { return x.rankIndex == y.rankIndex && x.piece == y.piece; });
    });
}

/// Finds `rows`, `rowLed`, `perRow`, `flattened` and `rowsSecond`.
void findRows(SideParts& parts, const std::map<Cell, RowKeys>& rows)
{
    std::set<std::int64_t> counts, perRow;
    parts.rowsSecond = parts.flattened = true;
    for (const auto& row : parts.grid) {
        for (const auto& part : row) {
            const auto& shape = part.record->shape;
            const auto cell = rows.find({ part.rankIndex, part.micro });
            const std::int64_t own = cell == rows.end() ? 0 : cell->second.rows;
            counts.insert(own);
            const std::int64_t entries = own == 0 || shape.empty() || shape[0] % own != 0 ? 0 : shape[0] / own;
            perRow.insert(entries);
            const std::int64_t positions = cell == rows.end() ? 0 : cell->second.tokenPositions;
            parts.flattened = parts.flattened && (positions == 0 || entries % positions == 0);
            parts.rowsSecond = parts.rowsSecond && own != 0 && shape.size() > 1 && shape[1] == own;
        }
    }
    parts.rows = counts.size() == 1 ? *counts.begin() : 0;
    parts.perRow = perRow.size() == 1 ? *perRow.begin() : 0;
    parts.rowLed = parts.perRow > 0;
    parts.flattened = parts.flattened && parts.perRow > 1;
}

/// Axes and the order of the columns that is row-major over them.
struct Layout {
    std::vector<PartAxis> axes;
    std::vector<std::size_t> columns;
};

/// Tiles of a whole, as the offsets say; the outermost axis is that of ranks that hold the same tile.
std::optional<Layout> tiles(const std::vector<Part>& row)
{
    const auto& whole = row.front().record->globalShape;
    if (whole.empty() || std::all_of(row.begin(), row.end(), [&](const Part& p) { return p.record->shape == whole; })) {
        return std::nullopt;
    }
    std::map<Shape, std::vector<std::size_t>> byOffset; // ascending: row-major over the tiles
    for (std::size_t c = 0; c < row.size(); ++c) {
        const auto& record = *row[c].record;
        const bool partial = std::any_of(record.placement.begin(), record.placement.end(),
                                         [](const Placement& p) { return p.type == Placement::Type::Partial; });
        if (record.globalShape != whole || record.globalOffset.size() != whole.size() || partial) {
            return std::nullopt;
        }
        if (elementCount(record.shape).value_or(0) > 0) {
            byOffset[record.globalOffset].push_back(c);
        }
    }
    if (byOffset.empty()) {
        return std::nullopt;
    }
    const std::size_t replicas = byOffset.begin()->second.size();
    std::vector<std::set<std::int64_t>> starts(whole.size());
    for (const auto& [offset, columns] : byOffset) {
        if (columns.size() != replicas) {
            return std::nullopt;
        }
        for (std::size_t d = 0; d < whole.size(); ++d) {
            starts[d].insert(offset[d]);
        }
    }
    Layout out;
    std::vector<JoinLevel> levels;
    if (replicas > 1) {
        out.axes.push_back({ .size = replicas, .fixed = declaredWay(Join::Replicate) });
    }
    for (std::size_t d = 0; d < whole.size(); ++d) {
        if (starts[d].size() > 1) {
            out.axes.push_back({ .size = starts[d].size(), .fixed = declaredWay(Join::Concat, static_cast<std::int64_t>(d)) });
            levels.push_back({ .join = Join::Concat, .dim = static_cast<std::int64_t>(d), .size = starts[d].size() });
        }
    }
    std::vector<Shape> shapes;
    for (const auto& [offset, columns] : byOffset) {
        shapes.push_back(row[columns.front()].record->shape);
    }
    if (joinedShape(shapes, levels) != whole) {
        return std::nullopt; // a tile is missing
    }
    for (std::size_t replica = 0; replica < replicas; ++replica) {
        for (const auto& [offset, columns] : byOffset) {
            out.columns.push_back(columns[replica]);
        }
    }
    return out;
}

/// The columns of `row` as the mesh has them; nullopt if those that are there make no full grid.
std::optional<Layout> meshLayout(const std::vector<Part>& row, const RankMesh& mesh)
{
    if (mesh.empty()) {
        return std::nullopt;
    }
    std::vector<std::set<std::size_t>> values(mesh.axes.size());
    std::map<std::vector<std::size_t>, std::size_t> places;
    for (std::size_t c = 0; c < row.size(); ++c) {
        const auto& place = mesh.coordinates[row[c].rankIndex];
        places.emplace(place, c);
        for (std::size_t axis = 0; axis < place.size(); ++axis) {
            values[axis].insert(place[axis]);
        }
    }
    Layout out;
    std::size_t product = 1;
    for (std::size_t axis = 0; axis < values.size(); ++axis) {
        product *= values[axis].size();
        if (values[axis].size() > 1) {
            out.axes.push_back({ .name = mesh.axes[axis], .size = values[axis].size() });
        }
    }
    if (product != row.size() || places.size() != row.size()) {
        return std::nullopt;
    }
    for (const auto& [place, column] : places) {
        out.columns.push_back(column);
    }
    return out;
}

/// Whether the ranks along an axis hold the same rows, for every axis of a mesh.
void findSameRows(std::vector<PartAxis>& axes, const std::vector<Part>& row, const SideKnowledge& side)
{
    std::size_t inner = 1;
    for (std::size_t k = axes.size(); k-- > 0; inner *= axes[k].size) {
        if (side.replicated) {
            axes[k].sameRows = true;
        } else if (side.sharers) {
            axes[k].sameRows = true;
            for (std::size_t c = 0; c < row.size(); ++c) {
                const std::size_t first = c - (c / inner % axes[k].size) * inner;
                axes[k].sameRows = axes[k].sameRows && (*side.sharers)[row[c].rankIndex] == (*side.sharers)[row[first].rankIndex];
            }
        } else {
            axes[k].sameRows = axes.size() > 1 && sharesBatch(axes[k].name);
        }
    }
}

/// What all parts declare alike, or what the user gave.
std::vector<Placement> declaredPlacement(const PartGrid& grid, const SideKnowledge& side)
{
    if (side.given) {
        return *side.given;
    }
    const auto& placement = grid[0][0].record->placement;
    for (const auto& row : grid) {
        if (std::any_of(row.begin(), row.end(), [&](const Part& p) { return p.record->placement != placement; })) {
            return {};
        }
    }
    return placement;
}

/// The way along an axis of so many parts that a placement declares; nullopt where it cannot hold.
std::optional<Way> wayOf(const Placement& placement, const TensorRecord& record, std::size_t parts)
{
    if (placement.type == Placement::Type::Replicate) {
        return declaredWay(Join::Replicate);
    }
    if (placement.type == Placement::Type::Shard) {
        const auto dims = static_cast<std::int64_t>(record.shape.size());
        return declaredWay(Join::Concat, placement.dim < 0 ? placement.dim + dims : placement.dim);
    }
    if (!isFloating(record.dtype)) {
        return std::nullopt;
    }
    auto out = declaredWay(Join::Sum);
    out.weight = placement.op == "mean" ? 1.0 / static_cast<double>(parts) : 1.0;
    return out;
}

/// Fixes the ways along the axes that a placement is about: by name, else the only one, else by what such names usually mean.
void fixDeclared(SideParts& parts, const SideKnowledge& side)
{
    auto placement = declaredPlacement(parts.grid, side);
    std::vector<PartAxis*> axes;
    for (auto& axis : parts.axes) {
        if (!axis.pieces) {
            axes.push_back(&axis);
        }
    }
    if (placement.empty() || axes.empty()) {
        return;
    }
    const auto& record = *parts.grid[0][0].record;
    const auto isReplicated = [](const Placement& p) { return p.type == Placement::Type::Replicate; };
    const auto byName = [&](const Placement& p) {
        return std::any_of(axes.begin(), axes.end(), [&](const auto* a) { return !p.axis.empty() && a->name == p.axis; });
    };
    if (std::any_of(placement.begin(), placement.end(), byName)) {
        std::erase_if(placement, [&](const Placement& p) { return !byName(p); }); // axes of one rank
    }
    for (auto* axis : axes) {
        std::vector<Placement> own;
        std::copy_if(placement.begin(), placement.end(), std::back_inserter(own), [&](const Placement& p) {
            return axes.size() == 1 || (byName(p) ? axis->name == p.axis : axis->sameRows == sharesBatch(p.axis));
        });
        const auto split = std::find_if_not(own.begin(), own.end(), isReplicated);
        if (own.empty() || (split != own.end() && !std::all_of(split + 1, own.end(), isReplicated))) {
            continue; // nothing is said, or two things of one axis
        }
        axis->fixed = wayOf(split == own.end() ? own.front() : *split, record, axis->size);
    }
}

/// The outermost axis of a many-to-one pair. Inputs are the same of every part, and what has no dim to join along is compared part by part.
PartAxis pieceAxis(const PairKey& key, const SideParts& parts, const JoinRule& rule)
{
    const auto dims = static_cast<std::int64_t>(parts.grid[0][0].record->shape.size());
    const std::int64_t given = rule.dim.value_or(isActivation(key.kind) ? -1 : 0), dim = given < 0 ? given + dims : given;
    PartAxis axis { .size = rule.parts.size(), .pieces = true };
    const bool joined = key.kind != Kind::Input && key.kind != Kind::Batch && dims > 0;
    axis.fixed = joined ? declaredWay(Join::Concat, dim) : declaredWay(Join::Replicate);
    axis.fixed->blocks = rule.blocks;
    return axis;
}

} // namespace

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
    return key.kind == Kind::Output && key.phase == Phase::Forward && (key.module == "loss" || key.module->starts_with("loss#"));
}

std::vector<Shape> SideParts::shapes() const
{
    std::vector<Shape> out;
    if (!grid.empty()) {
        for (const auto& part : grid.front()) {
            out.push_back(part.record->shape);
        }
    }
    return out;
}

SideParts sideParts(const PairKey& key, const PartGrid& grid, const SideKnowledge& side)
{
    SideParts out;
    out.grid = presentColumns(grid, out.incomplete);
    findRows(out, side.rows);
    out.sameRows = side.replicated;
    out.given = side.given != nullptr;
    out.positions = side.positions > 0 && isActivation(key.kind) && hasPositions(out.grid, side.rows) ? side.positions : 0;
    const auto& row = out.grid.front();
    const std::size_t pieces = side.pieces ? side.pieces->parts.size() : 1, perPiece = row.size() / pieces;
    if (side.pieces) {
        bool even = row.size() % pieces == 0 && isUniform(out.grid);
        for (std::size_t c = 0; c < row.size() && even; ++c) {
            even = row[c].piece == c / perPiece && row[c].rankIndex == row[c % perPiece].rankIndex;
        }
        if (!even) {
            std::set<std::size_t> there;
            for (const auto& part : row) {
                there.insert(part.piece);
            }
            out.problem = fmt::format("{} of the {} tensors that make it up were recorded{}", there.size(), pieces,
                                      there.size() == pieces ? ", not all on the same ranks" : "");
            return out;
        }
        out.axes.push_back(pieceAxis(key, out, *side.pieces));
    }
    const bool one = std::all_of(out.grid.begin(), out.grid.end(), [&](const auto& r) { return r.size() == pieces; });
    if (one) {
        return out;
    }
    const bool uniform = isUniform(out.grid);
    std::optional<Layout> layout;
    std::vector<std::size_t> columns;
    for (std::size_t piece = 0; piece < pieces && uniform; ++piece) {
        const auto begin = row.begin() + static_cast<std::ptrdiff_t>(piece * perPiece);
        const std::vector<Part> own(begin, begin + static_cast<std::ptrdiff_t>(perPiece));
        auto found = side.given ? std::nullopt : tiles(own);
        if (!found) {
            found = meshLayout(own, side.mesh);
        }
        if (!found || (piece > 0 && (!layout || found->columns.size() * piece != columns.size()))) {
            layout.reset();
            break;
        }
        for (const auto column : found->columns) {
            columns.push_back(piece * perPiece + column);
        }
        if (piece == 0) {
            layout = std::move(found);
        }
    }
    if (layout) {
        for (auto& r : out.grid) {
            std::vector<Part> sorted;
            for (const auto column : columns) {
                sorted.push_back(r[column]);
            }
            r = std::move(sorted);
        }
        const auto& first = out.grid.front();
        findSameRows(layout->axes, { first.begin(), first.begin() + static_cast<std::ptrdiff_t>(columns.size() / pieces) }, side);
        out.axes.insert(out.axes.end(), layout->axes.begin(), layout->axes.end());
    } else {
        std::size_t longest = 0;
        for (const auto& r : out.grid) {
            longest = std::max(longest, r.size() / pieces);
        }
        const auto name = side.mesh.axes.size() == 1 ? side.mesh.axes.front() : std::string();
        out.axes.push_back({ .name = name, .size = longest, .sameRows = side.replicated });
    }
    out.sameRows = std::all_of(out.axes.begin(), out.axes.end(), [](const PartAxis& a) { return a.pieces || a.sameRows; });
    if (std::none_of(out.axes.begin(), out.axes.end(), [](const PartAxis& a) { return !a.pieces && a.fixed; })) {
        fixDeclared(out, side);
    }
    return out;
}

} // namespace forkpoint::align
