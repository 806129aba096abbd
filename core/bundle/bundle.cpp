// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/bundle.h"

#include "core/bundle/extent_source.h"
#include "core/bundle/open_files.h"
#include "core/bundle/problem_log.h"
#include "core/tensor/composed_sources.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace forkpoint::bundle {

std::string describe(const TensorRecord& record)
{
    std::string text = fmt::format("step {}", record.step);
    if (record.micro > 0)
        text += fmt::format(" micro-step {}", record.micro);
    text += fmt::format(" {}/{} of {}", name(record.phase), name(record.kind),
                        record.module.empty() ? "the root" : shownText(record.module));
    if (!record.param.empty())
        text += (record.module.empty() ? " " : ".") + shownText(record.param);
    if (!record.slot.empty())
        text += ":" + shownText(record.slot);
    return text;
}

const RankData* Bundle::rank(int rank) const
{
    const auto found = std::lower_bound(m_ranks.begin(), m_ranks.end(), rank, [](const RankData& data, int r) { return data.rank < r; });
    return found != m_ranks.end() && found->rank == rank ? &*found : nullptr;
}

std::vector<int> Bundle::steps() const
{
    std::set<int> steps;
    for (const RankData& rank : m_ranks) {
        for (const TensorRecord& record : rank.tensors)
            steps.insert(record.step);
    }
    return {steps.begin(), steps.end()};
}

std::shared_ptr<const Bundle> Bundle::of(ForeignRun run)
{
    const auto bundle = std::make_shared<Bundle>();
    bundle->m_path = std::move(run.path);
    bundle->m_name = std::move(run.name);
    bundle->m_worldSize = run.worldSize > 0 ? run.worldSize : run.ranks.back().rank + 1;
    bundle->m_info = std::move(run.info);
    bundle->m_recording = run.recording;
    bundle->m_ranks = std::move(run.ranks);
    bundle->m_problems = std::move(run.problems);
    bundle->m_sources = std::move(run.sources);
    return bundle;
}

Result<TensorSourcePtr> Bundle::source(const RankData& rank, const TensorRecord& record) const
{
    return sourceOf(rank, record, record.bytes, record.shape);
}

Result<TensorSourcePtr> Bundle::samples(const RankData& rank, const TensorRecord& record) const
{
    const SketchRecord sketch = record.sketch ? *record.sketch : SketchRecord{};
    return sourceOf(rank, record, sketch.bytes, {sketch.samples});
}

Result<TensorSourcePtr> Bundle::sourceOf(const RankData& rank, const TensorRecord& record, const std::optional<Extent>& bytes,
                                         const Shape& shape) const
{
    const auto label = [&rank] { return rank.folder.filename().string(); };
    const RankData* own = this->rank(rank.rank);
    if (own != &rank && (!own || own->folder != rank.folder))
        return fail(ErrorCode::Usage, fmt::format("rank {} does not belong to the run {}", rank.rank, m_name), label());
    if (!record.notObserved.empty())
        return fail(ErrorCode::NotFound, fmt::format("{} was not observed: {}", describe(record), shownText(record.notObserved)), label());
    if (m_sources)
        return m_sources->open(rank, record);
    if (!bytes) {
        if (elementCount(shape) == 0 && elementCount(record.shape) == 0)
            return memorySource(record.dtype, record.shape, {});
        if (record.detail != Detail::Full && !(record.sketch && record.sketch->samples > 0 && !record.sketch->bytes))
            return fail(ErrorCode::NotFound,
                        fmt::format("of {} only a {} was recorded: record it with --write full to see its values", describe(record),
                                    bundle::name(record.detail)),
                        label());
        return fail(ErrorCode::NotFound,
                    fmt::format("{} was recorded without its bytes, or they are damaged: see the bundle's problems", describe(record)),
                    label());
    }
    auto file = m_files->open(rank.folder, bytes->file);
    if (!file)
        return tl::unexpected(std::move(file.error()));
    const std::uint64_t size = (*file)->currentSize();
    if (const std::string problem = extentProblem(*bytes, record.dtype, shape, size); !problem.empty()) {
        return fail(size < (*file)->size() ? ErrorCode::Truncated : ErrorCode::Corrupt, fmt::format("{}: {}", describe(record), problem),
                    (*file)->label());
    }
    return extentSource(m_files, rank.folder, *bytes, record.dtype, shape);
}

} // namespace forkpoint::bundle
