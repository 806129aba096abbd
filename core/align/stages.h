// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/rows.h"
#include "core/align/side.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Pipelines: the layers of a model are spread over ranks, and over several models of one rank where schedules are interleaved.
namespace forkpoint::align {

/// A part of the model: what one rank, or several with the same modules, calls under one root.
struct Stage {
    std::size_t group = 0; ///< of ranks that have modules in common
    std::string root; ///< path of the model that holds it; empty for the first one of a rank
    auto operator<=>(const Stage&) const = default;
};

/// What each rank of a side has of the model. Names are without wrappers, and without the root of a rank's further models: as the whole has
/// them.
struct Stages {
    std::vector<std::size_t> groups; ///< per rank index: ranks that have modules in common; empty: the side is no pipeline
    std::map<std::string, Stage> ofModule; ///< the modules with parameters of their own
    std::map<std::string, std::int64_t> order; ///< in which a side without stages calls them; empty: not known
    std::vector<std::string> roots; ///< of a rank's further models

    bool empty() const { return groups.empty(); }
    std::size_t count() const;
    Stage of(std::size_t rankIndex, std::string_view module) const;
    std::string nameInWhole(std::string_view module) const;

    /// The ranks that lie before all others as far as is known: those of the first rank if nothing is.
    std::size_t firstGroup() const;
};

/// Which stage's tensor of a module is that of the whole model.
struct StageOfModule {
    bool spread = false; ///< several stages have modules of it: what goes in is the first one's, what comes out the last one's
    std::optional<Stage> first, last; ///< nullopt: not known, or, if not `spread`, all that have it
};

/// Stages if no two groups of ranks call the same module with parameters. Read off the first recorded step's calls; none where these were
/// not recorded.
Stages stagesOf(const Side& side);

/// Module of B -> module of A, for what one side has in a further model of a rank.
std::map<std::string, std::string> renamesOfStages(const Side& a, const Stages& stagesA, const Side& b, const Stages& stagesB);

/// Fills in Stages::order by what the other side calls. `renames`: module of B -> module of A.
void orderStages(const Side& a, Stages& stagesA, const Side& b, Stages& stagesB, const std::map<std::string, std::string>& renames);

StageOfModule stageOfModule(const Stages& stages, std::string_view module);

/// The same ranks call the same modules.
bool sameStages(const Side& a, const Stages& stagesA, const Side& b, const Stages& stagesB);

/// A batch is what the first stage is given. The others hold the same rows, whatever they are given of them; nothing is done where it is
/// not known which rank of the one stage sends to which of the other.
void shareRows(std::map<Cell, RowKeys>& rows, const Stages& stages);

} // namespace forkpoint::align
