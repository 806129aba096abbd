// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/curves_text.h"

#include "core/report/terminal.h"

#include <algorithm>
#include <fmt/format.h>

namespace forkpoint::report {

namespace {

std::string sentence(const curves::SeriesComparison& comparison)
{
    const std::size_t common = comparison.common();
    if (!comparison.differs()) {
        const std::string curves = common == 1 ? "the common curve agrees" : fmt::format("all {} common curves agree", common);
        return fmt::format("Within {:g} or the last written digit, {}.", comparison.tolerance, curves);
    }
    const auto& curve = comparison.telling().curve;
    return fmt::format("{} departs first, at step {}: {:.7g} against {:.7g}.", curve.name, *curve.onset, *valueAt(curve.a, *curve.onset),
                       *valueAt(curve.b, *curve.onset));
}

std::string sideText(const curves::SeriesSource& side)
{
    return fmt::format("{} ({}, {} curve{})", printable(side.name), side.format, side.curves, side.curves == 1 ? "" : "s");
}

} // namespace

std::string curvesText(const curves::SeriesComparison& comparison, const TextOptions& given)
{
    TextOptions options = given;
    options.width = std::max(options.width, 60);
    const auto width = static_cast<std::size_t>(options.width);
    const bool differs = comparison.differs();
    const std::string word = differs ? "DIFFERS" : "AGREES";
    std::string out = toned(word, differs ? Tone::Bad : Tone::Good, options) + "  " + wrapped(printable(sentence(comparison)), width,
        word.size() + 2, word.size() + 2) + "\n\n";
    out += fmt::format("  reference  {}\n  candidate  {}\n", shortened(sideText(comparison.a), width - 13), shortened(sideText(comparison.b), width - 13));
    out += "\n" + toned("Curves", Tone::Bold, options) + "\n";
    out += toned("    departs    largest    at step    steps in common  name\n", Tone::Dim, options);
    std::vector<std::string> notes;
    for (const auto& it : comparison.overlays) {
        if (it.common == 0) {
            const bool both = !it.curve.a.empty() && !it.curve.b.empty();
            notes.push_back(both ? fmt::format("{}: no common step", it.curve.name)
                                 : fmt::format("{}: in the {} only", it.curve.name, it.curve.a.empty() ? "candidate" : "reference"));
            continue;
        }
        out += fmt::format("  {} {}  {}  {}  {}  {}\n", it.curve.onset ? toned("!", Tone::Bad, options) : toned("=", Tone::Good, options),
                           padded(it.curve.onset ? fmt::format("step {}", *it.curve.onset) : "-", 9), padded(it.largest > 0 ? fmt::format("{:.2e}",
                               it.largest) : "0", 9),
                           padded(it.at ? fmt::format("{}", *it.at) : "-", 9),
                           padded(fmt::format("{} of {}, {}", it.common, it.curve.a.size(), it.curve.b.size()), 15),
                               shortened(printable(it.curve.name), width - 58));
    }
    for (const auto& [which, side] : { std::pair("reference", &comparison.a), std::pair("candidate", &comparison.b) }) {
        for (const auto& note : side->notes) {
            notes.push_back(fmt::format("{}: {}", which, note));
        }
    }
    constexpr std::size_t kNotes = 12;
    if (!notes.empty()) {
        out += "\n" + toned("Notes", Tone::Bold, options) + "\n";
        for (std::size_t i = 0; i < std::min(notes.size(), kNotes); ++i) {
            out += "  " + wrapped(printable(notes[i]), width, 2, 4) + "\n";
        }
        if (notes.size() > kNotes) {
            out += fmt::format("  ... {} more\n", notes.size() - kNotes);
        }
    }
    return out;
}

} // namespace forkpoint::report
