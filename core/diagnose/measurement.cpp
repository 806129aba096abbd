// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnose/measurement.h"

#include "core/align/positions.h"
#include "core/align/samples.h"
#include "core/bundle/sketch.h"
#include "core/tensor/composed_sources.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace forkpoint::diagnose {

namespace {

using align::Assembly;
using align::Lane;
using align::Pair;
using bundle::Kind;
using bundle::Phase;

struct SourcePair {
    TensorSourcePtr a, b; ///< float32, of one shape
};

/// Element is 0 where noise decides the update: the gradients of both sides are within it and different. With momentum, equal gradients do not
/// help where what was summed so far is within the noise too and different.
class WellConditionedMask : public TensorSource {
public:
    WellConditionedMask(SourcePair gradient, std::vector<SourcePair> states, double noise)
        : m_gradient(std::move(gradient))
        , m_states(std::move(states))
        , m_noise(noise)
    {
    }
    DType dtype() const override { return DType::UInt8; }
    const Shape& shape() const override { return m_gradient.a->shape(); }

    Result<std::span<const std::byte>> read(const Box& box, ReadBuffer& buffer) const override
    {
        const auto n = static_cast<std::size_t>(box.elements());
        std::vector<Element> gradient(n), state(n);
        if (auto done = look(m_gradient, box, buffer, gradient); !done) {
            return tl::unexpected(done.error());
        }
        for (const auto& pair : m_states) {
            if (auto done = look(pair, box, buffer, state); !done) {
                return tl::unexpected(done.error());
            }
        }
        const auto out = buffer.take(n);
        for (std::size_t i = 0; i < n; ++i) {
            const bool noise = gradient[i].small && (gradient[i].differs || (state[i].small && state[i].differs));
            out[i] = noise ? std::byte { 0 } : std::byte { 1 };
        }
        return std::span<const std::byte>(out.data(), n);
    }

private:
    struct Element {
        bool small = true;    ///< within the noise on both sides, in every tensor looked at
        bool differs = false; ///< in one of them
    };

    Result<void> look(const SourcePair& pair, const Box& box, ReadBuffer& buffer, std::vector<Element>& elements) const
    {
        const auto a = pair.a->read(box, buffer.child(0)), b = pair.b->read(box, buffer.child(1));
        if (!a || !b) {
            return tl::unexpected(a ? b.error() : a.error());
        }
        for (std::size_t i = 0; i < elements.size(); ++i) {
            float x = 0, y = 0;
            std::memcpy(&x, a->data() + i * sizeof(float), sizeof(float));
            std::memcpy(&y, b->data() + i * sizeof(float), sizeof(float));
            const bool small = std::abs(static_cast<double>(x)) <= m_noise && std::abs(static_cast<double>(y)) <= m_noise;
            elements[i].small = elements[i].small && small;
            elements[i].differs = elements[i].differs || x != y;
        }
        return {};
    }

    SourcePair m_gradient;
    std::vector<SourcePair> m_states; ///< of the optimizer, on entry of the step
    double m_noise;
};

/// Statistics of two equal tensors from what the recorder noted: nothing needs to be read. Of a tensor of several parts only the counts are known.
metrics::PairStatistics statisticsOfEqual(const Assembly& assembly)
{
    metrics::PairStatistics s;
    s.count = s.bitEqual = elementCount(assembly.shape).value_or(0) * (isComplex(assembly.dtype) ? 2 : 1);
    s.finite = s.count;
    const auto* record = assembly.soleRecord();
    if (record && record->stats) {
        const auto& r = *record->stats;
        s.finite = s.count - r.nan - r.inf;
        s.nanBoth = r.nan;
        s.infBothEqual = r.inf;
        s.a.nan = s.b.nan = r.nan;
        s.a.min = s.b.min = r.min;
        s.a.max = s.b.max = r.max;
        s.a.mean = s.b.mean = r.mean;
        s.a.norm = s.b.norm = s.normA = s.normB = r.l2;
        if (s.finite > 0) {
            const double meanSquare = r.l2 * r.l2 / static_cast<double>(s.finite);
            s.a.std = s.b.std = std::sqrt(std::max(0.0, meanSquare - r.mean * r.mean));
        }
    }
    return s;
}

/// Parameters after the step: their update is compared, if it is known.
bool isParameterAfter(const Pair& pair, const Lane& lane)
{
    return pair.key.phase == Phase::Optimizer && pair.key.kind == Kind::Param && isFloating(lane.a.dtype) && isFloating(lane.b.dtype);
}

/// What digests, else folds, say; nullopt: nothing.
std::optional<bool> sameBits(const Assembly& a, const Assembly& b)
{
    const auto* x = a.soleRecord();
    const auto* y = b.soleRecord();
    if (x && y) {
        if (const auto same = bundle::sameBits(*x, *y)) {
            return same;
        }
    }
    const auto foldA = align::foldOf(a), foldB = align::foldOf(b);
    if (a.dtype != b.dtype || a.shape != b.shape || !foldA || !foldB) {
        return std::nullopt;
    }
    return *foldA == *foldB;
}

bool sameBytes(const Assembly& a, const Assembly& b) { return sameBits(a, b).value_or(false); }

Result<TensorSourcePtr> openPlaces(const bundle::Bundle& bundle, const Assembly& assembly, const std::optional<std::vector<std::int64_t>>& places)
{
    return places ? align::openAt(bundle, assembly, *places) : open(bundle, assembly);
}

/// The extrema were found among the samples: say where they are in the tensor.
void backInPlace(metrics::PairStatistics& statistics, const std::optional<std::vector<std::int64_t>>& places)
{
    for (auto* extremum : { &statistics.maxAbs, &statistics.maxRel }) {
        if (places && extremum->index >= 0) {
            extremum->index = (*places)[static_cast<std::size_t>(extremum->index)];
        }
    }
}

/// Digest or fold, where that is all that was recorded of some part.
std::optional<bundle::Detail> hashAlone(const Assembly& assembly)
{
    for (const auto& row : assembly.parts) {
        for (const auto& part : row) {
            const auto detail = part.record->detail;
            if ((detail == bundle::Detail::Digest || detail == bundle::Detail::Fold) && !part.record->bytes) {
                return detail;
            }
        }
    }
    return std::nullopt;
}

bool isHashAlone(const Lane& lane) { return hashAlone(lane.a) || hashAlone(lane.b); }

/// Why nothing can be measured: one side has no values, or none at places that the other side has.
Error notComparable(const Lane& lane)
{
    const auto a = hashAlone(lane.a), b = hashAlone(lane.b);
    if (a != b && !sameBits(lane.a, lane.b)) {
        const auto has = [](const auto& hash) { return hash ? fmt::format("only a {}", bundle::name(*hash)) : std::string("values and no such hash"); };
        return { ErrorCode::NotFound,
                 fmt::format("the reference has {} of it, the candidate {}: a hash tells whether another of its kind is equal, and nothing else. Record one "
                             "of the runs again with --like and the other's bundle, so that both hold the same",
                             has(a), has(b)),
                 {} };
    }
    if (a || b) {
        const auto same = sameBits(lane.a, lane.b);
        return { ErrorCode::NotFound,
                 fmt::format("{}: only a {} was recorded{}. Record it with --write full to see its values",
                             !same   ? "whether the bits are equal cannot be told"
                                 : *same ? "the values are equal, those before the step are not, and the update is not known"
                                         : "the bits differ, by how much is not known",
                             bundle::name(a ? *a : *b), a && b ? "" : a ? " of the reference" : " of the candidate"),
                 {} };
    }
    return { ErrorCode::NotFound, "only sketches were recorded, and the two sides' keep no common elements", {} };
}

} // namespace

Measurer::Measurer(const align::Alignment& alignment, MeasurerOptions options)
    : m_alignment(alignment)
    , m_options(options)
{
    for (const auto* side : { &alignment.a, &alignment.b }) {
        for (const auto* rank : side->ranks) {
            for (const auto& r : rank->tensors) {
                if (r.micro == bundle::kNoMicro) {
                    m_state.emplace(RecordKey { rank, r.step, r.phase, r.kind, r.module, r.param, r.slot }, &r);
                }
            }
        }
    }
}

const bundle::TensorRecord* Measurer::find(const align::Part& part, std::int32_t step, Phase phase, Kind kind, const std::string& slot) const
{
    const auto found = m_state.find({ part.rank, step, phase, kind, part.record->module, part.record->param, slot });
    return found == m_state.end() ? nullptr : found->second;
}

std::vector<std::string> Measurer::stateSlots(const align::Part& part) const
{
    std::vector<std::string> out;
    const RecordKey first { part.rank, part.record->step, Phase::Optimizer, Kind::OptimizerState, part.record->module, part.record->param, "" };
    for (auto i = m_state.lower_bound(first); i != m_state.end(); ++i) {
        const auto& [rank, step, phase, kind, module, param, slot] = i->first;
        if (std::tie(rank, step, phase, kind, module, param) != std::tie(std::get<0>(first), std::get<1>(first), std::get<2>(first), std::get<3>(first),
                                                                         std::get<4>(first), std::get<5>(first))) {
            break;
        }
        if (slot.ends_with("@before")) {
            out.push_back(slot);
        }
    }
    return out;
}

std::optional<Assembly> Measurer::counterpart(const Assembly& assembly, Phase phase, Kind kind, const std::string& slot) const
{
    align::PartGrid parts = assembly.parts.grid();
    for (auto& row : parts) {
        for (auto& part : row) {
            const auto* record = find(part, part.record->step, phase, kind, slot);
            if (!record || record->shape != part.record->shape) {
                return std::nullopt;
            }
            part.record = record;
        }
    }
    Assembly out = assembly;
    out.parts = std::move(parts);
    return out;
}

Result<TensorSourcePtr> Measurer::updateSource(const bundle::Bundle& bundle, const Assembly& after, const Places& places) const
{
    const auto before = counterpart(after, Phase::Start, Kind::Param);
    if (!before) {
        return fail(ErrorCode::NotFound, "no start value was recorded");
    }
    auto last = openPlaces(bundle, after, places), first = openPlaces(bundle, *before, places);
    if (!last || !first) {
        return last ? first : last;
    }
    return weightedSumSource({ std::move(*last), std::move(*first) }, { 1, -1 });
}

Measurer::Places Measurer::placesOf(const Lane& lane) const
{
    std::vector<const Assembly*> all { &lane.a, &lane.b };
    const auto startA = counterpart(lane.a, Phase::Start, Kind::Param), startB = counterpart(lane.b, Phase::Start, Kind::Param);
    const bool update = !lane.a.parts.empty() && lane.a.parts[0][0].record->phase == Phase::Optimizer && lane.a.parts[0][0].record->kind == Kind::Param;
    if (update && startA && startB) {
        all.insert(all.end(), { &*startA, &*startB });
    }
    const bool sampled = std::any_of(all.begin(), all.end(), [](const Assembly* assembly) { return align::isSampled(*assembly); });
    return sampled ? Places(align::commonSamples(all)) : std::nullopt;
}

Result<LaneTensors> Measurer::tensors(const Pair& pair, const Lane& lane) const
{
    const auto& bundleA = *m_alignment.a.bundle;
    const auto& bundleB = *m_alignment.b.bundle;
    const bool ofUpdate = isParameterAfter(pair, lane) && counterpart(lane.a, Phase::Start, Kind::Param) && counterpart(lane.b, Phase::Start, Kind::Param);
    const auto places = placesOf(lane);
    auto a = ofUpdate ? updateSource(bundleA, lane.a, places) : openPlaces(bundleA, lane.a, places);
    auto b = ofUpdate ? updateSource(bundleB, lane.b, places) : openPlaces(bundleB, lane.b, places);
    if (!a || !b) {
        return tl::unexpected(a ? b.error() : a.error());
    }
    const auto kept = places ? nullptr : align::keptMask(lane);
    return LaneTensors { align::keptOnly(std::move(*a), kept), align::keptOnly(std::move(*b), kept), ofUpdate };
}

Result<LaneMeasurement> Measurer::measureLane(const Pair& pair, const Lane& lane, std::stop_token stop) const
{
    LaneMeasurement out;
    out.rank = lane.rank;
    const auto& bundleA = *m_alignment.a.bundle;
    const auto& bundleB = *m_alignment.b.bundle;
    const bool parameterAfter = isParameterAfter(pair, lane);
    const auto startA = parameterAfter ? counterpart(lane.a, Phase::Start, Kind::Param) : std::nullopt;
    const auto startB = parameterAfter ? counterpart(lane.b, Phase::Start, Kind::Param) : std::nullopt;

    const bool hashes = isHashAlone(lane); // all that there is to go by
    if ((!m_options.readAll || hashes) && sameBytes(lane.a, lane.b) && (!startA || !startB || sameBytes(*startA, *startB))) {
        out.sameBytes = true;
        out.statistics = statisticsOfEqual(lane.a);
        return out;
    }
    if (hashes) {
        return tl::unexpected(notComparable(lane));
    }
    const auto places = placesOf(lane);
    if (places) {
        if (places->empty()) {
            return tl::unexpected(notComparable(lane));
        }
        out.sampled = std::ssize(*places);
        out.wholeDiffers = true;
    }
    auto a = openPlaces(bundleA, lane.a, places), b = openPlaces(bundleB, lane.b, places);
    if (!a || !b) {
        return tl::unexpected(a ? b.error() : a.error());
    }
    metrics::MeasureOptions options;
    options.percentiles = m_options.percentiles;
    const auto kept = places ? nullptr : align::keptMask(lane);
    auto plain = kept ? metrics::measureMasked(**a, **b, *kept, options, stop) : metrics::measure(**a, **b, options, stop);
    if (!plain) {
        return tl::unexpected(plain.error());
    }
    out.statistics = std::move(*plain);
    backInPlace(out.statistics, places);
    if (!startA || !startB) {
        return out;
    }
    out.plainError = out.statistics.relL2;
    out.parameterNorm = std::max(out.statistics.normA, out.statistics.normB);
    auto updateA = updateSource(bundleA, lane.a, places), updateB = updateSource(bundleB, lane.b, places);
    if (!updateA || !updateB) {
        return tl::unexpected(updateA ? updateB.error() : updateA.error());
    }
    auto update = metrics::measure(**updateA, **updateB, options, stop);
    if (!update) {
        return tl::unexpected(update.error());
    }
    out.ofUpdate = true;
    out.statistics = std::move(*update);
    backInPlace(out.statistics, places);
    return out;
}

bool Measurer::differsInBits(const Pair& pair) const
{
    return std::any_of(pair.lanes.begin(), pair.lanes.end(), [](const Lane& lane) {
        return lane.a.dtype == lane.b.dtype && lane.a.shape == lane.b.shape && !sameBits(lane.a, lane.b).value_or(true);
    });
}

Result<std::vector<LaneMeasurement>> Measurer::measure(const Pair& pair, std::stop_token stop) const
{
    std::vector<LaneMeasurement> out;
    for (const auto& lane : pair.lanes) {
        auto measured = measureLane(pair, lane, stop);
        if (!measured) {
            return tl::unexpected(measured.error());
        }
        out.push_back(std::move(*measured));
    }
    return out;
}

Result<std::optional<LaneMeasurement>> Measurer::measureWellConditioned(const Lane& lane, double gradientNoise,
                                                                        std::stop_token stop) const
{
    const auto places = placesOf(lane);
    // Both sides of a tensor that belongs to the parameter, as float32: the mask reads one element type only, and a sum of one widens.
    const auto beside = [&](Phase phase, Kind kind, const std::string& slot) -> Result<std::optional<SourcePair>> {
        const auto a = counterpart(lane.a, phase, kind, slot), b = counterpart(lane.b, phase, kind, slot);
        if (!a || !b || a->parts.empty() || b->parts.empty()) {
            return std::optional<SourcePair>();
        }
        auto openedA = openPlaces(*m_alignment.a.bundle, *a, places), openedB = openPlaces(*m_alignment.b.bundle, *b, places);
        if (!openedA || !openedB) {
            return tl::unexpected(openedA ? openedB.error() : openedA.error());
        }
        if (!isFloating((*openedA)->dtype()) || !isFloating((*openedB)->dtype())) {
            return std::optional<SourcePair>(); // a counter
        }
        auto wideA = weightedSumSource({ *openedA }, { 1.0 }), wideB = weightedSumSource({ *openedB }, { 1.0 });
        if (!wideA || !wideB) {
            return tl::unexpected(wideA ? wideB.error() : wideA.error());
        }
        const Shape shape = places ? Shape { std::ssize(*places) } : *lane.a.shape;
        if ((*wideA)->dtype() != DType::Float32 || (*wideB)->dtype() != DType::Float32 || (*wideA)->shape() != shape || (*wideB)->shape() != shape) {
            return std::optional<SourcePair>();
        }
        return SourcePair { std::move(*wideA), std::move(*wideB) };
    };
    auto gradient = beside(Phase::Optimizer, Kind::Grad, "");
    if (gradient && !*gradient) {
        gradient = beside(Phase::Reduce, Kind::Grad, "");
    }
    if (!gradient || !*gradient) {
        return gradient ? Result<std::optional<LaneMeasurement>>(std::nullopt) : tl::unexpected(gradient.error());
    }
    std::vector<SourcePair> states;
    for (const auto& slot : stateSlots(lane.a.parts[0][0])) {
        auto state = beside(Phase::Optimizer, Kind::OptimizerState, slot);
        if (!state) {
            return tl::unexpected(state.error());
        }
        if (*state) {
            states.push_back(std::move(**state));
        }
    }
    const WellConditionedMask mask(std::move(**gradient), std::move(states), gradientNoise);
    auto updateA = updateSource(*m_alignment.a.bundle, lane.a, places), updateB = updateSource(*m_alignment.b.bundle, lane.b, places);
    if (!updateA || !updateB) {
        return tl::unexpected(updateA ? updateB.error() : updateA.error());
    }
    auto statistics = metrics::measureMasked(**updateA, **updateB, mask, {}, stop);
    if (!statistics) {
        return tl::unexpected(statistics.error());
    }
    LaneMeasurement out;
    out.rank = lane.rank;
    out.ofUpdate = true;
    out.sampled = places ? std::ssize(*places) : 0;
    out.wholeDiffers = places.has_value();
    out.illConditioned = (places ? std::ssize(*places) : elementCount(lane.a.shape).value_or(0)) - statistics->count;
    out.statistics = std::move(*statistics);
    return std::optional(std::move(out));
}

bool Measurer::isUnchangedSince(const Pair& pair, std::int32_t previousStep) const
{
    const std::string& slot = pair.key.slot;
    const std::string plainSlot = slot.ends_with("@before") ? slot.substr(0, slot.size() - 7) : slot;
    const auto unchanged = [&](const Assembly& assembly, std::int32_t step) {
        return std::all_of(assembly.parts.begin(), assembly.parts.end(), [&](const auto& row) {
            return std::all_of(row.begin(), row.end(), [&](const align::Part& part) {
                const auto* before = find(part, step, Phase::Optimizer, pair.key.kind, plainSlot);
                return before && bundle::sameBits(*before, *part.record).value_or(false);
            });
        });
    };
    return !pair.lanes.empty() && std::all_of(pair.lanes.begin(), pair.lanes.end(), [&](const Lane& lane) {
        return unchanged(lane.a, previousStep) && unchanged(lane.b, previousStep + m_alignment.stepOffset);
    });
}

} // namespace forkpoint::diagnose
