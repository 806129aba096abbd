// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/progress_steps.h"
#include "core/bundle/bundle.h"
#include "core/bundle/extent_source.h"
#include "core/bundle/sha256.h"
#include "core/bundle/sketch.h"

#include <fmt/format.h>
#include <map>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tuple>

namespace forkpoint::bundle {

namespace {

/// Records that share their bytes: read once.
struct Group {
    const RankData* rank = nullptr;
    std::vector<const TensorRecord*> records;
    std::uint64_t size = 0;
    std::optional<Digest> digest;
    std::optional<Error> error;
};

std::uint64_t rawBytes(const TensorRecord& record)
{
    return static_cast<std::uint64_t>(elementCount(record.shape).value_or(0)) * itemSize(record.dtype);
}

Result<Digest> digestOf(const Bundle& bundle, const Group& group, ReadBuffer& buffer, ProgressSteps& progress, const std::stop_token& stop)
{
    Result<TensorSourcePtr> source = bundle.source(*group.rank, *group.records.front());
    if (!source)
        return tl::unexpected(std::move(source.error()));
    Sha256 hash;
    for (const Box& box : (*source)->preferredChunks()) {
        if (stop.stop_requested())
            return fail(ErrorCode::Cancelled, "verification was cancelled");
        Result<std::span<const std::byte>> bytes = (*source)->read(box, buffer);
        if (!bytes)
            return tl::unexpected(std::move(bytes.error()));
        hash.add(*bytes);
        progress.add(bytes->size());
    }
    if (const std::optional<Digest> digest = hash.finish())
        return *digest;
    return fail(ErrorCode::Unsupported, "this machine's OpenSSL does not offer SHA-256");
}

} // namespace

Result<VerifyReport> verify(const Bundle& bundle, Progress* progress, std::stop_token stop)
{
    VerifyReport report;
    report.problems = bundle.problems();

    // Same bytes, read the same way: the frames follow from the offset, the item size from the type.
    using Key = std::tuple<const RankData*, std::string, std::uint64_t, std::uint64_t, Codec, Filter, std::uint64_t, std::size_t>;
    std::map<Key, std::size_t> places;
    std::vector<Group> groups;
    std::vector<std::pair<const RankData*, const TensorRecord*>> folded; ///< small sketches, which have all elements and a fold
    std::uint64_t total = 0;
    for (const RankData& rank : bundle.ranks()) {
        for (const TensorRecord& record : rank.tensors) {
            ++report.tensors;
            const std::uint64_t size = rawBytes(record);
            if (!record.digest && record.fold && record.bytes)
                folded.push_back({&rank, &record});
            if (!record.digest || (!record.bytes && elementCount(record.shape) != 0))
                continue; // no bytes to check; if they are damaged, opening said so
            const Extent extent = record.bytes.value_or(Extent{});
            const Key key(&rank, extent.file, extent.offset, size, extent.codec, extent.filter, extent.frameSize, itemSize(record.dtype));
            const auto [place, isNew] = places.try_emplace(key, groups.size());
            if (isNew) {
                groups.push_back({&rank, {}, size, {}, {}});
                total += size;
            }
            groups[place->second].records.push_back(&record);
        }
    }

    ProgressSteps steps(progress, "verify", total);
    tbb::enumerable_thread_specific<ReadBuffer> buffers;
    tbb::parallel_for(std::size_t{0}, groups.size(), [&](std::size_t i) {
        if (stop.stop_requested())
            return;
        if (Result<Digest> digest = digestOf(bundle, groups[i], buffers.local(), steps, stop))
            groups[i].digest = *digest;
        else
            groups[i].error = std::move(digest.error());
    });
    if (stop.stop_requested())
        return fail(ErrorCode::Cancelled, "verification was cancelled");

    for (const Group& group : groups) {
        if (group.digest)
            report.bytes += group.size;
        for (const TensorRecord* record : group.records) {
            if (group.digest == record->digest) {
                ++report.checked;
                continue;
            }
            const std::string where = fmt::format("{}/tensors.jsonl id {}", group.rank->folder.filename().string(), record->id);
            report.problems.push_back(
                {Problem::Level::Warning, where,
                 group.error
                     ? fmt::format("the bytes of {} cannot be read: {}", describe(*record), group.error->text())
                     : fmt::format("the bytes of {} do not have the digest that was recorded: they changed afterwards. Copy the bundle "
                                   "again, and trust no comparison of this tensor",
                                   describe(*record))});
        }
    }
    for (const auto& [rank, record] : folded) {
        const Result<TensorSourcePtr> source = bundle.source(*rank, *record);
        const Result<std::uint64_t> fold = source ? foldOf(**source, *record, stop) : tl::unexpected(source.error());
        report.bytes += fold ? rawBytes(*record) : 0;
        if (fold && *fold == record->fold) {
            ++report.checked;
            continue;
        }
        report.problems.push_back({Problem::Level::Warning, fmt::format("{}/tensors.jsonl id {}", rank->folder.filename().string(), record->id),
                                   fold ? fmt::format("the elements of {} do not have the fold that was recorded: they changed afterwards. Copy the "
                                                      "bundle again, and trust no comparison of this tensor",
                                                      describe(*record))
                                        : fmt::format("the elements of {} cannot be read: {}", describe(*record), fold.error().text())});
    }
    steps.finish();
    return report;
}

} // namespace forkpoint::bundle
