// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/portable/archive.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace forkpoint::portable {

enum class Colour : std::uint8_t { Red, Green };
template <> inline constexpr unsigned kValuesOf<Colour> = 2;

struct Inner {
    std::int32_t number = 7;
    std::string text;
    bool operator==(const Inner&) const = default;
};

struct Outer {
    bool flag = false;
    Colour colour = Colour::Red;
    std::uint64_t large = 0;
    std::int64_t small = 0;
    double value = 0;
    std::vector<Inner> inners;
    std::map<std::string, std::string> names;
    std::optional<std::pair<int, int>> pair;
    std::array<double, 2> two {};
    bool operator==(const Outer&) const = default;
};

/// As a newer version writes it.
struct NewerInner {
    std::int32_t number = 0;
    std::string text;
    std::vector<double> added;
};

template <class Archive> void fields(Archive& archive, Inner& x) { archive(x.number, x.text); }
template <class Archive> void fields(Archive& archive, NewerInner& x) { archive(x.number, x.text, x.added); }
template <class Archive> void fields(Archive& archive, Outer& x)
{
    archive(x.flag, x.colour, x.large, x.small, x.value, x.inners, x.names, x.pair, x.two);
}

namespace {

template <class... T> std::string written(const T&... values)
{
    FieldWriter writer;
    writer(values...);
    return writer.take();
}

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

Outer sample()
{
    return { true, Colour::Green, std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::int64_t>::min(), -0.0,
             { { -1, "one" }, { 1 << 30, std::string("a\0b", 3) } }, { { "k", "v" } }, std::pair(-3, 4), { std::numeric_limits<double>::infinity(), 5e-324 } };
}

TEST(Archive, EveryKindOfValueComesBack)
{
    const std::string text = written(sample());
    FieldReader reader(bytes(text));
    Outer back;
    reader(back);
    EXPECT_TRUE(reader.ok()) << reader.problem();
    EXPECT_TRUE(reader.atEnd());
    EXPECT_EQ(back, sample());
    EXPECT_TRUE(std::signbit(back.value));
}

TEST(Archive, WhatANewerVersionAddsToARecordIsPassedOver)
{
    const std::string text = written(NewerInner { 5, "five", { 1, 2, 3 } }, std::string("after"));
    FieldReader reader(bytes(text));
    Inner inner;
    std::string after;
    reader(inner, after);
    EXPECT_TRUE(reader.ok()) << reader.problem();
    EXPECT_EQ(inner, (Inner { 5, "five" }));
    EXPECT_EQ(after, "after");
}

TEST(Archive, CutAnywhereIsAProblemAndNothingElse)
{
    const std::string text = written(sample());
    for (std::size_t size = 0; size < text.size(); ++size) {
        const std::string cut = text.substr(0, size);
        FieldReader reader(bytes(cut));
        Outer back;
        reader(back);
        EXPECT_FALSE(reader.ok()) << size;
    }
}

TEST(Archive, LyingLengthsAreProblems)
{
    const auto problemOf = [](const std::string& text, auto value) {
        FieldReader reader(bytes(text));
        reader(value);
        return reader.problem();
    };
    EXPECT_NE(problemOf(written(std::uint64_t(1) << 60), std::vector<Inner>()), "");
    EXPECT_NE(problemOf(written(std::uint64_t(1) << 60), std::string()), "");
    EXPECT_NE(problemOf(std::string("\xff\xff\xff\x7f", 4), Inner()), "");
    EXPECT_NE(problemOf(std::string(11, '\xff'), std::uint64_t()), "");
    EXPECT_NE(problemOf(written(2u), Colour::Red), "");
    EXPECT_NE(problemOf(written(2u), false), "");
    EXPECT_NE(problemOf(written(std::int64_t(1) << 40), std::int32_t()), "");
    EXPECT_EQ(problemOf(written(1u), Colour::Red), "");
}

} // namespace
} // namespace forkpoint::portable
