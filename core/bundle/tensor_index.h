// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/open_files.h"
#include "core/bundle/parse_lines.h"
#include "core/bundle/read_lines.h"

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

namespace forkpoint::bundle {

/// The records of one rank's tensors.jsonl as its parts arrive, in the order of the file: finds ids that are there twice, and bytes that the
/// files do not have.
class TensorIndex {
public:
    /// What a part of the file gives.
    struct Content {
        std::vector<TensorRecord> records;
        std::vector<std::uint32_t> lines; ///< of each record, counted in the part
    };

    TensorIndex(BundleFiles& files, std::filesystem::path folder, std::uint64_t fileSize)
        : m_files(files)
        , m_folder(std::move(folder))
        , m_fileSize(fileSize)
    {
    }

    static void parse(LineContext& context, Content& content, JsonFields& fields, std::uint64_t number, PartProblems& problems);
    void add(LinePart<Content>& part);

    std::vector<TensorRecord> takeRecords() { return std::move(m_records); }

    /// One problem per file of bytes that lacks some, not per record. `report` gets the file's name and a message; `index` is how messages
    /// call tensors.jsonl.
    void reportLost(const std::string& index, const std::function<void(const std::string&, std::string)>& report) const;

private:
    /// What is known of a file of bytes, and which records lose theirs because of it.
    struct BinFile {
        std::optional<std::uint64_t> size;
        std::string problem; ///< why it cannot be used at all
        std::uint64_t lost = 0;
        std::uint64_t firstLine = 0;
        std::string firstProblem;
    };
    bool isNewId(std::int64_t id);
    BinFile* binFile(const SharedText& name); ///< nullptr: there are too many
    void checkBytes(TensorRecord& record, std::uint64_t line, PartProblems& problems);

    BundleFiles& m_files;
    std::filesystem::path m_folder;
    std::uint64_t m_fileSize;
    std::vector<TensorRecord> m_records;
    std::uint64_t m_linesBefore = 0;
    std::int64_t m_highestId = -1;
    std::unordered_set<std::int64_t> m_ids; ///< empty as long as ids ascend, which is how recorders write them
    std::map<std::string, BinFile> m_bins;
    SharedText m_lastName;
    BinFile* m_lastBin = nullptr;
};

} // namespace forkpoint::bundle
