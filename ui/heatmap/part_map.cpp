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

bool joinsMicros(const Assembly& assembly) { return assembly.micros == Join::Concat && assembly.parts.size() > 1; }

std::int32_t microOf(const Part& part) { return bundle::hasMicro(part.record->phase) ? part.micro : -1; }

/// Length of a micro-step's joined parts along dim 0.
std::int64_t rowsOf(const Assembly& assembly, std::span<const Part> row)
{
    std::int64_t length = 0;
    for (const auto& part : row) {
        length += lengthOf(part, 0);
        if (!joinsRanks(assembly) || assembly.dim != 0) {
            break;
        }
    }
    return length;
}

/// The parts along dim 0 before rows are reordered.
std::vector<PartSpan> rowSpans(const Assembly& assembly)
{
    std::vector<PartSpan> spans;
    std::int64_t at = 0;
    const bool byRank = joinsRanks(assembly) && assembly.dim == 0, byMicro = joinsMicros(assembly);
    for (const auto& row : assembly.parts) {
        for (const auto& part : row) {
            const std::int64_t length = byRank ? lengthOf(part, 0) : rowsOf(assembly, row);
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

std::int64_t rowsPerSample(const Assembly& assembly)
{
    return assembly.order.empty() || assembly.samples <= 0 || assembly.shape.empty() ? 1 : assembly.shape[0] / assembly.samples;
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
    if ((joinsRanks(assembly) && assembly.dim == 0) || joinsMicros(assembly)) {
        auto spans = rowSpans(assembly);
        if (!assembly.order.empty()) {
            spans = reordered(*assembly.order, rowsPerSample(assembly), spans);
        }
        if (!assembly.positionOrder.empty() && assembly.positionDim == 0) {
            spans = reordered(*assembly.positionOrder, 1, spans);
        }
        if (spans.size() > 1 && spans.size() <= kMostSpans) {
            axes.push_back({ 0, std::move(spans) });
        }
    }
    if (joinsRanks(assembly) && assembly.dim != 0) {
        PartAxis axis { static_cast<std::size_t>(assembly.dim), {} };
        std::int64_t at = 0;
        for (const auto& part : assembly.parts.front()) {
            const std::int64_t length = lengthOf(part, axis.dim);
            axis.spans.push_back({ at, at + length, part.rank->rank, -1 });
            at += length;
        }
        if (!assembly.positionOrder.empty() && assembly.positionDim == axis.dim) {
            axis.spans = reordered(*assembly.positionOrder, 1, axis.spans);
        }
        if (!axis.spans.empty() && axis.spans.size() <= kMostSpans) {
            axes.push_back(std::move(axis));
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
    if (!assembly.positionOrder.empty() && assembly.positionDim < index.size()) {
        auto& position = index[assembly.positionDim];
        if (position < std::ssize(*assembly.positionOrder)) {
            position = assembly.positionOrder[static_cast<std::size_t>(position)];
        }
    }
    if (!assembly.order.empty() && !index.empty()) {
        const std::int64_t rows = rowsPerSample(assembly);
        const auto sample = static_cast<std::size_t>(index[0] / rows);
        if (sample < assembly.order.size()) {
            index[0] = assembly.order[sample] * rows + index[0] % rows;
        }
    }
    std::size_t micro = 0, rank = 0;
    if (joinsMicros(assembly) && !index.empty()) {
        while (micro + 1 < assembly.parts.size() && index[0] >= rowsOf(assembly, assembly.parts[micro])) {
            index[0] -= rowsOf(assembly, assembly.parts[micro]);
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
    if ((assembly.ranks != Join::Sum && assembly.outer.empty()) || row.size() == 1) {
        place.rank = part.rank->rank;
    }
    place.weighted = assembly.weight != 1;
    if (microOf(part) >= 0 && (assembly.micros != Join::Sum || assembly.parts.size() == 1)) {
        place.micro = part.micro;
    }
    place.index = std::move(index);
    return place;
}

} // namespace forkpoint::ui
