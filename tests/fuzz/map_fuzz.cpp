// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a mapping file. One that is read must come out of its own text again.
#include "core/align/mapping_file.h"

#include <cstdint>
#include <cstdlib>

using forkpoint::align::mappingText;
using forkpoint::align::parseMapping;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto mapping = parseMapping({reinterpret_cast<const char*>(data), size}, "map.json");
    if (!mapping)
        return 0;
    const std::string text = mappingText(*mapping);
    const auto again = parseMapping(text, "map.json");
    if (!again || mappingText(*again) != text)
        std::abort();
    return 0;
}
