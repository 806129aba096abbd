// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/mapping_file.h"
#include "core/align/numbering.h"
#include "core/align/side_index.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// Both sides' names brought to the same terms: the user's mapping first, then modules that were matched by class and order.
namespace forkpoint::align {

/// What a name of one side is called in the reference's terms.
struct MappedName {
    RecordName name;
    std::uint32_t id = 0;   ///< equal names of either side have equal numbers
    bundle::SharedText by;  ///< "map.json, line 12" if the mapping made it so, else empty
    bool byClass = false;   ///< renamed with its module, which was matched by class and order
    const JoinRule* join = nullptr; ///< it belongs to a many-to-one pair
    bool isWhole = false;   ///< ... as the whole, not as a part
    std::size_t piece = 0;  ///< ... as this part
    std::vector<const ExactPair*> calls; ///< pairs of single calls or slots of it
};

struct MappedNames {
    std::vector<MappedName> a, b;       ///< parallel to SideIndex::names
    std::vector<std::string> notes;     ///< rules that matched nothing
    Numbering<RecordName, RecordNameHash> ids;
};

/// `renames`: modules of B that were matched by class (matchRenamedModules). Fails with Usage where two names of one side would become the same,
/// or a part of one whole is a whole itself or belongs to another; the message names the rule's line.
Result<MappedNames> mapNames(const SideIndex& a, const SideIndex& b, const Mapping& mapping, const std::map<std::string, std::string>& renames);

/// The modules of B that the mapping renames, without wrapper prefixes -> in the reference's terms.
std::map<std::string, std::string> mappedModules(const std::vector<bundle::ModuleRecord>& modules, const Mapping& mapping);

/// "map.json, line 12"; without the line where there is none.
std::string placeOf(const Mapping& mapping, int line);

/// "encoder.layers.0.weight" -> module "encoder.layers.0", parameter "weight"; without a parameter all of it is the module.
RecordName splitName(const std::string& full, bool hasParam);

} // namespace forkpoint::align
