// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"
#include "core/metrics/pair_statistics.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace forkpoint::diagnose {

/// What was measured on one lane of a pair.
struct LaneMeasurement {
    int rank = -1;            ///< of B; -1 for an assembly
    bool sameBytes = false;   ///< equal digests: nothing was read, the sums of the difference are zero
    std::int64_t sampled = 0; ///< elements compared if only sketches were recorded; 0: all of them were
    bool wholeDiffers = false; ///< sampled: the folds say that the whole differs, or nothing says that it does not
    bool ofUpdate = false;    ///< parameters after the step: statistics are of (after - start)
    metrics::PairStatistics statistics;
    double plainError = 0;    ///< ofUpdate: relative L2 difference of the parameters themselves
    double parameterNorm = 0; ///< ofUpdate: larger 2-norm of the parameter
    std::int64_t illConditioned = 0; ///< elements left out because noise-sized gradients decide them
};

struct MeasurerOptions {
    bool readAll = false;     ///< read what the digests say is equal too
    bool percentiles = false; ///< find the percentiles of |d|: reads every differing pair several times
};

/// The tensors that a lane's statistics are of.
struct LaneTensors {
    TensorSourcePtr a, b;
    bool ofUpdate = false; ///< as LaneMeasurement
};

/// Opens and measures the lanes of an alignment's pairs. Safe to use from many threads.
class Measurer {
public:
    explicit Measurer(const align::Alignment& alignment, MeasurerOptions options = {});

    /// All lanes of a matched pair. Fails as reading does.
    Result<std::vector<LaneMeasurement>> measure(const align::Pair& pair, std::stop_token stop) const;

    /// True if what was recorded of the bits (digests, else folds) proves that a lane's sides differ.
    bool differsInBits(const align::Pair& pair) const;

    /// What measure() reads of one lane of a matched pair. Fails as opening does.
    Result<LaneTensors> tensors(const align::Pair& pair, const align::Lane& lane) const;

    /// One lane of an optimizer/param pair again, without the elements whose update noise decides: the gradient is at most `gradientNoise` on
    /// both sides, and it differs, or the optimizer's state does and is as small. nullopt if no gradient was recorded.
    Result<std::optional<LaneMeasurement>> measureWellConditioned(const align::Lane& lane, double gradientNoise,
                                                                  std::stop_token stop) const;

    /// True if every part of the pair's tensors has the bytes that the same tensor had after the update of the step before, on both sides.
    bool isUnchangedSince(const align::Pair& pair, std::int32_t previousStep) const;

private:
    /// Flat indices of the elements that are compared; nullopt: all.
    using Places = std::optional<std::vector<std::int64_t>>;
    using RecordKey = std::tuple<const bundle::RankData*, std::int32_t, bundle::Phase, bundle::Kind, std::string, std::string, std::string>;

    const bundle::TensorRecord* find(const align::Part& part, std::int32_t step, bundle::Phase phase, bundle::Kind kind, const std::string& slot) const;
    std::optional<align::Assembly> counterpart(const align::Assembly& assembly, bundle::Phase phase, bundle::Kind kind, const std::string& slot = "") const;
    std::vector<std::string> stateSlots(const align::Part& part) const; ///< of the optimizer on entry of the step
    Result<TensorSourcePtr> updateSource(const bundle::Bundle& bundle, const align::Assembly& after, const Places& places) const;
    Places placesOf(const align::Lane& lane) const;
    Result<LaneMeasurement> measureLane(const align::Pair& pair, const align::Lane& lane, std::stop_token stop) const;

    const align::Alignment& m_alignment;
    MeasurerOptions m_options;
    std::map<RecordKey, const bundle::TensorRecord*> m_state; ///< records of phases start, reduce and optimizer
};

} // namespace forkpoint::diagnose
