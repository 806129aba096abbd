// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/line_reader.h"

#include <algorithm>
#include <cstring>
#include <simdjson.h>

namespace forkpoint::bundle {

namespace {

constexpr std::uint64_t kBeyond = 64u << 10; ///< read at a time of the last line, which may end beyond the part
constexpr std::size_t kBlock = 64; ///< bytes looked at together for white space, without a branch for each

bool isSpace(char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; }

} // namespace

LineReader::LineReader()
    : m_window((256u << 10) + simdjson::SIMDJSON_PADDING)
{
}

void LineReader::open(std::shared_ptr<const OpenFile> file, std::uint64_t begin, std::uint64_t end)
{
    m_file = std::move(file);
    m_begin = m_end = m_searched = 0;
    m_skipFirst = begin > 0;
    m_position = m_skipFirst ? begin - 1 : 0; // a line begins at `begin` if a line ends just before it
    m_partEnd = end;
    m_number = 0;
    m_text = {};
}

Result<void> LineReader::fill()
{
    if (m_begin > 0) {
        std::memmove(m_window.data(), m_window.data() + m_begin, m_end - m_begin);
        m_searched -= m_begin;
        m_end -= m_begin;
        m_begin = 0;
    }
    if (m_end + simdjson::SIMDJSON_PADDING == m_window.size())
        m_window.resize(2 * m_window.size());
    const std::size_t space = m_window.size() - simdjson::SIMDJSON_PADDING - m_end;
    const std::uint64_t part = m_position < m_partEnd ? m_partEnd - m_position : kBeyond;
    const auto size = static_cast<std::size_t>(std::min({std::uint64_t{space}, part, m_file->size() - m_position}));
    if (Result<void> done = m_file->readAt(m_position, std::as_writable_bytes(std::span(m_window.data() + m_end, size))); !done)
        return done;
    m_position += size;
    m_end += size;
    return {};
}

bool LineReader::skipBlanks()
{
    const std::uint64_t part = m_partEnd - lineStart(); // lines that begin beyond it belong to the next one
    const char* const begin = m_window.data() + m_begin;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(m_end - m_begin, part));
    std::size_t spaces = 0;
    for (bool all = true; all && spaces + kBlock <= size; spaces += all ? kBlock : 0) {
        for (std::size_t i = 0; i < kBlock; ++i)
            all &= isSpace(begin[spaces + i]);
    }
    while (spaces < size && isSpace(begin[spaces]))
        ++spaces;
    while (spaces > 0 && begin[spaces - 1] != '\n') // the beginning of a line with content, or of one that is not read yet
        --spaces;
    m_blanks = static_cast<std::uint64_t>(std::count(begin, begin + spaces, '\n'));
    m_number += m_blanks;
    m_begin += spaces;
    m_searched = std::max(m_searched, m_begin);
    return m_blanks > 0;
}

Result<bool> LineReader::endLine()
{
    m_tooLong = false;
    while (true) {
        const char* begin = m_window.data() + m_searched;
        if (const void* found = m_end > m_searched ? std::memchr(begin, '\n', m_end - m_searched) : nullptr) {
            m_lineEnd = static_cast<std::size_t>(static_cast<const char*>(found) - m_window.data());
            m_tooLong = m_tooLong || m_lineEnd - m_begin > kMaxLine;
            return true;
        }
        m_searched = m_end;
        if (m_position == m_file->size())
            return false;
        if (m_tooLong || m_skipFirst || m_end - m_begin > kMaxLine) {
            m_tooLong = true;
            m_begin = m_end; // forget it, and go on to its end
        }
        if (Result<void> filled = fill(); !filled)
            return tl::unexpected(std::move(filled.error()));
    }
}

Result<LineReader::Event> LineReader::next()
{
    m_text = {};
    if (m_skipFirst) {
        const Result<bool> ended = endLine();
        if (!ended)
            return tl::unexpected(ended.error());
        m_skipFirst = false;
        m_begin = m_searched = *ended ? m_lineEnd + 1 : m_end;
    }
    if (lineStart() >= m_partEnd)
        return Event::End;
    if (skipBlanks())
        return Event::Blank;
    const Result<bool> ended = endLine();
    if (!ended)
        return tl::unexpected(ended.error());
    if (!*ended) {
        m_text = {m_window.data() + m_begin, m_end - m_begin};
        m_begin = m_end;
        if (m_text.empty() && !m_tooLong)
            return Event::End;
        ++m_number;
        return Event::Torn;
    }
    m_text = {m_window.data() + m_begin, m_lineEnd - m_begin};
    m_begin = m_searched = m_lineEnd + 1;
    ++m_number;
    m_blanks = std::all_of(m_text.begin(), m_text.end(), isSpace) ? 1 : 0;
    return m_tooLong ? Event::TooLong : m_blanks > 0 ? Event::Blank : Event::Line;
}

} // namespace forkpoint::bundle
