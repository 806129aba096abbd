// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/rank_reader.h"

#include "core/bundle/format_check.h"
#include "core/bundle/json_document.h"
#include "core/bundle/tensor_index.h"

#include <fmt/format.h>
#include <iterator>
#include <map>

namespace forkpoint::bundle {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string counted(std::uint64_t count, std::string_view noun)
{
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

template <class T> void append(std::vector<T>& to, std::vector<T>& from)
{
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

/// Reads one rank's folder.
class RankReader {
public:
    RankReader(BundleFiles& files, LineContexts& contexts, const RankPlace& place, std::stop_token stop, ProgressSteps& progress)
        : m_files(files)
        , m_contexts(contexts)
        , m_folder(place.folder)
        , m_prefix(place.prefix)
        , m_rank(place.rank)
        , m_stop(std::move(stop))
        , m_progress(progress)
    {
    }

    RankResult read()
    {
        try {
            if (Result<void> done = readAll(); !done) {
                m_result.refusal = std::move(done.error());
                m_result.data.reset();
            }
        } catch (const std::bad_alloc&) {
            m_result.refusal = Error{ErrorCode::Unreadable, "there is not enough memory to read this rank", m_prefix};
            m_result.data.reset();
        }
        m_progress.add(kRankUnits - m_reported);
        return std::move(m_result);
    }

private:
    Result<void> readAll()
    {
        RankData& data = m_result.data.emplace();
        data.folder = m_folder;
        data.rank = m_rank;
        if (Result<void> done = readInfo(data); !done)
            return done;

        const auto graph = open("graph.jsonl", Problem::Level::Note, "the modules and the data flow of this rank are unknown");
        const auto scalars = open("scalars.jsonl", Problem::Level::Note, "this rank has no loss curve");
        const auto tensors = open("tensors.jsonl", Problem::Level::Warning, "this rank has no tensors");
        for (const auto& file : {graph, scalars, tensors})
            m_totalBytes += file ? file->size() : 0;
        Result<void> done;
        if (graph)
            done = readGraph(graph, data);
        if (done && scalars)
            done = readScalars(scalars, data);
        if (done && tensors)
            done = readTensors(tensors, data);
        return done;
    }

    std::string where(const std::string& file) const { return m_prefix.empty() ? file : m_prefix + "/" + file; }

    void report(Problem::Level level, const std::string& file, std::string message)
    {
        m_result.problems.push_back({level, where(file), std::move(message)});
    }

    std::shared_ptr<const OpenFile> open(const std::string& name, Problem::Level level, std::string_view meaning)
    {
        auto file = m_files.open(m_folder, name);
        if (file)
            return *file;
        if (file.error().code != ErrorCode::NotFound)
            level = Problem::Level::Warning;
        report(level, name, fmt::format("{}: {}", file.error().message, meaning));
        return nullptr;
    }

    Result<void> readInfo(RankData& data)
    {
        data.info = json::object();
        const char* name = "rank.json";
        const auto file = open(name, Problem::Level::Warning, "the environment and configuration of this rank are unknown");
        if (!file)
            return {};
        Result<json> document = readDocument(*file);
        if (!document) {
            report(Problem::Level::Warning, name,
                   document.error().message + ": the environment and configuration of this rank are unknown");
            return {};
        }
        if (Result<void> ok = checkFormat(*document, "forkpoint-rank", where(name), m_result.problems); !ok)
            return ok;
        data.info = std::move(*document);

        const auto rank = data.info.find("rank");
        const std::optional<int> number = rank != data.info.end() ? intOf(*rank, 0, kMaxWorld - 1) : std::nullopt;
        if (m_rank < 0) {
            if (!number)
                report(Problem::Level::Warning, name, "`rank` is no rank number: read as rank 0");
            data.rank = number.value_or(0);
        } else if (number != m_rank) {
            report(Problem::Level::Warning, name,
                   fmt::format("`rank` is {}, but the folder is that of rank {}: read as rank {}",
                               number ? std::to_string(*number) : std::string("no rank number"), m_rank, m_rank));
        }

        const std::string status = textOf(data.info, "status");
        data.complete = status == "complete";
        if (status == "recording") {
            report(Problem::Level::Note, name,
                   "the recording has no end: the process still runs or was killed. What it wrote until then is here");
        } else if (status == "failed") {
            const std::string error = shownText(textOf(data.info, "error"));
            report(Problem::Level::Note, name,
                   fmt::format("the script failed while it was recorded{}{}", error.empty() ? "" : ": ", error));
        } else if (!data.complete) {
            report(Problem::Level::Warning, name, "`status` is neither recording, complete nor failed: how the recording ended is unknown");
        }
        return {};
    }

    std::function<void(std::uint64_t)> positions(const std::shared_ptr<const OpenFile>& file)
    {
        const std::uint64_t before = m_doneBytes;
        m_doneBytes += file->size();
        return [this, before](std::uint64_t position) {
            const double share = static_cast<double>(before + position) / static_cast<double>(std::max<std::uint64_t>(m_totalBytes, 1));
            const auto units = std::min(kRankUnits, static_cast<std::uint64_t>(share * static_cast<double>(kRankUnits)));
            if (units > m_reported) {
                m_progress.add(units - m_reported);
                m_reported = units;
            }
        };
    }

    Result<void> readGraph(const std::shared_ptr<const OpenFile>& file, RankData& data)
    {
        constexpr std::size_t kMaxTypes = 8; // told apart
        struct Content {
            RankData data;
            std::map<std::string, std::uint64_t> unknown;
        };
        ProblemLog log(where("graph.jsonl"), m_result.problems);
        std::map<std::string, std::uint64_t> unknown;
        const auto count = [](std::map<std::string, std::uint64_t>& types, const std::string& type, std::uint64_t lines) {
            types[types.size() < kMaxTypes || types.contains(type) ? type : "..."] += lines;
        };
        const auto parse = [&](LineContext&, Content& content, JsonFields& fields, std::uint64_t, PartProblems&) {
            if (!parseGraph(fields, content.data))
                count(content.unknown, shownText(fields.textOr("type", {})), 1);
        };
        const auto merge = [&](LinePart<Content>& part) {
            RankData& from = part.content.data;
            append(data.modules, from.modules);
            append(data.calls, from.calls);
            append(data.backwards, from.backwards);
            append(data.edges, from.edges);
            append(data.ties, from.ties);
            for (const auto& [type, lines] : part.content.unknown)
                count(unknown, type, lines);
        };
        Result<void> done = readLines<Content>(file, m_contexts, log, m_stop, positions(file), parse, merge);
        for (const auto& [type, lines] : unknown)
            log.file(Problem::Level::Note,
                     fmt::format("{} of type \"{}\", which this version does not know: ignored", counted(lines, "line"), type));
        log.finish();
        return done;
    }

    Result<void> readScalars(const std::shared_ptr<const OpenFile>& file, RankData& data)
    {
        using Scalars = std::vector<ScalarRecord>;
        ProblemLog log(where("scalars.jsonl"), m_result.problems);
        const auto parse = [](LineContext&, Scalars& scalars, JsonFields& fields, std::uint64_t, PartProblems&) {
            if (std::optional<ScalarRecord> scalar = parseScalar(fields))
                scalars.push_back(std::move(*scalar));
        };
        const auto merge = [&](LinePart<Scalars>& part) { append(data.scalars, part.content); };
        Result<void> done = readLines<Scalars>(file, m_contexts, log, m_stop, positions(file), parse, merge);
        log.finish();
        return done;
    }

    Result<void> readTensors(const std::shared_ptr<const OpenFile>& file, RankData& data)
    {
        ProblemLog log(where("tensors.jsonl"), m_result.problems);
        TensorIndex index(m_files, m_folder, file->size());
        const auto merge = [&](LinePart<TensorIndex::Content>& part) { index.add(part); };
        Result<void> done = readLines<TensorIndex::Content>(file, m_contexts, log, m_stop, positions(file), TensorIndex::parse, merge);
        log.finish();
        index.reportLost(where("tensors.jsonl"), [&](const std::string& name, std::string message) {
            report(Problem::Level::Warning, name, std::move(message));
        });
        data.tensors = index.takeRecords();
        return done;
    }

    BundleFiles& m_files;
    LineContexts& m_contexts;
    fs::path m_folder;
    std::string m_prefix;
    int m_rank;
    std::stop_token m_stop;
    ProgressSteps& m_progress;
    RankResult m_result;
    std::uint64_t m_totalBytes = 0;
    std::uint64_t m_doneBytes = 0;
    std::uint64_t m_reported = 0;
};

} // namespace

RankResult readRank(BundleFiles& files, LineContexts& contexts, const RankPlace& place, std::stop_token stop, ProgressSteps& progress)
{
    return RankReader(files, contexts, place, std::move(stop), progress).read();
}

} // namespace forkpoint::bundle
