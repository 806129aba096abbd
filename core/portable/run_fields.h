// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/side.h"
#include "core/portable/fields.h"

#include <nlohmann/json.hpp>

// A side's run as it is stored: everything that its bundle says in memory, and no bytes of tensors.
namespace forkpoint::portable {

std::string textOf(const nlohmann::json& document); ///< empty if it is no object
/// Complains if it is no document.
nlohmann::json documentOf(const std::string& text, FieldReader& archive);

/// Ranks that take no part are stored as the steps that they recorded.
void write(FieldWriter& archive, const align::Side& side);
/// Complains, and returns a side without a bundle, if what it reads contradicts itself. `label` is the file's, for messages.
align::Side readSide(FieldReader& archive, const std::string& label);

} // namespace forkpoint::portable

namespace forkpoint::bundle {

template <class Archive> void fields(Archive& archive, RankData& x)
{
    auto& [rank, folder, info, modules, calls, backwards, edges, ties, scalars, tensors, complete] = x; // scalars are in the curves
    std::string folderText = folder.filename().string(), infoText;
    if constexpr (!Archive::kReads) {
        infoText = portable::textOf(info);
    }
    archive(rank, folderText, infoText, modules, calls, backwards, edges, ties, tensors, complete);
    if constexpr (Archive::kReads) {
        folder = folderText;
        info = portable::documentOf(infoText, archive);
    }
}

} // namespace forkpoint::bundle
