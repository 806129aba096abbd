// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/assembly.h"

#include "core/tensor/composed_sources.h"

#include <algorithm>
#include <fmt/format.h>

namespace forkpoint::align {

namespace {

Result<TensorSourcePtr> joinParts(Join join, std::vector<TensorSourcePtr> parts, std::int64_t dim, double weight)
{
    if (join == Join::Sum) {
        std::vector<double> weights(parts.size(), weight);
        return weightedSumSource(std::move(parts), std::move(weights));
    }
    if (join == Join::Concat && parts.size() > 1) {
        return concatSource(std::move(parts), dim);
    }
    if (parts.empty()) {
        return fail(ErrorCode::Usage, "an assembly without parts");
    }
    return parts.front();
}

} // namespace

const bundle::TensorRecord* Assembly::soleRecord() const
{
    return parts.size() == 1 && parts[0].size() == 1 && weight == 1 && order.empty() ? parts[0][0].record : nullptr;
}

Result<TensorSourcePtr> open(const bundle::Bundle& bundle, const Assembly& assembly)
{
    auto whole = openParts(bundle, assembly, assembly.dim,
                           [](const bundle::Bundle& from, const Part& part) { return from.source(*part.rank, *part.record); });
    if (whole && !assembly.order.empty()) {
        return rowMapSource(std::move(*whole), assembly.order, assembly.shape[0] / assembly.samples);
    }
    return whole;
}

Result<TensorSourcePtr> openParts(const bundle::Bundle& bundle, const Assembly& assembly, std::int64_t dim, const OpenPart& openPart)
{
    // Sums are linear: weights are applied where the parts meet first, once.
    const bool summed = assembly.ranks == Join::Sum || assembly.micros == Join::Sum;
    std::vector<TensorSourcePtr> perMicro;
    for (const auto& row : assembly.parts) {
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
        auto joined = joinParts(assembly.ranks, std::move(sources), dim, assembly.micros == Join::Sum ? 1.0 : assembly.weight);
        if (!joined) {
            return joined;
        }
        perMicro.push_back(std::move(*joined));
    }
    return joinParts(assembly.micros, std::move(perMicro), 0, assembly.weight);
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

std::string describe(const Assembly& assembly)
{
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
    switch (assembly.micros) {
    case Join::Single:
        break;
    case Join::Replicate:
        add(fmt::format("first of {} micro-steps", assembly.parts.size()));
        break;
    case Join::Concat:
        add(fmt::format("{} micro-steps concatenated along dim 0", assembly.parts.size()));
        break;
    case Join::Sum:
        add(fmt::format("weighted sum of {} micro-steps", assembly.parts.size()));
        break;
    }
    if (assembly.weight != 1) {
        add(fmt::format("each times {:.6g}", assembly.weight));
    }
    if (!assembly.order.empty()) {
        add("rows reordered");
    }
    return out;
}

} // namespace forkpoint::align
