// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/colour_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace forkpoint::heatmap {
namespace {

// What a colour looks like to someone without one kind of cone, in linear RGB: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A
// physiologically-based model for simulation of color vision deficiency", 2009, severity 1.
using Matrix = std::array<std::array<double, 3>, 3>;
constexpr Matrix kEveryCone = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix kProtan = {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeutan = {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kTritan = {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};

double linear(unsigned value)
{
    const double x = value / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
}

unsigned encoded(double x)
{
    const double clamped = std::clamp(x, 0.0, 1.0);
    return static_cast<unsigned>(std::lround(255 * (clamped <= 0.0031308 ? 12.92 * clamped : 1.055 * std::pow(clamped, 1 / 2.4) - 0.055)));
}

Rgba seenBy(const Matrix& eye, Rgba colour)
{
    const std::array<double, 3> in{linear(redOf(colour)), linear(greenOf(colour)), linear(blueOf(colour))};
    std::array<double, 3> out{};
    for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t column = 0; column < 3; ++column)
            out[row] += eye[row][column] * in[column];
    }
    return rgba(encoded(out[0]), encoded(out[1]), encoded(out[2]));
}

double distance(Rgba x, Rgba y)
{
    const OkLab a = okLab(x), b = okLab(y);
    return std::hypot(a.lightness - b.lightness, a.greenRed - b.greenRed, a.blueYellow - b.blueYellow);
}

TEST(ColourMap, lightnessOfSequentialMapsRises)
{
    for (const ColourMap map : {ColourMap::Viridis, ColourMap::Cividis, ColourMap::Grey}) {
        SCOPED_TRACE(name(map));
        EXPECT_FALSE(isDiverging(map));
        const auto table = colours(map);
        for (std::size_t i = 1; i < kColours; ++i)
            EXPECT_GT(okLab(table[i]).lightness, okLab(table[i - 1]).lightness - 0.0005) << i; // 8 bits a channel
        for (std::size_t i = 8; i < kColours; ++i)
            EXPECT_GT(okLab(table[i]).lightness, okLab(table[i - 8]).lightness + 0.01) << i;
    }
}

TEST(ColourMap, lightnessOfTheDivergingMapIsARoof)
{
    const auto table = colours(ColourMap::BlueWhiteOrange);
    EXPECT_TRUE(isDiverging(ColourMap::BlueWhiteOrange));
    for (std::size_t i = 1; i < kColours / 2; ++i) {
        EXPECT_GT(okLab(table[i]).lightness, okLab(table[i - 1]).lightness);
        EXPECT_LT(okLab(table[kColours / 2 + i]).lightness, okLab(table[kColours / 2 + i - 1]).lightness);
    }
    for (std::size_t i = 0; i < kColours / 2; ++i)
        EXPECT_NEAR(okLab(table[i]).lightness, okLab(table[kColours - 1 - i]).lightness, 0.005) << i; // neither sign weighs more
    EXPECT_EQ(table[kColours / 2 - 1], table[kColours / 2]);
    EXPECT_GT(blueOf(table.front()), redOf(table.front()));
    EXPECT_GT(redOf(table.back()), blueOf(table.back()));
    EXPECT_GT(okLab(table[kColours / 2]).lightness, 0.95);
}

TEST(ColourMap, differencesCanBeToldByEveryEye)
{
    for (const Matrix& eye : {kEveryCone, kProtan, kDeutan, kTritan}) {
        for (const ColourMap map : kColourMaps) {
            const auto table = colours(map);
            for (std::size_t i = 32; i < kColours; i += 32) {
                EXPECT_GT(distance(seenBy(eye, table[i]), seenBy(eye, table[i - 32])), 0.03) << name(map) << " " << i;
            }
            EXPECT_GT(distance(seenBy(eye, table.front()), seenBy(eye, table.back())), 0.15) << name(map);
        }
    }
}

TEST(ColourMap, specialColoursAreApart)
{
    for (const Matrix& eye : {kEveryCone, kProtan, kDeutan, kTritan}) {
        for (const ColourMap map : kColourMaps) {
            SCOPED_TRACE(name(map));
            const SpecialColours special = specialColours(map);
            const std::array three{special.nan, special.positiveInf, special.negativeInf};
            for (std::size_t i = 0; i < three.size(); ++i) {
                EXPECT_EQ(alphaOf(three[i]), 255u);
                for (const Rgba colour : colours(map))
                    ASSERT_GT(distance(seenBy(eye, three[i]), seenBy(eye, colour)), 0.075);
                for (std::size_t j = 0; j < i; ++j)
                    EXPECT_GT(distance(seenBy(eye, three[i]), seenBy(eye, three[j])), 0.075);
            }
        }
    }
}

TEST(ColourMap, isThePublishedOne)
{
    const auto viridis = colours(ColourMap::Viridis), cividis = colours(ColourMap::Cividis);
    EXPECT_EQ(viridis.front(), rgba(68, 1, 84));
    EXPECT_EQ(viridis[128], rgba(33, 145, 140));
    EXPECT_EQ(viridis.back(), rgba(253, 231, 37));
    EXPECT_EQ(cividis.front(), rgba(0, 34, 78));
    EXPECT_EQ(cividis[128], rgba(125, 124, 120));
    EXPECT_EQ(cividis.back(), rgba(254, 232, 56));
    for (const ColourMap map : kColourMaps) {
        for (const Rgba colour : colours(map))
            ASSERT_EQ(alphaOf(colour), 255u);
    }
}

TEST(ColourMap, wordsAreBytesInTheOrderOfRgba8888)
{
    const Rgba colour = rgba(1, 2, 3, 4);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&colour);
    EXPECT_EQ(bytes[0], 1);
    EXPECT_EQ(bytes[1], 2);
    EXPECT_EQ(bytes[2], 3);
    EXPECT_EQ(bytes[3], 4);
    EXPECT_EQ(redOf(colour), 1u);
    EXPECT_EQ(alphaOf(colour), 4u);
}

TEST(ColourMap, lightnessOfKnownColours)
{
    EXPECT_NEAR(okLab(rgba(255, 255, 255)).lightness, 1, 1e-6);
    EXPECT_NEAR(okLab(rgba(0, 0, 0)).lightness, 0, 1e-6);
    EXPECT_NEAR(okLab(rgba(255, 0, 0)).lightness, 0.6280, 1e-3); // from the paper's reference values
    EXPECT_NEAR(okLab(rgba(255, 0, 0)).greenRed, 0.2249, 1e-3);
    EXPECT_NEAR(okLab(rgba(128, 128, 128)).greenRed, 0, 1e-6);
}

} // namespace
} // namespace forkpoint::heatmap
