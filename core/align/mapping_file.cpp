// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/mapping_file.h"

#include "core/align/names.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <re2/re2.h>
#include <set>

namespace forkpoint::align {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uintmax_t kMaxBytes = 4u << 20;
constexpr std::size_t kMaxPattern = 4096;
constexpr std::size_t kMaxParts = 64;

/// Where each object in the arrays of the document begins: key of the array -> lines. The text is valid JSON.
std::map<std::string, std::vector<int>> entryLines(std::string_view text)
{
    std::map<std::string, std::vector<int>> lines;
    int line = 1, depth = 0;
    std::string key, word;
    for (std::size_t i = 0; i < text.size(); ++i) {
        switch (text[i]) {
        case '\n':
            ++line;
            break;
        case '"':
            word.clear();
            for (++i; i < text.size() && text[i] != '"'; ++i) {
                i += text[i] == '\\' ? 1u : 0u;
                word += i < text.size() ? text[i] : ' ';
            }
            key = depth == 1 ? word : key; // a value at this depth is no array, so that its text does no harm
            break;
        case '{':
            if (depth == 2) {
                lines[key].push_back(line);
            }
            ++depth;
            break;
        case '[':
            ++depth;
            break;
        case '}':
        case ']':
            --depth;
            break;
        default:
            break;
        }
    }
    return lines;
}

/// One object of the file; the first thing wrong with it is kept.
class Entry {
public:
    Entry(const Json& object, std::string where, std::initializer_list<std::string_view> known)
        : m_object(object)
        , m_where(std::move(where))
    {
        if (!object.is_object()) {
            complain("", "is no object");
            return;
        }
        for (const auto& [key, value] : object.items()) {
            if (std::find(known.begin(), known.end(), key) == known.end()) {
                complain(key, fmt::format("is unknown; known are {}", fmt::join(known, ", ")));
            }
        }
    }

    const std::string& problem() const { return m_problem; }
    void complain(std::string_view key, std::string_view what)
    {
        if (m_problem.empty()) {
            m_problem = key.empty() ? fmt::format("{} {}", m_where, what) : fmt::format("{}: '{}' {}", m_where, key, what);
        }
    }
    const Json* find(std::string_view key) const
    {
        const auto found = m_object.is_object() ? m_object.find(std::string(key)) : m_object.end();
        return m_object.is_object() && found != m_object.end() ? &*found : nullptr;
    }
    std::string text(std::string_view key)
    {
        const auto* value = find(key);
        if (!value || !value->is_string() || value->get_ref<const std::string&>().size() > kMaxPattern) {
            complain(key, !value ? "is missing" : value->is_string() ? fmt::format("is longer than {} bytes", kMaxPattern) : "is no text");
            return {};
        }
        return value->get<std::string>();
    }
    std::optional<std::int64_t> integer(std::string_view key, std::int64_t min, std::int64_t max)
    {
        const auto* value = find(key);
        if (!value) {
            return std::nullopt;
        }
        const bool fits = value->is_number_integer()
            && (!value->is_number_unsigned() || value->get<std::uint64_t>() <= static_cast<std::uint64_t>(max));
        if (!fits || value->get<std::int64_t>() < min || value->get<std::int64_t>() > max) {
            complain(key, fmt::format("is no integer from {} to {}", min, max));
            return std::nullopt;
        }
        return value->get<std::int64_t>();
    }
    std::string pattern(std::string_view key)
    {
        auto out = text(key);
        if (const auto error = patternError(out); m_problem.empty() && !error.empty()) {
            complain(key, fmt::format("is no valid regular expression: {}", error));
        }
        return out;
    }
    /// A replacement for matches of `pattern`.
    void checkReplacement(std::string_view key, const std::string& pattern, const std::string& replacement)
    {
        const RE2 re(pattern, RE2::Quiet);
        std::string error;
        if (m_problem.empty() && re.ok() && !re.CheckRewriteString(replacement, &error)) {
            complain(key, fmt::format("does not fit the pattern: {}", error));
        }
    }

private:
    static std::string patternError(const std::string& pattern)
    {
        const RE2 re(pattern, RE2::Quiet);
        return pattern.empty() ? "it is empty and would match everywhere" : re.ok() ? std::string() : re.error();
    }

    const Json& m_object;
    std::string m_where;
    std::string m_problem;
};

std::string percentDecoded(std::string_view text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        const char* const digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
            out += static_cast<char>(value);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

/// The entries of one array, each made by `read(entry, json)`.
template <class Rule, class Read>
Result<std::vector<Rule>> readEntries(const Json& document, const std::string& key, const std::vector<int>& lines, const std::string& file,
                                      std::initializer_list<std::string_view> known, Read&& read)
{
    std::vector<Rule> out;
    const auto found = document.find(key);
    if (found == document.end()) {
        return out;
    }
    if (!found->is_array()) {
        return fail(ErrorCode::Usage, fmt::format("'{}' is no array", key), file);
    }
    for (std::size_t i = 0; i < found->size(); ++i) {
        const int line = i < lines.size() ? lines[i] : 0;
        Entry entry((*found)[i], fmt::format("line {}: {}[{}]", line, key, i), known);
        Rule rule = read(entry);
        rule.line = line;
        if (!entry.problem().empty()) {
            return fail(ErrorCode::Usage, entry.problem(), file);
        }
        out.push_back(std::move(rule));
    }
    return out;
}

TensorName readName(Entry& entry, std::string_view key)
{
    auto name = parseTensorName(entry.text(key));
    if (!name) {
        entry.complain(key, name.error().message);
    }
    return name.value_or(TensorName {});
}

JoinRule readJoin(Entry& entry)
{
    JoinRule rule;
    const auto* reference = entry.find("reference");
    const auto* candidate = entry.find("candidate");
    const bool partsInReference = reference && reference->is_array(), partsInCandidate = candidate && candidate->is_array();
    if (partsInReference == partsInCandidate) {
        entry.complain("", "needs a list of parts in one of 'reference' and 'candidate', and a pattern for the whole in the other");
        return rule;
    }
    rule.wholeInCandidate = partsInReference;
    rule.whole = entry.pattern(rule.wholeInCandidate ? "candidate" : "reference");
    const std::string_view partsKey = rule.wholeInCandidate ? "reference" : "candidate";
    for (const auto& part : rule.wholeInCandidate ? *reference : *candidate) {
        if (!part.is_string() || part.get_ref<const std::string&>().size() > kMaxPattern) {
            entry.complain(partsKey, "holds something that is no text");
            return rule;
        }
        rule.parts.push_back(part.get<std::string>());
        entry.checkReplacement(partsKey, rule.whole, rule.parts.back());
    }
    if (rule.parts.size() < 2 || rule.parts.size() > kMaxParts) {
        entry.complain(partsKey, fmt::format("has {} parts; 2 to {} can be joined", rule.parts.size(), kMaxParts));
    }
    if (std::set<std::string>(rule.parts.begin(), rule.parts.end()).size() < rule.parts.size()) {
        entry.complain(partsKey, "names a part twice");
    }
    rule.dim = entry.integer("dim", -16, 15);
    rule.blocks = entry.integer("blocks", 1, std::numeric_limits<std::int32_t>::max()).value_or(1);
    return rule;
}

/// Exact pairs that contradict each other.
Result<void> checkPairs(const Mapping& mapping)
{
    std::map<std::string, int> references, candidates;
    for (const auto& pair : mapping.pairs) {
        for (const auto& [side, seen, name] :
             { std::tuple("reference", &references, &pair.reference), std::tuple("candidate", &candidates, &pair.candidate) }) {
            const auto [at, added] = seen->emplace(tensorNameText(*name), pair.line);
            if (!added) {
                return fail(ErrorCode::Usage,
                            fmt::format("line {}: '{}' of the {} has a partner already, in line {}", pair.line, at->first, side, at->second),
                            mapping.file);
            }
        }
    }
    return {};
}

} // namespace

Result<TensorName> parseTensorName(std::string_view text)
{
    TensorName out;
    auto rest = text;
    if (const auto colon = rest.find(':'); colon != std::string_view::npos) {
        out.slot = percentDecoded(rest.substr(colon + 1));
        rest = rest.substr(0, colon);
    }
    if (const auto hash = rest.find('#'); hash != std::string_view::npos) {
        const auto digits = rest.substr(hash + 1);
        std::int32_t call = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), call);
        if (error != std::errc() || end != digits.data() + digits.size() || call < 0) {
            return fail(ErrorCode::Usage, fmt::format("has no number of a call behind '#': '{}'", text));
        }
        out.call = call;
        rest = rest.substr(0, hash);
    }
    out.name = percentDecoded(rest);
    if (out.name.empty()) {
        return fail(ErrorCode::Usage, "is empty");
    }
    return out;
}

std::string tensorNameText(const TensorName& name)
{
    return percentEncoded(name.name) + (name.call ? fmt::format("#{}", *name.call) : std::string())
        + (name.slot ? ":" + percentEncoded(*name.slot) : std::string());
}

Result<Mapping> parseMapping(std::string_view text, std::string file)
{
    Json document;
    try {
        document = Json::parse(text);
    } catch (const Json::exception& e) {
        const std::string what = e.what();
        const auto at = what.find("at line");
        return fail(ErrorCode::Corrupt, "is no JSON: " + (at == std::string::npos ? what : what.substr(at)), std::move(file));
    }
    Mapping out;
    out.file = file;
    Entry top(document, "the file", { "format", "version", "step_offset", "names", "pairs", "joins" });
    if (top.problem().empty() && top.text("format") != "forkpoint-map") {
        top.complain("format", "is not \"forkpoint-map\"");
    }
    if (top.problem().empty() && top.integer("version", 1, std::numeric_limits<std::int32_t>::max()).value_or(0) != 1) {
        top.complain("version", "is not 1, the only one that this program knows");
    }
    const auto offset = top.integer("step_offset", std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
    if (!top.problem().empty()) {
        return fail(ErrorCode::Usage, top.problem(), std::move(file));
    }
    if (offset) {
        out.stepOffset = static_cast<std::int32_t>(*offset);
    }
    auto lines = entryLines(text);
    auto names = readEntries<NameRule>(document, "names", lines["names"], file, { "candidate", "reference" }, [](Entry& entry) {
        NameRule rule;
        rule.candidate = entry.pattern("candidate");
        rule.reference = entry.text("reference");
        entry.checkReplacement("reference", rule.candidate, rule.reference);
        return rule;
    });
    auto pairs = readEntries<ExactPair>(document, "pairs", lines["pairs"], file, { "candidate", "reference" }, [](Entry& entry) {
        ExactPair pair;
        pair.reference = readName(entry, "reference");
        pair.candidate = readName(entry, "candidate");
        return pair;
    });
    auto joins = readEntries<JoinRule>(document, "joins", lines["joins"], file, { "candidate", "reference", "dim", "blocks" }, readJoin);
    for (const auto* error : { names ? nullptr : &names.error(), pairs ? nullptr : &pairs.error(), joins ? nullptr : &joins.error() }) {
        if (error) {
            return tl::unexpected(*error);
        }
    }
    out.names = std::move(*names);
    out.pairs = std::move(*pairs);
    out.joins = std::move(*joins);
    if (auto fine = checkPairs(out); !fine) {
        return tl::unexpected(fine.error());
    }
    return out;
}

Result<Mapping> readMapping(const std::filesystem::path& path)
{
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
        return fail(std::filesystem::exists(path, error) ? ErrorCode::Usage : ErrorCode::NotFound, "is no mapping file", path.string());
    }
    if (std::filesystem::file_size(path, error) > kMaxBytes) {
        return fail(ErrorCode::Usage, "is larger than 4 MiB: no mapping file", path.string());
    }
    std::ifstream in(path, std::ios::binary);
    std::string text { std::istreambuf_iterator<char>(in), {} };
    if (!in) {
        return fail(ErrorCode::Unreadable, "cannot be read", path.string());
    }
    return parseMapping(text, path.string());
}

std::string mappingText(const Mapping& mapping)
{
    Json document = { { "format", "forkpoint-map" }, { "version", 1 } };
    if (mapping.stepOffset) {
        document["step_offset"] = *mapping.stepOffset;
    }
    for (const auto& rule : mapping.names) {
        document["names"].push_back({ { "candidate", rule.candidate }, { "reference", rule.reference } });
    }
    for (const auto& pair : mapping.pairs) {
        document["pairs"].push_back({ { "reference", tensorNameText(pair.reference) }, { "candidate", tensorNameText(pair.candidate) } });
    }
    for (const auto& rule : mapping.joins) {
        Json join;
        join["reference"] = rule.wholeInCandidate ? Json(rule.parts) : Json(rule.whole);
        join["candidate"] = rule.wholeInCandidate ? Json(rule.whole) : Json(rule.parts);
        if (rule.dim) {
            join["dim"] = *rule.dim;
        }
        if (rule.blocks != 1) {
            join["blocks"] = rule.blocks;
        }
        document["joins"].push_back(std::move(join));
    }
    return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace forkpoint::align
