// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/layout.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
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

/// As many dims, of which one has another size: what was cut along it, or otherwise.
bool differsInOneDim(const Shape& a, const Shape& b)
{
    return a.size() == b.size() && std::inner_product(a.begin(), a.end(), b.begin(), 0, std::plus<>(), std::not_equal_to<>()) == 1;
}

} // namespace

LayoutDifference layoutDifference(const StepLayout& a, const StepLayout& b)
{
    LayoutDifference out;
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
                out.parameters = out.parameters || differsInOneDim(record->shape, other->second->shape) || splitDims(*record) != splitDims(*other->second);
            } else {
                out.activations = out.activations || differsInOneDim(record->shape, other->second->shape);
            }
        }
        break;
    }
    return out;
}

} // namespace forkpoint::align
