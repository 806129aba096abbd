// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/align/alignment.h"

#include <QString>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Pairs in words. Every name comes from a stranger's bundle: `shown` makes it harmless first.
namespace forkpoint::ui {

/// Text from a bundle, fit to be drawn on one line: control characters become their pictures, overrides of the writing direction become
/// \u escapes, text that runs right to left is isolated so that it cannot reorder what stands beside it.
QString shown(std::string_view text);

/// `text` for a tool tip: always rich text, so that markup in a name is shown and not obeyed; long lines wrap.
QString tip(const QString& text);
QString tip(const QString& bold, const QString& text);

QString phaseWord(bundle::Phase phase);
QString phaseAbbreviation(bundle::Phase phase); ///< "fwd", for narrow lists
QString kindWord(bundle::Kind kind);
QString ruleWord(align::Rule rule);         ///< for a column
QString ruleSentence(const align::Pair& pair);
QString statusSentence(align::PairStatus status); ///< empty if matched

QString tensorName(const align::PairKey& key); ///< name#call:slot
QString shortName(const align::PairKey& key);  ///< phase / name, with the kind in parentheses where it is not the usual one of the phase
QString fullName(const align::PairKey& key);   ///< phase / kind / name#call:slot, with the micro-step where there are several

QString dtypeText(DType dtype);
QString dtypeText(const align::Pair& pair); ///< "float32", "float32 → bfloat16"
QString shapeText(const Shape& shape);      ///< "[32, 128]", "scalar" for 0-d
QString shapeText(const align::Pair& pair);
QString indexText(const Shape& shape, std::int64_t flat); ///< "[3, 17]" of a row-major flat index
QString stepsText(const std::vector<int>& steps);         ///< "0-2", "0, 5, 10"
QString ranksText(std::size_t recorded, int worldSize);   ///< "2 ranks", "2 of 4 ranks"
QString bytesText(std::uint64_t bytes);

} // namespace forkpoint::ui
