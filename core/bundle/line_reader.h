// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/bundle/open_files.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace forkpoint::bundle {

/// The lines of a file of JSON lines, in a window of memory that grows to the longest line but not beyond kMaxLine. Reads what was there
/// when the file was opened, so that a run that is still recording has an end. May be used for one file after another.
class LineReader {
public:
    static constexpr std::size_t kMaxLine = 16u << 20; ///< a tensor of 2 TB has a line of this size; nobody needs longer ones

    enum class Event {
        Line, ///< text() is the line, without '\n', followed by enough readable bytes for simdjson
        Blank, ///< lines of white space alone, as many as there are in a row: up to number(), blanks() of them
        TooLong, ///< a line of more than kMaxLine bytes, skipped
        Torn, ///< bytes after the last '\n': text() is their beginning
        End, ///< of the file, or of the part of it
    };

    LineReader();

    /// From here on, the lines that begin within bytes [begin, end) of the file, each to its own end.
    void open(std::shared_ptr<const OpenFile> file, std::uint64_t begin, std::uint64_t end);
    Result<Event> next();
    std::string_view text() const { return m_text; } ///< until the next call
    std::uint64_t number() const { return m_number; } ///< of the line just returned, from 1 at `begin`
    std::uint64_t blanks() const { return m_blanks; }
    std::uint64_t position() const { return m_position; } ///< bytes of the file read so far

private:
    Result<void> fill();
    bool skipBlanks(); ///< passes over the blank lines at m_begin that are in the window; false if there are none
    Result<bool> endLine(); ///< finds the end of the line at m_begin; false if the file ends before it
    std::uint64_t lineStart() const { return m_position - (m_end - m_begin); } ///< in the file

    std::shared_ptr<const OpenFile> m_file;
    std::vector<char> m_window;
    std::size_t m_begin = 0; // of what is not consumed yet
    std::size_t m_end = 0;
    std::size_t m_searched = 0; // no '\n' before this
    std::size_t m_lineEnd = 0; // where endLine found it
    bool m_tooLong = false;
    bool m_skipFirst = false; // the part begins within a line, which belongs to the part before
    std::uint64_t m_position = 0;
    std::uint64_t m_partEnd = 0;
    std::uint64_t m_number = 0;
    std::uint64_t m_blanks = 0;
    std::string_view m_text;
};

} // namespace forkpoint::bundle
