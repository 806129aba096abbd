// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/comparison.h"
#include "core/compare/kept_tensors.h"
#include "core/portable/archive.h"

#include <string_view>

// What is stored of each struct, in order (FORKCMP.md section 4). Most name all of their members by a structured binding, which does not
// compile once a member is added: then it is added here, at the end of its list and of the table in FORKCMP.md.
namespace forkpoint::portable {

template <> inline constexpr unsigned kValuesOf<DType> = 14;
template <> inline constexpr unsigned kValuesOf<bundle::Phase> = 6;
template <> inline constexpr unsigned kValuesOf<bundle::Kind> = 9;
template <> inline constexpr unsigned kValuesOf<bundle::Level> = 2;
template <> inline constexpr unsigned kValuesOf<bundle::Detail> = 4;
template <> inline constexpr unsigned kValuesOf<bundle::Placement::Type> = 3;
template <> inline constexpr unsigned kValuesOf<bundle::Problem::Level> = 2;
template <> inline constexpr unsigned kValuesOf<align::Rule> = 6;
template <> inline constexpr unsigned kValuesOf<align::PairStatus> = 5;
template <> inline constexpr unsigned kValuesOf<align::Join> = 4;
template <> inline constexpr unsigned kValuesOf<align::Reduction> = 4;
template <> inline constexpr unsigned kValuesOf<diagnose::Severity> = 6;
template <> inline constexpr unsigned kValuesOf<diagnose::GateState> = 5;
template <> inline constexpr unsigned kValuesOf<heatmap::Mode> = 7;
template <> inline constexpr unsigned kValuesOf<compare::KeptTensors::Form> = 3;

/// The name of a backend, as a text that lives as long as the program; "unknown" for one that this version has not.
std::string_view backendName(std::string_view name);

} // namespace forkpoint::portable

// In the namespaces of their structs, where archives find them.

namespace forkpoint::bundle {

template <class Archive> void fields(Archive& archive, Placement& x)
{
    auto& [axis, type, dim, op] = x;
    archive(axis, type, dim, op);
}

template <class Archive> void fields(Archive& archive, Problem& x)
{
    auto& [level, where, message] = x;
    archive(level, where, message);
}

template <class Archive> void fields(Archive& archive, ModuleRecord& x)
{
    auto& [path, className, wrapper, parameters, buffers] = x;
    archive(path, className, wrapper, parameters, buffers);
}

template <class Archive> void fields(Archive& archive, CallRecord& x)
{
    auto& [step, micro, module, call, order, parent, parentCall, training, recompute, source] = x;
    archive(step, micro, module, call, order, parent, parentCall, training, recompute, source);
}

template <class Archive> void fields(Archive& archive, BackwardRecord& x)
{
    auto& [step, micro, root, order, source] = x;
    archive(step, micro, root, order, source);
}

template <class Archive> void fields(Archive& archive, Port& x)
{
    auto& [module, call, slot] = x;
    archive(module, call, slot);
}

template <class Archive> void fields(Archive& archive, EdgeRecord& x)
{
    auto& [step, micro, from, to, direct] = x;
    archive(step, micro, from, to, direct);
}

/// What a record is, not where its bytes lie; of these only that there were any.
template <class Archive> void fields(Archive& archive, TensorRecord& x)
{
    bool hasBytes = x.bytes.has_value();
    archive(x.step, x.micro, x.phase, x.kind, x.level, x.module, x.param, x.call, x.slot, x.order, x.dtype, x.shape, x.placement, x.recompute,
            x.notObserved, x.detail, hasBytes);
    if constexpr (Archive::kReads) {
        if (!elementCount(x.shape)) {
            archive.complain("a tensor has an impossible shape");
        }
        if (hasBytes) {
            x.bytes.emplace();
        }
    }
}

} // namespace forkpoint::bundle

namespace forkpoint::metrics {

template <class Archive> void fields(Archive& archive, Histogram& x)
{
    auto& [zero, first, counts] = x;
    archive(zero, first, counts);
}

template <class Archive> void fields(Archive& archive, Extremum& x)
{
    auto& [value, index, a, b] = x;
    archive(value, index, a, b);
}

template <class Archive> void fields(Archive& archive, SideStatistics& x)
{
    auto& [nan, positiveInf, negativeInf, zeros, min, max, mean, std, norm, lowBitsZero, narrowest] = x;
    archive(nan, positiveInf, negativeInf, zeros, min, max, mean, std, norm, lowBitsZero, narrowest);
}

template <class Archive> void fields(Archive& archive, NarrowerComparison& x)
{
    auto& [dtype, finite, bitEqual, allcloseViolations, maxAbs, meanAbs, relL2, ulpHistogram] = x;
    archive(dtype, finite, bitEqual, allcloseViolations, maxAbs, meanAbs, relL2, ulpHistogram);
}

template <class Archive> void fields(Archive& archive, Percentiles& x)
{
    auto& [p50, p90, p99, p999] = x;
    archive(p50, p90, p99, p999);
}

template <class Archive> void fields(Archive& archive, PairStatistics& x)
{
    auto& [count, finite, a, b, nanBoth, infBothEqual, bitEqual, zeroMismatch, allcloseViolations, maxAbs, maxRel, meanAbs, meanDiff, rmse, diffNorm, relL2,
           relLinf, cosine, normRatio, bestScale, scaleResidual, normA, normB, factorZ, biasZ, absHistogram, relHistogram, ulpHistogram, percentiles, narrower,
           backend]
        = x;
    std::string backendText(backend);
    archive(count, finite, a, b, nanBoth, infBothEqual, bitEqual, zeroMismatch, allcloseViolations, maxAbs, maxRel, meanAbs, meanDiff, rmse, diffNorm, relL2,
            relLinf, cosine, normRatio, bestScale, scaleResidual, normA, normB, factorZ, biasZ, absHistogram, relHistogram, ulpHistogram, percentiles, narrower,
            backendText);
    if constexpr (Archive::kReads) {
        backend = portable::backendName(backendText);
    }
}

} // namespace forkpoint::metrics

namespace forkpoint::align {

template <class Archive> void fields(Archive& archive, PairKey& x)
{
    auto& [step, micro, phase, kind, level, module, param, call, slot] = x;
    archive(step, micro, phase, kind, level, module, param, call, slot);
}

/// The record by its number among those of its rank.
template <class Archive> void fields(Archive& archive, Part& x)
{
    std::uint64_t number = 0;
    if constexpr (!Archive::kReads) {
        number = static_cast<std::uint64_t>(x.record - x.rank->tensors.data());
    }
    archive(x.rankIndex, number, x.micro, x.piece);
    if constexpr (Archive::kReads) {
        const auto& ranks = archive.side->ranks;
        if (!archive.ok() || x.rankIndex >= ranks.size() || number >= ranks[x.rankIndex]->tensors.size()) {
            archive.complain("a part names a tensor that does not exist");
            return;
        }
        x.rank = ranks[x.rankIndex];
        x.record = &x.rank->tensors[static_cast<std::size_t>(number)];
    }
}

template <class Archive> void fields(Archive& archive, JoinLevel& x)
{
    auto& [join, dim, size, groups, pieces] = x;
    archive(join, dim, size, groups, pieces);
}

inline constexpr std::int64_t kLongestOrder = 1 << 24; ///< of an order that a file may claim

template <class Archive> void fields(Archive& archive, Assembly& x)
{
    auto& [rows, outer, ranks, micros, padLeft, orderDim, rowNumbers, secondDim, microDim, microBlocks, dtype, dim, weight, order, samples, secondOrder, shape,
           positions] = x;
    PartGrid parts = rows.grid();
    archive(parts, outer, ranks, dim, micros, weight, order, samples, shape, positions, padLeft, dtype);
    std::vector<std::int64_t> runs; // of positions: their order is long, and nearly all of it ascends by one
    for (const auto position : *secondOrder) {
        if (runs.empty() || position != runs[runs.size() - 2] + runs.back()) {
            runs.insert(runs.end(), { position, 0 });
        }
        ++runs.back();
    }
    archive.appended(runs);
    archive.appended(secondDim);
    archive.appended(orderDim);
    archive.appended(microDim);
    archive.appended(microBlocks);
    archive.appended(rowNumbers);
    if constexpr (Archive::kReads) {
        rows = parts;
        std::vector<std::int64_t> entries;
        bool sound = runs.size() % 2 == 0;
        for (std::size_t i = 0; i < runs.size() && sound; i += 2) {
            sound = runs[i] >= 0 && runs[i + 1] > 0 && runs[i + 1] <= kLongestOrder - std::ssize(entries);
            for (std::int64_t j = 0; sound && j < runs[i + 1]; ++j) {
                entries.push_back(runs[i] + j);
            }
        }
        secondOrder = std::move(entries);
        const auto permutes = [&](const std::vector<std::int64_t>& what, std::size_t along) { // equal blocks, each once
            std::vector<bool> seen(what.size());
            return along < shape.size() && shape[along] >= std::ssize(what) && shape[along] % std::ssize(what) == 0
                && std::all_of(what.begin(), what.end(), [&](std::int64_t i) {
                       const bool fits = i >= 0 && i < std::ssize(what) && !seen[static_cast<std::size_t>(i)];
                       seen[fits ? static_cast<std::size_t>(i) : 0] = true;
                       return fits;
                   });
        };
        sound = sound && !parts.empty() && elementCount(shape).has_value() && dim >= 0 && microBlocks > 0;
        sound = sound && (micros != align::Join::Concat || microDim < std::max<std::size_t>(1, shape.size()));
        sound = sound && (order.empty() || (static_cast<std::int64_t>(order.size()) == samples && permutes(order, orderDim)));
        sound = sound && (!rowNumbers || (!order.empty() && (dtype == DType::Int32 || dtype == DType::Int64)));
        sound = sound && (secondOrder.empty() || permutes(secondOrder, secondDim));
        for (const auto& row : parts) {
            sound = sound && !row.empty() && row.size() == parts.front().size();
        }
        if (!sound) {
            archive.complain("the plan of a tensor contradicts itself");
        }
    }
}

/// Without which positions of padded rows count, which is for measuring and nothing else.
template <class Archive> void fields(Archive& archive, Lane& x)
{
    auto& [a, b, rank, kept] = x;
    archive.side = archive.sides[0];
    archive(a);
    archive.side = archive.sides[1];
    archive(b, rank);
}

/// Its id follows from its key.
template <class Archive> void fields(Archive& archive, Pair& x)
{
    auto& [key, id, rule, status, guess, dtypeA, dtypeB, lanes, assembly, note, shapeA, shapeB, source, mappedBy] = x;
    archive(key, rule, status, lanes, assembly, note, guess, dtypeA, dtypeB, shapeA, shapeB, source, mappedBy);
    if constexpr (Archive::kReads) {
        id = pairId(key);
        if (!elementCount(shapeA) || !elementCount(shapeB)) {
            archive.complain("a pair has an impossible shape");
        }
    }
}

/// Without `groups`, which are for making pairs and nothing else.
template <class Archive> void fields(Archive& archive, StepPlan& x)
{
    auto& [step, groups, microsA, microsB, rankByRank, microByMicro, text] = x;
    archive(step, microsA, microsB, rankByRank, microByMicro, text);
}

/// Without `ofParts`, which is for making pairs.
template <class Archive> void fields(Archive& archive, SideWeights& x)
{
    auto& [ranks, micros, weight, ofParts] = x;
    archive(ranks, micros, weight);
}

/// Without the sides, which come before.
template <class Archive> void fields(Archive& archive, Alignment& x)
{
    auto& [a, b, stepOffset, pairs, steps, renames, notes, ranksOfOneRun, stepsOnlyA, stepsOnlyB] = x;
    archive(stepOffset, pairs, steps, renames, notes, ranksOfOneRun, stepsOnlyA, stepsOnlyB);
}

} // namespace forkpoint::align

namespace forkpoint::graph {

template <class Archive> void fields(Archive& archive, PairInputs& x)
{
    auto& [of] = x;
    archive(of);
}

} // namespace forkpoint::graph

namespace forkpoint::curves {

template <class Archive> void fields(Archive& archive, Point& x)
{
    auto& [step, value] = x;
    archive(step, value);
}

template <class Archive> void fields(Archive& archive, Overlay& x)
{
    auto& [name, a, b, onset, wholeRun, weightsA, weightsB] = x;
    archive(name, a, b, onset, wholeRun, weightsA, weightsB);
    if constexpr (Archive::kReads) {
        for (const auto* series : { &a, &b }) {
            for (std::size_t i = 1; i < series->size(); ++i) {
                if ((*series)[i].step <= (*series)[i - 1].step) {
                    archive.complain("the steps of a curve do not ascend");
                }
            }
        }
    }
}

} // namespace forkpoint::curves

namespace forkpoint::diagnose {

template <class Archive> void fields(Archive& archive, ContextEntry& x)
{
    auto& [section, key, a, b, expected, unreadable] = x;
    archive(section, key, a, b, expected, unreadable);
}

template <class Archive> void fields(Archive& archive, LaneMeasurement& x)
{
    auto& [rank, sameBytes, sampled, wholeDiffers, ofUpdate, statistics, plainError, parameterNorm, illConditioned] = x;
    archive(rank, sameBytes, sampled, wholeDiffers, ofUpdate, statistics, plainError, parameterNorm, illConditioned);
}

template <class Archive> void fields(Archive& archive, Judgement& x)
{
    auto& [error, floor, ratio, severity, structured] = x;
    archive(error, floor, ratio, severity, structured);
}

template <class Archive> void fields(Archive& archive, PairResult& x)
{
    auto& [severity, error, floor, ratio, inherited, added, unitRoundoff, structured, unchanged, differsInBits, undecidable, illConditioned, inheritable, worst, lanes,
           judgements, note]
        = x;
    archive(severity, error, floor, ratio, inherited, added, unitRoundoff, structured, unchanged, differsInBits, undecidable, illConditioned, inheritable, worst, lanes,
            judgements, note);
}

template <class Archive> void fields(Archive& archive, Fork& x)
{
    auto& [pair, after, proven] = x;
    archive(pair, after, proven);
}

template <class Archive> void fields(Archive& archive, GateSummary& x)
{
    auto& [state, worst, identical, noise, above, unmatched, invalid, pending, differing] = x;
    archive(state, worst, identical, noise, above, unmatched, invalid, pending);
    archive.appended(differing);
}

template <class Archive> void fields(Archive& archive, Verdict& x)
{
    auto& [severity, fork, closest, gates, ordered, measuredFloor, undecidable, pairs] = x;
    archive(severity, fork, closest, gates, ordered, measuredFloor, undecidable, pairs);
}

} // namespace forkpoint::diagnose

namespace forkpoint::compare {

template <class Archive> void fields(Archive& archive, Origin& x)
{
    auto& [label, path, identity] = x;
    archive(label, path, identity);
}

template <class Archive> void fields(Archive& archive, Provenance& x)
{
    auto& [producer, created, options, a, b, noise] = x;
    archive(producer, created, options, a, b, noise);
}

/// Without the alignment, which comes before, and what is kept, which is the file itself.
template <class Archive> void fields(Archive& archive, Structure& x)
{
    auto& [alignment, inputs, context, backend, noiseLabel, noisePairs, noiseAbove, kept] = x;
    archive(inputs, context, backend, noiseLabel, noisePairs, noiseAbove);
}

template <class Archive> void fields(Archive& archive, Outcome& x)
{
    auto& [verdict, curves] = x;
    archive(verdict, curves);
}

} // namespace forkpoint::compare
