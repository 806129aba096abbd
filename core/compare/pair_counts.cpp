// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/compare/pair_counts.h"

namespace forkpoint::compare {

using align::PairStatus;
using diagnose::Severity;

namespace {

std::size_t& fieldOf(PairCounts& counts, const diagnose::PairResult& result)
{
    return result.differsInBits                    ? counts.differing
        : result.lanes.empty()                     ? counts.unreadable
        : result.undecidable                       ? counts.undecidable
        : result.severity == Severity::Identical   ? counts.identical
        : result.severity == Severity::Noise       ? counts.noise
        : result.severity == Severity::Unmatched   ? counts.unreadable
                                                   : counts.above;
}

} // namespace

PairCounts countPairs(const Snapshot& comparison)
{
    PairCounts counts;
    const auto& alignment = comparison.structure().alignment;
    for (std::size_t i = 0; i < comparison.ready(); ++i) {
        const auto& pair = alignment.pairs[i];
        switch (pair.status) {
        case PairStatus::Matched:
            if (comparison.result(i).worstLane() && diagnose::mayDiffer(alignment, pair)) {
                ++counts.byDesign;
            } else {
                ++fieldOf(counts, comparison.result(i));
            }
            break;
        case PairStatus::OnlyA:
            ++counts.onlyA;
            break;
        case PairStatus::OnlyB:
            ++counts.onlyB;
            break;
        case PairStatus::Unrelated:
            ++counts.unrelated;
            break;
        case PairStatus::NotObserved:
            break;
        }
    }
    return counts;
}

ForkEvidence forkEvidence(const Snapshot& comparison)
{
    const auto& fork = *comparison.outcome()->verdict.fork;
    const auto& structure = comparison.structure();
    return !fork.after.empty()                            ? ForkEvidence::InputsAgree
        : structure.alignment.ranksOfOneRun               ? ForkEvidence::MustBeEqual
        : fork.pair == 0                                  ? ForkEvidence::FirstRecorded
        : fork.pair < structure.inputs.of.size() && !structure.inputs.of[fork.pair].empty() ? ForkEvidence::InputsNotCompared
                                                          : ForkEvidence::InputsNotRecorded;
}

} // namespace forkpoint::compare
