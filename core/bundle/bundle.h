// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/bundle/record.h"

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

namespace forkpoint::bundle {

class BundleFiles;

/// Something wrong in a bundle that did not stop reading: what, where, and what it means for the reader.
struct Problem {
    enum class Level { Note, Warning };
    Level level = Level::Warning;
    std::string where; ///< "rank00001/tensors.jsonl:17"
    std::string message;
};

/// One rank's folder, read. `info` is rank.json as it is; an empty object if it is missing or damaged.
struct RankData {
    int rank = 0;
    std::filesystem::path folder;
    nlohmann::json info;
    std::vector<ModuleRecord> modules;
    std::vector<CallRecord> calls;
    std::vector<BackwardRecord> backwards;
    std::vector<EdgeRecord> edges;
    std::vector<std::vector<std::string>> ties;
    std::vector<ScalarRecord> scalars;
    std::vector<TensorRecord> tensors; ///< in file order
    bool complete = false;             ///< status was "complete"
};

/// Where the tensors of a run lie that was put together from other files than a recording's (core/import).
class RecordSources {
public:
    virtual ~RecordSources() = default;
    /// As Bundle::source, for a record whose value is known. Safe to call from many threads.
    virtual Result<TensorSourcePtr> open(const RankData& rank, const TensorRecord& record) const = 0;
};

/// Such a run: what Bundle::of makes a bundle of.
struct ForeignRun {
    std::filesystem::path path;
    std::string name;
    std::vector<RankData> ranks; ///< ascending, at least one
    std::vector<Problem> problems;
    std::shared_ptr<const RecordSources> sources;
    int worldSize = 0; ///< 0: one more than the last rank
    nlohmann::json info = nlohmann::json::object(); ///< as Bundle::info
    bool recording = false; ///< as Bundle::isRecording: what a recorder saw, taken over from its bundle
};

/// A recorded run, opened for reading. Metadata is in memory; tensor bytes are read on demand (never mapped: open_files.h says why) and
/// checked before use. Immutable after open, so that any number of threads may read. Nothing of a bundle is executed, no link is followed,
/// nothing is written.
class Bundle {
public:
    /// Opens `path`: a bundle folder, with or without its suffix `.forkpoint`, one rank's folder, or a ZIP archive of either. Fails with NotFound, NotABundle (says
    /// what it found and how to make a bundle), Unreadable, Unsupported (newer major version), Corrupt (no rank can be read), Cancelled.
    /// Everything less is a Problem. A problem of Level::Note loses no data.
    static Result<std::shared_ptr<const Bundle>> open(const std::filesystem::path& path, Progress* progress = nullptr,
                                                      std::stop_token stop = {});

    /// A run in memory. If no recorder saw it, its records come without an execution order.
    static std::shared_ptr<const Bundle> of(ForeignRun run);

    bool isRecording() const { return m_recording; } ///< false: made by `of`, from files that say nothing about execution
    const std::filesystem::path& path() const { return m_path; }
    const std::string& name() const { return m_name; }
    int worldSize() const { return m_worldSize; } ///< as launched; some ranks may be missing
    const nlohmann::json& info() const { return m_info; }
    const std::vector<RankData>& ranks() const { return m_ranks; } ///< ascending rank
    const RankData* rank(int rank) const;                          ///< nullptr if missing
    const std::vector<Problem>& problems() const { return m_problems; }
    std::vector<int> steps() const; ///< steps that have tensor records on some rank, ascending

    /// The bytes of a record of `rank` (which must belong to this bundle). An empty tensor needs none. Fails with NotFound if the record
    /// has no bytes, Truncated if the file has shrunk since open, else as TensorSource::read. The source outlives the bundle.
    Result<TensorSourcePtr> source(const RankData& rank, const TensorRecord& record) const;

    /// The samples of a record that is a sketch, as a tensor of one dimension: element i is that at sampleIndices(record)[i]. Fails as source().
    Result<TensorSourcePtr> samples(const RankData& rank, const TensorRecord& record) const;

private:
    Result<TensorSourcePtr> sourceOf(const RankData& rank, const TensorRecord& record, const std::optional<Extent>& bytes, const Shape& shape) const;

    friend class BundleReader;
    std::filesystem::path m_path;
    std::string m_name;
    int m_worldSize = 0;
    nlohmann::json m_info;
    std::vector<RankData> m_ranks;
    std::vector<Problem> m_problems;
    std::shared_ptr<BundleFiles> m_files;
    std::shared_ptr<const RecordSources> m_sources; ///< of a foreign run, instead of m_files
    bool m_recording = true;
};

/// "step 0 forward/output of fc:0", for messages about a record.
std::string describe(const TensorRecord& record);

/// Result of reading everything again and recomputing every digest.
struct VerifyReport {
    std::int64_t tensors = 0;       ///< records
    std::int64_t checked = 0;       ///< records whose bytes match their digest
    std::uint64_t bytes = 0;        ///< distinct bytes read
    std::vector<Problem> problems;  ///< of opening and of checking
};
Result<VerifyReport> verify(const Bundle& bundle, Progress* progress = nullptr, std::stop_token stop = {});

} // namespace forkpoint::bundle
