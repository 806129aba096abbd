// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/part_map.h"

namespace forkpoint::ui {

namespace {

using align::Assembly;
using align::Join;
using align::Part;

std::int64_t lengthOf(const Part& part, std::size_t dim)
{
    return dim < part.record->shape.size() ? part.record->shape[dim] : 0;
}

bool joinsRanks(const Assembly& assembly)
{
    return assembly.ranks == Join::Concat && assembly.outer.empty() && !assembly.parts.empty() && assembly.parts.front().size() > 1 && assembly.dim >= 0;
}

bool joinsMicros(const Assembly& assembly)
{
    return assembly.micros == Join::Concat && assembly.microBlocks == 1 && assembly.parts.size() > 1;
}

std::int32_t microOf(const Part& part) { return bundle::hasMicro(part.record->phase) ? part.micro : -1; }

bool joinsRanksAlong(const Assembly& assembly, std::size_t dim) { return joinsRanks(assembly) && static_cast<std::size_t>(assembly.dim) == dim; }
bool joinsMicrosAlong(const Assembly& assembly, std::size_t dim) { return joinsMicros(assembly) && assembly.microDim == dim; }

/// Length of a micro-step's joined parts along a dim.
std::int64_t lengthOf(const Assembly& assembly, std::span<const Part> row, std::size_t dim)
{
    std::int64_t length = 0;
    for (const auto& part : row) {
        length += lengthOf(part, dim);
        if (!joinsRanksAlong(assembly, dim)) {
            break;
        }
    }
    return length;
}

/// The parts along a dim before anything is reordered.
std::vector<PartSpan> spansAlong(const Assembly& assembly, std::size_t dim)
{
    std::vector<PartSpan> spans;
    std::int64_t at = 0;
    const bool byRank = joinsRanksAlong(assembly, dim), byMicro = joinsMicrosAlong(assembly, dim);
    for (const auto& row : assembly.parts) {
        for (const auto& part : row) {
            const std::int64_t length = byRank ? lengthOf(part, dim) : lengthOf(assembly, row, dim);
            spans.push_back({ at, at + length, byRank ? part.rank->rank : -1, byMicro ? microOf(part) : -1 });
            at += length;
            if (!byRank) {
                break;
            }
        }
        if (!byMicro) {
            break;
        }
    }
    return spans;
}

/// Entries along `dim` that one entry of `order` moves.
std::int64_t blockOf(const Assembly& assembly, const std::vector<std::int64_t>& order, std::size_t dim)
{
    return order.empty() || dim >= assembly.shape.size() ? 1 : assembly.shape[dim] / std::ssize(order);
}

/// The same as they lie after blocks of `rows` were reordered; none if they are mixed too much.
std::vector<PartSpan> reordered(const std::vector<std::int64_t>& order, std::int64_t rows, const std::vector<PartSpan>& spans)
{
    std::vector<PartSpan> out;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::int64_t from = order[i] * rows, to = static_cast<std::int64_t>(i) * rows;
        for (const auto& span : spans) {
            if (from < span.begin || from >= span.end) {
                continue;
            }
            if (!out.empty() && out.back().rank == span.rank && out.back().micro == span.micro) {
                out.back().end = to + rows;
            } else {
                out.push_back({ to, to + rows, span.rank, span.micro });
            }
            break;
        }
        if (out.size() > kMostSpans) {
            return {};
        }
    }
    return out;
}

} // namespace

std::vector<PartAxis> partAxes(const Assembly& assembly)
{
    std::vector<PartAxis> axes;
    for (std::size_t dim = 0; dim < assembly.shape.size(); ++dim) {
        const bool mixed = assembly.microBlocks > 1 && assembly.microDim == dim; // parts of micro-steps alternate
        if (mixed || (!joinsRanksAlong(assembly, dim) && !joinsMicrosAlong(assembly, dim))) {
            continue;
        }
        auto spans = spansAlong(assembly, dim);
        if (!assembly.order.empty() && assembly.orderDim == dim) {
            spans = reordered(*assembly.order, blockOf(assembly, *assembly.order, dim), spans);
        }
        if (!assembly.secondOrder.empty() && assembly.secondDim == dim) {
            spans = reordered(*assembly.secondOrder, blockOf(assembly, *assembly.secondOrder, dim), spans);
        }
        if (spans.size() > 1 && spans.size() <= kMostSpans) {
            axes.push_back({ dim, std::move(spans) });
        }
    }
    return axes;
}

PartPlace placeOf(const Assembly& assembly, std::vector<std::int64_t> index)
{
    PartPlace place;
    if (assembly.parts.empty() || assembly.parts.front().empty()) {
        return place;
    }
    const auto before = [&](const std::vector<std::int64_t>& order, std::size_t dim) { // where it was before this reordering
        const std::int64_t block = blockOf(assembly, order, dim);
        if (dim < index.size() && index[dim] / block < std::ssize(order)) {
            index[dim] = order[static_cast<std::size_t>(index[dim] / block)] * block + index[dim] % block;
        }
    };
    before(*assembly.secondOrder, assembly.secondDim);
    before(*assembly.order, assembly.orderDim);
    std::size_t micro = 0, rank = 0;
    if (joinsMicros(assembly) && assembly.microDim < index.size()) {
        auto& at = index[assembly.microDim];
        while (micro + 1 < assembly.parts.size() && at >= lengthOf(assembly, assembly.parts[micro], assembly.microDim)) {
            at -= lengthOf(assembly, assembly.parts[micro], assembly.microDim);
            ++micro;
        }
    }
    const auto& row = assembly.parts[micro];
    const auto dim = static_cast<std::size_t>(assembly.dim);
    if (joinsRanks(assembly) && dim < index.size()) {
        while (rank + 1 < row.size() && index[dim] >= lengthOf(row[rank], dim)) {
            index[dim] -= lengthOf(row[rank], dim);
            ++rank;
        }
    }
    const auto& part = row[rank];
    const bool mixed = assembly.microBlocks > 1 && joinsRanksAlong(assembly, assembly.microDim); // parts of micro-steps alternate along the same dim
    if ((assembly.ranks != Join::Sum && assembly.outer.empty() && !mixed) || row.size() == 1) {
        place.rank = part.rank->rank;
    }
    place.weighted = assembly.weight != 1;
    if (microOf(part) >= 0 && (assembly.parts.size() == 1 || joinsMicros(assembly))) {
        place.micro = part.micro;
    }
    place.index = std::move(index);
    return place;
}

} // namespace forkpoint::ui
