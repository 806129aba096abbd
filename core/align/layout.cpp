// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/layout.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace forkpoint::align {

namespace {

using bundle::Kind;
using bundle::Phase;
using bundle::Placement;
using bundle::TensorRecord;

using Key = std::tuple<std::string_view, std::string_view, std::string_view, Kind, std::int32_t>; ///< module, parameter, slot, call

/// Parameters on entry, and outputs of the first micro-step.
std::map<Key, const TensorRecord*> layoutRecords(const StepLayout& of, std::size_t rank)
{
    std::map<Key, const TensorRecord*> out;
    std::optional<std::int32_t> firstMicro;
    for (const auto number : of.records[rank]) {
        const auto& record = of.side.ranks[rank]->tensors[number];
        const bool param = record.phase == Phase::Start && record.kind == Kind::Param;
        const bool output = record.phase == Phase::Forward && record.kind == Kind::Output && record.level == bundle::Level::Module;
        if (output) {
            firstMicro = firstMicro.value_or(record.micro);
        }
        if (param || (output && record.micro == *firstMicro)) {
            const auto& name = of.index.names[of.index.nameOf[rank][number]];
            out.emplace(Key { *name.module, *name.param, *record.slot, record.kind, record.call }, &record);
        }
    }
    return out;
}

std::vector<std::int64_t> splitDims(const TensorRecord& record)
{
    std::vector<std::int64_t> out;
    for (const auto& placement : record.placement) {
        if (placement.type == Placement::Type::Shard) {
            out.push_back(placement.dim);
        }
    }
    return out;
}

/// Of so many ranks, some cut the one into what the other is: one dim has the size of the first piece, the others are equal.
bool isCut(const Shape& a, const Shape& b, std::size_t ranks)
{
    if (a.size() != b.size()) {
        return false;
    }
    const auto [inA, inB] = std::mismatch(a.begin(), a.end(), b.begin());
    if (inA == a.end() || !std::equal(inA + 1, a.end(), inB + 1)) {
        return false;
    }
    const auto whole = std::max(*inA, *inB), piece = std::min(*inA, *inB);
    for (std::int64_t pieces = 2; pieces <= static_cast<std::int64_t>(ranks); ++pieces) {
        if (piece == whole / pieces + (whole % pieces != 0 ? 1 : 0)) {
            return true;
        }
    }
    return false;
}

} // namespace

LayoutDifference layoutDifference(const StepLayout& a, const StepLayout& b)
{
    LayoutDifference out;
    const auto ranks = std::min(a.side.ranks.size(), b.side.ranks.size());
    for (std::size_t rankA = 0; rankA < a.side.ranks.size(); ++rankA) {
        const auto ofB = std::find_if(b.side.ranks.begin(), b.side.ranks.end(), [&](const auto* rank) { return rank->rank == a.side.ranks[rankA]->rank; });
        if (ofB == b.side.ranks.end()) {
            continue;
        }
        const auto recordsA = layoutRecords(a, rankA), recordsB = layoutRecords(b, static_cast<std::size_t>(ofB - b.side.ranks.begin()));
        for (const auto& [key, record] : recordsA) {
            const auto other = recordsB.find(key);
            if (other == recordsB.end()) {
                continue;
            }
            if (record->kind == Kind::Param) {
                out.parameters = out.parameters || isCut(record->shape, other->second->shape, ranks) || splitDims(*record) != splitDims(*other->second);
            } else {
                out.activations = out.activations || isCut(record->shape, other->second->shape, ranks);
            }
        }
        break;
    }
    return out;
}

} // namespace forkpoint::align
