// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/problem_log.h"

#include <fmt/format.h>

namespace forkpoint::bundle {

std::string shownText(std::string_view text)
{
    constexpr std::size_t kShown = 200;
    const bool cut = text.size() > kShown;
    if (cut) {
        std::size_t end = kShown;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
            --end; // not within a character
        text = text.substr(0, end);
    }
    std::string shown;
    for (const char c : text)
        shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return cut ? shown + "..." : shown;
}

std::string rangesText(const std::vector<int>& numbers)
{
    constexpr std::size_t kShown = 20;
    std::string text;
    std::size_t shown = 0;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        if (shown++ == kShown)
            return text + ", ...";
        text += text.empty() ? "" : ", ";
        text += last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
        i = last + 1;
    }
    return text;
}

} // namespace forkpoint::bundle
