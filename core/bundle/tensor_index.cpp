// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/tensor_index.h"

#include "core/bundle/extent_source.h"

#include <fmt/format.h>

namespace forkpoint::bundle {

namespace {

constexpr std::string_view kWithoutBytes = "; the tensor is read without its bytes";

} // namespace

void TensorIndex::parse(LineContext& context, Content& content, JsonFields& fields, std::uint64_t number, PartProblems& problems)
{
    constexpr std::size_t kUsualLine = 350; // bytes; room for a part's records at once
    if (content.records.empty())
        content.records.reserve(kPartSize / kUsualLine);
    TensorRemarks remarks;
    TensorRecord& record = content.records.emplace_back();
    if (!parseTensor(fields, context.pool, record, remarks)) {
        content.records.pop_back();
        return;
    }
    content.lines.push_back(static_cast<std::uint32_t>(number));
    if (!remarks.note.empty())
        problems.add(number, std::move(remarks.note));
    if (!remarks.lost.empty())
        problems.add(number, remarks.lost.append(kWithoutBytes));
}

void TensorIndex::add(LinePart<Content>& part)
{
    std::vector<TensorRecord>& records = part.content.records;
    if (m_records.empty() && !records.empty()) { // as many as there will be if the file goes on like this
        const double parts = 1.02 * static_cast<double>(m_fileSize) / static_cast<double>(part.end);
        m_records.reserve(static_cast<std::size_t>(parts * static_cast<double>(records.size())) + 1);
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
        const std::uint64_t line = part.content.lines[i];
        if (!isNewId(records[i].id)) {
            part.problems.drop(line);
            part.problems.add(line, fmt::format("`id` {} is there already; the line is skipped", records[i].id));
            continue;
        }
        checkBytes(records[i], line, part.problems);
        m_records.push_back(std::move(records[i]));
    }
    m_linesBefore += part.lines;
}

bool TensorIndex::isNewId(std::int64_t id)
{
    if (id <= m_highestId && m_ids.empty()) {
        for (const TensorRecord& record : m_records)
            m_ids.insert(record.id);
    }
    if (!m_ids.empty() && !m_ids.insert(id).second)
        return false;
    m_highestId = std::max(m_highestId, id);
    return true;
}

TensorIndex::BinFile* TensorIndex::binFile(const SharedText& name)
{
    constexpr std::size_t kMaxBins = 4096; // a lie per record must not become an entry per record
    if (m_lastBin && name == m_lastName)
        return m_lastBin;
    if (m_bins.size() >= kMaxBins && !m_bins.contains(name))
        return nullptr;
    const auto [found, isNew] = m_bins.try_emplace(*name);
    if (isNew) {
        if (auto file = m_files.open(m_folder, name))
            found->second.size = (*file)->size();
        else
            found->second.problem = file.error().message;
    }
    m_lastName = name;
    m_lastBin = &found->second;
    return m_lastBin;
}

void TensorIndex::checkBytes(TensorRecord& record, std::uint64_t line, PartProblems& problems)
{
    const bool isSketch = record.sketch && record.sketch->bytes;
    const Extent* claim = isSketch ? &*record.sketch->bytes : record.bytes ? &*record.bytes : nullptr;
    if (!claim)
        return;
    if (BinFile* bin = binFile(claim->file)) {
        std::string problem = bin->problem;
        if (bin->size)
            problem = isSketch ? extentProblem(*claim, record.dtype, {record.sketch->samples}, *bin->size)
                               : extentProblem(*claim, record.dtype, record.shape, *bin->size);
        if (problem.empty())
            return;
        if (bin->lost++ == 0) {
            bin->firstLine = m_linesBefore + line;
            bin->firstProblem = std::move(problem);
        }
    } else {
        problems.add(line, std::string("too many files of bytes").append(kWithoutBytes));
    }
    record.bytes.reset();
    if (isSketch) {
        SketchRecord without = *record.sketch;
        without.bytes.reset();
        record.sketch = std::make_shared<const SketchRecord>(std::move(without));
    }
}

void TensorIndex::reportLost(const std::string& index, const std::function<void(const std::string&, std::string)>& report) const
{
    constexpr std::size_t kShown = 50;
    std::size_t shown = 0;
    for (const auto& [name, bin] : m_bins) {
        if (bin.lost == 0 || shown++ >= kShown)
            continue;
        report(name, fmt::format("{} (needed by {}:{}); {} read without bytes, by digest and statistics only. Copy the file again if you can",
                                 bin.firstProblem, index, bin.firstLine,
                                 bin.lost == 1 ? std::string("1 tensor is") : fmt::format("{} tensors are", bin.lost)));
    }
}

} // namespace forkpoint::bundle
