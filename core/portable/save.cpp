// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/portable/portable.h"

#include "core/bundle/sha256.h"
#include "core/portable/kept_lanes.h"
#include "core/portable/run_fields.h"

#include <chrono>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <set>

namespace forkpoint::portable {

namespace {

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

std::string now()
{
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::string textOf(const compare::Snapshot& comparison, const compare::Provenance& provenance)
{
    const auto& structure = comparison.structure();
    FieldWriter archive;
    archive(provenance);
    write(archive, structure.alignment.a);
    write(archive, structure.alignment.b);
    archive(structure.alignment, structure);
    archive(comparison.pairs());
    for (std::size_t i = 0; i < comparison.pairs(); ++i) {
        archive(comparison.result(i));
    }
    archive(*comparison.outcome());
    return archive.take();
}

} // namespace

bool isPortable(const std::filesystem::path& path) { return isContainer(path); }

std::string identityOf(const align::Side& side)
{
    bundle::Sha256 hash;
    const auto add = [&hash](const std::string& text) { hash.add(bytesOf(text)); };
    for (const auto* rank : side.ranks) {
        add(fmt::format("rank {}\n", rank->rank));
        for (const auto& record : rank->tensors) {
            add(fmt::format("{} {} ", bundle::describe(record), record.call));
            add(record.digest ? bundle::hexText(*record.digest) : record.fold ? fmt::format("fold {:016x}", *record.fold) : std::string("unknown"));
            add("\n");
        }
    }
    const auto digest = hash.finish();
    return digest ? bundle::hexText(*digest) : std::string();
}

Result<Saved> save(const compare::Snapshot& comparison, const std::filesystem::path& path, SaveOptions options, Progress* progress, std::stop_token stop)
{
    const auto& alignment = comparison.structure().alignment;
    if (comparison.structure().kept) {
        return fail(ErrorCode::Usage, "this comparison comes from a portable comparison itself: copy that file", path.string());
    }
    auto& provenance = options.provenance;
    provenance.created = provenance.created.empty() ? now() : provenance.created;
    for (auto* origin : { &provenance.a, &provenance.b }) {
        const auto& side = origin == &provenance.a ? alignment.a : alignment.b;
        origin->label = side.label;
        origin->identity = identityOf(side);
    }
    auto out = ContainerWriter::create(path);
    if (!out) {
        return tl::unexpected(out.error());
    }
    if (const auto done = out->add(bytesOf(textOf(comparison, provenance))); !done) {
        return tl::unexpected(done.error());
    }
    constexpr std::uint64_t kTable = 1024; // an empty one, and its entry
    if (out->size() + kTable > options.budget) {
        return fail(ErrorCode::Usage,
                    fmt::format("the comparison without any tensors takes {} bytes already: --budget must be more than that", out->size() + kTable),
                    path.string());
    }
    const auto table = writeLanes(*out, comparison, options.budget, progress, std::move(stop));
    if (!table) {
        return tl::unexpected(table.error());
    }
    FieldWriter archive;
    archive(*table);
    if (const auto done = out->add(bytesOf(archive.take())); !done) {
        return tl::unexpected(done.error());
    }
    Saved saved { out->size(), 0, 0, table->leftOut };
    if (auto done = out->finish(); !done) {
        return tl::unexpected(done.error());
    }
    std::set<std::size_t> pairs;
    for (const auto& lane : table->lanes) {
        pairs.insert(lane.pair);
        saved.pictures += lane.picture ? 1u : 0u;
    }
    saved.kept = pairs.size();
    return saved;
}

} // namespace forkpoint::portable
