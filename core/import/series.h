// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/bundle/bundle.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

// Loss curves and other numbers by step, from what people have: CSV, JSON lines, TensorBoard event files, trainer_state.json of Hugging Face's
// Trainer, text copied from a terminal, and recorded runs.
namespace forkpoint::import {

/// One number over the steps of a run.
struct Series {
    std::map<std::int32_t, double> values; ///< by step; of several values of a step the last
    double resolution = 0;                 ///< the finest digit that was written: 2.4385 and 2.4 have 0.0001
};

struct SeriesFile {
    std::string name;                     ///< of the file or folder
    std::string format;                   ///< "CSV", "TensorBoard events", ...
    std::map<std::string, Series> series; ///< by name
    std::vector<std::string> notes;       ///< what was left out or had to be guessed
};

/// Opens a file, by its content, or a folder: one with a trainer_state.json, with TensorBoard event files (those of subfolders are called
/// SUBFOLDER/TAG), or a recorded run, also an archive of one (the mean over its ranks, or the numbers of the one that RUN@RANK names). NotFound, NotABundle
/// (a binary file is named and never read as text; lists what is read), Usage (no such rank; a recorded run without numbers), Truncated, Unreadable, Cancelled.
Result<SeriesFile> openSeries(const std::filesystem::path& path, std::stop_token stop = {});

/// Collects numbers of one file, record by record.
class SeriesCollector {
public:
    explicit SeriesCollector(SeriesFile& file)
        : m_file(file)
    {
    }

    /// One line or entry: names and values; those of clocks and speeds are left out. The one called global_step, else step, iteration or
    /// iter says the step; without one, `step`. Records without a step are counted from 0, and replace nothing that has a step. The notes say all
    /// of this.
    void add(const std::vector<std::pair<std::string, double>>& record, std::optional<std::int64_t> step = std::nullopt);
    void finish(); ///< to be called at the end

private:
    SeriesFile& m_file;
    std::int64_t m_counted = 0; ///< records without a step
    std::size_t m_again = 0, m_taken = 0, m_outside = 0, m_cut = 0;
};

/// True for names that say which step it is.
bool isStepName(std::string_view name);

// The readers, of whole texts. They take anything: what is no number is passed over. Told to stop, they end early.

void readCsv(std::string_view text, SeriesFile& out, const std::stop_token& stop = {});
void readJsonLines(std::string_view text, SeriesFile& out, const std::stop_token& stop = {});
Result<void> readTrainerState(std::string_view text, SeriesFile& out, const std::stop_token& stop = {});
/// Text of a terminal: "step 5/40 | loss 2.24", "{'loss': '3.036'}", "loss=2.2". Escapes, progress bars and the prefixes of launchers are taken
/// out; of several ranks' lines those of the lowest rank count.
void readConsole(std::string_view text, SeriesFile& out, const std::stop_token& stop = {});
/// Records of one event file, appended under `prefix`. A record that is cut or damaged ends the reading and is noted.
Result<void> readEvents(const std::filesystem::path& path, const std::string& prefix, SeriesFile& out, const std::stop_token& stop = {});
/// True if the file begins as an event file does: a length, and its checksum.
bool isEventFile(std::string_view head);

} // namespace forkpoint::import
