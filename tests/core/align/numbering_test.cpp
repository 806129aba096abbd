// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/numbering.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>

namespace forkpoint::align {
namespace {

struct Mixed {
    std::uint64_t operator()(int key) const { return mixed(static_cast<std::uint64_t>(key)); }
};

/// Every key in the same slot.
struct Same {
    std::uint64_t operator()(const std::string&) const { return 7; }
};

TEST(Numbering, KeysAreNumberedInTheOrderInWhichTheyCome)
{
    Numbering<int, Mixed> numbers;
    EXPECT_EQ(numbers.find(5), std::nullopt) << "of an empty one";
    EXPECT_EQ(numbers.add(5), (std::pair<std::uint32_t, bool>(0, true)));
    EXPECT_EQ(numbers.add(-3), (std::pair<std::uint32_t, bool>(1, true)));
    EXPECT_EQ(numbers.add(5), (std::pair<std::uint32_t, bool>(0, false)));
    EXPECT_EQ(numbers.find(-3), 1u);
    EXPECT_EQ(numbers.find(4), std::nullopt);
    EXPECT_EQ(numbers.keys(), (std::vector<int> { 5, -3 }));
}

TEST(Numbering, GrowsAndKeepsItsNumbers)
{
    std::mt19937 random(1);
    Numbering<int, Mixed> numbers;
    std::map<int, std::uint32_t> expected;
    for (int i = 0; i < 50000; ++i) {
        const int key = static_cast<int>(random() % 20000) - 10000;
        const auto [at, isNew] = expected.try_emplace(key, static_cast<std::uint32_t>(expected.size()));
        ASSERT_EQ(numbers.add(key), (std::pair<std::uint32_t, bool>(at->second, isNew)));
    }
    EXPECT_EQ(numbers.size(), expected.size());
    for (const auto& [key, number] : expected) {
        ASSERT_EQ(numbers.find(key), number);
    }
}

TEST(Numbering, KeysWithEqualHashesStayApart)
{
    Numbering<std::string, Same> numbers;
    numbers.reserve(3);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(numbers.add(std::to_string(i)).first, static_cast<std::uint32_t>(i));
    }
    EXPECT_EQ(numbers.find("99"), 99u);
    EXPECT_EQ(numbers.find("100"), std::nullopt);
}

} // namespace
} // namespace forkpoint::align
