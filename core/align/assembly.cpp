// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/assembly.h"

#include "core/base/permutation.h"
#include "core/tensor/composed_sources.h"
#include "core/tensor/window_source.h"

#include <algorithm>
#include <fmt/format.h>

namespace forkpoint::align {

namespace {

/// Concatenation in which the parts alternate in blocks: the blocks become a dim of their own, along which the parts are one after the other.
Result<TensorSourcePtr> interleaved(std::vector<TensorSourcePtr> parts, std::int64_t dim, std::int64_t groups)
{
    const auto d = static_cast<std::size_t>(dim);
    Shape whole = parts.front()->shape();
    whole[d] = 0;
    for (auto& part : parts) {
        Shape blocks = part->shape();
        whole[d] += blocks[d];
        blocks[d] /= groups;
        blocks.insert(blocks.begin() + dim, groups);
        auto reshaped = reshapedSource(std::move(part), std::move(blocks));
        if (!reshaped) {
            return reshaped;
        }
        part = std::move(*reshaped);
    }
    auto joined = concatSource(std::move(parts), dim + 1);
    return joined ? reshapedSource(std::move(*joined), std::move(whole)) : joined;
}

Result<TensorSourcePtr> joinParts(const JoinLevel& level, std::vector<TensorSourcePtr> parts, double weight)
{
    if (parts.empty()) {
        return fail(ErrorCode::Usage, "an assembly without parts");
    }
    if (level.join == Join::Sum) {
        std::vector<double> weights(parts.size(), weight);
        return weightedSumSource(std::move(parts), std::move(weights));
    }
    if (level.join == Join::Concat && parts.size() > 1) {
        return level.groups > 1 ? interleaved(std::move(parts), level.dim, level.groups) : concatSource(std::move(parts), level.dim);
    }
    return parts.front();
}

JoinLevel levelOf(Join join, std::int64_t dim, std::size_t size)
{
    JoinLevel out;
    out.join = join;
    out.dim = dim;
    out.size = size;
    return out;
}

/// `source` with dim 1 of length `positions`, zeros filling it up.
Result<TensorSourcePtr> stretched(TensorSourcePtr source, const Assembly& assembly)
{
    Shape shape = source->shape();
    if (shape.size() < 2 || shape[1] == assembly.positions) {
        return source;
    }
    std::vector<std::int64_t> at(shape.size(), 0);
    at[1] = assembly.padLeft ? assembly.positions - shape[1] : 0;
    shape[1] = assembly.positions;
    return windowSource(std::move(source), std::move(shape), std::move(at));
}

} // namespace

const bundle::TensorRecord* Assembly::soleRecord() const
{
    return parts.size() == 1 && parts[0].size() == 1 && weight == 1 && order.empty() && secondOrder.empty() ? parts[0][0].record : nullptr;
}

Result<TensorSourcePtr> open(const bundle::Bundle& bundle, const Assembly& assembly)
{
    auto whole = openParts(bundle, assembly, false, [&assembly](const bundle::Bundle& from, const Part& part) -> Result<TensorSourcePtr> {
        auto source = from.source(*part.rank, *part.record);
        return source && assembly.positions > 0 ? stretched(std::move(*source), assembly) : std::move(source);
    });
    if (whole && (*whole)->shape() != assembly.shape) {
        whole = windowSource(std::move(*whole), assembly.shape, std::vector<std::int64_t>(assembly.shape.size(), 0));
    }
    if (whole && !assembly.order.empty()) {
        whole = rowMapSource(std::move(*whole), assembly.order, assembly.shape[assembly.orderDim] / assembly.samples, assembly.orderDim);
    }
    if (whole && assembly.rowNumbers) {
        whole = renumberedSource(std::move(*whole), inverseOf(*assembly.order));
    }
    if (whole && !assembly.secondOrder.empty()) {
        const std::int64_t block = assembly.shape[assembly.secondDim] / std::ssize(*assembly.secondOrder);
        whole = rowMapSource(std::move(*whole), assembly.secondOrder, block, assembly.secondDim);
    }
    return whole;
}

std::vector<JoinLevel> joinLevels(const Assembly& assembly, std::size_t parts)
{
    std::vector<JoinLevel> levels = assembly.outer;
    std::size_t outer = 1;
    for (const auto& level : levels) {
        outer *= level.size;
    }
    levels.push_back(levelOf(assembly.ranks, assembly.dim, outer == 0 ? 0 : parts / outer));
    return levels;
}

std::optional<Shape> joinedShape(std::vector<Shape> shapes, const std::vector<JoinLevel>& levels)
{
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
        if (level->size == 0 || shapes.size() % level->size != 0) {
            return std::nullopt;
        }
        std::vector<Shape> joined;
        for (std::size_t first = 0; first < shapes.size(); first += level->size) {
            Shape whole = shapes[first];
            const auto d = static_cast<std::size_t>(level->dim);
            const bool concat = level->join == Join::Concat;
            if (concat && (level->dim < 0 || d >= whole.size() || level->groups < 1 || whole[d] % level->groups != 0)) {
                return std::nullopt;
            }
            for (std::size_t i = first + 1; i < first + level->size; ++i) {
                Shape piece = shapes[i];
                if (piece.size() != whole.size()) {
                    return std::nullopt;
                }
                if (concat) {
                    const auto size = piece[d];
                    piece[d] = whole[d];
                    if (size % level->groups != 0 || piece != whole || __builtin_add_overflow(whole[d], size, &whole[d])) {
                        return std::nullopt;
                    }
                } else if (piece != whole) {
                    return std::nullopt;
                }
            }
            joined.push_back(std::move(whole));
        }
        shapes = std::move(joined);
    }
    return shapes.size() == 1 ? std::optional(shapes.front()) : std::nullopt;
}

Result<TensorSourcePtr> openParts(const bundle::Bundle& bundle, const Assembly& assembly, bool flat, const OpenPart& openPart)
{
    // Sums are linear: weights are applied where the parts meet first, once.
    std::vector<TensorSourcePtr> perMicro;
    for (const auto& row : assembly.parts) {
        const auto levels = joinLevels(assembly, row.size());
        const auto firstSum = std::find_if(levels.rbegin(), levels.rend(), [](const JoinLevel& level) { return level.join == Join::Sum; });
        const bool summed = firstSum != levels.rend() || assembly.micros == Join::Sum;
        std::vector<TensorSourcePtr> sources;
        for (const auto& part : row) {
            auto source = openPart(bundle, part);
            if (!source) {
                return source;
            }
            if (assembly.weight != 1 && !summed) {
                source = weightedSumSource({ std::move(*source) }, { assembly.weight });
                if (!source) {
                    return source;
                }
            }
            sources.push_back(std::move(*source));
        }
        for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
            JoinLevel how = *level;
            if (flat) {
                how.dim = 0;
                how.groups = 1;
            }
            const double weight = level == firstSum && assembly.micros != Join::Sum ? assembly.weight : 1.0;
            std::vector<TensorSourcePtr> joined;
            for (std::size_t first = 0; first + how.size <= sources.size() && how.size > 0; first += how.size) {
                const auto begin = sources.begin() + static_cast<std::ptrdiff_t>(first);
                auto whole = joinParts(how, { begin, begin + static_cast<std::ptrdiff_t>(how.size) }, weight);
                if (!whole) {
                    return whole;
                }
                joined.push_back(std::move(*whole));
            }
            sources = std::move(joined);
        }
        if (sources.size() != 1) {
            return fail(ErrorCode::Usage, "an assembly whose parts do not fit its mesh");
        }
        perMicro.push_back(std::move(sources.front()));
    }
    auto overMicros = levelOf(assembly.micros, flat ? 0 : assembly.microDim, perMicro.size());
    overMicros.groups = flat ? 1 : assembly.microBlocks;
    return joinParts(overMicros, std::move(perMicro), assembly.weight);
}

std::string rankList(std::vector<int> ranks)
{
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    std::string out = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t j = i;
        while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) {
            ++j;
        }
        out += i == 0 ? "" : ", ";
        out += j == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[j]);
        i = j + 1;
    }
    return out;
}

/// The parts make up more than the whole: the last ones are padded.
static bool isCut(const Assembly& assembly)
{
    if (assembly.micros == Join::Concat || assembly.positions > 0 || assembly.parts.empty()) {
        return false;
    }
    std::vector<Shape> shapes;
    for (const auto& part : assembly.parts.front()) {
        shapes.push_back(part.record->shape);
    }
    const auto joined = joinedShape(shapes, joinLevels(assembly, shapes.size()));
    return joined && *joined != assembly.shape;
}

std::string describe(const Assembly& assembly)
{
    if (const auto* only = assembly.soleRecord();
        only && assembly.ranks == Join::Single && assembly.outer.empty() && assembly.positions == 0 && assembly.shape == only->shape) {
        return {}; // nearly all of a million
    }
    std::vector<int> ranks;
    for (const auto& row : assembly.parts) {
        for (const auto& part : row) {
            ranks.push_back(part.rank->rank);
        }
    }
    std::string out;
    const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
    switch (assembly.ranks) {
    case Join::Single:
        break;
    case Join::Replicate:
        add("replicate");
        break;
    case Join::Concat:
        add(fmt::format("{} concatenated along dim {}", rankList(ranks), assembly.dim));
        break;
    case Join::Sum:
        add(fmt::format("weighted sum of {}", rankList(ranks)));
        break;
    }
    for (auto level = assembly.outer->rbegin(); level != assembly.outer->rend(); ++level) {
        const std::string what = level->pieces ? fmt::format("{} tensors", level->size)
            : out.empty()                      ? rankList(ranks)
                                               : fmt::format("these {}", level->size);
        add(level->join == Join::Sum ? what + " added up"
                                     : fmt::format("{} concatenated along dim {}{}", what, level->dim,
                                                   level->groups > 1 ? fmt::format(" in {} blocks each", level->groups) : std::string()));
    }
    switch (assembly.micros) {
    case Join::Single:
        break;
    case Join::Replicate:
        add(fmt::format("first of {} micro-steps", assembly.parts.size()));
        break;
    case Join::Concat:
        add(fmt::format("{} micro-steps concatenated along dim {}{}", assembly.parts.size(), assembly.microDim,
                        assembly.microBlocks > 1 ? fmt::format(" in {} blocks each", assembly.microBlocks) : std::string()));
        break;
    case Join::Sum:
        add(fmt::format("weighted sum of {} micro-steps", assembly.parts.size()));
        break;
    }
    if (assembly.weight != 1) {
        add(fmt::format("each times {:.6g}", assembly.weight));
    }
    if (isCut(assembly)) {
        add("padding cut off");
    }
    if (assembly.positions > 0) {
        add(fmt::format("padded to {} positions", assembly.positions));
    }
    if (!assembly.order.empty()) {
        add(assembly.orderDim == 0 ? std::string("rows reordered") : fmt::format("rows along dim {} reordered", assembly.orderDim));
    }
    if (assembly.rowNumbers) {
        add("row numbers in it follow");
    }
    if (!assembly.secondOrder.empty()) {
        add(fmt::format("entries along dim {} reordered", assembly.secondDim));
    }
    return out;
}

} // namespace forkpoint::align
