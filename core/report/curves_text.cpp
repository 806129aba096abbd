// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/curves_text.h"

#include "core/report/terminal.h"

#include <algorithm>
#include <fmt/format.h>

namespace forkpoint::report {

namespace {

using curves::SeriesOverlay;

double valueAt(const std::vector<curves::Point>& points, std::int32_t step)
{
    return std::lower_bound(points.begin(), points.end(), step, [](const curves::Point& p, std::int32_t s) { return p.step < s; })->value;
}

std::string sentence(const std::vector<SeriesOverlay>& overlays, double tolerance)
{
    const SeriesOverlay* first = nullptr; // losses come first, so of equal onsets a loss is named
    std::size_t common = 0;
    for (const auto& it : overlays) {
        common += it.common > 0 ? 1u : 0u;
        if (it.curve.onset && (!first || *it.curve.onset < *first->curve.onset)) {
            first = &it;
        }
    }
    const std::string curves = common == 1 ? "the common curve" : fmt::format("all {} common curves", common);
    if (!first) {
        return fmt::format("Within {:g} or the last written digit, {} agree{}.", tolerance, curves, common == 1 ? "s" : "");
    }
    return fmt::format("{} departs first, at step {}: {:.7g} against {:.7g}.", first->curve.name, *first->curve.onset, valueAt(first->curve.a,
        *first->curve.onset),
                       valueAt(first->curve.b, *first->curve.onset));
}

std::string sideText(const import::SeriesFile& file)
{
    return fmt::format("{} ({}, {} curve{})", printable(file.name), file.format, file.series.size(), file.series.size() == 1 ? "" : "s");
}

} // namespace

std::string curvesText(const import::SeriesFile& a, const import::SeriesFile& b, const std::vector<SeriesOverlay>& overlays, double tolerance,
    const TextOptions& given)
{
    TextOptions options = given;
    options.width = std::max(options.width, 60);
    const auto width = static_cast<std::size_t>(options.width);
    const bool differs = std::any_of(overlays.begin(), overlays.end(), [](const SeriesOverlay& it) { return it.curve.onset.has_value(); });
    const std::string word = differs ? "DIFFERS" : "AGREES";
    std::string out = toned(word, differs ? Tone::Bad : Tone::Good, options) + "  " + wrapped(printable(sentence(overlays, tolerance)), width,
        word.size() + 2, word.size() + 2) + "\n\n";
    out += fmt::format("  reference  {}\n  candidate  {}\n", shortened(sideText(a), width - 13), shortened(sideText(b), width - 13));
    out += "\n" + toned("Curves", Tone::Bold, options) + "\n";
    out += toned("    departs    largest    at step    steps in common  name\n", Tone::Dim, options);
    std::vector<std::string> notes;
    for (const auto& it : overlays) {
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
    for (const auto& [which, file] : { std::pair("reference", &a), std::pair("candidate", &b) }) {
        for (const auto& note : file->notes) {
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
