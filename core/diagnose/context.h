// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

// What was different around the runs: environment, switches, configuration, code. Context until it explains the fork.
namespace forkpoint::diagnose {

struct ContextEntry {
    std::string section; ///< "environment", "flags", "config", "seeds", "code", "run"
    std::string key;     ///< "torch", "optimizers.0.groups.0.lr"
    std::string a, b;    ///< as JSON text, of switches and optimizers with what other ranks have instead; empty if absent on that side
    bool expected = false; ///< differs between any two runs (world size, ports, paths, command line): listed, but no alarm

    bool unreadable = false; ///< the rank.json of one side could not be read: what it held is unknown, and no difference to alarm about

    bool differs() const { return a != b; }
};

/// Everything that the first ranks of both sides recorded of it, equal or not, by section and key; nullopt if neither side recorded any.
std::optional<std::vector<ContextEntry>> contextEntries(const align::Side& a, const align::Side& b);

/// The entries that differ, unexpected ones first; nullopt if neither side recorded any.
std::optional<std::vector<ContextEntry>> contextDifferences(const align::Side& a, const align::Side& b);

/// Of these, how many differ and should not; nullopt as above.
std::optional<std::size_t> unexpectedDifferences(const std::optional<std::vector<ContextEntry>>& entries);

} // namespace forkpoint::diagnose
