// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/portable/run_fields.h"

#include "core/bundle/json_document.h"

#include <algorithm>
#include <set>

namespace forkpoint::portable {

namespace {

/// What is left of a run whose bytes are elsewhere.
class NoTensors : public bundle::RecordSources {
public:
    explicit NoTensors(std::string label)
        : m_label(std::move(label))
    {
    }
    Result<TensorSourcePtr> open(const bundle::RankData&, const bundle::TensorRecord& record) const override
    {
        return fail(ErrorCode::NotFound, bundle::describe(record) + " is not in the portable comparison: open the two runs to see it", m_label);
    }

private:
    std::string m_label;
};

bundle::RankData stepsOf(const bundle::RankData& rank)
{
    bundle::RankData out;
    out.rank = rank.rank;
    out.folder = rank.folder;
    std::set<std::int32_t> seen;
    for (const auto& record : rank.tensors) {
        if (seen.insert(record.step).second) {
            out.tensors.push_back(record);
        }
    }
    return out;
}

} // namespace

std::string_view backendName(std::string_view name)
{
    for (const std::string_view known : { "simd", "scalar", "cuda", "" }) {
        if (name == known) {
            return known;
        }
    }
    return "unknown";
}

std::string textOf(const nlohmann::json& document)
{
    return document.is_object() ? document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) : std::string();
}

nlohmann::json documentOf(const std::string& text, FieldReader& archive)
{
    if (text.empty() || !archive.ok()) {
        return {};
    }
    auto document = bundle::parseDocument(text, {});
    if (!document) {
        archive.complain("a document " + document.error().message);
        return {};
    }
    return std::move(*document);
}

void write(FieldWriter& archive, const align::Side& side)
{
    const auto& bundle = *side.bundle;
    std::vector<int> taking;
    for (const auto* rank : side.ranks) {
        taking.push_back(rank->rank);
    }
    archive(side.label, bundle.path().string(), bundle.name(), bundle.worldSize(), bundle.isRecording(), textOf(bundle.info()), bundle.problems(), taking,
            bundle.ranks().size());
    for (const auto& rank : bundle.ranks()) {
        const auto part = std::find_if(side.ranks.begin(), side.ranks.end(), [&](const auto* r) { return r->rank == rank.rank; });
        part == side.ranks.end() ? archive(stepsOf(rank)) : archive(**part); // with the names that it was given
    }
}

align::Side readSide(FieldReader& archive, const std::string& label)
{
    align::Side side;
    bundle::ForeignRun run;
    std::string path, info;
    std::vector<int> taking;
    std::vector<bundle::RankData> ranks;
    archive(side.label, path, run.name, run.worldSize, run.recording, info, run.problems, taking, ranks);
    run.info = documentOf(info, archive);
    const bool ascending = std::adjacent_find(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.rank >= b.rank; }) == ranks.end();
    if (archive.ok() && (ranks.empty() || taking.empty() || !ascending || ranks.front().rank < 0 || run.worldSize < 1)) {
        archive.complain("the ranks of a run contradict each other");
    }
    if (!archive.ok()) {
        return {};
    }
    if (!run.info.is_object()) {
        run.info = nlohmann::json::object();
    }
    run.path = path;
    run.ranks = std::move(ranks);
    run.sources = std::make_shared<NoTensors>(label);
    side.bundle = bundle::Bundle::of(std::move(run));
    for (const int rank : taking) {
        const auto* data = side.bundle->rank(rank);
        if (!data || (!side.ranks.empty() && side.ranks.back()->rank >= rank)) {
            archive.complain("a side names a rank that its run has not");
            return {};
        }
        side.ranks.push_back(data);
    }
    return side;
}

} // namespace forkpoint::portable
