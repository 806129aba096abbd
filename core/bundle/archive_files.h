// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/open_files.h"

#include <filesystem>
#include <memory>

// A bundle in a ZIP archive, read where it lies: as bug trackers accept it. Entries that are stored are read in place, compressed ones are
// unpacked when they are first opened: small ones in memory, larger ones into a temporary file that has no name and is gone with the bundle.
// The archive may come from a stranger. Only its central directory is believed, after every range in it was checked; nothing is ever written
// under a name that it gives, and both memory and the temporary files are bounded.
namespace forkpoint::bundle {

bool isArchive(const std::filesystem::path& path); ///< begins as a ZIP archive does

/// True if the file begins as a ZIP archive and holds a bundle, as far as can be seen. Cheap; never fails.
bool isBundleArchive(const std::filesystem::path& path);

/// The files of the one bundle in the archive: at its top, or in one folder there. NotABundle (there is none), Unsupported (several;
/// encrypted, another compression), Corrupt (lying sizes, entries that overlap, names that lead out of the archive or are there twice),
/// Truncated, NotFound, Unreadable. The message says which entry.
Result<std::shared_ptr<BundleFiles>> openArchive(const std::filesystem::path& path);

} // namespace forkpoint::bundle
