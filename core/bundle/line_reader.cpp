// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/line_reader.h"

#include <algorithm>
#include <cstring>
#include <simdjson.h>

namespace forkpoint::bundle {

LineReader::LineReader(std::shared_ptr<const OpenFile> file)
    : m_file(std::move(file))
    , m_window((256u << 10) + simdjson::SIMDJSON_PADDING)
{
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
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(space, m_file->size() - m_position));
    if (Result<void> done = m_file->readAt(m_position, std::as_writable_bytes(std::span(m_window.data() + m_end, size))); !done)
        return done;
    m_position += size;
    m_end += size;
    return {};
}

Result<LineReader::Event> LineReader::next()
{
    bool tooLong = false;
    m_text = {};
    while (true) {
        const char* begin = m_window.data() + m_searched;
        if (const void* found = m_end > m_searched ? std::memchr(begin, '\n', m_end - m_searched) : nullptr) {
            const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - m_window.data());
            m_text = {m_window.data() + m_begin, end - m_begin};
            m_begin = m_searched = end + 1;
            ++m_number;
            return tooLong || m_text.size() > kMaxLine ? Event::TooLong : Event::Line;
        }
        m_searched = m_end;
        if (m_position == m_file->size()) {
            m_text = {m_window.data() + m_begin, m_end - m_begin};
            m_begin = m_end;
            if (m_text.empty() && !tooLong)
                return Event::End;
            ++m_number;
            return Event::Torn;
        }
        if (tooLong || m_end - m_begin > kMaxLine) {
            tooLong = true;
            m_begin = m_end; // forget it, and go on to its end
        }
        if (Result<void> filled = fill(); !filled)
            return tl::unexpected(std::move(filled.error()));
    }
}

} // namespace forkpoint::bundle
