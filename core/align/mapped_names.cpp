// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/mapped_names.h"

#include "core/align/names.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <re2/re2.h>

namespace forkpoint::align {

namespace {

std::string full(const RecordName& name) { return joinName(name.module, name.param); }

/// True if `path` is `prefix` or lies below it.
bool isBelow(const std::string& path, const std::string& prefix)
{
    return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '.');
}

class Mapper {
public:
    Mapper(const SideIndex& a, const SideIndex& b, const Mapping& mapping, const std::map<std::string, std::string>& renames)
        : m_a(a)
        , m_b(b)
        , m_mapping(mapping)
        , m_renames(renames)
        , m_joinUsed(mapping.joins.size())
        , m_pairUsed(mapping.pairs.size())
        , m_nameUsed(mapping.names.size())
    {
        for (const auto& rule : mapping.names) {
            m_patterns.push_back(std::make_unique<RE2>(rule.candidate, RE2::Quiet));
        }
    }

    Result<MappedNames> run()
    {
        m_out.ids.reserve(std::max(m_a.names.size(), m_b.names.size()));
        m_out.a.reserve(m_a.names.size());
        m_out.b.reserve(m_b.names.size());
        for (const auto& name : m_a.names) {
            m_out.a.push_back({ .name = name });
        }
        for (const auto& name : m_b.names) {
            m_out.b.push_back(ofCandidate(name));
        }
        for (std::size_t i = 0; i < m_mapping.joins.size(); ++i) {
            if (auto done = join(i); !done) {
                return tl::unexpected(done.error());
            }
        }
        if (auto fine = number(m_out.a, m_a); !fine) {
            return tl::unexpected(fine.error());
        }
        if (auto fine = number(m_out.b, m_b); !fine) {
            return tl::unexpected(fine.error());
        }
        noteUnused();
        return std::move(m_out);
    }

    /// Without regard to many-to-one pairs.
    MappedName ofCandidate(const RecordName& raw)
    {
        MappedName out { .name = raw };
        if (m_mapping.pairs.empty() && m_patterns.empty() && m_renames.empty()) {
            return out;
        }
        const std::string name = full(raw);
        const bool hasParam = !raw.param.empty();
        const ExactPair* best = nullptr;
        for (std::size_t i = 0; i < m_mapping.pairs.size() && !name.empty(); ++i) {
            const auto& pair = m_mapping.pairs[i];
            if (pair.candidate.call || pair.candidate.slot) {
                if (pair.candidate.name == name) {
                    out.calls.push_back(&pair);
                    m_pairUsed[i] = true;
                }
            } else if (isBelow(name, pair.candidate.name)) {
                best = !best || pair.candidate.name.size() > best->candidate.name.size() ? &pair : best;
                m_pairUsed[i] = true;
            }
        }
        if (best) {
            out.name = splitName(best->reference.name + name.substr(best->candidate.name.size()), hasParam);
            out.by = placeOf(m_mapping, best->line);
            return out;
        }
        for (std::size_t i = 0; i < m_patterns.size() && !name.empty(); ++i) {
            std::string replaced = name;
            if (RE2::Replace(&replaced, *m_patterns[i], m_mapping.names[i].reference)) {
                m_nameUsed[i] = true;
                if (replaced != name && !replaced.empty()) {
                    out.name = splitName(replaced, hasParam);
                    out.by = placeOf(m_mapping, m_mapping.names[i].line);
                }
                return out;
            }
        }
        if (auto module = renamed(m_renames, raw.module); module != *raw.module) {
            out.name.module = std::move(module);
            out.byClass = true;
        }
        return out;
    }

private:
    /// Gives the parts of one rule the name of their whole.
    Result<void> join(std::size_t number)
    {
        const auto& rule = m_mapping.joins[number];
        const std::string by = placeOf(m_mapping, rule.line);
        const RE2 pattern(rule.whole, RE2::Quiet);
        auto& wholes = rule.wholeInCandidate ? m_out.b : m_out.a;
        auto& parts = rule.wholeInCandidate ? m_out.a : m_out.b;
        const auto& wholeNames = rule.wholeInCandidate ? m_b.names : m_a.names;
        const auto& partNames = rule.wholeInCandidate ? m_a.names : m_b.names;
        std::map<RecordName, std::size_t> partAt;
        for (std::size_t i = 0; i < partNames.size(); ++i) {
            partAt.emplace(partNames[i], i);
        }
        for (std::size_t w = 0; w < wholeNames.size(); ++w) {
            const std::string name = full(wholeNames[w]);
            if (name.empty() || !RE2::PartialMatch(name, pattern)) {
                continue;
            }
            std::vector<std::size_t> found;
            for (const auto& part : rule.parts) {
                std::string partName = name;
                RE2::Replace(&partName, pattern, part);
                if (const auto at = partAt.find(splitName(partName, !wholeNames[w].param.empty())); at != partAt.end()) {
                    found.push_back(at->second);
                } else {
                    found.push_back(partNames.size());
                }
            }
            if (std::all_of(found.begin(), found.end(), [&](std::size_t at) { return at == partNames.size(); })) {
                continue; // the other side has none of them
            }
            if (wholes[w].join) {
                return clash(by, fmt::format("'{}' belongs to {} already", name, placeOf(m_mapping, wholes[w].join->line)));
            }
            m_joinUsed[number] = true;
            wholes[w].join = &rule;
            wholes[w].isWhole = true;
            wholes[w].by = by;
            for (std::size_t piece = 0; piece < found.size(); ++piece) {
                if (found[piece] == partNames.size()) {
                    continue; // said of the pair that lacks it
                }
                auto& part = parts[found[piece]];
                if (part.join) {
                    return clash(by, fmt::format("'{}' belongs to {} already", full(partNames[found[piece]]), placeOf(m_mapping, part.join->line)));
                }
                part.name = wholes[w].name;
                part.byClass = false;
                part.by = by;
                part.join = &rule;
                part.piece = piece;
            }
        }
        return {};
    }

    /// Numbers the names, and finds two that became one.
    Result<void> number(std::vector<MappedName>& names, const SideIndex& side)
    {
        constexpr std::size_t kNone = static_cast<std::size_t>(-1);
        std::vector<std::size_t> first; // by id: which name of this side has it
        for (std::size_t i = 0; i < names.size(); ++i) {
            auto& name = names[i];
            name.id = m_out.ids.add(name.name).first;
            first.resize(std::max<std::size_t>(first.size(), m_out.ids.size()), kNone);
            auto& other = first[name.id];
            if (other == kNone) {
                other = i;
                continue;
            }
            const bool pieces = name.join && !name.isWhole && names[other].join == name.join && names[other].piece != name.piece;
            const auto& by = name.by.empty() ? names[other].by : name.by;
            if (!pieces && !by.empty()) { // else: modules matched by class, the ladder's own affair
                return clash(by, fmt::format("'{}' and '{}' would both be '{}'", full(side.names[other]), full(side.names[i]), full(name.name)));
            }
        }
        return {};
    }

    Result<void> clash(const std::string& by, const std::string& what) const
    {
        return fail(ErrorCode::Usage, fmt::format("{}. Give one of them another partner in 'pairs', or make the pattern narrower", what), by);
    }

    void noteUnused()
    {
        const auto note = [&](const std::vector<bool>& used, const auto& rules, std::string_view what) {
            for (std::size_t i = 0; i < used.size(); ++i) {
                if (!used[i]) {
                    m_out.notes.push_back(fmt::format("{}: {}", placeOf(m_mapping, rules[i].line), what));
                }
            }
        };
        note(m_pairUsed, m_mapping.pairs, "the candidate has no tensor of this name");
        note(m_nameUsed, m_mapping.names, "no name of the candidate matches this pattern, or an earlier rule took all that do");
        note(m_joinUsed, m_mapping.joins, "no whole of this name has parts on the other side");
    }

    const SideIndex& m_a;
    const SideIndex& m_b;
    const Mapping& m_mapping;
    const std::map<std::string, std::string>& m_renames;
    std::vector<std::unique_ptr<RE2>> m_patterns;
    std::vector<bool> m_joinUsed, m_pairUsed, m_nameUsed;
    MappedNames m_out;
};

} // namespace

std::string placeOf(const Mapping& mapping, int line)
{
    return line > 0 ? fmt::format("{}, line {}", mapping.file, line) : mapping.file;
}

RecordName splitName(const std::string& full, bool hasParam)
{
    const auto dot = full.rfind('.');
    if (!hasParam) {
        return { full, "" };
    }
    return dot == std::string::npos ? RecordName { "", full } : RecordName { full.substr(0, dot), full.substr(dot + 1) };
}

Result<MappedNames> mapNames(const SideIndex& a, const SideIndex& b, const Mapping& mapping, const std::map<std::string, std::string>& renames)
{
    return Mapper(a, b, mapping, renames).run();
}

std::map<std::string, std::string> mappedModules(const std::vector<bundle::ModuleRecord>& modules, const Mapping& mapping)
{
    std::map<std::string, std::string> out;
    if (mapping.pairs.empty() && mapping.names.empty()) {
        return out;
    }
    SideIndex side;
    for (const auto& module : modules) {
        side.names.push_back({ normalisedPath(module.path), "" });
    }
    const SideIndex none;
    const std::map<std::string, std::string> noRenames;
    Mapper mapper(none, side, mapping, noRenames);
    for (const auto& name : side.names) {
        if (auto mapped = mapper.ofCandidate(name); !mapped.by.empty()) {
            out.emplace(name.module, mapped.name.module);
        }
    }
    return out;
}

} // namespace forkpoint::align
