// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/terminal.h"

#include <gtest/gtest.h>

namespace forkpoint::report {
namespace {

TEST(Columns, CountCodePoints)
{
    EXPECT_EQ(columns(""), 0u);
    EXPECT_EQ(columns("layers"), 6u);
    EXPECT_EQ(columns("größe"), 5u);
    EXPECT_EQ(columns("层"), 1u);
}

TEST(Printable, OrdinaryTextStays)
{
    EXPECT_EQ(printable("layers.0.fc1 größe 层 🙂"), "layers.0.fc1 größe 层 🙂");
}

TEST(Printable, ControlCharactersAreShown)
{
    EXPECT_EQ(printable("a\nb\tc"), "a\\x0ab\\x09c");
    EXPECT_EQ(printable("\x1b[2J"), "\\x1b[2J");
    EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
    EXPECT_EQ(printable("\x7f"), "\\x7f");
}

TEST(Printable, ControlCharactersOfEightBitsAreShown)
{
    EXPECT_EQ(printable("\xC2\x9B"
                        "2J"),
        "\\x9b2J")
        << "CSI in UTF-8";
    EXPECT_EQ(printable("\x9B"
                        "2J"),
        "\\x9b2J")
        << "CSI as a byte";
    EXPECT_EQ(printable("\xC2\xA0"), "\xC2\xA0") << "no-break space is none";
}

TEST(Printable, BytesThatAreNoUtf8AreShown)
{
    EXPECT_EQ(printable("caf\xE9"), "caf\\xe9");
    EXPECT_EQ(printable("\xE5\xB1"), "\\xe5\\xb1") << "cut off";
    EXPECT_EQ(printable("\xC0\x8A"), "\\xc0\\x8a") << "overlong";
    EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
    EXPECT_EQ(printable("\xF5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80") << "beyond Unicode";
    EXPECT_EQ(printable("\xFF"), "\\xff");
}

TEST(Printable, TextIsNotTurnedRound)
{
    EXPECT_EQ(printable("a\xE2\x80\xAE"
                        "b"),
        "a\\u202eb");
    EXPECT_EQ(printable("\xE2\x81\xA6"), "\\u2066");
    EXPECT_EQ(printable("\xE2\x80\xA8"), "\\u2028") << "a line separator";
    EXPECT_EQ(printable("a \xE2\x80\x93 b"), "a \xE2\x80\x93 b") << "a dash is harmless";
}

TEST(Shortened, KeepsWhatFits)
{
    EXPECT_EQ(shortened("layers.0.weight", 15), "layers.0.weight");
    EXPECT_EQ(shortened("", 0), "");
}

TEST(Shortened, LosesItsMiddle)
{
    EXPECT_EQ(shortened("s0/backward/grad/layers.11.attention.weight", 20), "s0/backw...on.weight");
    EXPECT_EQ(columns(shortened(std::string(100, 'x'), 20)), 20u);
}

TEST(Shortened, NeverCutsACharacter)
{
    const std::string text = "größe.größe.größe.größe";
    for (std::size_t width = 0; width < 24; ++width) {
        const auto cut = shortened(text, width);
        EXPECT_EQ(printable(cut), cut) << width;
        EXPECT_LE(columns(cut), width);
    }
}

TEST(Wrapped, ShortTextStays)
{
    EXPECT_EQ(wrapped("one two", 20, 0, 0), "one two");
    EXPECT_EQ(wrapped("", 20, 0, 4), "");
}

TEST(Wrapped, BreaksBetweenWords)
{
    EXPECT_EQ(wrapped("one two three", 8, 0, 2), "one two\n  three");
    EXPECT_EQ(wrapped("one two three", 7, 0, 0), "one two\nthree") << "a line may be full";
}

TEST(Wrapped, TheFirstLineBeginsWhereItIsSaid)
{
    EXPECT_EQ(wrapped("one two three", 12, 5, 5), "one two\n     three");
    EXPECT_EQ(wrapped("longword", 12, 5, 2), "\n  longword") << "there is no room for it beside what is there already";
}

TEST(Wrapped, AWordLongerThanALineLosesItsMiddle)
{
    EXPECT_EQ(wrapped("a /very/long/path/to/a/file.py b", 16, 0, 2), "a /very...ile.py\n  b");
}

TEST(Wrapped, NoLineIsTooLong)
{
    const std::string text = "The runs fork at step 0, reduce/grad of layers.0.attention.self.query.weight at " + std::string(300, 'x')
        + " : one two three four";
    for (const std::size_t width : { 10u, 23u, 50u, 80u }) {
        for (const std::size_t indent : { 0u, 2u, 9u }) {
            std::size_t column = indent;
            for (const char c : wrapped(text, width, indent, indent)) {
                column = c == '\n' ? 0 : column + 1;
                ASSERT_LE(column, width);
            }
        }
    }
}

TEST(Padded, FillsUpAndNeverCuts)
{
    EXPECT_EQ(padded("ab", 4), "ab  ");
    EXPECT_EQ(padded("größe", 6), "größe ");
    EXPECT_EQ(padded("abcdef", 4), "abcdef");
}

TEST(Toned, OnlyWithColour)
{
    EXPECT_EQ(toned("x", Tone::Bad, { .width = 80, .colour = false }), "x");
    EXPECT_EQ(toned("x", Tone::Bad, { .width = 80, .colour = true }), "\x1b[1;31mx\x1b[0m");
    EXPECT_EQ(toned("x", Tone::Plain, { .width = 80, .colour = true }), "x");
}

TEST(Toned, BySeverity)
{
    using diagnose::Severity;
    EXPECT_EQ(toneOf(Severity::Identical), Tone::Good);
    EXPECT_EQ(toneOf(Severity::Noise), Tone::Good);
    EXPECT_EQ(toneOf(Severity::Unmatched), Tone::Warn);
    EXPECT_EQ(toneOf(Severity::Drift), Tone::Warn);
    EXPECT_EQ(toneOf(Severity::Divergent), Tone::Bad);
    EXPECT_EQ(toneOf(Severity::Invalid), Tone::Bad);
}

} // namespace
} // namespace forkpoint::report
