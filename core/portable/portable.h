// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/compare/comparison.h"

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

// A comparison in one file, to be looked at where its bundles are not (FORKCMP.md). What comes out of load() is a comparison as compare()
// makes it, number for number, and views need no second path: only most tensors' elements are missing.
namespace forkpoint::portable {

inline constexpr std::uint64_t kUsualBudget = 50'000'000; ///< bytes of the file

struct SaveOptions {
    std::uint64_t budget = kUsualBudget;
    compare::Provenance provenance; ///< `created` is filled in if empty; so are label and identity of the sides
};

struct Saved {
    std::uint64_t bytes = 0;  ///< of the file
    std::size_t kept = 0;     ///< pairs whose tensors it holds
    std::size_t pictures = 0; ///< of these, as overviews without their elements
    std::size_t leftOut = 0;  ///< pairs that differ and whose tensors it does not hold
};

/// Writes a finished comparison, by a temporary file beside `path` and a rename. Usage if the comparison itself needs more than the budget (the
/// message says how much) or came from such a file; Exists if there is something else at `path`; WriteFailed, Cancelled. Progress: "keep".
Result<Saved> save(const compare::Snapshot& comparison, const std::filesystem::path& path, SaveOptions options, Progress* progress = nullptr,
                   std::stop_token stop = {});

/// Opens one; Structure::kept is set. NotFound, Unreadable, NotABundle, Unsupported, Truncated, Corrupt. Bytes of tensors are read when asked for.
Result<compare::Snapshot> load(const std::filesystem::path& path);

/// True if the file begins like one, whatever its name.
bool isPortable(const std::filesystem::path& path);

/// SHA-256, in hex, over the digests of a side's tensors, rank by rank in the order of the records: the same for a copy of a run.
std::string identityOf(const align::Side& side);

} // namespace forkpoint::portable
