// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/names.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

namespace forkpoint::align {

namespace {

constexpr std::array<std::string_view, 4> kWrapperComponents = { "module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module" };

std::string parentPath(const std::string& path)
{
    const auto dot = path.rfind('.');
    return dot == std::string::npos ? std::string() : path.substr(0, dot);
}

struct ModuleShape {
    std::string path, className;
    std::vector<std::string> parameters;
};

/// Distinct normalised paths in order of appearance; of a wrapper and what it wraps the inner one.
std::vector<ModuleShape> distinctModules(const std::vector<bundle::ModuleRecord>& modules)
{
    std::vector<ModuleShape> out;
    std::map<std::string, std::size_t> seen;
    for (const auto& module : modules) {
        ModuleShape shape { normalisedPath(module.path), module.className, module.parameters };
        const auto [at, added] = seen.emplace(shape.path, out.size());
        if (added) {
            out.push_back(std::move(shape));
        } else {
            out[at->second] = std::move(shape);
        }
    }
    return out;
}

} // namespace

std::string percentEncoded(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        if (c == '/' || c == '#' || c == ':' || c == '@' || c == '%') {
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
    return out;
}

std::string normalisedPath(std::string_view path)
{
    std::string out;
    while (!path.empty()) {
        const auto dot = path.find('.');
        const auto component = path.substr(0, dot);
        path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
        if (std::find(kWrapperComponents.begin(), kWrapperComponents.end(), component) == kWrapperComponents.end()) {
            out += out.empty() ? "" : ".";
            out += component;
        }
    }
    return out;
}

std::string joinName(std::string_view module, std::string_view param)
{
    if (module.empty() || param.empty()) {
        return std::string(module.empty() ? param : module);
    }
    std::string out;
    out.reserve(module.size() + 1 + param.size());
    out.append(module).append(".").append(param);
    return out;
}

std::string PairKey::name() const
{
    if (kind == bundle::Kind::Batch) {
        return "batch";
    }
    const std::string joined = joinName(module, param);
    return joined.empty() ? "(root)" : joined;
}

std::string pairId(const PairKey& key)
{
    std::string id; // by hand: there are millions of them
    id.reserve(48 + key.module.size() + key.param.size() + key.slot.size());
    id.append("s").append(std::to_string(key.step));
    if (key.micro > 0) {
        id.append(".m").append(std::to_string(key.micro));
    }
    id.append("/").append(bundle::name(key.phase)).append("/").append(bundle::name(key.kind)).append("/");
    id.append(percentEncoded(key.kind == bundle::Kind::Batch ? "batch" : joinName(key.module, key.param)));
    if (key.call > 0) {
        id.append("#").append(std::to_string(key.call));
    }
    if (!key.slot.empty()) {
        id.append(":").append(percentEncoded(key.slot));
    }
    return id;
}

std::map<std::string, std::string> matchRenamedModules(const std::vector<bundle::ModuleRecord>& a, const std::vector<bundle::ModuleRecord>& b)
{
    const auto modulesA = distinctModules(a), modulesB = distinctModules(b);
    std::set<std::string> pathsA, pathsB;
    for (const auto& m : modulesA) {
        pathsA.insert(m.path);
    }
    for (const auto& m : modulesB) {
        pathsB.insert(m.path);
    }
    std::map<std::string, std::string> renames;
    std::set<std::string> taken;
    // A module of A that some module of B reaches by its own name under a renamed parent is spoken for, also if that one comes later.
    const auto isSpokenFor = [&](const std::string& path, const std::string& parentInB) {
        return pathsB.contains(path) || taken.contains(path) || pathsB.contains(joinName(parentInB, path.substr(path.rfind('.') + 1)));
    };
    for (const auto& candidate : modulesB) { // parents come before children in named_modules() order
        if (pathsA.contains(candidate.path) || candidate.path.empty()) {
            continue;
        }
        const std::string parentInB = parentPath(candidate.path), parentInA = renamed(renames, parentInB);
        if (!pathsA.contains(parentInA)) {
            continue;
        }
        const std::string asChild = joinName(parentInA, candidate.path.substr(candidate.path.rfind('.') + 1));
        if (asChild != candidate.path && pathsA.contains(asChild)) {
            continue; // its parent's rename already leads there
        }
        const auto match = std::find_if(modulesA.begin(), modulesA.end(), [&](const ModuleShape& m) {
            return !m.path.empty() && parentPath(m.path) == parentInA && !isSpokenFor(m.path, parentInB) && m.className == candidate.className
                && m.parameters == candidate.parameters;
        });
        if (match != modulesA.end()) {
            renames.emplace(candidate.path, match->path);
            taken.insert(match->path);
        }
    }
    return renames;
}

std::string renamed(const std::map<std::string, std::string>& renames, const std::string& path)
{
    if (renames.empty()) {
        return path;
    }
    for (std::string prefix = path; !prefix.empty(); prefix = parentPath(prefix)) {
        if (const auto found = renames.find(prefix); found != renames.end()) {
            return found->second + path.substr(prefix.size());
        }
    }
    return path;
}

} // namespace forkpoint::align
