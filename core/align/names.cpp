// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/names.h"

#include <algorithm>
#include <array>
#include <deque>
#include <fmt/format.h>
#include <iterator>
#include <unordered_map>

namespace forkpoint::align {

namespace {

constexpr std::array<std::string_view, 4> kWrapperComponents = { "module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module" };

std::string parentPath(const std::string& path)
{
    const auto dot = path.rfind('.');
    return dot == std::string::npos ? std::string() : path.substr(0, dot);
}

std::string_view lastComponent(std::string_view path) { return path.substr(path.rfind('.') + 1); }

/// A module by its normalised path; of a wrapper and what it wraps the inner one.
struct Module {
    std::string path;
    const bundle::ModuleRecord* record = nullptr;
};

/// The modules of one run, distinct, in order of appearance.
struct Modules {
    std::deque<Module> all;
    std::unordered_map<std::string_view, Module*> byPath;

    explicit Modules(const std::vector<bundle::ModuleRecord>& records)
    {
        byPath.reserve(records.size());
        for (const auto& record : records) {
            auto path = normalisedPath(record.path);
            if (const auto known = byPath.find(path); known != byPath.end()) {
                known->second->record = &record;
            } else {
                auto& added = all.emplace_back(std::move(path), &record);
                byPath.emplace(added.path, &added);
            }
        }
    }
    bool has(const std::string& path) const { return byPath.contains(path); }
};

void appendEncoded(std::string& to, std::string_view text)
{
    for (const char c : text) {
        if (c == '/' || c == '#' || c == ':' || c == '@' || c == '%') {
            fmt::format_to(std::back_inserter(to), "%{:02X}", static_cast<unsigned char>(c));
        } else {
            to += c;
        }
    }
}

} // namespace

std::string percentEncoded(std::string_view text)
{
    std::string out;
    appendEncoded(out, text);
    return out;
}

std::string normalisedPath(std::string_view path)
{
    const auto isIn = [&](std::string_view wrapper) { return path.find(wrapper) != std::string_view::npos; };
    if (!path.starts_with('.') && !path.ends_with('.') && std::none_of(kWrapperComponents.begin(), kWrapperComponents.end(), isIn)) {
        return std::string(path);
    }
    std::string out;
    out.reserve(path.size());
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

bool isRoot(std::string_view path)
{
    while (!path.empty()) {
        const auto dot = path.find('.');
        const auto component = path.substr(0, dot);
        if (!component.empty() && std::find(kWrapperComponents.begin(), kWrapperComponents.end(), component) == kWrapperComponents.end()) {
            return false;
        }
        path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    }
    return true;
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
    if (key.kind == bundle::Kind::Batch) {
        id.append("batch");
    } else {
        appendEncoded(id, key.module);
        id.append(key.module.empty() || key.param.empty() ? "" : ".");
        appendEncoded(id, key.param);
    }
    if (key.call > 0) {
        id.append("#").append(std::to_string(key.call));
    }
    if (!key.slot.empty()) {
        id.append(":");
        appendEncoded(id, key.slot);
    }
    return id;
}

std::map<std::string, std::string> matchRenamedModules(const std::vector<bundle::ModuleRecord>& a, const std::vector<bundle::ModuleRecord>& b)
{
    const Modules modulesA(a), modulesB(b);
    std::map<std::string, std::string> renames;
    if (std::all_of(modulesB.all.begin(), modulesB.all.end(), [&](const Module& module) { return modulesA.has(module.path); })) {
        return renames;
    }
    std::unordered_map<std::string, std::vector<const Module*>> left; // by parent: modules of A that no module of B was matched with
    for (const auto& module : modulesA.all) {
        if (!module.path.empty() && !modulesB.has(module.path)) {
            left[parentPath(module.path)].push_back(&module);
        }
    }
    for (const auto& [path, record] : modulesB.all) { // parents come before children in named_modules() order
        if (modulesA.has(path) || path.empty()) {
            continue;
        }
        const std::string parentInB = parentPath(path), parentInA = renamed(renames, parentInB);
        if (!modulesA.has(parentInA)) {
            continue;
        }
        const std::string asChild = joinName(parentInA, lastComponent(path));
        if (asChild != path && modulesA.has(asChild)) {
            continue; // its parent's rename already leads there
        }
        auto& siblings = left[parentInA];
        const auto match = std::find_if(siblings.begin(), siblings.end(), [&](const Module* m) {
            // One that some module of B reaches by its own name under the renamed parent is spoken for, also if that module comes later.
            return m->record->className == record->className && m->record->parameters == record->parameters
                && !modulesB.has(joinName(parentInB, lastComponent(m->path)));
        });
        if (match != siblings.end()) {
            renames.emplace(path, (*match)->path);
            siblings.erase(match);
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
