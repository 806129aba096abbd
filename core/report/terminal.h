// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnose/severity.h"
#include "core/report/text_report.h"

#include <string>
#include <string_view>

// Text for a terminal of a given width: wrapping, shortening, colour. Names come from strangers' bundles: control characters are shown as
// escapes, so that a name cannot move the cursor.
namespace forkpoint::report {

/// Columns that UTF-8 text takes, counting every code point as one.
std::size_t columns(std::string_view text);

/// Control characters, C1 ones included, and bytes that are no UTF-8 as \xNN; characters that reverse the direction of text or end a line as \u20NN.
std::string printable(std::string_view text);

/// At most `width` columns; what is too long loses its middle ("layers.0...weight").
std::string shortened(std::string_view text, std::size_t width);

/// Words wrapped so that no line passes column `width`. The first line begins at column `first` (what is there already is the caller's), the
/// others are indented by `indent`. A word that is longer than a line loses its middle.
std::string wrapped(std::string_view text, std::size_t width, std::size_t first, std::size_t indent);

std::string padded(std::string_view text, std::size_t width);

enum class Tone { Plain, Bold, Dim, Good, Warn, Bad };
std::string toned(std::string_view text, Tone tone, const TextOptions& options);
Tone toneOf(diagnose::Severity severity);

} // namespace forkpoint::report
