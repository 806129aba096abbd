// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/line_reader.h"
#include "core/bundle/open_files.h"
#include "core/bundle/sha256.h"
#include "core/bundle/shuffle.h"
#include "tests/core/bundle/bundle_files.h"
#include "tests/core/tensor/naive_tensor.h"

#include <gtest/gtest.h>
#include <sstream>

namespace forkpoint::bundle {
namespace {

using namespace test;
using Event = LineReader::Event;

using Lines = std::vector<std::pair<Event, std::string>>;

/// Appends what the reader has just returned; of blank lines in a row each.
void add(Lines& lines, Event event, const LineReader& reader)
{
    lines.insert(lines.end(), event == Event::Blank ? reader.blanks() : 1, {event, event == Event::Line ? std::string(reader.text()) : std::string()});
}

Lines linesOf(const std::string& text)
{
    TempFolder temp;
    writeText(temp.path() / "lines", text);
    LineReader reader;
    reader.open(openFile(temp.path(), temp.path(), "lines").value(), 0, text.size());
    Lines lines;
    while (true) {
        const Event event = reader.next().value();
        if (event == Event::End)
            return lines;
        add(lines, event, reader);
        EXPECT_EQ(reader.number(), lines.size());
        if (event == Event::Torn) {
            EXPECT_EQ(reader.next().value(), Event::End);
        }
    }
}

TEST(LineReader, Table)
{
    EXPECT_EQ(linesOf(""), Lines{});
    EXPECT_EQ(linesOf("\n"), (Lines{{Event::Blank, ""}}));
    EXPECT_EQ(linesOf("a\n \t\r\n\nb\n "), (Lines{{Event::Line, "a"}, {Event::Blank, ""}, {Event::Blank, ""}, {Event::Line, "b"}, {Event::Torn, ""}}));
    EXPECT_EQ(linesOf(std::string(1000, '\n') + "  x\n"), [] {
        Lines lines(1000, {Event::Blank, ""});
        lines.emplace_back(Event::Line, "  x");
        return lines;
    }());
    EXPECT_EQ(linesOf("a\nbc\n"), (Lines{{Event::Line, "a"}, {Event::Line, "bc"}}));
    EXPECT_EQ(linesOf("a\nbc"), (Lines{{Event::Line, "a"}, {Event::Torn, ""}}));
    const std::string window(256u << 10, 'w'); // the size of the first window, and one more and less
    EXPECT_EQ(linesOf(window + "\nx\n"), (Lines{{Event::Line, window}, {Event::Line, "x"}}));
    EXPECT_EQ(linesOf(window.substr(1) + "\nx\n"), (Lines{{Event::Line, window.substr(1)}, {Event::Line, "x"}}));
    EXPECT_EQ(linesOf(window + "w\nx\n"), (Lines{{Event::Line, window + "w"}, {Event::Line, "x"}}));
    const std::string most(LineReader::kMaxLine, 'm');
    EXPECT_EQ(linesOf(most + "\nx\n"), (Lines{{Event::Line, most}, {Event::Line, "x"}}));
    EXPECT_EQ(linesOf(most + "m\nx\n"), (Lines{{Event::TooLong, ""}, {Event::Line, "x"}}));
    EXPECT_EQ(linesOf(most + most + most + "\nx\n"), (Lines{{Event::TooLong, ""}, {Event::Line, "x"}}));
    EXPECT_EQ(linesOf("x\n" + most + most + most), (Lines{{Event::Line, "x"}, {Event::Torn, ""}}));
}

TEST(LineReader, RandomLines)
{
    forkpoint::test::Random random(41);
    std::string text;
    Lines expected;
    for (int i = 0; i < 300; ++i) {
        std::string line(static_cast<std::size_t>(1 + random() % 20000), static_cast<char>('a' + i % 26));
        text += line + "\n";
        expected.emplace_back(Event::Line, std::move(line));
    }
    EXPECT_EQ(linesOf(text), expected);
}

/// Whatever the parts, each line is in exactly one of them.
TEST(LineReader, PartsHaveEveryLineOnce)
{
    TempFolder temp;
    for (const std::string text : {"", "\n", "a\nbc\n\ndef\nx", "abcdefgh\n", "\n\n\n", "torn"}) {
        writeText(temp.path() / "lines", text);
        const auto file = openFile(temp.path(), temp.path(), "lines").value();
        for (std::uint64_t size = 1; size <= text.size() + 1; ++size) {
            LineReader reader;
            Lines lines;
            for (std::uint64_t begin = 0; begin < text.size(); begin += size) {
                reader.open(file, begin, std::min<std::uint64_t>(begin + size, text.size()));
                for (Event event = reader.next().value(); event != Event::End; event = reader.next().value())
                    add(lines, event, reader);
            }
            EXPECT_EQ(lines, linesOf(text)) << text << " in parts of " << size;
        }
    }
    const std::string most(LineReader::kMaxLine, 'm');
    writeText(temp.path() / "lines", "a\n" + most + "m\nb\n");
    const auto file = openFile(temp.path(), temp.path(), "lines").value();
    std::vector<Event> events;
    LineReader reader;
    for (std::uint64_t begin = 0; begin < file->size(); begin += 1u << 20) {
        reader.open(file, begin, std::min<std::uint64_t>(begin + (1u << 20), file->size()));
        for (Event event = reader.next().value(); event != Event::End; event = reader.next().value())
            events.push_back(event);
    }
    EXPECT_EQ(events, (std::vector{Event::Line, Event::TooLong, Event::Line}));
}

TEST(OpenFiles, KeepsOnlyAsManyOpenAsAllowed)
{
    TempFolder temp;
    fs::create_directory(temp.path() / "f");
    for (int i = 0; i < 10; ++i)
        writeText(temp.path() / "f" / std::to_string(i), "content " + std::to_string(i));
    OpenFiles files(temp.path(), 3);
    const auto openDescriptors = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()); };
    const auto before = openDescriptors();
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 10; ++i) {
            const auto file = files.open(temp.path() / "f", std::to_string(i)).value();
            std::string text(9, '?');
            ASSERT_TRUE(file->readAt(0, std::as_writable_bytes(std::span(text))));
            EXPECT_EQ(text, "content " + std::to_string(i));
        }
    }
    EXPECT_LE(openDescriptors(), before + 3);
    EXPECT_EQ(files.open(temp.path() / "f", "0").value(), files.open(temp.path() / "f", "0").value());
}

TEST(OpenFiles, PlainNames)
{
    for (const char* good : {"a", "tensors-0000.bin", ".hidden", "a b", "\u5c42"})
        EXPECT_TRUE(isPlainName(good)) << good;
    for (const char* bad : {"", ".", "..", "a/b", "/a", "a\\b", "../a", "a..b", "a\nb", "\x7f"})
        EXPECT_FALSE(isPlainName(bad)) << bad;
    EXPECT_FALSE(isPlainName(std::string(300, 'a')));
}

TEST(Sha256, TestVectors)
{
    const auto hash = [](std::string_view text, std::size_t piece) {
        Sha256 sha;
        for (std::size_t at = 0; at < text.size(); at += piece)
            sha.add(std::as_bytes(std::span(text.substr(at, piece))));
        return hexText(sha.finish().value());
    };
    // FIPS 180-4, examples of NIST.
    EXPECT_EQ(hash("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (const std::size_t piece : {1u, 2u, 100u})
        EXPECT_EQ(hash("abc", piece), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(digestFromHex(std::string(64, 'F')), digestFromHex(std::string(64, 'f')));
    EXPECT_EQ(hexText(digestFromHex(std::string(64, 'F')).value()), std::string(64, 'f'));
    EXPECT_EQ(digestFromHex(std::string(63, 'f')), std::nullopt);
    EXPECT_EQ(digestFromHex(std::string(63, 'f') + "g"), std::nullopt);
}

TEST(Shuffle, GroupsBytesAndKeepsTheTail)
{
    const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
    std::string grouped(10, '?'), back(10, '?');
    shuffle(bytes("abcdABCD12"), std::as_writable_bytes(std::span(grouped)), 4);
    EXPECT_EQ(grouped, "aAbBcCdD12");
    unshuffle(bytes(grouped), std::as_writable_bytes(std::span(back)), 4);
    EXPECT_EQ(back, "abcdABCD12");
}

TEST(Shuffle, ComesBackForEveryItemSizeAndLength)
{
    std::vector<std::byte> all(700);
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::byte>(i * 37 + i / 251);
    for (const std::size_t item : {1u, 2u, 4u, 8u, 16u}) {
        for (std::size_t size = 0; size <= all.size(); ++size) {
            const std::span<const std::byte> original(all.data(), size);
            std::vector<std::byte> grouped(size), back(size);
            shuffle(original, grouped, item);
            unshuffle(grouped, back, item);
            ASSERT_TRUE(std::equal(back.begin(), back.end(), original.begin())) << "item " << item << ", size " << size;
        }
    }
}

} // namespace
} // namespace forkpoint::bundle
