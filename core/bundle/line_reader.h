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
/// when the file was opened, so that a run that is still recording has an end.
class LineReader {
public:
    static constexpr std::size_t kMaxLine = 16u << 20; ///< a tensor of 2 TB has a line of this size; nobody needs longer ones

    enum class Event {
        Line, ///< text() is the line, without '\n', followed by enough readable bytes for simdjson
        TooLong, ///< a line of more than kMaxLine bytes, skipped
        Torn, ///< bytes after the last '\n': text() is their beginning
        End,
    };

    explicit LineReader(std::shared_ptr<const OpenFile> file);
    Result<Event> next();
    std::string_view text() const { return m_text; } ///< until the next call
    std::uint64_t number() const { return m_number; } ///< of the line just returned, from 1
    std::uint64_t position() const { return m_position; } ///< bytes of the file read so far

private:
    Result<void> fill();

    std::shared_ptr<const OpenFile> m_file;
    std::vector<char> m_window;
    std::size_t m_begin = 0; // of what is not consumed yet
    std::size_t m_end = 0;
    std::size_t m_searched = 0; // no '\n' before this
    std::uint64_t m_position = 0;
    std::uint64_t m_number = 0;
    std::string_view m_text;
};

} // namespace forkpoint::bundle
