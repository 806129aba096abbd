// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side.h"
#include "core/base/progress.h"

#include <cstddef>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

// Tensors of a run as files.
namespace forkpoint::compare {

enum class ExtractFormat { Npy, Safetensors };

struct ExtractOptions {
    std::string pattern;           ///< align::selects; empty: everything
    std::filesystem::path folder;  ///< created; npy: one file per tensor, named by its id; safetensors: tensors.safetensors
    ExtractFormat format = ExtractFormat::Npy;
    bool perRank = false;          ///< every rank's part by itself, also where a whole is declared
};

struct Extracted {
    std::size_t written = 0;
    std::size_t apart = 0;             ///< of these, parts of ranks: how they make up a whole was not declared, or replicas differ
    std::vector<std::string> refused;  ///< "ID: only a sketch was recorded": what was selected and not written
};

/// Writes the selected tensors: the whole where records declare how ranks' parts make it up, or one rank alone has it; else each rank's part, with
/// @rN behind its name. What only has a sketch, digest or fold is refused by name. Fails with Usage if nothing is selected, Exists, WriteFailed,
/// Cancelled, or as reading does.
Result<Extracted> extract(const align::Side& side, const ExtractOptions& options, Progress* progress = nullptr, std::stop_token stop = {});

} // namespace forkpoint::compare
