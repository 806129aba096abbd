// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace forkpoint::align {

namespace {

constexpr double kAgreement = 1e-3;
constexpr double kNear = 0.2;       ///< apart by no more, losses of which one may be undivided tell that, also after a fork: a wrong factor is two or more
constexpr double kRounding = 1e-5; ///< of a loss that several ranks computed from the same; large parts of one batch may agree within 1e-3

double weightOf(Reduction reduction, std::size_t parts)
{
    return reduction == Reduction::Mean ? 1.0 / static_cast<double>(parts) : 1.0;
}

/// The reductions to try, the likeliest first. Equal losses on all ranks are replicas, unless that is known not to fit.
std::vector<SideWeights> candidates(const LossGrid& grid, bool equalAreReplicas, std::size_t undivided)
{
    const std::size_t micros = grid.size(), ranks = grid.empty() ? 0 : grid[0].size();
    std::vector<Reduction> byRank { Reduction::One }, byMicro { Reduction::One };
    if (ranks > 1) {
        byRank = { Reduction::Mean, Reduction::Sum };
        const bool equal = std::all_of(grid.begin(), grid.end(), [](const std::vector<double>& row) {
            return std::all_of(row.begin(), row.end(), [&](double loss) { return loss == row[0]; });
        });
        if (equal) {
            byRank = { equalAreReplicas ? Reduction::Replicated : Reduction::Sum };
        }
    }
    if (micros > 1) {
        byMicro = { Reduction::Sum, Reduction::Mean };
    } else if (undivided > 1) {
        byMicro.push_back(Reduction::Mean);
    }
    std::vector<SideWeights> out;
    for (const auto rank : byRank) {
        for (const auto micro : byMicro) {
            out.push_back({ rank, micro, weightOf(rank, ranks) * weightOf(micro, std::max(micros, undivided)) });
        }
    }
    return out;
}

} // namespace

LossGrid lossGrid(const Side& side, std::int32_t step, const std::vector<std::size_t>& ranks, const std::vector<std::int32_t>& micros)
{
    LossGrid grid(micros.size(), std::vector<double>(ranks.size(), std::numeric_limits<double>::quiet_NaN()));
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        for (const auto& scalar : side.ranks[ranks[r]]->scalars) {
            if (scalar.step != step || scalar.name != "loss") {
                continue;
            }
            const auto micro = std::find(micros.begin(), micros.end(), std::max(scalar.micro, 0));
            if (micro != micros.end()) {
                grid[static_cast<std::size_t>(micro - micros.begin())][r] = scalar.value;
            }
        }
    }
    return grid;
}

bool areLossesOfParts(const LossGrid& grid, const std::vector<std::size_t>& sharers)
{
    for (const auto& row : grid) {
        std::map<std::size_t, double> first; // by group
        for (std::size_t rank = 0; rank < std::min(row.size(), sharers.size()); ++rank) {
            if (sharers[rank] == kNoGroup) {
                continue;
            }
            const double loss = first.emplace(sharers[rank], row[rank]).first->second;
            if (std::abs(row[rank] - loss) > kRounding * std::max(std::abs(row[rank]), std::abs(loss))) { // NaN never does
                return true;
            }
        }
    }
    return false;
}

double totalLoss(const LossGrid& grid, const SideWeights& weights)
{
    double total = 0;
    for (const auto& row : grid) {
        if (weights.ranks == Reduction::Replicated) {
            total += row.empty() ? 0 : row[0] * weights.weight;
            continue;
        }
        for (const double loss : row) {
            total += loss * weights.weight;
        }
    }
    return total;
}

LossWeights lossWeights(const LossGrid& a, const LossGrid& b, const std::optional<LossWeights>& fallback, std::size_t undivided)
{
    LossWeights best;
    double bestError = std::numeric_limits<double>::infinity();
    const auto tryAll = [&](bool equalAreReplicas) {
        for (const auto& wa : candidates(a, equalAreReplicas, undivided)) {
            for (const auto& wb : candidates(b, equalAreReplicas, undivided)) {
                const double x = totalLoss(a, wa), y = totalLoss(b, wb);
                const double scale = std::max(std::abs(x), std::abs(y));
                const double error = scale == 0 ? 0 : std::abs(x - y) / scale;
                if (error < bestError - 1e-12) { // NaN never wins; on a tie the earlier candidate stays
                    bestError = error;
                    best = { wa, wb, true };
                }
            }
        }
        const bool divided = best.a.weight != best.b.weight;
        return bestError <= (undivided > 1 && divided ? kNear : kAgreement);
    };
    if (tryAll(true) || tryAll(false)) {
        return best;
    }
    const auto likeliestA = candidates(a, true, 1), likeliestB = candidates(b, true, 1);
    if (fallback) {
        best = *fallback;
    } else {
        best = { likeliestA.front(), likeliestB.front(), false }; // ranks by mean (or replicated), micro-steps by sum
    }
    best.agreed = likeliestA.size() == 1 && likeliestB.size() == 1; // nothing to choose from: the losses are simply compared
    return best;
}

} // namespace forkpoint::align
