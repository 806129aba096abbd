// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/json_fields.h"
#include "core/bundle/line_reader.h"
#include "core/bundle/problem_log.h"
#include "core/bundle/value_pool.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <stop_token>
#include <string>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>
#include <vector>

// A file of JSON lines, read by all processors: it is cut into parts of a megabyte, each is parsed by itself, and what the parts gave is put
// together in the order of the file, while the next ones are parsed. So memory holds a few parts beside the result, and neither the result
// nor the problems depend on the number of threads.
namespace forkpoint::bundle {

/// What a thread keeps from one part, and one file, to the next.
struct LineContext {
    LineReader lines;
    simdjson::dom::parser parser;
    ValuePool pool;
};
using LineContexts = tbb::enumerable_thread_specific<LineContext>;

/// Problems of one part's lines, counted from 1 at its beginning; as many as ProblemLog would keep, the rest counted.
class PartProblems {
public:
    struct Line {
        std::uint64_t number = 0;
        std::string message;
    };

    bool full() const { return m_lines.size() >= ProblemLog::kKept; }
    void add(std::uint64_t number, std::string message)
    {
        if (full())
            ++m_dropped;
        else
            m_lines.push_back({number, std::move(message)});
    }
    void drop(std::uint64_t number); ///< those of one line
    void report(ProblemLog& log, std::uint64_t linesBefore); ///< in the order of the lines

private:
    std::vector<Line> m_lines;
    std::uint64_t m_dropped = 0;
};

/// One part of the file: `content` is the caller's.
template <class Content> struct LinePart {
    Content content;
    PartProblems problems;
    std::uint64_t lines = 0;
    std::uint64_t blanks = 0; ///< of these
    std::uint64_t firstBlank = 0; ///< its number, if there is one
    std::uint64_t end = 0; ///< byte of the file
    std::string failure;   ///< why the file could not be read on
};

inline constexpr std::uint64_t kPartSize = 1u << 20;

/// Why the parser refuses a line.
std::string jsonProblem(simdjson::error_code error);

/// Reads the lines that begin within [begin, end) of `file`, and calls `parse(content, JsonFields&, line number in the part, PartProblems&)`
/// for each that is a JSON object.
template <class Content, class Parse>
void readPart(LineContext& context, const std::shared_ptr<const OpenFile>& file, std::uint64_t begin, LinePart<Content>& part,
              const std::stop_token& stop, const Parse& parse)
{
    context.lines.open(file, begin, part.end);
    while (!stop.stop_requested()) {
        const Result<LineReader::Event> event = context.lines.next();
        if (!event) {
            part.failure = event.error().message + "; what comes after it is missing";
            return;
        }
        if (*event == LineReader::Event::End)
            return;
        const std::uint64_t number = part.lines = context.lines.number();
        if (*event == LineReader::Event::Blank) {
            part.firstBlank = part.blanks == 0 ? number - context.lines.blanks() + 1 : part.firstBlank;
            part.blanks += context.lines.blanks();
            continue;
        }
        if (*event == LineReader::Event::Torn) {
            part.problems.add(number,
                              "the last line is torn (it has no line end), because the recording was stopped or the file was cut while "
                              "copying; it is ignored");
            return;
        }
        if (*event == LineReader::Event::TooLong) {
            part.problems.add(number, "the line is longer than " + std::to_string(LineReader::kMaxLine) + " bytes; it is skipped");
            continue;
        }
        const std::string_view text = context.lines.text();
        simdjson::dom::object object;
        if (const auto error = context.parser.parse(text.data(), text.size(), false).get(object); error != simdjson::SUCCESS) {
            part.problems.add(number, part.problems.full() ? std::string() : jsonProblem(error) + "; the line is skipped");
            continue;
        }
        JsonFields fields(object);
        parse(context, part.content, fields, number, part.problems);
        if (!fields.ok())
            part.problems.add(number, fields.problem() + "; the line is skipped");
    }
}

/// Reads all of `file`. `merge(LinePart&)` gets the parts in order, one at a time, and takes what it wants of the content; it may
/// add problems. `position` gets the bytes done so far. Cancelled if `stop` says so; everything else that is wrong is told to `log`.
template <class Content, class Parse, class Merge>
Result<void> readLines(const std::shared_ptr<const OpenFile>& file, LineContexts& contexts, ProblemLog& log, const std::stop_token& stop,
                       const std::function<void(std::uint64_t)>& position, const Parse& parse, const Merge& merge)
{
    using Part = std::shared_ptr<LinePart<Content>>;
    constexpr std::size_t kInFlight = 16;
    std::uint64_t next = 0, linesBefore = 0, blanks = 0, firstBlank = 0;
    std::atomic<bool> failed = false;
    const auto input = [&](tbb::flow_control& flow) -> std::uint64_t {
        const std::uint64_t begin = next;
        if (begin >= file->size() || failed || stop.stop_requested())
            flow.stop();
        next += kPartSize;
        return begin;
    };
    const auto read = [&](std::uint64_t begin) -> Part {
        auto part = std::make_shared<LinePart<Content>>();
        part->end = std::min(begin + kPartSize, file->size());
        readPart(contexts.local(), file, begin, *part, stop, parse);
        return part;
    };
    const auto output = [&](const Part& part) {
        if (failed)
            return;
        merge(*part);
        part->problems.report(log, linesBefore);
        firstBlank = blanks == 0 ? linesBefore + part->firstBlank : firstBlank;
        blanks += part->blanks;
        linesBefore += part->lines;
        if (!part->failure.empty()) {
            log.file(Problem::Level::Warning, part->failure);
            failed = true;
        }
        position(part->end);
    };
    tbb::parallel_pipeline(kInFlight,
                           tbb::make_filter<void, std::uint64_t>(tbb::filter_mode::serial_in_order, input)
                               & tbb::make_filter<std::uint64_t, Part>(tbb::filter_mode::parallel, read)
                               & tbb::make_filter<Part, void>(tbb::filter_mode::serial_in_order, output));
    if (stop.stop_requested())
        return fail(ErrorCode::Cancelled, "reading was cancelled");
    if (blanks == 1)
        log.line(firstBlank, Problem::Level::Warning, "the line is blank; it is skipped");
    else if (blanks > 1)
        log.line(firstBlank, Problem::Level::Warning, std::to_string(blanks) + " lines are blank, this is the first of them; they are skipped");
    return {};
}

} // namespace forkpoint::bundle
