// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
//
// Any lines as what a user writes of placements, meshes and tensors. A name that is read must come out of its own text again.
#include "core/align/mapping_file.h"
#include "core/align/mesh.h"
#include "core/align/placement_rule.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace forkpoint;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (const auto rule = align::parsePlacementRule(line)) {
            align::PairKey key;
            key.module = line;
            key.param = rule->pattern;
            for (const bool ofA : {true, false})
                (void)rule->matches(key, ofA);
            if (rule->placement.empty())
                std::abort();
        }
        (void)align::parseMeshShape(line);
        if (const auto name = align::parseTensorName(line)) {
            const auto again = align::parseTensorName(align::tensorNameText(*name));
            if (!again || *again != *name)
                std::abort();
        }
    }
    return 0;
}
