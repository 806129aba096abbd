// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/bundle.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forkpoint::bundle {

/// A text from a bundle as it may be shown in a message: shortened, without control characters (a terminal would obey them).
std::string shownText(std::string_view text);

/// Ascending numbers of ranks: "1, 3-5"; of very many ranges the first ones.
std::string rangesText(const std::vector<int>& numbers);

/// Problems of one file. A file of a million bad lines must not fill the memory with complaints, so the first few are kept and the rest
/// counted.
class ProblemLog {
public:
    static constexpr std::uint64_t kKept = 50;

    ProblemLog(std::string file, std::vector<Problem>& problems)
        : m_file(std::move(file))
        , m_problems(problems)
    {
    }

    /// Of the file as a whole; these are never dropped, so their number must not depend on the content.
    void file(Problem::Level level, std::string message) { m_problems.push_back({level, m_file, std::move(message)}); }

    /// Of a line, counted from 1.
    void line(std::uint64_t number, Problem::Level level, std::string message)
    {
        if (m_lines++ < kKept)
            m_problems.push_back({level, m_file + ":" + std::to_string(number), std::move(message)});
    }

    /// Lines with problems beyond the first kKept, which nobody has to describe.
    void more(std::uint64_t lines) { m_lines += lines; }

    /// To be called at the end of the file.
    void finish()
    {
        if (m_lines > kKept) {
            file(Problem::Level::Warning,
                 std::to_string(m_lines - kKept)
                     + " more lines have problems, which are not listed. The file is damaged or was not written by a Forkpoint recorder.");
        }
    }

private:
    std::string m_file;
    std::vector<Problem>& m_problems;
    std::uint64_t m_lines = 0;
};

} // namespace forkpoint::bundle
