// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/portable/kept_lanes.h"

#include "core/bundle/shuffle.h"
#include "core/heatmap/pair.h"
#include "core/portable/fields.h"
#include "core/tensor/composed_sources.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <new>
#include <set>

namespace forkpoint::portable {

namespace {

using Bytes = std::vector<std::byte>;
using Form = compare::KeptTensors::Form;

constexpr std::size_t kWorstPairs = 64;
constexpr std::uint64_t kSmallRaw = std::uint64_t { 1 } << 18; ///< of both sides; after the worst pairs come those that cost little
constexpr std::uint64_t kMostRaw = std::uint64_t { 1 } << 30; ///< of a section: both sides of a lane, or the levels of its picture
constexpr std::uint64_t kSmall = std::uint64_t { 1 } << 20;   ///< a lane may take this much whatever its share
constexpr std::uint64_t kLeast = 4096;                        ///< with less room than this there is no use in looking further

/// Bytes of a tensor; nullopt if they cannot be addressed.
std::optional<std::uint64_t> bytesOf(DType dtype, const Shape& shape)
{
    std::int64_t bytes = 0;
    const auto elements = elementCount(shape);
    if (!elements || __builtin_mul_overflow(*elements, static_cast<std::int64_t>(itemSize(dtype)), &bytes)) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(bytes);
}

Result<Bytes> readWhole(const TensorSource& source, const std::stop_token& stop)
{
    Bytes out;
    out.reserve(static_cast<std::size_t>(bytesOf(source.dtype(), source.shape()).value_or(0)));
    ReadBuffer buffer;
    for (const auto& box : source.preferredChunks()) {
        if (stop.stop_requested()) {
            return fail(ErrorCode::Cancelled, "cancelled while keeping tensors");
        }
        const auto chunk = source.read(box, buffer);
        if (!chunk) {
            return tl::unexpected(chunk.error());
        }
        out.insert(out.end(), chunk->begin(), chunk->end());
    }
    return out;
}

/// True where B is stored as what it differs from A in: near equal numbers then become zeros.
bool isDifference(const KeptLane& lane) { return lane.dtypeA == lane.dtypeB && elementCount(lane.shapeA) == elementCount(lane.shapeB); }

void exclusiveOr(Bytes& b, std::span<const std::byte> a)
{
    for (std::size_t i = 0; i < b.size(); ++i) {
        b[i] ^= a[i];
    }
}

Bytes shuffled(std::span<const std::byte> from, std::size_t itemSize)
{
    Bytes out(from.size());
    bundle::shuffle(from, out, itemSize);
    return out;
}

void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

class LaneWriter {
public:
    LaneWriter(ContainerWriter& out, const compare::Snapshot& comparison, std::uint64_t budget, std::stop_token stop)
        : m_out(out)
        , m_comparison(comparison)
        , m_measurer(comparison.structure().alignment)
        , m_budget(budget)
        , m_stop(std::move(stop))
    {
    }

    std::uint64_t room() const
    {
        const std::uint64_t used = m_out.size() + m_tableBytes + kLeast / 4;
        return used < m_budget ? m_budget - used : 0;
    }

    /// True if the lane was kept. Only failures of writing, and Cancelled, are failures.
    Result<bool> keep(std::size_t pair, std::uint64_t share, std::uint64_t mostRaw)
    try {
        const auto& it = m_comparison.structure().alignment.pairs[pair];
        const std::size_t lane = m_comparison.result(pair).worst;
        const auto opened = m_measurer.tensors(it, it.lanes[lane]);
        if (!opened) {
            return false;
        }
        KeptLane entry { pair, lane, opened->ofUpdate, opened->a->dtype(), opened->b->dtype(), opened->a->shape(), opened->b->shape(), 0, std::nullopt };
        const std::uint64_t raw = bytesOf(entry.dtypeA, entry.shapeA).value_or(kMostRaw) + bytesOf(entry.dtypeB, entry.shapeB).value_or(kMostRaw);
        if (raw > mostRaw) {
            return false;
        }
        const std::uint64_t allowed = std::max(share, std::min(room(), kSmall));
        if (raw <= kMostRaw && raw / 8 <= allowed) {
            auto kept = keepElements(entry, *opened, allowed);
            if (!kept || *kept) {
                return kept;
            }
        }
        return keepPicture(entry, *opened, allowed);
    } catch (const std::bad_alloc&) {
        return false; // the machine has no room for it, whatever the file has
    }

    std::vector<KeptLane> take() { return std::move(m_lanes); }

private:
    static Result<bool> leftOut(const Error& error) { return error.code == ErrorCode::Cancelled ? Result<bool>(tl::unexpected(error)) : false; }

    Result<bool> keepElements(const KeptLane& entry, const diagnose::LaneTensors& tensors, std::uint64_t allowed)
    {
        const auto a = readWhole(*tensors.a, m_stop);
        if (!a) {
            return leftOut(a.error());
        }
        auto b = readWhole(*tensors.b, m_stop);
        if (!b) {
            return leftOut(b.error());
        }
        if (isDifference(entry)) {
            exclusiveOr(*b, *a);
        }
        Bytes raw = shuffled(*a, itemSize(entry.dtypeA));
        append(raw, shuffled(*b, itemSize(entry.dtypeB)));
        const auto packed = pack(raw);
        return packed ? add(entry, *packed, raw.size(), allowed) : tl::unexpected(packed.error());
    }

    /// With the lowest level whose cells fit: packed they take a quarter or less of what they take in memory, or not.
    Result<bool> keepPicture(const KeptLane& entry, const diagnose::LaneTensors& tensors, std::uint64_t allowed)
    {
        for (const std::uint64_t factor : { 4u, 1u }) {
            heatmap::PyramidOptions options;
            options.memoryBudget = static_cast<std::size_t>(std::min(factor * allowed, kMostRaw));
            const auto pyramid = heatmap::Pyramid::build(tensors.a, tensors.b, heatmap::overviewAxes(heatmap::pictureShape(*tensors.a)), options, m_stop);
            if (!pyramid) {
                return leftOut(pyramid.error());
            }
            auto kept = keepLevels(entry, **pyramid, allowed);
            if (!kept || *kept) {
                return kept;
            }
        }
        return false;
    }

    Result<bool> keepLevels(KeptLane entry, const heatmap::Pyramid& pyramid, std::uint64_t allowed)
    {
        auto levels = pyramid.stored();
        Bytes raw = shuffled(levels.values, pyramid.wide() ? sizeof(double) : sizeof(float));
        append(raw, shuffled(levels.flags, sizeof(std::uint16_t)));
        if (raw.size() > kMostRaw) {
            return false;
        }
        const auto packed = pack(raw);
        if (!packed) {
            return tl::unexpected(packed.error());
        }
        if (packed->size() > allowed) {
            return false;
        }
        PictureTable picture { levels.axes, levels.rtol, levels.atol, levels.counts, levels.first, {} };
        for (const auto mode : heatmap::kModes) {
            auto histogram = heatmap::histogramOf(pyramid, mode, m_stop);
            if (!histogram) {
                return leftOut(histogram.error());
            }
            picture.histograms.push_back(std::move(*histogram));
        }
        entry.dtypeA = levels.dtypeA;
        entry.dtypeB = levels.dtypeB;
        entry.shapeA = entry.shapeB = levels.shape;
        entry.picture = std::move(picture);
        return add(std::move(entry), *packed, raw.size(), allowed);
    }

    Result<bool> add(KeptLane entry, const Bytes& packed, std::uint64_t raw, std::uint64_t allowed)
    {
        FieldWriter size;
        size(entry);
        const std::uint64_t tableBytes = size.take().size() + 16; // unpacked: the table will not be larger
        if (packed.size() > allowed || packed.size() + tableBytes + kEntryBytes > room()) {
            return false;
        }
        const auto section = m_out.addPacked(packed, raw);
        if (!section) {
            return tl::unexpected(section.error());
        }
        entry.section = *section;
        m_tableBytes += tableBytes;
        m_lanes.push_back(std::move(entry));
        return true;
    }

    ContainerWriter& m_out;
    const compare::Snapshot& m_comparison;
    diagnose::Measurer m_measurer;
    std::uint64_t m_budget;
    std::uint64_t m_tableBytes = 0;
    std::stop_token m_stop;
    std::vector<KeptLane> m_lanes;
};

class KeptInFile : public compare::KeptTensors {
public:
    KeptInFile(std::shared_ptr<const Container> file, compare::Provenance provenance, KeptTable table)
        : m_file(std::move(file))
        , m_provenance(std::move(provenance))
        , m_leftOut(table.leftOut)
    {
        std::set<std::size_t> pairs;
        for (auto& lane : table.lanes) {
            pairs.insert(lane.pair);
            m_lanes.emplace(std::pair(lane.pair, lane.lane), std::move(lane));
        }
        m_kept = pairs.size();
    }

    const compare::Provenance& provenance() const override { return m_provenance; }
    std::size_t kept() const override { return m_kept; }
    std::size_t leftOut() const override { return m_leftOut; }

    Form form(std::size_t pair, std::size_t lane) const override
    {
        const auto found = m_lanes.find({ pair, lane });
        return found == m_lanes.end() ? Form::Nothing : found->second.picture ? Form::Picture : Form::Elements;
    }

    Result<diagnose::LaneTensors> tensors(std::size_t pair, std::size_t lane) const override
    {
        const auto found = m_lanes.find({ pair, lane });
        if (found == m_lanes.end() || found->second.picture) {
            return fail(ErrorCode::NotFound, "the elements of this tensor are not in the file: open the two runs to see them", m_file->label());
        }
        const auto& it = found->second;
        const std::uint64_t bytesA = *bytesOf(it.dtypeA, it.shapeA), bytesB = *bytesOf(it.dtypeB, it.shapeB);
        const auto raw = readExactly(it.section, bytesA + bytesB);
        if (!raw) {
            return tl::unexpected(raw.error());
        }
        const auto packedA = std::span(*raw).first(static_cast<std::size_t>(bytesA)), packedB = std::span(*raw).subspan(static_cast<std::size_t>(bytesA));
        Bytes a(packedA.size()), b(packedB.size());
        bundle::unshuffle(packedA, a, itemSize(it.dtypeA));
        bundle::unshuffle(packedB, b, itemSize(it.dtypeB));
        if (isDifference(it)) {
            exclusiveOr(b, a);
        }
        auto sourceA = memorySource(it.dtypeA, it.shapeA, std::move(a)), sourceB = memorySource(it.dtypeB, it.shapeB, std::move(b));
        if (!sourceA || !sourceB) {
            return tl::unexpected(sourceA ? sourceB.error() : sourceA.error());
        }
        return diagnose::LaneTensors { std::move(*sourceA), std::move(*sourceB), it.ofUpdate };
    }

    Result<compare::KeptPicture> picture(std::size_t pair, std::size_t lane) const override
    {
        const auto found = m_lanes.find({ pair, lane });
        if (found == m_lanes.end() || !found->second.picture) {
            return fail(ErrorCode::NotFound, "the picture of this tensor is not in the file: open the two runs to see it", m_file->label());
        }
        const auto& it = found->second;
        const auto& table = *it.picture;
        heatmap::StoredLevels levels { it.shapeA, table.axes, it.dtypeA, it.dtypeB, table.rtol, table.atol, table.counts, table.first, {}, {} };
        const auto sizes = heatmap::storedSizes(levels);
        if (!sizes) {
            return tl::unexpected(sizes.error());
        }
        const auto raw = readExactly(it.section, sizes->values + sizes->flags);
        if (!raw) {
            return tl::unexpected(raw.error());
        }
        levels.values.resize(sizes->values);
        levels.flags.resize(sizes->flags);
        bundle::unshuffle(std::span(*raw).first(sizes->values), levels.values, sizes->number);
        bundle::unshuffle(std::span(*raw).subspan(sizes->values), levels.flags, sizeof(std::uint16_t));
        auto pyramid = heatmap::Pyramid::restored(std::move(levels));
        if (!pyramid) {
            return tl::unexpected(pyramid.error());
        }
        compare::KeptPicture out { std::move(*pyramid), {}, it.ofUpdate };
        for (const auto& histogram : table.histograms) {
            out.histograms[histogram.mode] = std::make_shared<const heatmap::Histogram>(histogram);
        }
        return out;
    }

private:
    Result<Bytes> readExactly(std::size_t section, std::uint64_t bytes) const
    {
        if (bytes > kMostRaw || m_file->section(section).raw != bytes) {
            return fail(ErrorCode::Corrupt, fmt::format("section {} has {} bytes, and its tensor needs {}", section, m_file->section(section).raw, bytes),
                        m_file->label());
        }
        return m_file->read(section, bytes);
    }

    std::shared_ptr<const Container> m_file;
    compare::Provenance m_provenance;
    std::map<std::pair<std::size_t, std::size_t>, KeptLane> m_lanes;
    std::size_t m_kept = 0, m_leftOut = 0;
};

/// True if there is a difference between tensors whose elements can be looked at.
bool isWorthKeeping(const compare::Snapshot& comparison, std::size_t pair)
{
    const auto& it = comparison.structure().alignment.pairs[pair];
    const auto& result = comparison.result(pair);
    const auto* lane = result.worstLane();
    if (it.status != align::PairStatus::Matched || !lane || lane->sameBytes || lane->sampled > 0 || result.worst >= it.lanes.size()) {
        return false;
    }
    return lane->statistics.bitEqual < lane->statistics.count;
}

bool isSound(const heatmap::LogBins& bins)
{
    return bins.first >= -20000 && bins.first <= 20000 && bins.counts.size() <= 40000
        && std::all_of(bins.counts.begin(), bins.counts.end(), [](std::int64_t n) { return n >= 0; });
}

} // namespace

std::vector<std::size_t> candidates(const compare::Snapshot& comparison)
{
    std::vector<std::size_t> first, rest;
    const auto& verdict = comparison.outcome()->verdict;
    if (verdict.fork) {
        first.push_back(verdict.fork->pair);
    }
    if (verdict.closest) {
        first.push_back(*verdict.closest);
    }
    for (std::size_t i = 0; i < comparison.pairs(); ++i) {
        rest.push_back(i);
    }
    std::stable_sort(rest.begin(), rest.end(), [&](std::size_t x, std::size_t y) {
        const auto &a = comparison.result(x), &b = comparison.result(y);
        return a.severity != b.severity ? a.severity > b.severity : a.ratio > b.ratio;
    });
    if (verdict.fork) { // what it was computed from comes after the worst pair, before the others
        rest.insert(rest.begin() + (rest.empty() ? 0 : 1), verdict.fork->after.begin(), verdict.fork->after.end());
    }
    first.insert(first.end(), rest.begin(), rest.end());
    std::vector<std::size_t> out;
    std::set<std::size_t> seen;
    for (const auto pair : first) {
        if (isWorthKeeping(comparison, pair) && seen.insert(pair).second) {
            out.push_back(pair);
        }
    }
    return out;
}

Result<KeptTable> writeLanes(ContainerWriter& out, const compare::Snapshot& comparison, std::uint64_t budget, Progress* progress, std::stop_token stop)
{
    const auto all = candidates(comparison);
    LaneWriter writer(out, comparison, budget, stop);
    std::size_t kept = 0;
    const std::uint64_t others = std::min(out.size() + budget / 10, budget);
    std::size_t reports = 0;
    for (std::size_t i = 0; i < all.size() && writer.room() >= kLeast; ++i) {
        if (progress && i * 100 / all.size() >= reports) {
            progress->report("keep", static_cast<double>(reports++) / 100);
        }
        const bool isWorst = i < kWorstPairs;
        if (!isWorst && out.size() >= others) {
            break;
        }
        const auto done = writer.keep(all[i], writer.room() / (i == 0 ? 2 : 4), isWorst ? std::numeric_limits<std::uint64_t>::max() : kSmallRaw);
        if (!done) {
            return tl::unexpected(done.error());
        }
        kept += *done ? 1u : 0u;
        if (stop.stop_requested()) {
            return fail(ErrorCode::Cancelled, "cancelled while keeping tensors");
        }
    }
    if (progress) {
        progress->report("keep", 1);
    }
    return KeptTable { writer.take(), all.size() - kept };
}

std::shared_ptr<const compare::KeptTensors> keptTensors(std::shared_ptr<const Container> file, compare::Provenance provenance, KeptTable table)
{
    return std::make_shared<const KeptInFile>(std::move(file), std::move(provenance), std::move(table));
}

std::string check(const KeptTable& table, const align::Alignment& alignment, std::size_t sections)
{
    for (const auto& it : table.lanes) {
        const auto bytesA = bytesOf(it.dtypeA, it.shapeA), bytesB = bytesOf(it.dtypeB, it.shapeB);
        if (it.pair >= alignment.pairs.size() || it.lane >= alignment.pairs[it.pair].lanes.size() || it.section >= sections) {
            return "a kept tensor belongs to no pair";
        }
        if (!bytesA || !bytesB || (!it.picture && *bytesA + *bytesB > kMostRaw)) {
            return "a kept tensor has an impossible shape";
        }
        if (!it.picture) {
            continue;
        }
        if (it.picture->histograms.size() != std::size(heatmap::kModes)) {
            return "the histograms of a kept picture are not one for each mode";
        }
        for (std::size_t i = 0; i < it.picture->histograms.size(); ++i) {
            const auto& h = it.picture->histograms[i];
            if (h.mode != heatmap::kModes[i] || !isSound(h.negative) || !isSound(h.positive) || h.zeros < 0 || !std::isfinite(h.min) || !std::isfinite(h.max)) {
                return "the histogram of a kept picture is none";
            }
        }
    }
    return {};
}

} // namespace forkpoint::portable
