// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/progress_steps.h"
#include "core/bundle/bundle.h"
#include "core/bundle/find_bundle.h"
#include "core/bundle/format_check.h"
#include "core/bundle/json_document.h"
#include "core/bundle/open_files.h"
#include "core/bundle/problem_log.h"
#include "core/bundle/rank_reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <tbb/parallel_for.h>

// Opening a bundle. What can be wrong with the input splits in two: what makes the whole unreadable is an Error of open(), everything else
// is a Problem, and reading goes on with the next line, file or rank (FORMAT.md section 7). The content may come from a stranger: lengths
// are checked before they are used, memory is bounded by the size of the files, and no exception leaves this folder.
namespace forkpoint::bundle {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

Error cancelled()
{
    return {ErrorCode::Cancelled, "reading was cancelled", {}};
}

} // namespace

class BundleReader {
public:
    BundleReader(Progress* progress, std::stop_token stop)
        : m_progress(progress)
        , m_stop(std::move(stop))
        , m_bundle(std::make_shared<Bundle>())
    {
    }

    Result<std::shared_ptr<const Bundle>> open(const fs::path& path)
    {
        Result<FoundBundle> found = findBundle(path);
        if (!found)
            return tl::unexpected(std::move(found.error()));
        m_single = found->single;
        m_places = std::move(found->ranks);
        m_bundle->m_info = json::object();
        m_bundle->m_files = std::move(found->files);
        m_bundle->m_path = m_bundle->m_files->root();
        m_bundle->m_problems = std::move(found->problems);
        if (m_stop.stop_requested())
            return tl::unexpected(cancelled());
        if (!m_single) {
            if (Result<void> done = readBundleInfo(); !done)
                return tl::unexpected(std::move(done.error()));
        }
        if (Result<void> done = readRanks(); !done)
            return tl::unexpected(std::move(done.error()));
        decideWorld();
        checkLaunch();
        return m_bundle;
    }

private:
    void report(Problem::Level level, std::string where, std::string message)
    {
        m_bundle->m_problems.push_back({level, std::move(where), std::move(message)});
    }

    Result<void> readBundleInfo()
    {
        const std::string name = "bundle.json";
        auto file = m_bundle->m_files->open(m_bundle->m_path, name);
        if (!file) {
            const bool missing = file.error().code == ErrorCode::NotFound;
            report(missing ? Problem::Level::Note : Problem::Level::Warning, name,
                   file.error().message + ": the run is read from its ranks");
            return {};
        }
        Result<json> document = readDocument(**file);
        if (!document) {
            report(Problem::Level::Warning, name, document.error().message + ": the run is read from its ranks");
            return {};
        }
        if (Result<void> ok = checkFormat(*document, "forkpoint-bundle", name, m_bundle->m_problems); !ok)
            return fail(ok.error().code, ok.error().message, (m_bundle->m_path / name).string());
        m_bundle->m_info = std::move(*document);
        if (textOf(m_bundle->m_info, "name").empty())
            report(Problem::Level::Warning, name, "`name` is missing or not a string: the name is taken from the ranks or the folder");
        return {};
    }

    Result<void> readRanks()
    {
        if (m_places.empty()) {
            return fail(
                ErrorCode::Corrupt,
                fmt::format("{} has a bundle.json but no rank folder: nothing was recorded. A process becomes a rank at its first training "
                            "forward or backward; did the script reach one?",
                            m_bundle->m_path.string()));
        }
        std::vector<RankResult> results(m_places.size());
        ProgressSteps progress(m_progress, "read", kRankUnits * m_places.size());
        LineContexts contexts;
        tbb::parallel_for(std::size_t{0}, m_places.size(),
                          [&](std::size_t i) { results[i] = readRank(*m_bundle->m_files, contexts, m_places[i], m_stop, progress); });
        if (m_stop.stop_requested())
            return tl::unexpected(cancelled());

        std::optional<Error> firstRefusal;
        for (RankResult& result : results) {
            std::move(result.problems.begin(), result.problems.end(), std::back_inserter(m_bundle->m_problems));
            if (result.data) {
                m_bundle->m_ranks.push_back(std::move(*result.data));
                continue;
            }
            report(Problem::Level::Warning, result.refusal->where, result.refusal->message + "; this rank is not read");
            if (!firstRefusal)
                firstRefusal = std::move(result.refusal);
        }
        if (m_bundle->m_ranks.empty()) // with two bundles open, the file alone would not say whose it is
            return fail(firstRefusal->code, firstRefusal->message, (m_bundle->m_path / firstRefusal->where).string());
        progress.finish();
        return {};
    }

    /// Name, world size and, without bundle.json, the rest of what it says.
    void decideWorld()
    {
        const RankData& first = m_bundle->m_ranks.front();
        const int highest = m_bundle->m_ranks.back().rank;
        if (m_bundle->m_info.empty()) {
            for (const char* key : {"run_id", "attempt", "created", "command", "producer", "world_size"}) {
                if (first.info.contains(key))
                    m_bundle->m_info[key] = first.info[key];
            }
            if (const std::string run = textOf(first.info, "run"); !run.empty())
                m_bundle->m_info["name"] = run;
        }
        m_bundle->m_name = textOf(m_bundle->m_info, "name");
        if (m_bundle->m_name.empty())
            m_bundle->m_name = textOf(first.info, "run");
        if (m_bundle->m_name.empty())
            m_bundle->m_name = (m_bundle->m_path.extension() == ".zip" ? m_bundle->m_path.stem() : m_bundle->m_path).stem().string();

        const std::string source = m_single || !m_bundle->m_info.contains("format") ? "rank.json" : "bundle.json";
        const auto world = m_bundle->m_info.find("world_size");
        std::optional<int> size;
        if (world != m_bundle->m_info.end())
            size = intOf(*world, 1, kMaxWorld);
        m_bundle->m_worldSize = std::max(size.value_or(0), highest + 1);
        if (!size) {
            report(Problem::Level::Warning, source,
                   fmt::format("`world_size` is no number of ranks: read as {}, by the folders that are there", highest + 1));
        } else if (highest >= *size) {
            report(Problem::Level::Warning, source,
                   fmt::format("`world_size` is {}, but there is a rank {}: read as {}", *size, highest, highest + 1));
        }

        if (m_single) {
            if (m_bundle->m_worldSize > 1) {
                report(Problem::Level::Note, {},
                       fmt::format("one rank of {} was opened: rank {}. Open the bundle's folder to read all", m_bundle->m_worldSize,
                                   first.rank));
            }
            return;
        }
        std::vector<int> missing;
        for (int rank = 0; rank < m_bundle->m_worldSize; ++rank) {
            if (!m_bundle->rank(rank))
                missing.push_back(rank);
        }
        if (!missing.empty()) {
            // A note: ranks that could not be read were complained about, and of the others nothing is damaged.
            report(Problem::Level::Note, m_bundle->m_path.filename().string(),
                   fmt::format(
                       "{} of {} ranks are missing: {}. They were recorded elsewhere, not at all, or cannot be read; what they computed is "
                       "not compared",
                       missing.size(), m_bundle->m_worldSize, rangesText(missing)));
        }
    }

    /// Ranks of different launches in one folder would be compared as if they had trained together.
    void checkLaunch()
    {
        for (const RankData& rank : m_bundle->m_ranks) {
            for (const char* key : {"run_id", "attempt", "world_size"}) {
                const auto own = rank.info.find(key);
                const auto run = m_bundle->m_info.find(key);
                if (own == rank.info.end() || run == m_bundle->m_info.end() || *own == *run)
                    continue;
                const std::string where = m_single ? "rank.json" : rank.folder.filename().string() + "/rank.json";
                report(Problem::Level::Warning, where,
                       fmt::format("`{}` differs from that of the run: rank {} may belong to another launch", key, rank.rank));
            }
        }
    }

    Progress* m_progress;
    std::stop_token m_stop;
    std::shared_ptr<Bundle> m_bundle;
    bool m_single = false; ///< one rank's folder was opened
    std::vector<RankPlace> m_places;
};

Result<std::shared_ptr<const Bundle>> Bundle::open(const std::filesystem::path& path, Progress* progress, std::stop_token stop)
{
    try {
        return BundleReader(progress, std::move(stop)).open(path);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::Unreadable, "there is not enough memory to read it", path.string());
    } catch (const std::exception& error) { // a file system that changes while it is listed
        return fail(ErrorCode::Unreadable, fmt::format("cannot be read: {}", error.what()), path.string());
    }
}

} // namespace forkpoint::bundle
