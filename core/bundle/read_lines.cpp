// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/read_lines.h"

#include <fmt/format.h>

namespace forkpoint::bundle {

void PartProblems::drop(std::uint64_t number)
{
    std::erase_if(m_lines, [number](const Line& line) { return line.number == number; });
}

void PartProblems::report(ProblemLog& log, std::uint64_t linesBefore)
{
    std::stable_sort(m_lines.begin(), m_lines.end(), [](const Line& a, const Line& b) { return a.number < b.number; });
    for (Line& line : m_lines)
        log.line(linesBefore + line.number, Problem::Level::Warning, std::move(line.message));
    log.more(m_dropped);
}

std::string jsonProblem(simdjson::error_code error)
{
    if (error == simdjson::INCORRECT_TYPE)
        return "is no JSON object";
    if (error == simdjson::UTF8_ERROR)
        return "is not UTF-8";
    return fmt::format("is not JSON ({})", simdjson::error_message(error));
}

} // namespace forkpoint::bundle
