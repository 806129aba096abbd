// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/samples.h"

#include "core/base/permutation.h"
#include "core/bundle/sketch.h"
#include "core/tensor/composed_sources.h"
#include "core/tensor/gather_source.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace forkpoint::align {

namespace {

/// Where samples lie in a tensor, in the order in which their values come.
struct Places {
    Shape shape;
    std::vector<std::int64_t> indices;
    bool consistent = true;
};

/// The same elements in a tensor of another shape, moved by `offset` along `dim`.
std::vector<std::int64_t> moved(const std::vector<std::int64_t>& indices, const Shape& from, const Shape& to, std::size_t dim, std::int64_t offset)
{
    std::vector<std::int64_t> out;
    out.reserve(indices.size());
    for (const auto index : indices) {
        std::int64_t rest = index, result = 0, stride = 1;
        for (std::size_t d = from.size(); d-- > 0;) {
            result += (rest % from[d] + (d == dim ? offset : 0)) * stride;
            rest /= from[d];
            stride *= to[d];
        }
        out.push_back(result);
    }
    return out;
}

Places join(const JoinLevel& level, const std::vector<Places>& parts)
{
    if (level.join != Join::Concat || parts.size() == 1) {
        Places out = parts.front();
        for (const auto& part : parts) { // a sum has the elements that all summands have at the same places
            const bool alike = part.indices == out.indices && part.shape == out.shape;
            out.consistent = out.consistent && part.consistent && (level.join != Join::Sum || alike);
        }
        return out;
    }
    const auto dim = static_cast<std::size_t>(level.dim);
    Places out;
    out.shape = parts.front().shape;
    out.consistent = level.dim >= 0 && dim < out.shape.size() && level.groups == 1; // of interleaved pieces no element stays where its sketch says
    for (std::size_t i = 1; i < parts.size() && out.consistent; ++i) {
        out.shape[dim] += parts[i].shape[dim];
        out.consistent = parts[i].consistent;
    }
    std::int64_t offset = 0;
    for (const auto& part : parts) {
        if (!out.consistent) {
            break;
        }
        const auto own = moved(part.indices, part.shape, out.shape, dim, offset);
        out.indices.insert(out.indices.end(), own.begin(), own.end());
        offset += part.shape[dim];
    }
    return out;
}

/// As rowMapSource does it along `dim`, in as many blocks as `order` has.
void reorder(Places& places, const std::vector<std::int64_t>& order, std::size_t dim)
{
    if (order.empty()) {
        return;
    }
    const auto inverse = inverseOf(order);
    const std::int64_t length = places.shape[dim], block = length / std::ssize(order);
    const std::int64_t inner = elementCount({ places.shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, places.shape.end() }).value_or(1);
    for (auto& index : places.indices) {
        const std::int64_t at = index / inner % length, from = at / block;
        index += (inverse[static_cast<std::size_t>(from)] - from) * block * inner;
    }
}

Places placesOf(const Assembly& assembly)
{
    std::vector<Places> perMicro;
    for (const auto& row : assembly.parts) {
        const auto levels = joinLevels(assembly, row.size());
        std::vector<Places> places;
        for (const auto& part : row) {
            places.push_back({ part.record->shape, bundle::sampleIndices(*part.record), true });
        }
        for (auto level = levels.rbegin(); level != levels.rend() && level->size > 0; ++level) {
            std::vector<Places> joined;
            for (std::size_t first = 0; first + level->size <= places.size(); first += level->size) {
                const auto begin = places.begin() + static_cast<std::ptrdiff_t>(first);
                joined.push_back(join(*level, { begin, begin + static_cast<std::ptrdiff_t>(level->size) }));
            }
            places = std::move(joined);
        }
        if (places.size() != 1) {
            return { {}, {}, false };
        }
        perMicro.push_back(std::move(places.front()));
    }
    JoinLevel micros;
    micros.join = assembly.micros;
    micros.dim = assembly.microDim;
    micros.groups = assembly.microBlocks;
    Places whole = join(micros, perMicro);
    whole.consistent = whole.consistent && whole.shape == assembly.shape; // cut or padded: the places moved
    if (whole.consistent && assembly.samples > 0) {
        reorder(whole, assembly.order, assembly.orderDim);
    }
    if (whole.consistent) {
        reorder(whole, assembly.secondOrder, assembly.secondDim);
    }
    return whole;
}

Result<TensorSourcePtr> partSamples(const bundle::Bundle& bundle, const Part& part)
{
    if (part.record->sketch && !part.record->bytes) {
        return bundle.samples(*part.rank, *part.record);
    }
    auto source = bundle.source(*part.rank, *part.record);
    return source ? gatherSource(std::move(*source), bundle::sampleIndices(*part.record)) : source;
}

} // namespace

/// Concatenated along every axis of its ranks: folds of the pieces add up.
static bool isTiled(const Assembly& assembly)
{
    return assembly.ranks == Join::Concat && std::all_of(assembly.outer.begin(), assembly.outer.end(), [](const JoinLevel& level) {
        return level.join == Join::Concat && !level.pieces;
    });
}

bool isSampled(const Assembly& assembly)
{
    return std::any_of(assembly.parts.begin(), assembly.parts.end(), [](const auto& row) {
        return std::any_of(row.begin(), row.end(),
                           [](const Part& part) { return part.record->detail != bundle::Detail::Full && !part.record->bytes; });
    });
}

std::vector<std::int64_t> commonSamples(const std::vector<const Assembly*>& assemblies)
{
    std::optional<std::vector<std::int64_t>> common;
    for (const auto* assembly : assemblies) {
        if (!isSampled(*assembly)) {
            continue;
        }
        auto places = placesOf(*assembly);
        if (!places.consistent) {
            return {};
        }
        std::sort(places.indices.begin(), places.indices.end());
        if (common) {
            std::vector<std::int64_t> both;
            std::set_intersection(common->begin(), common->end(), places.indices.begin(), places.indices.end(), std::back_inserter(both));
            common = std::move(both);
        } else {
            common = std::move(places.indices);
        }
    }
    return common.value_or(std::vector<std::int64_t> {});
}

Result<TensorSourcePtr> openAt(const bundle::Bundle& bundle, const Assembly& assembly, const std::vector<std::int64_t>& indices)
{
    if (!isSampled(assembly)) {
        auto whole = open(bundle, assembly);
        return whole ? gatherSource(std::move(*whole), indices) : whole;
    }
    const auto places = placesOf(assembly);
    std::unordered_map<std::int64_t, std::int64_t> position;
    for (std::size_t i = 0; i < places.indices.size(); ++i) {
        position.emplace(places.indices[i], static_cast<std::int64_t>(i));
    }
    std::vector<std::int64_t> wanted;
    for (const auto index : indices) {
        const auto found = position.find(index);
        if (found == position.end() || !places.consistent) {
            return fail(ErrorCode::NotFound, "the sketches keep no common elements");
        }
        wanted.push_back(found->second);
    }
    auto joined = openParts(bundle, assembly, true, partSamples);
    if (joined && assembly.rowNumbers) {
        joined = renumberedSource(std::move(*joined), inverseOf(*assembly.order));
    }
    return joined ? gatherSource(std::move(*joined), std::move(wanted)) : joined;
}

std::optional<std::uint64_t> foldOf(const Assembly& assembly)
{
    if (const auto* record = assembly.soleRecord()) {
        return record->globalShape.empty() || record->globalShape == record->shape ? record->fold : std::nullopt;
    }
    if (assembly.parts.size() != 1 || !isTiled(assembly) || assembly.weight != 1 || !assembly.order.empty() || !assembly.secondOrder.empty()) {
        return std::nullopt;
    }
    std::uint64_t sum = 0;
    std::int64_t elements = 0;
    for (const auto& part : assembly.parts.front()) {
        if (!part.record->fold || part.record->globalShape != assembly.shape) {
            return std::nullopt;
        }
        sum += *part.record->fold;
        elements += elementCount(part.record->shape).value_or(0);
    }
    return elements == elementCount(assembly.shape) ? std::optional(sum) : std::nullopt;
}

} // namespace forkpoint::align
